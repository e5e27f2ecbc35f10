"""The best fixed point in hindsight: against closed forms, against all rows at once, and by prices that prove it."""

from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

import driftwise as dw
from driftwise.core.types import Floats
from driftwise.errors import ParameterError
from driftwise.families import ConvexGap, ConvexHard, ConvexLinear, ConvexQuadratic
from driftwise.families.convex.constraint_violation import regrets, wandering
from driftwise.families.convex.hindsight import best_in_every_round, best_on_average
from driftwise.families.convex.loss_history import Functions, Recorded, past_of
from driftwise.families.convex.projections import Domain
from driftwise.families.convex.quadratics import Quadratics, most_over

CLOSE = 1e-6
SHAPES = {
    "box": dw.box(-1.0, 2.0, size=3),
    "ball": dw.ball([0.5, -0.5, 1.0], 1.5),
    "simplex": dw.simplex(3, total=2.0),
    "product": dw.product(dw.box(-1.0, 2.0), dw.ball([0.5, 0.0], 1.0), dw.simplex(2)),
}


def recorded(domain: Domain, losses: Any, constraints: Any) -> Recorded:
    """A past in which every round has its own functions, from tables of (curves, slopes, levels)."""
    rows = np.arange(len(losses[0]), dtype=np.int32)
    tables = [[np.array(table, float) for table in each] for each in (losses, constraints)]
    return Recorded(domain, *(Quadratics(curves, slopes, levels, rows) for curves, slopes, levels in tables))


def any_past(luck: np.random.Generator, domain: Domain, *, curved: bool, rounds: int = 12, count: int = 2) -> Recorded:
    """Random rounds whose constraints the middle of the domain keeps."""
    dim, middle = domain.dim, domain.centres
    bends = luck.uniform(0.2, 1.0, (rounds, 1 + count)) if curved else np.zeros((rounds, 1 + count))
    slopes = luck.standard_normal((rounds, 1 + count, dim))
    at_middle = 0.5 * bends * (middle @ middle) + slopes @ middle
    levels = -at_middle - luck.uniform(0.1, 1.0, (rounds, 1 + count))
    parts = ((each[:, :1], each[:, 1:]) for each in (bends, slopes, levels))
    losses, constraints = zip(*parts, strict=True)
    return recorded(domain, losses, constraints)


# ---- closed forms ----


@pytest.mark.parametrize("delta", [0.05, 0.2, 0.5])
def test_the_two_yardsticks_of_appendix_e1(delta: float) -> None:
    """One fixed point each. What the paper prints for them are losses of two points, one for each half."""
    rounds, base, gain = 1000, 0.8, 1.5
    past = past_of(ConvexGap(delta=delta, base=base, gain=gain), rounds, seed=0)
    average, every = best_on_average(past), best_in_every_round(past)
    assert average.value == pytest.approx(-rounds * gain * base / (2 * base + delta), rel=CLOSE)
    assert every.value == pytest.approx(-rounds * gain * base / (2 * (base + delta)), rel=CLOSE)
    printed = (-rounds * gain / 2, -(rounds / 4) * (gain * base / (base + delta) + gain))
    assert average.value > printed[0] + 1.0 and every.value > printed[1] + 1.0


def test_prices_are_shared_among_rounds_alike() -> None:
    """One binding row could bear it all, at 952; shared by all that bind, the largest price is 2 r / (b + delta)."""
    shares = {}
    for delta in (0.05, 0.2, 0.5):
        past = past_of(ConvexGap(delta=delta), 1000, seed=0)
        average, every = best_on_average(past), best_in_every_round(past)
        assert average.prices.max() == pytest.approx(1 / (1 + delta / 2), rel=CLOSE)
        assert every.prices.max() == pytest.approx(2 / (1 + delta), rel=CLOSE)
        highest = max(average.prices.max(), every.prices.max())
        assert wandering(past) == pytest.approx(1000 * delta / 2)
        shares[delta] = (every.value - average.value) / (highest * wandering(past))
    assert shares == pytest.approx({0.05: 0.244, 0.2: 0.227, 0.5: 0.200}, abs=5e-4)
    rows = 1.05 * np.ones((500, 1))
    alone = linprog([-1000.0], A_ub=rows, b_ub=np.full(500, 0.5), bounds=(0, 1), method="highs")
    assert -alone.ineqlin.marginals.min() == pytest.approx(952.38, abs=0.01)


@pytest.mark.parametrize("delta", [0.1, 0.4])
def test_a_constraint_that_loosens_when_nothing_is_to_gain(delta: float) -> None:
    past = past_of(ConvexHard(delta=delta), 600, seed=0)
    assert best_on_average(past).value == pytest.approx(-150.0)
    assert best_in_every_round(past).value == pytest.approx(-150.0 / (1 + delta))
    assert wandering(past) == pytest.approx(600 * delta)
    careful = regrets(past, np.full((600, 1), 0.5 / (1 + delta)))
    assert careful.loss == pytest.approx(600 * delta / (4 * (1 + delta)))
    assert careful.violation == 0.0
    assert regrets(past, np.ones((600, 1))).violation == pytest.approx(300.0)


def test_the_nearest_allowed_point_to_the_mean_target() -> None:
    past = past_of(ConvexQuadratic(allowed=0.25), 500, seed=3)
    mean = -past.losses.mean.slopes[0, 0]
    best = best_on_average(past)
    np.testing.assert_allclose(best.point, 0.5 * mean / np.linalg.norm(mean), atol=1e-7)
    assert best.prices[0] == pytest.approx((np.linalg.norm(mean) / 0.5 - 1.0) / 2.0, rel=1e-5)


# ---- proofs ----


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("curved", [False, True], ids=["linear", "quadratic"])
def test_prices_prove_the_point(shape: str, curved: bool) -> None:
    luck = np.random.default_rng(5)
    for _ in range(5):
        past = any_past(luck, SHAPES[shape], curved=curved)
        average, every = best_on_average(past), best_in_every_round(past)
        for best, broken in ((average, past.sums(average.point)[0] / 12.0), (every, past.values(every.point))):
            assert SHAPES[shape].contains(best.point)
            assert broken.max() <= 1e-7
            assert -1e-5 <= best.gap <= 1e-4, "no point that keeps the constraints loses less"
            assert (best.prices >= 0.0).all()
        assert every.value >= average.value - 1e-6


@pytest.mark.parametrize("curved", [False, True], ids=["linear", "quadratic"])
def test_a_few_rows_at_a_time_are_as_good_as_all(curved: bool) -> None:
    """OPT' of T rounds is OPT of one round with all their constraints: T d rows at once."""
    luck, domain = np.random.default_rng(6), SHAPES["box"]
    for _ in range(5):
        past = any_past(luck, domain, curved=curved, rounds=40)
        curves, slopes, levels = (table.reshape(1, 80, *table.shape[2:]) for table in past.constraints[:3])
        one_round = Quadratics(curves, slopes, levels, np.zeros(1, np.int32))
        together = Recorded(domain, past.losses.mean._replace(rows=np.zeros(1, np.int32)), one_round)
        assert best_in_every_round(past).value == pytest.approx(40 * best_on_average(together).value, abs=1e-5)


def test_linear_programs_agree_with_all_rows_in_highs() -> None:
    luck, domain = np.random.default_rng(7), SHAPES["box"]
    for _ in range(10):
        past = any_past(luck, domain, curved=False, rounds=30)
        forms, bounds = past.constraints, [(-1.0, 2.0)] * 3
        loss, levels = past.losses.slopes.sum(axis=(0, 1)), past.losses.levels.sum()
        every = linprog(loss, A_ub=forms.slopes.reshape(-1, 3), b_ub=-forms.levels.ravel(), bounds=bounds)
        average = linprog(loss, A_ub=forms.slopes.sum(0), b_ub=-forms.levels.sum(0), bounds=bounds)
        assert best_in_every_round(past).value == pytest.approx(every.fun + levels, abs=1e-6)
        assert best_on_average(past).value == pytest.approx(average.fun + levels, abs=1e-6)


def test_keeping_constraints_in_every_round_costs_at_most_the_price_of_their_wandering() -> None:
    """0 <= OPT' - OPT <= q W, on 150 random linear programs; nothing here is luck, so no violation is allowed."""
    luck, shares = np.random.default_rng(8), []
    for _ in range(150):
        domain = dw.box(0.0, luck.uniform(0.5, 2.0, int(luck.integers(1, 5))))
        past = any_past(luck, domain, curved=False, rounds=int(luck.integers(2, 9)), count=int(luck.integers(1, 4)))
        average, every = best_on_average(past), best_in_every_round(past)
        assert every.value >= average.value - 1e-7
        allowed = max(average.prices.max(), every.prices.max()) * wandering(past)
        assert every.value - average.value <= allowed + 1e-6
        shares.append((every.value - average.value) / allowed if allowed > 1e-6 else 0.0)
    assert max(shares) > 0.2, "the bound is not idle"


# ---- how far constraints wander ----


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("curve", [-1.3, 0.0, 0.7])
def test_the_largest_value_over_a_domain(shape: str, curve: float) -> None:
    """No sampled point has a larger one, and some come close."""
    luck, domain = np.random.default_rng(9), SHAPES[shape]
    points = np.array([domain.project(domain.centres + 3.0 * luck.standard_normal(domain.dim)) for _ in range(4000)])
    for _ in range(5):
        slope, level = luck.standard_normal(domain.dim), float(luck.standard_normal())
        most = most_over(domain, curve, slope, level, np.zeros(domain.dim))
        values = 0.5 * curve * (points**2).sum(axis=1) + points @ slope + level
        assert values.max() <= most + 1e-9
        assert values.max() >= most - 0.2


def test_the_sum_of_positive_or_negative_parts_for_linear_constraints_on_the_unit_box() -> None:
    luck = np.random.default_rng(10)
    past = any_past(luck, dw.box(0.0, 1.0, size=3), curved=False, rounds=20)
    past = recorded(past.domain, past.losses[:3], (*past.constraints[:2], np.full((20, 2), -1.0)))
    away = past.constraints.slopes - past.constraints.slopes.mean(axis=0)
    expected = np.maximum(np.maximum(away, 0.0).sum(axis=2), np.maximum(-away, 0.0).sum(axis=2)).sum()
    assert wandering(past) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("world", "share"),
    [
        (ConvexLinear(variation=2.0), 2.0),
        (ConvexLinear(variation=1.0, cycles=5, noise=0.5), 1.0),
        (ConvexQuadratic(variation=0.1), 0.1),
    ],
)
def test_worlds_wander_as_far_as_they_say(world: Any, share: float) -> None:
    assert wandering(past_of(world, 1000, seed=2)) == pytest.approx(1000 * share)


def test_drawn_constraints_wander_and_their_mean_does_not() -> None:
    world = ConvexLinear(noise=0.5)
    assert wandering(past_of(world, 300, seed=2)) == pytest.approx(0.0, abs=1e-9)
    assert wandering(past_of(world, 300, seed=2, drawn=True)) > 100.0


def test_blocks_summed_give_the_same_optimum() -> None:
    world = ConvexQuadratic(variation=0.1)
    whole, summed = (past_of(world, 40_000, seed=1, summed=each) for each in (False, True))
    assert len(summed.losses.levels) < 10
    assert best_on_average(summed).value == pytest.approx(best_on_average(whole).value, rel=1e-9)


# ---- functions of one's own ----


def own(rounds: int = 40, **changed: Any) -> Functions:
    """Entropy-like losses that are no quadratics, on shares of a whole; one share is limited on average."""
    weights = np.random.default_rng(11).uniform(0.5, 1.5, (rounds, 3))
    limits = np.linspace(0.2, 0.6, rounds)
    given: dict[str, Any] = {
        "domain": dw.simplex(3),
        "rounds": rounds,
        "loss_at": lambda t, x: float(-(weights[t] * np.log(x + 0.1)).sum()),
        "gradient_at": lambda t, x: -weights[t] / (x + 0.1),
        "values_at": lambda t, x: [x[0] - limits[t], x[1] ** 2 - 0.04],
        "jacobian_at": lambda t, x: [[1.0, 0.0, 0.0], [0.0, 2.0 * x[1], 0.0]],
    }
    return Functions(**given | changed)


def test_python_functions_are_solved_and_proven() -> None:
    past = own()
    average, every = best_on_average(past), best_in_every_round(past)
    assert every.point[0] == pytest.approx(0.2, abs=1e-6)
    assert average.point[1] == pytest.approx(0.2, abs=1e-5)
    assert every.value > average.value + 0.1
    assert abs(average.gap) < 1e-4 and abs(every.gap) < 1e-4
    assert every.prices.shape == (40, 2)
    played = np.tile(average.point, (40, 1))
    told = regrets(past, played)
    assert told.loss == pytest.approx(0.0, abs=1e-6)
    assert told.violation == pytest.approx(0.0, abs=1e-5)


def test_without_constraints_the_least_loss_is_found() -> None:
    past = own(values_at=None, jacobian_at=None)
    best = best_on_average(past)
    assert best.prices.shape == (0,)
    assert abs(best.gap) < 1e-4
    assert best_in_every_round(past).value == pytest.approx(best.value, abs=1e-6)
    assert regrets(past, np.tile(best.point, (40, 1))).violation == 0.0


def unkeepable(shape: str) -> Recorded:
    domain = SHAPES[shape]
    flat, slopes = np.zeros((2, 1)), np.zeros((2, 1, domain.dim))
    return recorded(domain, (flat, slopes, flat), (flat, slopes, np.full((2, 1), 0.25)))


@pytest.mark.parametrize("shape", SHAPES)
def test_constraints_that_no_point_keeps_are_told_so(shape: str) -> None:
    for best in (best_on_average, best_in_every_round):
        with pytest.raises(ParameterError, match=r"no point of the domain keeps the constraints: .* by 0\.25"):
            best(unkeepable(shape))


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: own(values_at=None), "constraints need both values_at and jacobian_at: give both, or neither"),
        (lambda: own(rounds=0), "rounds=0 is not a whole number of at least 1"),
        (
            lambda: best_on_average(own(loss_at=lambda t, x: np.nan)),
            "loss_at(0, x) holds nan in place 0: it must be finite",
        ),
        (
            lambda: best_on_average(own(gradient_at=lambda t, x: [1.0])),
            "gradient_at(0, x) has shape (1,): it must be (3,)",
        ),
        (
            lambda: best_on_average(own(jacobian_at=lambda t, x: x)),
            "jacobian_at(0, x) has shape (3,): it must be (2, 3)",
        ),
        (
            lambda: regrets(own(), np.zeros((3, 3))),
            "points have shape (3, 3): 40 rounds need a row of 3 coordinates each",
        ),
    ],
)
def test_nonsense_is_refused_with_a_sentence(ask: Any, sentence: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        ask()
    assert str(refusal.value) == sentence


def test_no_sup_is_guessed() -> None:
    past: Any = own()
    with pytest.raises(ParameterError, match="W is known of recorded functions only"):
        wandering(past)


def test_loss_of_points() -> None:
    past = past_of(ConvexLinear(), 50, seed=0)
    points: Floats = np.random.default_rng(0).random((50, 5))
    expected = sum(past.losses.slopes[past.losses.rows[t], 0] @ points[t] for t in range(50))
    assert regrets(past, points, best=0.0).loss == pytest.approx(expected)
