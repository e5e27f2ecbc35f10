"""Keep what came out of a paper, and write it into docs/papers.md.

    driftwise reproduce PAPER --json > results.json
    python tools/record_results.py results.json

writes `tests/papers/recorded/PAPER.json` (the scale, the day, the counts, and of every claim what came out) and, where
there is a `PAPER.md` beside it, the part of docs/papers.md that starts with the same heading. In that text
`{CLAIM|.2f}` is what came out, `{CLAIM - CLAIM|.2f}` a difference, `{matches}` and the like count the statements of the
paper, as printed. A test compares the page with what is kept.
"""

import argparse
import datetime
import json
import re
from collections import Counter
from pathlib import Path
from typing import TypedDict

ROOT = Path(__file__).parents[1]
FOLDER, PAGE = ROOT / "tests" / "papers" / "recorded", ROOT / "docs" / "papers.md"


class Recorded(TypedDict):
    """What is kept of a run."""

    scale: str
    recorded: str
    counts: dict[str, int]
    claims: dict[str, float | None]


def main() -> None:
    """Read one document, write the short one, and the page."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("results", type=Path)
    document = json.loads(options.parse_args().results.read_text(encoding="utf-8"))
    every = document["claims"]
    literal = {each["statement"]: each["verdict"] for each in every if each["counted"] and each["reading"] == "literal"}
    kept: Recorded = {
        "scale": document["scale"],
        "recorded": datetime.date.today().isoformat(),
        "counts": {"statements": len(literal), **Counter(literal.values())},
        "claims": {each["id"]: each["ours"] for each in every},
    }
    FOLDER.mkdir(exist_ok=True)
    path = FOLDER / f"{document['paper']}.json"
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    template = path.with_suffix(".md")
    if template.exists():
        text = rendered(template.read_text(encoding="utf-8"), kept)
        PAGE.write_text(replaced(PAGE.read_text(encoding="utf-8"), text), encoding="utf-8")
    print(f"{path}: {len(every)} claims")


def rendered(template: str, kept: Recorded) -> str:
    """The text with its numbers."""

    def number(found: re.Match[str]) -> str:
        names, _, form = found[1].partition("|")
        if not form:
            return str(kept["counts"].get(names, 0))
        first, *others = (kept["claims"][name] for name in names.split(" - "))
        if first is None or None in others:
            return "none"
        return format(first - sum(other for other in others if other is not None), form)

    return re.sub(r"\{([^{}]+)\}", number, template)


def replaced(page: str, part: str) -> str:
    """The page with the part of the same heading."""
    heading = part.splitlines()[0]
    start = page.index(f"{heading}\n")
    following = page.find("\n## ", start)
    end = len(page) if following < 0 else following + 1
    return page[:start] + part.rstrip("\n") + ("\n" if following < 0 else "\n\n") + page[end:]


if __name__ == "__main__":
    main()
