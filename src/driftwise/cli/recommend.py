"""`driftwise recommend`: what to run, by measured tables; on a terminal it asks for what was not said."""

import json
import sys
from collections.abc import Callable
from typing import TypeVar

import click

from driftwise.cli.command import KINDS, Count, main
from driftwise.errors import ParameterError

T = TypeVar("T")
USUAL_KIND = "multi-armed"
DRIFTS = ("unknown", "none", "slow", "fast", "abrupt")


@main.command(short_help="Recommend a policy, and say what it costs if you are wrong.")
@click.option("--kind", metavar="K", help=f"Kind of problem: {KINDS}; multi-armed if not given.")
@click.option("--horizon", type=Count(0), metavar="N", help="Number of decisions to come; 0 if unknown.")
@click.option(
    "--delay", type=float, metavar="D", help="Mean number of decisions before a reward arrives; 0 if not given."
)
@click.option("--drift", type=click.Choice(DRIFTS), help="How the world drifts; unknown if not given.")
@click.option(
    "--propensities/--no-propensities",
    default=None,
    help="Whether decisions are logged with propensities, to evaluate other policies later; no if not given.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
def recommend(
    kind: str | None,
    horizon: int | None,
    delay: float | None,
    drift: str | None,
    propensities: bool | None,
    as_json: bool,
) -> None:
    """Recommend a policy: what to run, why, and what it costs if the world drifts otherwise.

    All numbers were measured in simulated worlds and come with the package. On a terminal it asks for what is not
    given; elsewhere defaults are taken: multi-armed, no horizon, no delay, unknown drift, no propensities.
    With a log of decisions, start with `driftwise diagnose LOG` instead.
    """
    from driftwise.evaluate.recommend import recommend as recommended

    if sys.stdin.isatty() and not as_json:
        kind = _kind() if kind is None else kind
        horizon = _horizon() if horizon is None else horizon
        delay = _delay() if delay is None else delay
        drift = _drift() if drift is None else drift
        if propensities is None:
            propensities = click.confirm("Shall other policies be evaluated on the log later?", False, err=True)
    advice = recommended(
        kind or USUAL_KIND, horizon=horizon, delay=delay, drift=drift, needs_propensities=bool(propensities)
    )
    click.echo(json.dumps(advice.as_dict()) if as_json else str(advice))


def _kind() -> str:
    """The kind of problem, from a numbered list."""
    from driftwise.families import FAMILIES

    names = list(FAMILIES)
    for place, name in enumerate(names, 1):
        click.echo(f"  {place}  {FAMILIES[name].chooses}  ({name})", err=True)
    numbers = {str(place): name for place, name in enumerate(names, 1)}

    def read(text: str) -> str:
        if (name := numbers.get(text, text)) in names:
            return name
        raise ParameterError(f"kind={text} is neither a number from 1 to {len(names)} nor one of {', '.join(names)}")

    return _answer("What does one decision choose?", str(names.index(USUAL_KIND) + 1), read)


def _horizon() -> int:
    option = click.Option(["--horizon"])  # an error names it
    question = "How many decisions will there be? (0: unknown)"
    return _answer(question, "0", lambda text: Count(0).convert(text, option, None))


def _delay() -> float:
    from driftwise.core.validation import number

    def read(text: str) -> float:
        try:
            return number("delay", float(text), above=0.0, closed="[")
        except ValueError:
            raise ParameterError(f"delay={text} is not a number of at least 0") from None

    return _answer("How many decisions pass before a reward arrives?", "0", read)


def _drift() -> str:
    """How the world drifts, from a list with explanations."""
    from driftwise.core.validation import one_of
    from driftwise.evaluate.measured_losses import DRIFTS as MEANINGS

    for name, meaning in MEANINGS.items():
        click.echo(f"  {name:<7} {meaning}", err=True)
    question = f"How does it drift? ({', '.join(DRIFTS)})"
    return _answer(question, "unknown", lambda text: one_of("drift", text, DRIFTS))


def _answer(question: str, default: str, read: Callable[[str], T]) -> T:
    """Ask until `read` accepts the answer; the sentence with which it refuses one is printed."""

    def accept(text: str) -> T:
        try:
            return read(text.strip())
        except ParameterError as refusal:
            raise click.UsageError(str(refusal)) from None  # `click.prompt` asks again after this one only

    answer: T = click.prompt(question, default=default, value_proc=accept, err=True)
    return answer
