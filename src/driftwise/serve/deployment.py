"""A deployment is the fold of its events: an agent, the decisions that wait for outcomes, and who is held to which arm.

What happens live and what is replayed go through the same code: live, `decide` and `learn` do it and return the event
that says so; in a replay (`fold`), `apply` is given the event and does it again. A replayed decision takes the action
from the journal, so that the same journal can be replayed into another policy: it learns from what was done, not from
what it would have done.
"""

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, NamedTuple

import msgspec

from driftwise.agent import Agent
from driftwise.core.state import seal
from driftwise.core.tag import code_tag
from driftwise.errors import BudgetError, ParameterError
from driftwise.serve import events as kinds
from driftwise.serve import notes as monitors
from driftwise.serve import settings as papers
from driftwise.serve.clock import SECOND_US, STEP_S, Leaps
from driftwise.serve.events import ArmAdded, ArmRetired, Body, Cancelled, Changed, Decided, Learned
from driftwise.serve.journal import NO_REF, DamagedError, Event, Snapshot
from driftwise.serve.monitor import Monitor
from driftwise.serve.notes import Notes
from driftwise.serve.settings import POLICY, UNITS
from driftwise.serve.wire import Settings

FORMAT = 1
NO_LEAPS = Leaps()


class Waiting(NamedTuple):
    """A decision whose outcome has not come: its round, when it was made, and what was chosen."""

    t: int
    at: int
    action: Any


class Paper(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A deployment as data."""

    format: int
    tag: str
    settings: bytes
    at: int
    origin: tuple[int, int]
    agent: bytes
    waiting: list[tuple[int, int, int, Any]]
    units: list[tuple[str, Any, float | None]]
    notes: bytes


class Deployment:
    """The fold of a stream. `number` is that of the event to come."""

    def __init__(self, stream: int, settings: Settings, *, at: int = 0, agent: Agent | None = None) -> None:
        self.stream, self.settings, self.at = stream, settings, at
        self.agent = papers.agent_of(settings) if agent is None else agent
        self.number = 0
        self.ahead = 0  # of the service's time, where its events are
        self.saved = 0  # events that the snapshot it was restored from held
        self.waiting: dict[int, Waiting] = {}
        self.units: OrderedDict[str, tuple[Any, float | None]] = OrderedDict()
        problem = self.agent.problem
        self.moving = problem.family == "restless"  # the arms do, on their own
        self.monitor = Monitor(problem.low, problem.width, _blank(settings))
        self.origin = 0, 0  # a round, and when it was: where the clock of the window stands
        self._tick = papers.tick_of(settings)
        self._default = papers.default_of(settings, self.agent)

    # ---- time ----

    def time(self, now: int) -> int:
        """The time here when it is `now` in the service: it never goes back."""
        return max(now + self.ahead, self.at)

    def go_on_from(self, moment: int, now: int) -> None:
        """Go on from a moment when it is `now` in the service: where that is behind, ahead of it at the same pace.

        To stand still until the clock has come so far would stop reward windows, and windows in seconds.
        """
        self.ahead = moment - now if moment - now > STEP_S * SECOND_US else 0

    # ---- what happens live ----

    def decide(
        self, asked: dict[str, Any], unit: str | None, now: int, done: tuple[Any, float | None] | None = None
    ) -> tuple[Event, Decided]:
        """Choose, or take what was `done` already; the event says what.

        A unit that keeps its arm gets nothing while the arm cannot be paid for.
        """
        held = done if done is not None else self._held(unit)
        chosen = None if held is None else (held[0], math.nan if held[1] is None else held[1])
        at = self.time(now)
        action, propensity = self._choose(asked, at, chosen)
        body = Decided(action, propensity, asked, unit, held is not None)
        return self._happened(body, "decided", at), body

    def learn(self, ref: int, told: dict[str, Any], now: int, *, defaulted: bool = False) -> tuple[Event, Learned]:
        """Learn what came of a waiting decision; the event says what became of it."""
        status, worth = self._teach(ref, told)
        body = Learned(told, status, defaulted)
        return self._happened(body, "learned", self.time(now), ref, worth), body

    def cancel(self, ref: int, now: int) -> Event:
        """Call a waiting decision off."""
        self.agent.cancel(self.waiting[ref].t)
        return self._happened(Cancelled(), "cancelled", self.time(now), ref)

    def add_arm(self, arm: ArmAdded, now: int) -> Event:
        """One more arm."""
        self._add_arm(arm)
        return self._happened(arm, "arm added", self.time(now))

    def retire_arm(self, name: str | int, now: int) -> Event:
        """One arm less."""
        self.agent.retire_arm(name)
        return self._happened(ArmRetired(name), "arm retired", self.time(now))

    def change(self, changes: dict[str, Any], now: int) -> Event:
        """Other settings, where no replay is needed."""
        self._change(changes)
        return self._happened(Changed(changes), "changed", self.time(now))

    def change_policy(self, changes: dict[str, Any], now: int) -> Event:
        """The journal was replayed into another policy: say so, and change the rest."""
        self._change({name: value for name, value in changes.items() if name not in POLICY})
        return self._happened(Changed(changes, True), "changed", self.time(now))

    def overdue(self, now: int, leaps: Leaps = NO_LEAPS) -> list[int]:
        """The decisions whose reward window has passed, oldest first; time that the clock leapt over did not."""
        window = self.settings.reward_window
        if window is None:
            return []
        before = leaps.back(self.time(now), int(SECOND_US * window))
        found = []
        for ref, waiting in self.waiting.items():
            if waiting.at > before:
                break
            found.append(ref)
        return found

    def default(self, ref: int, now: int) -> tuple[Event, Learned]:
        """Record the default outcome of a decision whose window has passed."""
        return self.learn(ref, self._default, now, defaulted=True)

    # ---- what is replayed ----

    def apply(self, event: Event) -> None:
        """Do again what an event says was done."""
        if event.number != self.number:
            raise DamagedError(f"it has lost event {self.number}: event {event.number} follows", self.number)
        body, worth = kinds.body_of(event), None
        if isinstance(body, Decided):
            self._choose(body.asked, event.at, (body.action, math.nan if body.propensity is None else body.propensity))
        elif isinstance(body, Learned):
            _, worth = self._teach(event.ref, body.told)
        elif isinstance(body, Cancelled):
            self.agent.cancel(self.waiting[event.ref].t)
        elif isinstance(body, ArmAdded):
            self._add_arm(body)
        elif isinstance(body, ArmRetired):
            self.agent.retire_arm(body.name)
        elif isinstance(body, Changed):
            self._change({name: value for name, value in body.changes.items() if name not in POLICY})
        self._take_note(body, event, worth)

    # ---- both ----

    def _happened(self, body: Body, kind: str, at: int, ref: int = NO_REF, worth: float | None = None) -> Event:
        event = Event(self.stream, self.number, at, kind, kinds.encode(body), ref)
        self._take_note(body, event, worth)
        return event

    def _take_note(self, body: Body, event: Event, worth: float | None) -> None:
        """What follows from an event beside what the agent did."""
        at = self.at = event.at
        self.number = event.number + 1
        if isinstance(body, Decided):
            if body.action is not None:
                self.waiting[event.number] = Waiting(self.agent.t - 1, at, body.action)
            if body.unit is not None:
                self._remember(body.unit, body.action, body.propensity)
            self.monitor.decided(at, body.action, body.propensity)
            if self.moving:
                told = body.asked["states"]
                self.monitor.seen(at, told.values() if isinstance(told, dict) else told)
        elif isinstance(body, Learned):
            waiting = self.waiting.pop(event.ref)
            status, defaulted = body.status, body.defaulted
            if self.moving:
                self.monitor.moved(at, waiting.at, worth, status=status, defaulted=defaulted)
            else:
                self.monitor.learned(at, waiting.at, waiting.action, body.told, status=status, defaulted=defaulted)
            self.monitor.alarmed(at, self.agent.alarms)
        elif isinstance(body, Cancelled):
            del self.waiting[event.ref]
        if self.settings.budgets is not None:
            horizon, left = self.settings.horizon, self.agent.remaining
            self.monitor.spent(at, max(0.0, 1.0 - self.agent.t / horizon), left, self.settings.budgets)

    def _choose(self, asked: dict[str, Any], at: int, held: tuple[Any, float] | None) -> tuple[Any, float | None]:
        agent = self.agent
        if self._tick:
            before, t = agent.t, self._round(at)
            agent.t = t
            try:
                decision = agent.decide(**asked, held=held)
            except BaseException:
                agent.t = before
                raise
            self.origin = self.origin if t - before <= self._leap else (t, at)
        else:
            decision = agent.decide(**asked, held=held)
        action = list(decision.action) if isinstance(decision.action, tuple) else decision.action
        return action, None if math.isnan(decision.propensity) else decision.propensity

    @property
    def _leap(self) -> int:
        """More rounds than this without a decision are as good as this many: nothing is left in the window."""
        return 2 * int(self.agent.policy.window) + 2

    def _round(self, at: int) -> int:
        """The round the clock stands at. Where decisions come faster than it ticks, they run ahead of it."""
        t, began = self.origin
        if not self.number and not self.agent.t:
            self.origin = 0, at
            return 0
        return min(max(self.agent.t, t + (at - began) // self._tick), self.agent.t + self._leap + 1)

    def clock_to(self, at: int) -> None:
        """Let the clock of the window come to a moment, as a decision then would."""
        if self._tick:
            self.agent.t = self._round(at)

    def _teach(self, ref: int, told: dict[str, Any]) -> tuple[str, float | None]:
        """Learn an outcome: `learned`, or `stale` when it came too late to count, or `ignored` with its arm gone.

        And what it is worth, where arms move on their own.
        """
        agent, t = self.agent, self.waiting[ref].t
        stale, ignored = agent.stale, agent.ignored
        worth = agent.worth(t, **told) if self.moving else None
        agent.learn(t, **told)
        return "stale" if agent.stale > stale else "ignored" if agent.ignored > ignored else "learned", worth

    def _add_arm(self, arm: ArmAdded) -> None:
        self.agent.add_arm(arm.name, arm.features, arm_class=arm.arm_class, activation_cost=arm.activation_cost)

    def _change(self, changes: dict[str, Any]) -> None:
        settings = papers.changed(self.settings, changes)
        default = papers.default_of(settings, self.agent)
        problem = {name: changes[name] for name in ("budgets", "horizon", "activate") if name in changes}
        if "budgets" in problem:
            if self.settings.budgets is None:
                raise BudgetError("budgets cannot be changed: this deployment has no budgets")
            settings = papers.changed(settings, {"budgets": self.settings.budgets | problem["budgets"]})
        if "activate" in problem and not self.moving:
            raise ParameterError("activate cannot be changed: the arms of this deployment do not move on their own")
        if problem:
            self.agent.change(**problem)
        self.settings, self._default = settings, default

    # ---- units that keep their arm ----

    def _held(self, unit: str | None) -> tuple[Any, float | None] | None:
        if unit is None:
            return None
        held = self.units.get(unit)
        if held is None:
            return None
        if not self.agent.can_pay:
            return None, 1.0
        arms = self.agent.arms
        items = held[0] if isinstance(held[0], list) else [held[0]]
        return held if all(item in arms for item in items) else None

    def _remember(self, unit: str, action: Any, propensity: float | None) -> None:
        """Hold a unit to what it got; of too many units the one not seen for longest is forgotten."""
        if action is None:
            return
        self.units[unit] = action, propensity
        self.units.move_to_end(unit)
        if len(self.units) > UNITS:
            self.units.popitem(last=False)

    # ---- on paper ----

    def snapshot(self) -> Snapshot:
        """The fold so far, as a cache of itself."""
        return self.draft()()

    def draft(self) -> Callable[[], Snapshot]:
        """Take a copy, which is quick; what this returns makes a snapshot of it, later and in any thread."""
        stream, number, at, origin = self.stream, self.number - 1, self.at, self.origin
        agent, waiting, units = self.agent.draft(), self.waiting.copy(), list(self.units.items())
        tag, settings = tag_of(self.agent.policy), papers.on_paper(self.settings)
        notes = monitors.on_paper(self.monitor.notes)

        def write() -> Snapshot:
            waits = [(ref, *each) for ref, each in waiting.items()]
            held = [(unit, *each) for unit, each in units]
            paper = Paper(FORMAT, tag, settings, at, origin, agent(), waits, held, notes)
            return Snapshot(stream, number, seal(msgspec.msgpack.encode(paper)))

        return write


def _blank(settings: Settings) -> Notes:
    """Notes with nothing in them, for a deployment with these settings."""
    named = settings.states if settings.states is not None else []
    states = list(map(str, range(named))) if isinstance(named, int) else list(named)
    return Notes(resources=list(settings.budgets or ()), states=states)


def tag_of(policy: Any) -> str:
    """Which code a snapshot depends on: the policy's, the agent's, and this."""
    return code_tag(type(policy), *_inside(policy), Agent, Deployment)


def _inside(policy: Any) -> list[type]:
    inner = getattr(policy, "policy", None)
    return [] if inner is None else [type(inner), *_inside(inner)]
