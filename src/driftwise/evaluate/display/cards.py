"""A card for each: what a log has, whether it drifts, what policies would have earned, what to run."""

import math
from datetime import UTC, datetime
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

import numpy as np

from driftwise.core.types import Floats
from driftwise.display.html import Markup, card, code, safe, sentences, table
from driftwise.display.svg import Plot, PlotLine, course, interval, line_plot, span_of
from driftwise.display.text import counted, number, plus_minus, short, text_table
from driftwise.evaluate.comparison import LOGGED

if TYPE_CHECKING:
    from driftwise.evaluate.diagnosis.diagnosis import Diagnosis
    from driftwise.evaluate.evaluation import Evaluation, PolicyEvaluation
    from driftwise.evaluate.log import Log
    from driftwise.evaluate.recommend import Recommendation

BINS = 24
MOST_ARMS = 12
MOST_LINES = 6


def log_html(log: "Log") -> str:
    """Every arm: how often it was chosen, what it earned, and how that went from the first row to the last."""
    courses = np.array([_course(log, k) for k in range(min(len(log.arms), MOST_ARMS))])
    span = span_of(courses.ravel().tolist())
    rows = []
    for k, name in enumerate(log.arms[:MOST_ARMS]):
        rewards = log.rewards[log.actions == k]
        came = rewards[~np.isnan(rewards)]
        mean = number(float(came.mean())) if len(came) else "-"
        rows.append((short(name), f"{len(rewards):,}", f"{len(came):,}", mean, course(courses[k].tolist(), span)))
    parts = ["propensities"] * (log.propensities is not None) + [*log.context_names, *log.feature_names]
    more = [f"and {counted(len(log.arms) - MOST_ARMS, 'more arm')}"] if len(log.arms) > MOST_ARMS else []
    more += [f"It has {', '.join(parts[:8])}{', …' if len(parts) > 8 else ''}."] if parts else []
    beside = f"{counted(len(log), 'row')}, {counted(len(log.arms), 'arm')}{_dates(log)}"
    head = ["arm", "chosen", "rewards", "mean", "over time"]
    return card("Log", table(head, rows), sentences([*more, *log.notes]), subtitle=beside)


def diagnosis_html(found: "Diagnosis") -> str:
    """The verdict, the means over time with the changes found, a table of arms, and what to run."""
    from driftwise.evaluate.diagnosis.summary import facts, listed_arms, notes_of, verdict

    arms, more = listed_arms(found, MOST_ARMS)
    rows = [
        (short(arm.name), f"{arm.chosen:,}", plus_minus(arm.mean, arm.half), number(arm.variation.value, 3))
        for arm in arms
    ]
    advice = found.recommendation
    run = Markup(
        f'<div style="margin: 0.5em 0;">Run <b>{safe(advice.policy)}</b>: {safe(advice.why)}.<br/>'
        f"{code(advice.command)}</div>"
    )
    beside = f"{counted(found.rows, 'row')}, {counted(len(found.arms), 'arm')}"
    return card(
        verdict(found),
        sentences([str(found.arm_guess)] if found.arm_guess else []),
        means_plot(found).svg,
        table(["arm", "chosen", "mean", "variation"], rows),
        sentences([more] * bool(more) + [*facts(found)]),
        run,
        sentences(notes_of(found)),
        subtitle=beside,
    )


def means_plot(found: "Diagnosis") -> Plot:
    """The smooth mean of the arms chosen most, by bins of the log; sudden changes are upright lines."""
    order = sorted(range(len(found.arms)), key=lambda k: -found.arms[k].chosen)[:MOST_LINES]
    starts = np.append(0, found.edges[:-1])
    middles = np.asarray(0.5 * (starts + found.edges), np.float64)
    times = found.edge_times
    places = middles if times is None else np.asarray(0.5 * (times[:-1] + times[1:]), np.float64)
    means, errors = found.smooth.means, 1.96 * found.smooth.sds
    lines = [
        PlotLine(
            found.arms[k].name,
            places.tolist(),
            means[:, k].tolist(),
            *([edge.tolist() for edge in (means[:, k] - errors[:, k], means[:, k] + errors[:, k])] * found.has_band(k)),
        )
        for k in order
    ]
    marks = [float(np.interp(change.row, middles, places)) for change in found.changes]
    title = {True: "day", False: "time"}[found.dated] if times is not None else "row"
    ticks = _day_ticks(places, found.timezone) if found.dated else []
    return line_plot(lines, title="mean reward, with 95 %", x_title=title, marks=marks, ticks=ticks)


def evaluation_text(evaluation: "Evaluation") -> str:
    """A table for a terminal."""
    rows = [("policy", "reward per decision", "effective rows")]
    rows += [
        (short(name, 40), _value(each), f"{each.effective_sample_size:,.0f}") for name, each in _ranking(evaluation)
    ]
    return f"Evaluation: {counted(evaluation.rows, 'row')}, {counted(len(evaluation.arms), 'arm')}\n{text_table(rows)}"


def evaluation_html(evaluation: "Evaluation") -> str:
    """What policies would have earned, the best first, with intervals and periods on common scales."""
    ranking = _ranking(evaluation)
    known = [each.value for _, each in ranking if each.value is not None]
    span = span_of([end for each in known for end in each])
    courses = {
        name: [math.nan if period.value is None else period.value.mean for period in each.periods]
        for name, each in ranking
    }
    periods = span_of([value for values in courses.values() for value in values])
    rows = [
        (
            short(name, 40),
            _value(each),
            "" if each.value is None else interval(each.value.low, each.value.mean, each.value.high, span),
            f"{each.effective_sample_size:,.0f}",
            course(courses[name], periods),
        )
        for name, each in ranking
    ]
    warnings = [f"{name}: {warning}" for name, each in ranking for warning in each.warnings]
    head = ["policy", "reward per decision", "95 %", "effective rows", "by period"]
    beside = f"{counted(evaluation.rows, 'row')}, {counted(len(evaluation.arms), 'arm')}"
    return card("Evaluation", table(head, rows), sentences([*warnings, *evaluation.notes]), subtitle=beside)


def evaluation_rows(evaluation: "Evaluation") -> list[dict[str, object]]:
    """A row per policy, and one of what was earned: value, interval, difference from the log."""
    gains = {each.policy: each.difference for each in evaluation.comparisons if each.against == LOGGED}
    rows: list[dict[str, object]] = []
    for name, each in _ranking(evaluation):
        value, gain = each.value, gains.get(name)
        rows.append(
            {
                "policy": name,
                **{end: None if value is None else getattr(value, end) for end in ("mean", "low", "high")},
                **{f"gain_{end}": None if gain is None else getattr(gain, end) for end in ("mean", "low", "high")},
                "effective_sample_size": each.effective_sample_size,
                "acceptance": each.acceptance,
                "method": each.method,
            }
        )
    return rows


def recommendation_html(advice: "Recommendation") -> str:
    """What to run, what it costs if the answers were wrong, and the line to copy."""
    from driftwise.evaluate.recommend import in_words

    rows = [
        (drift, in_words(cost.loss), in_words(cost.best), cost.best_policy)
        for drift, cost in advice.cost_if_wrong.items()
    ]
    costs = table(["if the world", "it", "the best candidate", "which is"], rows) if rows else ""
    lines = Markup(
        f"<div>{safe(advice.reason)}</div>{costs}<div>{code(advice.code)}</div><div>{code(advice.command)}</div>"
    )
    return card(f"Run {advice.spec}", lines, sentences(advice.notes), subtitle=advice.kind)


def _ranking(evaluation: "Evaluation") -> "list[tuple[str, PolicyEvaluation]]":
    rest = [(name, each) for name, each in evaluation.policies.items() if name != LOGGED]
    rest.sort(key=lambda item: -(item[1].value.mean if item[1].value else -math.inf))
    return [(LOGGED, evaluation.logged), *rest]


def _value(each: "PolicyEvaluation") -> str:
    value = each.value
    return "not known" if value is None else plus_minus(value.mean, 0.5 * (value.high - value.low))


def _course(log: "Log", arm: int) -> Floats:
    """The mean reward of an arm in each of a few bins of rows; nan where none came."""
    rows = np.flatnonzero((log.actions == arm) & ~np.isnan(log.rewards))
    bins = rows * BINS // len(log)
    counts, sums = np.bincount(bins, minlength=BINS), np.bincount(bins, weights=log.rewards[rows], minlength=BINS)
    means: Floats = np.where(counts > 0, sums / np.maximum(counts, 1), np.nan)
    return means


def _dates(log: "Log") -> str:
    if log.times is None or not log.dated:
        return ""
    first, last = (_day(float(log.times[row]), log.timezone) for row in (0, -1))
    return f", {first} to {last}"


def _day(time: float, timezone: str) -> str:
    return datetime.fromtimestamp(time, UTC).astimezone(ZoneInfo(timezone)).strftime("%Y-%m-%d")


def _day_ticks(places: Floats, timezone: str) -> list[tuple[float, str]]:
    chosen = [float(places[0]), float(0.5 * (places[0] + places[-1])), float(places[-1])]
    return [(place, _day(place, timezone)) for place in chosen]
