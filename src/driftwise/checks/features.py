"""What policies that look at features promise besides."""

from typing import Any

import numpy as np

from driftwise.agent import Agent
from driftwise.checks.alike import called, inside
from driftwise.checks.grounds import DIM, NAMES, ROUNDS, ContractError, Way, ground_of, require, rows
from driftwise.core import verbs
from driftwise.core.rules import cast
from driftwise.core.seeding import at, key
from driftwise.core.state import equal
from driftwise.core.types import Decision
from driftwise.errors import ArmError, DriftwiseError, FeatureError

# By which power of the unit of features a parameter changes, for policies that have the first one.
UNITS = ({"length": 1}, {"ridge": 2, "coverage": 2, "reach": 1, "norm": -1}, {"prior_sd": -1, "reach": 1})


def rows_do_not_matter(policy: Any) -> str | None:
    """Permuting the rows of a matrix permutes the choice, wherever it is not drawn by a number told as propensity."""
    ground, policy = ground_of(policy), cast(policy)
    if ground.family != "features":
        return f"{called(policy)} is shown no rows"
    luck = np.random.default_rng(5)
    state = ground.played(policy)[0]
    for i in range(100):
        matrix, order = luck.uniform(0.1, 0.3, (6, 1)) * rows(luck, 6), luck.permutation(6)
        own, turned = at(key(7), i), np.ascontiguousarray(matrix[order])
        row, propensity = ground.select(policy, state, ROUNDS, matrix, own)
        other, _ = ground.select(policy, state, ROUNDS, turned, own)
        same = row == order[other] or propensity < 1.0
        require(bool(same), f"{policy} chose row {row}, and row {order[other]} when rows were permuted")
    return None


def update_reads_the_chosen_row(policy: Any) -> str | None:
    """What is learned depends on the features of the choice, not on which row they stood in."""
    ground, policy = ground_of(policy), cast(policy)
    if ground.family != "features":
        return f"{called(policy)} is shown no rows"
    one, other, luck = policy.init(ground.problem), policy.init(ground.problem), np.random.default_rng(6)
    for t in range(100):
        row, outcome, own = ground.any_row(luck), ground.any_outcome(luck), at(key(8), t)
        for state, action in (one, 0), (other, int(luck.integers(ground.problem.n_arms))):
            verbs.advance(policy, state, t, own)
            verbs.update(policy, state, Decision(t, action, 1.0, row, own), outcome, t)
    require(equal(one, other), f"{policy} learned something from the number of a row")
    return None


def features_have_no_unit(policy: Any) -> str | None:
    """Features twice as large, and bounds and priors changed to match, lead to the same choices, bit for bit."""
    ground = ground_of(policy)
    doubled = _doubled(policy)
    if ground.family != "features" or doubled is None:
        return f"{called(policy)} has nothing that could follow the unit of features"
    tape, nature = ground.world.draw(ROUNDS, seed=1)
    _, once = ground.play(policy, tape, nature, key(2), ROUNDS)
    _, twice = ground.play(doubled, tape._replace(sets=2.0 * tape.sets), nature, key(2), ROUNDS)
    same = bool((once.actions == twice.actions).all())
    require(same, f"{policy} chose differently when features were twice as large: {doubled}")
    return None


def bad_features_are_refused(policy: Any) -> str | None:
    """Features that are missing, ragged, not finite, all zero or too large are refused, and change nothing.

    Large ones may be met too late, when their reward comes; then too the agent goes on with others.
    """
    ground = ground_of(policy)
    if ground.family != "features":
        return f"{called(policy)} is shown no rows"
    luck = np.random.default_rng(7)
    for how, way in ground.ways.items():
        agent = way.agent(policy, seed=1)
        for _ in range(20):
            way.answer(agent, agent.decide(**way.told(luck)), ground.any_told(luck))
        before = agent.dumps()
        for told in bad_features(way):
            try:
                agent.decide(**told)
            except (FeatureError, ArmError):
                require(agent.dumps() == before, f"{policy} ({how}) changed although {told} was refused")
            else:
                raise ContractError(f"{policy} ({how}) decided on {told}")
        if "features" in way.made:
            _survives(agent, way, 900.0, f"{policy} ({how})")
    return None


def _doubled(policy: Any) -> Any:
    """The same policy where features are twice as large; None when nothing in it has their unit."""
    if inside(policy) is not None:
        inner = _doubled(inside(policy))
        return inner and policy._replace(policy=inner)
    powers = next((powers for powers in UNITS if next(iter(powers)) in policy._fields), {})
    changed = {name: getattr(policy, name) * 2.0**power for name, power in powers.items() if name in policy._fields}
    return policy._replace(**changed) if changed else None


def bad_features(way: Way) -> list[dict[str, Any]]:
    """What an agent must refuse, by what it was made to be told."""
    if "features" in way.made:
        nan, huge = np.ones((3, DIM)), np.ones((3, DIM))
        nan[1, 2], huge[2, 1] = np.nan, 1e300
        wrong = [[], np.ones((0, DIM)), np.ones(DIM), np.ones((2, DIM - 1)), [[1.0] * DIM, [1.0]], "rows"]
        return [{}, *({"actions": each} for each in (*wrong, nan, huge, np.zeros((3, DIM)), dict.fromkeys(NAMES)))]
    if "context" in way.made:
        wrong = [[], [1.0], np.ones((1, 2)), [np.inf, 1.0], [0.0, 0.0], [1e300, 1.0], "xy"]
        return [{}, {"actions": np.ones((3, 2))}, *({"context": each} for each in wrong)]
    return [{"actions": np.ones((3, DIM))}, {"context": [1.0, 1.0]}]


def _survives(agent: Agent, way: Way, scale: float, who: str) -> None:
    """Rows large and nearly alike, which no regression can tell apart, and ordinary ones after them."""
    luck = np.random.default_rng(8)
    for _ in range(40):
        told = {name: scale + value for name, value in way.told(luck).items()}
        before = agent.dumps()
        try:
            decision = agent.decide(**told)
            before = agent.dumps()
            agent.learn(decision, float(luck.random()))
        except FeatureError:
            require(agent.dumps() == before, f"{who} changed although features {scale:g} long were refused")
    try:
        for _ in range(40):
            agent.learn(agent.decide(**way.told(luck)), float(luck.random()))
    except DriftwiseError as error:
        raise ContractError(f"{who} could not go on after features {scale:g} long: {error}") from None
