"""Keep what came out, so that a test can compare the numbers of docs/papers.md with it.

    driftwise reproduce PAPER --json > results.json
    python tools/record_results.py results.json

writes `tests/papers/recorded/PAPER.json`: the scale, the day, and of every claim what came out and the verdict.
"""

import argparse
import datetime
import json
from pathlib import Path

FOLDER = Path(__file__).parents[1] / "tests" / "papers" / "recorded"


def main() -> None:
    """Read one document, write the short one."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("results", type=Path)
    document = json.loads(options.parse_args().results.read_text(encoding="utf-8"))
    claims = {
        each["id"]: {"ours": each["ours"], "half": each["ours_ci95"], "verdict": each["verdict"]}
        for each in document["claims"]
    }
    kept = {"scale": document["scale"], "recorded": datetime.date.today().isoformat(), "claims": claims}
    path = FOLDER / f"{document['paper']}.json"
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(kept, indent=1) + "\n", encoding="utf-8")
    print(f"{path}: {len(claims)} claims")


if __name__ == "__main__":
    main()
