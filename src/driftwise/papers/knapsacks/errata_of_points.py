"""Errata of section 4 and Appendix E: 15 to 19."""

from collections.abc import Iterator
from functools import partial

import numpy as np

from driftwise.core.family import trace_for
from driftwise.core.loop import play
from driftwise.core.seeding import key
from driftwise.families import ConvexGap, ConvexLinear, VirtualQueue
from driftwise.families.convex.constraint_violation import wandering
from driftwise.families.convex.hindsight import best_in_every_round, best_on_average
from driftwise.families.convex.loss_history import past_of
from driftwise.papers.knapsacks.errata import Erratum, Form, exactly
from driftwise.papers.knapsacks.points import GAPS, HORIZONS, ROUGHLY, grown
from driftwise.study.claims import Evidence, Finding

ROUNDS = 1000
SMALL = 1e-6


# ---- 15: concave or convex. g = -+((x - 1/2)^2 - 1/16), and two points that keep both ----


def _between(sign: float) -> float:
    """The constraint at the mean of 1/4 and 3/4, where it is 0."""
    ends = [sign * ((x - 0.5) ** 2 - 0.0625) for x in (0.25, 0.75)]
    assert ends == [0.0, 0.0]
    return sign * -0.0625


def _concave(_: Evidence) -> Finding:
    value = _between(-1.0)
    return exactly(value, value <= 0.0, f"1/16 - (x - 1/2)^2 is 0 at 1/4 and 3/4, and {value:.4f} half-way.")


def _convex(_: Evidence) -> Finding:
    value = _between(1.0)
    return exactly(value, value <= 0.0, f"(x - 1/2)^2 - 1/16 is 0 at 1/4 and 3/4, and {value:.4f} half-way.")


# ---- 16: the example of E.1, with b = r = 1 ----


def _optima(delta: float) -> tuple[float, float]:
    past = past_of(ConvexGap(delta=delta), ROUNDS, seed=0)
    return best_on_average(past).value, best_in_every_round(past).value


def _e1(_: Evidence) -> Finding:
    ours, formula = _optima(0.2), (-ROUNDS / 2, -ROUNDS / 4 * (1.0 / 1.2 + 1.0))
    printed = f"{formula[0]:.1f} and {formula[1]:.1f}"
    why = f"T = 1000, delta = 0.2: OPT = {ours[0]:.1f}, OPT' = {ours[1]:.1f}; printed, {printed}."
    return exactly(ours[0], np.allclose(ours, formula, atol=1e-3), why)


def _e1_mended(_: Evidence) -> Finding:
    off = 0.0
    for delta in GAPS:
        formula = -ROUNDS / (2.0 + delta), -ROUNDS / (2.0 * (1.0 + delta))
        off = max(off, float(np.abs(np.subtract(_optima(delta), formula)).max()))
    return exactly(
        off, off <= 1e-3, f"Off by at most {off:.1g} for delta = {', '.join(f'{delta:g}' for delta in GAPS)}."
    )


# ---- 17: alpha and beta ----


def _rate(evidence: Evidence, *, policy: str) -> Finding:
    slope = grown(evidence, "linear", "loss", policy).slope()
    return Finding(*slope, slope.mean <= 0.5 + ROUGHLY, f"It grows as T^{slope.mean:.2f}.")


# ---- 18: the first two rounds ----


def _first_rounds(_: Evidence) -> Finding:
    world, policy, rounds = ConvexLinear(), VirtualQueue(), 100
    problem, (tape, sheet) = world.problem(rounds), world.draw(rounds, 0)
    state, trace = policy.init(problem), trace_for(problem, 0, 1)
    start = state.point.copy()
    play(policy, state, tape, sheet, key(0), trace, 1)
    moved, queued = float(np.abs(trace.actions[0] - start).max()), float(state.queues.max())
    return exactly(
        moved + queued, moved == 0.0 and queued == 0.0, "x_1 = x_0, and the queues are empty when x_2 is chosen."
    )


# ---- 19: Appendix E.3 ----

LUCKY = ConvexLinear(noise=0.5, variation=2.0)


def _starred(_: Evidence) -> Finding:
    past = past_of(LUCKY, ROUNDS, seed=0)
    loose, strict = best_on_average(past), best_in_every_round(past)
    why = f"OPT = {loose.value:.1f}, OPT' = {strict.value:.1f} of the same programs."
    return exactly(strict.value / loose.value, abs(strict.value - loose.value) < 1e-3, why)


def _starred_mended(_: Evidence) -> Finding:
    past = past_of(LUCKY, ROUNDS, seed=0)
    best = best_on_average(past)
    overdrawn = float(past.sums(best.point)[0].max())
    holds = overdrawn <= 1e-3 and best.gap <= 1e-6 * abs(best.value)
    return exactly(
        best.value, holds, f"It keeps them, and prices prove that none loses {max(best.gap, SMALL):.0e} less."
    )


def _luck(drawn: bool) -> float:
    return wandering(past_of(ConvexLinear(noise=0.5), ROUNDS, seed=0, drawn=drawn)) / ROUNDS


def _wandering(_: Evidence) -> Finding:
    share = _luck(drawn=True)
    return exactly(share, share < 0.01, f"As met, they stray {share:.2f} a round for ever, though nothing drifts.")


def _wandering_mended(_: Evidence) -> Finding:
    share = _luck(drawn=False)
    return exactly(share, share < 0.01, f"{share:.2f} a round.")


def errata(scale: str) -> Iterator[Erratum]:
    """All of them."""
    yield Erratum(
        "15-concave",
        Form("constraints g <= 0 are concave: what lies between two points that keep one keeps it", _concave),
        Form("convex", _convex),
        "Concave ones allow sets with holes; OPT is then no convex program.",
    )
    yield Erratum(
        "16-e1",
        Form("OPT = -T r / 2, OPT' = -(T/4) (r b / (b + delta) + r)", _e1, paper=-ROUNDS / 2),
        Form(
            "-T r b / (2 b + delta) and -T r b / (2 (b + delta)): shown is by how much they are off",
            _e1_mended,
            paper=0.0,
        ),
        "Printed is what two points, one for each half, would lose; the benchmark is one point for all rounds.",
    )
    studies = tuple(f"oco/linear/T={horizon}" for horizon in HORIZONS[scale])
    yield Erratum(
        "17-alpha-beta",
        Form("Reg1 is O(sqrt(T)) with alpha = 1/T, beta = 1/sqrt(T)", partial(_rate, policy="printed"), paper=0.5),
        Form("with alpha = T, beta = sqrt(T)", partial(_rate, policy="corrected"), paper=0.5),
        "Both are printed upside down.",
        studies=studies,
    )
    yield Erratum(
        "18-first-rounds",
        None,
        Form(
            "f_0 and g_0, which are not defined, are zero: shown is how far x_1 and the queues move", _first_rounds, 0.0
        ),
    )
    yield Erratum(
        "19-e3",
        Form(
            "the x*' of E.3 is that of section 4, which keeps constraints in every round: shown is OPT' / OPT",
            _starred,
            1.0,
        ),
        Form("it keeps them on average, in expectation", _starred_mended),
        "The same letter is used for two points.",
    )
    yield Erratum(
        "19-e3-w",
        Form("W of constraints as they are met is small where nothing drifts: shown is W / T", _wandering, paper=0.0),
        Form("W of their expectations is", _wandering_mended, paper=0.0),
        "Section 4's W counts luck as drift; E.3's, of expectations, does not.",
    )
