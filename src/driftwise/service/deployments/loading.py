"""Load deployments into memory: fold them from the journal, beside those that decide.

A short replay runs in a thread, a long one in a process of its own (`replay_process`), one at a time: a thread that
replays would slow down every decision. When the newest snapshot was made by other code, and the replay is long, the
deployment decides from the state of that snapshot meanwhile, if it fits: *provisionally*. Its decisions are in the
journal like all others, each marked, with action and propensity. A replay takes actions from the journal, so that the
state at the end is that of an exact fold; then it takes over.
"""

import asyncio
import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any

from driftwise.service.deployments import spec
from driftwise.service.deployments.catalogue import DeploymentEntry
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.fold import (
    catch_up,
    fold,
    replay_length,
    replay_tail,
    restore,
)
from driftwise.service.deployments.replay_process import ReplayJob, ReplayProcessError
from driftwise.service.deployments.replay_progress import show_progress
from driftwise.service.http.errors import Damaged, NotFound, Replaying, Unavailable
from driftwise.service.store.journal import DamagedError, Journal, Snapshot

if TYPE_CHECKING:
    from driftwise.service.deployments.engine import Engine

LONG = 20_000  # events of a replay that is worth a process
FEW = 500  # events that a deployment may wait for
WAIT_S = 5.0  # how long requests wait for a replay before they are refused, if it takes so long again
RETRY_S = 30.0  # before an exact fold that failed is tried again
START, NEW_CODE, VERIFY, NEW_POLICY, EXPLAIN = "start", "new code", "verify", "new policy", "explain"
log = logging.getLogger("driftwise.service")


# ---- into memory ----


async def load(engine: "Engine", entry: DeploymentEntry) -> Deployment:
    """A deployment for requests: exact, or provisional where an exact one takes long."""
    try:
        live = await engine.read_in_thread(entry, _load_quickly, engine.journal, entry.stream, engine.long_replay)
        live = live or await fold_beside(engine, entry, START)
    except Damaged:
        entry.lost = True  # it is not tried again
        raise
    if live.provisional and (entry.settling is None or entry.settling.done()):
        entry.settling = engine.start_task(make_exact(engine, entry))
    now = engine.clock()
    live.go_on_from(live.at, now)
    if live.ahead:
        name = entry.initial.name
        facts = {"deployment": name, "ahead_s": round(live.ahead / 1e6, 1)}
        log.warning(
            f"events of deployment {name} are ahead of the clock: its time goes on from there", extra={"facts": facts}
        )
    return live


def _load_quickly(journal: Journal, stream: int, long: int) -> Deployment | None:
    """The newest snapshot and what came after it, provisional if it is of other code; None where it cannot be used."""
    snapshot = journal.latest(stream)
    if snapshot is None or journal.last(stream) - snapshot.number > long:
        return None
    live = restore(snapshot)
    if live is not None:
        return live if replay_tail(live, journal) else None
    if replay_length(journal, stream, upto=None, cached=False) <= long:
        return None
    live = restore(snapshot, of_any_code=True)
    try:
        if live is None or not replay_tail(live, journal):
            return None
    except DamagedError:  # what cannot be replayed into this state may be replayed into an exact one
        return None
    live.provisional = True
    return live


async def make_exact(engine: "Engine", entry: DeploymentEntry) -> None:
    """Fold a deployment that decides provisionally, and let the exact state take over."""
    name = entry.initial.name
    facts = {"deployment": name}
    log.info("a deployment decides provisionally: its snapshot is of other code", extra={"facts": facts})
    while entry.live is None or entry.live.provisional:
        try:
            async with entry.history:  # so that no event is dropped meanwhile
                exact = await fold_beside(engine, entry, NEW_CODE, cached=False)
                await catch_up_beside(engine, entry, exact)
                async with engine.exclusive(name) as (entry, live):
                    if live.provisional:
                        await take_over(engine, entry, live, exact)
                    break
        except Damaged:
            entry.lost = True
            entry.discard("its journal is damaged")
            return
        except NotFound:
            return  # it was deleted meanwhile
        except (Replaying, Unavailable):
            await asyncio.sleep(RETRY_S)
    engine.save(entry)
    log.info("a deployment decides exactly again", extra={"facts": facts})


async def take_over(engine: "Engine", entry: DeploymentEntry, live: Deployment, other: Deployment) -> None:
    """Let another state take the place of the one in memory, after the last events; in exclusive use."""
    moment = live.time(engine.clock())
    await engine.read_in_thread(entry, catch_up, other, engine.journal)
    engine.check_not_discarded(entry)
    other.go_on_from(moment, engine.clock())
    entry.live, entry.unsaved, entry.summary = other, other.number, None


@asynccontextmanager
async def exact_history(engine: "Engine", name: str) -> AsyncIterator[tuple[DeploymentEntry, Deployment]]:
    """A deployment with its exact state; until the block ends no event is dropped and no other policy comes."""
    while True:
        entry, live = await engine.live(name)
        if live.provisional and entry.settling is not None:
            await wait_patiently(entry, entry.settling)
            continue
        async with entry.history:
            entry, live = await engine.live(name)
            if not live.provisional:
                yield entry, live
                return


# ---- beside ----


async def fold_beside(
    engine: "Engine",
    entry: DeploymentEntry,
    why: str,
    *,
    cached: bool = True,
    policy: dict[str, Any] | None = None,
    upto: int | None = None,
) -> Deployment:
    """Fold a deployment from its journal, while it goes on; the options are those of `fold`."""
    result = await replay_beside(engine, entry, why, cached=cached, policy=policy, upto=upto)
    if isinstance(result, Deployment):
        return result
    live = await asyncio.to_thread(restore, result)
    if live is None:
        raise _failed(entry, "its state cannot be restored")
    return live


async def replay_beside(
    engine: "Engine",
    entry: DeploymentEntry,
    why: str,
    *,
    cached: bool,
    policy: dict[str, Any] | None = None,
    upto: int | None = None,
) -> Deployment | Snapshot:
    """The same as a snapshot, if it was done in a process."""
    journal, read = engine.journal, engine.read_in_thread
    cached = cached and policy is None
    length = await read(entry, replay_length, journal, entry.stream, upto=upto, cached=cached)
    if length <= engine.long_replay or not engine.replays.is_possible(journal):
        with show_progress(entry, why, length) as progress:
            return await read(
                entry,
                fold,
                journal,
                entry.stream,
                entry.initial,
                upto=upto,
                cached=cached,
                policy=policy,
                progress=progress,
            )
    assert journal.url is not None
    job = ReplayJob(journal.url, entry.stream, spec.encode(entry.initial), upto, cached, policy)
    with show_progress(entry, why, length) as progress:
        async with engine.one_replay:
            try:
                return await read(entry, engine.replays.run, job, progress, urgent=entry.live is None)
            except ReplayProcessError as error:
                raise _failed(entry, str(error)) from None


def _failed(entry: DeploymentEntry, why: str) -> Unavailable:
    name = entry.initial.name
    log.error("a replay failed", extra={"facts": {"deployment": name, "why": why}})
    return Unavailable(f"deployment {name} was not replayed: {why}; repeat the request")


async def catch_up_beside(engine: "Engine", entry: DeploymentEntry, other: Deployment) -> None:
    """Replay what came during a replay, until so little is left that a deployment can wait for it."""
    while await engine.query(engine.journal.last, entry.stream) - other.number > FEW:
        await engine.read_in_thread(entry, catch_up, other, engine.journal)


# ---- who waits ----


async def wait_patiently(entry: DeploymentEntry, end: "asyncio.Future[None]") -> None:
    """Wait for the end of what a deployment does; refuse where that is a replay that takes long."""
    while not (await asyncio.wait([end], timeout=WAIT_S))[0]:
        progress, seconds = entry.replay, None if entry.replay is None else entry.replay.seconds_left
        exact = entry.live is not None and not entry.live.provisional  # then it is not the replay that it waits for
        if progress is not None and not exact and (seconds is None or seconds > WAIT_S):
            raise Replaying(f"{progress.sentence}; repeat the request", seconds)
    end.result()
