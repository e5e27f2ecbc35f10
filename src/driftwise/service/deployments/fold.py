"""Fold a deployment from its journal: events in order, from the nearest snapshot or from the origin.

The origin is the first event, or a state that has taken the place of events that were dropped. An event that cannot be
handled raises `DamagedError` with its number.
"""

import warnings
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from driftwise.agent import Agent
from driftwise.agent.serialization import decode_agent
from driftwise.agent.successor import successor_of
from driftwise.core.serialization import unseal
from driftwise.errors import DriftwiseError, StateError
from driftwise.service.deployments import spec
from driftwise.service.deployments.deployment import FORMAT, DecisionNote, Deployment, DeploymentSnapshot, tag_of
from driftwise.service.deployments.replay_progress import OnReplayed
from driftwise.service.deployments.spec import POLICY
from driftwise.service.deployments.stats import state as stats_state
from driftwise.service.deployments.stats.collector import StatsCollector
from driftwise.service.http.schemas.requests import DeploymentSpec
from driftwise.service.store.events import CHANGED, body_of
from driftwise.service.store.journal import DamagedError, Event, Journal, JournalError, Origin, Snapshot

REPORT_EVERY = 1000  # events
NOT_DAMAGE = (JournalError, OSError, MemoryError)  # errors that the journal is not to blame for
REMEDY = (
    ": change its policy with allow_partial_replay, or let the same one begin anew there with "
    "`driftwise store repair --begin-anew {} STORE`"
)
_SNAPSHOT = msgspec.msgpack.Decoder(DeploymentSnapshot)
msgspec.msgpack.Decoder(DecisionNote)  # so that msgspec knows the type before several threads need it


def ignore_progress(n_events: int) -> None:
    """Nobody wants to know how far a replay is."""


class EventsDroppedError(DriftwiseError):
    """A replay needs events that were dropped, by a retention or because personal data were erased."""


def fold(
    journal: Journal,
    stream: int,
    initial: DeploymentSpec,
    *,
    upto: int | None = None,
    cached: bool = True,
    policy: dict[str, Any] | None = None,
    progress: OnReplayed = ignore_progress,
) -> Deployment:
    """The deployment after event `upto`, or after all of them: from the nearest snapshot, or from the origin.

    `initial` is what it was created with. A later policy replayed the whole journal, so that from the start
    only the last policy matters; or the next one, `policy`. After an origin, one that is not its own begins there.
    """
    snapshot = journal.latest(stream, upto) if cached and policy is None else None
    cached_fold = restore(snapshot) if snapshot is not None else None
    if cached_fold is not None and replay_tail(cached_fold, journal, upto, progress):
        return cached_fold
    origin = journal.origin(stream)
    if origin is not None and upto is not None and upto < origin.number:
        raise EventsDroppedError(f"its events up to {origin.number} were dropped, and cannot be replayed")
    first = -1 if origin is None else origin.number
    last = last_policy(journal, stream, first, upto) | (policy or {})
    start = _start(stream, initial, last) if origin is None else begin(origin, last)
    return replay(start, journal.read(stream, first, upto), progress)


def _start(stream: int, initial: DeploymentSpec, policy: dict[str, Any]) -> Deployment:
    """A new deployment with this policy."""
    try:
        return Deployment(stream, spec.with_changes(initial, policy))
    except NOT_DAMAGE:
        raise
    except Exception as error:
        raise DamagedError(f"it cannot be created from its specification ({_short(error)})") from error


def replay_tail(
    live: Deployment, journal: Journal, upto: int | None = None, progress: OnReplayed = ignore_progress
) -> bool:
    """Replay what follows a snapshot; False, and nothing done, where a change to another policy is in it."""
    tail = list(journal.read(live.stream, live.number - 1, upto))
    if any(each.kind == CHANGED and body_of(each).policy for each in tail):
        return False
    replay(live, tail, progress)
    return True


def replay(deployment: Deployment, events: Iterable[Event], progress: OnReplayed = ignore_progress) -> Deployment:
    """Handle events in order."""
    for count, event in enumerate(events):
        if count % REPORT_EVERY == 0:
            progress(count)
        try:
            deployment.apply(event)
        except NOT_DAMAGE:
            raise
        except Exception as error:
            why = f"event {event.number} cannot be replayed ({_short(error)})"
            raise DamagedError(why, event.number) from error
    return deployment


def replay_length(journal: Journal, stream: int, *, upto: int | None, cached: bool) -> int:
    """How many events a `fold` replays, as far as its snapshot is usable."""
    last = journal.last(stream) if upto is None else upto
    snapshot = journal.latest(stream, upto) if cached else None
    if snapshot is not None and is_usable(snapshot):
        return last - snapshot.number
    origin = journal.origin(stream)
    return last - (-1 if origin is None else origin.number)


def catch_up(deployment: Deployment, journal: Journal) -> Deployment:
    """Handle the events that came since a replay into another policy began; what it cannot learn from is refused."""
    try:
        return replay(deployment, journal.read(deployment.stream, deployment.number - 1))
    except DamagedError as error:
        if isinstance(error.__cause__, DriftwiseError) and not isinstance(error.__cause__, JournalError):
            raise error.__cause__ from None
        raise


def restore(snapshot: Snapshot, *, of_any_code: bool = False) -> Deployment | None:
    """The deployment of a snapshot; None when the snapshot cannot be used.

    Other code may have taken it, or it may be damaged: it is only a cache. With `of_any_code` it is enough that the
    state fits.
    """
    try:
        body, decoded = _decode(snapshot.body)
        if not of_any_code and not _is_ours(body, decoded):
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _restore(snapshot.stream, snapshot.number, body, decoded)
    except Exception:
        return None


def is_usable(snapshot: Snapshot) -> bool:
    """Whether a snapshot was taken by this code."""
    try:
        return _is_ours(*_decode(snapshot.body))
    except Exception:
        return False


def _is_ours(body: DeploymentSnapshot, decoded: DeploymentSpec) -> bool:
    return body.tag == tag_of(spec.policy_of(decoded))


def begin(origin: Origin, policy: dict[str, Any] | None = None) -> Deployment:
    """The deployment of an origin, which is no cache: other code takes it over, if the state fits.

    Another `policy` begins there, with nothing learned.
    """
    remedy = ""
    try:
        body, decoded = _decode(origin.body)
        remedy = "" if policy else REMEDY.format(decoded.name)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if policy:
                return begin_anew(origin, body, spec.with_changes(decoded, policy))
            return _restore(origin.stream, origin.number, body, decoded)
    except NOT_DAMAGE:
        raise
    except Exception as error:
        why = f"the state after event {origin.number}, its origin, cannot be restored ({_short(error)}){remedy}"
        raise DamagedError(why, origin.number) from error


def begin_anew(origin: Origin, body: DeploymentSnapshot, changed: DeploymentSpec) -> Deployment:
    """The deployment at an origin with the policy of a changed specification, which has learned nothing.

    All that does not depend on a policy is there: the problem and its arms, budgets, the arms that units keep,
    statistics, and pending decisions, whose outcomes count when they come. What the former policy has learned is not
    read: it may be of other code.
    """
    parts = decode_agent(body.agent, None, DecisionNote)
    fresh = Deployment(origin.stream, changed)  # refuses a policy that could not decide
    tick, rounds = spec.tick_of(changed), None
    if tick:
        notes: list[Any] = [note for *_, note in parts.pending.values()]
        rounds = rounds_by_time([*(note.at for note in notes), body.at], tick, fresh.leap)
    agent = successor_of(parts, fresh.agent.policy, propensity_samples=changed.propensity_samples, rounds=rounds)
    live = Deployment(origin.stream, changed, at=body.at, agent=agent)
    live.origin = (agent.t, body.at) if tick else (0, 0)
    return _filled(live, origin.number, body)


def rounds_by_time(times: Sequence[int], tick: int, leap: int) -> list[int]:
    """The rounds of decisions at these times, where a round takes `tick`; more than `leap` rounds are like so many.

    >>> rounds_by_time([100, 101, 125, 1000], tick=10, leap=5)
    [0, 1, 2, 9]
    """
    rounds: list[int] = []
    (t, start), ahead = (0, times[0]), 0
    for at in times:
        now = min(max(ahead, t + (at - start) // tick), ahead + leap + 1)
        if now - ahead > leap:
            t, start = now, at
        rounds.append(now)
        ahead = now + 1
    return rounds


def _decode(content: bytes) -> tuple[DeploymentSnapshot, DeploymentSpec]:
    body = _SNAPSHOT.decode(unseal(content))
    if body.format != FORMAT:
        raise StateError(f"it has format {body.format}; this version of driftwise reads format {FORMAT}")
    return body, spec.decode(body.spec)


def _restore(stream: int, number: int, body: DeploymentSnapshot, decoded: DeploymentSpec) -> Deployment:
    live = Deployment(stream, decoded, at=body.at, agent=Agent.loads(body.agent, note=DecisionNote))
    live.origin = body.origin
    return _filled(live, number, body)


def _filled(live: Deployment, number: int, body: DeploymentSnapshot) -> Deployment:
    """With what a snapshot has beside its agent."""
    live.number = live.saved = number + 1
    live.request, live.policy_since = body.request, body.policy_since
    live.units = OrderedDict((unit, (action, propensity)) for unit, action, propensity in body.units)
    problem = live.agent.problem
    live.stats = StatsCollector(problem.low, problem.width, stats_state.decode(body.stats))
    return live


def spec_of(origin: Origin) -> DeploymentSpec:
    """The specification in force at an origin."""
    return _decode(origin.body)[1]


def last_policy(journal: Journal, stream: int, after: int, upto: int | None = None) -> dict[str, Any]:
    """The policy, parameters and window of the last change to another policy in these events; empty without one."""
    last: dict[str, Any] = {}
    for event in journal.read_kind(stream, CHANGED, after, upto):
        body = body_of(event)
        if body.policy:
            last |= {name: value for name, value in body.changes.items() if name in POLICY}
    return last


def _short(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip()[:200]}".rstrip(": ")
