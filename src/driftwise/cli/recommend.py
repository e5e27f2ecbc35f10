"""`driftwise recommend`: what to run, by measured tables; on a terminal it asks for what was not said."""

import json
import sys
from typing import TypeVar

import click

from driftwise.cli.command import Count, main

T = TypeVar("T")
USUAL_KIND = "multi-armed"
DRIFTS = ("unknown", "none", "slow", "fast", "abrupt")


@main.command(short_help="Say what to run, and what it costs if you are wrong.")
@click.option("--kind", metavar="K", help="The kind of problem; multi-armed if not given.")
@click.option("--horizon", type=Count(), metavar="N", help="How many decisions there will be; 0 if nobody knows.")
@click.option("--delay", type=float, metavar="D", help="Decisions made on average before a reward arrives.")
@click.option("--drift", type=click.Choice(DRIFTS), help="How the world drifts.")
@click.option("--propensities/--no-propensities", default=None, help="Whether the log must tell them.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def recommend(
    kind: str | None,
    horizon: int | None,
    delay: float | None,
    drift: str | None,
    propensities: bool | None,
    as_json: bool,
) -> None:
    """Say what to run, why, and what it costs if the drift is another.

    All numbers were measured in simulated worlds and come with the package. On a terminal it asks for what is not
    given; elsewhere defaults are taken: multi-armed, no horizon, no delay, unknown drift, no propensities.
    With a log of decisions, start with `driftwise diagnose LOG` instead.
    """
    from driftwise.evaluate.recommend import recommend as recommended

    if sys.stdin.isatty() and not as_json:
        kind = _kind() if kind is None else kind
        horizon = _answer("How many decisions will there be? (0: unknown)", 0, Count()) if horizon is None else horizon
        delay = _answer("How many decisions pass before a reward arrives?", 0.0, float) if delay is None else delay
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
    usual = names.index(USUAL_KIND) + 1
    return names[_answer("What does one decision choose?", usual, click.IntRange(1, len(names))) - 1]


def _drift() -> str:
    """How the world drifts, from a list with explanations."""
    from driftwise.evaluate.recommend import DRIFTS as MEANINGS

    for name, meaning in MEANINGS.items():
        click.echo(f"  {name:<7} {meaning}", err=True)
    return str(_answer("How does it drift?", "unknown", click.Choice(DRIFTS)))


def _answer(question: str, default: T, kind: "click.ParamType[T] | type[T]") -> T:
    answer: T = click.prompt(question, default=default, type=kind, err=True)
    return answer
