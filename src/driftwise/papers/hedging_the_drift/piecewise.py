"""Section 9.1.2, Figures 3 and 4: a parameter on straight lines between random directions, T = 100,000.

The paper shows one random instance, 50 times. Here is one too, and since the order of the algorithms differs between
instances, the average over many: a study for each, for the optimal window depends on the variation of the instance.
Each has a seed of its own: with a common one a policy that draws would have the same luck on all of them.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np

from driftwise.core.protocols import Policy
from driftwise.core.types import Floats
from driftwise.families import EXP3S, LinUCB, PiecewiseLinear, SlidingArmedUCB, SlidingLinUCB
from driftwise.measure.variation import Variation, variation
from driftwise.papers.hedging_the_drift.readings import NOISE, READINGS, bobs
from driftwise.study.claims import Claim, Evidence, Finding, Range, at_least, at_most, between
from driftwise.study.findings import mean_of, ratio_of
from driftwise.study.study import Study

HORIZON = 100_000
FIRST = 0  # the instance that is shown
PAIR = PiecewiseLinear(dim=2, actions="basis", sd=NOISE)
LINEAR = PiecewiseLinear(dim=5, n_actions=40, actions="fresh", sd=NOISE)
WORLDS = {"figure3": PAIR, "figure4": LINEAR}


class Size(NamedTuple):
    """Runs of the instance that is shown; how many other instances, and the runs of each."""

    first: int
    instances: int
    each: int


SIZES = {
    "figure3": {"quick": Size(20, 12, 2), "full": Size(50, 40, 2)},
    "figure4": {"quick": Size(6, 12, 2), "full": Size(50, 20, 2)},
}


# ---- the studies ----


def studies(scale: str, runs: int | None) -> Iterator[tuple[str, Callable[[], Study]]]:
    """A study per figure and instance."""
    for figure, make in (("figure3", _pair), ("figure4", _linear)):
        size = SIZES[figure][scale]
        for instance in (FIRST, *range(1, size.instances + 1)):
            times = size.first if instance == FIRST else size.each
            yield f"{figure}/instance={instance}", partial(make, instance, runs or times)


def instances(figure: str, scale: str) -> tuple[str, ...]:
    """The studies that are averaged."""
    return instance_names(figure, SIZES[figure][scale].instances)


def instance_names(start: str, count: int) -> tuple[str, ...]:
    """The studies of so many instances besides the one that is shown."""
    return tuple(f"{start}/instance={instance}" for instance in range(1, count + 1))


def instance_studies(
    names: Callable[[str], tuple[str, ...]], policies: Callable[[PiecewiseLinear], dict[str, Policy]], runs: int
) -> Iterator[tuple[str, Callable[[], Study]]]:
    """Other policies on the instances of both figures: `names` by figure, `policies` by instance."""
    for figure, world in WORLDS.items():
        for number, name in enumerate(names(figure), start=1):
            yield name, partial(_study_of, name, replace(world, instance=number), policies, runs)


def _study_of(
    name: str, world: PiecewiseLinear, policies: Callable[[PiecewiseLinear], dict[str, Policy]], runs: int
) -> Study:
    return instance_study(name, world, policies(world), runs)


@lru_cache(maxsize=200)
def exact(world: PiecewiseLinear) -> Variation:
    """How far an instance goes; the actions do not matter, and drawing them would take time."""
    return variation(replace(world, actions="basis"), HORIZON, seed=0)


def _pair(instance: int, runs: int) -> Study:
    world = replace(PAIR, instance=instance)
    moved = exact(world)
    policies: dict[str, Policy] = {
        "SW-UCB-opt": SlidingLinUCB.optimal(HORIZON, 2, moved.l2, NOISE),
        "EXP3.S": EXP3S.for_variation(HORIZON, moved.sup, 2, low=-1.0, high=1.0),
        **bobs(),
        "SW-UCB-obl": SlidingLinUCB.oblivious(HORIZON, 2, NOISE),
        "UCB": LinUCB(),
        "SW-UCB-opt-armed": SlidingArmedUCB.theorem6(HORIZON, 2, moved.l2),
        "BOB-windowed-armed": bobs(armed=True)["BOB-windowed-armed"],
        "SW-UCB-obl-armed": SlidingArmedUCB.theorem6(HORIZON, 2),
    }
    return instance_study(f"figure3/instance={instance}", world, policies, runs)


def _linear(instance: int, runs: int) -> Study:
    world = replace(LINEAR, instance=instance)
    policies: dict[str, Policy] = {
        "SW-UCB-opt": SlidingLinUCB.optimal(HORIZON, 5, exact(world).l2, NOISE),
        **bobs(),
        "SW-UCB-obl": SlidingLinUCB.oblivious(HORIZON, 5, NOISE),
        "UCB": LinUCB(),
    }
    return instance_study(f"figure4/instance={instance}", world, policies, runs)


def instance_study(name: str, world: PiecewiseLinear, policies: Mapping[str, Policy], runs: int) -> Study:
    """Policies on one instance."""
    worlds = {"world": world}
    return Study(name=name, worlds=worlds, policies=policies, horizon=HORIZON, runs=runs, seed=world.instance)


# ---- the claims ----

RATIOS = Range(0.0, math.inf)
SHARES = Range(-1.0, 1.0)
COMPARABLE = between(0.85, 1.15)


def claims(scale: str) -> Iterator[Claim]:
    """What the text says of Figures 3 and 4, on the instance shown and on the average of the others."""
    for place, names in (("figure3", ("figure3/instance=0",)), ("figure3/instances", instances("figure3", scale))):
        yield from _figure_3(names, place)
    many = instances("figure3", scale)
    yield Claim(
        "figure3/instances/UCB-negative",
        "UCB may fail even to achieve a non-negative total reward: its least total reward over instances",
        many,
        partial(_measure_least_reward, names=many),
        agrees=at_most(0.0),
        statement="figure3/UCB-negative",
    )
    yield Claim(
        "figure3/instances/armed-form",
        "BOB loses less than SW-UCB-obl, with the form of section 8.1 instead of the linear one",
        many,
        partial(_measure_pair, names=many, one="BOB-windowed-armed", other="SW-UCB-obl-armed"),
        agrees=at_most(1.0),
        possible=RATIOS,
        statement="figure3/order/BOB/SW-UCB-obl",
        reading="the form for arms",
        about="BOB-windowed-armed",
    )
    for place, names in (("figure4", ("figure4/instance=0",)), ("figure4/instances", instances("figure4", scale))):
        yield from _figure_4(names, place)
    pair, linear = instances("figure3", scale), instances("figure4", scale)
    yield Claim(
        "figure4/instances/UCB-better",
        "UCB does much better with linear actions than with two arms: how much more of what can be earned it earns",
        (*pair, *linear),
        partial(_measure_share, pair=pair, linear=linear),
        agrees=at_least(0.05),
        possible=Range(-2.0, 2.0),
        statement="figure4/UCB-better",
    )


def _order(place: str, names: tuple[str, ...], best: str, other: str, reading: str = "") -> Claim:
    """Who loses less: the ratio of mean regrets over runs of the instance shown, or over instances."""
    figure = place.partition("/")[0]
    many = len(names) > 1
    words = [f"BOB {reading}"] * bool(reading) + ["the average over instances"] * many
    return Claim(
        f"{place}/order/{best}/{other}",
        f"{best} loses less than {other}",
        names,
        partial(_measure_pair, names=names, one=best, other=other),
        agrees=at_most(1.0),
        possible=RATIOS,
        statement=f"{figure}/order/{_algorithm(best)}/{_algorithm(other)}",
        reading="literal" if not many and reading != "literal" else ", ".join(words),
        about=best,
    )


def _algorithm(policy: str) -> str:
    """The paper's name for it."""
    return "BOB" if policy.startswith("BOB") else policy


def _figure_3(names: tuple[str, ...], place: str) -> Iterator[Claim]:
    many = ["the average over instances"] * (len(names) > 1)
    yield _order(place, names, "SW-UCB-opt", "EXP3.S")
    for reading in READINGS:
        ours = f"BOB-{reading}"
        for other in ("SW-UCB-obl", "UCB"):
            yield _order(place, names, ours, other, reading)
        words = ", ".join([f"BOB {reading}", *many])
        yield Claim(
            f"{place}/comparable/{reading}",
            "BOB earns about as much as EXP3.S, which knows B_T: 85 to 115%",
            names,
            partial(_measure_comparable, names=names, one=ours, other="EXP3.S"),
            agrees=COMPARABLE,
            statement="figure3/comparable",
            reading="literal" if reading == "windowed" and not many else words,
            about=ours,
        )
    for policy in ("SW-UCB-opt", "EXP3.S", "BOB-windowed", "UCB"):
        adapts = policy != "UCB"
        yield Claim(
            f"{place}/adapts/{policy}",
            f"{policy} {'follows' if adapts else 'does not follow'} the drift: it earns "
            f"{'more' if adapts else 'less'} than half of what can be earned",
            names,
            partial(_measure_earned, names=names, policy=policy),
            agrees=between(0.5, 1.0) if adapts else between(-1.0, 0.5),
            possible=SHARES,
            statement=f"figure3/adapts/{policy}",
            reading=", ".join(many) or "literal",
            about=policy if adapts else "",
        )


def _figure_4(names: tuple[str, ...], place: str) -> Iterator[Claim]:
    for reading in READINGS:
        yield _order(place, names, "SW-UCB-opt", f"BOB-{reading}", reading)
        yield _order(place, names, f"BOB-{reading}", "SW-UCB-obl", reading)
    yield _order(place, names, "SW-UCB-obl", "UCB")
    many = len(names) > 1
    yield Claim(
        f"{place}/UCB-positive",
        "UCB earns something: its least total reward is not negative",
        names,
        partial(_measure_least_reward, names=names),
        agrees=at_least(0.0),
        statement="figure4/UCB-positive",
        reading="over instances" if many else "literal",
    )


def regrets(evidence: Evidence, names: Sequence[str], policy: str) -> Floats:
    """Mean regret on each instance; on a single one, the regret of each run."""
    rows = [evidence.regrets(name, policy) for name in names]
    return rows[0] if len(rows) == 1 else np.array([row.mean() for row in rows])


def rewards(evidence: Evidence, names: Sequence[str], policy: str) -> Floats:
    """Mean total reward on each instance; on a single one, that of each run."""
    rows = [evidence.rewards(name, policy) for name in names]
    return rows[0] if len(rows) == 1 else np.array([row.mean() for row in rows])


def _share(evidence: Evidence, names: Sequence[str], policy: str) -> Finding:
    """Of what could be earned, what was."""
    earned, missed = rewards(evidence, names, policy), regrets(evidence, names, policy)
    return ratio_of(earned, earned + missed)


def _measure_pair(evidence: Evidence, *, names: tuple[str, ...], one: str, other: str) -> Finding:
    ours, theirs = regrets(evidence, names, one), regrets(evidence, names, other)
    what = "instances" if len(names) > 1 else "runs"
    why = f"{one} {ours.mean():,.0f}, {other} {theirs.mean():,.0f}; less in {(ours < theirs).mean():.0%} of {what}."
    return ratio_of(ours, theirs, why)


def _measure_comparable(evidence: Evidence, *, names: tuple[str, ...], one: str, other: str) -> Finding:
    ours, theirs = rewards(evidence, names, one), rewards(evidence, names, other)
    ratio = ratio_of(ours, theirs)
    return ratio._replace(why=f"{ours.mean():,.0f} against {theirs.mean():,.0f}: {ratio.ours:.2f} of it.")


def _measure_earned(evidence: Evidence, *, names: tuple[str, ...], policy: str) -> Finding:
    share = _share(evidence, names, policy)
    return share._replace(why=f"{share.ours:.0%} of what can be earned.")


def _measure_least_reward(evidence: Evidence, *, names: tuple[str, ...]) -> Finding:
    """The instance on which UCB earns least; the error is that of its runs."""
    by_name = {name: mean_of(evidence.rewards(name, "UCB")) for name in names}
    least = min(by_name.values(), key=lambda each: each.ours)
    negative = np.mean([each.ours < 0.0 for each in by_name.values()])
    many = f", {negative:.0%} of {len(names)} instances below zero" if len(names) > 1 else ""
    return least._replace(why=f"At least {least.ours:,.0f}{many}.")


def _measure_share(evidence: Evidence, *, pair: tuple[str, ...], linear: tuple[str, ...]) -> Finding:
    two, many = _share(evidence, pair, "UCB"), _share(evidence, linear, "UCB")
    why = f"{many.ours:.0%} of what could be earned with linear actions, {two.ours:.0%} with two arms."
    return Finding(many.ours - two.ours, math.hypot(two.error, many.error), why, runs=min(two.runs, many.runs))
