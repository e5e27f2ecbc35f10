"""The table behind recommendations is what its grid says, and rows of it come out again."""

from collections.abc import Iterator

import pytest

from benchmarks.recommendation.grid import KINDS, matches, propensities_of
from benchmarks.recommendation.measure import KEY, key_of, play
from driftwise.core.family import FAMILIES, resolve
from driftwise.evaluate.measured_losses import Measurement, read_table
from driftwise.families import POLICIES
from driftwise.families.composite.policies.auto import Auto

QUICK = ("multi-armed", "convex")  # tables of the other kinds take long to compile


def test_the_grid_and_the_table_speak_of_the_same() -> None:
    assert KINDS.keys() == FAMILIES.keys() == {row.kind for row in read_table()}
    for kind in KINDS:
        planned = [match for late in (False, True) for match in matches(kind, late=late)]
        keys = {tuple(key_of(match, policy).values()) for match in planned for policy in match.policies}
        rows = [row for row in read_table() if row.kind == kind]
        assert {tuple(map(str, row[: len(KEY)])) for row in rows} <= keys
        assert {(row.world, row.horizon, row.delay) for row in rows} == {
            (match.world, match.length.horizon, match.delay) for match in planned
        }


def test_every_row_names_a_policy_that_exists() -> None:
    for row in read_table():
        assert row.policy.partition(":")[0] in POLICIES
        assert row.propensities == propensities_of(row.policy)


@pytest.mark.parametrize("kind", KINDS)
def test_auto_with_a_floor_is_measured_wherever_auto_is_if_the_kind_has_one(kind: str) -> None:
    auto, floor = (
        {row[:7] for row in read_table() if row.kind == kind and row.policy == policy}
        for policy in ("auto", "auto:floor=0.05")
    )
    assert auto
    assert floor == (auto if "floor" in type(resolve(Auto(), kind))._fields else set())


def first_rows(kind: str) -> Iterator[Measurement]:
    """The first candidate in a world of each kind of drift, at the shortest horizon."""
    rows = [row for row in read_table() if row.kind == kind]
    shortest = min(row.horizon for row in rows)
    seen = set()
    for row in sorted(rows, key=lambda row: row.policy):
        if row.horizon == shortest and row.drift not in seen:
            seen.add(row.drift)
            yield row


@pytest.mark.parametrize(
    "kind", [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.deep) for kind in KINDS]
)
def test_rows_come_out_again(kind: str) -> None:
    for row in first_rows(kind):
        again = play({name: str(value) for name, value in zip(KEY, row, strict=False)})
        assert again is not None
        assert (float(again["loss"]), float(again["ci95"])) == (row.loss, row.ci95), row
