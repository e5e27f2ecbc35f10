"""Slow twins where actions have features and choices cost: everything anew from the log of all that was told.

lin-pacing, at decision t, over pairs (x, r, c) of rounds s, u the largest reward:

    V = lambda I + sum gamma^(t-1-s) x x'      theta_0 = V^-1 sum gamma^(t-1-s) x r / u      theta_j the same of c_j
    M = V + sum gamma^(t-1-s) x x' over what is under way
    upper(x) = <x, theta_0> + beta |x|_{M^-1 V M^-1},   beta = rho sqrt(ln(min(T, 1 / (1 - gamma))) / 2)
    lower_j(x) = (<x, theta_j> + lambda / 2 x'(V^-1 - M^-1) x - beta |x|_{M^-1 V M^-1})+
    price_j = clip(price_j - eta (rate_j - c_j), 0, T / B_j) for everything told, in its order, eta = step / sqrt(T)
    charge_j = the same with all that is under way, at what it is expected to cost
    row = argmax upper(x) - charge'lower(x), or none where that is not above 0

unpaced-lin-ucb: argmax upper(x).
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.types import Floats, Problem


class FeaturedBill(NamedTuple):
    """What came of the decision of round t, told at the end of round `arrival`; action -1 chose nothing."""

    t: int
    action: int
    x: Floats
    rates: Floats
    reward: float
    costs: Floats
    arrival: int


class FadingTwin:
    """Weighted least squares anew at every decision."""

    def __init__(self, policy: Any, problem: Problem) -> None:
        self.policy, self.problem = policy, problem
        self.log: list[FeaturedBill] = []
        self.pending: dict[int, FeaturedBill] = {}

    def known(self, t: int) -> list[FeaturedBill]:
        return [bill for bill in self.log if bill.arrival < t]

    def gram(self, t: int, bills: Any) -> Floats:
        terms = [self.policy.gamma ** (t - 1 - b.t) * np.outer(b.x, b.x) for b in bills if b.action >= 0]
        return np.array(sum(terms, np.zeros((self.problem.dim, self.problem.dim))))

    def matrices(self, t: int) -> tuple[Floats, Floats]:
        """V and M."""
        own = self.policy.ridge * np.eye(self.problem.dim) + self.gram(t, self.known(t))
        return own, own + self.gram(t, self.pending.values())

    def theta(self, t: int, numbers: Any) -> Floats:
        moment = np.zeros(self.problem.dim)
        for bill in self.known(t):
            if bill.action >= 0:
                moment += self.policy.gamma ** (t - 1 - bill.t) * bill.x * numbers(bill)
        return np.array(np.linalg.solve(self.matrices(t)[0], moment))

    def width(self, t: int, x: Floats) -> float:
        own, wide = self.matrices(t)
        narrow = np.linalg.inv(wide)
        gamma, horizon = self.policy.gamma, self.problem.horizon
        memory = horizon if gamma == 1.0 else min(horizon, 1.0 / (1.0 - gamma))
        return float(self.policy.rho * math.sqrt(math.log(memory) / 2.0) * math.sqrt(x @ narrow @ own @ narrow @ x))

    def upper(self, t: int, x: Floats) -> float:
        return float(x @ self.theta(t, lambda bill: bill.reward / self.problem.high)) + self.width(t, x)


class UnpacedLinUCBTwin(FadingTwin):
    """The row that may earn most."""

    def worths(self, t: int, rows: Floats, rates: Floats) -> Floats:
        return np.array([self.upper(t, x) for x in rows])


class LinPacingTwin(FadingTwin):
    """The row that may be worth most once its costs are paid for."""

    def prices(self, t: int) -> Floats:
        prices, step = np.zeros(len(self.limits)), self.policy.step / math.sqrt(self.problem.horizon)
        for bill in self.known(t):
            prices = np.clip(prices - step * (bill.rates - bill.costs), 0.0, self.limits)
        return prices

    @property
    def limits(self) -> Floats:
        return np.array(self.problem.horizon / self.problem.structure.amounts)

    def charges(self, t: int, rates: Floats) -> Floats:
        if not self.pending:
            return self.prices(t)
        inverse = np.linalg.inv(self.matrices(t)[0])
        unknown = 0.5 * self.policy.ridge * np.trace(inverse @ self.gram(t, self.pending.values()))
        rows = sum((b.x for b in self.pending.values() if b.action >= 0), np.zeros(self.problem.dim))
        any_row = any(b.action >= 0 for b in self.pending.values())
        costs = np.array([rows @ self.theta(t, lambda b, j=j: b.costs[j]) + unknown for j in range(len(rates))])
        costs = np.clip(costs, 0.0, len(self.pending)) if any_row else np.zeros(len(rates))
        step = self.policy.step / math.sqrt(self.problem.horizon)
        return np.array(np.clip(self.prices(t) + step * (costs - len(self.pending) * rates), 0.0, self.limits))

    def worths(self, t: int, rows: Floats, rates: Floats) -> Floats:
        own, wide = self.matrices(t)
        unknown, charges, worths = np.linalg.inv(own) - np.linalg.inv(wide), self.charges(t, rates), []
        for x in rows:
            caution = 0.5 * self.policy.ridge * float(x @ unknown @ x) - self.width(t, x)
            means = [float(x @ self.theta(t, lambda b, j=j: b.costs[j])) for j in range(len(rates))]
            worths.append(self.upper(t, x) - charges @ np.maximum(np.array(means) + caution, 0.0))
        return np.array(worths)
