"""A name that a public module does not have is answered with the nearest one, or with where it is."""

from types import ModuleType

import pytest

import driftwise as dw


@pytest.mark.parametrize(
    ("module", "name", "hint"),
    [
        (dw, "SlidingThomson", "; did you mean SlidingThompson or "),
        (dw, "Abrupt", "; did you mean worlds.Abrupt?"),
        (dw, "kernel", "; did you mean extend.kernel?"),
        (dw.worlds, "Abrubt", "; did you mean Abrupt?"),
        (dw.extend, "kernal", "; did you mean kernel?"),
        (dw, "zzz", ""),
    ],
)
def test_a_misspelt_name_is_answered_with_the_right_one(module: ModuleType, name: str, hint: str) -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(module, name)
    said = str(caught.value)
    assert said.startswith(f"module {module.__name__!r} has no attribute {name!r}{hint}") and bool(hint) == (
        "?" in said
    )
