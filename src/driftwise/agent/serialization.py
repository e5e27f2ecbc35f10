"""Serialised form of an agent: plain names and numbers; loading rebuilds objects from the registry only."""

import os
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Union

import msgspec

from driftwise.agent.pending import Pending
from driftwise.core import verbs
from driftwise.core.adapter import AnyAdapter
from driftwise.core.arm_registry import ArmRegistry
from driftwise.core.encoding import KINDS, Arm, Facts, packed, unpacked
from driftwise.core.family import FAMILIES, auto_name
from driftwise.core.fingerprint import code_tag
from driftwise.core.pinned import kinds
from driftwise.core.protocols import Policy
from driftwise.core.serialization import Packed, arrays, pack, roles, seal, unseal
from driftwise.core.types import Problem
from driftwise.core.validation import cast
from driftwise.errors import StateError
from driftwise.families import POLICIES

if TYPE_CHECKING:
    from driftwise.agent.rounds import Rounds

AUTO = "auto"  # the fact that errors call the policy `auto`, where an agent was made with that word
Value = Union[bool, int, float, str, "SavedPolicy"]


class SavedPolicy(msgspec.Struct, forbid_unknown_fields=True):
    """A policy inside another."""

    policy: str
    parameters: dict[str, Value]


class AgentBytes(msgspec.Struct, forbid_unknown_fields=True):
    """Everything an agent is. `facts` and `arrays` are its adapter's, `rows` and `notes` those of pending decisions.

    A pending decision is its id, its round, the lasting key of its action, and the propensity.
    """

    policy: str
    parameters: dict[str, Value]
    tag: str
    problem: list[float | int]
    family: str
    structure: list[Packed]
    arms: list[Arm]
    uids: list[int]
    next_uid: int
    seed: int
    t: int
    pending: list[tuple[int, int, int | list[int], float]]
    max_pending: int
    counters: dict[str, int]
    state: list[Packed]
    facts: Facts
    arrays: list[Packed]
    rows: list[Packed]
    propensity_samples: int = 0
    notes: list[Any] = []


_AGENT = msgspec.msgpack.Decoder(AgentBytes)


class AgentParts(NamedTuple):
    """What an agent is made of again."""

    policy: Any
    adapter: AnyAdapter
    seed: int
    max_pending: int
    propensity_samples: int
    state: list[Packed]
    t: int
    pending: dict[int, Pending]
    forgotten: int
    ignored: int


def encode_agent(agent: "Rounds") -> Callable[[], bytes]:
    """Copy an agent, which is quick; what this returns makes its bytes, later and in any thread."""
    policy, adapter, registry, problem = (
        encode_policy(agent.policy),
        agent._adapter,
        agent._adapter.registry,
        agent._adapter.problem,
    )
    facts, arrays = adapter.encode()
    if adapter.name == auto_name(agent.policy):
        facts |= {AUTO: True}
    content = AgentBytes(
        policy=policy.policy,
        parameters=policy.parameters,
        tag=agent._bound.tag,
        problem=list(problem[:-2]),
        family=problem.family,
        structure=_encode_structure(problem),
        arms=[*registry.names],
        uids=[*registry.uids],
        next_uid=registry.next_uid,
        seed=agent.seed,
        t=agent.t,
        pending=[],
        max_pending=agent.max_pending,
        propensity_samples=agent.propensity_samples,
        counters={"forgotten": agent.forgotten, "ignored": agent.ignored},
        state=pack(agent._state),
        facts=facts,
        arrays=arrays,
        rows=[],
    )
    pending = agent._pending.copy()

    def write() -> bytes:
        content.pending = [(id, t, chosen, propensity) for id, (t, chosen, propensity, *_) in pending.items()]
        content.rows = adapter.encode_rows([row for *_, row, _ in pending.values()])
        content.notes = [note for *_, note in pending.values()]
        return seal(msgspec.msgpack.encode(content))

    return write


def decode_agent(blob: bytes, kind: type | None, note: Any = Any) -> AgentParts:
    """The parts of the agent that some bytes hold; `kind` is the class of its policy, where the table has it not.

    `note` is the type of the notes of pending decisions.
    """
    try:
        content = _AGENT.decode(unseal(blob))
    except msgspec.DecodeError as error:
        raise StateError(f"these bytes hold something other than an agent: {error}") from None
    policy, structure = decode_policy(content, kind), _decode_structure(content.family, content.structure)
    problem = Problem(*content.problem, structure=structure, family=content.family)  # type: ignore[arg-type, misc]
    if len(content.arms) != len(content.uids):
        raise StateError("the saved arms do not fit the saved problem")
    registry = ArmRegistry(content.arms, content.uids, content.next_uid)
    arrays = {each.path: each for each in content.arrays}
    adapter = FAMILIES[problem.family].adapter.decode(policy, problem, registry, content.facts, arrays)
    adapter.name = auto_name(policy) if content.facts.get(AUTO) else adapter.name
    rows = adapter.decode_rows(content.rows, len(content.pending))
    try:
        notes = msgspec.convert(content.notes, list[note])
    except msgspec.ValidationError as error:
        raise StateError(f"the saved notes of pending decisions are of another type: {error}") from None
    if len(notes) != len(content.pending):
        raise StateError("the saved notes do not fit the saved pending decisions")
    pending = {
        id: (t, adapter.check_key(t, chosen), propensity, row, note)
        for (id, t, chosen, propensity), row, note in zip(content.pending, rows, notes, strict=True)
    }
    if content.tag != code_tag(*kinds([policy])):
        warnings.warn(f"{content.policy} has changed since this agent was saved: choices may differ", stacklevel=3)
    sizes = content.seed, content.max_pending, content.propensity_samples
    counters = content.counters["forgotten"], content.counters["ignored"]
    return AgentParts(policy, adapter, *sizes, content.state, content.t, pending, *counters)


def write_whole(path: Path, blob: bytes) -> None:
    """Write a file as a whole or not at all: beside its place first, then moved there. Errors name the file itself."""
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        part = Path(name)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(blob)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)  # after it is closed: Windows does not move an open file
        except BaseException:
            part.unlink(missing_ok=True)
            raise
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from None


def _encode_structure(problem: Problem) -> list[Packed]:
    """The structure of a problem: a tuple of arrays and such tuples, or nothing."""
    return [packed(path, each) for path, each in arrays(problem.structure, but=())] if problem.structure else []


def _decode_structure(family: str, saved: list[Packed]) -> Any:
    """The structure of a problem of this family."""
    if family not in FAMILIES:
        raise StateError(f"the saved family {family!r} is not one this version of driftwise has")
    kind = FAMILIES[family].structure
    if [each.path for each in saved] != ([] if kind is None else list(_paths(kind))):
        raise StateError(f"the saved structure is not that of the family {family!r}")
    for each in saved:
        if each.dtype not in KINDS:
            raise StateError(f"{each.path} is of the type {each.dtype}, which no structure holds")
    values = iter([unpacked(each, each.shape, each.dtype) for each in saved])
    return () if kind is None else _filled(kind, values)


def _paths(kind: type) -> Iterator[str]:
    """Where the arrays of a tuple, and of the tuples inside, are found."""
    for name, inner in roles(kind).items():
        yield from (f"{name}.{path}" for path in _paths(inner)) if hasattr(inner, "_fields") else (name,)


def _filled(kind: type, values: Iterator[Any]) -> Any:
    """A tuple, and the tuples inside, with these arrays."""
    return kind(*(_filled(each, values) if hasattr(each, "_fields") else next(values) for each in roles(kind).values()))


def name_of(policy: type) -> str:
    """The name in the table, or for a class from elsewhere its own."""
    return next((name for name, kind in POLICIES.items() if kind is policy), policy.__name__)


def encode_policy(policy: Policy) -> SavedPolicy:
    """A policy, with those inside it, as names and numbers."""
    values = {
        name: encode_policy(value) if hasattr(value, "_fields") else value for name, value in policy._asdict().items()
    }
    return SavedPolicy(name_of(type(policy)), values)


def decode_policy(saved: SavedPolicy | AgentBytes, kind: type | None = None) -> Policy:
    """The policy of these names and numbers; `kind` is its class, where the table does not have it."""
    if kind is not None and not isinstance(kind, type):
        raise StateError(f"policy={kind!r} is not a class: pass the policy's class")
    kind = kind or POLICIES.get(saved.policy)
    if kind is None:
        raise StateError(f"this agent was saved with the policy {saved.policy}: pass it, policy={saved.policy}")
    if saved.policy != name_of(kind):
        raise StateError(f"this agent was saved with the policy {saved.policy}, not {name_of(kind)}")
    values = {
        name: decode_policy(value, _registered(value.policy)) if isinstance(value, SavedPolicy) else value
        for name, value in saved.parameters.items()
    }
    try:
        policy: Policy = cast(kind(**values))
        return policy
    except TypeError as error:
        raise StateError(f"the saved parameters do not fit {saved.policy}: {error}") from None


def _registered(name: str) -> type:
    """The class of a policy inside another: one of the table's, or of those that registered themselves."""
    registered = {kind.__name__: kind for kind in verbs.select.kernels if hasattr(kind, "init")}  # not those of states
    kind = POLICIES.get(name) or registered.get(name)
    if kind is None:
        raise StateError(f"this agent was saved with the policy {name} inside: import the file that defines it first")
    return kind
