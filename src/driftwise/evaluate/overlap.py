"""Whether a log can tell what a policy would have earned: refusals, and warnings in plain words."""

import numpy as np

from driftwise.core.types import Floats, Ints
from driftwise.display.text import counted
from driftwise.errors import LogError
from driftwise.evaluate.adaptivity import SURE as SURE_OF_LEARNING
from driftwise.evaluate.adaptivity import dependence
from driftwise.measure.estimators import ERRORS, FAR, SURE, effective_sample_size

FEW = 100  # effective or accepted rows below which a warning is given
HEAVY = 0.05  # share of all weight in one row
PATTERN, MOSTLY = 0.99, 0.9  # choices that follow from the one before; an arm that is chosen nearly always
FEW_CHANGES = 0.1  # changes of the arm, as a share of those that random choices would make
MAX_ARMS = 1000  # in a table of which arm follows which
DETERMINISTIC = (
    "the log comes from a deterministic policy and cannot tell what others would have earned; log a share of random "
    "choices"
)


def check_randomness(
    arms: tuple[str, ...], actions: Ints, rewards: Floats, propensities: Floats, estimated: bool
) -> list[str]:
    """Refuse a log in which nothing was left to chance; what else is odd about its propensities, a sentence each."""
    if len(arms) == 1 or not (actions != actions[0]).any():
        name = arms[int(actions[0])]
        raise LogError(f"every row chose the arm {name!r}: the log cannot tell what other arms would have earned")
    if estimated:
        return _check_pattern(arms, actions) + _check_adaptivity(arms, actions, rewards)
    if (propensities >= SURE).mean() >= SURE:
        raise LogError(f"every propensity is 1: {DETERMINISTIC}")
    return _fit(arms, actions, propensities)


def _check_pattern(arms: tuple[str, ...], actions: Ints) -> list[str]:
    """Refuse arms that were chosen in long runs, each at its own time; doubt arms that follow each other in turn."""
    shares = np.bincount(actions, minlength=len(arms)) / len(actions)
    changes = float((actions[1:] != actions[:-1]).mean())
    if changes < FEW_CHANGES * (1.0 - shares @ shares):
        raise LogError(f"arms were chosen in long runs, each at its own time: {DETERMINISTIC}")
    n_arms = len(arms)
    if n_arms > MAX_ARMS or len(actions) < FEW:
        return []
    counts = np.bincount(actions[:-1] * n_arms + actions[1:], minlength=n_arms**2).reshape(n_arms, n_arms)
    sure = counts.max(axis=1).sum() / counts.sum()
    if sure < PATTERN or shares.max() > MOSTLY:
        return []
    return [
        f"{sure:.0%} of choices follow from the one before: they were not random, and shares of arms are taken for "
        "propensities all the same"
    ]


def _check_adaptivity(arms: tuple[str, ...], actions: Ints, rewards: Floats) -> list[str]:
    found = dependence(len(arms), actions, rewards)
    if abs(found) < SURE_OF_LEARNING:
        return []
    return [
        f"choices follow recent rewards ({found:.0f} standard deviations): the log comes from a policy that learns, "
        "perhaps a deterministic one; shares of arms are not its propensities, and values may be far off"
    ]


def _fit(arms: tuple[str, ...], actions: Ints, propensities: Floats) -> list[str]:
    """Whether propensities fit how often arms were chosen: 1 / p over the rows of an arm adds up to the number of rows.

    So it does where the propensities of all arms sum to 1 in every row and all arms could be chosen.
    """
    n, found = len(actions), []
    for arm in np.unique(actions):
        own = 1.0 / propensities[actions == arm]
        mean = own.sum() / n
        error = np.sqrt(max(0.0, (own @ own) / n - mean**2) / n)
        if abs(mean - 1.0) > max(FAR, ERRORS * error):
            found.append((abs(np.log(mean)), arm, mean))
    if not found:
        return []
    _, arm, mean = max(found)
    return [
        f"propensities do not fit the choices: those of {arms[arm]!r} add up to {mean:.2g} of the rows, not to all; "
        "either propensities of all arms do not sum to 1, or arms were not always there to choose"
    ]


def check_weights(weights: Floats, least_size: float, scaled: bool = True) -> tuple[str | None, list[str]]:
    """Why no value can be given for a policy with these weights, or None; and what is doubtful.

    `scaled` weights average 1 where the policy chooses only what the log could choose.
    """
    n, size = len(weights), effective_sample_size(weights)
    if size < least_size:
        return (
            f"the effective sample size is {size:.1f}, below {least_size:g}: the log chose too rarely what this policy "
            "chooses"
        ), []
    found = []
    if size < FEW:
        found.append(f"the effective sample size is only {size:.0f}: take the interval with caution")
    mean, error = float(weights.mean()), float(weights.std()) / np.sqrt(n)
    if scaled and abs(mean - 1.0) > max(FAR, ERRORS * error):
        found.append(
            f"the weights of this policy average {mean:.2f}, not 1: it often chooses what the log could not choose"
            if mean < 1.0
            else f"the weights of this policy average {mean:.2f}, not 1: the propensities do not fit the choices"
        )
    if weights.max() > HEAVY * weights.sum():
        found.append(f"one row has {weights.max() / weights.sum():.0%} of all weight: a small propensity decides")
    return None, found


def check_replay(n_accepted: float, acceptance: float, propensities: Floats) -> tuple[str, ...]:
    """What is doubtful about a replay."""
    found = []
    below = float((propensities < acceptance * (1.0 - 1e-9)).mean())
    if below:
        found.append(
            f"{below:.1%} of the rows have a propensity below the acceptance {acceptance:g}: there the policy learns "
            "less often than elsewhere"
        )
    if n_accepted < FEW:
        found.append(f"the policy learned from {counted(round(n_accepted), 'row')} only: it has hardly begun")
    return tuple(found)
