"""What constraints cost at the best point, and the proof by prices that it is the best.

Prices are optimal dual variables. They need not be unique: of n rounds alike, one may bear all of it or each a part. Of
all optimal prices those are told whose largest is least, which is what the bound OPT' - OPT <= q W wants. With x known,
they solve a linear program: stationarity at x, with what the edges of the domain push back. They also prove x, for by
convexity no y that keeps the constraints loses less than

    sum_t f_t(x) + q'g(x) - L'(x - y)          L the gradient of sum_t f_t + q'g at x

which is least over the domain at a y known in closed form. What it falls short of x is the gap.
"""

import numpy as np

from driftwise.core.types import Floats
from driftwise.families.convex.loss_history import Past
from driftwise.families.convex.point_program import highs
from driftwise.families.convex.projections import BALL, BOX, Domain

BINDING = 1e-6  # a row counts as binding from this far below 0 on, relative to how far rows change over the domain


def fairest_prices(past: Past, point: Floats, values: Floats, slopes: Floats, many: Floats) -> tuple[Floats, float]:
    """The optimal prices whose largest is least, and what they leave unproven.

    Row k stands for `many[k]` rounds, and `values` and `slopes` are sums over them. First the smallest failure of
    stationarity there is, then the smallest largest price that fails no more.
    """
    rounds, slope = past.weights.sum(), past.loss(point)[1]
    binding = values / many > -BINDING * max(1.0, float(np.abs(values / many).max(initial=0.0)))
    pushes, cone = slopes[binding].T / rounds, _normals(past.domain, point)
    count, dim = pushes.shape[1], len(point)
    # variables: prices, multiples of normals, failures up and down, the largest price
    stationary = np.hstack([pushes, cone, np.eye(dim), -np.eye(dim), np.zeros((dim, 1))])
    below_top = np.hstack([np.eye(count), np.zeros((count, cone.shape[1] + 2 * dim)), -np.ones((count, 1))])
    failures = np.zeros(stationary.shape[1])
    failures[count + cone.shape[1] : -1] = 1.0
    top = np.zeros_like(failures)
    top[-1] = 1.0
    first = highs(c=failures, A_eq=stationary, b_eq=-slope / rounds)
    ceiling = first.fun * (1.0 + 1e-6) + 1e-9 * max(1.0, float(np.abs(slope / rounds).max()))
    second = highs(
        c=top,
        A_ub=np.vstack([below_top, failures]),
        b_ub=np.append(np.zeros(count), ceiling),
        A_eq=stationary,
        b_eq=-slope / rounds,
    )
    prices = np.zeros(len(values))
    prices[binding] = (second if second.status == 0 else first).x[:count]
    pull = slope + prices @ slopes
    gap = float(pull @ point - _least_linear(past.domain, pull) - prices @ values)
    return prices, gap


def _normals(domain: Domain, point: Floats) -> Floats:
    """Directions that leave the domain at a point, a column each: multiples of them may balance the prices."""
    columns = []
    for part, kind in enumerate(domain.kinds):
        here = np.arange(domain.starts[part], domain.stops[part])
        unit = np.eye(domain.dim)[:, here]
        side = np.maximum(1e-12, domain.highs[here] - domain.lows[here])
        if kind == BALL:
            away = np.zeros(domain.dim)
            away[here] = point[here] - domain.centres[here]
            if np.linalg.norm(away) > (1.0 - BINDING) * domain.sizes[part]:
                columns.append(away[:, None])
            continue
        columns.append(-unit[:, (point[here] - domain.lows[here]) <= BINDING * side])
        if kind == BOX:
            columns.append(unit[:, (domain.highs[here] - point[here]) <= BINDING * side])
        else:
            columns += [unit.sum(axis=1, keepdims=True), -unit.sum(axis=1, keepdims=True)]
    return np.hstack([np.zeros((domain.dim, 0)), *columns])


def _least_linear(domain: Domain, slope: Floats) -> float:
    """The least value of a linear function over the domain."""
    least = 0.0
    for part, kind in enumerate(domain.kinds):
        here = slice(domain.starts[part], domain.stops[part])
        if kind == BOX:
            least += float(np.minimum(slope[here] * domain.lows[here], slope[here] * domain.highs[here]).sum())
        elif kind == BALL:
            least += float(slope[here] @ domain.centres[here] - domain.sizes[part] * np.linalg.norm(slope[here]))
        else:
            least += float(domain.sizes[part] * slope[here].min())
    return least
