"""Where the rows of features come from that an agent shows its policy, one row per action.

    Contextual(n_features=5)                    decide(actions=matrix)              any number of rows, new every time
    Contextual([...], n_features=5)             decide(actions=matrix or mapping)   a row per arm, new every time
    Contextual({name: row})                     decide()                            the arms brought their rows
    Contextual({name: row}, context_dim=3)      decide(context=x)                   row z of an arm becomes z (x) x
    Contextual([...], context_dim=3)            decide(context=x)                   every arm has a parameter of its own

In the last, the *disjoint* model, z is the unit vector of its arm, so that a row is x at the place of its arm and zero
elsewhere; a policy with a regression per arm is shown x alone, a row of it for each arm (`per_arm`).

What rows a set may have: any, as long as not all of them are zero. They need not span the space, for what a set cannot
teach stays unknown and keeps its bonus.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from driftwise.core.encoding import Arm
from driftwise.core.problem import labels_of
from driftwise.core.protocols import Policy
from driftwise.core.types import Floats
from driftwise.display.text import counted
from driftwise.errors import ArmError, FeatureError

LARGEST = 1e3  # times what the policy was told of the length of features: what is larger is a slip


QUICK = (np.ndarray, list, tuple)  # rows without names, known by their type


class Rows:
    """The rows of an agent. It does not change: arms that come and go make another.

    `own` are the rows of the arms, None where arms have none; `n_features` is the number of features of rows that come
    with decisions, and `context` the length of a context; each is 0 where there is none. `dim` counts the features of
    the parameter, `width` the columns of the matrix: fewer, where rows are shown `per_arm`.
    """

    def __init__(
        self,
        arms: Sequence[Arm],
        own: Floats | None,
        n_features: int,
        context: int,
        reach: float,
        per_arm: bool = False,
    ) -> None:
        self.arms, self.own, self.n_features, self.context, self.reach = tuple(arms), own, n_features, context, reach
        self._names = dict.fromkeys(self.arms).keys()
        self.disjoint = own is None and not n_features
        self.per_arm = per_arm and self.disjoint
        width = n_features or (len(self.arms) if own is None else own.shape[1])
        self.dim = width * (context or 1)
        self.width = context if self.per_arm else self.dim
        self.stored_width = context if self.disjoint else self.dim
        self._largest = LARGEST * reach
        if own is not None:
            self._check(own, "the rows of the arms", self._name)
        if self.disjoint:
            self._rows = self._blocks = np.zeros((width, self.width))  # a row per arm, and where in it the context is
            if not self.per_arm:
                self._blocks = np.einsum("aap->ap", self._rows.reshape(width, width, context))

    def matrix(self, actions: object, context: object) -> Floats:
        """The matrix to choose from; a `FeatureError` or `ArmError` says what is wrong with the arguments."""
        if (actions is None) == bool(self.n_features):
            raise FeatureError(
                "the rows of the actions come with every decision: give `actions`"
                if self.n_features
                else "the rows of this agent's arms are known: actions cannot be given"
            )
        if (context is None) == bool(self.context):
            raise FeatureError(
                f"this agent decides in a context of {self.context} numbers: give `context`, a list of them"
                if self.context
                else "this agent has no context: give the problem a context_dim, its length"
            )
        matrix = self._matrix(actions) if self.n_features else self.own
        if self.context:
            return self._times(matrix, self._vector(context))
        assert matrix is not None  # without a context, arms have rows
        return matrix

    def _times(self, matrix: Floats | None, x: Floats) -> Floats:
        """Every row multiplied by the context."""
        if self.disjoint:
            self._blocks[...] = x
            return self._rows
        assert matrix is not None  # only the disjoint model has none
        products: Floats = (matrix[:, :, None] * x).reshape(len(matrix), -1)
        self._check(products, "the products of features and context", self._name)
        return products

    def stored_row(self, matrix: Floats, index: int) -> Floats:
        """What must be stored of the row chosen: in the disjoint model the context is enough."""
        row: Floats = (self._blocks if self.disjoint else matrix)[index].copy()
        return row

    def whole(self, stored: Floats, index: int) -> Floats:
        """The row that `stored` stands for, now that its arm has this index."""
        if self.per_arm or not self.disjoint:
            return stored
        row = np.zeros(self.dim)
        row[index * self.context : (index + 1) * self.context] = stored
        return row

    def regrouped(self, arms: Sequence[Arm], old_indices: Sequence[int], features: object = None) -> "Rows":
        """The rows of other arms: `old_indices[new]` is the old index of arm `new`, or -1 for one with `features`."""
        own = self.own
        if own is not None:
            fresh = np.zeros(own.shape[1]) if features is None else self.row(features, own.shape[1], arms[-1])
            own = np.ascontiguousarray([own[old] if old >= 0 else fresh for old in old_indices])
        return Rows(arms, own, self.n_features, self.context, self.reach, self.per_arm)

    def columns(self, old_indices: Sequence[int]) -> list[int] | None:
        """Where the features of each arm were before; None when they do not move."""
        if self.per_arm or not self.disjoint:
            return None
        p = self.context
        return [old * p + i if old >= 0 else -1 for old in old_indices for i in range(p)]

    @staticmethod
    def of_arms(arms: Mapping[str, object] | Mapping[Arm, object]) -> Floats:
        """The rows of arms that bring them, as a matrix."""
        width = len(_numbers(next(iter(arms.values()), ()), "the features of the first arm"))
        return np.array([Rows.row(features, width, name) for name, features in arms.items()])

    @staticmethod
    def row(features: object, width: int, name: object) -> Floats:
        """The features one arm brings."""
        row = _numbers(features, f"the features of {name!r}")
        if row.ndim != 1 or len(row) != width:
            raise FeatureError(f"the features of {name!r} have the shape {row.shape}; those of this agent are {width}")
        return row

    def _matrix(self, actions: object) -> Floats:
        if type(actions) is not np.ndarray:  # the type first: that is quick
            actions = self._in_order(actions)
        matrix = _numbers(actions, "actions")
        if matrix.size == 0:
            raise FeatureError("actions is empty: there is nothing to choose from")
        if matrix.ndim != 2:
            raise FeatureError(f"actions has the shape {matrix.shape}: it must be a matrix, a row per action")
        if matrix.shape[1] != self.n_features:
            raise FeatureError(f"actions has {matrix.shape[1]} columns; this problem has n_features={self.n_features}")
        if self.arms and len(matrix) != len(self.arms):
            raise FeatureError(
                f"actions has {counted(len(matrix), 'row')}; there are {len(self.arms)} arms, and each needs one"
            )
        self._check(matrix, "actions", self._name)
        return matrix

    def _in_order(self, actions: Any) -> Any:
        """Rows by name, in a mapping or a frame whose index names arms, in the order of the arms; all else as it is."""
        labels = labels_of(actions) if self.arms else None
        if labels is None and not isinstance(actions, Mapping):
            return actions
        if not self.arms:
            raise FeatureError("actions is a mapping, but this agent's arms have no names: give a matrix")
        rows = dict(zip(labels, np.asarray(actions), strict=True)) if labels is not None else actions
        if rows.keys() != self._names:
            raise self._misnamed(rows, labels is not None)
        order = first = None
        for name, row in rows.items():
            columns = None if type(row) in QUICK else labels_of(row)
            if columns is not None and order is None:
                order, first = columns, name
            if columns is not None and columns != order:
                where = f"the features of {name!r} are {columns}, those of {first!r} {order}"
                raise FeatureError(f"actions: {where}: features go by their order, which must be one")
        return [rows[name] for name in self.arms]

    def _misnamed(self, rows: Mapping[Any, Any], by_index: bool) -> ArmError:
        """Why rows do not name the arms."""
        there = f"there are {', '.join(map(repr, self.arms))}"
        for name in rows:
            if name not in self._names and by_index:
                without = "without an index (reset_index(drop=True)) rows are in the order of the arms"
                return ArmError(f"the index of actions names {name!r}, which is no arm: {there}; {without}")
            if name not in self._names:
                return ArmError(f"there is no arm {name!r}: {there}")
        return ArmError(f"actions has no row for the arm {next(name for name in self.arms if name not in rows)!r}")

    def _vector(self, context: object) -> Floats:
        x = _numbers(context, "context")
        if x.shape != (self.context,):
            raise FeatureError(f"context has the shape {x.shape}; this problem has context_dim={self.context}")
        self._check(x[None], "context", lambda row: "")
        return x

    def _name(self, row: int) -> str:
        return f"row {row}, " if not self.arms else f"the row of {self.arms[row]!r}, "

    def _check(self, matrix: Floats, what: str, name: Callable[[int], str]) -> None:
        if 0.0 < np.vdot(matrix, matrix) <= self._largest * self._largest:  # the common case, in half a microsecond
            return
        bad = ~(np.abs(matrix) <= self._largest)
        if not bad.any():
            if not matrix.any():
                raise FeatureError(f"{what}: every number is zero, so that no choice could teach anything")
            return
        row, column = divmod(int(bad.argmax()), matrix.shape[1])
        value, where = matrix[row, column], f"{name(row)}column {column}"
        if not np.isfinite(value):
            raise FeatureError(f"{what}: {where} is {value}, not a finite number")
        raise FeatureError(
            f"{what}: {where} is {value:g}, far beyond reach={self.reach:g}: scale the features to about that length"
        )


def reach_of(policy: Policy) -> float:
    """How long a policy, or the one inside it, takes features to be: its `reach`, its `length`, or 1."""
    if hasattr(policy, "policy"):
        return reach_of(policy.policy)
    return float(getattr(policy, "reach", max(1.0, getattr(policy, "length", 1.0))))


def _numbers(values: object, what: str) -> Floats:
    """Values as an array that kernels can read."""
    if isinstance(values, np.ma.MaskedArray):
        raise FeatureError(f"{what} is masked: kernels cannot read missing numbers; fill them in")
    try:
        numbers = np.ascontiguousarray(values)
        if numbers.dtype != np.float64 or not numbers.flags.aligned:
            numbers = numbers.astype(np.float64, casting="same_kind")
    except (TypeError, ValueError):
        raise FeatureError(f"{what} is not made of numbers, in rows of one length") from None
    return numbers
