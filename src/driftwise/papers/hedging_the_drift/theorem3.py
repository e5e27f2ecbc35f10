"""Theorem 3 with its constants: (60) against every run of SW-UCB on axes, where its proof holds.

Most of the time (60) allows more than always playing the worst arm would lose, and says nothing. It is judged where it
says something. In Figure 4 actions do not lie on axes, and (60) is not proven (`estimation.py`).
"""

import math
from collections.abc import Iterator
from functools import lru_cache, partial

from driftwise.core.protocols import World
from driftwise.families import PiecewiseLinear, SlidingLinUCB
from driftwise.families.contextual.regret_bounds import sliding_lin_ucb_bound
from driftwise.measure.variation import variation
from driftwise.papers.hedging_the_drift import gradual, piecewise
from driftwise.study.claims import Claim, Evidence, Finding, Range, at_most
from driftwise.study.findings import mean_of
from driftwise.study.study import Study


def claims(scale: str) -> Iterator[Claim]:
    """A claim per figure with actions on axes."""
    figures = {
        **{
            figure: tuple(name for phase in gradual.PHASES for name in gradual.names(figure, phase, scale))
            for figure in ("figure2a", "figure2b")
        },
        "figure3": ("figure3/instance=0", *piecewise.instances("figure3", scale)),
    }
    for figure, names in figures.items():
        yield Claim(
            f"theorem3/bound/{figure}",
            "SW-UCB loses no more than (60) allows: the largest share of the bound, where that is below the regret of "
            "the worst arm",
            names,
            partial(_measure_bound, names=names),
            agrees=at_most(1.0),
            possible=Range(0.0, math.inf),
            statement="theorem3/bound",
            reading="literal" if figure == "figure2a" else figure,
        )


def _measure_bound(evidence: Evidence, *, names: tuple[str, ...]) -> Finding:
    shares, least = {}, math.inf
    for name in names:
        study = evidence.studies[name]
        worst = most_regret(study.worlds["world"], study.horizon)
        for label, policy in study.policies.items():
            if isinstance(policy, SlidingLinUCB):
                bound = sliding_lin_ucb_bound(policy, study.worlds["world"].problem(study.horizon), _moved(study))
                least = min(least, bound / worst)
                if bound < worst:
                    shares[name, label] = mean_of(evidence.regrets(name, label) / bound)
    if not shares:
        return Finding(math.nan, not_judged=f"It allows at least {least:.1f} times the regret of the worst arm.")
    place = max(shares, key=lambda each: shares[each].ours + 1.645 * shares[each].error)
    why = f"{shares[place].ours:.1%} of it: {place[1]} in {place[0]}; below the worst arm in {len(shares)} places."
    return shares[place]._replace(why=why)


@lru_cache(maxsize=200)
def most_regret(world: World, horizon: int) -> float:
    """The regret of whoever always plays the worst action."""
    total = 0.0
    for tape in world.tapes(horizon, 0):
        means = tape.levels.table[tape.levels.rows]
        total += float((means.max(axis=1) - means.min(axis=1)).sum())
    return total


def _moved(study: Study) -> float:
    world = study.worlds["world"]
    return piecewise.exact(world).l2 if isinstance(world, PiecewiseLinear) else variation(world, study.horizon, 0).l2
