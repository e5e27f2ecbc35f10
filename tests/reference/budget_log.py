"""All that a twin with budgets knows: the log of every outcome it was told, in the order it was told."""

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
