"""Bandit-over-Bandit. Cheung, Simchi-Levi & Zhu 2022, algorithm 2 with eq. (23) and (30), all blocks anew each time.

    H = floor(d sqrt T) or floor(sqrt(d T)); Delta = ceil(ln H); J_j = floor(H^(j / Delta))
    gamma = min(1, sqrt(|J| ln |J| / ((e - 1) ceil(T / H)))); p_j = (1 - gamma) s_j / sum s + gamma / |J|
    s_j *= exp(gamma / (|J| p_j) (1/2 + Y / (2 H + 4 R sqrt(H ln(T / sqrt H)))))       Y and R in units of the rewards

The window of a block is drawn from the stream of its first round, which the twin is told with `begin`. In a block the
twin of the policy inside is told what the block has seen, in the time of the block.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.types import Floats, Problem
from tests.families.contextual.twins.sliding_lin_ucb import SlidingLinUCBTwin
from tests.families.multi_armed.twins.log import Entry, Twin
from tests.families.multi_armed.twins.sliding_armed_ucb import SlidingArmedUCBTwin
from tests.families.multi_armed.twins.sliding_ucb import SlidingUCBTwin
from tests.fixtures.splitmix import branch, uniform

INSIDE: dict[str, Any] = {
    "SlidingUCB": SlidingUCBTwin,
    "SlidingArmedUCB": SlidingArmedUCBTwin,
    "SlidingLinUCB": SlidingLinUCBTwin,
}
EPOCHS = [2 ** min(10 + e, 20) for e in range(30)]


class Block(NamedTuple):
    """A block of `rounds`, cut short where its epoch ends at `end`, and the window that was drawn for it."""

    start: int
    rounds: int
    end: int
    windows: list[int]
    chances: list[float]
    chosen: int


class BanditOverBanditTwin(Twin):
    """Every block since round 0 played again at each decision."""

    def __init__(self, policy: Any, problem: Problem) -> None:
        super().__init__(policy, problem)
        self.streams: dict[int, int] = {}
        self.settled: dict[int, int] = {}
        self.inside = INSIDE[type(policy.policy).__name__]

    def begin(self, t: int, rng: int) -> None:
        """Round `t` draws from the stream `rng`."""
        self.streams[t] = rng

    def settle(self, t: int, now: int) -> None:
        """The twin of the policy inside is told when."""
        self.settled[t] = now

    # ---- the plan of an epoch of T rounds ----

    def horizon(self) -> int:
        return int(self.policy.horizon or self.problem.horizon)

    def block_rounds(self, rounds: int) -> int:
        if self.policy.block:
            return int(self.policy.block)
        d = self.policy.dim or (self.problem.dim if self.inside is SlidingLinUCBTwin else self.problem.n_arms)
        length = d * math.sqrt(rounds) if self.inside is SlidingLinUCBTwin else math.sqrt(d * rounds)
        return max(1, min(rounds, math.floor(length)))

    def windows(self, block: int) -> list[int]:
        steps = math.ceil(math.log(block))
        powers = [math.floor(block ** (j / steps) + 1e-9) for j in range(steps)] + [block]
        return [window for window in powers if window >= self.policy.shortest] or [block]

    def worth(self, block: int, rounds: int, answers: list[Entry]) -> float:
        """The x of a block, from the rewards that came in it."""
        items = max(1, self.problem.slate)
        low, high, noise = self.problem.low, self.problem.high, self.problem.noise
        if math.isfinite(low) and math.isfinite(high):
            shares = [(entry.reward - items * low) / (items * (high - low)) for entry in answers]
            return math.fsum(shares) / len(answers)
        mean = math.fsum(entry.reward for entry in answers) / len(answers)
        allowance = 4.0 * noise * math.sqrt(items * block * math.log(rounds / math.sqrt(block)))
        largest = items * self.policy.scale * self.problem.unit
        return 0.5 + mean * block / float(2.0 * largest * block + allowance)

    # ---- block after block ----

    def epoch(self, t: int) -> tuple[int, int, float]:
        """Where the epoch of round `t` starts, how long it is taken to be, and where it ends."""
        if self.horizon():
            return 0, self.horizon(), math.inf
        start = 0
        for rounds in (max(each, min(self.policy.block * 2**e, 2**20)) for e, each in enumerate(EPOCHS)):
            if t < start + rounds:
                return start, rounds, start + rounds
            start += rounds
        raise AssertionError("a run this long is not for a twin")

    def standing(self, t: int) -> Block:
        start, rounds, end = self.epoch(t)
        size = self.block_rounds(rounds)
        windows = self.windows(size)
        n = len(windows)
        gamma = min(1.0, math.sqrt(n * math.log(n) / ((math.e - 1.0) * math.ceil(rounds / size))))
        weights = [1.0] * n
        while True:
            chances = [(1.0 - gamma) * weight / math.fsum(weights) + gamma / n for weight in weights]
            u = uniform(branch(branch(self.streams[start])))
            chosen = min(int(np.searchsorted(np.cumsum(chances), u, side="right")), n - 1)
            stop = int(min(end, start + size))
            if t < stop:
                return Block(start, size, stop, windows, chances, chosen)
            answers = self.answers(start, stop, stop)
            if answers:
                weights[chosen] *= math.exp(gamma * self.worth(size, rounds, answers) / (n * chances[chosen]))
            start = stop

    def answers(self, start: int, stop: int, t: int) -> list[Entry]:
        """The rewards of the decisions from `start` to `stop` that came before round `t`; the first for each round."""
        first: dict[int, Entry] = {}
        for entry in self.log:
            if start <= entry.t < stop and entry.arrival < t:
                first.setdefault(entry.t, entry)
        return list(first.values())

    def inner(self, t: int) -> Any:
        """The twin of the policy inside, told what its block has seen before round `t`."""
        block = self.standing(t)
        window = block.windows[block.chosen]
        twin = self.inside(self.policy.policy._replace(window=window), self.problem._replace(horizon=self.horizon()))
        if self.policy.literal:  # it remembers the whole block, but its bonus is that of the window
            keeper = self.inside(self.policy.policy._replace(window=block.rounds), self.problem)
            keeper.log, twin.known, twin.stale = twin.log, keeper.known, keeper.stale
        for entry in self.answers(block.start, block.end, t):
            twin.learn(entry.t - block.start, entry.arm, entry.reward, entry.arrival - block.start, entry.rng)
        if isinstance(twin, Twin):
            twin.pending = {s - block.start: arm for s, arm in self.pending.items() if s >= block.start}
            for s in twin.pending.keys() & {each - block.start for each in self.settled}:
                twin.settle(s, self.settled[s + block.start] - block.start)
        return twin

    def indices(self, t: int, *context: Floats) -> Floats:
        """What the policy inside compares at decision `t`."""
        indices: Floats = self.inner(t).indices(t - self.standing(t).start, *context)
        return indices

    def choose(self, t: int, *context: Floats) -> int:
        """The choice of the policy inside."""
        return int(self.inner(t).choose(t - self.standing(t).start, *context))

    def stale(self) -> int:
        """Rewards that came when another block had begun."""
        return sum(entry.arrival >= self.standing(entry.t).end for entry in self.log)
