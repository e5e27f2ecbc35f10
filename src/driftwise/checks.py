"""The contracts, as code. Whatever is registered must pass; your own policies and worlds can be checked too.

    from driftwise.checks import check_policy
    check_policy(MyPolicy())

Each check is a function of a policy (or world) that raises `ContractError` with what was promised and what happened.
"""

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from driftwise.agent import Agent
from driftwise.core import verbs
from driftwise.core.kernel import kinds
from driftwise.core.play import play
from driftwise.core.rules import cast
from driftwise.core.seeding import at, key
from driftwise.core.state import arrays, clone, dump, equal, lasting, load, regroup
from driftwise.core.types import Decision, Outcome, Problem, Trace, new_trace
from driftwise.errors import DecisionError, DriftwiseError, ParameterError, RewardError
from driftwise.policies import Uniform
from driftwise.worlds import Abrupt

ARMS, ROUNDS, HORIZON = 4, 600, 2000
PROBLEM = Problem(ARMS, horizon=HORIZON)


class ContractError(DriftwiseError, AssertionError):
    """A promise was broken."""


def check_policy(policy: Any) -> None:
    """Run every check of a policy."""
    for check in POLICY_CHECKS:
        check(policy)


def check_world(world: Any) -> None:
    """Run every check of a world."""
    for check in WORLD_CHECKS:
        check(world)


# ---- policies ----


def rejects_nonsense(policy: Any) -> None:
    """`init` refuses parameters that are not numbers, and problems without arms, with a `ParameterError`."""
    for name in policy._fields:
        wrong = (np.nan, np.inf, "x", None) + ((0, -1, 2.5) if name == "window" else ())
        for value in wrong:
            _refuses(lambda bad: cast(bad).init(PROBLEM), policy._replace(**{name: value}), f"{name}={value}")
    for n_arms in (0, -1, 1.5):
        _refuses(lambda bad: policy.init(PROBLEM._replace(n_arms=bad)), n_arms, f"n_arms={n_arms}")


def select_reads_only(policy: Any) -> None:
    """`select` leaves the state as it was, and answers with an arm that exists."""
    state = _played(policy)[0]
    before = clone(state)
    for t in range(ROUNDS, ROUNDS + 50):
        arm, propensity = verbs.select(policy, state, ROUNDS, (), at(key(3), t))
        _require(isinstance(arm, int) and 0 <= arm < ARMS, f"{policy} chose arm {arm!r} of {ARMS}")
        _require(np.isnan(propensity) or 0.0 < propensity <= 1.0, f"{policy} gave the propensity {propensity}")
    _require(equal(before, state), f"select of {policy} changed the state")


def same_seed_same_run(policy: Any) -> None:
    """A run is a function of policy, world and seed."""
    one, other = _played(policy), _played(policy)
    _require(equal(one[0], other[0]), f"two runs of {policy} with one seed ended in different states")
    _require(bool((one[1].actions == other[1].actions).all()), f"two runs of {policy} with one seed chose differently")


def loop_equals_verbs(policy: Any) -> None:
    """The compiled loop gives the same bits as calling one verb after another."""
    policy = cast(policy)
    state, trace = _played(policy)
    tape, nature = _world().draw(ROUNDS, seed=1)
    by_hand, rng = policy.init(PROBLEM), key(2)
    for t in range(ROUNDS):
        verbs.advance(policy, by_hand, t)
        own = at(rng, t)
        arm, propensity = verbs.select(policy, by_hand, t, (), own)
        _require(arm == trace.actions[t], f"{policy} chose {trace.actions[t]} in the loop and {arm} by hand, round {t}")
        outcome = verbs.respond(tape, nature, t, arm)
        verbs.update(policy, by_hand, Decision(t, arm, propensity, (), own), outcome, t)
    _require(equal(state, by_hand), f"{policy} ended in another state by hand than in the loop")


def blocks_join(policy: Any) -> None:
    """A run cut into blocks is the same run."""
    whole_state, whole_trace = _played(policy)
    policy = cast(policy)
    state, rng, actions = policy.init(PROBLEM), key(2), []
    for tape in _world().tapes(ROUNDS, seed=1, size=97):
        trace = new_trace(tape.start, len(tape.noise))
        play(policy, state, tape, _world().nature(), rng, trace, ROUNDS)
        actions.append(trace.actions)
    _require(bool((np.concatenate(actions) == whole_trace.actions).all()), f"{policy} chose differently in blocks")
    _require(equal(state, whole_state), f"{policy} ended differently when played in blocks")


def bytes_come_back(policy: Any) -> None:
    """`dump` and `load` give the same state, bit for bit."""
    state = _played(policy)[0]
    again = load(dump(state), cast(policy).init(PROBLEM))
    _require(equal(state, again), f"the state of {policy} did not survive dump and load")


def resumes_exactly(policy: Any) -> None:
    """An agent saved and loaded at any moment, decisions pending, continues bit for bit."""
    straight, broken = (Agent(policy, n_arms=ARMS, horizon=HORIZON, seed=5) for _ in range(2))
    luck = np.random.default_rng(0)
    for _ in range(ROUNDS):
        decision, twin = straight.decide(), broken.decide()
        _require(decision == twin, f"{policy} resumed and then decided {twin}, not {decision}")
        while straight.pending and luck.random() < 0.55:  # rewards come late and in any order
            late = int(luck.choice(straight.pending))
            reward = float(luck.random() < 0.5)
            straight.learn(late, reward)
            broken.learn(late, reward)
        if luck.random() < 0.05:
            broken = Agent.loads(broken.dumps(), policy=type(policy))
    _require(straight.dumps() == broken.dumps(), f"{policy} ended in another state after being resumed")


def late_rewards_enter_by_decision(policy: Any) -> None:
    """In a window it does not matter when or in which order rewards came, only which rounds they belong to."""
    policy = cast(policy)
    in_order, shuffled = (policy.init(PROBLEM) for _ in range(2))
    if not hasattr(in_order, "window"):
        return
    size = min(len(in_order.window.arms), 40)
    luck, rng = np.random.default_rng(1), key(4)
    log = [
        (Decision(t, int(luck.integers(ARMS)), np.nan, (), at(rng, t)), float(luck.integers(2))) for t in range(size)
    ]
    for decision, reward in log:
        verbs.update(policy, in_order, decision, Outcome(reward), decision.t)
    for i in luck.permutation(size):
        verbs.update(policy, shuffled, log[i][0], Outcome(log[i][1]), size - 1)
        verbs.update(policy, shuffled, log[i][0], Outcome(log[i][1]), size - 1)  # a duplicate changes nothing
    _require(_alike(in_order, shuffled), f"{policy} remembers shuffled rewards otherwise than ordered ones")
    before = int(shuffled.window.stale[0])
    now = size + len(shuffled.window.arms)
    verbs.update(policy, shuffled, log[0][0], Outcome(1.0), now)
    _require(int(shuffled.window.stale[0]) == before + 1, f"{policy} did not count a stale reward")
    _require(int(shuffled.window.counts.sum()) == 0, f"{policy} still counts rounds that left its window")


def refuses_and_stays(policy: Any) -> None:
    """Bad rewards and unknown decisions are refused with a sentence, and change nothing."""
    agent = Agent(policy, n_arms=ARMS, horizon=HORIZON, seed=1)
    answered, open_one = agent.decide(), agent.decide()
    agent.learn(answered, 1.0)
    before = agent.dumps()
    attempts: list[tuple[Any, Any, type[Exception]]] = [
        (open_one, np.nan, RewardError),
        (open_one, np.inf, RewardError),
        (open_one, 1.5, RewardError),
        (open_one, "much", RewardError),
        (answered, 1.0, DecisionError),
        (99, 1.0, DecisionError),
        (-1, 1.0, DecisionError),
        ("first", 1.0, DecisionError),
    ]
    for decision, reward, error in attempts:
        try:
            agent.learn(decision, reward)
        except error:
            _require(agent.dumps() == before, f"{policy} changed although {reward!r} for {decision!r} was refused")
        else:
            raise ContractError(f"{policy} took the reward {reward!r} for decision {decision!r}")


def arms_come_and_go(policy: Any) -> None:
    """A retired arm is never chosen again, its late rewards are ignored; a new arm is tried."""
    agent = Agent(policy, arms=["a", "b", "c"], horizon=HORIZON, seed=2)
    for _ in range(300):
        decision = agent.decide()
        agent.learn(decision, float(decision.action == "b"))
    waiting = next(each for each in (agent.decide() for _ in range(500)) if each.action == "b")
    agent.retire_arm("b")
    agent.learn(waiting, 1.0)
    _require(agent.ignored == 1, f"{policy} did not count the late reward of a retired arm")
    agent.add_arm("d")
    chosen = []
    for _ in range(300):
        decision = agent.decide()
        chosen.append(decision.action)
        agent.learn(decision, float(decision.action == "d"))
    _require("b" not in chosen, f"{policy} chose a retired arm")
    _require("d" in chosen, f"{policy} never tried a new arm")


def arms_can_be_renumbered(policy: Any) -> None:
    """Regrouping arms and grouping them back gives the same state, up to what is recomputed."""
    policy = cast(policy)
    state = _played(policy)[0]
    order = [2, 0, 3, 1]
    there = regroup(state, policy.init(PROBLEM), order)
    back = regroup(there, policy.init(PROBLEM), [order.index(k) for k in range(ARMS)])
    _require(_alike(state, back), f"the state of {policy} changed when arms were renumbered and back")


def names_do_not_matter(policy: Any) -> None:
    """Permuting the arms of the world permutes how often they are chosen (a z-test; false alarms below 1e-4)."""
    policy, order, runs, rounds = cast(policy), np.array([2, 0, 3, 1]), 80, 400
    pulls = np.zeros((2, runs, ARMS))
    for run in range(runs):
        tape, nature = Abrupt(n_arms=ARMS, phases=2).draw(rounds, seed=run)
        turned = tape._replace(levels=tape.levels._replace(table=np.ascontiguousarray(tape.levels.table[:, order])))
        for side, world in enumerate((tape, turned)):
            state, trace = policy.init(PROBLEM), new_trace(0, rounds)
            play(policy, state, world, nature, key(run, side), trace, rounds)
            pulls[side, run] = np.bincount(trace.actions, minlength=ARMS)
    gaps = pulls[0][:, order] - pulls[1]
    z = gaps.mean(axis=0) / (gaps.std(axis=0, ddof=1) / np.sqrt(runs) + 1.0 / runs)
    _require(bool((np.abs(z) < 4.5).all()), f"{policy} treats arms by their number: z={z.round(1)}")


def propensities_are_frequencies(policy: Any) -> None:
    """Where a propensity is told, arms are chosen that often (binomial, 5 standard errors)."""
    state, draws = _played(policy)[0], 4000
    told, chosen = np.full(ARMS, np.nan), np.zeros(ARMS)
    for i in range(draws):
        arm, propensity = verbs.select(policy, state, ROUNDS, (), at(key(6), i))
        told[arm] = propensity
        chosen[arm] += 1
    for arm in np.flatnonzero(~np.isnan(told)):
        error = np.sqrt(told[arm] * (1.0 - told[arm]) / draws)
        gap = abs(chosen[arm] / draws - told[arm])
        _require(
            gap <= 5.0 * error, f"{policy} told {told[arm]:.3f} for arm {arm} and chose it {chosen[arm] / draws:.3f}"
        )


def memory_is_bounded(policy: Any) -> None:
    """A state does not grow with the rounds played, nor with the horizon."""
    policy = cast(policy)
    sizes = {sum(array.nbytes for _, array in arrays(_played(policy, rounds)[0])) for rounds in (10, ROUNDS)}
    sizes.add(sum(array.nbytes for _, array in arrays(policy.init(Problem(ARMS, horizon=10**7)))))
    _require(len(sizes) == 1, f"the state of {policy} takes {sorted(sizes)} bytes")


def compiles_once(policy: Any) -> None:
    """Whole numbers written as floats, or floats as whole numbers, do not compile the loop again."""
    before = _signatures(policy)
    for kind in (float, int):
        changed = {
            name: kind(value)
            for name, value in policy._asdict().items()
            if isinstance(value, int | float) and value == int(value)
        }
        _played(policy._replace(**changed))
    _require(before == _signatures(policy) == 1, f"the loop was compiled {_signatures(policy)} times for {policy}")


POLICY_CHECKS: tuple[Callable[[Any], None], ...] = (
    rejects_nonsense,
    select_reads_only,
    same_seed_same_run,
    loop_equals_verbs,
    blocks_join,
    bytes_come_back,
    resumes_exactly,
    late_rewards_enter_by_decision,
    refuses_and_stays,
    arms_come_and_go,
    arms_can_be_renumbered,
    names_do_not_matter,
    propensities_are_frequencies,
    memory_is_bounded,
    compiles_once,
)


# ---- worlds ----


def same_seed_same_tape(world: Any) -> None:
    """A tape is a function of world, horizon and seed, and another seed gives another."""
    one, again, other = (_tape_bytes(world.tapes(ROUNDS, seed)) for seed in (1, 1, 2))
    _require(one == again, f"{world} drew two different tapes from one seed")
    _require(one != other, f"{world} drew the same tape from two seeds")


def tape_blocks_join(world: Any) -> None:
    """However a tape is cut into blocks, every round is the same."""
    tapes = {size: _rounds(world.tapes(ROUNDS, 3, size)) for size in (1, 7, 256, ROUNDS)}
    for size, rounds in tapes.items():
        same = all(np.array_equal(one, other) for one, other in zip(rounds, tapes[ROUNDS], strict=True))
        _require(same, f"{world} differs when drawn in blocks of {size}")


def answers_every_arm(world: Any) -> None:
    """Every arm of every round has a finite reward, within the range the problem declares."""
    problem = world.problem(ROUNDS)
    tape, nature = world.draw(ROUNDS, seed=4)
    for t in range(0, ROUNDS, 37):
        _, is_open = verbs.observe(tape, nature, t)
        _require(bool(is_open), f"{world} closed in round {t}")
        for arm in range(problem.n_arms):
            reward = verbs.respond(tape, nature, t, arm).reward
            fits = np.isfinite(reward) and problem.low <= reward <= problem.high
            _require(bool(fits), f"{world} paid {reward} in round {t}, outside [{problem.low}, {problem.high}]")


def changes_lie_inside(world: Any) -> None:
    """Changes are told in order, within the horizon, and the means do move there."""
    changes = world.changes(ROUNDS, 5)
    _require(changes == sorted(set(changes)), f"{world} tells its changes out of order: {changes}")
    _require(all(0 < change < ROUNDS for change in changes), f"{world} changes outside the horizon: {changes}")
    levels, *_ = _rounds(world.tapes(ROUNDS, 5))
    moved = [bool((levels[change] != levels[change - 1]).any()) for change in changes]
    _require(all(moved), f"{world} tells a change where nothing moves: {changes}")


def nature_is_fresh(world: Any) -> None:
    """Every run gets a nature of its own."""
    policy, traces = Uniform(), []
    for _ in range(2):
        tape, nature = world.draw(ROUNDS, seed=6)
        state, trace = policy.init(world.problem(ROUNDS)), new_trace(0, ROUNDS)
        play(policy, state, tape, nature, key(7), trace, ROUNDS)
        traces.append((trace, state))
    same = equal(traces[0][1], traces[1][1]) and bool((traces[0][0].rewards == traces[1][0].rewards).all())
    _require(same, f"{world} remembers an earlier run")


WORLD_CHECKS: tuple[Callable[[Any], None], ...] = (
    same_seed_same_tape,
    tape_blocks_join,
    answers_every_arm,
    changes_lie_inside,
    nature_is_fresh,
)


# ---- what the checks share ----


def _require(kept: bool, broken: str) -> None:
    if not kept:
        raise ContractError(broken)


def _refuses(action: Callable[[Any], Any], bad: Any, what: str) -> None:
    try:
        action(bad)
    except ParameterError:
        return
    raise ContractError(f"{what} was accepted")


def _world() -> Abrupt:
    return Abrupt(n_arms=ARMS, phases=3)


def _played(policy: Any, rounds: int = ROUNDS) -> tuple[Any, Trace]:
    """The state and trace of a short run."""
    policy, world = cast(policy), _world()
    tape, nature = world.draw(rounds, seed=1)
    state, trace = policy.init(PROBLEM), new_trace(0, rounds)
    play(policy, state, tape, nature, key(2), trace, rounds)
    return state, trace


def _alike(one: Any, other: Any) -> bool:
    """Equal but for the last bits of sums, and for caches."""
    pairs = zip(lasting(one), lasting(other), strict=True)
    return all(np.allclose(a, b, rtol=1e-9, atol=1e-9, equal_nan=True) for (_, a), (_, b) in pairs)


def _signatures(policy: Any) -> int:
    """How often the loop has been compiled for a policy."""
    state, trace = _played(policy)
    tape, nature = _world().draw(ROUNDS, seed=1)
    arguments = (cast(policy), state, tape, nature, key(0), trace, ROUNDS)
    return len(play.entry(*kinds(arguments)).signatures)


def _rounds(tapes: Iterator[Any]) -> list[Any]:
    """Everything a tape says, one row a round, whatever blocks it came in."""
    blocks = []
    for tape in tapes:
        inner = getattr(tape, "tape", tape)
        columns = [inner.levels.table[inner.levels.rows], inner.noise]
        blocks.append(columns + ([tape.delays] if tape is not inner else []))
    return [np.concatenate(parts) for parts in zip(*blocks, strict=True)]


def _tape_bytes(tapes: Iterator[Any]) -> bytes:
    return b"".join(column.tobytes() for column in _rounds(tapes))
