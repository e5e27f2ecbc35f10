"""The shadows of a deployment: loaded, saved and shown; `shadow_feed` feeds them.

What they have reached is saved beside the snapshots of the deployment, in a stream of its own without events. It is a
cache of the fold, as snapshots are, unless events before it were dropped: then it is all there is.
"""

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from driftwise.core.fingerprint import code_tag
from driftwise.errors import ParameterError
from driftwise.service.deployments import spec as specs
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.fold import begin, restore, spec_of
from driftwise.service.deployments.shadow import SavedShadow, Shadow
from driftwise.service.http.schemas.requests import DeploymentSpec
from driftwise.service.http.schemas.responses import ShadowResponse
from driftwise.service.store.events import CHANGED, body_of
from driftwise.service.store.journal import DamagedError, Journal, Origin, Snapshot

if TYPE_CHECKING:
    from driftwise.service.deployments.catalogue import DeploymentEntry
    from driftwise.service.deployments.engine import Engine

TEXTS: dict[str, object] = {"parameters": {}, "window": None}  # a shadow has all its parameters in its text
_SAVED = msgspec.msgpack.Decoder(list[SavedShadow])


class Shadows:
    """The shadows of one deployment, by policy; `lock` is for whoever feeds or changes them."""

    def __init__(self) -> None:
        self.members: dict[str, Shadow] = {}
        self.lost: dict[str, str] = {}  # those that cannot be folded, and why
        self.unsaved = 0  # events fed since they were saved
        self.lock = asyncio.Lock()

    @property
    def names(self) -> set[str]:
        """The policies of all."""
        return {*self.members, *self.lost}

    def add(self, shadow: Shadow) -> None:
        """Add a shadow that is folded."""
        self.members[shadow.policy] = shadow
        self.unsaved += 1

    def lag(self, n_events: int) -> int:
        """How many of so many events the slowest has not been fed."""
        return max((n_events - each.number for each in self.members.values() if each.failure is None), default=0)


def stream_of(stream: int) -> int:
    """Where the shadows of a deployment are saved; -1 is for trials."""
    return -1 - stream


def shadow_spec(spec: DeploymentSpec, policy: str) -> DeploymentSpec:
    """The specification of a deployment with another policy, all of whose parameters are in its text."""
    return specs.with_changes(spec, {"policy": policy, **TEXTS})


# ---- load and save ----


def load(journal: Journal, stream: int, initial: DeploymentSpec, now: DeploymentSpec, names: Sequence[str]) -> Shadows:
    """Shadows from what was saved, or new ones, which are fed the journal from its first event on.

    Where events were dropped that is the first after the origin, if a change since has allowed that for this shadow.
    """
    shadows, origin = Shadows(), journal.origin(stream)
    candidates = {*names} if origin is None else _may_begin_at(journal, origin)
    saved = {each.policy: each for each in _read(journal, stream)}
    for name in names:
        shadow = _restored(journal, stream, saved[name], origin, now) if name in saved else None
        if shadow is not None:
            shadows.members[name] = shadow
        elif origin is not None and name not in candidates:
            shadows.lost[name] = (
                f"the events up to {origin.number} were dropped, and cannot be fed to it; to begin with those that are "
                "kept, remove it and add it again with allow_partial_replay"
            )
        else:
            policy = {"policy": name, **TEXTS, "propensity_samples": now.propensity_samples}
            try:
                start = (
                    Deployment(stream, specs.with_changes(initial, policy)) if origin is None else begin(origin, policy)
                )
                shadows.members[name] = Shadow(name, start)
            except (ParameterError, DamagedError) as error:  # another version of driftwise has no such policy
                shadows.lost[name] = str(error.__cause__ or error)
    return shadows


def _may_begin_at(journal: Journal, origin: Origin) -> set[str]:
    """The shadows that may begin at an origin: those that a change since has added with leave to do so.

    Other `propensity_samples` make all shadows new.
    """
    spec, candidates = spec_of(origin), set[str]()
    names, samples = {*spec.shadows}, spec.propensity_samples
    for event in journal.read_kind(origin.stream, CHANGED, origin.number):
        body = body_of(event)
        after, counted = {*body.changes.get("shadows", names)}, body.changes.get("propensity_samples", samples)
        new = after - names if counted == samples else after
        candidates = (candidates | new if body.partial else candidates) & after
        names, samples = after, counted
    return candidates


def _read(journal: Journal, stream: int) -> list[SavedShadow]:
    """What was saved; nothing where it cannot be read."""
    snapshot = journal.latest(stream_of(stream))
    try:
        return [] if snapshot is None else _SAVED.decode(snapshot.body)
    except msgspec.DecodeError:  # of another version
        return []


def saved_upto(journal: Journal, stream: int) -> dict[str, int]:
    """The last event that each shadow has saved."""
    return {each.policy: each.number for each in _read(journal, stream)}


async def saved_after(engine: "Engine", entry: "DeploymentEntry", origin: Origin) -> bool:
    """Whether all shadows that can go on are saved after the events up to an origin, which may be dropped then."""
    live, shadows = entry.live, entry.shadows
    if live is None or not live.spec.shadows:
        return live is not None
    if shadows is None or not shadows.names.issuperset(live.spec.shadows):
        return False
    able = [name for name, each in shadows.members.items() if each.failure is None]
    if any(shadows.members[name].number <= origin.number for name in able):
        return False
    await save(engine, entry)
    await engine.commit()
    saved = await engine.read_in_thread(entry, saved_upto, engine.journal, entry.stream)
    return all(saved.get(name, -1) >= origin.number for name in able)


def _restored(
    journal: Journal, stream: int, saved: SavedShadow, origin: Origin | None, now: DeploymentSpec
) -> Shadow | None:
    """A shadow that was saved; None where that is of no use. After an origin, that of other code is taken over."""
    first = 0 if origin is None else origin.first
    try:
        if saved.number < first - 1 or journal.link_at(stream, saved.number) != saved.link:
            return None
        usable = saved.tag == code_tag(Shadow)
        deployment = restore(Snapshot(stream, saved.number, saved.deployment)) if usable else None
        if deployment is None and origin is not None:
            deployment = begin(origin._replace(number=saved.number, body=saved.deployment))
    except DamagedError:
        return None
    if deployment is None or deployment.spec.propensity_samples != now.propensity_samples:
        return None
    return Shadow(saved.policy, deployment, saved.state)


async def save(engine: "Engine", entry: "DeploymentEntry") -> None:
    """Save how far the shadows of a deployment have come."""
    shadows, era = entry.shadows, engine.writer.era
    if shadows is None or not shadows.unsaved or not engine.owns(entry.stream):
        return
    async with shadows.lock:
        able = [each for each in shadows.members.values() if each.failure is None and each.number]
        body = await asyncio.to_thread(_write, engine.journal, entry.stream, able)
        shadows.unsaved = 0
    engine.writer.submit(snapshots=[Snapshot(stream_of(entry.stream), 0, body)], era=era)


def _write(journal: Journal, stream: int, shadows: Sequence[Shadow]) -> bytes:
    return msgspec.msgpack.encode([each.freeze(journal.link_at(stream, each.number - 1))() for each in shadows])


# ---- views ----


async def views(entry: "DeploymentEntry", live: Deployment) -> list[ShadowResponse]:
    """What is known of each shadow now."""
    shadows = entry.shadows
    if shadows is None:
        return [_unknown(name, "it is being loaded") for name in live.spec.shadows]
    async with shadows.lock:
        return [
            shadows.members[name].view(live.number)
            if name in shadows.members
            else _unknown(name, shadows.lost.get(name, "it is being loaded"))
            for name in live.spec.shadows
        ]


def _unknown(policy: str, why: str) -> ShadowResponse:
    return ShadowResponse(policy, None, 0, -1, 0, 0, None, why=why)
