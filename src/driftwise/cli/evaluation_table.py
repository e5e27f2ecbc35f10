"""An evaluation in a terminal: values, differences, periods, and what to be careful about."""

import math

import click
from rich import box

from driftwise.cli.fitting_table import TableColumn, print_table
from driftwise.display.text import counted
from driftwise.evaluate.comparison import LOGGED
from driftwise.evaluate.evaluation import Evaluation, PolicyEvaluation
from driftwise.measure.intervals import Interval

BARS = "▁▂▃▄▅▆▇█"
MAX_BARS = 30


def show_evaluation(evaluation: Evaluation) -> None:
    """Values in a table and differences between policies in sentences; notes and warnings go to standard error."""
    _show_values(evaluation)
    for line in _differences(evaluation):
        click.echo(line)
    for note in evaluation.notes:
        click.echo(f"note: {note}", err=True)
    for name, result in evaluation.policies.items():
        for warning in result.warnings:
            click.echo(f"warning: {name}: {warning}", err=True)


def _show_values(evaluation: Evaluation) -> None:
    rows = {name: each for name, each in evaluation.policies.items() if name != LOGGED}
    ranking = sorted(rows, key=lambda name: -(value.mean if (value := rows[name].value) else -math.inf))
    results = {LOGGED: evaluation.logged} | {name: rows[name] for name in ranking}
    means = [each.value.mean for result in results.values() for each in result.periods if each.value is not None]
    scale = (min(means, default=0.0), max(means, default=1.0))
    gains = {each.policy: each.difference for each in evaluation.comparisons if each.against == LOGGED}
    gain_texts = [
        _text(gains[name], "+", _digits(each.value)) if name in gains else "" for name, each in results.items()
    ]
    bars = [_bars(each, scale) for each in results.values()]
    span = f"periods from {scale[0]:.3g} to {scale[1]:.3g}" if means else ""
    print_table(
        list(results),
        [
            TableColumn("reward per\ndecision", [_text(each.value) for each in results.values()]),
            TableColumn("against\nthe log", gain_texts, drop=3),
            TableColumn("effective\nrows", [f"{each.effective_sample_size:,.0f}" for each in results.values()], drop=2),
            TableColumn("by period", bars, drop=1, left=True, note=span),
        ],
        title=f"{counted(evaluation.rows, 'row')}, {counted(len(evaluation.arms), 'arm')}",
        caption=f"± 95%; {', '.join(sorted({each.method for each in rows.values()}))}",
        frame=box.SIMPLE_HEAD,
    )


def _differences(evaluation: Evaluation) -> list[str]:
    """How much more the best policy earns than each other one."""
    values = {name: each.value.mean for name, each in evaluation.policies.items() if each.value and name != LOGGED}
    best = max(values, key=lambda name: values[name], default=None)
    lines = []
    for each in evaluation.comparisons:
        if best not in (each.policy, each.against) or each.against == LOGGED:
            continue
        other = each.against if each.policy == best else each.policy
        close = each.difference.low <= 0.0 <= each.difference.high
        more = _text(each.difference._replace(mean=abs(each.difference.mean)))
        lines.append(f"{best} earns {more} more than {other}{': too close to call' if close else ''}")
    return lines


def _text(value: Interval | None, sign: str = "", digits: int | None = None) -> str:
    """An estimate and half the width of its interval, with as many digits as that justifies, or so many."""
    if value is None:
        return "not known"
    digits = _digits(value) if digits is None else digits
    if digits is None:
        return f"{value.mean:{sign}.4g}"
    return f"{value.mean:{sign},.{digits}f} ± {0.5 * (value.high - value.low):,.{digits}f}"


def _digits(value: Interval | None) -> int | None:
    """How many digits after the point an interval justifies; None where it has no width."""
    half = 0.0 if value is None else 0.5 * (value.high - value.low)
    return max(0, 1 - math.floor(math.log10(half))) if 0.0 < half < math.inf else None


def _bars(result: PolicyEvaluation, scale: tuple[float, float]) -> str:
    """A bar per period, from the lowest to the highest mean of all; a dot where the log cannot tell."""
    low, span = scale[0], scale[1] - scale[0] or 1.0
    bars = [
        "·" if each.value is None else BARS[round((each.value.mean - low) / span * (len(BARS) - 1))]
        for each in result.periods
    ]
    return "".join(bars[:MAX_BARS])
