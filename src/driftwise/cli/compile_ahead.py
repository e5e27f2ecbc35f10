"""`driftwise compile`: machine code of policies ahead of their first use, for this user or for a layer to ship."""

import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from driftwise.cli.command import KINDS, main
from driftwise.display.text import counted
from driftwise.errors import ParameterError

if TYPE_CHECKING:
    from driftwise.core.protocols import Policy, World
    from driftwise.study.study import Study


ROUNDS = 20_000  # of a study, unless a window is longer


class Task(NamedTuple):
    """Something to compile: a name for people, and what runs it once."""

    name: str
    run: Callable[[], None]


@main.command("compile", short_help="Compile policies ahead of their first use.")
@click.argument("policies", nargs=-1, metavar="[POLICY]...")
@click.option(
    "--family",
    "families",
    multiple=True,
    metavar="F",
    help=f"Compile all policies of this family: {KINDS}; repeatable.",
)
@click.option("--all", "every", is_flag=True, help="Compile all policies.")
@click.option(
    "--world",
    "worlds",
    multiple=True,
    metavar="W",
    help="Compile studies of the policies in this world, too; repeatable.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Folder for the code; the cache of this user if not given.",
)
def compile_ahead(
    policies: tuple[str, ...], families: tuple[str, ...], every: bool, worlds: tuple[str, ...], out: Path | None
) -> None:
    """Compile policies ahead of their first use: what agents and the service call, and studies in worlds.

    Without arguments it compiles the policy that `auto` is in each family, and what `driftwise demo` and
    `driftwise serve --demo` use. What is compiled already is not compiled again.

    With --out, the code goes to DIR, which can be copied into an image or shared by users and machines: processes
    that have DIR in $DRIFTWISE_CACHE_PATH find it there. It fits machines of the same CPU level with the same versions
    of driftwise, numba and Python; elsewhere driftwise compiles as usual.
    """
    from driftwise.core.compilation.kernel_cache import fill, own_folder

    tasks = _tasks(policies, families, every, worlds)
    target = _writable(out or own_folder())
    n_files = n_bytes = n_new = 0
    for number, task in enumerate(tasks, start=1):
        click.echo(f"compiling {task.name} ({number} of {len(tasks)})", err=True)
        with fill(out) as filled:
            task.run()
        click.echo(_line(task.name, len(filled.sizes), sum(filled.sizes.values()), len(filled.new)))
        n_files, n_bytes = n_files + len(filled.sizes), n_bytes + sum(filled.sizes.values())
        n_new += len(filled.new)
    click.echo(_line(f"all, in {target}", n_files, n_bytes, n_new))


def _line(name: str, n_files: int, n_bytes: int, n_new: int) -> str:
    return f"{name}: {counted(n_files, 'function')}, {n_bytes / 1e6:.1f} MB, {n_new} new"


def _writable(folder: Path) -> Path:
    """The folder, which is created."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ParameterError(f"{folder} cannot be created: {error.strerror}; give another with --out DIR") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ParameterError(f"{folder} cannot be written: give another with --out DIR")
    return folder


def _tasks(policies: Iterable[str], families: Iterable[str], every: bool, worlds: tuple[str, ...]) -> list[Task]:
    """What to compile, each thing once. A policy named by the user must fit each world; of the others those that do."""
    from driftwise.core.spec import lookup, parse
    from driftwise.families import FAMILIES, POLICIES, WORLDS

    grounds = {text: parse(text, WORLDS, "world") for text in worlds}
    explicit, others = [*policies], []
    for family in families:
        others += lookup(family, FAMILIES, "family of problems").policies
    others += POLICIES if every else ()
    default = not (explicit or others)
    if default:
        others += ["auto", *_demo_policies()]
    chosen = {name: parse(name, POLICIES, "policy") for name in dict.fromkeys([*explicit, *others])}
    tasks = [task for name, policy in chosen.items() for task in _agents_of(name, policy)]
    for label, world in grounds.items():
        misfits = []
        for name, policy in chosen.items():
            try:
                tasks.append(_study_of(name, policy, label, world))
            except ParameterError:
                if name in explicit:
                    raise
                misfits.append(name)
        if misfits:
            click.echo(f"skipped in {label}, which they do not fit: {', '.join(misfits)}", err=True)
    return [*tasks, Task("driftwise demo", _play_demo)] if default else tasks


def _agents_of(name: str, policy: "Policy") -> Iterator[Task]:
    """An agent of the policy in each family that it plays."""
    from driftwise.core.family import ANY, FAMILIES, family_of, resolve

    own = family_of(policy)
    for family in FAMILIES.values():
        if family.name == own or (own == ANY and family.auto is not None):
            player = resolve(policy, family.name)
            label = name if family.name == own else f"{name} of {family.name} problems"
            yield Task(label, partial(_use, player, family.fixtures))


def _study_of(name: str, policy: "Policy", label: str, world: "World") -> Task:
    """A study of the policy in a world; refused if it does not fit."""
    from driftwise.study.study import Study

    both, rounds = f"{name} in {label}", _at_least(ROUNDS, policy)
    study = Study(name="compile", worlds={label: world}, policies={both: policy}, horizon=rounds, runs=1)
    return Task(both, partial(_play, study))


def _at_least(rounds: int, policy: "Policy") -> int:
    """So many rounds, or as many as the window of the policy has."""
    window = getattr(policy, "window", 0)
    return max(rounds, window) if isinstance(window, int) else rounds


def _use(policy: "Policy", kind: Any) -> None:
    """Call once what programs and the service call of an agent, in every way to use one."""
    import numpy as np
    from msgspec.structs import replace

    from driftwise.agent.agent import Agent
    from driftwise.agent.propensity import choice_shares
    from driftwise.core.family import FAMILIES

    fixtures, rng = kind.of(policy), np.random.default_rng(0)
    for usage in fixtures.usages.values():
        problem = usage.problem
        if horizon := getattr(problem, "horizon", None):
            problem = replace(problem, horizon=_at_least(horizon, policy))
        counts = FAMILIES[problem.kind].adapter.of(policy, problem).counts
        for samples in (0, 1) if counts else (0,):
            agent = Agent(policy, problem, propensity_samples=samples)
            decision = agent.decide(**usage.request(rng, agent.arms))
            if decision.action is not None:
                agent.learn(decision, **fixtures.outcome(rng, agent.arms))
            request = usage.request(rng, agent.arms)
            agent.summary(**request)
            choice_shares(agent, request, samples=1)


def _play(study: "Study") -> None:
    from driftwise.study.run import run

    run(study, threads=1)


def _demo_policies() -> list[str]:
    """The policies of `driftwise serve --demo`; none where the extra `serve` is missing."""
    try:
        from driftwise.service.demo import POLICIES
    except ModuleNotFoundError:
        return []
    return list(POLICIES.values())


def _play_demo() -> None:
    from driftwise.cli.simulate import demo_study

    _play(replace(demo_study(), runs=1))
