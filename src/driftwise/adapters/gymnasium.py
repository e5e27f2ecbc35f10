"""Worlds as Gymnasium environments.

An episode is a run of a study: after `reset(seed=7)` comes run 0 of a study with seed 7, and every further `reset()` is
its next run. The same actions earn the same rewards, bit for bit.

    what is chosen        action space
    one arm               Discrete: its number
    an arm or nothing     Discrete from -1 on: -1 is nothing
    several arms          Box with a score per arm: those with the largest scores are taken
    a point               Box around the domain: the nearest point of the domain is taken

What a world shows is the observation: a row of features per arm, what may be spent per round, the state of each arm; 0
where it shows nothing. All else that came of an action is in `info`.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from driftwise.core import verbs
from driftwise.core.extras import needed_for
from driftwise.core.family import FAMILIES
from driftwise.core.protocols import World
from driftwise.core.seeding import key
from driftwise.core.spec import parameters as parameters_of
from driftwise.core.spec import parse
from driftwise.core.types import Array
from driftwise.core.validation import whole, world_instance
from driftwise.errors import ParameterError
from driftwise.families import WORLDS

with needed_for("an environment"):
    import gymnasium
    from gymnasium import spaces

Observation = Array | int
Info = dict[str, Any]


class WorldEnv(gymnasium.Env[Any, Any]):
    """One world as an environment of Gymnasium.

    Parameters
    ----------
    world : world or str
        A world, or its text as the command line has it: `abrupt:n_arms=3`.
    horizon : int
        Rounds of an episode. A whole episode is drawn at its start.

    >>> env = WorldEnv("abrupt:n_arms=3", horizon=100)
    >>> env.action_space, env.observation_space
    (Discrete(3), Discrete(1))
    >>> observation, info = env.reset(seed=0)
    >>> observation, reward, terminated, truncated, info = env.step(1)
    >>> reward in (0.0, 1.0), terminated, truncated
    (True, False, False)
    """

    metadata: dict[str, Any] = {"render_modes": []}  # noqa: RUF012  # the type that Gymnasium has

    def __init__(self, world: World | str, horizon: int = 1000) -> None:
        self.world = _world(world)
        self.horizon = whole("horizon", horizon)
        self.problem = self.world.problem(self.horizon)
        self.family = FAMILIES[self.problem.family]
        self._views = self.family.fixtures(self.world)
        tape, nature = next(iter(self.world.tapes(self.horizon, 0, size=1))), self.world.nature(self.horizon)
        context, _ = self._views.observe(tape, nature, 0)
        self.observation_space = _observation_space(context, self.problem.structure)
        self.action_space = self._action_space()
        self._seed: int | None = None
        self._run = self.t = 0
        self._is_over = True
        self._observation: Observation = 0

    def reset(self, *, seed: int | None = None, options: Mapping[str, Any] | None = None) -> tuple[Any, Info]:
        """Start an episode: with a seed run 0 of it, without one the next run of the seed before."""
        super().reset(seed=seed, options=dict(options or {}))
        if seed is not None or self._seed is None:
            self._seed = int(self.np_random.integers(2**31)) if seed is None else whole("seed", seed, low=0)
            self._run = 0
        else:
            self._run += 1
        self._tape, self._nature = self.world.draw(self.horizon, int(key(self._seed, self._run, "world")))
        self.t = 0
        self._is_over = not self._look()
        return self._observation, {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, Info]:
        """Play one round. The episode is terminated when the world closes, truncated at its horizon."""
        if self._is_over:
            raise ParameterError("the episode is over: call reset()")
        outcome = verbs.respond(self._tape, self._nature, self.t, self.read_action(action))
        info = {name: np.copy(value) for name, value in outcome._asdict().items() if name != "reward"}
        self.t += 1
        truncated = self.t >= self.horizon
        terminated = not truncated and not self._look()
        self._is_over = terminated or truncated
        return self._observation, float(outcome.reward), terminated, truncated, info

    def read_action(self, action: Any) -> Any:
        """What kernels read, from an action of the action space."""
        if not self.action_space.contains(action):
            raise ParameterError(f"action={action!r} is not in {self.action_space}")
        if self.family.points:
            return self.problem.structure.domain.project(action)
        if self.problem.slate:
            return np.sort(np.argsort(-action, kind="stable")[: self.problem.slate]).astype(np.int64)
        return int(action)

    def _look(self) -> bool:
        """Observe the round to come; whether the world is open."""
        context, is_open = self._views.observe(self._tape, self._nature, self.t)
        self._observation = np.array(context) if isinstance(context, np.ndarray) else 0
        return is_open

    def _action_space(self) -> "spaces.Space[Any]":
        problem, first = self.problem, self._views.lowest_action
        if self.family.points:
            domain = problem.structure.domain
            return spaces.Box(domain.lows, domain.highs, dtype=np.float64)
        if problem.slate:
            return spaces.Box(0.0, 1.0, (problem.n_arms,), dtype=np.float64)
        return spaces.Discrete(problem.n_arms - first, start=first)


def make(world: World | str, horizon: int = 1000) -> WorldEnv:
    """The environment of a world."""
    return WorldEnv(world, horizon)


def env_id(name: str) -> str:
    """The name under which Gymnasium makes the world `name`.

    >>> env_id("random-walk")
    'driftwise/RandomWalk-v0'
    """
    return f"driftwise/{''.join(part.capitalize() for part in name.split('-'))}-v0"


def _maker(name: str) -> Callable[..., WorldEnv]:
    def make_world(horizon: int = 1000, **parameters: object) -> WorldEnv:
        known = parameters_of(WORLDS[name])
        wrong = next((each for each in parameters if each not in known), None)
        if wrong is not None:
            raise ParameterError(f"world {name} has no parameter {wrong!r}: it takes {', '.join(known) or 'none'}")
        return WorldEnv(WORLDS[name](**parameters), horizon)

    return make_world


def _register_worlds() -> None:
    """All worlds by name: `gymnasium.make("driftwise/Abrupt-v0", horizon=500, n_arms=3)`."""
    for name in WORLDS:
        if env_id(name) not in gymnasium.registry:
            gymnasium.register(env_id(name), entry_point=_maker(name))


def _world(world: World | str) -> World:
    found: World = parse(world, WORLDS, "world") if isinstance(world, str) else world_instance(world)
    if hasattr(found, "delay"):
        raise ParameterError("Gymnasium has no late rewards: give the world without its delay")
    return found


def _observation_space(context: object, structure: Any) -> "spaces.Space[Any]":
    if not isinstance(context, np.ndarray):
        return spaces.Discrete(1)
    if np.issubdtype(context.dtype, np.integer):
        return spaces.MultiDiscrete(np.full(len(context), structure.rewards.shape[1]))
    return spaces.Box(-np.inf, np.inf, context.shape, dtype=np.float64)


_register_worlds()
