"""The endpoints of the API, in one table. The name of a handler is the operationId in the OpenAPI document."""

from collections.abc import AsyncIterator
from typing import Any

import msgspec

from driftwise.service.deployments import admin, audit, decisions, erasure, promotion, queries
from driftwise.service.deployments.catalogue import PAUSED, RETIRED, RUNNING
from driftwise.service.deployments.export import MEDIA, file_chunks, require_parquet
from driftwise.service.deployments.idempotency import Reply
from driftwise.service.deployments.loading import exact_history
from driftwise.service.http.api_keys import SCOPES
from driftwise.service.http.endpoint import MAX_ID, Call, Endpoint, StreamingResponse, decision_id
from driftwise.service.http.errors import BadRequest
from driftwise.service.http.schemas.requests import (
    AddArmRequest,
    CancelRequest,
    ChangeRequest,
    CreateKeyRequest,
    DecideManyRequest,
    DecideRequest,
    DeploymentSpec,
    EraseUnitRequest,
    LearnManyRequest,
    LearnRequest,
    PromoteRequest,
    RetireArmRequest,
)
from driftwise.service.http.schemas.responses import (
    ApiKey,
    ApiKeyList,
    AuditList,
    Caller,
    DecideManyResponse,
    DecideResponse,
    DecisionList,
    DeletionResponse,
    DeploymentList,
    DeploymentResponse,
    EraseUnitResponse,
    Explanation,
    LearnManyResponse,
    LearnResponse,
    LoggedDecision,
    SnapshotResponse,
    Statistics,
    SummaryResponse,
    Verification,
)


async def decide(call: Call) -> Reply:
    """Make a decision."""
    return await decisions.decide(call.engine, call.name, [call.body], key=call.key)


async def decide_many(call: Call) -> Reply:
    """Make several decisions, all or none."""
    return await decisions.decide(call.engine, call.name, call.body.decisions, many=True, key=call.key)


async def learn(call: Call) -> Reply:
    """Send the outcome of a decision."""
    return await decisions.learn(call.engine, call.name, [call.body], key=call.key)


async def learn_many(call: Call) -> Reply:
    """Send several outcomes; each has a status of its own."""
    return await decisions.learn(call.engine, call.name, call.body.outcomes, many=True, key=call.key)


async def cancel_decision(call: Call) -> Reply:
    """Cancel a decision that was not carried out."""
    return await decisions.cancel(call.engine, call.name, call.body.id, key=call.key)


async def create_deployment(call: Call) -> Reply:
    """Create a deployment."""
    return await admin.create(call.engine, call.body, key=call.key)


async def list_deployments(call: Call) -> dict[str, Any]:
    """List the deployments that the API key may see, by name; those not used since the start as they were created."""
    only = None if call.caller is None else call.caller.deployments
    return queries.list_deployments(call.engine, call.query.get("after", ""), call.number("limit", 100, 1, 1000), only)


async def get_deployment(call: Call) -> dict[str, Any]:
    """Get a deployment: its specification and current state."""
    return await queries.describe(call.engine, call.name)


async def update_deployment(call: Call) -> Reply:
    """Change a deployment. A new policy, parameters or window replay the journal: no history is lost."""
    return await admin.change(call.engine, call.name, call.body, key=call.key)


async def promote_shadow(call: Call) -> Reply:
    """Let a shadow policy decide from now on; with `keep`, the one that decided becomes a shadow."""
    return await promotion.promote(call.engine, call.name, call.body, key=call.key)


async def pause_deployment(call: Call) -> Reply:
    """Pause: no decisions, but outcomes are still accepted."""
    return await admin.set_status(call.engine, call.name, PAUSED, key=call.key)


async def resume_deployment(call: Call) -> Reply:
    """Resume after a pause."""
    return await admin.set_status(call.engine, call.name, RUNNING, key=call.key)


async def retire_deployment(call: Call) -> Reply:
    """Retire a deployment, for ever; its log stays."""
    return await admin.set_status(call.engine, call.name, RETIRED, key=call.key)


async def delete_deployment(call: Call) -> Reply:
    """Delete a retired deployment and all its events; its name can be used again."""
    return await admin.delete(call.engine, call.name, key=call.key)


async def erase_unit(call: Call) -> Reply:
    """Erase the name and the contexts of a unit, from the journal, from snapshots and from the archive."""
    return await erasure.erase_unit(call.engine, call.name, call.body.unit, key=call.key)


async def add_arm(call: Call) -> Reply:
    """Add an arm, without history."""
    options = {name: value for name, value in msgspec.structs.asdict(call.body).items() if value is not None}
    return await admin.add_arm(call.engine, call.name, options.pop("name"), options, key=call.key)


async def retire_arm(call: Call) -> Reply:
    """Retire an arm: it is never chosen again."""
    return await admin.retire_arm(call.engine, call.name, call.body.name, key=call.key)


async def get_statistics(call: Call) -> Statistics:
    """Get what the dashboard draws: choices over time, rewards with intervals, changes, delays, budgets, states."""
    last = call.number("last", 1, 1, MAX_LAST_S) if "last" in call.query else None
    return await queries.statistics(call.engine, call.name, last)


async def get_summary(call: Call) -> SummaryResponse:
    """Get what the policy knows of each arm now: estimate, index, interval, count and pending decisions."""
    return await queries.summary(call.engine, call.name)


async def list_decisions(call: Call) -> DecisionList:
    """List decisions with their outcomes, latest first."""
    before, limit = call.number("before", MAX_ID, 0, MAX_ID), call.number("limit", 20, 1, 100)
    return await queries.list_decisions(call.engine, call.name, before, limit)


async def get_decision(call: Call) -> LoggedDecision:
    """Get a decision from the journal, with its outcome."""
    return await queries.get_decision(call.engine, call.name, decision_id(call.id))


async def explain_decision(call: Call) -> Explanation:
    """Explain a decision: what the policy knew then, replayed from the journal."""
    return await queries.explain(call.engine, call.name, decision_id(call.id))


async def verify_deployment(call: Call) -> Verification:
    """Replay the journal from its origin, and compare with the live state, bit for bit."""
    return await queries.verify(call.engine, call.name)


async def take_snapshot(call: Call) -> SnapshotResponse:
    """Take a snapshot now, so that a restart has little to replay."""
    return await queries.take_snapshot(call.engine, call.name)


async def export_log(call: Call) -> StreamingResponse:
    """Export the log: a row per decision, with propensity and outcome. `after` and `upto` are ids."""
    kind = call.query.get("format", "jsonl")
    if kind not in MEDIA:
        raise BadRequest(f"format={kind!r} is not one of {', '.join(MEDIA)}")
    if kind == "parquet":
        require_parquet()
    after, upto = call.number("after", -1, -1, MAX_ID), call.number("upto", MAX_ID, 0, MAX_ID)
    chunks = await queries.export_log(call.engine, call.name, kind, after, upto)
    return StreamingResponse(chunks, MEDIA[kind], f"{call.name}.{kind}")


async def export_agent(call: Call) -> StreamingResponse:
    """Export the agent as bytes, for `driftwise.Agent.loads` in another program."""
    async with exact_history(call.engine, call.name), call.engine.exclusive(call.name) as (_, live):
        blob = live.agent.dumps()

    async def chunks() -> AsyncIterator[bytes]:
        yield blob

    return StreamingResponse(chunks(), "application/octet-stream", f"{call.name}.agent")


async def export_backup(call: Call) -> StreamingResponse:
    """Export a copy of the whole SQLite store, while the service runs: a file that `driftwise serve --store` opens."""
    await call.engine.commit()
    return StreamingResponse(file_chunks(call.engine.journal.backup), "application/octet-stream", "driftwise.db")


async def create_key(call: Call) -> Reply:
    """Create an API key. Its text is in this response only."""
    return await admin.create_key(call.engine, call.body)


async def list_keys(call: Call) -> ApiKeyList:
    """List API keys."""
    return ApiKeyList([admin.api_key_view(call.engine, id) for id in call.engine.catalogue.keys])


async def revoke_key(call: Call) -> Reply:
    """Revoke an API key."""
    return await admin.revoke_key(call.engine, call.id)


async def get_caller(call: Call) -> Caller:
    """Get the scopes of the caller."""
    caller = call.caller
    if caller is None:
        return Caller(None, None, sorted(SCOPES))
    scopes = sorted(SCOPES) if "admin" in caller.scopes else caller.scopes
    return Caller(caller.id, caller.name, scopes, caller.deployments)


async def list_audit(call: Call) -> dict[str, Any]:
    """List who did what when: administrative requests that were done, oldest first."""
    after, limit = call.number("after", -1, -1, MAX_ID), call.number("limit", 100, 1, audit.PAGE)
    return await call.engine.query(audit.read, call.engine, after, limit)


MAX_LAST_S = 100 * 366 * 86_400
ONE = "/v1/deployments/{name}"
PAGES = {"after": (str, "the last name of the page before"), "limit": (int, "how many, at most 1000")}
ENTRIES = {"after": (int, "the last number of the page before"), "limit": (int, "how many, at most 1000")}
DECISIONS = {"before": (int, "before this id"), "limit": (int, "how many, at most 100")}
LAST = {"last": (int, "of this many seconds only, up to now")}
RANGE = {"format": (str, "jsonl, csv or parquet"), "after": (int, "after this id"), "upto": (int, "up to this id")}


def endpoints() -> list[Endpoint]:
    """The table; the two verbs first, because they are used most."""
    decide_: dict[str, Any] = {"scope": "decide", "idempotent": True}
    learn_: dict[str, Any] = {"scope": "learn", "idempotent": True}
    admin_: dict[str, Any] = {"scope": "admin", "response": DeploymentResponse, "idempotent": True, "audited": True}
    record: dict[str, Any] = {"scope": "admin", "audited": True}
    read_: dict[str, Any] = {"scope": "read"}
    logs, octets = tuple(MEDIA.values()), ("application/octet-stream",)
    return [
        Endpoint("POST", f"{ONE}/decide", decide, request=DecideRequest, response=DecideResponse, **decide_),
        Endpoint("POST", f"{ONE}/learn", learn, request=LearnRequest, response=LearnResponse, **learn_),
        Endpoint(
            "POST",
            f"{ONE}/decide/batch",
            decide_many,
            request=DecideManyRequest,
            response=DecideManyResponse,
            **decide_,
        ),
        Endpoint(
            "POST", f"{ONE}/learn/batch", learn_many, request=LearnManyRequest, response=LearnManyResponse, **learn_
        ),
        Endpoint("POST", f"{ONE}/cancel", cancel_decision, request=CancelRequest, response=LearnResponse, **learn_),
        Endpoint(
            "GET", "/v1/deployments", list_deployments, response=DeploymentList, filtered=True, query=PAGES, **read_
        ),
        Endpoint("POST", "/v1/deployments", create_deployment, request=DeploymentSpec, status=201, **admin_),
        Endpoint("GET", ONE, get_deployment, response=DeploymentResponse, **read_),
        Endpoint("PATCH", ONE, update_deployment, request=ChangeRequest, **admin_),
        Endpoint("POST", f"{ONE}/promote", promote_shadow, request=PromoteRequest, **admin_),
        Endpoint("POST", f"{ONE}/pause", pause_deployment, **admin_),
        Endpoint("POST", f"{ONE}/resume", resume_deployment, **admin_),
        Endpoint("POST", f"{ONE}/retire", retire_deployment, **admin_),
        Endpoint("DELETE", ONE, delete_deployment, **(admin_ | {"response": DeletionResponse})),
        Endpoint(
            "POST",
            f"{ONE}/units/erase",
            erase_unit,
            request=EraseUnitRequest,
            **(admin_ | {"response": EraseUnitResponse}),
        ),
        Endpoint("POST", f"{ONE}/arms", add_arm, request=AddArmRequest, **admin_),
        Endpoint("POST", f"{ONE}/arms/retire", retire_arm, request=RetireArmRequest, **admin_),
        Endpoint("GET", f"{ONE}/statistics", get_statistics, response=Statistics, query=LAST, **read_),
        Endpoint("GET", f"{ONE}/summary", get_summary, response=SummaryResponse, **read_),
        Endpoint("GET", f"{ONE}/decisions", list_decisions, response=DecisionList, query=DECISIONS, **read_),
        Endpoint("GET", f"{ONE}/decisions/{{id:int}}", get_decision, response=LoggedDecision, **read_),
        Endpoint("GET", f"{ONE}/decisions/{{id:int}}/explain", explain_decision, response=Explanation, **read_),
        Endpoint("GET", f"{ONE}/log", export_log, response=bytes, media=logs, query=RANGE, audited=True, **read_),
        Endpoint("GET", f"{ONE}/agent", export_agent, response=bytes, media=octets, **record),
        Endpoint("POST", f"{ONE}/verify", verify_deployment, response=Verification, scope="admin"),
        Endpoint("POST", f"{ONE}/snapshot", take_snapshot, response=SnapshotResponse, scope="admin"),
        Endpoint("GET", "/v1/backup", export_backup, response=bytes, media=octets, **record),
        Endpoint("GET", "/v1/audit", list_audit, response=AuditList, query=ENTRIES, scope="admin"),
        Endpoint("GET", "/v1/caller", get_caller, response=Caller, filtered=True, **read_),
        Endpoint("GET", "/v1/keys", list_keys, response=ApiKeyList, scope="admin"),
        Endpoint("POST", "/v1/keys", create_key, request=CreateKeyRequest, response=ApiKey, status=201, **record),
        Endpoint("DELETE", "/v1/keys/{id}", revoke_key, response=ApiKey, **record),
    ]
