"""`driftwise simulate` and `driftwise demo`: policies that compete in a drifting world."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from driftwise import __version__
from driftwise.cli.command import CLUSTER_HELP, THREADS_HELP, Count, main
from driftwise.errors import ParameterError

if TYPE_CHECKING:
    from driftwise.core.protocols import World
    from driftwise.study.results import Results
    from driftwise.study.study import Study


@main.command(short_help="See in a minute why forgetting matters.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    default=Path("out/demo"),
    show_default=True,
    help="Folder for results and the report.",
)
def demo(out: Path) -> None:
    """See in a minute why forgetting matters: a world that changes, five policies, a table and a report.

    The report needs the extra `report`; the table and the results do not.
    """
    from driftwise.cli._progress import announce, play_missing
    from driftwise.cli.terminal import show_summary

    click.echo(
        "Five arms pay off with unknown chances. Every 4,000 rounds all the chances change, without notice.\n"
        "One policy remembers everything, two only the last 1,000 rounds, one guesses, and `auto` knows nothing\n"
        "of the drift and learns how long to remember. Who loses least?\n",
        err=True,
    )
    study = demo_study()
    results = play_missing([study], out, threads=None)
    show_summary(results.summary(study))
    announce("The drift, the curves and every parameter", lambda: _report(study, results, out))


def demo_study() -> "Study":
    """What `driftwise demo` plays."""
    from driftwise.families import Abrupt, Auto, SlidingThompson, SlidingUCB, Thompson, Uniform
    from driftwise.study.study import Study

    return Study(
        name="demo",
        worlds={"abrupt": Abrupt(n_arms=5, phases=5)},
        policies={
            "uniform": Uniform(),
            "thompson": Thompson(),
            "sliding-ucb": SlidingUCB(window=1000),
            "sliding-thompson": SlidingThompson(window=1000),
            "auto": Auto(),
        },
        horizon=20_000,
        runs=40,
    )


@main.command(short_help="Let policies compete in a drifting world.")
@click.option(
    "--world", "world", required=True, metavar="W", help="World: NAME or NAME:param=value,... of `driftwise worlds`."
)
@click.option(
    "--policy",
    "policy",
    required=True,
    multiple=True,
    metavar="P",
    help="Policy: NAME or NAME:param=value,... of `driftwise policies`; repeatable.",
)
@click.option(
    "--horizon", type=Count(1), default=10_000, show_default=True, metavar="N", help="Number of rounds in a run."
)
@click.option(
    "--runs",
    type=Count(1),
    default=20,
    show_default=True,
    metavar="N",
    help="Number of runs per policy; every policy meets the same worlds.",
)
@click.option("--seed", type=Count(0), default=0, show_default=True, metavar="N", help="Seed of all random numbers.")
@click.option(
    "--delay",
    default="0",
    show_default=True,
    metavar="D",
    help="Rounds by which rewards are late; geometric:D: late at random, by D on average.",
)
@click.option(
    "--lost", default=0.0, show_default=True, metavar="SHARE", help="Share of rewards that never come, from 0 to 1."
)
@click.option("--threads", type=Count(1), metavar="N", help=THREADS_HELP)
@click.option("--cluster", metavar="ADDRESS", help=CLUSTER_HELP)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="Folder for results and a report.",
)
def simulate(
    world: str,
    policy: tuple[str, ...],
    horizon: int,
    runs: int,
    seed: int,
    delay: str,
    lost: float,
    threads: int | None,
    cluster: str | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Let policies compete in a drifting world.

    With --out, results are stored in DIR/results.sqlite: an interrupted run continues where it stopped, and adding a
    policy plays only the new one. See `driftwise worlds` and `driftwise policies` for what there is.
    """
    from driftwise.cli._progress import announce, play_missing
    from driftwise.cli.terminal import show_summary
    from driftwise.core.spec import parse
    from driftwise.families import ORACLES, POLICIES, WORLDS
    from driftwise.study.study import Study

    plain = parse(world, WORLDS, "world")
    chosen = _delayed(plain, delay, lost)
    label = world if chosen is plain else f"{world}, delay {delay}, lost {lost:g}"
    competitors = {text: parse(text, POLICIES | ORACLES, "policy") for text in policy}
    study = Study(name=label, worlds={label: chosen}, policies=competitors, horizon=horizon, runs=runs, seed=seed)
    results = play_missing([study], out, threads, cluster)
    summary = results.summary(study)
    if as_json:
        options = {"seed": seed, "delay": delay, "lost": lost, "version": __version__}
        click.echo(json.dumps(summary.as_dict(label) | {"world": world} | options))
    else:
        show_summary(summary)
    if out is not None:
        announce("Report", lambda: _report(study, results, out))


def _delayed(world: "World", delay: str, lost: float) -> "World":
    """The world, with late or lost rewards where either is wanted."""
    kind, _, length = delay.rpartition(":")
    try:
        rounds = float(length)
    except ValueError:
        raise ParameterError(f"delay={delay} is not a number of rounds or geometric:mean") from None
    if rounds == 0.0 and lost == 0.0 and not kind:
        return world
    from driftwise.families.composite.worlds.delayed import Delayed

    return Delayed(world=world, delay=rounds, kind=kind or "fixed", lost=lost)


def _report(study: "Study", results: "Results", out: Path) -> Path:
    import driftwise.report.style  # noqa: F401  # says which extra figures need
    from driftwise.study.report import write_report

    return write_report(study, results, out / "report.html")
