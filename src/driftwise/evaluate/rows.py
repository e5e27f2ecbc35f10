"""Rows of a log as arrays: cells become numbers in one pass, and rows that cannot be used are counted and quoted."""

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from driftwise.core.extras import needed_for
from driftwise.core.types import Floats, Ints
from driftwise.display.text import agree, counted
from driftwise.errors import LogError
from driftwise.evaluate.arm_features import FeatureColumns, find_features, read_features
from driftwise.evaluate.categories import encode_context, text_columns
from driftwise.evaluate.cells import label, missing, number
from driftwise.evaluate.columns import ArmGuess, ColumnOptions, Columns, Looks, choose_columns, guess_of_arms
from driftwise.evaluate.reading import HEAD, Scan, unreadable
from driftwise.evaluate.times import (
    TimeColumn,
    example_format,
    looks_like_time,
    offset_note,
    seconds,
    time_column,
    zone_name,
)

with needed_for("reading a log"):
    import polars as pl

ID = re.compile(r"(.*_)?(id|uuid)", re.IGNORECASE)  # a column that names rows or units
MOST_ARMS = 10_000
MOST_UNREADABLE = 0.05  # of the times or rewards: with more, the log is misread, and what is left of it misleads
NO_TIME = "a time that cannot be read"


class LogRows(NamedTuple):
    """What a `Log` is made of."""

    arms: tuple[str, ...]
    actions: Ints
    rewards: Floats
    times: Floats | None
    propensities: Floats | None
    context: Floats | None
    context_names: tuple[str, ...]
    features: Floats | None
    feature_names: tuple[str, ...]
    units: Ints | None
    rewarded_at: Floats | None
    costs: Floats | None
    cost_names: tuple[str, ...]
    dated: bool
    timezone: str
    notes: list[str]
    arm_guess: ArmGuess | None


class Rule(NamedTuple):
    """What rows have that are left out, and the columns to quote; a log with more than `most` of them is refused."""

    why: str
    broken: "pl.Expr"
    columns: tuple[str, ...]
    most: float = 1.0
    cure: str = ""


def read_rows(
    scan: Scan, options: ColumnOptions, *, timezone: str | None = None, time_format: str | None = None
) -> LogRows:
    """Every row that can be used, in the order of the file."""
    layout, notes = _layout(scan, options)
    columns, head = layout.columns, layout.head
    time = time_column(head[columns.time], timezone, time_format) if columns.time else None
    late = time_column(head[columns.rewarded_at], timezone, time_format) if columns.rewarded_at else None
    rules = _rules(scan, layout, time)
    table = _collect(scan, _parsed(scan, layout, time, late, rules))
    notes += _zone_notes(table, columns, time, timezone)
    keep = _usable(scan, table, rules, notes)
    keep &= _first_of_equals(table, columns, [name for name in head.columns if ID.fullmatch(name)], keep, notes)
    table = table.filter(pl.Series(keep)) if not keep.all() else table
    by_arm = read_features(layout.features, table) if layout.features else None
    if by_arm is not None and not by_arm.complete.all():
        complete = by_arm.complete
        notes.append(_incomplete(scan, layout, complete, keep))
        keep[np.flatnonzero(keep)[~complete]] = False
        table, by_arm = table.filter(pl.Series(complete)), by_arm._replace(values=by_arm.values[complete])
    arms, actions = _arms(table["action"])
    propensities = None
    if columns.propensity:
        propensities = _possible(scan, columns, _array(table, "propensity"), keep, notes)
    context = encode_context(table, columns.context, layout.text, guessed=options.context is None)
    never = [arm for arm in (by_arm.arms if by_arm else ()) if arm not in arms]
    if never:
        notes.append(f"features of arms that were never chosen are left out: {', '.join(never[:10])}")
    return LogRows(
        arms=arms,
        actions=actions,
        rewards=_array(table, "reward"),
        times=seconds(table["time"]) if time else None,
        propensities=propensities,
        context=context.matrix,
        context_names=context.names,
        features=by_arm.of(arms) if by_arm else None,
        feature_names=by_arm.names if by_arm else (),
        units=_numbered(table["unit"]) if columns.unit else None,
        rewarded_at=_times(table["rewarded_at"]) if late else None,
        costs=_matrix(table, "costs", len(columns.costs)),
        cost_names=tuple(re.sub(r"^costs?[ _](?=.)", "", name) for name in columns.costs),
        dated=time is not None and time.dated,
        timezone=time.timezone if time else zone_name(timezone),
        notes=notes + context.notes,
        arm_guess=layout.arm_guess,
    )


class Layout(NamedTuple):
    """What is in which column; `text` are context columns of categories, `arm_guess` a guess that could be wrong."""

    head: "pl.DataFrame"
    columns: Columns
    features: FeatureColumns | None
    text: frozenset[str]
    arm_guess: ArmGuess | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """All columns in use."""
        return (*self.columns.names, *(self.features.columns if self.features else ()))

    @property
    def numbers(self) -> dict[str, tuple[str, ...]]:
        """Columns that must hold a number in every row, by what they are."""
        columns, features = self.columns, self.features
        return {
            "context": tuple(name for name in columns.context if name not in self.text),
            "costs": columns.costs,
            "feature": features.columns if features and not features.nested else (),
        }


def _layout(scan: Scan, options: ColumnOptions) -> tuple[Layout, list[str]]:
    """Which columns to use, and what was guessed."""
    head = _head(scan)
    looks = _looks(head)
    columns, guessed = choose_columns(options, head.columns, looks)
    free = [name for name in head.columns if name not in columns.names]
    first = head.select(label(columns.action, head.schema[columns.action])).to_series().drop_nulls().unique()
    features = find_features(options.features, head, free, first.to_list())
    layout = Layout(head, columns, features, text_columns(head, columns.context, scan.decimal_comma))
    notes = [*scan.notes]
    by_arm = f"features {', '.join(map(repr, features.columns[:6]))}" if features and options.features is None else ""
    if guessed or by_arm:
        notes.append(
            f"columns guessed by name or content: {', '.join(filter(None, (columns.described(guessed), by_arm)))}"
        )
    unused = [name for name in head.columns if name not in layout.names]
    if unused:
        notes.append(f"columns not used: {', '.join(unused)}")
    arm_guess = guess_of_arms(columns.action, unused, looks) if "action" in guessed else None
    if arm_guess:
        notes.insert(0, str(arm_guess))
    return layout._replace(arm_guess=arm_guess), notes


def _head(scan: Scan) -> "pl.DataFrame":
    try:
        head = scan.lazy.head(HEAD).collect()
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(scan.place, error) from None
    if not len(head):
        raise LogError(f"{scan.place} has no rows")
    return head


def _looks(head: "pl.DataFrame") -> dict[str, Looks]:
    """Whether a column could be a time, an action or a reward, or has several values, by its first rows."""

    def reward(name: str) -> bool:
        values = head.select(number(name, head.schema[name])).to_series()
        return values.null_count() <= 0.5 * len(values) and not looks_like_time(head[name])

    def action(name: str) -> bool:
        kind = head.schema[name]
        if kind not in (pl.String, pl.Categorical, pl.Enum) or looks_like_time(head[name]) or reward(name):
            return False
        return several(name)

    def several(name: str) -> bool:
        return not head.schema[name].is_nested() and 2 <= head[name].n_unique() <= max(2, min(100, len(head) // 5))

    return {"time": lambda name: looks_like_time(head[name]), "action": action, "reward": reward, "several": several}


# ---- expressions ----


def _rules(scan: Scan, layout: Layout, time: TimeColumn | None) -> list[Rule]:
    """The rules a row must keep, in the order of their notes."""
    head, columns, kinds, comma = layout.head, layout.columns, layout.head.schema, scan.decimal_comma
    for name in filter(None, (columns.reward, columns.propensity, *sum(layout.numbers.values(), ()))):
        if head.select(number(name, kinds[name], comma)).to_series().is_null().all():
            known = head[name].drop_nulls()
            if len(known) and not head.select(missing(name, kinds[name])).to_series().all():
                first = str(known[0])[:40]
                raise LogError(
                    f"column {name!r} holds no numbers, it starts with {first!r}: write numbers alone, without units, "
                    "or name another column"
                )
    rules = [Rule("no action", label(columns.action, kinds[columns.action]).is_null(), (columns.action,))]
    if time:
        broken = time.microseconds.is_null()
        form = example_format(head[columns.time])
        cure = f"say how times are written, as in --time-format '{form}' (time_format= in Python)"
        rules.append(Rule(NO_TIME, broken, (columns.time,), MOST_UNREADABLE, cure))
    reward = number(columns.reward, kinds[columns.reward], comma)
    broken = ~missing(columns.reward, kinds[columns.reward]) & ~reward.is_finite().fill_null(False)
    cure = "write numbers alone, and leave the cell empty where there is no reward"
    rules.append(Rule("a reward that is not a finite number", broken, (columns.reward,), MOST_UNREADABLE, cure))
    for what, names in layout.numbers.items():
        for name in names:
            value = number(name, kinds[name], comma)
            rules.append(Rule(f"no number for {what} {name!r}", ~value.is_finite().fill_null(False), (name,)))
    return rules


def _parsed(
    scan: Scan, layout: Layout, time: TimeColumn | None, late: TimeColumn | None, rules: Sequence[Rule]
) -> "pl.LazyFrame":
    """All columns of the result; `rule` is the place of the first rule that a row breaks, counted from 1."""
    head, columns, kinds = layout.head, layout.columns, layout.head.schema

    def cell(name: str) -> "pl.Expr":
        if name in layout.text:
            return label(name, kinds[name]).cast(pl.Categorical)
        nested = layout.features is not None and name == layout.features.nested
        return pl.col(name) if nested else number(name, kinds[name], scan.decimal_comma)

    rule = pl.lit(0, pl.UInt16)
    for place, each in reversed([*enumerate(rules, start=1)]):
        rule = pl.when(each.broken).then(pl.lit(place, pl.UInt16)).otherwise(rule)
    fields = {"rule": rule, "action": label(columns.action, kinds[columns.action]).cast(pl.Categorical)}
    fields["reward"] = cell(columns.reward)
    if time:
        marks = dict.fromkeys((*layout.names, *(name for name in head.columns if ID.fullmatch(name))))
        fields["hash"] = pl.struct(*marks).hash()
    if time:
        fields["time"] = time.microseconds
        if time.offset is not None:
            fields["offset"] = time.offset.cast(pl.Categorical)
    if late:
        fields["rewarded_at"] = late.microseconds
    if columns.propensity:
        fields["propensity"] = cell(columns.propensity)
    if columns.unit:
        fields["unit"] = pl.col(columns.unit)
    features = layout.features.columns if layout.features else ()
    for role, names in {"context": columns.context, "costs": columns.costs, "features": features}.items():
        fields |= {f"{role}{i}": cell(name) for i, name in enumerate(names)}
    return scan.lazy.select(**fields)


def _collect(scan: Scan, lazy: "pl.LazyFrame") -> "pl.DataFrame":
    try:
        return lazy.collect(engine="streaming")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise unreadable(scan.place, error) from None


# ---- what is wrong with rows ----


def _zone_notes(table: "pl.DataFrame", columns: Columns, time: TimeColumn | None, timezone: str | None) -> list[str]:
    if time is None:
        return ["no column of times: rows are taken in the order of the file"]
    if time.offset is None:
        return [time.note]
    counts = dict(table["offset"].cast(pl.String).drop_nulls().value_counts().iter_rows())
    return [offset_note(columns.time, counts, timezone)]


def _usable(scan: Scan, table: "pl.DataFrame", rules: Sequence[Rule], notes: list[str]) -> NDArray[np.bool_]:
    """Which rows break no rule; the others are counted, and the first of each kind is quoted."""
    rule = table["rule"].to_numpy()
    counts = np.bincount(rule, minlength=len(rules) + 1)
    for place, each in enumerate(rules, start=1):
        if counts[place]:
            row = int(np.argmax(rule == place))
            quoted, cure = _quote(scan, row, each.columns), f"; {each.cure}" if each.cure else ""
            n_rows = int(counts[place])
            count = f"{n_rows:,} of {len(rule):,} rows {agree(n_rows, 'has', 'have')} {each.why}"
            if counts[place] > each.most * len(rule):
                raise LogError(f"{scan.place}: {count}; the first is {quoted}{cure}")
            notes.append(f"{count} and {agree(n_rows, 'is', 'are')} left out; the first is {quoted}")
    if counts[0] == 0:
        raise LogError(f"{scan.place} has no row that can be used: {notes[-1]}")
    keep: NDArray[np.bool_] = rule == 0
    return keep


def _first_of_equals(
    table: "pl.DataFrame", columns: Columns, ids: Sequence[str], keep: NDArray[np.bool_], notes: list[str]
) -> NDArray[np.bool_]:
    """Rows that repeat no other. Equal rows at equal times are one row twice, if they name who or which they are.

    With times of whole seconds and nobody named, two visitors may well look alike: such rows are kept.
    """
    everything = np.ones(len(table), np.bool_)
    if "hash" not in table.columns:
        return everything
    first = table["hash"].is_first_distinct().to_numpy()
    n_equal = int((keep & ~first).sum())
    if not n_equal:
        return everything
    repeat = agree(n_equal, "repeats", "repeat")
    repeats = f"{n_equal:,} of {len(table):,} rows {repeat} another in every column that is used"
    if ids or columns.unit or bool((table["time"] % 1_000_000 != 0).any()):
        notes.append(f"{repeats} and {agree(n_equal, 'is', 'are')} left out")
        return first
    notes.append(f"{repeats}; {agree(n_equal, 'it is', 'they are')} kept, since two visitors in one second look alike")
    return everything


def _incomplete(scan: Scan, layout: Layout, complete: NDArray[np.bool_], keep: NDArray[np.bool_]) -> str:
    """How many rows lack features of an arm."""
    if not complete.any():
        raise LogError(f"{scan.place} has no row with the same features for every arm")
    names = layout.features.columns if layout.features else ()
    quoted = _quote(scan, int(np.flatnonzero(keep)[np.argmin(complete)]), names)
    n_rows = int((~complete).sum())
    have, are = agree(n_rows, "has", "have"), agree(n_rows, "is", "are")
    features = f"{counted(n_rows, 'row')} {have} not the same features for every arm"
    return f"{features} and {are} left out; the first is {quoted}"


def _quote(scan: Scan, row: int, names: Sequence[str]) -> str:
    """A row as it stands in the file, with its line; where there are no lines, its number, counted from 1."""
    cells = scan.lazy.slice(row, 1).select(names).collect().row(0, named=True)
    place = f"line {row + scan.first_line:,}" if scan.first_line else f"row {row + 1:,}"
    return f"{place}: " + ", ".join(f"{name}={_short(value)}" for name, value in cells.items())


def _short(value: object) -> str:
    return repr(value) if value is None or isinstance(value, int | float) else repr(str(value)[:60])


def _possible(scan: Scan, columns: Columns, propensities: Floats, keep: NDArray[np.bool_], notes: list[str]) -> Floats:
    """Propensities in (0, 1]; what cannot be a probability of something that happened counts as unknown."""
    unknown = np.isnan(propensities)
    impossible = ~unknown & ~((propensities > 0.0) & (propensities <= 1.0))
    if impossible.any():
        row = int(np.flatnonzero(keep)[np.argmax(impossible)])
        above = propensities[impossible].max() > 1.0
        hint = "; are they percentages?" if above and impossible.mean() > 0.5 else ""
        n_rows = int(impossible.sum())
        counts = agree(n_rows, "is outside (0, 1] and counts", "are outside (0, 1] and count")
        notes.append(
            f"{n_rows:,} of {len(propensities):,} propensities {counts} as unknown; "
            f"the first is {_quote(scan, row, (columns.propensity,))}{hint}"
        )
    if unknown.any():
        n_rows = int(unknown.sum())
        counts = agree(n_rows, "is missing and counts", "are missing and count")
        notes.append(f"{n_rows:,} of {len(propensities):,} propensities {counts} as unknown")
    return np.where(impossible, np.nan, propensities)


# ---- arrays ----


def _arms(column: "pl.Series") -> tuple[tuple[str, ...], Ints]:
    """Names of the arms in order, numbers as numbers, and the index of each row's."""
    names = column.unique().cast(pl.String).drop_nulls().to_list()
    if len(names) > MOST_ARMS:
        raise LogError(f"the action column has {len(names):,} different values, more than {MOST_ARMS:,}: is it an id?")
    try:
        names.sort(key=float)
    except ValueError:
        names.sort()
    return tuple(names), np.asarray(column.cast(pl.Enum(names)).to_physical().to_numpy(), np.int64)


def _array(table: "pl.DataFrame", name: str) -> Floats:
    return np.asarray(table[name].fill_null(np.nan).to_numpy(), np.float64)


def _times(column: "pl.Series") -> Floats:
    """Seconds since 1970; nan where there is none."""
    return np.asarray(column.cast(pl.Float64).fill_null(np.nan).to_numpy(), np.float64) / 1e6


def _matrix(table: "pl.DataFrame", role: str, width: int) -> Floats | None:
    return np.column_stack([_array(table, f"{role}{i}") for i in range(width)]) if width else None


def _numbered(column: "pl.Series") -> Ints:
    """A number for each different value."""
    return np.asarray(column.rank("dense").fill_null(0).to_numpy(), np.int64)
