"""What every contract needs: an error for a broken promise, fixtures of a policy or world, short runs, and agents."""

from typing import Any

import msgspec
import numpy as np

from driftwise.agent import Agent
from driftwise.checks.verb_calls import VerbCalls
from driftwise.core.family import FAMILIES, family_of, trace_for
from driftwise.core.fixtures import ROUNDS, Arguments, Fixtures, Usage
from driftwise.core.loop import play
from driftwise.core.protocols import Policy, Tape, World
from driftwise.core.seeding import key
from driftwise.core.types import Decision, Record, Trace
from driftwise.core.validation import cast, without_text
from driftwise.errors import DriftwiseError


class ContractError(DriftwiseError, AssertionError):
    """A promise was broken."""


def require(holds: bool, broken: str) -> None:
    """Raise what was broken unless it was kept."""
    if not holds:
        raise ContractError(broken)


def fixtures_of(policy: Policy) -> Fixtures:
    """The fixtures of a policy's family, around a world that suits the policy."""
    return FAMILIES[family_of(policy)].fixtures.of(getattr(policy, "policy", policy))


def fixtures_in(world: World) -> Fixtures:
    """The fixtures of a world's family, around this world."""
    return FAMILIES[world.problem().family].fixtures(world)


def short_run(policy: Policy, rounds: int = ROUNDS, fixtures: Fixtures | None = None) -> tuple[Any, Trace]:
    """The state and trace of a run in a small world."""
    fixtures = fixtures_of(policy) if fixtures is None else fixtures
    tape, nature = fixtures.world.draw(rounds, seed=1)
    return run_over(fixtures, policy, tape, nature, key(2), rounds)


def run_over(
    fixtures: Fixtures, policy: Policy, tape: Tape, nature: object, rng: np.uint64, rounds: int
) -> tuple[Any, Trace]:
    """The state and trace of a run over a tape."""
    policy = cast(policy)
    state, trace = policy.init(fixtures.problem), trace_for(fixtures.problem, 0, rounds)
    play(without_text(policy), state, tape, nature, rng, trace, rounds)
    return state, trace


def select(calls: VerbCalls, state: Record, t: int, context: object, rng: np.uint64) -> tuple[Any, float]:
    """What a policy chooses, as plain numbers: an arm or row, the items of a slate, the coordinates of a point."""
    action, propensity = calls.select(state, t, context, rng)
    return (tuple(action.tolist()) if isinstance(action, np.ndarray) else action), propensity


def agent_for(policy: Policy, usage: Usage, *, seed: int, max_pending: int = 100_000, **options: object) -> Agent:
    """An agent at the start; `options` replace those of the problem."""
    return Agent(policy, msgspec.structs.replace(usage.problem, **options), seed=seed, max_pending=max_pending)


def decide(agent: Agent, usage: Usage, rng: np.random.Generator) -> Decision:
    """The next decision, on a random request."""
    return agent.decide(**usage.request(rng, agent.arms))


def learn(agent: Agent, decision: Decision | int, outcome: Arguments) -> None:
    """Report the outcome of a decision; there is none of the null arm."""
    if not (isinstance(decision, Decision) and decision.action is None):
        agent.learn(decision, **outcome)
