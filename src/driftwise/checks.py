"""The contracts, as code. Whatever is registered must pass; your own policies and worlds can be checked too.

    from driftwise.checks import check_policy
    check_policy(MyPolicy())

Each check is a function of a policy (or world) that raises `ContractError` with what was promised and what happened.
Where a promise is not made to a policy of its kind, the check returns a sentence that says why.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.agent import Agent
from driftwise.core import verbs
from driftwise.core.context import decision_of
from driftwise.core.kernel import kinds
from driftwise.core.play import play
from driftwise.core.rules import cast
from driftwise.core.seeding import at, key
from driftwise.core.state import arrays, clone, dump, equal, lasting, load, regroup
from driftwise.core.types import Decision
from driftwise.errors import ArmError, DecisionError, DriftwiseError, FeatureError, ParameterError, RewardError
from driftwise.grounds import (
    DIM,
    NAMES,
    ROUNDS,
    ContractError,
    Way,
    ground_of,
    require,
    rows,
)
from driftwise.world_checks import WORLD_CHECKS as WORLD_CHECKS

Check = Callable[[Any], str | None]


def check_policy(policy: Any) -> list[str]:
    """Run every check of a policy; what comes back says which promises are not made to its kind, and why."""
    return [reason for check in POLICY_CHECKS if (reason := check(policy))]


def check_world(world: Any) -> None:
    """Run every check of a world."""
    for check in WORLD_CHECKS:
        check(world)


# ---- what a policy is ----


def rejects_nonsense(policy: Any) -> None:
    """`init` refuses parameters that are not what they should be, and problems without choices: `ParameterError`."""
    problem: Any = ground_of(policy).problem
    for name in policy._fields:
        wrong = (np.nan, np.inf, "x", None) + ((0, -1, 2.5) if name == "window" else ())
        for value in wrong:
            _refuses(lambda bad: cast(bad).init(problem), policy._replace(**{name: value}), f"{name}={value}")
    sizes = {"n_arms": 1, "dim": problem.dim, "slate": problem.slate}
    for name in (name for name, size in sizes.items() if size):
        for size in (0, -1, 1.5):
            _refuses(lambda bad: policy.init(bad), problem._replace(**{name: size}), f"{name}={size}")


def compiles_once(policy: Any) -> None:
    """Whole numbers written as floats, or floats as whole numbers, do not compile the loop again."""
    before = _signatures(policy)
    for kind in (float, int):
        ground_of(policy).played(_rewritten(policy, kind))
    require(before == _signatures(policy) == 1, f"the loop was compiled {_signatures(policy)} times for {policy}")


def memory_is_bounded(policy: Any) -> None:
    """A state does not grow with the rounds played, nor with the horizon: one with a policy inside, as its root."""
    ground, policy = ground_of(policy), cast(policy)
    sizes = {_bytes(ground.played(policy, rounds)[0]) for rounds in (10, ROUNDS)}
    require(len(sizes) == 1, f"the state of {policy} takes {sorted(sizes)} bytes, by the rounds played")
    short, long = (_bytes(policy.init(ground.problem._replace(horizon=10**power))) for power in (4, 6))
    most = 11 * short if _inside(policy) else short
    require(long <= most, f"the state of {policy} takes {short} bytes for 10^4 rounds and {long} for 10^6")


# ---- a run ----


def select_reads_only(policy: Any) -> None:
    """`select` leaves the state as it was, and answers with something that exists."""
    ground, policy, luck = ground_of(policy), cast(policy), np.random.default_rng(0)
    state = ground.played(policy)[0]
    before, n_arms = clone(state), ground.problem.n_arms
    for t in range(ROUNDS, ROUNDS + 50):
        action, propensity = ground.select(policy, state, ROUNDS, ground.any_context(luck), at(key(3), t))
        chosen = action if isinstance(action, tuple) else (action,)
        exist = all(isinstance(each, int) and 0 <= each < n_arms for each in chosen)
        right = exist and len(set(chosen)) == max(1, ground.problem.slate)
        require(right, f"{policy} chose {action!r} of {n_arms}")
        require(np.isnan(propensity) or 0.0 < propensity <= 1.0, f"{policy} gave the propensity {propensity}")
    require(equal(before, state), f"select of {policy} changed the state")


def same_seed_same_run(policy: Any) -> None:
    """A run is a function of policy, world and seed."""
    one, other = (ground_of(policy).played(policy) for _ in range(2))
    require(equal(one[0], other[0]), f"two runs of {policy} with one seed ended in different states")
    require(bool((one[1].actions == other[1].actions).all()), f"two runs of {policy} with one seed chose differently")


def loop_equals_verbs(policy: Any) -> None:
    """The compiled loop gives the same bits as calling one verb after another."""
    ground, policy = ground_of(policy), cast(policy)
    state, trace = ground.played(policy)
    tape, nature = ground.world.draw(ROUNDS, seed=1)
    by_hand, rng = policy.init(ground.problem), key(2)
    for t in range(ROUNDS):
        own, context = at(rng, t), ground.context(tape, t)
        verbs.advance(policy, by_hand, t, own)
        action, propensity = verbs.select(policy, by_hand, t, context, own)
        there = bool(np.all(action == trace.actions[t]))
        require(there, f"{policy} chose {trace.actions[t]} in the loop and {action} by hand, round {t}")
        outcome = verbs.respond(tape, nature, t, action)
        verbs.update(policy, by_hand, decision_of(t, action, propensity, context, action, own), outcome, t)
    require(equal(state, by_hand), f"{policy} ended in another state by hand than in the loop")


def blocks_join(policy: Any) -> None:
    """A run cut into blocks is the same run."""
    ground, policy = ground_of(policy), cast(policy)
    whole_state, whole_trace = ground.played(policy)
    state, rng, actions = policy.init(ground.problem), key(2), []
    for tape in ground.world.tapes(ROUNDS, seed=1, size=97):
        trace = ground.trace(tape.start, len(tape.noise))
        play(policy, state, tape, ground.world.nature(), rng, trace, ROUNDS)
        actions.append(trace.actions)
    require(bool((np.concatenate(actions) == whole_trace.actions).all()), f"{policy} chose differently in blocks")
    require(equal(state, whole_state), f"{policy} ended differently when played in blocks")


def bytes_come_back(policy: Any) -> None:
    """`dump` and `load` give the same state, bit for bit."""
    ground = ground_of(policy)
    state = ground.played(policy)[0]
    again = load(dump(state), cast(policy).init(ground.problem))
    require(equal(state, again), f"the state of {policy} did not survive dump and load")


def propensities_are_frequencies(policy: Any) -> str | None:
    """Where a propensity is told, actions are chosen that often (binomial, 5 standard errors)."""
    ground, policy, draws = ground_of(policy), cast(policy), 4000
    state, context = ground.played(policy)[0], ground.any_context(np.random.default_rng(2))
    told: dict[Any, float] = {}
    chosen: dict[Any, int] = {}
    for i in range(draws):
        action, propensity = ground.select(policy, state, ROUNDS, context, at(key(6), i))
        told[action], chosen[action] = propensity, chosen.get(action, 0) + 1
    if all(np.isnan(list(told.values()))):
        return f"{_name(policy)} tells no propensities"
    for action in (action for action in told if not np.isnan(told[action])):
        error, rate = np.sqrt(told[action] * (1.0 - told[action]) / draws), chosen[action] / draws
        close = abs(rate - told[action]) <= 5.0 * error
        require(bool(close), f"{policy} told {told[action]:.3f} for {action} and chose it {rate:.3f}")
    return None


# ---- rewards ----


def late_rewards_enter_by_decision(policy: Any) -> str | None:
    """In a window it does not matter when or in which order rewards came, only which rounds they belong to."""
    ground, policy = ground_of(policy), cast(policy)
    in_order, shuffled = (policy.init(ground.problem) for _ in range(2))
    if not hasattr(in_order, "window"):
        return f"{_name(policy)} has no window: what becomes of a late reward is told in its file"
    window = shuffled.window
    size = min(len(window.rewards), 40)
    luck, rng = np.random.default_rng(1), key(4)
    log = [
        (Decision(t, ground.any_action(luck), np.nan, ground.any_row(luck), at(rng, t)), ground.any_outcome(luck))
        for t in range(size)
    ]
    for decision, outcome in log:
        verbs.update(policy, in_order, decision, outcome, decision.t)
    for i in luck.permutation(size):
        for _ in range(2):  # a duplicate changes nothing
            verbs.update(policy, shuffled, *log[i], size - 1)
    require(_alike(in_order, shuffled), f"{policy} remembers shuffled rewards otherwise than ordered ones")
    before = int(window.stale[0])
    verbs.update(policy, shuffled, *log[0], size + len(window.rewards))
    require(int(window.stale[0]) == before + 1, f"{policy} did not count a stale reward")
    held = window.counts if hasattr(window, "counts") else window.filled
    require(int(held.sum()) == 0, f"{policy} still counts rounds that left its window")
    return None


def resumes_exactly(policy: Any) -> None:
    """An agent saved and loaded at any moment, decisions pending, continues bit for bit."""
    ground = ground_of(policy)
    for how, way in ground.ways.items():
        straight, broken = (way.agent(policy, seed=5) for _ in range(2))
        luck = np.random.default_rng(0)
        for _ in range(ROUNDS):
            told = way.told(luck)
            decision, twin = straight.decide(**told), broken.decide(**told)
            require(decision == twin, f"{policy} ({how}) resumed and then decided {twin}, not {decision}")
            while straight.pending and luck.random() < 0.55:  # rewards come late and in any order
                late, reward = int(luck.choice(straight.pending)), ground.any_reward(luck)
                straight.learn(late, reward)
                broken.learn(late, reward)
            if luck.random() < 0.05:
                broken = Agent.loads(broken.dumps(), policy=type(policy))
        require(straight.dumps() == broken.dumps(), f"{policy} ({how}) ended in another state after being resumed")


def refuses_and_stays(policy: Any) -> None:
    """Bad rewards and unknown decisions are refused with a sentence, and change nothing."""
    ground = ground_of(policy)
    luck = np.random.default_rng(3)
    for way in ground.ways.values():
        agent = way.agent(policy, seed=1)
        answered, open_one = (agent.decide(**way.told(luck)) for _ in range(2))
        good = ground.any_reward(luck)
        agent.learn(answered, good)
        bad = (np.nan, np.inf, 1.5, "much")
        rewards = [[0.0, each] for each in bad] + [[0.0], 0.5] if ground.family == "slates" else [*bad, [0.0]]
        attempts: list[tuple[Any, Any, type[Exception]]] = [(open_one, each, RewardError) for each in rewards]
        attempts += [(each, good, DecisionError) for each in (answered, 99, -1, "first")]
        before = agent.dumps()
        for decision, reward, error in attempts:
            try:
                agent.learn(decision, reward)
            except error:
                require(agent.dumps() == before, f"{policy} changed although {reward!r} for {decision!r} was refused")
            else:
                raise ContractError(f"{policy} took the reward {reward!r} for decision {decision!r}")


# ---- arms ----


def arms_come_and_go(policy: Any) -> None:
    """A retired arm is never chosen again, and ignored where it takes its knowledge along; a new arm is tried."""
    luck = np.random.default_rng(4)
    for how, way in _named_ways(policy):
        agent = way.agent(policy, seed=2)
        _live(agent, way, luck, "b")
        waiting = _decided(agent, way, luck, "b")
        agent.retire_arm("b")
        agent.learn(waiting, _paid(waiting, "b"))
        require(agent.ignored == way.forgets, f"{policy} ({how}) ignored {agent.ignored} rewards of a retired arm")
        agent.add_arm("d", **way.brings)
        chosen = _live(agent, way, luck, "d")
        require(not any(_has(each, "b") for each in chosen), f"{policy} ({how}) chose a retired arm")
        require(any(_has(each, "d") for each in chosen), f"{policy} ({how}) never tried a new arm")


def sizes_follow_the_arms(policy: Any) -> None:
    """A state that has learned nothing yet and is moved to other arms, or features, is as if made for them."""
    ground, policy = ground_of(policy), cast(policy)
    problem, name = ground.problem, "dim" if ground.family == "features" else "n_arms"
    if hasattr(policy, "settled"):  # what it sizes by the arms stays by choice
        policy = policy.settled(problem)
    for kept in ([0, 1, 2, 3, -1], [0, 2, 3]):
        made = problem._replace(**{name: len(kept)})
        arms, columns = (range(problem.n_arms), kept) if name == "dim" else (kept, None)
        moved = regroup(policy.init(problem), policy.init(made), arms, columns)
        wrong = _differences(moved, policy.init(made))
        require(
            not wrong,
            f"{policy}, moved from {getattr(problem, name)} to {len(kept)}, has still the old {', '.join(wrong)}",
        )


def arms_can_be_renumbered(policy: Any) -> None:
    """Regrouping arms, or features, and grouping them back gives the same state, up to what is recomputed."""
    ground, policy = ground_of(policy), cast(policy)
    state, order = ground.played(policy)[0], [2, 0, 3, 1, *range(4, ground.problem.n_arms)]
    back = [order.index(k) for k in range(len(order))]
    for one, other in (order, back), (back, order):
        columns = (one, other) if ground.family == "features" else (None, None)
        there = regroup(state, policy.init(ground.problem), one, columns[0])
        again = regroup(there, policy.init(ground.problem), other, columns[1])
        require(_alike(state, again), f"the state of {policy} changed when arms were renumbered and back")


def names_do_not_matter(policy: Any) -> str | None:
    """Permuting the arms of the world permutes how often they are chosen (a z-test; false alarms below 1e-4)."""
    ground, runs, rounds = ground_of(policy), 80, 400
    if ground.family == "features":
        return f"{_name(policy)} chooses rows: `rows_do_not_matter` asks more of it"
    n_arms = ground.problem.n_arms
    if getattr(policy, "shortest", 8 * n_arms) < 8 * n_arms:
        return f"{_name(policy)} tries windows that hardly hold all arms: in those the lowest numbers are tried first"
    order = np.array([2, 0, 3, 1, *range(4, n_arms)])
    pulls = np.zeros((2, runs, n_arms))
    for run in range(runs):
        tape, nature = ground.world.draw(rounds, seed=run)
        turned = tape._replace(levels=tape.levels._replace(table=np.ascontiguousarray(tape.levels.table[:, order])))
        for side, world in enumerate((tape, turned)):
            _, trace = ground.play(policy, world, nature, key(run, side), rounds)
            pulls[side, run] = np.bincount(trace.actions.ravel(), minlength=n_arms)
    gaps = pulls[0][:, order] - pulls[1]
    z = gaps.mean(axis=0) / (gaps.std(axis=0, ddof=1) / np.sqrt(runs) + 1.0 / runs)
    require(bool((np.abs(z) < 4.5).all()), f"{policy} treats arms by their number: z={z.round(1)}")
    return None


# ---- features ----


def rows_do_not_matter(policy: Any) -> str | None:
    """Permuting the rows of a matrix permutes the choice, wherever it is not drawn by a number told as propensity."""
    ground, policy = ground_of(policy), cast(policy)
    if ground.family != "features":
        return f"{_name(policy)} is shown no rows"
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
        return f"{_name(policy)} is shown no rows"
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
        return f"{_name(policy)} has nothing that could follow the unit of features"
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
        return f"{_name(policy)} is shown no rows"
    luck = np.random.default_rng(7)
    for how, way in ground.ways.items():
        agent = way.agent(policy, seed=1)
        for _ in range(20):
            agent.learn(agent.decide(**way.told(luck)), ground.any_reward(luck))
        before = agent.dumps()
        for told in _bad_features(way):
            try:
                agent.decide(**told)
            except (FeatureError, ArmError):
                require(agent.dumps() == before, f"{policy} ({how}) changed although {told} was refused")
            else:
                raise ContractError(f"{policy} ({how}) decided on {told}")
        if "features" in way.made:
            _survives(agent, way, 900.0, f"{policy} ({how})")
    return None


POLICY_CHECKS: tuple[Check, ...] = (
    rejects_nonsense,
    compiles_once,
    memory_is_bounded,
    select_reads_only,
    same_seed_same_run,
    loop_equals_verbs,
    blocks_join,
    bytes_come_back,
    propensities_are_frequencies,
    late_rewards_enter_by_decision,
    resumes_exactly,
    refuses_and_stays,
    arms_come_and_go,
    sizes_follow_the_arms,
    arms_can_be_renumbered,
    names_do_not_matter,
    rows_do_not_matter,
    update_reads_the_chosen_row,
    features_have_no_unit,
    bad_features_are_refused,
)


# ---- what the checks share ----

# By which power of the unit of features a parameter changes, for policies that have the first one.
UNITS = ({"length": 1}, {"ridge": 2, "coverage": 2, "reach": 1, "norm": -1}, {"prior_sd": -1, "reach": 1})


def _name(policy: Any) -> str:
    return type(policy).__name__


def _inside(policy: Any) -> Any:
    """The policy inside a policy, if there is one."""
    return getattr(policy, "policy", None)


def _refuses(action: Callable[[Any], Any], bad: Any, what: str) -> None:
    try:
        action(bad)
    except ParameterError:
        return
    raise ContractError(f"{what} was accepted")


def _rewritten(policy: Any, kind: type) -> Any:
    """The same policy, with whole numbers written as `kind`."""
    plain = {name: value for name, value in policy._asdict().items() if isinstance(value, int | float)}
    changed = {name: kind(value) for name, value in plain.items() if value == int(value)}
    inner = _inside(policy)
    return policy._replace(**changed | ({} if inner is None else {"policy": _rewritten(inner, kind)}))


def _doubled(policy: Any) -> Any:
    """The same policy where features are twice as large; None when nothing in it has their unit."""
    if _inside(policy) is not None:
        inner = _doubled(_inside(policy))
        return inner and policy._replace(policy=inner)
    powers = next((powers for powers in UNITS if next(iter(powers)) in policy._fields), {})
    changed = {name: getattr(policy, name) * 2.0**power for name, power in powers.items() if name in policy._fields}
    return policy._replace(**changed) if changed else None


def _bytes(state: Any) -> int:
    return sum(array.nbytes for _, array in arrays(state, but=()))


def _differences(one: Any, other: Any) -> list[str]:
    """The arrays that differ beyond the last bits of sums; caches do not count."""
    pairs = zip(lasting(one), lasting(other), strict=True)
    return [
        path
        for (path, a), (_, b) in pairs
        if a.shape != b.shape or not np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True)
    ]


def _alike(one: Any, other: Any) -> bool:
    return not _differences(one, other)


def _signatures(policy: Any) -> int:
    """How often the loop has been compiled for a policy."""
    ground = ground_of(policy)
    state, trace = ground.played(policy)
    tape, nature = ground.world.draw(ROUNDS, seed=1)
    arguments = (cast(policy), state, tape, nature, key(0), trace, ROUNDS)
    return len(play.entry(*kinds(arguments)).signatures)


def _named_ways(policy: Any) -> list[tuple[str, Way]]:
    return [(how, way) for how, way in ground_of(policy).ways.items() if way.named]


def _has(decision: Decision, name: str) -> bool:
    return name in decision.action if isinstance(decision.action, tuple) else decision.action == name


def _paid(decision: Decision, name: str) -> Any:
    """One for an arm of that name, nothing for others."""
    slate = isinstance(decision.action, tuple)
    return [float(each == name) for each in decision.action] if slate else float(decision.action == name)


def _live(agent: Agent, way: Way, luck: Any, best: str, rounds: int = 300) -> list[Decision]:
    """Some rounds in which only one arm pays; the decisions."""
    decisions = []
    for _ in range(rounds):
        decision = agent.decide(**way.told(luck))
        agent.learn(decision, _paid(decision, best))
        decisions.append(decision)
    return decisions


def _decided(agent: Agent, way: Way, luck: Any, name: str) -> Decision:
    """The next decision for an arm, its reward still to come."""
    for _ in range(2000):
        decision = agent.decide(**way.told(luck))
        if _has(decision, name):
            return decision
        agent.learn(decision, _paid(decision, name))
    raise ContractError(f"{agent.policy} did not choose in 2000 rounds the one arm that pays")


def _bad_features(way: Way) -> list[dict[str, Any]]:
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
