"""The command line: `driftwise demo | simulate | policies | worlds`.

Everything heavy is imported inside a command, so that help answers at once. What programs read (`--json`) goes to
standard output alone; progress and messages go to standard error. Bad input is one sentence and exit code 2.
"""

import json
import math
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from driftwise import __version__
from driftwise.errors import DriftwiseError, ParameterError


class Refusal(click.ClickException):
    """Bad input: one sentence on standard error, exit code 2."""

    exit_code = 2

    def show(self, file: Any = None) -> None:
        click.echo(f"driftwise: {self.format_message()}", err=True)


class Count(click.ParamType[int]):
    """A whole number, which may be written 1e6 or 1_000_000."""

    name = "whole number"

    def convert(self, value: Any, param: Any, ctx: Any) -> int:
        from driftwise.core.rules import whole

        name = param.name if param is not None else "value"
        try:
            return whole(name, float(value), low=0)
        except ValueError:
            raise ParameterError(f"{name}={value} is not a whole number of at least 0") from None


class Commands(click.Group):
    """Turns what driftwise raises on purpose into a refusal."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DriftwiseError as error:
            raise Refusal(str(error)) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="driftwise")
def main() -> None:
    r"""Sequential decisions when the world drifts.

    Start with `driftwise demo`. Then pick a world and let policies compete in it:

    \b
        driftwise simulate --world abrupt --policy thompson --policy sliding-thompson:window=500
    """


@main.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def policies(name: str | None, as_json: bool) -> None:
    """What can decide: each policy with what it must know, its guarantee and its source. With NAME, all about it."""
    from driftwise.policies import POLICIES

    _catalogue(POLICIES, "policy", name, as_json)


@main.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def worlds(name: str | None, as_json: bool) -> None:
    """What can drift: each world with its parameters. With NAME, all about it."""
    from driftwise.worlds import WORLDS

    _catalogue(WORLDS, "world", name, as_json)


@main.command()
@click.option("--out", type=click.Path(path_type=Path), default=Path("out/demo"), show_default=True, help="Folder.")
def demo(out: Path) -> None:
    """See in a minute why forgetting matters: a world that changes, five policies, a table and a report."""
    from driftwise.policies import UCB1, SlidingThompson, SlidingUCB, Thompson, Uniform
    from driftwise.study.study import Study
    from driftwise.worlds import Abrupt

    click.echo(
        "Five arms pay off with unknown chances. Every 4,000 rounds all the chances change, and nobody says so.\n"
        "Two policies remember everything, two only the last 1,000 rounds, one guesses. Who loses least?\n",
        err=True,
    )
    study = Study(
        name="demo",
        worlds={"abrupt": Abrupt(n_arms=5, phases=5)},
        policies={
            "uniform": Uniform(),
            "ucb1": UCB1(),
            "thompson": Thompson(),
            "sliding-ucb": SlidingUCB(window=1000),
            "sliding-thompson": SlidingThompson(window=1000),
        },
        horizon=20_000,
        runs=40,
    )
    results = _run(study, out, threads=None)
    _show(study, results)
    click.echo(f"\nThe drift, the curves and every parameter: {_report(study, results, out)}", err=True)


@main.command()
@click.option("--world", "world", required=True, metavar="W", help="A world: `name` or `name:param=value,...`.")
@click.option("--policy", "policy", required=True, multiple=True, metavar="P", help="A policy, likewise; repeatable.")
@click.option("--horizon", type=Count(), default=10_000, show_default=True, metavar="N", help="Rounds per run.")
@click.option(
    "--seeds",
    type=Count(),
    default=20,
    show_default=True,
    metavar="N",
    help="Runs; every policy meets the same worlds.",
)
@click.option(
    "--seed", type=Count(), default=0, show_default=True, metavar="N", help="The one seed all randomness comes from."
)
@click.option("--delay", default="0", show_default=True, metavar="D", help="Rewards D rounds late, or `geometric:D`.")
@click.option("--lost", default=0.0, show_default=True, metavar="SHARE", help="Share of rewards that never come.")
@click.option("--threads", type=Count(), metavar="N", help="Threads; all cores if not given.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Keep results, and write a report, here.")
def simulate(
    world: str,
    policy: tuple[str, ...],
    horizon: int,
    seeds: int,
    seed: int,
    delay: str,
    lost: float,
    threads: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Let policies compete in a drifting world.

    With --out, results are kept in DIR/results.sqlite: a run that was stopped goes on where it was, and adding a policy
    plays only the new one. See `driftwise worlds` and `driftwise policies` for what there is.
    """
    from driftwise.core.rules import whole
    from driftwise.core.spec import parse
    from driftwise.policies import POLICIES
    from driftwise.study.study import Study
    from driftwise.worlds import WORLDS

    whole("seeds", seeds)
    if threads is not None:
        whole("threads", threads)
    chosen = _delayed(parse(world, WORLDS, "world"), delay, lost)
    competitors = {text: parse(text, POLICIES, "policy") for text in policy}
    study = Study(name=world, worlds={world: chosen}, policies=competitors, horizon=horizon, runs=seeds, seed=seed)
    results = _run(study, out, threads)
    if as_json:
        click.echo(json.dumps(_document(study, results)))
    else:
        _show(study, results)
    if out is not None:
        click.echo(f"\nReport: {_report(study, results, out)}", err=True)


def _delayed(world: Any, delay: str, lost: float) -> Any:
    """The world as it is, or behind a mailbox."""
    from driftwise.worlds.delayed import Delayed

    kind, _, length = delay.rpartition(":")
    try:
        rounds = float(length)
    except ValueError:
        raise ParameterError(f"delay={delay} is not a number of rounds or geometric:mean") from None
    if rounds == 0.0 and lost == 0.0 and not kind:
        return world
    return Delayed(world=world, delay=rounds, kind=kind or "fixed", lost=lost)


def _run(study: Any, out: Path | None, threads: int | None) -> Any:
    """Play what is missing, with a bar on standard error."""
    from driftwise.study.results import Results
    from driftwise.study.run import missing, run, warm

    results = Results(_folder(out) / "results.sqlite" if out else None)
    cells = sum(map(len, missing(study, results)))
    with _bar() as bar:
        if cells:
            warming = bar.add_task("compiling (first time only)", total=len(study.worlds) * len(study.policies))
            warm(study, lambda: bar.advance(warming))
            bar.remove_task(warming)
        playing = bar.add_task(f"playing {cells} runs", total=cells * study.horizon)
        try:
            return run(study, results, threads=threads, progress=lambda rounds: bar.advance(playing, rounds))
        except KeyboardInterrupt:
            again = "run the same command again to go on" if out else "with --out DIR a stopped run can be continued"
            raise click.ClickException(f"stopped; {again}") from None


@contextmanager
def _bar() -> Iterator[Any]:
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True)) as bar:
        yield bar


def _folder(out: Path) -> Path:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"--out {out} cannot be made: {error.strerror}") from None
    return out


def _report(study: Any, results: Any, out: Path) -> Path:
    from driftwise.study.report import write_report

    report: Path = write_report(study, results, out / "report.html")
    return report


def _document(study: Any, results: Any) -> dict[str, Any]:
    """What `simulate --json` prints."""
    from driftwise.measure.summary import estimate

    (world,) = study.worlds
    told = {}
    for policy in study.policies:
        cells = study.cells_of(world, policy)
        regret = estimate(results.column(cells, "regret"))
        told[policy] = {
            "regret": {"mean": regret.mean, "ci95": None if math.isnan(regret.ci95) else regret.ci95},
            "optimal_rate": float(results.column(cells, "optimal_rate").mean()),
            "seconds": float(results.column(cells, "seconds").sum()),
        }
    return {"world": world, "horizon": study.horizon, "seeds": study.runs, "policies": told}


def _show(study: Any, results: Any) -> None:
    """The table a person reads: least regret first."""
    from rich.console import Console
    from rich.table import Table

    (world,) = study.worlds
    title = f"{world}: {study.horizon:,} rounds, {study.runs} runs"
    table = Table(title=title, caption="regret: what the best arm of every round would have earned more, ± 95%")
    for name in ("policy", "regret", "best arm chosen", "ns a round"):
        table.add_column(name, justify="left" if name == "policy" else "right")
    told = _document(study, results)["policies"]
    for policy, each in sorted(told.items(), key=lambda item: item[1]["regret"]["mean"]):
        regret, rounds = each["regret"], study.horizon * study.runs
        spread = "" if regret["ci95"] is None else f" ± {regret['ci95']:,.0f}"
        cost = each["seconds"] / rounds * 1e9
        table.add_row(policy, f"{regret['mean']:,.0f}{spread}", f"{each['optimal_rate']:.0%}", f"{cost:,.0f}")
    Console().print(table)


def _catalogue(table: dict[str, Any], what: str, name: str | None, as_json: bool) -> None:
    """List what there is, or tell all about one of it."""
    from driftwise.core.spec import lookup

    chosen = {name: lookup(name, table, what)} if name else table
    entries = [_entry(each, kind) for each, kind in chosen.items()]
    if as_json:
        click.echo(json.dumps(entries[0] if name else entries))
    elif name:
        click.echo((sys.modules[table[name].__module__].__doc__ or "").strip())
        click.echo(f"\nParameters: {_signature(entries[0])}")
    else:
        _list(entries)
        click.echo(f"\nAll about one: driftwise {'policies' if what == 'policy' else 'worlds'} NAME", err=True)


def _entry(name: str, kind: Any) -> dict[str, Any]:
    """One policy or world as data."""
    from driftwise.core.spec import parameters
    from driftwise.core.verbs import ABOUT

    summary = (kind.__doc__ or "").strip().splitlines()[0]
    about = ABOUT[kind]._asdict() if kind in ABOUT else {}
    return {"name": name, "class": kind.__name__, "summary": summary, "parameters": parameters(kind), **about}


def _signature(entry: dict[str, Any]) -> str:
    return ", ".join(f"{key}={value}" for key, value in entry["parameters"].items()) or "none"


def _list(entries: list[dict[str, Any]]) -> None:
    """One short paragraph each: tables of six columns do not fit a terminal."""
    for entry in entries:
        click.secho(entry["name"], bold=True, nl=False)
        click.echo(f"  {entry['summary']}")
        lines = {"takes": _signature(entry)} | {key: entry[key] for key in ("needs", "bound", "paper") if key in entry}
        for key, text in lines.items():
            click.echo(f"    {key:<6} {text}")


if __name__ == "__main__":
    main()
