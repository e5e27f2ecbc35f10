"""Everything that can be asked over HTTP, in one table."""

from typing import Any

import msgspec

from driftwise.serve import asking, changing, deciding
from driftwise.serve.answers import (
    Decision,
    Decisions,
    Described,
    Explained,
    Key,
    Keys,
    Learnt,
    LearntMany,
    Listed,
    Recorded,
    Saved,
    Statistics,
    Verified,
)
from driftwise.serve.catalogue import PAUSED, RETIRED, RUNNING
from driftwise.serve.export import MEDIA, export, from_file, need_parquet
from driftwise.serve.http import MAX_ID, Call, Endpoint, Stream
from driftwise.serve.refusals import Malformed
from driftwise.serve.wire import Asked, AskedMany, Changes, NewArm, NewKey, OldArm, Settings, Told, ToldMany, Which


async def decide(call: Call) -> Any:
    """Make a decision."""
    return await deciding.decide(call.engine, call.name, [call.body], key=call.key)


async def decide_many(call: Call) -> Any:
    """Make several decisions, all or none."""
    return await deciding.decide(call.engine, call.name, call.body.decisions, many=True, key=call.key)


async def learn(call: Call) -> Any:
    """Tell what came of a decision."""
    return await deciding.learn(call.engine, call.name, [call.body], key=call.key)


async def learn_many(call: Call) -> Any:
    """Tell what came of several decisions; each is answered by itself."""
    return await deciding.learn(call.engine, call.name, call.body.outcomes, many=True, key=call.key)


async def cancel(call: Call) -> Any:
    """Call off a decision that never happened."""
    return await deciding.cancel(call.engine, call.name, call.body.id, key=call.key)


async def create(call: Call) -> Any:
    """Make a deployment."""
    return await changing.create(call.engine, call.body, key=call.key)


async def list_all(call: Call) -> Any:
    """List deployments, by name, as far as the key is for them; those not used since the start as they were made."""
    only = None if call.caller is None else call.caller.deployments
    return asking.listed(call.engine, call.query.get("after", ""), call.number("limit", 100, 1, 1000), only)


async def describe(call: Call) -> Any:
    """Describe a deployment."""
    return await asking.describe(call.engine, call.name)


async def change(call: Call) -> Any:
    """Change settings. For another policy, parameters or window the journal is replayed: no history is lost."""
    return await changing.change(call.engine, call.name, call.body, key=call.key)


async def pause(call: Call) -> Any:
    """Make no more decisions for now; outcomes are still welcome."""
    return await changing.set_status(call.engine, call.name, PAUSED, key=call.key)


async def resume(call: Call) -> Any:
    """Go on after a pause."""
    return await changing.set_status(call.engine, call.name, RUNNING, key=call.key)


async def retire(call: Call) -> Any:
    """End a deployment for good; its log stays."""
    return await changing.set_status(call.engine, call.name, RETIRED, key=call.key)


async def add_arm(call: Call) -> Any:
    """Add an arm, unexplored."""
    brought = msgspec.structs.asdict(call.body)
    return await changing.add_arm(call.engine, call.name, brought.pop("name"), key=call.key, **brought)


async def retire_arm(call: Call) -> Any:
    """Retire an arm: it is never chosen again."""
    return await changing.retire_arm(call.engine, call.name, call.body.name, key=call.key)


async def statistics(call: Call) -> Any:
    """What a page draws: allocation over time, rewards with intervals, changes, delays, budgets, states."""
    return await asking.statistics(call.engine, call.name)


async def recorded(call: Call) -> Any:
    """A decision as it stands in the journal, with its outcome."""
    return await asking.recorded(call.engine, call.name, call.path["id"])


async def explain(call: Call) -> Any:
    """Explain a decision: what the policy knew then, replayed from the journal."""
    return await asking.explain(call.engine, call.name, call.path["id"])


async def verify(call: Call) -> Any:
    """Replay the journal from the start, and say whether it leads to the present state, bit for bit."""
    return await asking.verify(call.engine, call.name)


async def save(call: Call) -> Any:
    """Take a snapshot now, so that a restart has little to replay."""
    return await asking.save(call.engine, call.name)


async def log(call: Call) -> Any:
    """Export the log: a row per decision, with propensity and outcome. `after` and `upto` are ids."""
    kind = call.query.get("format", "jsonl")
    if kind not in MEDIA:
        raise Malformed(f"format is not one of {', '.join(MEDIA)}")
    if kind == "parquet":
        need_parquet()
    after, upto = call.number("after", -1, -1, MAX_ID), call.number("upto", MAX_ID, 0, MAX_ID)
    entry, _ = await call.engine.live(call.name)
    await call.engine.commit()
    chunks = export(call.engine.journal, entry.stream, kind, after, upto)
    return Stream(chunks, MEDIA[kind], f"{call.name}.{kind}")


async def agent(call: Call) -> Any:
    """The agent as bytes, for `driftwise.Agent.loads` in another program."""
    async with call.engine.alone(call.name) as (_, live):
        blob = live.agent.dumps()

    async def chunks() -> Any:
        yield blob

    return Stream(chunks(), "application/octet-stream", f"{call.name}.agent")


async def backup(call: Call) -> Any:
    """A copy of the whole store as it is now, while it goes on: a file that `driftwise serve --store` opens."""
    await call.engine.commit()
    return Stream(from_file(call.engine.journal.backup), "application/vnd.sqlite3", "driftwise.db")


async def make_key(call: Call) -> Any:
    """Make a key. It is told once."""
    return await changing.make_key(call.engine, call.body)


async def list_keys(call: Call) -> Any:
    """List keys."""
    return Keys([changing.key_of(call.engine, id) for id in call.engine.catalogue.keys])


async def revoke_key(call: Call) -> Any:
    """Revoke a key."""
    return await changing.revoke_key(call.engine, call.path["id"])


ONE = "/v1/deployments/{name}"
PAGES = {"after": (str, "the name to go on after"), "limit": (int, "how many, at most 1000")}
RANGE = {"format": (str, "jsonl, csv or parquet"), "after": (int, "after this id"), "upto": (int, "up to this id")}


def endpoints() -> list[Endpoint]:
    """The table; the two verbs first, for they are asked most."""
    deployment: dict[str, Any] = {"scope": "admin", "gives": Described, "keyed": True}
    return [
        Endpoint("POST", f"{ONE}/decide", decide, scope="decide", takes=Asked, gives=Decision, keyed=True),
        Endpoint("POST", f"{ONE}/learn", learn, scope="learn", takes=Told, gives=Learnt, keyed=True),
        Endpoint(
            "POST", f"{ONE}/decide/batch", decide_many, scope="decide", takes=AskedMany, gives=Decisions, keyed=True
        ),
        Endpoint("POST", f"{ONE}/learn/batch", learn_many, scope="learn", takes=ToldMany, gives=LearntMany, keyed=True),
        Endpoint("POST", f"{ONE}/cancel", cancel, scope="learn", takes=Which, gives=Learnt, keyed=True),
        Endpoint("GET", "/v1/deployments", list_all, scope="read", gives=Listed, filtered=True, query=PAGES),
        Endpoint("POST", "/v1/deployments", create, takes=Settings, status=201, **deployment),
        Endpoint("GET", ONE, describe, scope="read", gives=Described),
        Endpoint("PATCH", ONE, change, takes=Changes, **deployment),
        Endpoint("POST", f"{ONE}/pause", pause, **deployment),
        Endpoint("POST", f"{ONE}/resume", resume, **deployment),
        Endpoint("POST", f"{ONE}/retire", retire, **deployment),
        Endpoint("POST", f"{ONE}/arms", add_arm, takes=NewArm, **deployment),
        Endpoint("POST", f"{ONE}/arms/retire", retire_arm, takes=OldArm, **deployment),
        Endpoint("GET", f"{ONE}/statistics", statistics, scope="read", gives=Statistics),
        Endpoint("GET", f"{ONE}/decisions/{{id:int}}", recorded, scope="read", gives=Recorded),
        Endpoint("GET", f"{ONE}/decisions/{{id:int}}/explain", explain, scope="read", gives=Explained),
        Endpoint("GET", f"{ONE}/log", log, scope="read", gives=bytes, query=RANGE),
        Endpoint("GET", f"{ONE}/agent", agent, scope="admin", gives=bytes),
        Endpoint("POST", f"{ONE}/verify", verify, scope="admin", gives=Verified),
        Endpoint("POST", f"{ONE}/snapshot", save, scope="admin", gives=Saved),
        Endpoint("GET", "/v1/backup", backup, scope="admin", gives=bytes),
        Endpoint("GET", "/v1/keys", list_keys, scope="admin", gives=Keys),
        Endpoint("POST", "/v1/keys", make_key, scope="admin", takes=NewKey, gives=Key, status=201),
        Endpoint("DELETE", "/v1/keys/{id}", revoke_key, scope="admin", gives=Key),
    ]
