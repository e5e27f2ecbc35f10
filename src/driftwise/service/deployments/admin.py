"""Create, change, pause and retire deployments; create and revoke API keys."""

import asyncio
import functools
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import msgspec
from msgspec import UnsetType

from driftwise.errors import ParameterError
from driftwise.service.deployments import spec
from driftwise.service.deployments.catalogue import RETIRED, RUNNING, DeploymentEntry
from driftwise.service.deployments.clock import utc
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.engine import Engine, wait_for_commit
from driftwise.service.deployments.fold import catch_up
from driftwise.service.deployments.idempotency import NO_KEY, IdempotencyKey, Reply
from driftwise.service.deployments.loading import NEW_POLICY, catch_up_beside, exact_history, fold_beside
from driftwise.service.deployments.queries import deployment_view
from driftwise.service.deployments.shadow_names import check_shadows
from driftwise.service.deployments.spec import POLICY
from driftwise.service.http.access import CREATE_KEY
from driftwise.service.http.api_keys import is_admin, new_key
from driftwise.service.http.errors import (
    BadRequest,
    Conflict,
    Damaged,
    EventsDropped,
    Forbidden,
    LimitReached,
    NotFound,
    NotRunning,
)
from driftwise.service.http.schemas.requests import ChangeRequest, CreateKeyRequest, DeploymentSpec, RetentionSpec
from driftwise.service.http.schemas.responses import ApiKey, DeletionResponse
from driftwise.service.store.events import (
    ApiKeyRevoked,
    ArmAdded,
    Body,
    Created,
    Deleted,
    PolicyChanged,
    RetentionChanged,
    Status,
)
from driftwise.service.store.journal import Event

MAX_DEPLOYMENTS = 100_000
MAX_KEYS = 1_000
NO_OPTIONS: Mapping[str, object] = {}
DOTS = (".", "..")  # clients drop them from paths, so that such a deployment could not be reached


async def create(engine: Engine, new: DeploymentSpec, *, key: IdempotencyKey = NO_KEY) -> Reply:
    """Create a deployment."""
    catalogue = engine.catalogue
    if len(catalogue.entries) >= MAX_DEPLOYMENTS:
        raise LimitReached(f"there are {MAX_DEPLOYMENTS} deployments, the maximum")
    if new.name in DOTS:
        raise ParameterError(f"name={new.name} is not allowed: in a URL it means a folder")
    _check_free(engine, new.name)
    initial = spec.with_changes(new, {})
    _check_archive(engine, initial.retention)
    if initial.shadows:
        names = await asyncio.to_thread(check_shadows, initial)
        initial = msgspec.structs.replace(initial, shadows=names)
    live = await asyncio.to_thread(Deployment, 0, initial)  # may compile kernels
    async with engine.catalogue_lock:
        _check_free(engine, initial.name)
        live.stream = catalogue.next_stream
        event = catalogue.event(Created(live.stream, spec.encode(initial)), engine.clock())
        reply = 201, msgspec.json.encode(deployment_view(initial, RUNNING, event.at, live))
        await engine.commit([event], key.answers(reply, engine.clock()))
        catalogue.apply(event)
        catalogue.entries[initial.name].live = live if engine.owns(live.stream) else None
    return reply


def _check_archive(engine: Engine, retention: RetentionSpec | UnsetType | None) -> None:
    if isinstance(retention, RetentionSpec) and retention.archive and engine.archive is None:
        raise ParameterError("retention.archive=true needs an archive folder: start the service with --archive FOLDER")


def _check_free(engine: Engine, name: str) -> None:
    if name in engine.catalogue.entries:
        raise Conflict(f"deployment {name} exists already")


async def set_status(engine: Engine, name: str, status: str, *, key: IdempotencyKey = NO_KEY) -> Reply:
    """Pause, resume or retire."""
    entry, live = engine.entry(name), None
    with suppress(Damaged):  # it can still be retired
        _, live = await engine.live(name)
    async with engine.catalogue_lock:
        if entry.status == RETIRED and status != RETIRED:
            raise NotRunning(f"deployment {name} is retired, which cannot be undone")
        event = engine.catalogue.event(Status(entry.stream, status), engine.clock())
        reply = 200, msgspec.json.encode(deployment_view(entry.initial, status, entry.at, live))
        new = entry.status != status
        await engine.commit([event] if new else [], key.answers(reply, engine.clock()))
        if new:
            engine.catalogue.apply(event)
    return reply


async def delete(engine: Engine, name: str, *, key: IdempotencyKey = NO_KEY) -> Reply:
    """Delete a deployment that is retired, with all its events; they are dropped in the background."""
    async with engine.catalogue_lock:
        entry = engine.entry(name)
        if entry.status != RETIRED:
            raise Conflict(f"deployment {name} is {entry.status}: retire it first, then delete it")
        while entry.busy is not None:
            await entry.busy
        n_events = await engine.query(engine.journal.last, entry.stream) + 1
        event = engine.catalogue.event(Deleted(entry.stream), engine.clock())
        reply = 200, msgspec.json.encode(DeletionResponse(name, n_events))
        await engine.commit([event], key.answers(reply, engine.clock()))
        engine.catalogue.apply(event)
    return reply


async def add_arm(
    engine: Engine,
    name: str,
    arm: str | int | float,
    options: Mapping[str, object] = NO_OPTIONS,
    *,
    key: IdempotencyKey = NO_KEY,
) -> Reply:
    """Add an arm, with its options."""
    body = ArmAdded(arm, dict(options))
    return await _work(engine, name, lambda live: live.add_arm(body, engine.clock()), key)


async def retire_arm(engine: Engine, name: str, arm: str | int | float, *, key: IdempotencyKey = NO_KEY) -> Reply:
    """Retire an arm."""
    return await _work(engine, name, lambda live: live.retire_arm(arm, engine.clock()), key)


async def change(engine: Engine, name: str, request: ChangeRequest, *, key: IdempotencyKey = NO_KEY) -> Reply:
    """Change a deployment; for a new policy the journal is replayed into it."""
    changes = {name: value for name, value in msgspec.to_builtins(request).items() if value != {} or name != "problem"}
    allow = changes.pop("allow_partial_replay")
    if not changes:
        raise BadRequest("the request changes nothing: it has no fields")
    if "policy" in changes:  # parameters of the old policy do not apply to the new one
        changes = {"parameters": {}, "window": None} | changes
    _check_archive(engine, request.retention)
    if allow and any(field in changes for field in POLICY) and await _cannot_be_folded(engine, name):
        return await _begin_anew(engine, name, changes, key)
    if any(name in changes for name in ("shadows", *POLICY)):
        changes = await _with_shadows(engine, name, changes)
    if any(name in changes for name in POLICY):
        return await _replay_into(engine, name, changes, key, allow=allow)
    if "shadows" not in changes:
        return await _work(engine, name, lambda live: live.change(changes, engine.clock()), key)
    async with exact_history(engine, name) as (entry, live):  # so that no event is dropped meanwhile
        new = {*changes["shadows"]} - {*live.spec.shadows}
        partial = await _is_partial(engine, entry, live, "shadow", allow=allow) if new else False
        return await _work(engine, name, lambda live: live.change(changes, engine.clock(), partial=partial), key)


async def _cannot_be_folded(engine: Engine, name: str) -> bool:
    with suppress(Damaged):
        await engine.live(name)
    return engine.entry(name).lost


async def _begin_anew(engine: Engine, name: str, changes: dict[str, Any], key: IdempotencyKey) -> Reply:
    """Fold a deployment that cannot be folded into its policy into another, and let that decide."""
    check_not_retired(engine, name)
    policy = {field: changes[field] for field in POLICY if field in changes}
    async with engine.unloaded(name) as entry:
        live = await fold_beside(engine, entry, NEW_POLICY, cached=False, policy=policy)
        changed = spec.with_changes(live.spec, changes)
        if changed.shadows:
            changes = changes | {"shadows": await asyncio.to_thread(check_shadows, changed)}
        live.go_on_from(live.at, engine.clock())
        partial = await engine.query(engine.journal.origin, entry.stream) is not None
        reply = await _put_in_force(engine, entry, live, changes, key, partial=partial)
        entry.lost, entry.damage = False, None
    return reply


async def _with_shadows(engine: Engine, name: str, changes: dict[str, Any]) -> dict[str, Any]:
    """Changes whose shadows are checked: those that they name, or those that stay beside another policy."""
    _, live = await engine.live(name)
    changed = spec.with_changes(live.spec, changes)
    if not changed.shadows:
        return changes
    return changes | {"shadows": await asyncio.to_thread(check_shadows, changed)}


async def _is_partial(engine: Engine, entry: DeploymentEntry, live: Deployment, what: str, *, allow: bool) -> bool:
    """Whether a new policy or shadow can be fed only a part of the journal; refused unless that is allowed."""
    origin = await engine.query(engine.journal.origin, entry.stream)
    if origin is not None and not allow:
        raise EventsDropped(
            f"deployment {entry.initial.name} has dropped its events up to {origin.number}: a new {what} cannot be fed "
            f"the whole journal; to feed it the {live.number - 1 - origin.number} events after them, repeat the "
            "request with allow_partial_replay=true"
        )
    return origin is not None


async def _work(engine: Engine, name: str, work: Callable[[Deployment], Event], key: IdempotencyKey) -> Reply:
    """Run a change that may take long, with no other request for the deployment meanwhile."""
    check_not_retired(engine, name)
    async with engine.exclusive(name) as (entry, live):
        try:
            event = await asyncio.to_thread(work, live)
        except BaseException:
            entry.discard("a change failed and may be half done")
            raise
        engine.check_not_discarded(entry)
        reply = 200, msgspec.json.encode(deployment_view(entry.initial, entry.status, entry.at, live))
        if live.spec.retention == entry.retention:
            return await engine.answer(entry, [(event, Body())], key, reply)
        async with engine.catalogue_lock:  # the retention is in force before the first request after a start
            (noted,) = _retention_changed(engine, entry, live)
            commit = engine.write(entry, [(event, Body()), (noted, Body())], key.answers(reply, engine.clock()))
            await wait_for_commit(commit)
            engine.catalogue.apply(noted)
    return reply


def _retention_changed(engine: Engine, entry: DeploymentEntry, live: Deployment, after: int = 0) -> list[Event]:
    """The event of a retention that was changed, after so many others of the catalogue; none where it was not."""
    if live.spec.retention == entry.retention:
        return []
    new = RetentionChanged(entry.stream, msgspec.json.encode(live.spec.retention))
    event = engine.catalogue.event(new, engine.clock())
    return [event._replace(number=event.number + after)]


async def _replay_into(
    engine: Engine, name: str, changes: dict[str, Any], key: IdempotencyKey, *, allow: bool
) -> Reply:
    """Replay into another policy while the deployment goes on; then only what came meanwhile, and swap."""
    check_not_retired(engine, name)
    policy = {field: changes[field] for field in POLICY if field in changes}
    async with exact_history(engine, name) as (entry, live):
        partial = await _is_partial(engine, entry, live, "policy", allow=allow)
        await engine.commit()
        early = await fold_beside(engine, entry, NEW_POLICY, cached=False, policy=policy)
        await catch_up_beside(engine, entry, early)
        reply, _ = await swap_in(engine, name, early, changes, key, partial=partial)
    return reply


async def swap_in(
    engine: Engine,
    name: str,
    early: Deployment,
    changes: dict[str, Any],
    key: IdempotencyKey,
    *,
    partial: bool = False,
    promoted: bool = False,
) -> tuple[Reply, Deployment]:
    """Let the fold of another policy take over, after the events that it lacks; returns the former one, too.

    One that was `promoted` may have been fed events that are dropped now: then replays begin with its state.
    """
    async with engine.exclusive(name) as (entry, former):
        check_not_retired(engine, name)
        time = former.time(engine.clock())
        live = await engine.read_in_thread(entry, catch_up, early, engine.journal)
        live.go_on_from(time, engine.clock())
        reply = await _put_in_force(engine, entry, live, changes, key, partial=partial, promoted=promoted)
    return reply, former


async def _put_in_force(
    engine: Engine,
    entry: DeploymentEntry,
    live: Deployment,
    changes: dict[str, Any],
    key: IdempotencyKey,
    *,
    partial: bool,
    promoted: bool = False,
) -> Reply:
    """Write that another policy decides from now on, and let its fold do so; in exclusive use."""
    event = live.change(changes, engine.clock(), policy=True, partial=partial)
    snapshot = await asyncio.to_thread(live.snapshot)
    view = deployment_view(entry.initial, entry.status, entry.at, live)
    reply = 200, msgspec.json.encode(view)
    async with engine.catalogue_lock:  # so that the next start compiles the policy in force
        if not entry.lost:
            engine.check_not_discarded(entry)
        policy_changed = engine.catalogue.event(PolicyChanged(entry.stream, view["policy"]), engine.clock())
        noted = [policy_changed, *_retention_changed(engine, entry, live, after=1)]
        events, answers = [event, *noted], key.answers(reply, engine.clock())
        if promoted:
            await engine.do_chore(functools.partial(engine.journal.append_origin, events, answers, snapshot))
        else:
            await engine.commit(events, answers, [snapshot])
        for each in noted:
            engine.catalogue.apply(each)
    entry.live, entry.unsaved, entry.summary = live, 0, None
    return reply


def check_not_retired(engine: Engine, name: str) -> None:
    if engine.entry(name).status == RETIRED:
        raise NotRunning(f"deployment {name} is retired")


async def create_key(engine: Engine, request: CreateKeyRequest) -> Reply:
    """Create an API key; its text is in the reply and nowhere else."""
    if len(engine.catalogue.keys) >= MAX_KEYS:
        raise LimitReached(f"there are {MAX_KEYS} API keys, the maximum: revoke some")
    if not engine.catalogue.key_created_at:
        raise Forbidden(f"the first API key is created on the command line: {CREATE_KEY}")
    now = engine.clock()
    expires = None if request.expires_in is None else now + int(1e6 * request.expires_in)
    text, body = new_key(request.name, request.scopes, expires=expires, deployments=request.deployments)
    async with engine.catalogue_lock:
        event = engine.catalogue.event(body, now)
        await engine.commit([event])
        engine.catalogue.apply(event)
    return 201, msgspec.json.encode(api_key_view(engine, body.id, text))


async def revoke_key(engine: Engine, id: str) -> Reply:
    """Revoke an API key."""
    async with engine.catalogue_lock:
        if id not in engine.catalogue.keys:
            raise NotFound(f"there is no API key {id}")
        others = [key for key in engine.catalogue.keys.values() if key.id != id and is_admin(key, engine.clock())]
        if not others:
            raise Forbidden(f"{id} is the last API key with the scope admin: create another one first")
        view = api_key_view(engine, id)
        event = engine.catalogue.event(ApiKeyRevoked(id), engine.clock())
        await engine.commit([event])
        engine.catalogue.apply(event)
    return 200, msgspec.json.encode(view)


def api_key_view(engine: Engine, id: str, text: str | None = None) -> ApiKey:
    """The view of an API key."""
    key = engine.catalogue.keys[id]
    created_at = utc(engine.catalogue.key_created_at[id])
    expires_at = None if key.expires is None else utc(key.expires)
    used = max(engine.catalogue.key_uses.get(id, 0), engine.catalogue.key_used_at.get(id, 0))
    used_at = utc(used) if used else None
    return ApiKey(id, key.name, key.scopes, created_at, expires_at, key.deployments, text, used_at)
