"""What policies that look at features promise besides."""

import numpy as np

from driftwise.agent import Agent
from driftwise.checks._helpers import inside, kind_name
from driftwise.checks.contract import (
    ContractError,
    agent_for,
    decide,
    fixtures_of,
    learn,
    require,
    run_over,
    select,
    short_run,
)
from driftwise.checks.verb_calls import VerbCalls
from driftwise.core.fixtures import ROUNDS, Fixtures, Usage, random_rows
from driftwise.core.protocols import Policy
from driftwise.core.seeding import at, key
from driftwise.core.serialization import equal
from driftwise.core.types import Decision
from driftwise.core.validation import cast
from driftwise.errors import ArmError, DriftwiseError, FeatureError

# By which power of the unit of features a parameter changes, for policies that have the first one.
UNITS = ({"length": 1}, {"ridge": 2, "coverage": 2, "reach": 1, "norm": -1}, {"prior_sd": -1, "reach": 1})


def rows_do_not_matter(policy: Policy) -> str | None:
    """Permuting the rows of a matrix permutes the choice, unless it is drawn with a propensity below 1."""
    fixtures, policy = fixtures_of(policy), cast(policy)
    if not fixtures.has_rows:
        return f"{kind_name(policy)} is shown no rows"
    luck = np.random.default_rng(5)
    state, calls = short_run(policy)[0], VerbCalls.of(policy, fixtures)
    for i in range(100):
        matrix, order = luck.uniform(0.1, 0.3, (6, 1)) * random_rows(luck, 6), luck.permutation(6)
        own, permutation = at(key(7), i), np.ascontiguousarray(matrix[order])
        row, propensity = select(calls, state, ROUNDS, fixtures.context_of(matrix), own)
        other, _ = select(calls, state, ROUNDS, fixtures.context_of(permutation), own)
        before = order[other] if other >= 0 else other  # to choose nothing has no place
        require(bool(row == before or propensity < 1.0), f"{policy} chose row {row}, and {before} of permuted rows")
    return None


def update_reads_the_chosen_row(policy: Policy) -> str | None:
    """What is learned depends on the features of the choice, not on which row they stood in."""
    fixtures, policy = fixtures_of(policy), cast(policy)
    if not fixtures.has_rows:
        return f"{kind_name(policy)} is shown no rows"
    one, other, luck = policy.init(fixtures.problem), policy.init(fixtures.problem), np.random.default_rng(6)
    verbs = VerbCalls.of(policy, fixtures)
    for t in range(100):
        row, outcome, own = fixtures.row(luck), fixtures.kernel_outcome(luck), at(key(8), t)
        for state, action in (one, 0), (other, int(luck.integers(fixtures.problem.n_arms))):
            verbs.advance(state, t, own)
            verbs.update(state, Decision(t, action, 1.0, row, own), outcome, t)
    require(equal(one, other), f"{policy} learned something from the number of a row")
    return None


def features_have_no_unit(policy: Policy) -> str | None:
    """Features twice as large, and bounds and priors changed to match, lead to the same choices, bit for bit."""
    fixtures = fixtures_of(policy)
    doubled = _doubled(policy)
    if not fixtures.has_rows or doubled is None:
        return f"{kind_name(policy)} has nothing that could follow the unit of features"
    tape, nature = fixtures.world.draw(ROUNDS, seed=1)
    _, once = run_over(fixtures, policy, tape, nature, key(2), ROUNDS)
    tape, nature = fixtures.world.draw(ROUNDS, seed=1)
    _, twice = run_over(fixtures, doubled, tape._replace(sets=2.0 * tape.sets), nature, key(2), ROUNDS)
    same = bool((once.actions == twice.actions).all())
    require(same, f"{policy} chose differently when features were twice as large: {doubled}")
    return None


def bad_features_are_refused(policy: Policy) -> str | None:
    """Features that are missing, ragged, not finite, all zero or too large are refused, and change nothing.

    Large ones may be met too late, when their reward comes; then too the agent goes on with others.
    """
    fixtures = fixtures_of(policy)
    if not fixtures.has_rows:
        return f"{kind_name(policy)} is shown no rows"
    luck = np.random.default_rng(7)
    for how, usage in fixtures.usages.items():
        agent = agent_for(policy, usage, seed=1)
        for _ in range(20):
            learn(agent, decide(agent, usage, luck), fixtures.outcome(luck, agent.arms))
        before = agent.dumps()
        for request in usage.bad_requests:
            try:
                agent.decide(**request)
            except (FeatureError, ArmError):
                require(agent.dumps() == before, f"{policy} ({how}) changed although {request} was refused")
            else:
                raise ContractError(f"{policy} ({how}) decided on {request}")
        if "actions" in usage.request(luck, agent.arms):
            _survives(agent, fixtures, usage, 900.0, f"{policy} ({how})")
    return None


def _doubled(policy: Policy) -> Policy | None:
    """The same policy where features are twice as large; None when nothing in it has their unit."""
    if (inner := inside(policy)) is not None:
        changed_inner = _doubled(inner)
        return None if changed_inner is None else policy._replace(policy=changed_inner)
    powers = next((powers for powers in UNITS if next(iter(powers)) in policy._fields), {})
    changed = {name: getattr(policy, name) * 2.0**power for name, power in powers.items() if name in policy._fields}
    return policy._replace(**changed) if changed else None


def _survives(agent: Agent, fixtures: Fixtures, usage: Usage, scale: float, who: str) -> None:
    """Rows large and nearly alike, which no regression can tell apart, and ordinary ones after them."""
    luck = np.random.default_rng(8)
    for _ in range(40):
        request = {name: scale + value for name, value in usage.request(luck, agent.arms).items()}
        before = agent.dumps()
        try:
            decision = agent.decide(**request)
            before = agent.dumps()
            learn(agent, decision, fixtures.outcome(luck, agent.arms))
        except FeatureError:
            require(agent.dumps() == before, f"{who} changed although features {scale:g} long were refused")
    try:
        for _ in range(40):
            learn(agent, decide(agent, usage, luck), fixtures.outcome(luck, agent.arms))
    except DriftwiseError as error:
        raise ContractError(f"{who} could not go on after features {scale:g} long: {error}") from None
