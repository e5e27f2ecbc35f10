"""The virtual-queue algorithm, computed anew from all that was told. Liu, Jiang & Li 2022, Algorithm 2, corrected.

Answers are taken in the order in which they came; told in time, that is the algorithm as `algorithm_2` writes it down,
index by index.
"""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.types import Floats, Problem
from tests.families.convex.twins.projections import nearest


class Answer(NamedTuple):
    """What was told of the point of a decision at the end of round `now`."""

    point: Floats
    gradient: Floats
    values: Floats
    jacobian: Floats
    now: int


def factors(policy: Any, rounds: int) -> tuple[float, float]:
    """Both factors, beta and alpha."""
    if policy.printed:
        return policy.weight / math.sqrt(rounds), policy.inertia / rounds
    return policy.weight * math.sqrt(rounds), policy.inertia * rounds


class VirtualQueueTwin:
    """A policy that remembers every answer and starts over at every decision."""

    def __init__(self, policy: Any, problem: Problem) -> None:
        self.policy, self.problem = policy, problem
        self.log: list[Answer] = []

    def learn(self, point: Any, gradient: Any, values: Any, jacobian: Any, now: int) -> None:
        """An answer, at the end of round `now`."""
        copies = [np.array(each, float) for each in (point, gradient, values, jacobian)]
        self.log.append(Answer(copies[0], copies[1], copies[2], copies[3], now))

    def replayed(self) -> tuple[Floats, Floats]:
        """The point to play next, and the queues."""
        domain, (count,), start = self.problem.structure
        x, queues = np.array(start), np.zeros(count)
        for i, answer in enumerate(self.log):
            if i >= 1:
                before = self.log[i - 1]
                queues = np.maximum(0.0, queues + before.values + before.jacobian @ (x - before.point))
            beta, alpha = factors(self.policy, max(self.problem.horizon, answer.now + 1))
            x = nearest(domain, x - (beta * answer.gradient + answer.jacobian.T @ queues) / (2.0 * alpha))
        return x, queues


def algorithm_2(policy: Any, problem: Problem, ask: Callable[[int, Floats], tuple[Floats, Floats, Floats]]) -> Floats:
    """x_1 .. x_T, a row each, where `ask(t, x)` tells gradient, constraints and their gradients in round t = 1 .. T."""
    domain, (count,), start = problem.structure
    rounds = problem.horizon
    beta, alpha = factors(policy, rounds)
    x = {0: np.array(start), 1: np.array(start)}
    gradients: dict[int, Floats] = {}
    values: dict[int, Floats] = {}
    jacobians: dict[int, Floats] = {}
    queues = np.zeros(count)
    for t in range(1, rounds + 1):
        if t >= 3:
            forecast = values[t - 2] + jacobians[t - 2] @ (x[t - 1] - x[t - 2])
            queues = np.maximum(0.0, queues + forecast)
        if t >= 2:
            step = beta * gradients[t - 1] + jacobians[t - 1].T @ queues
            x[t] = nearest(domain, x[t - 1] - step / (2.0 * alpha))
        gradients[t], values[t], jacobians[t] = ask(t, x[t])
    return np.array([x[t] for t in range(1, rounds + 1)])
