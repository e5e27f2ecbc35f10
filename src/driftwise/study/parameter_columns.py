"""Parameters of policies as columns of a table, beside the label, the run and what came out.

Which ones? A file of results does not say what was swept: those in which two policies of one class in one study differ,
which every sweep of two values makes so, whether it played their cells or an earlier study did.
"""

from collections.abc import Collection, Mapping, Sequence
from numbers import Real
from typing import Any, NamedTuple


class PolicyFacts(NamedTuple):
    """The policy of one row, as `study.values` describes it, and a study that uses it."""

    study: str
    policy: Mapping[str, Any]


def parameter_columns(rows: Sequence[PolicyFacts], reserved: Collection[str]) -> dict[str, list[object]]:
    """A column for each parameter that varies; None in the rows of policies without it.

    >>> policies = [{"class": "UCB", "window": 10, "scale": 1.0}, {"class": "UCB", "window": 20, "scale": 1.0}]
    >>> policies += [{"class": "TS"}]
    >>> parameter_columns([PolicyFacts("s", each) for each in policies], reserved=["policy"])
    {'window': [10, 20, None]}
    """
    values_by_name: dict[tuple[str, str, str], set[str]] = {}
    for study, policy in rows:
        for name, value in policy.items():
            values_by_name.setdefault((name, study, policy["class"]), set()).add(repr(value))
    varying = dict.fromkeys(name for (name, _, _), values in values_by_name.items() if len(values) > 1)
    return {
        column_name(name, reserved): of_one_kind(
            [plain(policy[name]) if name in policy else None for _, policy in rows]
        )
        for name in varying
    }


def column_name(parameter: str, reserved: Collection[str]) -> str:
    """The name of a parameter, or another where the table has a column of that name, as `policy`."""
    return f"parameter_{parameter}" if parameter in reserved else parameter


def plain(value: object) -> object:
    """A number or a text: a policy inside a policy is shown as it is written."""
    if isinstance(value, Mapping):
        inside = ", ".join(f"{name}={plain(each)!r}" for name, each in value.items() if name != "class")
        return f"{value['class']}({inside})"
    return str(value) if isinstance(value, tuple | list) else value


def of_one_kind(column: list[object]) -> list[object]:
    """A column that every library takes: floats where whole numbers and floats are mixed, texts where words are."""
    kinds = {type(each) for each in column if each is not None}
    if len(kinds) < 2:
        return column
    kind = float if bool not in kinds and all(issubclass(each, Real) for each in kinds) else str
    return [None if each is None else kind(each) for each in column]  # type: ignore[arg-type]
