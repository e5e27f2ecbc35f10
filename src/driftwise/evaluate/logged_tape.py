"""A log as a tape: what policies observe in each row, by the same verb as in a simulated world.

Rewards come as they came: `arrivals[t]` is the row after whose decision the reward of row t is known, the number of
rows where it never is; `order` lists rows as their rewards came.
"""

from typing import Any, NamedTuple, TypeAlias

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Ints
from driftwise.core.verbs import register


class LoggedArms(NamedTuple):
    """The rows of a log without features."""

    actions: Ints
    rewards: Floats
    propensities: Floats
    arrivals: Ints
    order: Ints


class LoggedContexts(NamedTuple):
    """The rows of a log with a context each. The features of arm k in row t are the products z_k (x) x_t.

    Where every arm has parameters of its own, z_k is the unit vector of arm k; or 1, for a regression per arm.
    """

    actions: Ints
    rewards: Floats
    propensities: Floats
    arrivals: Ints
    order: Ints
    contexts: Floats
    rows: Floats


class LoggedFeatures(NamedTuple):
    """The rows of a log with features of every arm: those of arm k in row t are the products z_kt (x) x_t."""

    actions: Ints
    rewards: Floats
    propensities: Floats
    arrivals: Ints
    order: Ints
    contexts: Floats
    features: Floats


AnyTape: TypeAlias = LoggedArms | LoggedContexts | LoggedFeatures


@kernel
def _observe_arms(tape: LoggedArms, nature: Any, t: int) -> tuple[tuple[()], bool]:
    return (), True


@kernel
def _observe_contexts(tape: LoggedContexts, nature: Floats, t: int) -> tuple[Floats, bool]:
    _multiply(tape.rows, tape.contexts[t], nature)
    return nature, True


@kernel
def _observe_features(tape: LoggedFeatures, nature: Floats, t: int) -> tuple[Floats, bool]:
    _multiply(tape.features[t], tape.contexts[t], nature)
    return nature, True


@kernel
def _multiply(rows: Floats, context: Floats, out: Floats) -> None:
    """Every row times every number of the context."""
    length = len(context)
    for arm in range(len(rows)):
        for j in range(rows.shape[1]):
            for i in range(length):
                out[arm, j * length + i] = rows[arm, j] * context[i]


register(LoggedArms, observe=_observe_arms)
register(LoggedContexts, observe=_observe_contexts)
register(LoggedFeatures, observe=_observe_features)


def room_for(tape: AnyTape) -> Floats | tuple[()]:
    """Room for the matrix that `observe` fills, a row per arm; nothing where there are no features."""
    if isinstance(tape, LoggedArms):
        return ()
    n_arms, width = tape.rows.shape if isinstance(tape, LoggedContexts) else tape.features.shape[1:]
    return np.zeros((n_arms, width * tape.contexts.shape[1]))


def arrivals_of(rewards: Floats, times: Floats | None, rewarded_at: Floats | None) -> Ints:
    """After which row the reward of each row is known: at once where the log does not say when it came."""
    n = len(rewards)
    own = np.arange(n)
    arrivals = own
    if times is not None and rewarded_at is not None:
        late = np.searchsorted(times, np.where(np.isnan(rewarded_at), -np.inf, rewarded_at), side="right") - 1
        arrivals = np.maximum(own, late)
    return np.where(np.isnan(rewards), n, arrivals).astype(np.int64)
