"""Errata of section 4 and Appendix E, and what they leave open. Algorithm 2's alpha and beta: see `theorem3.py`."""

from functools import partial

import numpy as np

from driftwise.core.family import trace_for
from driftwise.core.loop import play
from driftwise.core.seeding import key
from driftwise.core.types import Floats, Slopes
from driftwise.families import ConvexGap, ConvexLinear, VirtualQueue
from driftwise.families.convex.constraint_violation import wandering
from driftwise.families.convex.hindsight import best_in_every_round, best_on_average
from driftwise.families.convex.loss_history import past_of
from driftwise.families.convex.projections import box
from driftwise.papers.knapsacks.adaptive_adversary import points_of
from driftwise.papers.knapsacks.errata import Erratum, Form, left_open, remark
from driftwise.papers.knapsacks.power_law import margin, power_of
from driftwise.papers.knapsacks.theorem3 import GAPS
from driftwise.study.claims import Evidence, Finding, at_least, at_most

ROUNDS = 1000
HORIZONS = (400, 1_600, 6_400)


# ---- concave or convex: g = -+((x - 1/2)^2 - 1/16) on [0, 1], from its middle ----


def _overdrawn(horizon: int, sign: float) -> float:
    """Reg2 of Algorithm 2 where the loss draws it to the middle for a concave g, to 1 for a convex one."""

    def answer(t: int, points: Floats) -> Slopes:
        off = float(points[t, 0]) - 0.5
        pull = 2.0 * off if sign < 0.0 else -1.0
        return Slopes(0.0, np.array([pull]), np.array([sign * (off**2 - 0.0625)]), np.array([[sign * 2.0 * off]]))

    points = points_of(VirtualQueue(), box(0.0, 1.0), horizon, answer)
    return max(0.0, float((sign * ((points - 0.5) ** 2 - 0.0625)).sum()))


def _shape(_: Evidence, *, sign: float) -> Finding:
    overdrawn = np.array([_overdrawn(horizon, sign) for horizon in HORIZONS])
    listed = ", ".join(f"{each:.1f}" for each in overdrawn)
    return Finding(power_of(np.array(HORIZONS, float), overdrawn), why=f"{listed} at T = {HORIZONS}.")


# ---- the optima of E.1, with b = r = 1 ----


def _optima(delta: float) -> tuple[float, float]:
    past = past_of(ConvexGap(delta=delta), ROUNDS, seed=0)
    return best_on_average(past).value, best_in_every_round(past).value


def _e1(_: Evidence, *, printed: bool) -> Finding:
    off, listed = 0.0, []
    for delta in GAPS:
        ours = _optima(delta)
        means = (-ROUNDS / 2.0, -ROUNDS / 4.0 * (1.0 / (1.0 + delta) + 1.0))
        formula = means if printed else (-ROUNDS / (2.0 + delta), -ROUNDS / (2.0 * (1.0 + delta)))
        off = max(off, float(np.abs(np.divide(ours, formula) - 1.0).max()))
        listed.append(f"OPT = {ours[0]:.1f}, OPT' = {ours[1]:.1f} at delta = {delta:g}")
    return Finding(off, why=f"{'; '.join(listed)}.")


# ---- the first rounds, and W of what is drawn ----


def _first_rounds(_: Evidence) -> Finding:
    world, policy, rounds = ConvexLinear(), VirtualQueue(), 100
    problem, (tape, sheet) = world.problem(rounds), world.draw(rounds, 0)
    state, trace = policy.init(problem), trace_for(problem, 0, 1)
    start = state.point.copy()
    play(policy, state, tape, sheet, key(0), trace, 1)
    moved, queued = float(np.abs(trace.actions[0] - start).max()), float(state.queues.max())
    return Finding(moved + queued, why="x_1 = x_0, and the queues are empty when x_2 is chosen.")


def _luck(_: Evidence) -> Finding:
    drawn, expected = (
        wandering(past_of(ConvexLinear(noise=0.5), ROUNDS, seed=0, drawn=each)) for each in (True, False)
    )
    return Finding((drawn - expected) / ROUNDS, why=f"{drawn:,.0f} as met, {expected:,.0f} in expectation.")


ERRATA = (
    Erratum(
        "section-4-concave",
        Form(
            "with concave constraints Reg2 is O(sqrt(T)): shown is the power of T, from the middle of [0, 1]",
            partial(_shape, sign=-1.0),
            at_most(0.5 + margin(HORIZONS)),
            paper=0.5,
        ),
        Form("with convex ones", partial(_shape, sign=1.0), at_most(0.5 + margin(HORIZONS)), paper=0.5),
    ),
    Erratum(
        "appendix-e1-optima",
        Form(
            "OPT = -T r / 2, OPT' = -(T/4) (r b / (b + delta) + r): shown is by which share they are off at most",
            partial(_e1, printed=True),
            at_most(1e-5),
            paper=0.0,
        ),
        Form(
            "-T r b / (2 b + delta) and -T r b / (2 (b + delta))", partial(_e1, printed=False), at_most(1e-5), paper=0.0
        ),
    ),
)
NOTES = (
    remark(
        "drawn-w",
        Form(
            "section 4's W counts luck as drift, E.3's does not: shown is the difference a round where nothing drifts",
            _luck,
            at_least(0.1),
        ),
    ),
    left_open(
        "first-rounds",
        Form(
            "f_0 and g_0, which are not defined, are zero: shown is how far x_1 and the queues move",
            _first_rounds,
            at_most(0.0),
        ),
    ),
)
