"""A diagnosis in words for a terminal, and as plain values for JSON."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from driftwise.display.text import counted
from driftwise.evaluate.diagnosis.change_points import ChangePoint
from driftwise.evaluate.diagnosis.gradual import GradualChange
from driftwise.evaluate.diagnosis.seasons import Season
from driftwise.evaluate.diagnosis.variation import MeanVariation
from driftwise.evaluate.diagnosis.window_curve import WindowCurve

if TYPE_CHECKING:
    from driftwise.evaluate.diagnosis.diagnosis import ArmDiagnosis, Diagnosis

MOST_CHANGES = 12
MOST_ARMS = 20
UNITS = ((86400.0, "days"), (3600.0, "hours"), (60.0, "minutes"), (1.0, "seconds"))


def summary(found: "Diagnosis") -> str:
    """The page for a terminal."""
    return "\n".join(_lines(found))


def verdict(found: "Diagnosis") -> str:
    """One sentence: does it drift."""
    if found.test is None:
        return "It does not drift: every reward is the same."
    if not found.drifts:
        return f"No drift was found (p = {found.p_value:.2g}); noise alone moves this much."
    counts = {"sudden change": len(found.changes), "gradual change": len(found.gradual)}
    named = [counted(n, what) for what, n in counts.items() if n]
    what = " and ".join(named) or "no change stands out; the means move a little all the time"
    return f"It drifts (p {at_most(found)}): {what}."


def at_most(found: "Diagnosis") -> str:
    """`= 0.01`, or `<= 0.002` where no permutation came near."""
    least = 1.0 / (1 + (found.test.permutations if found.test else 1))
    return f"<= {least:.2g}" if found.p_value <= least * 1.01 else f"= {found.p_value:.2g}"


def _lines(found: "Diagnosis") -> Iterator[str]:
    zone = f" ({found.timezone})" if found.dated else ""
    span = f", {short_date(found.span[0])} to {short_date(found.span[1])}{zone}" if found.span else ""
    guess = f"; {found.arm_guess}" if found.arm_guess else ""
    yield f"{counted(found.rows, 'row')}, {counted(len(found.arms), 'arm')}{span}{guess}"
    yield ""
    yield verdict(found)
    for change, texts in [*zip(found.changes, found.dates, strict=True)][:MOST_CHANGES]:
        dates = [short_date(each) for each in texts]
        name, half = found.arms[change.arm].name, 1.96 * change.standard_error
        yield f"  {dates[0]}  {name}: {change.before:.4g} -> {change.after:.4g} ({change.size:+.3g} ± {half:.2g})"
        yield f"      between {dates[1]} and {dates[2]} with 95 %"
    if len(found.changes) > MOST_CHANGES:
        yield f"  and {len(found.changes) - MOST_CHANGES} more: --json lists all"
    for move, texts in [*zip(found.gradual, found.gradual_dates, strict=True)][:MOST_CHANGES]:
        start, start_low, start_high, end, end_low, end_high = (short_date(each) for each in texts)
        name, half = found.arms[move.arm].name, 1.96 * move.standard_error
        yield (
            f"  {start} to {end}  {name}: drifts gradually from {move.before:.4g} to {move.after:.4g} "
            f"({move.size:+.3g} ± {half:.2g})"
        )
        yield (
            f"      it starts between {start_low} and {start_high}, and ends between {end_low} and {end_high}, "
            "with 95 % each"
        )
    if len(found.gradual) > MOST_CHANGES:
        yield f"  and {len(found.gradual) - MOST_CHANGES} more gradual ones: --json lists all"
    yield ""
    shown, more = listed_arms(found, MOST_ARMS)
    wide = max(len(arm.name) for arm in shown)
    yield f"  {'arm':<{wide}}  {'chosen':>9}  {'mean':>18}  {'noise':>8}  variation"
    for arm in shown:
        spread = "" if math.isnan(arm.half) else f" ± {arm.half:.2g}"  # one reward has none
        mean = f"{arm.mean:.4g}{spread}"
        yield f"  {arm.name:<{wide}}  {arm.chosen:>9,}  {mean:>18}  {arm.noise:>8.3g}  {_variation_text(arm.variation)}"
    if more:
        yield f"  {more}: --json lists all"
    yield f"  {'all':<{wide}}  {found.rows:>9,}  {'':>18}  {'':>8}  {_variation_text(found.variation)}"
    yield ""
    yield from facts(found)
    yield ""
    yield f"Run {found.recommendation.policy}: {found.recommendation.why}."
    yield f"  {found.recommendation.command}"
    if found.recommendation.serve:
        yield f"  {found.recommendation.serve}"
    if notes := notes_of(found):
        yield ""
        yield "Notes"
        yield from (f"  - {note}" for note in notes)


def notes_of(found: "Diagnosis") -> list[str]:
    """What was guessed, assumed and left out, but for the guess that stands first."""
    return [note for note in (*found.notes, *found.overlap.notes) if note != str(found.arm_guess)]


def listed_arms(found: "Diagnosis", most: int) -> tuple[list["ArmDiagnosis"], str]:
    """All arms, or where they are more than `most` those chosen most and a sentence about the others."""
    if len(found.arms) <= most:
        return found.arms, ""
    order = sorted(found.arms, key=lambda arm: -arm.chosen)
    times = order[most].chosen
    others = f"and {len(order) - most:,} more, each chosen {counted(times, 'time')} or less"
    return order[:most], others


def short_date(text: str) -> str:
    """`2026-09-14 23:23` from a date in ISO 8601; counts and rows as they are."""
    return text[:16].replace("T", " ") if "T" in text else text


def facts(found: "Diagnosis") -> Iterator[str]:
    """Seasons, window, rewards that never came, delays and overlap: a sentence each."""
    present = found.seasons.present
    for season in present:
        yield season_words(season)
    if not present and (found.seasons.hour or found.seasons.weekday):
        yield "No season by hour or weekday."
    yield window_words(found)
    if found.missing:
        yield f"{found.missing:,} of {found.rows:,} rewards ({found.missing / found.rows:.1%}) never came."
    if found.delays:
        waits = found.delays
        yield (
            f"Rewards came {duration(waits.median)} after the decision in the median, 99 % within "
            f"{duration(waits.p99)} ({waits.p99_rows:,.0f} rows); the longest took {duration(waits.longest)}."
        )
    least = found.overlap.least_shares
    if len(found.arms) > 1:
        arm = found.arms[int(np.argmin(least))].name
        yield (
            f"Overlap: {arm} was chosen least, {least.min():.1%} of the time in some tenth of the log; "
            f"{found.overlap.effective_share:.0%} of the rows count for a policy that chooses all arms alike."
        )


def season_words(season: Season) -> str:
    """What a season does."""
    most, least = (season.slot_name(int(find(season.effects))) for find in (np.nanargmax, np.nanargmin))
    at = "at" if season.name == "hour" else "on"
    return (
        f"There is a season by {season.name} (p = {season.p_value:.2g}), which is not counted as drift: rewards are "
        f"{season.swing:.3g} higher {at} {most} than {at} {least}."
    )


def window_words(found: "Diagnosis") -> str:
    """Which window would have predicted best."""
    if found.window.best is None:
        return "Best window: all rows; forgetting would have predicted no better."
    place = int(np.flatnonzero(found.window.windows == found.window.best)[0])
    share = found.window.gains[place] / max(found.window.all_rewards, 1e-300)
    return f"Best window: {counted(found.window.best, 'row')}; it predicts rewards {share:.2%} better than all rows do."


def duration(seconds: float) -> str:
    """`2.5 hours`."""
    size, unit = next((each for each in UNITS if seconds >= each[0]), UNITS[-1])
    return f"{seconds / size:.3g} {unit}"


def _variation_text(variation: MeanVariation) -> str:
    return f"{variation.value:.3g} [{variation.low:.3g}, {variation.high:.3g}]"


def to_dict(found: "Diagnosis") -> Mapping[str, object]:
    """Everything, in plain values."""
    return {
        "rows": found.rows,
        "arms": [_arm(found, k) for k in range(len(found.arms))],
        "span": list(found.span) if found.span else None,
        "drifts": found.drifts,
        "p_value": found.p_value,
        "changes": [_change(found, *each) for each in zip(found.changes, found.dates, strict=True)],
        "gradual_changes": [_gradual(found, *each) for each in zip(found.gradual, found.gradual_dates, strict=True)],
        "variation": _variation(found.variation),
        "seasons": {
            season.name: _season(season) for season in (found.seasons.hour, found.seasons.weekday) if season is not None
        },
        "missing_rewards": found.missing,
        "delays": None if found.delays is None else found.delays._asdict(),
        "best_window": found.window.best,
        "windows": _windows(found.window),
        "overlap": _overlap(found),
        "recommendation": found.recommendation._asdict(),
        "arm_guess": None if found.arm_guess is None else found.arm_guess._asdict(),
        "notes": [*found.notes, *found.overlap.notes],
    }


def _arm(found: "Diagnosis", k: int) -> Mapping[str, object]:
    arm = found.arms[k]
    return {
        "name": arm.name,
        "chosen": arm.chosen,
        "rewarded": arm.rewarded,
        "share": float(found.overlap.shares[k]),
        "mean": number(arm.mean),
        "ci95": number(arm.half),
        "noise": number(arm.noise),
        "variation": _variation(arm.variation),
    }


def _change(found: "Diagnosis", change: ChangePoint, dates: Sequence[str]) -> Mapping[str, object]:
    return {"at": dates[0], "at_ci95": [dates[1], dates[2]], "row": change.row, **_step(found, change)}


def _gradual(found: "Diagnosis", move: GradualChange, dates: Sequence[str]) -> Mapping[str, object]:
    return {
        "start_at": dates[0],
        "start_at_ci95": [dates[1], dates[2]],
        "end_at": dates[3],
        "end_at_ci95": [dates[4], dates[5]],
        "start_row": move.start,
        "end_row": move.end,
        **_step(found, move),
    }


def _step(found: "Diagnosis", step: ChangePoint | GradualChange) -> Mapping[str, object]:
    """Which arm, and by how much."""
    return {
        "action": found.arms[step.arm].name,
        "size": number(step.size),
        "size_ci95": [number(step.size + sign * 1.96 * step.standard_error) for sign in (-1.0, 1.0)],
        "before": number(step.before),
        "after": number(step.after),
    }


def _season(season: Season) -> Mapping[str, object]:
    return {
        "present": season.present,
        "p_value": season.p_value,
        "swing": number(season.swing),
        "effects": [number(effect) for effect in season.effects],
    }


def _windows(window: WindowCurve) -> Mapping[str, object]:
    return {
        "window": window.windows.tolist(),
        "error": window.errors.tolist(),
        "gain": window.gains.tolist(),
        "gain_standard_error": window.standard_errors.tolist(),
        "error_of_all": window.all_rewards,
    }


def _overlap(found: "Diagnosis") -> Mapping[str, object]:
    overlap = found.overlap
    return {
        "least_share": {arm.name: float(overlap.least_shares[k]) for k, arm in enumerate(found.arms)},
        "propensities_known": overlap.known,
        "least_propensity": overlap.least_propensity,
        "effective_share": overlap.effective_share,
        "deterministic": overlap.deterministic,
    }


def _variation(variation: MeanVariation) -> Mapping[str, object]:
    return {"value": number(variation.value), "ci95": [number(variation.low), number(variation.high)]}


def number(value: float) -> float | None:
    """A number that JSON has; None for nan and infinity."""
    return float(value) if math.isfinite(value) else None
