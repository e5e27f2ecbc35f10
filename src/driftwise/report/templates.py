"""The frame of every page: one file of HTML that needs nothing but itself.

Needs the extra `report`.
"""

import platform
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from driftwise.core.extras import needed_for
from driftwise.display.text import brief_value
from driftwise.errors import ParameterError

with needed_for("a report"):
    from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup as Markup

from driftwise.report.formatting import brief, count, interval, percent, spread

FILTERS = {each.__name__: each for each in (spread, percent, interval, count, brief, brief_value)}


def fill(home: str, template: str, **content: object) -> str:
    """A page of the templates in the package `home`; whatever it is given is escaped unless marked as safe."""
    environment = Environment(
        loader=ChoiceLoader([PackageLoader("driftwise", home), PackageLoader("driftwise", "report")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= FILTERS
    return environment.get_template(template).render(versions=versions(), **content)


def write(page: str, path: Path) -> Path:
    """Put a page where it belongs, and say where that is."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(page, encoding="utf-8")
    except OSError as error:
        raise ParameterError(f"{path} cannot be written: {error.strerror}") from None
    return path


def versions() -> dict[str, str]:
    """What made the numbers."""
    own = {"driftwise": import_module("driftwise").__version__, "Python": platform.python_version()}
    return own | {name: version(name) for name in ("numba", "numpy")}
