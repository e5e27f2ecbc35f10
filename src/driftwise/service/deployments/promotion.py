"""Promote a shadow: its fold takes the place of the policy in force, with no replay.

It is the state that a change of policy would reach by a replay of the whole journal, bit for bit.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import msgspec

from driftwise.errors import ParameterError
from driftwise.service.deployments.admin import check_not_retired, swap_in
from driftwise.service.deployments.catalogue import DeploymentEntry
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.idempotency import NO_KEY, IdempotencyKey, Reply
from driftwise.service.deployments.loading import exact_history
from driftwise.service.deployments.queries import deployment_view
from driftwise.service.deployments.shadow import Shadow
from driftwise.service.deployments.shadow_feed import catch_up
from driftwise.service.deployments.shadow_names import live_name, shadow_name
from driftwise.service.deployments.shadows import TEXTS, save, shadow_spec
from driftwise.service.http.errors import Conflict, NotFound
from driftwise.service.http.schemas.requests import DeploymentSpec, PromoteRequest


async def promote(engine: Engine, name: str, request: PromoteRequest, *, key: IdempotencyKey = NO_KEY) -> Reply:
    """Let a shadow decide from now on; promoting the policy in force changes nothing."""
    check_not_retired(engine, name)
    async with exact_history(engine, name) as (entry, live):
        policy = shadow_name(live.spec, request.policy)
        if policy == live_name(live.spec) and policy not in live.spec.shadows:
            reply = 200, msgspec.json.encode(deployment_view(entry.initial, entry.status, entry.at, live))
            await engine.commit(answers=key.answers(reply, engine.clock()))
            return reply
        if policy not in live.spec.shadows:
            shadows = ", ".join(live.spec.shadows) or "none"
            raise NotFound(f"{request.policy} is not a shadow of deployment {name}: it has {shadows}")
        names = [each for each in live.spec.shadows if each != policy]
        names += [_name_to_keep(live.spec)] if request.keep else []
        changes = {"policy": policy, **TEXTS, "shadows": names}
        async with _taken_out(engine, entry, policy) as shadow:
            reply, former = await swap_in(engine, name, shadow.deployment, changes, key, promoted=True)
        if request.keep and entry.shadows is not None:
            former.spec = shadow_spec(former.spec, names[-1])
            entry.shadows.add(Shadow(names[-1], former))
        await save(engine, entry)
    return reply


def _name_to_keep(spec: DeploymentSpec) -> str:
    """The text of the policy in force as a shadow."""
    if spec.window is not None and spec.window.seconds is not None:
        raise ParameterError(
            "keep=true is not possible: the window of the policy in force is in seconds, a shadow has none"
        )
    return live_name(spec)


@asynccontextmanager
async def _taken_out(engine: Engine, entry: DeploymentEntry, policy: str) -> AsyncIterator[Shadow]:
    """A shadow that was fed all that is committed, and goes on alone; should that fail, it is loaded again."""
    await engine.commit()
    shadows = await catch_up(engine, entry, policy)
    shadow = None if shadows is None else shadows.members.get(policy)
    if shadows is None or shadow is None:
        why = "it is not loaded" if shadows is None else shadows.lost.get(policy, "it was removed meanwhile")
        raise Conflict(f"the shadow {policy} cannot be promoted: {why}")
    if shadow.failure is not None:
        raise Conflict(f"the shadow {policy} cannot be promoted: {shadow.failure}")
    async with shadows.lock:
        shadows.lost[policy] = "it is being promoted"
        del shadows.members[policy]
    try:
        yield shadow
    finally:
        del shadows.lost[policy]
        shadows.unsaved += 1
