"""The experiments of section 6 as studies: Table 1, Figures 1 and 2, growth with T, and the recommended policy.

T episodes of H slots. Where a study differs from another in its name alone, its runs are played once.
"""

from collections.abc import Callable, Iterator, Mapping
from functools import partial

from driftwise.core.protocols import Policy
from driftwise.families import (
    WIQL,
    AdaptiveWhittle,
    AgeOfInformation,
    Climbing,
    RandomArms,
    SlidingWhittle,
    UCWhittle,
    WhittleThompson,
)
from driftwise.families.restless.worlds.base import RestlessWorld
from driftwise.papers import Shelf
from driftwise.study.study import Study

RUNS = {"quick": 10, "full": 50}
EPISODES, SLOTS, EPSILON = 50, 100, 0.05
EARLY = 10  # episodes after which growth is measured
CELLS = ((10, 1), (10, 4), (20, 4))
LENGTHS = (20, 50, 100, 200)
FIGURE_RUNS = {"quick": 10, "full": 20}
FRESH = 20_250_618  # the seed of drift paths on which nothing was picked

WORLDS: dict[str, type[Climbing] | type[AgeOfInformation]] = {"ladder": Climbing, "ages": AgeOfInformation}
APPLICATIONS = {"ladder": "One Dimensional Bandit", "ages": "Wireless Scheduling"}
FIGURES = {"figure1": "ladder", "figure2": "ages"}
OURS = ("ours-literal", "ours-calibrated", "ours-certain")
RIVALS = ("UCWhittle-literal", "UCWhittle-vacuous", "UCWhittle-size=10")
FITTED = {"ladder": "UCWhittle-vacuous", "ages": "UCWhittle-size=10"}  # the reading that comes nearest Table 1
RECOMMENDED = "adaptive-whittle"

POWERS = {"quick": (1.0,), "full": (0.5, 1.0, 1.5)}
GROWING = {"quick": (25, 50, 100), "full": (25, 50, 100, 200, 400)}
GROWING_RUNS = {"quick": 6, "full": 12}


def policies() -> dict[str, Policy]:
    """Every row of Table 1 by each of its readings, and two that are not in the paper."""
    return {
        "Random": RandomArms(),
        "WIQL": WIQL(),
        "UCWhittle-literal": UCWhittle(),
        "UCWhittle-vacuous": UCWhittle(size=1e12),
        "UCWhittle-size=10": UCWhittle(size=10.0),
        "ours-literal": SlidingWhittle.theorem2(EPISODES, EPSILON),
        "ours-calibrated": SlidingWhittle.calibrated(),
        "ours-certain": SlidingWhittle.certain(),
        "whittle-thompson": WhittleThompson(),
        RECOMMENDED: AdaptiveWhittle(),
    }


def table(world: str, cell: tuple[int, int]) -> str:
    """The study of a cell of Table 1."""
    return f"table1/world={world}/N={cell[0]}/M={cell[1]}"


def fresh(world: str, cell: tuple[int, int]) -> str:
    """The study of a cell on drift paths of another seed."""
    return table(world, cell).replace("table1", "recommended")


def figure(name: str, slots: int) -> str:
    """The study of a figure at one length of episodes."""
    return f"{name}/H={slots}"


def growing(world: str, power: float, episodes: int) -> str:
    """The study of one T, where kernels move by T^-k an episode."""
    return f"theorem2/world={world}/k={power:g}/T={episodes}"


def studies(scale: str, runs: int | None = None) -> Shelf:
    """Every study of a scale by name; `runs` overrides the number of runs."""
    return Shelf(dict((*_table(scale, runs), *_figures(scale, runs), *_theorem(scale, runs))))


def _table(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    for world, kind in WORLDS.items():
        for cell in CELLS:
            played = kind(n_arms=cell[0], activate=cell[1])
            make = partial(_study, world=played, runs=runs or RUNS[scale])
            yield table(world, cell), partial(make, table(world, cell), policies=policies())
            own = {RECOMMENDED: policies()[RECOMMENDED]}
            yield fresh(world, cell), partial(make, fresh(world, cell), policies=own, seed=FRESH)


def _figures(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    for name, world in FIGURES.items():
        for slots in LENGTHS:
            played = WORLDS[world](n_arms=10, activate=4, episode=slots)
            make = partial(_study, figure(name, slots), world=played, policies=policies())
            yield figure(name, slots), partial(make, runs=runs or FIGURE_RUNS[scale])


def _theorem(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    for world, kind in WORLDS.items():
        for power in POWERS[scale]:
            for episodes in GROWING[scale]:
                epsilon = episodes**-power
                played = kind(n_arms=10, activate=4, step=epsilon)
                literal = SlidingWhittle.theorem2(episodes, epsilon)
                chosen = {"ours-literal": literal, "ours-calibrated": SlidingWhittle.calibrated(literal.window)}
                name = growing(world, power, episodes)
                make = partial(_study, name, world=played, policies=chosen, episodes=episodes)
                yield name, partial(make, runs=runs or GROWING_RUNS[scale])


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
