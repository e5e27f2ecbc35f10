"""Arms that come and go, change places, and are only names."""

from typing import Any

import numpy as np

from driftwise.agent import Agent
from driftwise.checks._helpers import alike, called, differences
from driftwise.checks.fixtures import ContractError, Way, ground_of, require
from driftwise.core.seeding import key
from driftwise.core.serialization import regroup
from driftwise.core.types import Decision
from driftwise.core.validation import cast


def arms_come_and_go(policy: Any) -> str | None:
    """A retired arm is never chosen again, and ignored where it takes its knowledge along; a new arm is tried."""
    luck = np.random.default_rng(4)
    if ground_of(policy).family == "restless":
        return f"{called(policy)} is shown the states of its arms: `moving_arms_come_and_go` is its own"
    for how, way in _named_ways(policy):
        agent = way.agent(policy, seed=2)
        _live(agent, way, luck, "b")
        waiting = _decided(agent, way, luck, "b")
        agent.retire_arm("b")
        way.answer(agent, waiting, _paid(way, waiting, "b"))
        require(agent.ignored == way.forgets, f"{policy} ({how}) ignored {agent.ignored} rewards of a retired arm")
        agent.add_arm("d", **way.brings)
        chosen = _live(agent, way, luck, "d")
        require(not any(_has(each, "b") for each in chosen), f"{policy} ({how}) chose a retired arm")
        require(any(_has(each, "d") for each in chosen), f"{policy} ({how}) never tried a new arm")
    return None


def sizes_follow_the_arms(policy: Any) -> str | None:
    """A state that has learned nothing yet and is moved to other arms, or features, is as if made for them."""
    ground, policy = ground_of(policy), cast(policy)
    if not ground.has_arms:
        return f"{called(policy)} chooses points, not arms"
    problem, name = ground.problem, "dim" if ground.family == "contextual" else "n_arms"
    if hasattr(policy, "settled"):  # what it sizes by the arms stays by choice
        policy = policy.settled(problem)
    for kept in ([0, 1, 2, 3, -1], [0, 2, 3]):
        made = problem._replace(dim=len(kept)) if name == "dim" else ground.problem_of(kept)
        arms, columns = (range(problem.n_arms), kept) if name == "dim" else (kept, None)
        moved = regroup(policy.init(problem), policy.init(made), arms, columns)
        wrong = differences(moved, policy.init(made))
        require(
            not wrong,
            f"{policy}, moved from {getattr(problem, name)} to {len(kept)}, has still the old {', '.join(wrong)}",
        )
    return None


def arms_can_be_renumbered(policy: Any) -> str | None:
    """Regrouping arms, or features, and grouping them back gives the same state, up to what is recomputed."""
    ground, policy = ground_of(policy), cast(policy)
    if not ground.has_arms:
        return f"{called(policy)} chooses points, not arms"
    state, order = ground.played(policy)[0], [2, 0, 3, 1, *range(4, ground.problem.n_arms)]
    back = [order.index(k) for k in range(len(order))]
    for one, other in (order, back), (back, order):
        columns = (one, other) if ground.family == "contextual" else (None, None)
        there = regroup(state, policy.init(ground.problem), one, columns[0])
        again = regroup(there, policy.init(ground.problem), other, columns[1])
        require(alike(state, again), f"the state of {policy} changed when arms were renumbered and back")
    return None


def names_do_not_matter(policy: Any) -> str | None:
    """Permuting the arms of the world permutes how often they are chosen (a z-test; false alarms below 1e-4)."""
    ground, runs, rounds = ground_of(policy), 80, 400
    if ground.family == "contextual":
        return f"{called(policy)} chooses rows: `rows_do_not_matter` asks more of it"
    if not ground.has_arms:
        return f"{called(policy)} chooses points, not arms"
    if ground.family == "restless":
        return f"{called(policy)} is shown the states of its arms: `indices_follow_their_arms` is its own"
    n_arms = ground.problem.n_arms
    if getattr(policy, "shortest", 8 * n_arms) < 8 * n_arms:
        return f"{called(policy)} tries windows that hardly hold all arms: in those the lowest numbers are tried first"
    order = np.array([2, 0, 3, 1, *range(4, n_arms)])
    pulls = np.zeros((2, runs, n_arms))
    for run in range(runs):
        tape, _ = ground.world.draw(rounds, seed=run)
        for side, world in enumerate((tape, _turned(tape, order))):
            _, trace = ground.play(policy, world, ground.world.nature(rounds), key(run, side), rounds)
            pulls[side, run] = np.bincount(trace.actions[trace.actions >= 0], minlength=n_arms)
    gaps = pulls[0][:, order] - pulls[1]
    z = gaps.mean(axis=0) / (gaps.std(axis=0, ddof=1) / np.sqrt(runs) + 1.0 / runs)
    require(bool((np.abs(z) < 4.5).all()), f"{policy} treats arms by their number: z={z.round(1)}")
    return None


def _turned(tape: Any, order: Any) -> Any:
    """The same tape with its arms in another order."""
    turned = {"levels": tape.levels._replace(table=np.ascontiguousarray(tape.levels.table[:, order]))}
    if hasattr(tape, "costs"):
        turned["costs"] = np.ascontiguousarray(tape.costs[:, :, order])
    return tape._replace(**turned)


def _named_ways(policy: Any) -> list[tuple[str, Way]]:
    return [(how, way) for how, way in ground_of(policy).ways.items() if way.named]


def _has(decision: Decision, name: str) -> bool:
    return name in decision.action if isinstance(decision.action, tuple) else decision.action == name


def _paid(way: Way, decision: Decision, name: str) -> dict[str, Any]:
    """One for an arm of that name, nothing for others; and what is told with it."""
    if isinstance(decision.action, tuple):
        return {"rewards": [float(each == name) for each in decision.action]}
    reward = float(decision.action == name)
    return {"reward": reward} | way.adds(reward)


def _live(agent: Agent, way: Way, luck: Any, best: str, rounds: int = 300) -> list[Decision]:
    """Some rounds in which only one arm pays; the decisions."""
    decisions = []
    for _ in range(rounds):
        decision = agent.decide(**way.told(luck))
        way.answer(agent, decision, _paid(way, decision, best))
        decisions.append(decision)
    return decisions


def _decided(agent: Agent, way: Way, luck: Any, name: str) -> Decision:
    """The next decision for an arm, its reward still to come."""
    for _ in range(2000):
        decision = agent.decide(**way.told(luck))
        if _has(decision, name):
            return decision
        way.answer(agent, decision, _paid(way, decision, name))
    raise ContractError(f"{agent.policy} did not choose in 2000 rounds the one arm that pays")
