"""All a twin with budgets knows: the log of every outcome, in the order they were told, and what is under way."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import linprog

from driftwise.core.types import Floats, Problem

EXACT: Any = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}


class Bill(NamedTuple):
    """What came of the decision of round t, told at the end of round `arrival`; `rates` is what could be spent then.

    `rng` is the stream that belongs to the decision; arm -1 is the null arm.
    """

    t: int
    arm: int
    reward: float
    costs: tuple[float, ...]
    arrival: int
    rates: tuple[float, ...]
    propensity: float
    rng: int


class BudgetTwin:
    """A policy with budgets that remembers everything and computes everything anew."""

    def __init__(self, policy: Any, problem: Problem) -> None:
        self.policy, self.problem = policy, problem
        self.amounts: Floats = problem.structure.amounts
        self.m, self.d, self.horizon = problem.n_arms, len(self.amounts), problem.horizon
        self.log: list[Bill] = []
        self.pending: dict[int, int] = {}

    def pend(self, t: int, arm: int) -> None:
        """The outcome of the decision of round `t` is under way."""
        self.pending[t] = arm

    def settle(self, t: int, now: int) -> None:
        """It is so no longer, since round `now`."""
        self.pending.pop(t, None)

    def under_way(self, t: int) -> list[int]:
        """The arms of all that is under way at decision `t`, the null arm among them. Without a window, for ever."""
        return list(self.pending.values())

    def learn(self, bill: Bill) -> None:
        """Something was told; the largest reward counts as 1."""
        self.log.append(bill._replace(reward=bill.reward / self.problem.high))

    def known(self, t: int) -> list[Bill]:
        """What was told before decision `t`. Without a window, what is told twice counts twice."""
        return [bill for bill in self.log if bill.arrival < t]

    def of_arm(self, arm: int, bills: list[Bill]) -> tuple[int, float, Floats]:
        """How often an arm was chosen, what it earned, and what it cost."""
        own = [bill for bill in bills if bill.arm == arm]
        costs = np.array([math.fsum(bill.costs[j] for bill in own) for j in range(self.d)])
        return len(own), math.fsum(bill.reward for bill in own), costs

    def even(self) -> Floats:
        """What may be spent in a round if all rounds are to be alike."""
        return self.amounts / self.horizon

    def unit(self) -> float:
        return float(self.problem.high)


def tries(n: float, pending: int) -> float:
    """How many tries give the width of an arm with `n` and so many under way, which are not looked at with hope.

    With a width of c / sqrt(n), and none for what is under way, the average over both is n / (n + p) c / sqrt(n).
    """
    return (n + pending) ** 2 / n


def mean_cost(total: float, count: int, pending: int) -> float:
    """What an arm costs on average: `count + 1` times what it has cost, and as often as is under way what that will.

    One under way is taken to cost what the mean says that starts at one half, not at nothing.
    """
    n = count + 1
    return (n * (total / n) + pending * ((total + 0.5) / n)) / (n + pending)


class Program(NamedTuple):
    """The program of a round: the most that can be earned, and what may be spent for it."""

    upper: Floats
    lower: Floats  # a row per resource
    budget: Floats

    def value(self) -> float:
        """What the best mix earns, by HiGHS."""
        rows = np.vstack([self.lower, np.ones(len(self.upper))])
        right = np.append(self.budget, 1.0)
        solved = linprog(-self.upper, A_ub=rows, b_ub=right, method="highs", options=EXACT)
        assert solved.status == 0
        return -float(solved.fun or 0.0)
