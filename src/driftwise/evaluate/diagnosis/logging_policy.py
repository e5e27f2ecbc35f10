"""The policy that made a log: how often each arm was chosen, and whether other policies can be judged by it."""

from typing import NamedTuple

import numpy as np

from driftwise.core.types import Floats, Ints

PERIODS = 10
SCARCE = 0.01  # a share of choices below which little can be said of an arm
CERTAIN = 0.999


class Overlap(NamedTuple):
    """Shares of arms (over all, and the least in any tenth of the log), and what is known of propensities.

    `effective_share` is the share of the log's rows that count when every arm is judged as if chosen alike: the
    effective sample size of weights 1 / (K propensity), with the shares of each tenth where propensities are unknown.
    `weight_totals` are the sums of 1 / propensity over the rows of an arm, by row of the log: 1 where propensities are
    right.
    """

    shares: Floats
    least_shares: Floats
    known: float
    least_propensity: float | None
    weight_totals: Floats | None
    effective_share: float
    deterministic: bool
    notes: list[str]


def overlap(actions: Ints, propensities: Floats | None, names: tuple[str, ...]) -> Overlap:
    """What the choices of a log allow to say of arms."""
    n, n_arms = len(actions), len(names)
    periods = np.arange(n) * PERIODS // n
    table = np.bincount(periods * n_arms + actions, minlength=PERIODS * n_arms).reshape(PERIODS, n_arms)
    rates = table / np.maximum(table.sum(axis=1, keepdims=True), 1)
    shares, least = table.sum(axis=0) / n, rates.min(axis=0)
    known = 0.0 if propensities is None else float((~np.isnan(propensities)).mean())
    chances = rates[periods, actions] if propensities is None or known == 0.0 else propensities
    sure = chances[~np.isnan(chances)]
    weights = 1.0 / (n_arms * sure)
    effective = float(weights.sum() ** 2 / (len(weights) * (weights**2).sum()))
    if (least == 0.0).any():
        effective = 0.0 if known == 0.0 else effective
    deterministic = known > 0.0 and float((sure >= CERTAIN).mean()) > 0.95 and n_arms > 1
    totals = None
    if known > 0.5 and propensities is not None:
        usable = ~np.isnan(propensities)
        totals = np.bincount(actions[usable], weights=1.0 / propensities[usable], minlength=n_arms) / usable.sum()
    result = Overlap(
        shares,
        least,
        known,
        float(sure.min()) if known else None,
        totals,
        effective,
        deterministic,
        [],
    )
    return result._replace(notes=_notes(result, names, actions, propensities))


def _notes(result: Overlap, names: tuple[str, ...], actions: Ints, propensities: Floats | None) -> list[str]:
    notes = []
    if result.known == 0.0:
        notes.append("propensities are unknown: other policies can be judged only as if choices had been random")
    elif result.known < 1.0:
        notes.append(f"{1.0 - result.known:.1%} of the rows have no propensity")
    if result.deterministic:
        notes.append("the log was made by a deterministic policy (propensity 1): it says nothing of other choices")
    absent = [name for name, share in zip(names, result.least_shares, strict=True) if share == 0.0]
    if absent and len(names) > 1:
        notes.append(f"in some tenth of the log {_listed(absent)} {'was' if len(absent) == 1 else 'were'} never chosen")
    scarce = [name for name, share in zip(names, result.shares, strict=True) if 0.0 < share < SCARCE]
    if scarce:
        notes.append(f"{_listed(scarce)} {'has' if len(scarce) == 1 else 'have'} less than {SCARCE:.0%} of the choices")
    notes += _sum_notes(result, names, actions, propensities)
    return notes


def _sum_notes(result: Overlap, names: tuple[str, ...], actions: Ints, propensities: Floats | None) -> list[str]:
    """Whether propensities can be right: 1 / propensity, summed over an arm's rows, comes to the rows of the log."""
    if result.weight_totals is None or propensities is None or result.deterministic:
        return []
    inverse = np.where(np.isnan(propensities), 0.0, 1.0 / np.where(np.isnan(propensities), 1.0, propensities))
    squares = np.bincount(actions, weights=inverse**2, minlength=len(names)) / len(actions)
    errors = np.sqrt(np.maximum(squares - result.weight_totals**2, 0.0) / len(actions))
    off = [
        f"{name} ({total:.2f})"
        for name, total, error in zip(names, result.weight_totals, errors, strict=True)
        if abs(total - 1.0) > 5.0 * error + 0.02
    ]
    if not off:
        return []
    return [
        "propensities do not add up to 1 over the arms: the sum of 1 / propensity over the rows of an arm should be "
        f"the number of rows of the log, and is that many times as much for {_listed(off)}"
    ]


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
