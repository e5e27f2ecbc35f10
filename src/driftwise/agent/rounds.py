"""The machinery of an agent: rounds that are decided and learned, pending decisions, and a state that follows changes.

`Agent` is what programs use; here is how a round is played with compiled code, and undone where it fails half way.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from threading import Lock
from typing import Any

import numpy as np

from driftwise.agent.bound import Bound
from driftwise.agent.pending import Pending
from driftwise.agent.rollback import Rewind, Step
from driftwise.agent.views import add_views
from driftwise.core import serialization as states
from driftwise.core.adapter import AnyAdapter
from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.loop import KNOWN, OVER, UNDER_WAY, choose_once, decide_once, follow_once, share_of
from driftwise.core.pinned import pin
from driftwise.core.protocols import Policy
from driftwise.core.seeding import at, key
from driftwise.core.types import Decision, Problem, State
from driftwise.core.validation import without_text
from driftwise.core.verbs import advance, pend
from driftwise.errors import ArmError, DecisionError, ParameterError, StateError


class Rounds:
    """A policy with its state, its adapter and its pending decisions."""

    policy: Any  # a Policy, whose parameters are read by those who know its class
    _state: Any  # its State, likewise

    def _set_up(self, policy: Policy, adapter: AnyAdapter, seed: int, max_pending: int, samples: int) -> None:
        if samples and not adapter.counts:
            raise ParameterError(
                f"propensity_samples={samples} counts how often an arm is chosen: this agent does not choose one arm"
            )
        add_views(type(self))
        self.seed, self.max_pending, self.propensity_samples = seed, max_pending, samples
        self.t = 0
        self.forgotten = self.ignored = 0
        self._pending: dict[int, Pending] = {}
        self._oldest = 0  # no pending decision is older
        self._lock = Lock()
        self._rng = key(seed, "agent")
        state = policy.init(adapter.problem)
        self._bound = Bound(policy, state)
        self._bind(policy, adapter, state)

    def _bind(self, policy: Policy, adapter: AnyAdapter, state: State) -> None:
        """Take a policy, an adapter and a state, and the compiled halves of a round for their types."""
        states.check_state(state, policy)
        plain, example, bound = without_text(policy), adapter.examples, self._bound
        pinned = pin(state)
        adapter.attach(bound, plain, pinned)
        choice = plain, pinned, 0, example.context, self._rng
        decision = plain, pinned, 0, example.index, 0.0, example.row, self._rng
        samples, quick = self.propensity_samples, adapter.quick
        joint = adapter.bare and not samples  # nothing is asked between the choice and its pending
        pends = pend.find(type(policy), type(state)) is not pend.default
        decide = bound(decide_once, *choice, 0, holds=quick) if joint else bound(choose_once, *choice, holds=quick)
        follow = bound(follow_once, *decision, example.outcome, 0, KNOWN, holds=quick)
        count = bound(share_of, *choice, 0, samples, holds=True) if samples else None
        if adapter.bare and count is not None:
            decide = _decide_and_count(decide, count, samples, (follow, example.outcome) if pends else None)
        stored = example if adapter.repeats else example._replace(context=())  # of an example, what a step holds
        past = None if adapter.bare else Rewind(plain, pinned, tuple(stored))
        stale, alarms = _counters(state, "stale"), _counters(state, "alarms")
        read_stale = _reader(stale)
        # From here on nothing can fail, so that an agent changes as a whole or not at all.
        self.policy, self._plain, self._adapter, self._state, self._past = policy, plain, adapter, state, past
        self._pinned, self._address, self._advance = pinned, pinned.address, partial(_advance, state)
        self._bare, self._context, self._plain_rewards = adapter.bare, adapter.context, adapter.plain_rewards
        self._stale, self._read_stale, self._alarms = stale, read_stale, alarms
        self._decide, self._follow, self._count, self._pends = decide, follow, count, pends

    # ---- many calls as one ----

    @contextmanager
    def atomic(self) -> Iterator[None]:
        """Do all calls of a block, or none of them where it fails. Nobody else may use the agent meanwhile.

        >>> import driftwise as dw
        >>> agent = dw.Agent(dw.SlidingUCB(window=10), ["a", "b"])
        >>> with agent.atomic():
        ...     for reward in (1.0, 7.0):
        ...         _ = agent.learn(agent.decide(), reward=reward)
        Traceback (most recent call last):
        driftwise.errors.RewardError: reward=7 is outside [0, 1]: declare another range with reward_range
        >>> agent.t
        0
        """
        with self._lock:
            policy, adapter, state = self.policy, self._adapter, states.clone(self._state)
            checkpoint, pending, oldest = adapter.checkpoint(), self._pending.copy(), self._oldest
            counters = self.t, self.forgotten, self.ignored
        try:
            yield
        except BaseException:
            with self._lock:
                adapter.rollback(checkpoint)
                self._bind(policy, adapter, state)
                self._pending.clear()  # the table itself stays: `notes` is a view of it
                self._pending.update(pending)
                self._oldest = oldest
                self.t, self.forgotten, self.ignored = counters
            raise

    # ---- pending decisions ----

    def _waiting_for(self, decision: Decision | int) -> tuple[int, Pending]:
        """A decision that is pending, by itself or its id."""
        by_round = isinstance(decision, Decision)
        id: Any = decision[0] if by_round else decision  # type: ignore[index]  # its round; quicker than by name
        if type(id) is not int and isinstance(id, np.integer):
            id = int(id)
        pending = self._pending.get(id) if type(id) is int else None
        if pending is None or (by_round and pending[0] != id):
            raise DecisionError(self._why_unknown(id))
        return id, pending

    def _new_id(self, id: int) -> int:
        """The id of a decision that the caller numbers: ids grow, as rounds do."""
        last = next(reversed(self._pending), -1)
        if type(id) is not int or id <= last:
            raise DecisionError(f"id={id!r} is not a whole number above that of the last pending decision, {last}")
        return id

    def _resume(self, id: int, pending: Pending) -> None:
        """A decision that another policy has made pends for this one, from its round on."""
        t, choice, propensity, row, _ = pending
        place = self._adapter.locate(choice, row) if self._pends else None
        if place is not None:
            clock: Step = self._advance, (t, int(at(self._rng, t)))
            pends = t, place[0], propensity, place[1], self._rng, self._adapter.examples.outcome, t, UNDER_WAY
            steps = [clock, (self._follow, pends)]
            for kernel, arguments in steps:
                kernel(self._plain, self._address, *arguments)
            if self._past is not None:
                self._past.note(*steps)
        self._pending[id] = pending

    def _settle(self, id: int) -> list[Step]:
        """A decision of which nothing will ever be known pends no longer for the policy; the steps it took."""
        step = self._ends(id)
        if step is None:
            return []
        self._follow(self._plain, self._address, *step)
        return [(self._follow, step)]

    def _ends(self, id: int) -> tuple[Any, ...] | None:
        """What tells the policy that a decision pends no longer, though nothing came of it; None where nothing must."""
        t, choice, propensity, row, _ = self._pending[id]
        place = self._adapter.locate(choice, row) if self._pends else None
        if place is None:
            return None
        return t, place[0], propensity, place[1], self._rng, self._adapter.examples.outcome, self.t - 1, OVER

    def _no_such_arm(self, index: object) -> ArmError:
        names = self._adapter.registry.names
        return ArmError(f"{self.policy}: select returned {index!r}, not the number of an arm, 0 to {len(names) - 1}")

    def _find_oldest(self) -> None:
        """Find the oldest pending decision. Ids only grow, so the search never starts over."""
        while self._oldest not in self._pending:
            self._oldest += 1

    def _why_unknown(self, t: object) -> str:
        if isinstance(t, bool) or not isinstance(t, int) or not 0 <= t < self.t:
            return f"decision {t!r} was never made: this agent has made {self.t}, numbered from 0"
        return f"decision {t} has been answered already, or was given up as the oldest of {self.max_pending} pending"

    # ---- rounds in which more than one bare arm is chosen, and more can fail ----

    def _decide_among(
        self, t: int, context: object, outside: tuple[Any, float] | None, id: int, note: object
    ) -> Decision:
        """Choose between rows, slates, points, with budgets or of many arms."""
        adapter, before, full = self._adapter, self._adapter.checkpoint(), len(self._pending) >= self.max_pending
        if outside is not None:
            adapter.check_override(outside[0], context)
        try:
            index, propensity, own = self._decide(self._plain, self._address, t, context, self._rng)
            if outside is not None:
                index, propensity = outside
            elif self._count is not None and propensity != propensity:
                propensity = self._count(self._plain, self._address, t, context, own, index, self.propensity_samples)
            over: list[Step] = []
            if full:
                oldest, choice, *_ = self._pending[self._oldest]
                adapter.settle(oldest, choice, None)
                over = self._settle(self._oldest)
            index, propensity = adapter.refine(index, propensity, context, t, np.uint64(own), outside is not None)
            decision, pending = self._publish(t, index, propensity, context, own, over)
        except BaseException as error:
            raise self._undone(before, error) from None
        self.t = t + 1
        if full:
            del self._pending[self._oldest]
            self.forgotten += 1
        if pending is not None:
            self._pending[id] = t, *pending, note
        return decision

    def _publish(
        self, t: int, index: object, propensity: float, context: object, own: int, over: list[Step]
    ) -> tuple[Decision, tuple[Any, float, Any] | None]:
        """A decision, and what to keep of it until its outcome comes; None where nothing will.

        `over` are the steps that gave an older decision up.
        """
        adapter = self._adapter
        again: Step = (self._decide, (t, context, self._rng)) if adapter.repeats else (self._advance, (t, own))
        steps = [again, *over]
        if propensity != propensity:
            propensity = math.nan  # the one nan object, so that equal decisions compare equal
        action, choice, row = adapter.publish(index, context)
        decision = Decision(t, action, propensity, () if action is None else adapter.context_of(row), own)
        ends = action is None  # nothing will come of it that is not known
        null = adapter.null_outcome() if ends else None
        if self._pends and (not ends or null is not None):
            where = index.copy() if isinstance(index, np.ndarray) else index  # perhaps room that a policy works in
            pends = t, where, propensity, adapter.expand(row, index), self._rng, adapter.examples.outcome, t, UNDER_WAY
            steps.append((self._follow, pends))
            self._follow(self._plain, self._address, *pends)
        if null is not None:
            steps.append((self._follow, (t, index, propensity, row, self._rng, null, t, KNOWN)))
            self._follow(self._plain, self._address, *steps[-1][1])
        if self._past is not None:
            self._past.note(*steps)
        return decision, None if ends else (choice, propensity, row)

    def _learn_about(self, pending: Pending, value: object) -> bool:
        """Learn what came of a decision that is still known; one that is not is settled all the same."""
        adapter, before, (t, choice, propensity, row, _) = self._adapter, self._adapter.checkpoint(), pending
        place = adapter.locate(choice, row)
        answer = None if place is None else adapter.complete(value, choice, row)
        try:
            adapter.settle(t, choice, value)
            if place is not None:
                step = t, place[0], propensity, place[1], self._rng, answer, self.t - 1, KNOWN
                self._follow(self._plain, self._address, *step)
                if self._past is not None:
                    self._past.note((self._follow, step))
        except BaseException as error:
            raise self._undone(before, error) from None
        return place is not None

    def _undone(self, before: Any, error: BaseException) -> BaseException:
        """Undo what a call had begun when it failed; the error to raise."""
        self._adapter.rollback(before)
        if self._past is not None:
            self._past.back()
        return self._adapter.translate(error)

    # ---- other arms, another problem ----

    def _regroup(self, registry: ArmRegistry, options: Mapping[str, Any]) -> None:
        policy, before = self.policy, self._adapter
        if self.t and hasattr(policy, "settled"):  # what it sizes by the number of arms stays as it is from now on
            policy = policy.settled(self._adapter.problem)
        adapter = before.regrouped(policy, registry, options)
        adapter.name = before.name
        state = policy.init(adapter.problem)
        if self.t:
            old_indices = before.registry.old_indices(registry)
            state = self._moved(state, old_indices, before.columns(old_indices))
        self._bind(policy, adapter, state)

    def _moved(self, fresh: State, old_indices: list[int], columns: list[int] | None) -> State:
        """What has been learned so far, in a state for other arms."""
        try:
            moved: State = states.regroup(self._state, fresh, old_indices, columns)
            return moved
        except StateError:
            raise
        except ValueError:  # an array that should be the same whatever the arms is not
            name = self._adapter.name
            raise ArmError(f"{name} sizes what it remembers by the number of arms: none can come or go") from None

    def _replanned(self, fresh: State, problem: Problem) -> State:
        """What has been learned so far, in a state for a changed problem; nothing where the policy begins anew."""
        if not getattr(self.policy, "begins_anew", _goes_on)(self._adapter.problem, problem):
            return self._moved(fresh, list(range(self._adapter.problem.n_arms)), None)
        for name in ("stale", "alarms"):
            for count, former in zip(_counters(fresh, name), _counters(self._state, name), strict=True):
                count[...] = former
        return fresh


def _advance(state: State, policy: Policy, address: int, t: int, own: int) -> None:
    """Let time come to round `t` again: a step that is taken only where another failed, and not compiled before."""
    advance(policy, state, t, np.uint64(own))


def _goes_on(before: Problem, after: Problem) -> bool:
    """A policy that does not say otherwise keeps what it has learned."""
    return False


def _counters(state: State, name: str) -> list[Any]:
    """The arrays of a state that are called so, wherever in it they are."""
    return [array for path, array in states.arrays(state) if path.split(".")[-1] == name]


def _reader(counters: list[Any]) -> Callable[[], object] | None:
    """A function whose value changes when a counter does; None where there are none.

    It is not written in Python: what has been learned must not be lost to a call that fails after it.
    """
    if len(counters) > 1:
        return partial(b"".join, counters)
    return counters[0].item if counters else None


def _decide_and_count(
    choose: Callable[..., Any], count: Callable[..., float], samples: int, pend: tuple[Callable[..., Any], Any] | None
) -> Callable[..., tuple[int, float, int]]:
    """What `decide_once` does, but a propensity that the policy cannot tell is counted before the decision pends."""

    def decide(policy: Policy, address: int, t: int, context: Any, rng: Any, override: int) -> tuple[int, float, int]:
        index, propensity, own = choose(policy, address, t, context, rng)
        if override >= 0:
            index = override
        elif propensity != propensity:
            propensity = count(policy, address, t, context, own, index, samples)
        if pend is not None:
            follow, outcome = pend
            follow(policy, address, t, index, propensity, context, rng, outcome, t, UNDER_WAY)
        return index, propensity, own

    return decide
