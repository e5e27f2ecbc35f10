"""Linear systems and long sums: against numpy, and against fractions."""

from fractions import Fraction

import numpy as np
import pytest

from driftwise.numerics.double_double import add_long, dot_long, times_long, two_product, two_sum
from driftwise.numerics.lu import back_substitute, factor, solve_factored


@pytest.mark.parametrize("wide", [1, 2, 33])
@pytest.mark.parametrize("size", [1, 2, 5, 31, 32, 33, 64, 100])  # columns are taken 32 at a time
def test_solves_as_numpy_does(size: int, wide: int) -> None:
    luck = np.random.default_rng(size)
    matrix, right = luck.standard_normal((size, size)), luck.standard_normal((size, wide))
    known = np.linalg.solve(matrix, right)
    factors, solution, pivots = matrix.copy(), right.copy(), np.zeros(size, np.int64)
    assert factor(factors, solution, pivots) > 0.0
    back_substitute(factors, solution)
    np.testing.assert_allclose(solution, known, rtol=1e-9, atol=1e-9)
    vector = right[:, 0].copy()
    solve_factored(factors, pivots, vector)
    np.testing.assert_allclose(vector, known[:, 0], rtol=1e-9, atol=1e-9)


def test_a_singular_matrix_is_told_by_its_pivots() -> None:
    rows = np.random.default_rng(0).standard_normal((40, 40))
    rows[7] = rows[3] - 2.0 * rows[5]
    assert factor(rows, np.zeros((40, 1)), np.zeros(40, np.int64)) < 1e-14
    assert factor(np.zeros((3, 3)), np.zeros((3, 1)), np.zeros(3, np.int64)) == 0.0


def test_nothing_is_lost_in_a_sum_or_product_of_two() -> None:
    luck = np.random.default_rng(1)
    for a, b in luck.standard_normal((300, 2)) * 10.0 ** luck.integers(-8, 9, (300, 2)):
        for got, exact in (
            (two_sum(a, b), Fraction(a) + Fraction(b)),
            (two_product(a, b), Fraction(a) * Fraction(b)),
        ):
            assert Fraction(got[0]) + Fraction(got[1]) == exact
            assert got[0] == float(exact)


def test_long_numbers_keep_thirty_digits() -> None:
    luck = np.random.default_rng(2)
    for _ in range(100):
        weights, values = luck.standard_normal(50), luck.standard_normal((50, 2)) * 1e8
        rests = 1e-17 * values * luck.uniform(-1.0, 1.0, (50, 2))
        exact = sum(
            (
                Fraction(w) * (Fraction(v) + Fraction(r))
                for w, v, r in zip(weights, values[:, 1], rests[:, 1], strict=True)
            ),
            Fraction(0),
        )
        total, rest = dot_long(weights, values, rests, 1)
        assert abs(Fraction(total) + Fraction(rest) - exact) < Fraction(10) ** -30 * Fraction(1e10)
        doubled = add_long(total, rest, total, rest)
        thrice = times_long(3.0, total, rest)
        assert abs(sum(map(Fraction, doubled), Fraction(0)) - 2 * exact) < Fraction(10) ** -19
        assert abs(sum(map(Fraction, thrice), Fraction(0)) - 3 * exact) < Fraction(10) ** -19
