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
from driftwise.measure.summary import Estimate
from driftwise.measure.variation import Variation, variation
from driftwise.papers.hedging_the_drift.ratios import ratio_of_means
from driftwise.papers.hedging_the_drift.readings import NOISE, READINGS, bobs
from driftwise.study.claims import Claim, Evidence, Finding
from driftwise.study.study import Study

HORIZON = 100_000
FIRST = 0  # the instance that is shown
PAIR = PiecewiseLinear(dim=2, actions="basis", sd=NOISE)
LINEAR = PiecewiseLinear(dim=5, n_actions=40, actions="fresh", sd=NOISE)


class Size(NamedTuple):
    """Runs of the instance that is shown; how many other instances, and the runs of each."""

    first: int
    instances: int
    each: int


SIZES = {
    "figure3": {"quick": Size(50, 20, 2), "full": Size(50, 40, 2)},
    "figure4": {"quick": Size(10, 20, 1), "full": Size(50, 20, 2)},
}
SINGLE = "On a single random instance this can come out either way."


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
    return tuple(f"{figure}/instance={instance}" for instance in range(1, SIZES[figure][scale].instances + 1))


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
    return _study(f"figure3/instance={instance}", world, policies, runs)


def _linear(instance: int, runs: int) -> Study:
    world = replace(LINEAR, instance=instance)
    policies: dict[str, Policy] = {
        "SW-UCB-opt": SlidingLinUCB.optimal(HORIZON, 5, exact(world).l2, NOISE),
        **bobs(),
        "SW-UCB-obl": SlidingLinUCB.oblivious(HORIZON, 5, NOISE),
        "UCB": LinUCB(),
    }
    return _study(f"figure4/instance={instance}", world, policies, runs)


def _study(name: str, world: PiecewiseLinear, policies: Mapping[str, Policy], runs: int) -> Study:
    worlds = {"world": world}
    return Study(name=name, worlds=worlds, policies=policies, horizon=HORIZON, runs=runs, seed=world.instance)


# ---- the claims ----


def claims(scale: str) -> Iterator[Claim]:
    """What the text says of Figures 3 and 4, on the instance shown and on the average of the others."""
    yield from _figure_3(("figure3/instance=0",), "figure3", SINGLE)
    many = instances("figure3", scale)
    yield from _figure_3(many, "figure3/instances", "")
    yield Claim(
        "figure3/instances/UCB-negative",
        "UCB may fail even to achieve a non-negative total reward",
        many,
        partial(_judge_negative, names=many),
    )
    yield Claim(
        "figure3/instances/armed-form",
        "BOB loses less than SW-UCB-obl, with the form of section 8.1 instead of the linear one",
        many,
        partial(_judge_order, names=many, order=("BOB-windowed-armed", "SW-UCB-obl-armed")),
        known="So the paper must have played the linear form.",
    )
    yield from _figure_4(("figure4/instance=0",), "figure4")
    yield from _figure_4(instances("figure4", scale), "figure4/instances")
    both = (*instances("figure3", scale), *instances("figure4", scale))
    yield Claim(
        "figure4/instances/UCB-better",
        "UCB does much better with linear actions than with two arms: judged by its share of what could be earned",
        both,
        partial(_judge_share, pair=instances("figure3", scale), linear=instances("figure4", scale)),
        known="Only in sign: its reward is never negative with linear actions.",
    )


def _figure_3(names: tuple[str, ...], place: str, known: str) -> Iterator[Claim]:
    yield Claim(
        f"{place}/order/known",
        "SW-UCB-opt is better than EXP3.S: both know B_T",
        names,
        partial(_judge_order, names=names, order=("SW-UCB-opt", "EXP3.S")),
    )
    for reading in READINGS:
        ours = f"BOB-{reading}"
        yield Claim(
            f"{place}/order/unknown/{reading}",
            "BOB is the best of those that do not know B_T: SW-UCB-obl and UCB lose more",
            names,
            partial(_judge_best, names=names, best=ours, others=("SW-UCB-obl", "UCB")),
            known=known if reading == "windowed" else "",
        )
        yield Claim(
            f"{place}/comparable/{reading}",
            "BOB earns about as much as EXP3.S, which knows B_T",
            names,
            partial(_judge_comparable, names=names, one=ours, other="EXP3.S"),
            known="Read literally it earns more." if reading == "literal" else "",
        )
    yield Claim(
        f"{place}/adapts",
        "SW-UCB-opt, EXP3.S and BOB follow the drift: each earns more than half of what could be earned, and UCB less",
        names,
        partial(_judge_adapts, names=names, able=("SW-UCB-opt", "EXP3.S", "BOB-windowed"), unable="UCB"),
        known=known,
    )


def _figure_4(names: tuple[str, ...], place: str) -> Iterator[Claim]:
    for reading in READINGS:
        order = ("SW-UCB-opt", f"BOB-{reading}", "SW-UCB-obl", "UCB")
        yield Claim(
            f"{place}/order/{reading}",
            "ranked as with two arms: SW-UCB-opt, BOB, SW-UCB-obl, UCB",
            names,
            partial(_judge_order, names=names, order=order),
        )
    yield Claim(
        f"{place}/UCB-positive",
        "UCB earns something: its total reward is never negative",
        names,
        partial(_judge_positive, names=names),
    )


def regrets(evidence: Evidence, names: Sequence[str], policy: str) -> Floats:
    """Mean regret on each instance; on a single one, the regret of each run."""
    rows = [evidence.regrets(name, policy) for name in names]
    return rows[0] if len(rows) == 1 else np.array([row.mean() for row in rows])


def rewards(evidence: Evidence, names: Sequence[str], policy: str) -> Floats:
    """Mean total reward on each instance; on a single one, that of each run."""
    rows = [evidence.rewards(name, policy) for name in names]
    return rows[0] if len(rows) == 1 else np.array([row.mean() for row in rows])


def _share(evidence: Evidence, names: Sequence[str], policy: str) -> Estimate:
    """Of what could be earned, what was."""
    earned, missed = rewards(evidence, names, policy), regrets(evidence, names, policy)
    return ratio_of_means(earned, earned + missed)


def _judge_order(evidence: Evidence, *, names: tuple[str, ...], order: tuple[str, ...]) -> Finding:
    """Holds when mean regrets rise in this order."""
    by_policy = {policy: regrets(evidence, names, policy) for policy in order}
    means = [float(by_policy[policy].mean()) for policy in order]
    listed = ", ".join(f"{policy} {mean:,.0f}" for policy, mean in zip(order, means, strict=True))
    ratio = ratio_of_means(by_policy[order[0]], by_policy[order[1]])
    return Finding(*ratio, means == sorted(means), f"{listed}.")


def _judge_best(evidence: Evidence, *, names: tuple[str, ...], best: str, others: tuple[str, ...]) -> Finding:
    """Holds when no other has a smaller mean regret; reports in how many runs or instances it was the best."""
    ours, theirs = regrets(evidence, names, best), {other: regrets(evidence, names, other) for other in others}
    nearest = min(others, key=lambda other: theirs[other].mean())
    ratio = ratio_of_means(ours, theirs[nearest])
    shares = ", ".join(f"below {other} in {(ours < theirs[other]).mean():.0%}" for other in others)
    what = "instances" if len(names) > 1 else "runs"
    listed = ", ".join(f"{other} {theirs[other].mean():,.0f}" for other in others)
    why = f"{best} {ours.mean():,.0f}, {listed}; {shares} of {what}."
    return Finding(*ratio, ratio.mean < 1.0, why)


def _judge_comparable(evidence: Evidence, *, names: tuple[str, ...], one: str, other: str) -> Finding:
    """Comparable: within 15%."""
    ours, theirs = rewards(evidence, names, one), rewards(evidence, names, other)
    ratio = ratio_of_means(ours, theirs)
    why = f"{ours.mean():,.0f} against {theirs.mean():,.0f}: {ratio.mean:.2f} of it."
    return Finding(*ratio, abs(ratio.mean - 1.0) <= 0.15, why)


def _judge_adapts(evidence: Evidence, *, names: tuple[str, ...], able: tuple[str, ...], unable: str) -> Finding:
    shares = {policy: _share(evidence, names, policy) for policy in (*able, unable)}
    worst = min((shares[policy] for policy in able), key=lambda share: share.mean)
    why = ", ".join(f"{policy} {share.mean:.0%}" for policy, share in shares.items())
    return Finding(*worst, worst.mean > 0.5 > shares[unable].mean, f"{why} of what could be earned.")


def _judge_negative(evidence: Evidence, *, names: tuple[str, ...]) -> Finding:
    """Holds when there is an instance on which it does."""
    share = float((rewards(evidence, names, "UCB") < 0.0).mean())
    return Finding(share, math.nan, share > 0.0, f"Negative in {share:.1%} of {len(names)} instances.")


def _judge_positive(evidence: Evidence, *, names: tuple[str, ...]) -> Finding:
    earned = rewards(evidence, names, "UCB")
    least, mean = float(earned.min()), float(earned.mean())
    return Finding(least, math.nan, least >= 0.0, f"At least {least:,.0f}, {mean:,.0f} on average.")


def _judge_share(evidence: Evidence, *, pair: tuple[str, ...], linear: tuple[str, ...]) -> Finding:
    two, many = _share(evidence, pair, "UCB"), _share(evidence, linear, "UCB")
    why = f"{many.mean:.0%} of what could be earned with linear actions, {two.mean:.0%} with two arms."
    return Finding(*many, many.mean > two.mean, why)
