"""What prior knowledge is worth: "prior domain knowledge is helpful both for stationary and non-stationary settings".

Algorithm 1 is played with all it may know, and in the same worlds without: not told which transitions are impossible
(S_0), not told the rows that are known, or neither, nor which rows stand still. Helpful is a regret that is at least 5%
smaller. With (10, 4) arms.
"""

from collections.abc import Iterator
from functools import partial

from driftwise.papers.whittle.orders import WINS
from driftwise.papers.whittle.studies import DRIFTS, UNKNOWN, WORLDS, informed
from driftwise.study.claims import Claim, Evidence, Finding
from driftwise.study.findings import ratio_of

PLAYED = {"literal": "ours-literal", "calibrated": "ours-calibrated"}


def knowledge() -> Iterator[Claim]:
    """With all knowledge, against without some of it."""
    for world in WORLDS:
        for drift, setting in DRIFTS.items():
            for part, without in UNKNOWN.items():
                for reading, policy in PLAYED.items():
                    where = f"knowledge/{setting}/world={world}"
                    whole = part == "none" and reading == "literal"
                    yield Claim(
                        id=where if whole else f"{where}/{without}" + ("" if reading == "literal" else f"/{reading}"),
                        says=f"{setting}: Our Policy loses less with its prior knowledge than {without}",
                        studies=(informed(world, drift, "full"), informed(world, drift, part)),
                        measure=partial(_helps, world=world, drift=drift, known=part, policy=policy),
                        agrees=WINS,
                        statement=where if whole else None,
                        reading=reading,
                        about=policy,
                    )


def _helps(evidence: Evidence, *, world: str, drift: str, known: str, policy: str) -> Finding:
    ours, theirs = (evidence.regrets(informed(world, drift, each), policy) for each in ("full", known))
    return ratio_of(ours, theirs, f"{ours.mean():,.0f} with it, {theirs.mean():,.0f} {UNKNOWN[known]}.")
