"""Deployments and keys come, change and go."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import msgspec

from driftwise.errors import ParameterError
from driftwise.service.deployments import spec as papers
from driftwise.service.deployments.catalogue import RETIRED, RUNNING
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.engine import NO_KEY, Engine, Keyed, Reply
from driftwise.service.deployments.queries import told_of
from driftwise.service.deployments.spec import POLICY
from driftwise.service.http.access import CREATE_KEY
from driftwise.service.http.api_keys import new_key
from driftwise.service.http.errors import Conflict, Damaged, Forbidden, Full, Malformed, Paused, Unknown
from driftwise.service.http.schemas.requests import Changes, NewKey, Settings
from driftwise.service.http.schemas.responses import Key
from driftwise.service.store.events import ArmAdded, Body, Created, KeyRevoked, PolicyChanged, Status
from driftwise.service.store.journal import Event

MOST_DEPLOYMENTS = 100_000
MOST_KEYS = 1_000
DOTS = (".", "..")  # clients drop them from paths, so that such a deployment could not be asked for


async def create(engine: Engine, settings: Settings, *, key: Keyed = NO_KEY) -> Reply:
    """A new deployment."""
    return await engine.once(key, lambda: _create(engine, settings, key))


async def _create(engine: Engine, settings: Settings, key: Keyed) -> Reply:
    catalogue = engine.catalogue
    if len(catalogue.entries) >= MOST_DEPLOYMENTS:
        raise Full(f"there are {MOST_DEPLOYMENTS} deployments, and no room for more")
    if settings.name in DOTS:
        raise ParameterError(f"name={settings.name} cannot be used: in a URL it means a folder")
    _check_free(engine, settings.name)
    made = papers.changed(settings, {})
    live = await asyncio.to_thread(Deployment, 0, made)  # compiles what is new
    async with engine.cataloguing:
        _check_free(engine, made.name)
        live.stream = catalogue.next_stream
        event = catalogue.event(Created(live.stream, papers.on_paper(made)), engine.clock())
        reply = 201, msgspec.json.encode(told_of(made, RUNNING, event.at, live))
        await engine.commit([event], key.answers(reply, engine.clock()))
        catalogue.apply(event)
        catalogue.entries[made.name].live = live
    return reply


def _check_free(engine: Engine, name: str) -> None:
    if name in engine.catalogue.entries:
        raise Conflict(f"there is a deployment called {name} already")


async def set_status(engine: Engine, name: str, status: str, *, key: Keyed = NO_KEY) -> Reply:
    """Pause, resume or retire."""
    return await engine.once(key, lambda: _set_status(engine, name, status, key))


async def _set_status(engine: Engine, name: str, status: str, key: Keyed) -> Reply:
    entry, live = engine.entry(name), None
    with suppress(Damaged):  # it can still be retired
        _, live = await engine.live(name)
    async with engine.cataloguing:
        if entry.status == RETIRED and status != RETIRED:
            raise Paused(f"{name} is retired, and that is for good")
        event = engine.catalogue.event(Status(entry.stream, status), engine.clock())
        reply = 200, msgspec.json.encode(told_of(entry.made, status, entry.at, live))
        new = entry.status != status
        await engine.commit([event] if new else [], key.answers(reply, engine.clock()))
        if new:
            engine.catalogue.apply(event)
    return reply


async def add_arm(engine: Engine, name: str, arm: str | int, *, key: Keyed = NO_KEY, **brought: Any) -> Reply:
    """One more arm, with what it brings: features, or its class and its cost."""
    return await engine.once(
        key, lambda: _work(engine, name, lambda live: live.add_arm(ArmAdded(arm, **brought), engine.clock()), key)
    )


async def retire_arm(engine: Engine, name: str, arm: str | int, *, key: Keyed = NO_KEY) -> Reply:
    """One arm less."""
    return await engine.once(key, lambda: _work(engine, name, lambda live: live.retire_arm(arm, engine.clock()), key))


async def change(engine: Engine, name: str, changes: Changes, *, key: Keyed = NO_KEY) -> Reply:
    """Other settings; for another policy the journal is replayed into it."""
    wanted: dict[str, Any] = msgspec.to_builtins(changes)
    if not wanted:
        raise Malformed("nothing to change was given")
    if "policy" in wanted:  # what the former policy was told says nothing to the next
        wanted = {"parameters": {}, "window": None} | wanted
    if any(word in wanted for word in POLICY):
        return await engine.once(key, lambda: _replay_into(engine, name, wanted, key))
    return await engine.once(key, lambda: _work(engine, name, lambda live: live.change(wanted, engine.clock()), key))


async def _work(engine: Engine, name: str, work: Callable[[Deployment], Event], key: Keyed) -> Reply:
    """Do something to a deployment that may take a while."""
    _check_not_retired(engine, name)
    async with engine.alone(name) as (entry, live):
        try:
            event = await asyncio.to_thread(work, live)
        except BaseException:
            entry.discard("a change failed, perhaps half done")
            raise
        engine.check_known(entry)
        reply = 200, msgspec.json.encode(told_of(entry.made, entry.status, entry.at, live))
        return await engine.answer(entry, [(event, Body())], key, reply)


async def _replay_into(engine: Engine, name: str, changes: dict[str, Any], key: Keyed) -> Reply:
    _check_not_retired(engine, name)
    policy = {word: changes[word] for word in POLICY if word in changes}
    async with engine.alone(name) as (entry, _):
        live = await engine.folded(entry, cached=False, policy=policy)
        event = live.change(changes, engine.clock(), policy=True)
        snapshot = await asyncio.to_thread(live.snapshot)
        told = told_of(entry.made, entry.status, entry.at, live)
        reply = 200, msgspec.json.encode(told)
        async with engine.cataloguing:  # so that the next start warms what is in force
            engine.check_known(entry)
            known = engine.catalogue.event(PolicyChanged(entry.stream, told["policy"]), engine.clock())
            await engine.commit([event, known], key.answers(reply, engine.clock()), [snapshot])
            engine.catalogue.apply(known)
        entry.live, entry.unsaved = live, 0
    return reply


def _check_not_retired(engine: Engine, name: str) -> None:
    if engine.entry(name).status == RETIRED:
        raise Paused(f"{name} is retired")


async def make_key(engine: Engine, wanted: NewKey) -> Reply:
    """A new key, told once."""
    if len(engine.catalogue.keys) >= MOST_KEYS:
        raise Full(f"there are {MOST_KEYS} keys: revoke some")
    if not engine.catalogue.made_at:
        raise Forbidden(f"the first API key is created on the command line: {CREATE_KEY}")
    now = engine.clock()
    expires = None if wanted.expires_in is None else now + int(1e6 * wanted.expires_in)
    text, body = new_key(wanted.name, wanted.scopes, expires=expires, deployments=wanted.deployments)
    async with engine.cataloguing:
        event = engine.catalogue.event(body, now)
        await engine.commit([event])
        engine.catalogue.apply(event)
    return 201, msgspec.json.encode(key_of(engine, body.id, text))


async def revoke_key(engine: Engine, id: str) -> Reply:
    """A key opens nothing any more."""
    async with engine.cataloguing:
        if id not in engine.catalogue.keys:
            raise Unknown(f"there is no key {id}")
        told = key_of(engine, id)
        event = engine.catalogue.event(KeyRevoked(id), engine.clock())
        await engine.commit([event])
        engine.catalogue.apply(event)
    return 200, msgspec.json.encode(told)


def key_of(engine: Engine, id: str, text: str | None = None) -> Key:
    """What is told of a key."""
    key = engine.catalogue.keys[id]
    expires = None if key.expires is None else key.expires / 1e6
    return Key(id, key.name, key.scopes, engine.catalogue.made_at[id] / 1e6, expires, key.deployments, text)
