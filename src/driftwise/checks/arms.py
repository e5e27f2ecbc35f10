"""Arms that come and go, change places, and are only names."""

from typing import NamedTuple

import numpy as np

from driftwise.agent import Agent
from driftwise.checks._helpers import alike, differences, kind_name
from driftwise.checks.contract import ContractError, agent_for, decide, fixtures_of, learn, require, run_over, short_run
from driftwise.core.fixtures import Fixtures, Rng, Usage
from driftwise.core.protocols import Policy, Tape
from driftwise.core.seeding import key
from driftwise.core.serialization import regroup
from driftwise.core.types import Decision, Ints
from driftwise.core.validation import cast


def arms_come_and_go(policy: Policy) -> str | None:
    """A retired arm is never chosen again, and ignored where it takes its knowledge along; a new arm is tried."""
    fixtures, luck = fixtures_of(policy), np.random.default_rng(4)
    if fixtures.has_states:
        return f"{kind_name(policy)} is shown the states of its arms: `restless_arms_come_and_go` is its own"
    for how, usage in fixtures.usages.items():
        if not usage.named:
            continue
        trial = _OneArmPays(fixtures, usage, agent_for(policy, usage, seed=2), luck)
        trial.live("b")
        waiting = trial.next_decision("b")
        trial.agent.retire_arm("b")
        trial.learn(waiting, "b")
        ignored = trial.agent.ignored
        require(ignored == usage.forgets, f"{policy} ({how}) ignored {ignored} rewards of a retired arm")
        trial.agent.add_arm("d", **usage.new_arm)
        decisions = trial.live("d")
        require(not any(_has(each, "b") for each in decisions), f"{policy} ({how}) chose a retired arm")
        require(any(_has(each, "d") for each in decisions), f"{policy} ({how}) never tried a new arm")
    return None


def sizes_follow_the_arms(policy: Policy) -> str | None:
    """A state that has learned nothing yet and is moved to other arms, or features, is as `init` gives it."""
    fixtures, policy = fixtures_of(policy), cast(policy)
    if not fixtures.has_arms:
        return f"{kind_name(policy)} chooses points, not arms"
    problem, name = fixtures.problem, "dim" if fixtures.has_rows else "n_arms"
    if hasattr(policy, "settled"):  # what it sizes by the arms stays by choice
        policy = policy.settled(problem)
    for indices in ([0, 1, 2, 3, -1], [0, 2, 3]):
        other = fixtures.problem_with(indices)
        arms, columns = (range(problem.n_arms), indices) if fixtures.has_rows else (indices, None)
        moved = regroup(policy.init(problem), policy.init(other), arms, columns)
        wrong = differences(moved, policy.init(other))
        require(
            not wrong,
            f"{policy}, moved from {getattr(problem, name)} to {len(indices)}, has still the old {', '.join(wrong)}",
        )
    return None


def arms_can_be_renumbered(policy: Policy) -> str | None:
    """Regrouping arms, or features, and grouping them back gives the same state, up to what is recomputed."""
    fixtures, policy = fixtures_of(policy), cast(policy)
    if not fixtures.has_arms:
        return f"{kind_name(policy)} chooses points, not arms"
    state, order = short_run(policy)[0], [2, 0, 3, 1, *range(4, fixtures.problem.n_arms)]
    back = [order.index(k) for k in range(len(order))]
    for one, other in (order, back), (back, order):
        columns = (one, other) if fixtures.has_rows else (None, None)
        there = regroup(state, policy.init(fixtures.problem), one, columns[0])
        again = regroup(there, policy.init(fixtures.problem), other, columns[1])
        require(alike(state, again), f"the state of {policy} changed when arms were renumbered and back")
    return None


def names_do_not_matter(policy: Policy) -> str | None:
    """Permuting the arms of the world permutes how often they are chosen (a z-test; false alarms below 1e-4)."""
    fixtures, runs, rounds = fixtures_of(policy), 80, 400
    if fixtures.has_rows:
        return f"{kind_name(policy)} chooses rows: `rows_do_not_matter` is stricter"
    if not fixtures.has_arms:
        return f"{kind_name(policy)} chooses points, not arms"
    if fixtures.has_states:
        return f"{kind_name(policy)} is shown the states of its arms: `indices_follow_their_arms` is its own"
    n_arms = fixtures.problem.n_arms
    if getattr(policy, "shortest", 8 * n_arms) < 8 * n_arms:
        return (
            f"{kind_name(policy)} tries windows that hardly hold all arms: in those the lowest numbers are tried first"
        )
    order = np.array([2, 0, 3, 1, *range(4, n_arms)])
    pulls = np.zeros((2, runs, n_arms))
    for run in range(runs):
        tape, _ = fixtures.world.draw(rounds, seed=run)
        for side, world in enumerate((tape, _permute(tape, order))):
            _, trace = run_over(fixtures, policy, world, fixtures.world.nature(rounds), key(run, side), rounds)
            pulls[side, run] = np.bincount(trace.actions[trace.actions >= 0], minlength=n_arms)
    gaps = pulls[0][:, order] - pulls[1]
    z = gaps.mean(axis=0) / (gaps.std(axis=0, ddof=1) / np.sqrt(runs) + 1.0 / runs)
    require(bool((np.abs(z) < 4.5).all()), f"{policy} treats arms by their number: z={z.round(1)}")
    return None


def _permute(tape: Tape, order: Ints) -> Tape:
    """The same tape with its arms in another order."""
    columns_by_name: dict[str, object] = {
        "levels": tape.levels._replace(table=np.ascontiguousarray(tape.levels.table[:, order]))
    }
    if "costs" in tape._fields:
        columns_by_name["costs"] = np.ascontiguousarray(tape._asdict()["costs"][:, :, order])
    return tape._replace(**columns_by_name)


def _has(decision: Decision, name: str) -> bool:
    return name in decision.action if isinstance(decision.action, tuple) else decision.action == name


class _OneArmPays(NamedTuple):
    """An agent, and outcomes where one arm earns 1 and the others nothing."""

    fixtures: Fixtures
    usage: Usage
    agent: Agent
    luck: Rng

    def learn(self, decision: Decision, name: str) -> None:
        """Report that only an arm of this name paid."""
        actions = decision.action if isinstance(decision.action, tuple) else (decision.action,)
        learn(self.agent, decision, self.fixtures.outcome_of([float(each == name) for each in actions]))

    def live(self, name: str, rounds: int = 300) -> list[Decision]:
        """Some rounds; the decisions."""
        decisions = []
        for _ in range(rounds):
            decisions.append(decide(self.agent, self.usage, self.luck))
            self.learn(decisions[-1], name)
        return decisions

    def next_decision(self, name: str) -> Decision:
        """The next decision for an arm, its reward still to come."""
        for _ in range(2000):
            decision = decide(self.agent, self.usage, self.luck)
            if _has(decision, name):
                return decision
            self.learn(decision, name)
        raise ContractError(f"{self.agent.policy} did not choose in 2000 rounds the one arm that pays")
