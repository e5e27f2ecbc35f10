"""Arms whose transitions you bring: P(t) and r, from a file.

    RestlessTable.write("arms.npz", passive=..., active=..., rewards=...)        a world, and the file it reads
    driftwise simulate --world restless-table:file=arms.npz,n_arms=40,activate=5 ...

The transitions have the axes (episode, class, state, next state), or without the first where they never drift; the last
episode there is lasts for ever. What the drift parameters of other restless worlds would say is in the file already.
Without a file it is a small example: two classes of three states that trade places every ten episodes.
"""

import hashlib
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from driftwise.core.types import Floats, Ints
from driftwise.errors import ParameterError
from driftwise.families.restless.structure import RestlessStructure, checked_rows, restless
from driftwise.families.restless.worlds.base import RestlessWorld, steps
from driftwise.families.restless.worlds.wandering import Wandering

NAMES = ("passive", "active", "rewards", "classes", "kinds", "support", "costs", "activation_rewards", "origins")
NEEDED = NAMES[:3]


@dataclass(frozen=True, kw_only=True)
class RestlessTable(RestlessWorld):
    """Transitions and rewards from a file, drifting or not.

    Parameters
    ----------
    file : str
        An .npz with transitions, `passive` and `active`, and `rewards`, a number per state or a row per class; and
        perhaps `classes` (of each arm), `kinds` and `support` (see `Restless`), `costs`, `activation_rewards` (what
        activating earns besides, like `rewards`) and `origins` (of each arm, its first state). Transitions that are
        known by their kind are taken from the first episode.
    digest : str
        Hash of the file, computed when the world is made; a value passed in is ignored.

    All drift is in the file: `step`, `upward`, `phases` and `period` have no effect.

    >>> RestlessTable(n_arms=6).problem().structure.rewards
    array([[0., 1., 2.],
           [0., 1., 2.]])
    """

    n_arms: int = 10
    activate: int = 2
    episode: int = 20
    drift: str = "none"
    file: str = ""
    digest: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.drift != "none":
            raise ParameterError(f"drift={self.drift} cannot be set: the table has its own drift; allowed: none")
        object.__setattr__(self, "digest", _digest(self.file))
        checked_rows(self._transitions)
        size, origins = self.structure().rewards.shape[1], self.origins()
        if origins.shape != (self.n_arms,) or origins.min() < 0 or origins.max() >= size:
            raise ParameterError(f"{self.file}: origins do not name one of {size} states for {self.n_arms} arms")

    @classmethod
    def write(
        cls, file: str | Path, *, passive: ArrayLike, active: ArrayLike, rewards: ArrayLike, **more: Any
    ) -> "RestlessTable":
        """Write the file, and make the world that reads it; `more` is for the file or for the world, by name.

        >>> import tempfile
        >>> stay, go = np.eye(2), np.array([[0.2, 0.8], [0.2, 0.8]])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     path = Path(folder) / "arms.npz"
        ...     world = RestlessTable.write(path, passive=stay, active=go, rewards=[0, 1], n_arms=5, activate=1)
        ...     world.problem().n_arms
        5
        """
        contents = {"passive": passive, "active": active, "rewards": rewards}
        contents |= {name: more.pop(name) for name in NAMES if name in more}
        arrays: dict[str, Any] = {name: np.asarray(value) for name, value in contents.items()}
        np.savez_compressed(file, **arrays)
        return cls(file=str(file), **more)

    @property
    def _contents(self) -> dict[str, Any]:
        return _read(self.file, self.digest) if self.file else _example(self.n_arms)

    @property
    def _transitions(self) -> Floats:
        """With the axes (episode, class, action, state, next state)."""
        both = []
        for name in ("passive", "active"):
            table = np.asarray(self._contents[name], np.float64)
            if table.ndim not in (2, 3, 4):
                raise ParameterError(
                    f"{self.file}: {name} has shape {table.shape}, not (episodes, classes, states, states)"
                )
            both.append(table[None, None] if table.ndim == 2 else table[None] if table.ndim == 3 else table)
        if both[0].shape[1:] != both[1].shape[1:]:
            raise ParameterError(
                f"{self.file}: passive and active differ in shape, {both[0].shape} and {both[1].shape}"
            )
        longest = max(map(len, both))
        return np.stack([table[np.minimum(np.arange(longest), len(table) - 1)] for table in both], axis=2)

    @property
    def labels(self) -> list[str]:
        """The transitions whose chance moves."""
        axes = np.argwhere(self._moving)
        return [f"{'active' if a else 'passive'} {s} to {j}, class {c}" for c, a, s, j in axes]

    @property
    def _moving(self) -> NDArray[np.bool_]:
        """Which entries ever move; where none does, those that can happen at all."""
        transitions = self._transitions
        moving: NDArray[np.bool_] = (transitions != transitions[0]).any(axis=0)
        return moving if moving.any() else transitions[0] > 0.0

    def lines(self, path: Floats) -> Floats:
        """What to look at of a path: the entries that move."""
        return path[:, self._moving.reshape(-1)]

    def structure(self) -> RestlessStructure:
        """What the file says is known."""
        contents = self._contents
        rewards, transitions = np.atleast_2d(np.asarray(contents["rewards"], np.float64)), self._transitions
        if len(rewards) == 1 < transitions.shape[1]:
            rewards = np.repeat(rewards, transitions.shape[1], axis=0)
        if transitions.shape[1:] != (len(rewards), 2, rewards.shape[-1], rewards.shape[-1]):
            one = transitions.shape[1], *transitions.shape[3:]
            raise ParameterError(f"{self.file}: transitions of shape {one} do not fit rewards of shape {rewards.shape}")
        more: dict[str, Any] = {
            name: contents[name]
            for name in ("classes", "kinds", "support", "costs", "activation_rewards")
            if name in contents
        }
        if "support" not in more:
            more["support"] = (transitions > 0.0).any(axis=0)
        if "kinds" in more:
            more["known"] = transitions[0]
        episode = self.episode if self.restarts else 0
        return restless(rewards, n_arms=self.n_arms, episode=episode, discount=self.discount, **more)

    def origins(self) -> Ints:
        """As the file says, else the first state."""
        return np.array(self._contents.get("origins", np.zeros(self.n_arms)), np.int64)

    def numbers(self, seed: int) -> Wandering:
        """All entries of the first episode."""
        first = self._transitions[0].reshape(-1)
        return Wandering(first, first, first)

    def path(self, episodes: int, seed: int) -> Floats:
        """All entries of every episode."""
        transitions = self._transitions
        path: Floats = transitions[np.minimum(np.arange(episodes), len(transitions) - 1)].reshape(episodes, -1)
        return path

    def transitions(self, path: Floats) -> Floats:
        """The rows of the path, in the shape of transitions."""
        return path.reshape(len(path), *self._transitions.shape[1:])


def _digest(file: str) -> str:
    if not file:
        return ""
    try:
        return hashlib.sha256(Path(file).read_bytes()).hexdigest()[:16]
    except OSError as error:
        raise ParameterError(f"{file} cannot be read: {error.strerror}") from None


@lru_cache(maxsize=8)
def _read(file: str, digest: str) -> dict[str, Any]:
    """What a file holds; `digest` tells it from an earlier one of the same name."""
    try:
        with np.load(file, allow_pickle=False) as arrays:
            contents = dict(arrays)
    except (OSError, ValueError) as error:
        raise ParameterError(f"{file} is not a file of arrays: {error}") from None
    for name in NEEDED:
        if name not in contents:
            raise ParameterError(f"{file} has no {name}: it must hold {', '.join(NEEDED)}")
    for name in contents:
        if name not in NAMES:
            raise ParameterError(f"{file} has an unknown array {name!r}; allowed: {', '.join(NAMES)}")
    return contents


def _example(n_arms: int) -> dict[str, Any]:
    """Arms that slip often and climb surely, and arms that do neither; the classes trade places."""
    slips, climbs = np.array([0.6, 0.1]), np.array([0.9, 0.3])
    passive, active = (steps(np.zeros(2), slips, 3), steps(climbs, np.zeros(2), 3))
    order = np.arange(40) // 10 % 2
    turned = [np.stack([each if not turn else each[::-1] for turn in order]) for each in (passive, active)]
    return {
        "passive": turned[0],
        "active": turned[1],
        "rewards": np.arange(3.0),
        "classes": np.arange(n_arms) % 2,
    }
