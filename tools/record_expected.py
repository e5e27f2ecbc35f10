"""Write what came out otherwise than printed to a paper's `expected.csv`: python tools/record_expected.py PAPER.

Reads the results that `driftwise reproduce PAPER` stored, plays what is missing, and records every claim whose interval
lies outside what agrees with the paper: ours within four standard errors, and 1% at least, the number of runs and the
day. Reasons already in the file are kept; write the others there by hand. Claims not judged now are kept as well.
"""

import argparse
import csv
import datetime
import math
from pathlib import Path

from driftwise.cli._progress import play_missing
from driftwise.papers import names, paper
from driftwise.study.claims import Evidence, Range, choose, needed
from driftwise.study.verdicts import MATCHES, Verdict, judge, read_expected

COLUMNS = ("claim", "low", "high", "runs", "recorded", "reason")
ERRORS = 4.0
EXACT = 0.01


def main() -> None:
    """Judge without expectations, and record what differs."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("paper", choices=names())
    options.add_argument("--claim")
    options.add_argument("--scale", choices=("quick", "full"), default="quick")
    options.add_argument("--runs", type=int)
    options.add_argument("--out", type=Path)
    given = options.parse_args()
    chosen = paper(given.paper)
    path = chosen.folder / "expected.csv"
    claims = choose(chosen.claims(given.scale), given.claim)
    studies = needed(claims, chosen.studies(given.scale, given.runs))
    results = play_missing(list(studies.values()), given.out or Path("out") / given.paper, None)
    verdicts = judge(claims, Evidence(studies, results))
    rows = {name: (*each.range, each.runs, each.recorded, each.reason) for name, each in read_expected(path).items()}
    for each in verdicts:
        if each.verdict == "differs":
            reason = str(rows[each.id][-1]) if each.id in rows else ""
            rows[each.id] = (*_range(each), each.finding.runs, datetime.date.today().isoformat(), reason)
        elif each.verdict == MATCHES:
            rows.pop(each.id, None)
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, lineterminator="\n")
        table.writerow(COLUMNS)
        table.writerows((name, f"{low:.6g}", f"{high:.6g}", *rest) for name, (low, high, *rest) in sorted(rows.items()))
    print(f"{path}: {len(rows)} deviations, {sum(not row[-1] for row in rows.values())} without a reason")


def _range(each: Verdict) -> Range:
    errors = ERRORS * math.hypot(each.finding.error, each.claim.paper_error)
    spread = max(errors, EXACT * abs(each.finding.ours))
    return Range(each.finding.ours - spread, each.finding.ours + spread)


if __name__ == "__main__":
    main()
