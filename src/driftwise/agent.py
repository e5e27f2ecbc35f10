"""An agent decides in a live program: the same kernels as the simulation, one round at a time.

Its whole self is data: policy, problem, arms, seed, round, pending decisions and the policy's state. `dumps` writes
it down, `loads` continues bit for bit, with decisions still waiting for their rewards. Threads may share an agent.
"""

import math
import warnings
from collections import Counter
from collections.abc import Iterable, Mapping
from threading import Lock
from typing import Any

import msgspec
import numpy as np

from driftwise.core import state as states
from driftwise.core.family import check_fit, family_of
from driftwise.core.kernel import kinds
from driftwise.core.play import decide_once, learn_once
from driftwise.core.rules import cast, number, whole
from driftwise.core.seeding import key
from driftwise.core.tag import code_tag
from driftwise.core.types import ArmIds, Decision, PerArm, Problem, Scratch
from driftwise.errors import ArmError, DecisionError, FeatureError, ParameterError, RewardError, StateError
from driftwise.rewind import Rewind
from driftwise.rows import Rows, reach_of
from driftwise.saved import Arm, Saved, from_paper, on_paper, packed, unpacked

Row = Any  # one row of features: numbers in any sequence
Pending = tuple[Any, float, Any]  # what waits for its reward: the lasting number of its arm, the propensity, its row


class Agent:
    """A policy at work.

    Parameters
    ----------
    policy
        What decides, e.g. `SlidingThompson(window=1000)`.
    n_arms : int, optional
        Number of arms, called 0, 1, ...; or give `arms`.
    arms : iterable of str, or mapping, optional
        Names of the arms; a mapping gives each its row of features.
    features : int, optional
        How many features an action has, where rows come with every decision; arms need not be named then.
    context : int, optional
        Length of the vector that comes with every decision and multiplies the features of the arms.
    slate : int, optional
        How many arms a decision chooses at once, for policies that fill slates.
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

    >>> import driftwise as dw
    >>> agent = dw.Agent(dw.SlidingThompson(window=100), arms=["red", "blue"], seed=1)
    >>> decision = agent.decide()
    >>> decision.action in agent.arms
    True
    >>> agent.learn(decision, reward=1.0)
    >>> again = dw.Agent.loads(agent.dumps())
    >>> again.decide() == agent.decide()
    True
    >>> agent = dw.Agent(dw.SlidingLinUCB(window=100), features=3)
    >>> decision = agent.decide(actions=[[1.0, 0.2, 0.0], [1.0, 0.9, 0.3]])
    >>> decision.action, decision.context
    (1, (1.0, 0.9, 0.3))
    """

    def __init__(
        self,
        policy: Any,
        *,
        n_arms: int | None = None,
        arms: Iterable[Arm] | Mapping[Arm, Row] | None = None,
        features: int | None = None,
        context: int | None = None,
        slate: int | None = None,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        noise: float = 0.5,
        horizon: int = 0,
        seed: int = 0,
        max_pending: int = 100_000,
    ) -> None:
        if isinstance(policy, type) or not hasattr(policy, "init"):
            raise ParameterError(f"policy={policy!r} is not a policy: give an instance, such as SlidingUCB(window=500)")
        policy = cast(policy)
        names = _names(n_arms, arms, needed=features is None)
        rows = _rows(policy, names, arms, features, context)
        low, high = (-math.inf, math.inf) if reward_range is None else _range(reward_range)
        noise, horizon = number("noise", noise, above=0.0), whole("horizon", horizon, low=0)
        items = 0 if slate is None else whole("slate", slate, high=len(names))
        problem = Problem(max(1, len(names)), low, high, noise, horizon, rows.dim if rows else 0, items)
        check_fit(policy, problem)
        seed, max_pending = whole("seed", seed, low=0, high=2**63 - 1), whole("max_pending", max_pending, high=10**9)
        self._set_up(policy, problem, names, rows, seed, max_pending)

    def _set_up(
        self, policy: Any, problem: Problem, arms: list[Arm], rows: Rows | None, seed: int, max_pending: int
    ) -> None:
        self.policy, self.seed, self.max_pending = policy, seed, max_pending
        self.t = 0
        self.forgotten = self.ignored = 0
        self._next_number = len(arms)
        self._pending: dict[int, Pending] = {}
        self._oldest = 0  # no pending decision is older
        self._lock = Lock()
        self._rng = key(seed, "agent")
        state = policy.init(problem)
        self._keeps_arms = _keeps_arms(state)
        if self._keeps_arms and rows is not None and not arms:
            raise ParameterError(f"{type(policy).__name__} remembers something of every arm: name the arms")
        self._bind(problem, arms, list(range(len(arms))), rows, state)

    def _bind(self, problem: Problem, arms: list[Arm], numbers: list[int], rows: Rows | None, state: Any) -> None:
        """Take arms and a state, and the compiled halves of a round for their types.

        Arms have numbers that last: unlike places, they are never used again.
        """
        self.problem, self._arms, self._numbers, self._rows, self._state = problem, arms, numbers, rows, state
        self._places = {number: place for place, number in enumerate(numbers)}
        self._single = rows is None and not problem.slate  # one bare arm is chosen
        self._shown: Any = () if rows is None else None if rows.given or rows.context else rows.own
        self._past = None if rows is None else Rewind(state, rows.dim)
        matrix, row = ((), ()) if rows is None else (np.zeros((1, rows.dim)), np.zeros(rows.dim))
        place, reward = (np.zeros(problem.slate, np.int64), np.zeros(problem.slate)) if problem.slate else (0, 0.0)
        self._plain = _wordless(self.policy)
        self._decide = decide_once.bind(self._plain, state, 0, matrix, self._rng)
        self._learn = learn_once.bind(self._plain, state, 0, place, 0.0, row, self._rng, reward, 0)

    # ---- the two verbs ----

    def decide(self, actions: Any = None, *, context: Any = None) -> Decision:
        """Choose for the next round. Keep the decision, or its id, for the reward.

        `actions` is a matrix with a row of features per action, or a mapping from arms to rows; `context` a vector.
        Which of them an agent needs was said when it was made. What it chose is `action`: the name of an arm, the
        number of a row where arms have no names, or the names in a slate.
        """
        with self._lock:
            t, shown = self.t, self._shown
            if shown is None or actions is not None or context is not None:
                shown = self._look(actions, context)
            try:
                place, propensity, own = self._decide(self._plain, self._state, t, shown, self._rng)
            except FloatingPointError as error:
                raise self._back(error) from None
            if propensity != propensity:
                propensity = math.nan  # the one nan object, so that equal decisions compare equal
            self.t = t + 1
            if len(self._pending) >= self.max_pending:
                self._forget_oldest()
            if self._single:
                self._pending[t] = self._numbers[place], propensity, ()
                return Decision(t, self._arms[place], propensity, (), np.uint64(own))
            return self._described(t, place, propensity, shown, np.uint64(own))

    def learn(self, decision: Decision | int, reward: Any = None, *, rewards: Any = None) -> None:
        """Tell what came of a decision, now or later, in any order. A slate has `rewards`, one per item, in its order.

        A reward is ignored and counted when nothing can be learned from it any more: when its arm was retired, or an
        item of its slate was. Features go on teaching when their arm is gone, unless arms have parameters of their own.
        """
        t: Any = decision.t if isinstance(decision, Decision) else decision
        t = int(t) if isinstance(t, np.integer) else t
        value = self._checked(reward) if rewards is None and not self.problem.slate else self._each(reward, rewards)
        with self._lock:
            pending = self._pending.get(t) if type(t) is int else None
            if pending is None:
                raise DecisionError(self._why_unknown(t))
            number, propensity, row = pending
            if self._single:
                place: Any = self._places.get(number)
            else:
                place, row = self._found(number, row)
            if place is None:
                self.ignored += 1
            else:
                now = self.t - 1
                try:
                    self._learn(self._plain, self._state, t, place, propensity, row, self._rng, value, now)
                except FloatingPointError as error:
                    raise self._back(error) from None
                if self._past is not None:
                    self._past.note(t, place, propensity, row, self._rng, value, now)
            del self._pending[t]

    def _look(self, actions: Any, context: Any) -> Any:
        """The rows to choose from."""
        if self._rows is None:
            raise FeatureError(f"{type(self.policy).__name__} looks at no features: decide() takes none")
        return self._rows.show(actions, context)

    def _described(self, t: int, place: Any, propensity: float, shown: Any, own: np.uint64) -> Decision:
        """A decision between rows or slates, kept until its reward comes."""
        if self._rows is None:
            chosen = place.tolist()
            self._pending[t] = tuple(self._numbers[each] for each in chosen), propensity, ()
            return Decision(t, tuple(self._arms[each] for each in chosen), propensity, (), own)
        row = self._rows.kept(shown, place)
        self._pending[t] = self._numbers[place] if self._arms else place, propensity, row
        if self._past is not None:
            self._past.note(t, own)
        return Decision(t, self._arms[place] if self._arms else place, propensity, tuple(row.tolist()), own)

    def _found(self, number: Any, row: Any) -> tuple[Any, Any]:
        """Where what was chosen is now, and its row as it is now; None when nothing can be learned of it any more."""
        if self._rows is None:
            places = [self._places.get(each) for each in number]
            return (None if None in places else np.array(places, np.int64)), ()
        place = self._places.get(number) if self._arms else number
        if place is None and not self._rows.disjoint and not self._keeps_arms:
            place = 0  # the row alone teaches
        return place, None if place is None else self._rows.whole(row, place)

    def _back(self, error: FloatingPointError) -> Exception:
        """Undo what a kernel had begun; the error to raise."""
        if self._past is None:
            return error
        self._past.back(self._plain, self._state, self._learn)
        return FeatureError(str(error))

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

    def _each(self, reward: Any, rewards: Any) -> Any:
        """The rewards of the items of a slate."""
        if not self.problem.slate:
            raise RewardError("one choice has one reward: learn(decision, reward)")
        if reward is not None and rewards is not None:
            raise RewardError("reward and rewards were both given: a slate has rewards, one per item")
        given = reward if rewards is None else rewards
        try:
            values = [self._checked(each) for each in given]
        except TypeError:
            raise RewardError(f"rewards={given!r} is not a list of {self.problem.slate}, one per item") from None
        if len(values) != self.problem.slate:
            raise RewardError(f"there are {len(values)} rewards for a slate of {self.problem.slate} items")
        return np.array(values)

    def _why_unknown(self, t: Any) -> str:
        if isinstance(t, bool) or not isinstance(t, int) or not 0 <= t < self.t:
            return f"decision {t!r} was never made: this agent has made {self.t}, numbered from 0"
        return f"decision {t} has been answered already, or was given up as the oldest of {self.max_pending} pending"

    # ---- arms that come and go ----

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms to choose from now; none where rows come without names."""
        return tuple(self._arms)

    def add_arm(self, name: Arm, features: Row = None) -> None:
        """A new arm, unexplored; it brings its `features` where the others did."""
        name = _plain_name(name)
        with self._lock:
            if self._rows is not None and not self._arms:
                raise ArmError("this agent's actions have no names: they come with every decision")
            if name in self._arms:
                raise ArmError(f"there is an arm {name!r} already")
            brings = self._rows is not None and self._rows.own is not None
            if (features is None) == brings:
                raise FeatureError(
                    f"the arm {name!r} must bring its features, as the others did"
                    if brings
                    else f"the arm {name!r} cannot bring features: the others did not"
                )
            self._regroup([*self._arms, name], [*self._numbers, self._next_number], features)
            self._next_number += 1

    def retire_arm(self, name: Arm) -> None:
        """Never choose this arm again; `learn` says what becomes of rewards still under way for it."""
        with self._lock:
            if name not in self._arms:
                raise ArmError(f"there is no arm {name!r}: there are {', '.join(map(repr, self._arms)) or 'none'}")
            if len(self._arms) == 1:
                raise ArmError(f"{name!r} is the last arm: add another before retiring it")
            if len(self._arms) == self.problem.slate:
                raise ArmError(f"{name!r} is one of {len(self._arms)} arms, and a slate has as many: add another first")
            gone = self._arms.index(name)
            left = [place for place in range(len(self._arms)) if place != gone]
            self._regroup([self._arms[place] for place in left], [self._numbers[place] for place in left])

    def _regroup(self, arms: list[Arm], numbers: list[int], features: Row = None) -> None:
        kept = [self._places.get(number, -1) for number in numbers]
        problem, rows, columns = self.problem._replace(n_arms=len(arms)), self._rows, None
        if rows is not None:
            rows, columns = rows.regrouped(arms, kept, features), rows.columns(kept)
            problem = problem._replace(dim=rows.dim)
        policy = self.policy
        if self.t and hasattr(policy, "settled"):  # what it sizes by the number of arms stays as it is from now on
            policy = policy.settled(self.problem)
        state = policy.init(problem)
        if self.t:
            state = self._moved(state, kept, columns)
        self.policy = policy
        self._bind(problem, arms, numbers, rows, state)

    def _moved(self, fresh: Any, kept: list[int], columns: list[int] | None) -> Any:
        """What has been learned so far, in a state for other arms."""
        try:
            return states.regroup(self._state, fresh, kept, columns)
        except StateError:
            raise
        except ValueError:  # an array that should be the same whatever the arms is not
            name = type(self.policy).__name__
            raise ArmError(f"{name} sizes what it remembers by the number of arms: none can come or go") from None

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
        offers = f"arms={self._arms}" if self._arms else f"features={self._rows.given}" if self._rows else ""
        return f"Agent({self.policy}, {offers}, t={self.t}, pending={len(self._pending)})"

    # ---- on paper and back ----

    def dumps(self) -> bytes:
        """Everything, as bytes: exact, versioned, never pickle."""
        with self._lock:
            return states.seal(msgspec.msgpack.encode(self._saved()))

    def _saved(self) -> Saved:
        policy, rows = on_paper(self.policy), self._rows
        return Saved(
            policy=policy.policy,
            parameters=policy.parameters,
            tag=code_tag(*kinds([self.policy])),
            problem=list(self.problem),
            arms=self._arms,
            numbers=self._numbers,
            next_number=self._next_number,
            seed=self.seed,
            t=self.t,
            pending=[(t, number, propensity) for t, (number, propensity, _) in self._pending.items()],
            max_pending=self.max_pending,
            counters={"forgotten": self.forgotten, "ignored": self.ignored},
            state=states.pack(self._state),
            own=None if rows is None or rows.own is None else packed("own", rows.own),
            given=rows.given if rows else 0,
            context=rows.context if rows else 0,
            rows=packed("rows", np.array([row for *_, row in self._pending.values()]))
            if rows and self._pending
            else None,
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
        chosen, problem = from_paper(saved, policy), Problem(*saved.problem)  # type: ignore[arg-type]
        rows = None
        if problem.dim:
            own = None if saved.own is None else unpacked(saved.own, (len(saved.arms), None))
            rows = Rows(saved.arms, own, saved.given, saved.context, reach_of(chosen))
        if (rows is not None and rows.dim != problem.dim) or len(saved.arms) != len(saved.numbers):
            raise StateError("the saved arms do not fit the saved problem")
        agent = cls.__new__(cls)
        agent._set_up(chosen, problem, list(saved.arms), rows, saved.seed, saved.max_pending)
        agent._bind(problem, list(saved.arms), saved.numbers, rows, states.unpack(saved.state, agent._state))
        agent.t, agent._next_number = saved.t, saved.next_number
        agent._pending = agent._waiting(saved)
        agent.forgotten, agent.ignored = saved.counters["forgotten"], saved.counters["ignored"]
        if saved.tag != code_tag(*kinds([chosen])):
            warnings.warn(f"{saved.policy} has changed since this agent was saved: choices may differ", stacklevel=2)
        return agent

    def _waiting(self, saved: Saved) -> dict[int, Pending]:
        """The pending decisions of a saved agent; what they hold must fit this one, for kernels trust it."""
        kept: Any = [()] * len(saved.pending)
        if self._rows is not None and saved.pending:
            if saved.rows is None:
                raise StateError("the saved decisions have lost their rows of features")
            kept = unpacked(saved.rows, (len(saved.pending), self._rows.kept_width))
        pending: dict[int, Pending] = {}
        for (t, chosen, propensity), row in zip(saved.pending, kept, strict=True):
            if (len(chosen) if isinstance(chosen, list) else 0) != self.problem.slate:
                raise StateError(f"the saved decision {t} does not fit a slate of {self.problem.slate}")
            pending[t] = tuple(chosen) if isinstance(chosen, list) else chosen, propensity, row
        return pending


def _keeps_arms(state: Any) -> bool:
    """Whether a state remembers anything by arm."""
    return len(list(states.arrays(state))) > len(list(states.arrays(state, but=(Scratch, PerArm, ArmIds))))


def _rows(policy: Any, names: list[Arm], arms: Any, features: int | None, context: int | None) -> Rows | None:
    """Where the rows of features come from; None for a policy that looks at none."""
    said = [
        what
        for what, given in {
            "arms with features": isinstance(arms, Mapping) or None,
            f"features={features}": features,
            f"context={context}": context,
        }.items()
        if given is not None
    ]
    name, looks = type(policy).__name__, family_of(policy) == "features"
    if said and not looks:
        raise ParameterError(f"{name} looks at no features: leave out {' and '.join(said)}")
    if not looks:
        return None
    if not said:
        raise ParameterError(f"{name} chooses by features: give arms with their rows, features= or context=")
    width = 0 if features is None else whole("features", features, high=10**5)
    length = 0 if context is None else whole("context", context, high=10**5)
    own = None
    if isinstance(arms, Mapping):
        if width:
            raise ParameterError(f"features={width} is for rows that come with decisions: these arms brought theirs")
        own = Rows.brought(arms)
    return Rows(names, own, width, length, reach_of(policy))


def _wordless(policy: Any) -> Any:
    """The policy as kernels are given it: they read no words, and each word handed over would leave bytes behind."""
    inner = {name: _wordless(value) for name, value in policy._asdict().items() if hasattr(value, "_fields")}
    return policy._replace(**inner, **{name: 0 for name, value in policy._asdict().items() if isinstance(value, str)})


def _names(n_arms: int | None, arms: Iterable[Arm] | None, *, needed: bool) -> list[Arm]:
    if n_arms is None and arms is None and not needed:
        return []
    if (n_arms is None) == (arms is None):
        raise ParameterError("give either n_arms or arms, a list of names; or features, where rows come with decisions")
    if isinstance(arms, str):
        raise ParameterError(f"arms={arms!r} is one string: give a list of names")
    names = [*range(whole("n_arms", n_arms, high=10**6))] if arms is None else [_plain_name(name) for name in arms]
    if not names:
        raise ParameterError("arms is empty: an agent needs at least one")
    twice = [name for name, times in Counter(names).items() if times > 1]
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
