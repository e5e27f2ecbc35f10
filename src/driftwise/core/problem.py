"""Problem values: what is decided between, one class per family.

A value is frozen and plain: its fields are the arguments of its constructor, the JSON of a deployment's `problem`
(where `kind` names the family) and the bytes in the journal. `Adapter.of` of the family checks it against a policy.

Where a mapping from names is possible, as from arms, resources or states, a frame or series of pandas whose index names
them is read as one, in requests and outcomes too. An index names things unless it is of whole numbers and has no name
itself, as pandas leaves one behind that filters or sorts: then the order counts, as in an array. Polars has no index.
"""

import functools
import math
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import numpy as np

from driftwise.core.arm_registry import ArmRegistry, registry_of
from driftwise.core.fields import Horizon, Noise, Number
from driftwise.core.types import Problem
from driftwise.core.validation import number, whole
from driftwise.errors import FeatureError, ParameterError


class ProblemValue(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """What every problem has: how many rounds it lasts, where that is known; 0 where it is not."""

    horizon: Horizon = 0

    @property
    def kind(self) -> str:
        """The name of the family."""
        return str(self.__struct_config__.tag)

    def __post_init__(self) -> None:
        for name in self.__struct_fields__:
            value = getattr(self, name)
            if labels_of(value) is not None and (not _maps(type(self), name) or (name == "arms" and value.ndim == 1)):
                value = np.asarray(value)  # its order counts: of what has no names, and of names themselves
            msgspec.structs.force_setattr(self, name, plain(value))

    def arm_registry(self) -> ArmRegistry:
        """The arms, by name or counted; none where the problem has none."""
        return registry_of(self.arms) if hasattr(self, "arms") else ArmRegistry([])


class RewardProblem(ProblemValue, frozen=True, kw_only=True):
    """Problems with rewards.

    Rewards lie in `reward_range`, None where they are unbounded. `noise` is the standard deviation of a reward around
    its mean, in the unit of rewards; where it is not given, half the range is taken for it; without a range, contextual
    policies learn it, and others may ask for it.
    """

    reward_range: tuple[Number, Number] | None = (0.0, 1.0)
    noise: Noise | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if isinstance(self.reward_range, list):
            msgspec.structs.force_setattr(self, "reward_range", tuple(self.reward_range))

    def base(self, registry: ArmRegistry) -> Problem:
        """What a policy may know, as far as all families have it."""
        low, high = (-math.inf, math.inf) if self.reward_range is None else read_range(self.reward_range)
        noise = 0.0 if self.noise is None else number("noise", self.noise, above=0.0)
        horizon = whole("horizon", self.horizon, low=0)
        return Problem(max(1, len(registry)), low, high, noise, horizon, family=self.kind)


def read_range(reward_range: object) -> tuple[float, float]:
    """A pair of finite numbers, the lower one first."""
    try:
        low, high = (float(end) for end in reward_range)  # type: ignore[attr-defined]  # refused below
    except (TypeError, ValueError):
        raise ParameterError(f"reward_range={reward_range!r} is not a pair (low, high)") from None
    if not low < high or not math.isfinite(low) or not math.isfinite(high):
        raise ParameterError(f"reward_range=({low:g}, {high:g}) is not a pair of finite numbers with low < high")
    return low, high


def plain(value: object) -> Any:
    """A value as JSON has it: arrays and other sequences are lists, and NumPy's numbers are Python's.

    Where an index of pandas names the entries, they are a mapping.
    """
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, str | bytes | int | float | None | msgspec.Struct):
        return value
    if isinstance(value, np.ma.MaskedArray):
        return value  # refused where it is read, with what it was for
    value = by_label(value)
    if hasattr(value, "__array__"):  # a frame too: row by row
        array = np.asarray(value)
        return plain(array.tolist()) if array.dtype == object else array.tolist()
    if isinstance(value, Mapping):
        return {plain(key): plain(each) for key, each in value.items()}
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return value
    return [plain(each) for each in value] if isinstance(value, Iterable) else value


@functools.cache
def _maps(kind: type, field: str) -> bool:
    """Whether a field may be a mapping from names."""
    import msgspec.inspect as types

    def maps(one: Any) -> bool:
        inside = getattr(one, "types", None) or ([one.type] if isinstance(one, types.Metadata) else [])
        return isinstance(one, types.DictType) or any(map(maps, inside))

    info: Any = types.type_info(kind)
    return any(maps(each.type) for each in info.fields if each.name == field)


def labels_of(values: object) -> list[Any] | None:
    """What the index of a frame or series names; None where there is none, or it only counts rows."""
    index: Any = getattr(values, "index", None)
    if not hasattr(index, "tolist"):  # the method of a list, for one
        return None
    if index.nlevels > 1:
        raise ParameterError(f"the index has {index.nlevels} levels: name arms, resources or states by one")
    if index.dtype.kind in "iu" and index.name is None:
        return None
    labels: list[Any] = index.tolist()
    if len(set(labels)) < len(labels):
        twice = next(label for label in labels if labels.count(label) > 1)
        raise ParameterError(f"the index names {twice!r} twice")
    return labels


def by_label(values: Any) -> Any:
    """A labelled series as a mapping to its entries, a labelled frame as one to its rows; all else as it is."""
    labels = labels_of(values)
    if labels is None:
        return values
    rows = (values.iloc[place] for place in range(len(labels))) if values.ndim > 1 else values.tolist()
    return dict(zip(labels, rows, strict=True))


def in_one_order(rows: Mapping[Any, Any]) -> dict[Any, Any]:
    """Rows of features by name; the numbers of those that name them in the order of the first that does."""
    result: dict[Any, Any] = {}
    first, names = None, list[Any]()
    for name, row in rows.items():
        row = row if type(row) is np.ndarray else by_label(row)
        if isinstance(row, Mapping):
            first, names = (name, [*row]) if first is None else (first, names)
            if row.keys() != set(names):
                named, wanted = (", ".join(map(repr, each)) for each in (row, names))
                raise FeatureError(f"the features of {name!r} are named {named}; those of {first!r} are {wanted}")
            row = [row[each] for each in names]
        result[name] = row
    return result
