"""The reference as a web site in site/: `make docs`.

Public names of driftwise load on first use, and pdoc documents what is loaded: so they are all loaded first, and listed
on the front page beside the modules.
"""

import sys
import warnings
from pathlib import Path
from pkgutil import iter_modules

SITE = Path("site")
LEFT_OUT = "cli"  # importing a module of it would run commands
FIRST = ("Agent", "Study", "run", "Results")


def main() -> int:
    """Build the site; exit code 1 if the front page lacks a public name."""
    import pdoc

    import driftwise

    modules = [module.name for module in iter_modules(driftwise.__path__) if module.name != LEFT_OUT]
    names = [name for name in dir(driftwise) if name not in modules and getattr(driftwise, name) is not None]
    driftwise.__all__ = [*FIRST, *(name for name in names if name not in FIRST), *modules]
    warnings.filterwarnings("ignore", module="pdoc")  # annotations that it prints as they are written
    warnings.filterwarnings("error", message="Couldn't import|Found .* does not resolve")
    pdoc.render.configure(docformat="numpy")
    pdoc.pdoc("driftwise", f"!driftwise.{LEFT_OUT}", output_directory=SITE)
    page = (SITE / "driftwise.html").read_text(encoding="utf-8")
    if missing := [name for name in names if f'id="{name}"' not in page]:
        print(f"the front page lacks {', '.join(missing)}", file=sys.stderr)
        return 1
    print(f"open {SITE / 'index.html'}: {len(names)} public names, {len(modules)} modules")
    return 0


if __name__ == "__main__":
    sys.exit(main())
