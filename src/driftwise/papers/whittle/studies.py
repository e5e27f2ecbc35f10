"""The experiments of section 6 as studies: Table 1, Figures 1 and 2; growth with T, prior knowledge, and what to use.

T episodes of H slots. Where a study differs from another in its name alone, its runs are played once. All studies of a
cell have the same seed, so that policies of different studies meet the same luck run by run.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from driftwise.core.protocols import Policy
from driftwise.families import AdaptiveWhittle, AgeOfInformation, Climbing, SlidingWhittle
from driftwise.families.restless.worlds.base import RestlessWorld
from driftwise.papers import Shelf
from driftwise.papers.whittle.closed_form import ClosedFormOracle
from driftwise.papers.whittle.readings import (
    ADAPTIVE,
    EPISODES,
    SLIDING,
    baselines,
    calibrated,
    learners,
)
from driftwise.study.study import Study

SLOTS = 100
EARLY = 10  # episodes after which growth is measured
CELLS = ((10, 1), (10, 4), (20, 4))
WORLDS: dict[str, type[Climbing] | type[AgeOfInformation]] = {"ladder": Climbing, "ages": AgeOfInformation}
APPLICATIONS = {"ladder": "One Dimensional Bandit", "ages": "Wireless Scheduling"}
FIGURES = {"figure1": "ladder", "figure2": "ages"}
LENGTHS = {"figure1": (20, 50, 100), "figure2": (20, 50, 200)}
FRESH = 20_250_618  # the seed of drift paths on which nothing was picked

LEARNER_RUNS = {"quick": {"ladder": 40, "ages": 20}, "full": {"ladder": 100, "ages": 50}}
BASELINE_RUNS = {"quick": 150, "full": 300}
FIGURE_RUNS = {"quick": 8, "full": 20}
USE_RUNS = {"quick": 36, "full": 50}
CLOSED_FORM_RUNS = {"quick": 40, "full": 100}
KNOWLEDGE_RUNS = {"quick": 6, "full": 20}
POWERS = {"quick": (1.0,), "full": (0.5, 1.0, 1.5)}
GROWING = {"quick": (25, 50, 100), "full": (25, 50, 100, 200, 400)}
GROWING_RUNS = {"quick": 10, "full": 20}

UNKNOWN = {"rows": "without S_0", "moves": "without known rows", "none": "without either"}  # what is taken away
DRIFTS = {"walk": "non-stationary", "none": "stationary"}


def table(world: str, cell: tuple[int, int]) -> str:
    """The study of Our Policy and UCWhittle in a cell of Table 1."""
    return f"table1/world={world}/N={cell[0]}/M={cell[1]}"


def table_baselines(world: str, cell: tuple[int, int]) -> str:
    """The study of Random and WIQL in a cell of Table 1."""
    return table(world, cell).replace("table1", "baselines")


def fresh(world: str, cell: tuple[int, int]) -> str:
    """The study of what to use in a cell, on drift paths of another seed."""
    return table(world, cell).replace("table1", "use")


def closed_form(cell: tuple[int, int]) -> str:
    """The study of Appendix D.2 in a cell."""
    return f"appendixD2/N={cell[0]}/M={cell[1]}"


def figure(name: str, slots: int) -> str:
    """The study of a figure at one length of episodes."""
    return f"{name}/H={slots}"


def growing(world: str, power: float, episodes: int) -> str:
    """The study of one T, where transitions move by T^-k an episode."""
    return f"theorem2/world={world}/k={power:g}/T={episodes}"


def informed(world: str, drift: str, knowledge: str) -> str:
    """The study of policies to whom so much of the transitions is known."""
    return f"knowledge/world={world}/drift={drift}/known={knowledge}"


Makers = Iterator[tuple[str, Callable[[], Study]]]


def studies(scale: str, runs: int | None = None) -> Shelf:
    """Every study of a scale by name; `runs` overrides the number of runs."""
    parts = (_table, _figures, _theorem, _knowledge, _closed_form)
    return Shelf(dict(pair for part in parts for pair in part(scale, runs)))


def _table(scale: str, runs: int | None) -> Makers:
    use: dict[str, Policy] = {ADAPTIVE: AdaptiveWhittle(), SLIDING: SlidingWhittle()}
    for world, kind in WORLDS.items():
        for cell in CELLS:
            make = partial(_study, world=kind(n_arms=cell[0], activate=cell[1]))
            name = table(world, cell)
            yield name, partial(make, name, policies=learners(), runs=runs or LEARNER_RUNS[scale][world])
            name = table_baselines(world, cell)
            yield name, partial(make, name, policies=baselines(), runs=runs or BASELINE_RUNS[scale])
            name = fresh(world, cell)
            yield name, partial(make, name, policies=use, runs=runs or USE_RUNS[scale], seed=FRESH)


def _figures(scale: str, runs: int | None) -> Makers:
    for name, world in FIGURES.items():
        for slots in LENGTHS[name]:
            played = WORLDS[world](n_arms=10, activate=4, episode=slots)
            policies = {**baselines(), **learners(), ADAPTIVE: AdaptiveWhittle()}
            make = partial(_study, figure(name, slots), world=played, policies=policies)
            yield figure(name, slots), partial(make, runs=runs or FIGURE_RUNS[scale])


def _theorem(scale: str, runs: int | None) -> Makers:
    for world, kind in WORLDS.items():
        for power in POWERS[scale]:
            for episodes in GROWING[scale]:
                epsilon = episodes**-power
                literal = SlidingWhittle.algorithm1(episodes, epsilon)
                chosen = {"ours-literal": literal, "ours-calibrated": calibrated(literal.window)}
                name, played = growing(world, power, episodes), kind(n_arms=10, activate=4, step=epsilon)
                make = partial(_study, name, world=played, policies=chosen, episodes=episodes)
                yield name, partial(make, runs=runs or GROWING_RUNS[scale])


def _knowledge(scale: str, runs: int | None) -> Makers:
    chosen = {"ours-literal": learners()["ours-literal"], "ours-calibrated": calibrated()}
    for world, kind in WORLDS.items():
        for drift in DRIFTS:
            for known in ("full", *UNKNOWN):
                played = kind(n_arms=10, activate=4, drift=drift, knowledge=known)
                name = informed(world, drift, known)
                yield name, partial(_study, name, world=played, policies=chosen, runs=runs or KNOWLEDGE_RUNS[scale])


def _closed_form(scale: str, runs: int | None) -> Makers:
    for cell in CELLS:
        name, played = closed_form(cell), AgeOfInformation(n_arms=cell[0], activate=cell[1])
        chosen = {"closed form": ClosedFormOracle()}
        yield name, partial(_study, name, world=played, policies=chosen, runs=runs or CLOSED_FORM_RUNS[scale])


def _study(
    name: str,
    *,
    world: RestlessWorld,
    policies: Mapping[str, Policy],
    runs: int,
    episodes: int = EPISODES,
    seed: int = 0,
) -> Study:
    return Study(
        name=name,
        worlds={"world": world},
        policies=policies,
        horizon=episodes * world.episode,
        runs=runs,
        seed=seed,
        marks=(EARLY * world.episode,),
    )
