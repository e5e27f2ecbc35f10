"""The contracts, as code. Whatever is registered must pass; your own policies, worlds and journals can be checked too.

    from driftwise.checks import check_policy
    check_policy(MyPolicy())

Each check is a function of a policy (or world) that raises `ContractError` with what was promised and what happened.
Where a promise does not apply to a policy of its kind, the check returns a sentence that says why.
"""

from collections.abc import Callable

from driftwise.checks.arms import (
    arms_can_be_renumbered,
    arms_come_and_go,
    names_do_not_matter,
    sizes_follow_the_arms,
)
from driftwise.checks.auto import FAMILY_CHECKS as FAMILY_CHECKS
from driftwise.checks.basics import compiles_once, memory_is_bounded, refuses_other_families, rejects_nonsense
from driftwise.checks.changes import a_changed_problem_is_planned_anew
from driftwise.checks.failures import (
    bare_kernels_cannot_fail,
    blocks_that_fail_change_nothing,
    broken_calls_change_nothing,
    refused_calls_change_nothing,
)
from driftwise.checks.features import (
    bad_features_are_refused,
    features_have_no_unit,
    rows_do_not_matter,
    update_reads_the_chosen_row,
)
from driftwise.checks.journal import JOURNAL_CHECKS as JOURNAL_CHECKS
from driftwise.checks.journal import Open
from driftwise.checks.pending import (
    every_arm_is_tried,
    late_rewards_still_teach,
    pending_is_carried_along,
    pending_leaves_no_trace,
)
from driftwise.checks.restless import (
    crowds_can_be_chosen_from,
    indices_follow_their_arms,
    restless_arms_come_and_go,
    rewards_are_learned_or_refused,
    unseen_arms_teach_nothing,
)
from driftwise.checks.rewards import late_rewards_enter_by_decision, resumes_exactly
from driftwise.checks.runs import (
    blocks_join,
    bytes_come_back,
    loop_equals_verbs,
    no_index_is_out_of_bounds,
    propensities_are_frequencies,
    same_seed_same_run,
    select_reads_only,
    time_stands_still,
)
from driftwise.checks.summaries import (
    summaries_are_what_happened,
    summaries_have_the_unit_of_rewards,
    summarise_reads_only,
)
from driftwise.checks.units import (
    costs_have_no_unit,
    losses_follow_their_weights,
    rewards_have_no_origin,
    rewards_have_no_unit,
    unbounded_rewards_can_be_learned,
)
from driftwise.checks.worlds import WORLD_CHECKS as WORLD_CHECKS
from driftwise.core.family import Family
from driftwise.core.protocols import Policy, World
from driftwise.core.validation import policy_instance, world_instance

Check = Callable[[Policy], str | None]

POLICY_CHECKS: tuple[Check, ...] = (
    rejects_nonsense,
    refuses_other_families,
    no_index_is_out_of_bounds,
    compiles_once,
    memory_is_bounded,
    select_reads_only,
    time_stands_still,
    same_seed_same_run,
    loop_equals_verbs,
    blocks_join,
    bytes_come_back,
    propensities_are_frequencies,
    late_rewards_enter_by_decision,
    pending_leaves_no_trace,
    pending_is_carried_along,
    late_rewards_still_teach,
    every_arm_is_tried,
    resumes_exactly,
    refused_calls_change_nothing,
    broken_calls_change_nothing,
    blocks_that_fail_change_nothing,
    bare_kernels_cannot_fail,
    rewards_have_no_unit,
    unbounded_rewards_can_be_learned,
    rewards_have_no_origin,
    costs_have_no_unit,
    losses_follow_their_weights,
    arms_come_and_go,
    sizes_follow_the_arms,
    arms_can_be_renumbered,
    names_do_not_matter,
    a_changed_problem_is_planned_anew,
    rows_do_not_matter,
    update_reads_the_chosen_row,
    features_have_no_unit,
    bad_features_are_refused,
    restless_arms_come_and_go,
    indices_follow_their_arms,
    unseen_arms_teach_nothing,
    rewards_are_learned_or_refused,
    crowds_can_be_chosen_from,
    summarise_reads_only,
    summaries_are_what_happened,
    summaries_have_the_unit_of_rewards,
)


def check_policy(policy: Policy) -> list[str]:
    """Run every check of a policy; what comes back says which promises do not apply to its kind, and why."""
    policy = policy_instance(policy)
    return [*dict.fromkeys(reason for check in POLICY_CHECKS if (reason := check(policy)))]


def check_world(world: World) -> None:
    """Run every check of a world."""
    world = world_instance(world)
    for check in WORLD_CHECKS:
        check(world)


def check_family(family: Family) -> None:
    """Run every check of a family that is not one of its policies or worlds."""
    for check in FAMILY_CHECKS:
        check(family)


def check_journal(fresh: Callable[[], Open]) -> None:
    """Run every check of a journal. `fresh` makes a new, empty store, and returns what opens it."""
    for check in JOURNAL_CHECKS:
        check(fresh())
