"""Worlds that cut the horizon into phases do so in one way."""

import ast
import inspect

import pytest

from driftwise.errors import ParameterError
from driftwise.families import WORLDS
from driftwise.measure.levels import phase_starts
from driftwise.measure.phases import PhasedWorld

PHASED = {name: world for name, world in WORLDS.items() if issubclass(world, PhasedWorld)}


@pytest.mark.parametrize("name", PHASED)
def test_phases_are_checked_and_begin_where_the_world_changes(name: str) -> None:
    for n in (1, 4):
        assert PHASED[name](phases=n).changes(horizon=1000, seed=3) == phase_starts(n, 1000)
    for wrong in (0, 2.5, 10**6 + 1):
        with pytest.raises(ParameterError, match=f"phases={wrong} is not a whole number"):
            PHASED[name](phases=wrong)


def test_no_other_world_writes_the_changes_of_its_phases() -> None:
    assert len(PHASED) >= 6
    own = [name for name, world in WORLDS.items() if "changes" in vars(world) and _is_cut(world.changes)]
    assert own == []


def _is_cut(changes: object) -> bool:
    """Whether a function returns nothing but the starts of phases."""
    text = ast.unparse(ast.parse(inspect.getsource(changes).strip()))  # type: ignore[arg-type]
    return text.splitlines()[-1].strip() == "return phase_starts(self.phases, horizon)"
