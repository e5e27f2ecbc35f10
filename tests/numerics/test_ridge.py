"""The regression behind linear policies: its sums do not wear out, its inverse is watched, and it never guesses."""

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from benchmarks.accuracy import STREAMS, Game, Stream, directions, exact, worst_error
from driftwise.core.types import Floats, Problem
from driftwise.families import SlidingLinUCB
from driftwise.families.contextual.feature_window import remember_features, slide_features
from driftwise.families.contextual.linear_optimism import most_promising_row
from driftwise.families.contextual.pending_rows import new_pending_rows
from driftwise.numerics import ridge as kernels
from driftwise.numerics.quadratic_forms import LANES, measure_rows, new_row_forms
from driftwise.numerics.ridge import (
    TOLERANCE,
    Ridge,
    absorb,
    audit,
    clear,
    factorise,
    invert,
    new_ridge,
    release,
    repair,
    solve,
)

LIMIT = 1e-8  # what is promised of an index


def pairs(seed: int, count: int, dim: int, scale: float = 1.0) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(seed)
    return scale * rng.standard_normal((count, dim)), rng.standard_normal(count)


def width_error(ridge: Ridge) -> float:
    """The largest relative error of x' V^-1 x over all x: the size of V^(1/2) M V^(1/2) - I."""
    lower = np.linalg.cholesky(ridge.gram)
    return float(np.abs(np.linalg.eigvalsh(lower.T @ ridge.inverse @ lower - np.eye(len(lower)))).max())


def theta_of(ridge: Ridge) -> Floats:
    solve(ridge)
    theta: Floats = ridge.theta.copy()
    return theta


# ---- the sums ----


def test_sums_are_those_of_the_pairs_at_hand_to_the_last_bit() -> None:
    """A thousand pairs of all sizes come and go; what stays is summed exactly by fractions."""
    (x, y), sizes = pairs(0, 1000, 3), 10.0 ** np.random.default_rng(1).uniform(-3, 3, 1000)
    x *= sizes[:, None]
    ridge = new_ridge(3, 0.5)
    for k in range(1000):
        absorb(ridge, x[k], y[k])
        if k >= 20:
            release(ridge, x[k - 20], y[k - 20])
    for i in range(3):
        kept = [Fraction(float(each)) for each in x[-20:, i] * y[-20:]]
        assert ridge.moment[i] == float(sum(kept))
        for j in range(3):
            kept = [Fraction(float(each)) for each in x[-20:, i] * x[-20:, j]]
            assert ridge.gram[i, j] == float(sum(kept) + (Fraction(1, 2) if i == j else 0))


def test_nothing_stays_when_all_have_gone() -> None:
    (x, y), ridge = pairs(2, 60, 4, 1e4), new_ridge(4, 1.0)
    for k in range(60):
        absorb(ridge, x[k], y[k])
    for k in np.random.default_rng(3).permutation(60):
        release(ridge, x[k], y[k])
    np.testing.assert_array_equal(ridge.gram, np.eye(4))
    np.testing.assert_array_equal(ridge.moment, np.zeros(4))
    assert width_error(ridge) < TOLERANCE


def test_clearing_leaves_a_new_one() -> None:
    (x, y), used, new = pairs(4, 9, 4), new_ridge(4, 2.0), new_ridge(4, 2.0)
    for k in range(9):
        absorb(used, x[k], y[k])
        audit(used)
    clear(used)
    for name in ("gram", "gram_rest", "moment", "moment_rest", "inverse", "errors", "cursor", "refused"):
        np.testing.assert_array_equal(getattr(used, name), getattr(new, name))


# ---- what is claimed of the error ----


@pytest.mark.parametrize("dim", [2, 5, 30])
def test_the_measured_error_bounds_that_of_every_width(dim: int) -> None:
    """Whatever symmetric error the inverse has, however large or directed, and whatever the units of the features."""
    rng = np.random.default_rng(dim)
    for _ in range(30):
        ridge = new_ridge(dim, 1.0)
        x = rng.standard_normal((3 * dim, dim)) * 10.0 ** rng.uniform(-2, 2, dim)
        ridge.gram[...] += x.T @ x
        repair(ridge)
        noise = rng.standard_normal((dim, dim)) * 10.0 ** rng.uniform(-9, -2)
        roots = np.sqrt(np.diag(ridge.inverse))
        ridge.inverse[...] += (noise + noise.T) * np.outer(roots, roots)
        for column in range(dim):
            kernels._measure(ridge, column)
        assert width_error(ridge) <= kernels._error(ridge) * (1.0 + 1e-6) + 1e-12


def test_the_inverse_stays_symmetric_to_the_last_bit() -> None:
    (x, y), ridge = pairs(5, 300, 7), new_ridge(7, 1e-3)
    for k in range(300):
        absorb(ridge, x[k], y[k])
        if k >= 40:
            release(ridge, x[k - 40], y[k - 40])
        audit(ridge)
    np.testing.assert_array_equal(ridge.inverse, ridge.inverse.T)
    np.testing.assert_array_equal(ridge.gram, ridge.gram.T)


# ---- indices over unkind streams ----


@pytest.mark.parametrize("name", STREAMS)
def test_every_index_is_good_to_eight_digits(name: str) -> None:
    stream = STREAMS[name]
    if stream.dim == 200:  # the exact answer takes half a second there
        assert worst_error(Game(stream), 600, 2) < LIMIT
    else:
        assert worst_error(Game(stream), 3000, 60) < LIMIT


@pytest.mark.parametrize("name", ["short, ridge 1e-3", "scale and ridge", "staircase"])
def test_no_round_is_worse_than_those_looked_at(name: str) -> None:
    """Every round over two changes of scale: an error that lasts a round or two is found too."""
    game = Game(STREAMS[name]._replace(dim=5))
    game.play(650)
    for t in range(650, 1100):
        game.play(t)
        assert game.error() < LIMIT, f"in round {t}"


def test_easy_features_need_no_fresh_inverse() -> None:
    game = Game(Stream(5, 1000, 1.0, directions))
    game.play(50_000)
    assert game.state.ridge.repairs[0] == 0
    assert game.error() < 1e-12


# ---- the inverse goes wrong ----


def release_unchecked(ridge: Ridge, x: Floats, y: float) -> None:
    """`release` without its check."""
    kernels._add(ridge, x, y, -1.0)
    kernels._follow(ridge, 1.0, 1.0 - kernels._apply(ridge, x))


def leaking(dim: int, *, audited: bool, checked: bool) -> tuple[float, int]:
    """The worst error of a width when every round makes that of the inverse grow by 3e-10; how often it was mended."""
    rng, worst, window = np.random.default_rng(dim), 0.0, 5 * dim
    (x, _), ridge = pairs(dim, window + 1000, dim), new_ridge(dim, 1.0)
    for k in range(window):
        absorb(ridge, x[k], 1.0)
    for k in range(window, window + 1000):
        direction = rng.standard_normal(dim)
        seen = ridge.inverse @ direction
        (release if checked else release_unchecked)(ridge, x[k - window], 1.0)
        absorb(ridge, x[k], 1.0)
        ridge.inverse[...] += 3e-10 * np.outer(seen, seen) / (direction @ seen)
        if audited:
            audit(ridge)
        worst = max(worst, width_error(ridge))
    return worst, int(ridge.repairs[0])


@pytest.mark.parametrize("dim", [3, 20])
def test_a_leaking_inverse_is_mended_before_an_index_is_off(dim: int) -> None:
    """By the audit alone; unwatched it would be off by more."""
    worst, repairs = leaking(dim, audited=True, checked=False)
    assert repairs > 0
    assert worst < LIMIT
    worst, repairs = leaking(dim, audited=False, checked=False)
    assert repairs == 0
    assert worst > 2 * LIMIT


@pytest.mark.parametrize("checked", [True, False])
def test_a_pair_that_outweighs_the_rest_is_checked_when_it_goes(checked: bool) -> None:
    """An error of 5e-11, too small to be mended, is magnified a thousandfold along the pair that goes."""
    (x, y), ridge = pairs(6, 30, 6), new_ridge(6, 1.0)
    for k in range(30):
        absorb(ridge, x[k], y[k])
    large = 200.0 * x[0] / np.linalg.norm(x[0])
    absorb(ridge, large, 1.0)
    ridge.inverse[...] *= 1.0 + 5e-11
    assert width_error(ridge) < TOLERANCE
    (release if checked else release_unchecked)(ridge, large, 1.0)
    assert (width_error(ridge) < TOLERANCE) == checked
    assert ridge.repairs[0] == checked


def test_a_pair_that_outweighs_all_before_it_is_not_followed_step_by_step() -> None:
    """It would cost eight digits of the width along it, with nothing in V that excuses it."""
    ridge, large = new_ridge(3, 1.0), np.array([0.0, 2e4, 0.0])
    absorb(ridge, large, 1.0)
    assert width_error(ridge) < TOLERANCE
    release(ridge, large, 1.0)
    assert width_error(ridge) < TOLERANCE
    assert ridge.repairs[0] == 2


def test_theta_is_better_than_the_inverse_it_is_solved_with() -> None:
    (x, y), ridge = pairs(7, 50, 6), new_ridge(6, 1.0)
    for k in range(50):
        absorb(ridge, x[k], y[k])
    true = theta_of(ridge)
    ridge.inverse[...] *= 1.0 + 5e-10
    for column in range(6):
        kernels._measure(ridge, column)
    np.testing.assert_allclose(theta_of(ridge), true, rtol=1e-13)


# ---- features that cannot be borne ----


def test_hopeless_features_are_refused_until_they_have_gone() -> None:
    (x, y), ridge, alone = pairs(8, 12, 4), new_ridge(4, 1e-3), new_ridge(4, 1e-3)
    for k in range(12):
        absorb(ridge, x[k], y[k])
        absorb(alone, x[k], y[k])
    with pytest.raises(FloatingPointError, match="too large"):
        absorb(ridge, 1e8 * x[0], 1.0)
    with pytest.raises(FloatingPointError, match="too large"):
        solve(ridge)
    with pytest.raises(FloatingPointError, match="too large"):
        absorb(ridge, x[1], y[1])
    with pytest.raises(FloatingPointError, match="too large"):
        release(ridge, x[0], y[0])
    release(ridge, 1e8 * x[0], 1.0)
    absorb(ridge, x[0], y[0])
    release(ridge, x[1], y[1])
    np.testing.assert_allclose(ridge.gram, alone.gram, rtol=1e-13)  # though 10^16 had been added to it
    np.testing.assert_allclose(theta_of(ridge), theta_of(alone), rtol=1e-9)
    assert width_error(ridge) < TOLERANCE


def test_a_window_that_was_refused_is_whole_and_recovers() -> None:
    """Rounds raise while the pair is in the window, which moves on all the same; afterwards all is right again."""
    (x, y), policy = pairs(9, 40, 4), SlidingLinUCB(window=5, ridge=1e-3)
    state: Any = policy.init(Problem(4, -np.inf, np.inf, 0.1, 0, 4))
    x[10] *= 1e9
    raised = []
    for t in range(20):
        try:
            slide_features(policy, state, t, np.uint64(0))
            remember_features(state, t, x[t], y[t], t)
        except FloatingPointError:
            raised.append(t)
            with pytest.raises(FloatingPointError, match="too large"):
                solve(state.ridge)
        assert state.window.clock[0] == t + 1
    assert raised == [10, 11, 12, 13, 14]
    filled = state.window.filled
    assert filled.sum() == 5
    means, widths = exact(state.window.features[filled], state.window.rewards[filled], 1e-3, x[20:30])
    solve(state.ridge)
    most_promising_row(state.ridge, state.pending, x[20:30], 2.0)
    np.testing.assert_allclose(state.ridge.forms.means[:10], (means + 2.0 * widths).astype(float), rtol=LIMIT)


# ---- the parts ----


@pytest.mark.parametrize("dim", [1, 2, 5, 12, 60, 200])
def test_factors_and_inverses_agree_with_numpy(dim: int) -> None:
    x, _ = pairs(dim, 2 * dim, dim)
    matrix = x.T @ x + np.eye(dim)
    factor, inverse = np.zeros((dim, dim)), np.zeros((dim, dim))
    factorise(matrix, factor)
    lower = np.linalg.cholesky(matrix)
    np.testing.assert_allclose(np.tril(factor), lower, atol=1e-12 * np.abs(lower).max())
    np.testing.assert_array_equal(np.triu(factor), np.tril(factor).T)
    invert(matrix, factor, inverse)
    np.testing.assert_array_equal(inverse, inverse.T)
    ours, numpys = (np.abs(each @ matrix - np.eye(dim)).max() for each in (inverse, np.linalg.inv(matrix)))
    assert ours < 20 * numpys + 1e-15


def test_a_matrix_without_a_root_is_refused() -> None:
    with pytest.raises(FloatingPointError, match="too large"):
        factorise(np.array([[1.0, 2.0], [2.0, 1.0]]), np.zeros((2, 2)))


@pytest.mark.parametrize("dim", [1, 2, 5, 9, 40])
@pytest.mark.parametrize("count", [1, 7, 8, 40, LANES])
def test_rows_are_measured_alike_abreast_and_one_by_one(dim: int, count: int) -> None:
    """To the last bit, and as NumPy does but for rounding; every other row has zeros in it."""
    rng = np.random.default_rng(dim)
    rows, vector, root = (
        rng.standard_normal((count + 3, dim)),
        rng.standard_normal(dim),
        rng.standard_normal((dim, dim)),
    )
    matrix = root @ root.T
    rows[::2] *= rng.random((len(rows[::2]), dim)) < 0.3
    rows[3] = rng.standard_normal(dim)
    together, single = new_row_forms(dim), new_row_forms(dim)
    measure_rows(together, matrix, vector, rows, 3, count)
    for lane in range(count):
        measure_rows(single, matrix, vector, rows, 3 + lane, 1)
        assert together.means[lane] == single.means[0]
        assert together.squares[lane] == single.squares[0]
    chosen = rows[3:]
    np.testing.assert_allclose(together.means[:count], chosen @ vector, atol=1e-12)
    np.testing.assert_allclose(together.squares[:count], np.einsum("ri,ij,rj->r", chosen, matrix, chosen), atol=1e-10)


def test_the_first_of_equal_rows_is_chosen_wherever_it_stands() -> None:
    ridge, pending = new_ridge(3, 1.0), new_pending_rows(3)
    solve(ridge)
    rows = np.full((2 * LANES + 5, 3), 0.1)
    assert most_promising_row(ridge, pending, rows, 1.0) == 0
    for best in (LANES - 1, LANES, 2 * LANES + 4):
        rows[best:] = 0.5
        assert most_promising_row(ridge, pending, rows, 1.0) == best
        rows[best:] = 0.1


@pytest.mark.parametrize("dim", [13, 40])
def test_zeros_are_skipped_and_found_again(dim: int) -> None:
    """Blocks that meet at last: rows and columns long known for zeros hold numbers afterwards."""
    rng, ridge, dense = np.random.default_rng(dim), new_ridge(dim, 1.0), new_ridge(dim, 1.0)
    for k in range(4 * dim):
        x = np.zeros(dim)
        block = k % 3
        x[block * 4 : block * 4 + 4] = rng.standard_normal(4)
        if k == 3 * dim:
            x[1], x[dim - 1] = 1.0, -1.0
        for each in (ridge, dense):
            absorb(each, x, 1.0)
        audit(ridge)
        dense.starts[:], dense.stops[:] = 0, dim
    assert (ridge.stops - ridge.starts).min() < dim / 2
    np.testing.assert_array_equal(ridge.inverse, dense.inverse)
    np.testing.assert_array_equal(theta_of(ridge), theta_of(dense))
    assert math.isclose(width_error(ridge), 0.0, abs_tol=TOLERANCE)
