"""What an agent knows of its arms, for people: the policy's own summary (`core/summary.py`), a record per arm."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from driftwise.core import serialization as states
from driftwise.core.encoding import Arm
from driftwise.core.seeding import at
from driftwise.core.summary import Summary, new_summary
from driftwise.core.verbs import advance, summarise

if TYPE_CHECKING:
    from driftwise.agent.agent import Agent

NUMBERS = ("estimate", "index", "low", "high", "count", "pending")


class ArmSummary(msgspec.Struct, frozen=True):
    """What is known of one arm, or of one row of features; None where the policy has no such number.

    Parameters
    ----------
    arm
        Name of the arm, or number of the row where arms have no names.
    estimate : float, optional
        Mean reward that the policy believes in.
    index : float, optional
        What the policy ranks by; infinite for an arm that is tried before all others.
    low, high : float, optional
        Confidence bounds of the policy, or the central 95 % of its posterior.
    count : float, optional
        Rewards that count, perhaps discounted; transitions from its state for a restless arm.
    pending : float, optional
        Decisions under way.
    costs : dict, optional
        Mean cost in each resource, where there are budgets.
    """

    arm: Arm
    estimate: float | None = None
    index: float | None = None
    low: float | None = None
    high: float | None = None
    count: float | None = None
    pending: float | None = None
    costs: dict[str, float | None] | None = None


def summary_of(agent: "Agent", request: dict[str, Any], t: int) -> list[ArmSummary]:
    """What `agent` would know of its arms at a decision in round `t`, made by `request`. Nothing is changed."""
    adapter = agent.adapter
    context = adapter.read_request(t, request)
    state, own = states.clone(agent._state), at(agent._rng, t)
    names = adapter.registry.names or range(len(context))
    table = new_summary(len(names), len(adapter.cost_units))
    advancing, filling = (agent._plain, state, t, own), (agent._plain, state, t, context, table)
    try:
        agent._bound(advance, *advancing)(*advancing)
        agent._bound(summarise, *filling)(*filling)
    except FloatingPointError as error:
        raise adapter.translate(error) from None
    pending = _pending_by_arm(agent) if adapter.registry else None
    return [_record(name, table, row, adapter.cost_units, pending) for row, name in enumerate(names)]


def table_of(records: Sequence[ArmSummary], most: int = 8) -> str:
    """A table for a terminal: the arm, its estimate, count and pending decisions; of many arms, those estimated best.

    >>> print(table_of([ArmSummary("red", estimate=0.25, count=4.0, pending=1.0), ArmSummary("blue")]))
      arm   estimate  count  pending
      red       0.25      4        1
      blue         -      -        -
    """
    best = list(records)
    if len(best) > most:
        best = sorted(best, key=lambda each: -math.inf if each.estimate is None else each.estimate, reverse=True)
    rows: list[tuple[str, ...]] = [("arm", "estimate", "count", "pending")]
    rows += [(_short(each.arm), *map(_digits, (each.estimate, each.count, each.pending))) for each in best[:most]]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [
        "  "
        + "  ".join([row[0].ljust(widths[0]), *(cell.rjust(n) for cell, n in zip(row[1:], widths[1:], strict=True))])
        for row in rows
    ]
    if len(best) > most:
        lines.append(f"  and {len(best) - most} more arms")
    return "\n".join(lines)


def _short(arm: Arm) -> str:
    text = str(arm)
    return text if len(text) <= 24 else text[:23] + "…"


def _digits(value: float | None) -> str:
    return "-" if value is None else f"{value:.4g}"


def _record(name: Arm, table: Summary, row: int, units: dict[str, float], pending: Counter[Arm] | None) -> ArmSummary:
    numbers = {each: _or_none(getattr(table, each)[row]) for each in NUMBERS}
    if numbers["pending"] is None and pending is not None:  # the policy does not count them, but the agent does
        numbers["pending"] = float(pending[name])
    costs = {each: _or_none(unit * share) for (each, unit), share in zip(units.items(), table.costs[row], strict=True)}
    return ArmSummary(name, **numbers, costs=costs or None)


def _pending_by_arm(agent: "Agent") -> Counter[Arm]:
    """How many pending decisions chose each arm."""
    places, names, counts = agent.adapter.registry.index_by_uid, agent.adapter.registry.names, Counter[Arm]()
    for _, chosen, *_ in agent._pending.values():
        for number in chosen if isinstance(chosen, tuple) else (chosen,):
            if number in places:
                counts[names[places[number]]] += 1
    return counts


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
