"""The point of a domain with the least loss, of those that keep some rows: linear programs by HiGHS, others by SLSQP.

A row is a convex function that should be at most 0. Rows are given as one function of a point: their values, and their
gradients. Where no point keeps them all, the one that breaks the worst of them least is found, to say by how much.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.core.types import Floats
from driftwise.errors import ParameterError
from driftwise.families.convex.loss_history import Past
from driftwise.families.convex.projections import BALL, SIMPLEX, Domain

SLACK = 1e-9  # a row counts as kept up to this, relative to how far rows change over the domain
PRECISE = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
Rows = Callable[[Floats], tuple[Floats, Floats]]


def least_loss(past: Past, rows: Rows) -> Floats:
    """The point with the least loss that keeps `rows`, a function of a point to values and their gradients."""
    start, rows = past.domain.centres, _once(rows)
    values, slopes = rows(start)
    linear = past.is_linear and BALL not in past.domain.kinds
    point = _by_highs(past, values, slopes) if linear else _by_slsqp(past, rows, start)
    if point is not None and _satisfies(rows, point):
        return point
    nearest, broken = _least_broken(past, rows)
    if broken > 10 * SLACK * max(1.0, float(np.abs(values).max())):
        raise ParameterError(
            f"no point of the domain keeps the constraints: the best of all still breaks one by {broken:g}"
        )
    point = _by_slsqp(past, rows, nearest)
    return nearest if point is None else point


def _once(rows: Rows) -> Rows:
    """The same rows; asked again at the point they were last asked at, they remember: solvers ask for halves."""
    last: dict[bytes, tuple[Floats, Floats]] = {}

    def remembered(point: Floats) -> tuple[Floats, Floats]:
        key = point.tobytes()
        if key not in last:
            answer = rows(point)
            last.clear()
            last[key] = answer
        return last[key]

    return remembered


def _satisfies(rows: Rows, point: Floats) -> bool:
    values = rows(point)[0]
    return float(values.max(initial=0.0)) <= 1e-7 * max(1.0, float(np.abs(values).max(initial=0.0)))


def _by_highs(past: Past, values: Floats, slopes: Floats) -> Floats | None:
    domain = past.domain
    sums, totals = _simplex_sums(domain)
    solution = highs(
        c=past.loss(domain.centres)[1] / past.weights.sum(),
        A_ub=slopes if len(values) else None,
        b_ub=slopes @ domain.centres - values if len(values) else None,
        A_eq=sums if len(sums) else None,
        b_eq=totals if len(sums) else None,
        bounds=np.stack([domain.lows, domain.highs], axis=1),
        options=PRECISE,
    )
    return domain.project(solution.x) if solution.status == 0 else None


def _simplex_sums(domain: Domain) -> tuple[Floats, Floats]:
    """The sums that simplices fix, as rows of coefficients and their totals."""
    parts = [part for part, kind in enumerate(domain.kinds) if kind == SIMPLEX]
    sums = np.zeros((len(parts), domain.dim))
    for row, part in enumerate(parts):
        sums[row, domain.starts[part] : domain.stops[part]] = 1.0
    return sums, domain.sizes[parts]


def _by_slsqp(past: Past, rows: Rows, start: Floats) -> Floats | None:
    rounds = past.weights.sum()

    def mean_loss(point: Floats) -> tuple[float, Floats]:
        value, slope = past.loss(point)
        return value / rounds, slope / rounds

    rows_hold = [{"type": "ineq", "fun": lambda x: -rows(x)[0], "jac": lambda x: -rows(x)[1]}]
    solution = _slsqp(
        fun=mean_loss,
        x0=start,
        bounds=np.stack([past.domain.lows, past.domain.highs], axis=1),
        constraints=_shape(past.domain) + (rows_hold if len(rows(start)[0]) else []),
    )
    return past.domain.project(solution.x) if np.isfinite(solution.x).all() else None


def _shape(domain: Domain, extra: int = 0) -> list[dict[str, Any]]:
    """What makes the domain, beside its bounds, for variables that begin with a point."""
    constraints: list[dict[str, Any]] = []
    sums, totals = _simplex_sums(domain)
    if len(sums):
        wide = np.hstack([sums, np.zeros((len(sums), extra))])
        constraints.append({"type": "eq", "fun": lambda x: wide @ x - totals, "jac": lambda x: wide})
    for part in (part for part, kind in enumerate(domain.kinds) if kind == BALL):
        here = slice(domain.starts[part], domain.stops[part])
        constraints.append(_inside_ball(domain.centres[here], float(domain.sizes[part]), here))
    return constraints


def _inside_ball(centre: Floats, radius: float, here: slice) -> dict[str, Any]:
    def slope(point: Floats) -> Floats:
        row = np.zeros(len(point))
        row[here] = -(point[here] - centre) / radius
        return row

    def room(point: Floats) -> float:
        away = point[here] - centre
        return float(radius**2 - away @ away) / (2.0 * radius)

    return {"type": "ineq", "fun": room, "jac": slope}


def _least_broken(past: Past, rows: Rows) -> tuple[Floats, float]:
    """The point whose worst row is least, and that row: positive when the rows cannot all be kept."""
    domain = past.domain
    values, _ = rows(domain.centres)
    most = float(values.max())
    ones = np.ones((len(values), 1))
    rows_hold = {
        "type": "ineq",
        "fun": lambda z: z[-1] - rows(z[:-1])[0],
        "jac": lambda z: np.hstack([-rows(z[:-1])[1], ones]),
    }
    solution = _slsqp(
        fun=lambda z: (z[-1], np.append(np.zeros(domain.dim), 1.0)),
        x0=np.append(domain.centres, most),
        bounds=[*zip(domain.lows, domain.highs, strict=True), (None, most)],
        constraints=[*_shape(domain, 1), rows_hold],
    )
    point = domain.project(solution.x[:-1])
    return point, float(rows(point)[0].max())


def highs(**program: Any) -> Any:
    """Solve a linear program."""
    from scipy.optimize import linprog  # slow to import

    return linprog(method="highs", **program)


def _slsqp(**program: Any) -> Any:
    from scipy.optimize import minimize  # slow to import

    return minimize(method="SLSQP", jac=True, options={"ftol": 1e-13, "maxiter": 1000}, **program)
