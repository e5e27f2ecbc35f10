"""A deployment is the fold of its events: an agent with its pending decisions, and the arms that units keep.

What an event does is written once, in one handler per type of event (`HANDLERS`). Live, `decide`, `learn` and the
others pass a new event to its handler, which completes it (the action that the policy chose, the status of an outcome),
and return it for the journal. A replay (`fold`) passes the events of the journal to the same handlers (`apply`). A
replayed decision takes the action from the journal, so that the same journal can be replayed into another policy: it
learns from what was done, not from what it would have done.
"""

import itertools
import math
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, cast

import msgspec

from driftwise.agent import Agent
from driftwise.core.fingerprint import code_tag
from driftwise.core.serialization import seal
from driftwise.core.service_hooks import Track
from driftwise.service.deployments import spec as specs
from driftwise.service.deployments.clock import SECOND_US, STEP_S, Leaps
from driftwise.service.deployments.spec import MAX_UNITS, POLICY
from driftwise.service.deployments.stats import state as stats_state
from driftwise.service.deployments.stats.collector import StatsCollector
from driftwise.service.deployments.stats.state import StatsState
from driftwise.service.http.schemas.requests import DeploymentSpec, Override
from driftwise.service.store import events
from driftwise.service.store.events import (
    ArmAdded,
    ArmRetired,
    Body,
    Cancelled,
    Changed,
    Decided,
    Erased,
    JournalGap,
    Learned,
)
from driftwise.service.store.journal import NO_REF, DamagedError, Event, Snapshot

FORMAT = 3
CHOOSE: Any = msgspec.UNSET  # in place of an action: the policy is to choose it
NO_LEAPS = Leaps()
StickyAction = tuple[Any, float | None]  # the last action of a unit, and its propensity


class DecisionNote(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """What the service stores with a pending decision of the agent: its time, and the action as it was answered.

    The agent knows arms by numbers that last, and drops the name of an arm that is retired. Statistics need the name,
    and the `weight` of the decision in an estimate of uniform choice.
    """

    at: int
    action: Any = None
    weight: float | None = None


class DeploymentSnapshot(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """Serialised form of a deployment."""

    format: int
    tag: str
    spec: bytes
    at: int
    origin: tuple[int, int]
    agent: bytes
    request: dict[str, Any]
    units: list[tuple[str, Any, float | None]]
    stats: bytes
    policy_since: int = 0


class Deployment:
    """The fold of a stream. `number` is that of the next event."""

    def __init__(self, stream: int, spec: DeploymentSpec, *, at: int = 0, agent: Agent | None = None) -> None:
        self.stream, self.spec, self.at = stream, spec, at
        self.agent = specs.agent_of(spec) if agent is None else specs.named(spec, agent)
        # The agent's table of pending decisions: the note of each, by the number of its event, oldest first.
        self.pending = cast(Mapping[int, DecisionNote], self.agent.notes)
        self.number = 0
        self.ahead = 0  # microseconds by which its time is ahead of the service's
        self.provisional = False  # whether it decides from a state of other code, see `loading`
        self.saved = 0  # events in the snapshot it was restored from
        self.policy_since = 0  # the event that made the policy in force another than before; 0 where there was none
        self.units: OrderedDict[str, StickyAction] = OrderedDict()
        self.request: dict[str, Any] = {}  # of the latest decision
        self.hooks, problem = specs.hooks_of(spec), self.agent.problem
        stats = _empty_stats(problem.low, self.hooks.tracks(spec.problem))
        self.stats = StatsCollector(problem.low, problem.width, stats)
        self.origin = 0, 0  # a round and its time, from which a window in seconds counts
        self._tick = specs.tick_of(spec)
        self._default = specs.default_of(spec, self.agent)

    # ---- time ----

    def time(self, now: int) -> int:
        """The time of the deployment when it is `now` in the service: it never goes back."""
        return max(now + self.ahead, self.at)

    def go_on_from(self, moment: int, now: int) -> None:
        """Continue from `moment` when it is `now` in the service; ahead of `now`, it stays ahead at the same pace.

        Waiting for the clock would stop reward windows, and windows in seconds.
        """
        self.ahead = moment - now if moment - now > STEP_S * SECOND_US else 0

    # ---- live ----

    def decide(
        self, request: dict[str, Any], unit: str | None, now: int, override: Override | None = None
    ) -> tuple[Event, Decided]:
        """Choose an action, or record an `override`: an action chosen outside, and its propensity."""
        action, propensity, sticky = CHOOSE, None, None
        if override is not None:
            action, propensity = override.action, override.propensity
        elif unit is not None and (sticky := self._sticky_action(unit)) is not None:
            action, propensity = sticky
        body = Decided(action, propensity, request, unit, sticky is not None, override is not None, self.provisional)
        return self._record(body, now), body

    def learn(self, ref: int, outcome: dict[str, Any], now: int, *, defaulted: bool = False) -> tuple[Event, Learned]:
        """Learn the outcome of a pending decision; the status in the event says whether it counts."""
        body = Learned(outcome, defaulted=defaulted)
        return self._record(body, now, ref), body

    def cancel(self, ref: int, now: int) -> Event:
        """Cancel a pending decision."""
        return self._record(Cancelled(), now, ref)

    def add_arm(self, arm: ArmAdded, now: int) -> Event:
        """Add an arm."""
        return self._record(arm, now)

    def retire_arm(self, name: str | int | float, now: int) -> Event:
        """Retire an arm."""
        return self._record(ArmRetired(name), now)

    def change(self, changes: dict[str, Any], now: int, *, policy: bool = False, partial: bool = False) -> Event:
        """Change fields. With `policy`, the journal was replayed into the policy among them before."""
        return self._record(Changed(changes, policy, partial), now)

    def overdue(self, now: int, leaps: Leaps = NO_LEAPS) -> list[int]:
        """The decisions whose reward window has passed, oldest first; time that the clock leapt over did not pass."""
        window = self.spec.reward_window
        if window is None:
            return []
        before = leaps.back(self.time(now), int(SECOND_US * window))
        return [ref for ref, _ in itertools.takewhile(lambda each: each[1].at <= before, self.pending.items())]

    def default(self, ref: int, now: int) -> tuple[Event, Learned]:
        """Record the default outcome of a decision whose window has passed."""
        return self.learn(ref, self._default, now, defaulted=True)

    def _record(self, body: Body, now: int, ref: int = NO_REF) -> Event:
        """Handle an event that happens now; it goes to the journal as the handler completed it."""
        number, at = self.number, self.time(now)
        self._handle(body, at, ref)
        return Event(self.stream, number, at, events.NAMES[type(body)], events.encode(body), ref)

    # ---- replay ----

    def apply(self, event: Event) -> None:
        """Handle an event of the journal."""
        if event.number != self.number:
            raise DamagedError(f"it has lost event {self.number}: event {event.number} follows", self.number)
        self._handle(events.body_of(event), event.at, event.ref)

    # ---- what each event does, live and in a replay: see `HANDLERS` ----

    def _handle(self, body: Body, at: int, ref: int) -> None:
        HANDLERS[type(body)](self, body, at, ref)
        self.at = at
        self.number += 1
        if self.stats.state.tracks:
            self.stats.record(at, self.hooks.at_event(self.agent.adapter, self.agent.t))

    def _on_decided(self, body: Decided, at: int, ref: int) -> None:
        override = None if body.action is CHOOSE else (body.action, _nan_for_none(body.propensity))
        agent, before, note = self.agent, self.agent.t, DecisionNote(at)
        at_round = self._round(at) if self._tick else None
        decision = agent.decide(**body.request, override=override, at=at_round, id=self.number, note=note)
        if at_round is not None and at_round - before > self.leap:
            self.origin = at_round, at
        body.action = list(decision.action) if isinstance(decision.action, tuple) else decision.action
        body.propensity = None if math.isnan(decision.propensity) else decision.propensity
        note.action = body.action
        note.weight = self._weight(body)
        self.request = body.request
        if body.unit is not None:
            self._remember(body.unit, body.action, body.propensity)
        self.stats.add_decision(at, body.action, body.propensity)
        if self.stats.state.tracks:
            self.stats.record(at, self.hooks.at_decision(agent.adapter, agent.t, body.request))

    def _on_erased(self, body: Erased, at: int, ref: int) -> None:
        self._on_decided(body.decided, at, ref)

    def _on_gap(self, body: JournalGap, at: int, ref: int) -> None:
        """Events were damaged and set aside: nothing happens, and their numbers are not used again."""
        self.number = body.upto

    def _on_learned(self, body: Learned, at: int, ref: int) -> None:
        """Learn an outcome: `learned`, or `stale` when it came too late to count, or `ignored` with its arm gone.

        A replay, perhaps into another policy, keeps the status that was answered.
        """
        agent, note, outcome, hooks = self.agent, self.pending[ref], body.outcome, self.hooks
        rewards = hooks.rewards(note.action, outcome)
        earned = hooks.earned(outcome, agent.outcome_of(ref, **outcome)) if rewards is None else None
        status = agent.learn(ref, **outcome)
        body.status = body.status or status
        self.stats.add_outcome(at, note.at, rewards, status=body.status, defaulted=body.defaulted, weight=note.weight)
        if earned is not None:
            self.stats.add_reward(at, earned)
            self.stats.record(at, hooks.at_outcome(earned))
        self.stats.set_alarms(at, agent.alarms)

    def _weight(self, body: Decided) -> float | None:
        """The propensity of uniform choice in units of the decision's own; None for a unit that keeps its arm."""
        share = None if body.sticky else self.hooks.uniform_share(len(self.agent.arms), body.request)
        return None if share is None or not body.propensity else share / body.propensity

    def _on_cancelled(self, body: Cancelled, at: int, ref: int) -> None:
        self.agent.cancel(ref)

    def _on_arm_added(self, arm: ArmAdded, at: int, ref: int) -> None:
        self.agent.add_arm(arm.name, **arm.options)

    def _on_arm_retired(self, body: ArmRetired, at: int, ref: int) -> None:
        self.agent.retire_arm(body.name)

    def _on_changed(self, body: Changed, at: int, ref: int) -> None:
        """Change fields; the policy is that of the last change from the start of a replay on (`fold`)."""
        self._change({name: value for name, value in body.changes.items() if name not in POLICY})
        if body.policy:
            self.policy_since = self.number

    # ---- rounds ----

    @property
    def leap(self) -> int:
        """More rounds than this without a decision are like this many: they empty the window."""
        return 2 * int(self.agent.policy.window) + 2

    def _round(self, at: int) -> int:
        """The round at a time. Where decisions come faster than rounds of the clock, they run ahead of it."""
        t, start = self.origin
        if not self.number and not self.agent.t:
            self.origin = 0, at
            return 0
        return min(max(self.agent.t, t + (at - start) // self._tick), self.agent.t + self.leap + 1)

    def round_at(self, at: int) -> int:
        """The round of a decision at a time."""
        return self._round(at) if self._tick else self.agent.t

    def _change(self, changes: dict[str, Any]) -> None:
        spec = specs.with_changes(self.spec, changes)
        default = specs.default_of(spec, self.agent)
        if "problem" in changes:
            self.agent.change(**changes["problem"])
        self.spec, self._default = spec, default

    # ---- units that keep their arm ----

    def _sticky_action(self, unit: str) -> StickyAction | None:
        """The last action of a unit and its propensity, while all its arms exist; None while it cannot be paid for."""
        last = self.units.get(unit)
        if last is None:
            return None
        if not self.hooks.affords(self.agent.adapter):
            return None, 1.0
        items = last[0] if isinstance(last[0], list) else [last[0]]
        return last if all(item in self.agent.arms for item in items) else None

    def _remember(self, unit: str, action: object, propensity: float | None) -> None:
        """Store the action of a unit; of too many units the least recent is dropped."""
        if action is None:
            return
        self.units[unit] = action, propensity
        self.units.move_to_end(unit)
        if len(self.units) > MAX_UNITS:
            self.units.popitem(last=False)

    # ---- snapshots ----

    def snapshot(self) -> Snapshot:
        """A snapshot of the fold."""
        return self.freeze()()

    def freeze(self) -> Callable[[], Snapshot]:
        """Copy the state, which is fast; the function returned makes the snapshot, later and in any thread."""
        stream, number, at, origin = self.stream, self.number - 1, self.at, self.origin
        agent, units = self.agent.freeze(), list(self.units.items())
        tag, spec = tag_of(self.agent.policy), specs.encode(self.spec)
        request, stats, since = self.request, stats_state.encode(self.stats.state), self.policy_since

        def write() -> Snapshot:
            unit_rows = [(unit, *each) for unit, each in units]
            body = DeploymentSnapshot(FORMAT, tag, spec, at, origin, agent(), request, unit_rows, stats, since)
            return Snapshot(stream, number, seal(msgspec.msgpack.encode(body)))

        return write


Handler = Callable[[Deployment, Any, int, int], None]
HANDLERS: dict[type[Body], Handler] = {
    Decided: Deployment._on_decided,
    Erased: Deployment._on_erased,
    JournalGap: Deployment._on_gap,
    Learned: Deployment._on_learned,
    Cancelled: Deployment._on_cancelled,
    ArmAdded: Deployment._on_arm_added,
    ArmRetired: Deployment._on_arm_retired,
    Changed: Deployment._on_changed,
}


def _nan_for_none(propensity: float | None) -> float:
    return math.nan if propensity is None else propensity


def _empty_stats(low: float, tracks: list[Track]) -> StatsState:
    """The state of the statistics of a new deployment."""
    return stats_state.empty(low, [(track.name, track.join, track.labels) for track in tracks])


def tag_of(policy: object) -> str:
    """A tag of the code that a snapshot depends on: the policy's, the agent's, and this."""
    return code_tag(type(policy), *_inside(policy), Agent, Deployment)


def _inside(policy: object) -> list[type]:
    inner = getattr(policy, "policy", None)
    return [] if inner is None else [type(inner), *_inside(inner)]
