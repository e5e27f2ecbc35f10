"""Worlds drawn once and written to a file, so that libraries in other environments meet the same rewards.

An archive holds `rewards` (run, round, arm) and, where there are contexts, `contexts` (run, round, feature). A player
chooses an arm each round and reads the reward of that arm only. The means stay here: regret is computed on our side.
"""

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers import settings
from driftwise.agent import Agent
from driftwise.core.seeding import generator
from driftwise.core.types import Floats
from driftwise.families import AbruptLinear, Contextual, MultiArmed
from driftwise.families.contextual.worlds.base import unit_vectors

FEATURES = 3

Actions = NDArray[np.int64]


class DrawnWorld(NamedTuple):
    """Rewards and means by run, round and arm; contexts by run, round and feature, or None."""

    rewards: Floats
    means: Floats
    contexts: Floats | None

    def first(self, runs: int | None) -> "DrawnWorld":
        """The same with the first runs only; all of them when None."""
        contexts = None if self.contexts is None else self.contexts[:runs]
        return DrawnWorld(self.rewards[:runs], self.means[:runs], contexts)

    def write(self, file: Path) -> None:
        """What a player may see, and no more."""
        seen = {"rewards": self.rewards} | ({} if self.contexts is None else {"contexts": self.contexts})
        np.savez_compressed(file, **seen)  # type: ignore[arg-type]

    def regret(self, actions: Actions) -> Floats:
        """By run: what the best arm of every round would have earned more, in expectation."""
        earned = np.take_along_axis(self.means, np.asarray(actions)[:, :, None], axis=2)[:, :, 0]
        lost: Floats = (self.means.max(axis=2) - earned).sum(axis=1)
        return lost


def draw_arms(world: Any, horizon: int, runs: int) -> DrawnWorld:
    """A world of bare arms with rewards 0 and 1."""
    tapes = [world.draw(horizon, seed)[0] for seed in range(runs)]
    means = np.array([tape.levels.table[tape.levels.rows] for tape in tapes])
    noise = np.array([tape.noise for tape in tapes])
    return DrawnWorld((noise[:, :, None] < means).astype(np.float64), means, None)


def draw_contexts(n_arms: int, phases: int, horizon: int, runs: int) -> DrawnWorld:
    """Every arm has parameters of its own for a context that all arms see; all of them jump at once.

    Libraries that keep a regression per arm fit this world exactly.
    """
    world = AbruptLinear(dim=n_arms * FEATURES, phases=phases)
    means, contexts, noise = [], [], []
    for seed in range(runs):
        parameters = np.sqrt(n_arms) * world.path(horizon, seed)(0, horizon).reshape(horizon, n_arms, FEATURES)
        contexts.append(unit_vectors(horizon, FEATURES, seed, "contexts"))
        means.append(np.einsum("taf,tf->ta", parameters, contexts[-1]))
        noise.append(settings.LINEAR_NOISE * generator(seed, "noise").standard_normal(horizon))
    return DrawnWorld(np.array(means) + np.array(noise)[:, :, None], np.array(means), np.array(contexts))


def play(policy: Any, world: DrawnWorld) -> Actions:
    """Our side, one decision at a time as in a live program: the arms that the policy chose, by run and round."""
    runs, horizon, n_arms = world.rewards.shape
    actions = np.empty((runs, horizon), np.int64)
    for run in range(runs):
        agent = Agent(policy, _problem(world, n_arms, horizon), seed=run)
        for t, rewards in enumerate(world.rewards[run]):
            decision = agent.decide() if world.contexts is None else agent.decide(context=world.contexts[run, t])
            actions[run, t] = decision.action
            agent.learn(decision, float(rewards[decision.action]))
    return actions


def _problem(world: DrawnWorld, n_arms: int, horizon: int) -> Any:
    if world.contexts is None:
        return MultiArmed(n_arms, horizon=horizon)
    noise = settings.LINEAR_NOISE
    return Contextual(n_arms, context_dim=FEATURES, reward_range=None, noise=noise, horizon=horizon)
