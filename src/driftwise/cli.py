"""The command line: `driftwise demo | simulate | reproduce | policies | worlds | papers | serve | keys`.

Everything heavy is imported inside a command, so that help answers at once. What programs read (`--json`) goes to
standard output alone; progress and messages go to standard error. Bad input is one sentence and exit code 2.
"""

import inspect
import json
import math
import shlex
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
from click.core import ParameterSource

from driftwise import __version__
from driftwise.errors import DriftwiseError, ParameterError

STORE_HELP = "sqlite:///FILE, or postgresql://... with the extra `postgres`."


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
        text = str(value)
        try:
            return whole(name, int(text) if text.lstrip("-").replace("_", "").isdigit() else float(text), low=0)
        except ValueError:
            raise ParameterError(f"{name}={value} is not a whole number of at least 0") from None


class Commands(click.Group):
    """Turns what driftwise raises on purpose into a refusal."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except DriftwiseError as error:
            raise Refusal(str(error)) from None
        except MemoryError:
            raise Refusal(
                "that needs more memory than there is: fewer arms, or a shorter horizon, window or delay"
            ) from None


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="driftwise")
def main() -> None:
    """Sequential decisions when the world drifts.

    Start with `driftwise demo`. Then pick a world and let policies compete in it:

    \b
        driftwise simulate --world abrupt --policy thompson --policy sliding-thompson:window=500
    """  # noqa: D301


@main.command()
@click.argument("name", required=False)
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def policies(name: str | None, as_json: bool) -> None:
    """What can decide: each policy with what it must know, its guarantee and its source. With NAME, all about it.

    Those that must know the world itself are oracles, for comparison.
    """
    from driftwise.oracles import ORACLES
    from driftwise.policies import POLICIES

    _catalogue(POLICIES | ORACLES, "policy", name, as_json)


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
    _need_report()
    results = _run([study], out, threads=None)
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
    from driftwise.oracles import ORACLES
    from driftwise.policies import POLICIES
    from driftwise.study.study import Study
    from driftwise.worlds import WORLDS

    whole("seeds", seeds)
    if threads is not None:
        whole("threads", threads)
    bare = parse(world, WORLDS, "world")
    chosen = _delayed(bare, delay, lost)
    label = world if chosen is bare else f"{world}, delay {delay}, lost {lost:g}"
    competitors = {text: parse(text, POLICIES | ORACLES, "policy") for text in policy}
    study = Study(name=label, worlds={label: chosen}, policies=competitors, horizon=horizon, runs=seeds, seed=seed)
    if out is not None:
        _need_report()
    results = _run([study], out, threads)
    if as_json:
        asked = {"seed": seed, "delay": delay, "lost": lost, "version": __version__}
        click.echo(json.dumps(_document(study, results) | {"world": world} | asked))
    else:
        _show(study, results)
    if out is not None:
        click.echo(f"\nReport: {_report(study, results, out)}", err=True)


@main.command()
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
def papers(as_json: bool) -> None:
    """Whose numbers can be made again: papers, with what there is to reproduce."""
    from driftwise.papers import names, paper

    found = [paper(name) for name in names()]
    entries = [{"name": each.name, "title": each.title, "source": each.source} for each in found]
    if as_json:
        click.echo(json.dumps(entries))
        return
    for entry in entries:
        click.secho(entry["name"], bold=True)
        click.echo(f"    {entry['title']}\n    {entry['source']}")
    click.echo("\nMake its numbers again: driftwise reproduce NAME", err=True)


@main.command()
@click.argument("paper", metavar="PAPER")
@click.option("--claim", metavar="ID", help="Only this claim, or those below it, e.g. table2 or table2/K=10.")
@click.option(
    "--scale", type=click.Choice(["quick", "full"]), default="quick", show_default=True, help="Minutes, or hours."
)
@click.option("--runs", type=Count(), metavar="N", help="Runs per cell, instead of the scale's own number.")
@click.option("--data", type=click.Path(path_type=Path), metavar="FILE", help="Data a paper could not hand on.")
@click.option("--threads", type=Count(), metavar="N", help="Threads; all cores if not given.")
@click.option("--json", "as_json", is_flag=True, help="One JSON document on standard output.")
@click.option("--out", type=click.Path(path_type=Path), metavar="DIR", help="Folder; out/PAPER if not given.")
def reproduce(
    paper: str,
    claim: str | None,
    scale: str,
    runs: int | None,
    data: Path | None,
    threads: int | None,
    as_json: bool,
    out: Path | None,
) -> None:
    """Make a paper's numbers again, and judge every claim.

    `quick` takes minutes and covers the short horizons; `full` covers all of them. Results are kept: a run that was
    stopped goes on where it was. Exits with 1 when a claim differs without a known reason.

    Some papers played data that only their owner hands out. Such a paper plays a stand-in and says so; with --data it
    plays your file.
    """
    from driftwise.core.rules import whole
    from driftwise.papers import paper as find
    from driftwise.study.claims import DIFFERS, Evidence, choose, judge, needed, summary
    from driftwise.study.claims import as_json as plain
    from driftwise.terminal import progress_bar, show_tally

    for name, value in (("runs", runs), ("threads", threads)):
        if value is not None:
            whole(name, value)
    chosen = find(paper)
    if data is not None:
        if chosen.with_data is None:
            raise ParameterError(f"{paper} takes no --data: all it played can be played here")
        chosen = chosen.with_data(data)
    claims = choose(chosen.claims(scale), claim)
    studies = needed(claims, chosen.studies(scale, runs))
    out = out or Path("out") / paper
    _need_report()
    results = _run(list(studies.values()), out, threads)
    with progress_bar() as bar:  # some claims are judged by programs that take their time
        told = bar.track(claims, description=f"judging {len(claims):,} claims")
        verdicts = judge(told, Evidence(studies, results))
    if as_json:
        about = {"paper": paper, "scale": scale} | ({"data": chosen.data} if chosen.data else {})
        click.echo(json.dumps(about | {"claims": plain(verdicts)}))
    else:
        show_tally(summary(verdicts), claims=len(verdicts))
    options = {"scale": scale, "claim": claim, "runs": runs, "data": data}
    page = _verdict_page(chosen, options, verdicts, Evidence(studies, results), out)
    click.echo(f"\nEvery claim, line by line, and the figures: {page}", err=True)
    if any(each.verdict == DIFFERS for each in verdicts):
        raise SystemExit(1)


@main.command()
@click.option("--store", default="sqlite:///driftwise.db", show_default=True, metavar="URL", help=STORE_HELP)
@click.option(
    "--host", default="127.0.0.1", show_default=True, metavar="H", help="Address; others than this need keys."
)
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True, metavar="N", help="Port.")
@click.option(
    "--durability",
    type=click.Choice(["full", "normal", "none"]),
    default="full",
    show_default=True,
    help="full: answered when the disk has it; nothing acknowledged is lost, even by a power cut. normal: when the "
    "system has it; a client alone waits a quarter less, many at once hardly gain, and a power cut may lose the last "
    "moments. none: before it is written; a client alone waits half as long, and a crash may lose the last moments.",
)
@click.option("--max-body", type=Count(), default=262_144, show_default=True, metavar="BYTES", help="Longest request.")
@click.option("--max-connections", type=Count(), default=1000, show_default=True, metavar="N", help="At one time.")
@click.option("--log-requests", is_flag=True, help="A line in the log for every request.")
@click.option("--demo", is_flag=True, help="Simulate clients to look at; without --store nothing is kept.")
@click.pass_context
def serve(
    context: click.Context,
    store: str,
    host: str,
    port: int,
    durability: str,
    max_body: int,
    max_connections: int,
    log_requests: bool,
    demo: bool,
) -> None:
    """Decide over HTTP: deployments that decide now and learn later, and lose nothing.

    The dashboard is at /, the OpenAPI document at /openapi.json; docs/service.md has examples.
    """
    with _service():
        from driftwise.serve.demo import LOOK, play
        from driftwise.serve.http import Limits
        from driftwise.serve.server import orderly
        from driftwise.serve.server import serve as run

    limits = Limits(max_body, max_connections)
    with ExitStack() as stack:
        stack.enter_context(orderly())
        if demo and context.get_parameter_source("store") == ParameterSource.DEFAULT:
            folder = stack.enter_context(TemporaryDirectory(prefix="driftwise-demo-", ignore_cleanup_errors=True))
            store = f"sqlite:///{folder}/demo.db"
        if demo:
            click.echo(LOOK.format(url=f"http://{host}:{port}"), err=True)
        run(
            store,
            host=host,
            port=port,
            durability=durability,
            limits=limits,
            log_requests=log_requests,
            beside=play if demo else None,
        )


@main.group()
def keys() -> None:
    """Keys for the service: who may read, decide, learn and administer.

    Once there is a key, every request needs one. While the service runs, its store is its own: use --url with an
    admin key (in the environment as DRIFTWISE_KEY), or nothing on a service that has none yet.
    """


@keys.command("create")
@click.option("--name", default="key", show_default=True, help="Whose key, for the list.")
@click.option("--scopes", default="decide,learn", show_default=True, help="Of read, decide, learn and admin.")
@click.option("--days", type=float, metavar="N", help="It expires after this; never if not given.")
@click.option("--deployment", multiple=True, metavar="NAME", help="Good for this deployment only; repeatable.")
@click.option("--store", default="sqlite:///driftwise.db", show_default=True, metavar="URL", help=STORE_HELP)
@click.option("--url", metavar="URL", help="A running service, instead of its store.")
def create_key(
    name: str, scopes: str, days: float | None, deployment: tuple[str, ...], store: str, url: str | None
) -> None:
    """Make a key. It is shown once: only its hash is kept."""
    with _service():
        from driftwise.serve.keyring import create

    wanted = [scope.strip() for scope in scopes.split(",") if scope.strip()]
    made = create(store, url, name=name, scopes=wanted, days=days, deployments=list(deployment) or None)
    click.echo(made)
    click.echo("Keep it: it cannot be shown again.", err=True)


@keys.command("list")
@click.option("--store", default="sqlite:///driftwise.db", show_default=True, metavar="URL", help=STORE_HELP)
@click.option("--url", metavar="URL", help="A running service, instead of its store.")
def list_keys(store: str, url: str | None) -> None:
    """List keys: id, name, scopes, deployments and when they expire."""
    with _service():
        from driftwise.serve.keyring import listed

    for line in listed(store, url):
        click.echo(line)


@keys.command("revoke")
@click.argument("id")
@click.option("--store", default="sqlite:///driftwise.db", show_default=True, metavar="URL", help=STORE_HELP)
@click.option("--url", metavar="URL", help="A running service, instead of its store.")
def revoke_key(id: str, store: str, url: str | None) -> None:
    """Revoke the key with this ID."""
    with _service():
        from driftwise.serve.keyring import revoke

    revoke(store, url, id)
    click.echo(f"{id} opens nothing any more", err=True)


@contextmanager
def _service() -> Iterator[None]:
    """Say which extra is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise ParameterError(f"the service needs {error.name}: pip install 'driftwise[serve]'") from None


def _verdict_page(paper: Any, options: dict[str, Any], verdicts: Any, evidence: Any, out: Path) -> Path:
    from driftwise.study.verdicts import write_verdicts

    given = [f"--{name} {shlex.quote(str(value))}" for name, value in options.items() if value is not None]
    counts = [study.runs for study in evidence.studies.values()]
    seeds = [study.seed for study in evidence.studies.values()] or [0]
    path: Path = write_verdicts(
        out / "report.html",
        verdicts,
        paper.figures(evidence),
        title=paper.title,
        source=paper.source,
        notes=paper.notes,
        scale=options["scale"],
        runs=_span(counts) if counts else "no",
        seed=_span(seeds),
        command=f"driftwise reproduce {paper.name} {' '.join(given)}",
    )
    return path


def _span(counts: list[int]) -> str:
    """`7`, or `3 to 50`."""
    return " to ".join(map(str, dict.fromkeys([min(counts), max(counts)])))


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


def _run(studies: list[Any], out: Path | None, threads: int | None) -> Any:
    """Play what is missing, with a bar on standard error."""
    from driftwise.study.results import Results
    from driftwise.study.run import missing, run, warm
    from driftwise.terminal import progress_bar

    results = Results(_folder(out) / "results.sqlite" if out else None)
    cells = {study.name: sum(map(len, missing(study, results))) for study in studies}
    waiting = [study for study in studies if cells[study.name]]
    with progress_bar() as bar:
        if waiting and not sys.stderr.isatty():
            click.echo(f"compiling what is new here, then playing {sum(cells.values()):,} runs", err=True)
        if waiting:
            warming = bar.add_task("compiling (first time only)", total=len(waiting))
            for study in waiting:
                warm(study)
                bar.advance(warming)
            bar.remove_task(warming)
        rounds = sum(cells[study.name] * study.horizon for study in waiting)
        playing = bar.add_task(f"playing {sum(cells.values()):,} runs", total=rounds)
        try:
            for study in waiting:
                run(study, results, threads=threads, progress=lambda played: bar.advance(playing, played))
        except KeyboardInterrupt:
            again = "run the same command again to go on" if out else "with --out DIR a stopped run can be continued"
            raise click.ClickException(f"stopped; {again}") from None
    return results


def _folder(out: Path) -> Path:
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"--out {out} cannot be made: {error.strerror}") from None
    return out


def _need_report() -> None:
    """Say that the extra is missing before hours are spent, not after."""
    import driftwise.study.canvas
    import driftwise.study.page  # noqa: F401


def _report(study: Any, results: Any, out: Path) -> Path:
    from driftwise.study.report import write_report

    report: Path = write_report(study, results, out / "report.html")
    return report


def _show(study: Any, results: Any) -> None:
    from driftwise.study.choices import choices_of
    from driftwise.terminal import show_policies

    (world,) = study.worlds.values()
    show_policies(_document(study, results), choices_of(world))


def _document(study: Any, results: Any) -> dict[str, Any]:
    """What `simulate --json` prints."""
    from statistics import median

    from driftwise.core.seeding import key
    from driftwise.measure.summary import estimate
    from driftwise.measure.variation import norms_of
    from driftwise.study.choices import choices_of, column_values

    (world,) = study.worlds
    columns, told = choices_of(study.worlds[world]).columns, {}
    for policy in study.policies:
        cells = study.cells_of(world, policy)
        regret = estimate(results.column(cells, "regret"))
        told[policy] = {
            "regret": {"mean": regret.mean, "ci95": None if math.isnan(regret.ci95) else regret.ci95},
            "optimal_rate": float(results.column(cells, "optimal_rate").mean()),
            "seconds": float(results.column(cells, "seconds").sum()),
            "ns_per_round": 1e9 * float(median(results.column(cells, "seconds"))) / study.horizon,
            **{column.name: float(column_values(results, cells, column).mean()) for column in columns},
        }
    norms = norms_of(study.worlds[world], study.horizon, int(key(study.seed, 0, "world")))
    return {"world": world, "horizon": study.horizon, "seeds": study.runs, "variation": norms, "policies": told}


def _catalogue(table: dict[str, Any], what: str, name: str | None, as_json: bool) -> None:
    """List what there is, or tell all about one of it."""
    from driftwise.core.spec import lookup
    from driftwise.terminal import show_list, signature

    chosen = {name: lookup(name, table, what)} if name else table
    entries = [_entry(each, kind) for each, kind in chosen.items()]
    if as_json:
        click.echo(json.dumps(entries[0] if name else entries))
    elif name:
        click.echo((sys.modules[table[name].__module__].__doc__ or "").strip())
        click.echo(f"\n{table[name].__name__}({signature(entries[0])})\n\n{inspect.getdoc(table[name])}")
    else:
        show_list(entries)
        click.echo(f"\nAll about one: driftwise {'policies' if what == 'policy' else 'worlds'} NAME", err=True)


def _entry(name: str, kind: Any) -> dict[str, Any]:
    """One policy or world as data; a policy inside another is told as text."""
    from driftwise.core.spec import describe, parameters
    from driftwise.core.verbs import ABOUT
    from driftwise.policies import POLICIES

    summary = (kind.__doc__ or "").strip().splitlines()[0]
    about = ABOUT[kind]._asdict() if kind in ABOUT else {"family": kind().problem().family}
    takes = {key: describe(of, POLICIES) if hasattr(of, "_fields") else of for key, of in parameters(kind).items()}
    return {"name": name, "class": kind.__name__, "summary": summary, "parameters": takes, **about}


if __name__ == "__main__":
    main()
