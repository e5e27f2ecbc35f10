"""An agent decides in a live program: the same kernels as the simulation, one round at a time.

Its whole self is data: policy, problem, arms, seed, round, pending decisions and the policy's state. `dumps` writes
it down, `loads` continues bit for bit, with decisions still waiting for their rewards. Threads may share an agent.
"""

import math
import warnings
from collections.abc import Iterable
from threading import Lock
from typing import Any, NamedTuple

import msgspec
import numpy as np

from driftwise.core import state as states
from driftwise.core.play import decide_once, learn_once
from driftwise.core.rules import cast, number, whole
from driftwise.core.seeding import key
from driftwise.core.tag import code_tag
from driftwise.core.types import Decision, Problem
from driftwise.errors import ArmError, DecisionError, ParameterError, RewardError, StateError
from driftwise.policies import POLICIES

Arm = str | int


class Pending(NamedTuple):
    """A decision that waits for its reward: which arm (by its lasting number), with which propensity."""

    number: int
    propensity: float


class Saved(msgspec.Struct, forbid_unknown_fields=True):
    """An agent on paper."""

    policy: str
    parameters: dict[str, float | int]
    tag: str
    problem: list[float | int]
    arms: list[Arm]
    numbers: list[int]
    next_number: int
    seed: int
    t: int
    pending: list[tuple[int, int, float]]
    max_pending: int
    counters: dict[str, int]
    state: list[states.Packed]


class Agent:
    """A policy at work.

    Parameters
    ----------
    policy
        What decides, e.g. `SlidingThompson(window=1000)`.
    n_arms : int, optional
        Number of arms, called 0, 1, ...; or give `arms`.
    arms : iterable of str, optional
        Names of the arms.
    reward_range : (float, float), optional
        Where rewards lie; None when they are unbounded.
    noise : float, optional
        Standard deviation of a reward around its mean, for policies that ask for it.
    horizon : int, optional
        Rounds to come, where it is known.
    seed : int
        All randomness comes from it: the stream of decision i is derived from (seed, i).
    max_pending : int
        Decisions that may wait for a reward; beyond it the oldest is given up and counted as `forgotten`.

    >>> agent = Agent(POLICIES["sliding-thompson"](window=100), arms=["red", "blue"], seed=1)
    >>> decision = agent.decide()
    >>> decision.action in agent.arms
    True
    >>> agent.learn(decision, reward=1.0)
    >>> again = Agent.loads(agent.dumps())
    >>> again.decide() == agent.decide()
    True
    """

    def __init__(
        self,
        policy: Any,
        *,
        n_arms: int | None = None,
        arms: Iterable[Arm] | None = None,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        noise: float = 0.5,
        horizon: int = 0,
        seed: int = 0,
        max_pending: int = 100_000,
    ) -> None:
        if isinstance(policy, type) or not hasattr(policy, "init"):
            raise ParameterError(f"policy={policy!r} is not a policy: give an instance, such as SlidingUCB(window=500)")
        names = _names(n_arms, arms)
        low, high = (-math.inf, math.inf) if reward_range is None else _range(reward_range)
        noise = number("noise", noise, above=0.0)
        problem = Problem(len(names), low, high, noise, whole("horizon", horizon, low=0))
        seed, max_pending = whole("seed", seed, low=0, high=2**63 - 1), whole("max_pending", max_pending, high=10**9)
        self._set_up(cast(policy), problem, names, seed, max_pending)

    def _set_up(self, policy: Any, problem: Problem, arms: list[Arm], seed: int, max_pending: int) -> None:
        self.policy, self.problem, self.seed, self.max_pending = policy, problem, seed, max_pending
        self.t = 0
        self.forgotten = self.ignored = 0
        self._arms = arms
        self._numbers = list(range(len(arms)))  # arm numbers that last: unlike places, they are never used again
        self._places = {number: place for place, number in enumerate(self._numbers)}
        self._next_number = len(arms)
        self._pending: dict[int, Pending] = {}
        self._oldest = 0  # no pending decision is older
        self._lock = Lock()
        self._rng = key(seed, "agent")
        self._bind(policy.init(problem))

    def _bind(self, state: Any) -> None:
        """Take a state, and the compiled halves of a round for its types."""
        self._state = state
        policy, rng = self.policy, self._rng
        self._decide = decide_once.bind(policy, state, 0, (), rng)
        self._learn = learn_once.bind(policy, state, 0, 0, 0.0, (), rng, 0.0, 0)

    # ---- the two verbs ----

    def decide(self) -> Decision:
        """Choose an arm for the next round. Keep the decision, or its id, for the reward."""
        with self._lock:
            t = self.t
            place, propensity, own = self._decide(self.policy, self._state, t, (), self._rng)
            if propensity != propensity:
                propensity = math.nan  # the one nan object, so that equal decisions compare equal
            self.t = t + 1
            if len(self._pending) >= self.max_pending:
                self._forget_oldest()
            self._pending[t] = Pending(self._numbers[place], propensity)
        return Decision(t, self._arms[place], propensity, (), np.uint64(own))

    def learn(self, decision: Decision | int, reward: float) -> None:
        """Tell what came of a decision, now or later, in any order. A reward for a retired arm is ignored."""
        t: Any = decision.t if isinstance(decision, Decision) else decision
        t = int(t) if isinstance(t, np.integer) else t
        value = self._checked(reward)
        with self._lock:
            pending = self._pending.pop(t, None) if type(t) is int else None
            if pending is None:
                raise DecisionError(self._why_unknown(t))
            place = self._places.get(pending.number)
            if place is None:
                self.ignored += 1
                return
            now = self.t - 1
            self._learn(self.policy, self._state, t, place, pending.propensity, (), self._rng, value, now)

    def _forget_oldest(self) -> None:
        """Give up the oldest pending decision. Ids only grow, so the search never starts over."""
        while self._oldest not in self._pending:
            self._oldest += 1
        del self._pending[self._oldest]
        self.forgotten += 1

    def _checked(self, reward: Any) -> float:
        try:
            value = float(reward)
        except (TypeError, ValueError, OverflowError):
            raise RewardError(f"reward={reward!r} is not a number") from None
        if not math.isfinite(value):
            raise RewardError(f"reward={value} is not finite")
        if not self.problem.low <= value <= self.problem.high:
            raise RewardError(f"reward={value:g} is outside [{self.problem.low:g}, {self.problem.high:g}]")
        return value

    def _why_unknown(self, t: Any) -> str:
        if isinstance(t, bool) or not isinstance(t, int) or not 0 <= t < self.t:
            return f"decision {t!r} was never made: this agent has made {self.t}, numbered from 0"
        return f"decision {t} has been answered already, or was given up as the oldest of {self.max_pending} pending"

    # ---- arms that come and go ----

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms to choose from now."""
        return tuple(self._arms)

    def add_arm(self, name: Arm) -> None:
        """A new arm, unexplored."""
        name = _plain_name(name)
        with self._lock:
            if name in self._arms:
                raise ArmError(f"there is an arm {name!r} already")
            self._regroup([*self._arms, name], [*self._numbers, self._next_number])
            self._next_number += 1

    def retire_arm(self, name: Arm) -> None:
        """Never choose this arm again; rewards still under way for it are ignored and counted."""
        with self._lock:
            if name not in self._arms:
                raise ArmError(f"there is no arm {name!r}: there are {', '.join(map(repr, self._arms))}")
            if len(self._arms) == 1:
                raise ArmError(f"{name!r} is the last arm: add another before retiring it")
            gone = self._arms.index(name)
            left = [place for place in range(len(self._arms)) if place != gone]
            self._regroup([self._arms[place] for place in left], [self._numbers[place] for place in left])

    def _regroup(self, arms: list[Arm], numbers: list[int]) -> None:
        problem = self.problem._replace(n_arms=len(arms))
        kept = [self._places.get(number, -1) for number in numbers]
        state = states.regroup(self._state, self.policy.init(problem), kept)
        self.problem, self._arms, self._numbers = problem, arms, numbers
        self._places = {number: place for place, number in enumerate(numbers)}
        self._bind(state)

    # ---- what can be asked ----

    @property
    def pending(self) -> tuple[int, ...]:
        """Ids of the decisions that wait for a reward, oldest first."""
        return tuple(self._pending)

    @property
    def stale(self) -> int:
        """Rewards that came too late to count: their round had left the window, or their batch had ended."""
        counters = [array for path, array in states.arrays(self._state) if path.split(".")[-1] == "stale"]
        return int(sum(counter[0] for counter in counters))

    @property
    def state(self) -> Any:
        """A copy of the policy's state."""
        return states.clone(self._state)

    def __repr__(self) -> str:
        return f"Agent({self.policy}, arms={self._arms}, t={self.t}, pending={len(self._pending)})"

    # ---- on paper and back ----

    def dumps(self) -> bytes:
        """Everything, as bytes: exact, versioned, never pickle."""
        with self._lock:
            return states.seal(msgspec.msgpack.encode(self._saved()))

    def _saved(self) -> Saved:
        return Saved(
            policy=_name_of(type(self.policy)),
            parameters=self.policy._asdict(),
            tag=code_tag(type(self.policy)),
            problem=list(self.problem),
            arms=self._arms,
            numbers=self._numbers,
            next_number=self._next_number,
            seed=self.seed,
            t=self.t,
            pending=[(t, each.number, each.propensity) for t, each in self._pending.items()],
            max_pending=self.max_pending,
            counters={"forgotten": self.forgotten, "ignored": self.ignored},
            state=states.pack(self._state),
        )

    @classmethod
    def loads(cls, blob: bytes, *, policy: type | None = None) -> "Agent":
        """An agent that continues where the saved one stopped.

        `policy` is needed for a class that is not in driftwise's table. Bytes written by another version of the
        policy's code are accepted when they fit, with a warning: the run goes on, though not bit for bit.
        """
        try:
            saved = msgspec.msgpack.decode(states.unseal(blob), type=Saved)
        except msgspec.DecodeError as error:
            raise StateError(f"these bytes hold something other than an agent: {error}") from None
        if policy is not None and not isinstance(policy, type):
            raise StateError(f"policy={policy!r} is not a class: pass the policy's class")
        kind = policy or POLICIES.get(saved.policy)
        if kind is None:
            raise StateError(f"this agent was saved with the policy {saved.policy}: pass it, policy={saved.policy}")
        if saved.policy != _name_of(kind):
            raise StateError(f"this agent was saved with the policy {saved.policy}, not {_name_of(kind)}")
        try:
            chosen, problem = cast(kind(**saved.parameters)), Problem(*saved.problem)  # type: ignore[arg-type]
        except TypeError as error:
            raise StateError(f"the saved parameters do not fit {saved.policy}: {error}") from None
        agent = cls.__new__(cls)
        agent._set_up(chosen, problem, list(saved.arms), saved.seed, saved.max_pending)
        agent.t, agent._numbers, agent._next_number = saved.t, saved.numbers, saved.next_number
        agent._places = {number: place for place, number in enumerate(saved.numbers)}
        agent._pending = {t: Pending(number, propensity) for t, number, propensity in saved.pending}
        agent.forgotten, agent.ignored = saved.counters["forgotten"], saved.counters["ignored"]
        states.unpack(saved.state, agent._state)
        if saved.tag != code_tag(kind):
            warnings.warn(f"{saved.policy} has changed since this agent was saved: choices may differ", stacklevel=2)
        return agent


def _name_of(policy: type) -> str:
    """The name in the table, or for a class from elsewhere its own."""
    return next((name for name, kind in POLICIES.items() if kind is policy), policy.__name__)


def _names(n_arms: int | None, arms: Iterable[Arm] | None) -> list[Arm]:
    if (n_arms is None) == (arms is None):
        raise ParameterError("give either n_arms or arms, a list of names")
    if isinstance(arms, str):
        raise ParameterError(f"arms={arms!r} is one string: give a list of names")
    names = [*range(whole("n_arms", n_arms, high=10**6))] if arms is None else [_plain_name(name) for name in arms]
    if not names:
        raise ParameterError("arms is empty: an agent needs at least one")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ParameterError(f"arms {sorted(map(str, twice))} are named twice")
    return names


def _plain_name(name: Any) -> Arm:
    """A name that can be written down: text, or a whole number of 64 bits."""
    if isinstance(name, str) and name.isprintable():
        return str(name)
    if isinstance(name, int | np.integer) and not isinstance(name, bool) and -(2**63) <= name < 2**63:
        return int(name)
    raise ParameterError(f"arm {name!r} is not named by printable text or a whole number below 2^63")


def _range(reward_range: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in reward_range)
    except (TypeError, ValueError):
        raise ParameterError(f"reward_range={reward_range!r} is not a pair (low, high)") from None
    if not low < high or not math.isfinite(low) or not math.isfinite(high):
        raise ParameterError(f"reward_range=({low:g}, {high:g}) is not a pair of finite numbers with low < high")
    return low, high
