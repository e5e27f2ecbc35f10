"""Schemas of requests: decoding validates, and the OpenAPI document is generated from them."""

from typing import Annotated, Any, Union

import msgspec
from msgspec import UNSET, Meta, UnsetType

import driftwise.families  # noqa: F401  # fills the table
from driftwise.core.family import FAMILIES
from driftwise.core.fields import (
    MAX_ARMS,
    MAX_ITEMS,
    ArmName,
    Count,
    Id,
    Name,
    Parameters,
    Samples,
    Seconds,
    Unit,
)
from driftwise.core.schemas import Fields, merged

PolicyText = Annotated[str, Meta(min_length=1, max_length=500)]
MAX_SHADOWS = 4
ShadowTexts = Annotated[list[PolicyText], Meta(max_length=MAX_SHADOWS)]
AnyProblem: Any = Union[tuple(family.problem for family in FAMILIES.values())]  # noqa: UP007  # one of the table
OutcomeFields: Any = merged("OutcomeFields", Fields, [family.service.outcome for family in FAMILIES.values()])
ProblemChanges: Any = merged("ProblemChanges", Fields, [family.service.changes for family in FAMILIES.values()])


class WindowSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The window of a policy: `rounds`, or `seconds` of the clock in as many steps as `rounds`."""

    rounds: Count | None = None
    seconds: Seconds | None = None


class RetentionSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """How long events are kept: at least the last `events`, and those of the last `seconds`; older ones are dropped.

    With `archive` they are written to a Parquet file in the archive folder of the service first.
    """

    events: Annotated[int, Meta(ge=100, le=10**12)] | None = None
    seconds: Seconds | None = None
    archive: bool = False


class DeploymentSpec(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """A deployment: what decides, what is decided between, and what becomes of rewards.

    `policy` is a name, or `name:param=value,...` as everywhere in driftwise; `driftwise policies` lists them. `problem`
    is one of driftwise's problem values; its `kind` names the family. With `propensity_samples`, the propensity of an
    arm is counted where the policy cannot tell it. A decision whose outcome does not come within `reward_window`
    seconds gets the `default_outcome`; without one, nothing was earned and the most was spent. Without `retention` all
    events are kept. `shadows` are policies that are fed the same journal, and choose without being obeyed.
    """

    name: Name
    policy: PolicyText
    problem: AnyProblem
    parameters: Parameters = {}
    window: WindowSpec | None = None
    seed: Annotated[int, Meta(ge=0, lt=2**53)] = 0
    max_pending: Count = 100_000
    propensity_samples: Samples = 0
    reward_window: Seconds | None = None
    default_outcome: OutcomeFields | None = None
    sticky: bool = False
    retention: RetentionSpec | None = None
    shadows: ShadowTexts = []


class ChangeRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Fields to change. A change of policy, parameters, window or samples replays the journal into the new policy.

    `problem` has the fields of the problem that change: its `horizon`, `budgets`, or `n_active`. `shadows` are all
    shadow policies from now on. Where a retention has dropped events, a new policy or shadow is refused; with
    `allow_partial_replay` it begins with nothing learned and is fed the events that are kept.
    """

    policy: PolicyText | UnsetType = UNSET
    parameters: Parameters | UnsetType = UNSET
    window: WindowSpec | UnsetType | None = UNSET
    propensity_samples: Samples | UnsetType = UNSET
    problem: ProblemChanges | UnsetType = UNSET
    max_pending: Count | UnsetType = UNSET
    reward_window: Seconds | UnsetType | None = UNSET
    default_outcome: OutcomeFields | UnsetType | None = UNSET
    sticky: bool | UnsetType = UNSET
    retention: RetentionSpec | UnsetType | None = UNSET
    shadows: ShadowTexts | UnsetType = UNSET
    allow_partial_replay: bool = False


class PromoteRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A shadow policy that shall decide from now on; with `keep`, the policy it replaces becomes a shadow."""

    policy: PolicyText
    keep: bool = False


class Override(msgspec.Struct, forbid_unknown_fields=True):
    """An action chosen outside the service: an arm, or several, and its propensity, if that is known."""

    action: ArmName | Annotated[list[ArmName], Meta(min_length=1, max_length=MAX_ARMS)]
    propensity: Annotated[float, Meta(gt=0, le=1)] | None = None


class DecideBase(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A request for a decision. The problem of the deployment says which fields it needs; multi-armed ones need none.

    `unit` is a unit that keeps its arm, with sticky=true. `override` is an action chosen outside, in a log of the past
    or against advice: it is recorded and learned from in place of the policy's own choice.
    """

    unit: Unit | None = None
    override: Override | None = None


DecideRequest: Any = merged("DecideRequest", DecideBase, [family.service.request for family in FAMILIES.values()])


class DecideManyRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Several decisions: all are made or none."""

    decisions: Annotated[list[DecideRequest], Meta(min_length=1, max_length=MAX_ITEMS)]


class LearnBase(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """The outcome of a decision, by its id. The problem of the deployment says which fields an outcome has."""

    id: Id


LearnRequest: Any = merged("LearnRequest", LearnBase, [family.service.outcome for family in FAMILIES.values()])


class LearnManyRequest(msgspec.Struct, forbid_unknown_fields=True):
    """Several outcomes. Each has a status of its own."""

    outcomes: Annotated[list[LearnRequest], Meta(min_length=1, max_length=MAX_ITEMS)]


class CancelRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A decision to cancel."""

    id: Id


class AddArmBase(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """An arm to add, with what the others have: its features, or its type and its activation cost."""

    name: ArmName


AddArmRequest: Any = merged("AddArmRequest", AddArmBase, [family.service.arm for family in FAMILIES.values()])


class RetireArmRequest(msgspec.Struct, forbid_unknown_fields=True):
    """An arm to retire."""

    name: ArmName


class EraseUnitRequest(msgspec.Struct, forbid_unknown_fields=True):
    """A unit whose name and contexts are to be erased."""

    unit: Unit


class CreateKeyRequest(msgspec.Struct, forbid_unknown_fields=True):
    """An API key to create; `expires_in` is in seconds."""

    name: Annotated[str, Meta(min_length=1, max_length=100)]
    scopes: Annotated[list[str], Meta(min_length=1, max_length=4)]
    expires_in: Seconds | None = None
    deployments: Annotated[list[Name], Meta(min_length=1, max_length=100)] | None = None
