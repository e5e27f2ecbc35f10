"""The nearest point of a domain is the nearest: beside a slow twin, and by the condition that only the nearest meets.

p in the domain is nearest to x if and only if (x - p)'(y - p) <= 0 for every y in it; the left side is largest over the
domain at a point known in closed form.
"""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize

import driftwise as dw
from driftwise.core.types import Floats
from driftwise.errors import ParameterError
from driftwise.families.convex.projections import ConvexStructure, Domain, checked, convex, excess
from tests.families.convex.twins.projections import most_linear, nearest

CLOSE = 1e-10
DOMAINS = {
    "box": dw.box([-1.0, 0.0, 2.0], [1.0, 0.5, 2.0]),
    "ball": dw.ball([1.0, -2.0, 0.5, 0.0], 1.5),
    "ball of one": dw.ball(2.0, 0.1),
    "simplex": dw.simplex(7),
    "large simplex": dw.simplex(4, total=1000.0),
    "simplex of one": dw.simplex(1, total=3.0),
    "product": dw.product(dw.box(0.0, 1.0, size=2), dw.ball(0.0, 2.0, size=3), dw.simplex(4), dw.simplex(2, 0.1)),
    "product of products": dw.product(dw.product(dw.simplex(3), dw.box(-5.0, 5.0)), dw.ball([1.0], 0.5)),
}


def assert_nearest(domain: Domain, point: Floats, answer: Floats) -> None:
    scale = max(1.0, float(np.abs(point).max()), domain.reach)
    assert excess(domain, answer) <= CLOSE * domain.reach
    away = point - answer
    assert most_linear(domain, away) - away @ answer <= CLOSE * scale * scale
    np.testing.assert_allclose(answer, nearest(domain, point), rtol=0.0, atol=CLOSE * scale)


@pytest.mark.parametrize("name", DOMAINS)
@pytest.mark.parametrize("spread", [0.01, 1.0, 30.0])
def test_nearest(name: str, spread: float) -> None:
    domain, luck = DOMAINS[name], np.random.default_rng(1)
    for _ in range(200):
        point = domain.centres + spread * luck.standard_normal(domain.dim)
        assert_nearest(domain, point, domain.project(point))


@pytest.mark.parametrize("name", DOMAINS)
def test_points_of_the_domain_stay(name: str) -> None:
    domain, luck = DOMAINS[name], np.random.default_rng(2)
    for _ in range(50):
        inside = domain.project(domain.centres + luck.standard_normal(domain.dim))
        assert domain.contains(inside)
        np.testing.assert_allclose(domain.project(inside), inside, rtol=0.0, atol=CLOSE * domain.reach)
    assert domain.contains(domain.centres)
    assert not domain.contains(domain.highs + 1.0)


@given(st.lists(st.floats(-1e6, 1e6, width=64), min_size=1, max_size=12), st.floats(1e-3, 1e3))
@settings(max_examples=300, deadline=None)
def test_simplices_of_any_numbers(point: list[float], total: float) -> None:
    domain = dw.simplex(len(point), total)
    answer = domain.project(point)
    assert answer.sum() == pytest.approx(total, rel=1e-12)
    assert_nearest(domain, np.array(point), answer)


@pytest.mark.parametrize("shift", [0.0, 1e8, -1e12])
def test_a_common_shift_loses_no_digits(shift: float) -> None:
    """Coordinates that are large and close together: the threshold is counted from the largest of them."""
    steps = np.array([0.0, 0.25, 0.5, 0.125])
    assert dw.simplex(4).project(steps + shift).tolist() == pytest.approx(nearest(dw.simplex(4), steps).tolist())


def test_ties_and_steps_of_every_size() -> None:
    equal = dw.simplex(5).project(np.full(5, 7.0))
    np.testing.assert_allclose(equal, 0.2)
    powers = -(2.0 ** np.arange(60.0))
    assert_nearest(dw.simplex(60, 1e15), powers, dw.simplex(60, 1e15).project(powers))


def test_far_points_do_not_overflow() -> None:
    assert dw.ball(0.0, 1.0, size=2).project([3e300, 4e300]) == pytest.approx([0.6, 0.8])
    assert dw.simplex(2).project([1e300, -1e300]) == pytest.approx([1.0, 0.0])


@pytest.mark.parametrize("name", ["ball", "simplex", "product"])
def test_a_solver_finds_no_nearer_point(name: str) -> None:
    domain, luck = DOMAINS[name], np.random.default_rng(3)
    for _ in range(3):
        point = domain.centres + 2.0 * luck.standard_normal(domain.dim)
        asked: Any = {"type": "eq", "fun": lambda y: nearest(domain, y) - y}
        goal: Any = lambda y, away=point: float(((y - away) ** 2).sum())  # noqa: E731
        found = minimize(goal, domain.centres, method="SLSQP", constraints=asked)
        reached = float(((domain.project(point) - point) ** 2).sum())
        assert reached <= float(((nearest(domain, found.x) - point) ** 2).sum()) + 1e-9


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: dw.box(1.0, 0.0), "low=1 lies above high=0 in coordinate 0: the box is empty"),
        (lambda: dw.box([0.0, np.nan], 1.0), "low holds nan in place 1: it must be finite"),
        (lambda: dw.box(0.0, np.inf), "high holds inf in place 0: it must be finite"),
        (lambda: dw.box([0.0, 0.0], [1.0, 1.0, 1.0]), "low has 2 coordinates and high 3: a box needs as many of both"),
        (lambda: dw.box([0.0, 0.0], 1.0, size=3), "low has 2 coordinates, and size=3: leave one of them out"),
        (lambda: dw.box("a", 1.0), "low='a' is not made of numbers"),
        (lambda: dw.box(-1.7e308, 1.7e308), "the domain is too large: its coordinates must stay below 1e+100"),
        (lambda: dw.ball(0.0, 0.0), "radius=0.0 is outside (0, inf)"),
        (lambda: dw.ball([], 1.0), "centre has shape (0,): it must be a number, or a vector of at least one"),
        (lambda: dw.ball(0.0, np.nan), "radius=nan is outside (0, inf)"),
        (lambda: dw.simplex(0), "size=0 is not a whole number of at least 1 and at most 10000000"),
        (lambda: dw.simplex(3, total=-1.0), "total=-1.0 is outside (0, inf)"),
        (lambda: dw.product(), "a product of no domains has no points to choose from: give at least one"),
        (lambda: dw.product(3), "3 is not a domain: make one with box, ball, simplex or product"),  # type: ignore[arg-type]
        (lambda: dw.simplex(2).project([np.nan, 0.0]), "point holds nan in place 0: it must be finite"),
        (lambda: dw.simplex(2).project([0.0]), "point has shape (1,): it must be (2,)"),
        (lambda: dw.simplex(2).contains([0.0, np.inf]), "point holds inf in place 1: it must be finite"),
        (lambda: convex(dw.simplex(2), start=[1.0, 1.0]), "the first point [1.0, 1.0] lies outside the domain"),
    ],
)
def test_nonsense_is_refused_with_a_sentence(make: Any, sentence: str) -> None:
    with pytest.raises(ParameterError) as refusal:
        make()
    assert str(refusal.value) == sentence


@pytest.mark.parametrize(
    "wrong",
    [
        {"stops": np.array([3])},
        {"starts": np.array([1])},
        {"kinds": np.array([7])},
        {"sizes": np.zeros(0)},
        {"lows": np.array([2.0, 2.0])},
        {"centres": np.zeros(3)},
    ],
)
def test_a_domain_that_was_tampered_with_is_refused(wrong: dict[str, Any]) -> None:
    good = convex(dw.box(0.0, 1.0, size=2), 1)
    with pytest.raises(ParameterError, match="does not fit together"):
        checked(ConvexStructure(good.domain._replace(**wrong), good.constraints, good.start))
