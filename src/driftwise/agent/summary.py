"""What an agent knows of its arms, for people: the policy's own summary (`core/summary.py`), a record per arm."""

import math
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from driftwise.core import serialization as states
from driftwise.core.encoding import Arm
from driftwise.core.family import auto_name
from driftwise.core.loop import summarise_once
from driftwise.core.pinned import pin
from driftwise.core.summary import Summary, new_summary
from driftwise.core.types import Problem
from driftwise.display.html import card, sentences, table
from driftwise.display.svg import interval, span_of
from driftwise.display.text import counted, number, short, text_table
from driftwise.errors import DriftwiseError

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
        Confidence bounds of the policy, or the central 95 % of its posterior, as far as the range of rewards reaches.
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
    names = adapter.registry.names or range(len(context))
    table = new_summary(len(names), len(adapter.cost_units))
    pinned, others = pin(states.clone(agent._state)), (t, context, agent._rng, pin(table))
    try:
        agent._bound(summarise_once, agent._plain, pinned, *others)(agent._plain, pinned, *others)
    except FloatingPointError as error:
        raise adapter.translate(error) from None
    pending = _pending_by_arm(agent) if adapter.registry else None
    _clip_intervals(table, adapter.problem)
    return [_record(name, table, row, adapter.cost_units, pending) for row, name in enumerate(names)]


def title_of(agent: "Agent") -> str:
    """The policy of an agent; where `auto` chose it, that too, as errors say it."""
    return f"auto (here {agent.policy})" if agent.adapter.name == auto_name(agent.policy) else str(agent.policy)


def table_of(records: Sequence[ArmSummary], most: int = 8) -> str:
    """A table for a terminal: the arm, its estimate, count and pending decisions; of many arms, those estimated best.

    >>> print(table_of([ArmSummary("red", estimate=0.25, count=4.0, pending=1.0), ArmSummary("blue")]))
      arm   estimate  count  pending
      red       0.25      4        1
      blue         -      -        -
    """
    best = _best(records, most)
    rows: list[tuple[str, ...]] = [("arm", "estimate", "count", "pending")]
    rows += [(short(str(each.arm)), *map(number, (each.estimate, each.count, each.pending))) for each in best]
    lines = [text_table(rows, indent="  ")]
    if len(records) > most:
        lines.append(f"  and {len(records) - most} more arms")
    return "\n".join(lines)


def html_of(agent: "Agent", most: int = 12) -> str:
    """An agent in a notebook: what it runs, where it stands, and what it knows of its arms."""
    facts = {"pending": len(agent.pending), "stale": agent.stale, "alarms": agent.alarms}
    beside = ", ".join([counted(agent.t, "round"), *(f"{n:,} {what}" for what, n in facts.items() if n)])
    try:
        records = agent.summary()
    except DriftwiseError:  # features or states come with requests
        return card(f"Agent: {title_of(agent)}", sentences([agent.adapter.describe()]), subtitle=beside)
    ends = [_or_nan(end) for each in records for end in (each.low, each.estimate, each.high)]
    rows = [
        (
            short(str(each.arm)),
            number(each.estimate),
            interval(_or_nan(each.low), _or_nan(each.estimate), _or_nan(each.high), span_of(ends)),
            number(each.count),
            number(each.pending),
        )
        for each in _best(records, most)
    ]
    more = [f"and {counted(len(records) - most, 'more arm')}"] if len(records) > most else []
    head = ["arm", "estimate", "interval", "count", "pending"]
    return card(f"Agent: {title_of(agent)}", table(head, rows), sentences(more), subtitle=beside)


def flat(record: ArmSummary) -> dict[str, Any]:
    """One arm as a row of a table; a column for the cost in each resource."""
    costs = {f"cost_{name}": value for name, value in (record.costs or {}).items()}
    return {"arm": record.arm} | {name: getattr(record, name) for name in NUMBERS} | costs


def _best(records: Sequence[ArmSummary], most: int) -> list[ArmSummary]:
    """The arms in their order; of many, those estimated best."""
    if len(records) <= most:
        return list(records)
    return sorted(records, key=lambda each: -math.inf if each.estimate is None else each.estimate, reverse=True)[:most]


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


def _clip_intervals(table: Summary, problem: Problem) -> None:
    """Cut intervals to the range of rewards, for a mean lies in it; a bound may be wider, and an index stays as it is.

    A linear estimate can lie outside the range itself: its interval then ends there.
    """
    table.low[:] = np.maximum(table.low, np.fmin(table.estimate, problem.low))
    table.high[:] = np.minimum(table.high, np.fmax(table.estimate, problem.high))


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
        for uid in chosen if isinstance(chosen, tuple) else (chosen,):
            if uid in places:
                counts[names[places[uid]]] += 1
    return counts


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else float(value)
