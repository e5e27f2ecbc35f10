"""Who loses less: what the text says of Table 1, and what to use instead.

    "our algorithm achieves the best regret in all cases"                  a claim for each cell
    "WIQL shows similar performance compared to random policy"             one claim, by the cell that is farthest off

Orders are ratios of regrets run by run, on the same luck. A tie is no win: the better one loses at least 5% less. Two
are similar where one loses at most 25% more.
"""

import math
from collections.abc import Iterator
from functools import partial

from driftwise.core.types import Floats
from driftwise.papers.whittle.readings import ADAPTIVE, NEAREST, SLIDING
from driftwise.papers.whittle.studies import CELLS, WORLDS, fresh, table, table_baselines
from driftwise.papers.whittle.table import Cell, printed
from driftwise.study.claims import Claim, Evidence, Finding, at_most, between
from driftwise.study.findings import mean_of, ratio_of, worst_of

WINS = at_most(0.95)
SIMILAR = between(0.8, 1.25)


def orders() -> Iterator[Claim]:
    """The orders of Table 1, those of other readings, and what to use."""
    for world in WORLDS:
        for cell in CELLS:
            yield from _of_cell(world, cell)
    for reading, policy in {"literal": "WIQL-published", "step 0.1": "WIQL"}.items():
        yield Claim(
            id="similar" + ("" if reading == "literal" else f"/{reading}"),
            says="WIQL shows similar performance compared to the random policy",
            studies=tuple(table_baselines(world, cell) for world in WORLDS for cell in CELLS),
            measure=partial(_farthest, policy=policy),
            agrees=SIMILAR,
            statement="similar",
            reading=reading,
            fitted="" if reading == "literal" else "the step and the exploration, on Table 1's ladder",
        )


def _of_cell(world: str, cell: Cell) -> Iterator[Claim]:
    where = table(world, cell).removeprefix("table1/")
    readings = {
        "": ("ours-literal", ("UCWhittle-literal", "Random", "WIQL-published"), ""),
        "/calibrated": ("ours-calibrated", (NEAREST[world], "Random", "WIQL"), "all radii, on Table 1"),
    }
    for name, (policy, rivals, fitted) in readings.items():
        yield Claim(
            id=f"order/best/{where}{name}",
            says=f"Our Policy has the best regret: less than {', '.join(rivals)}",
            studies=(table(world, cell), table_baselines(world, cell)),
            measure=partial(_nearest_rival, world=world, cell=cell, policy=policy, rivals=rivals),
            agrees=WINS,
            statement=f"order/best/{where}",
            reading=name.removeprefix("/") or "literal",
            fitted=fitted,
            about=policy,
        )
    ours = {"UCWhittle": ("UCWhittle-literal", "Random", "by its theorem's radius UCWhittle loses less than Random")}
    if world == "ladder":  # with ages even Random loses less than that
        says = "by (13) Our Policy loses less than activating the first M arms for ever"
        ours["static"] = ("ours-literal", "UCWhittle-static", says)
    for name, (policy, rival, says) in ours.items():
        yield Claim(
            id=f"order/{name}/{where}",
            says=says,
            studies=(table(world, cell), table_baselines(world, cell)),
            measure=partial(_nearest_rival, world=world, cell=cell, policy=policy, rivals=(rival,)),
            agrees=WINS,
            statement=None,
            about=policy,
        )


def against(evidence: Evidence, studies: tuple[str, ...], policy: str, rival: str) -> Finding:
    """The regret of a policy over that of a rival, of the runs that both have played, in whichever study."""
    ours, theirs = (_regrets(evidence, studies, name) for name in (policy, rival))
    runs = min(len(ours), len(theirs))
    return ratio_of(ours[:runs], theirs[:runs], f"{policy} {ours.mean():,.0f}, {rival} {theirs.mean():,.0f}.")


def _regrets(evidence: Evidence, studies: tuple[str, ...], policy: str) -> Floats:
    (study,) = (name for name in studies if policy in evidence.studies[name].policies)
    return evidence.regrets(study, policy)


def _nearest_rival(evidence: Evidence, *, world: str, cell: Cell, policy: str, rivals: tuple[str, ...]) -> Finding:
    studies = (table(world, cell), table_baselines(world, cell))
    return worst_of(against(evidence, studies, policy, rival) for rival in rivals)


def _farthest(evidence: Evidence, *, policy: str) -> Finding:
    studies = {f"{world} {cell}": table_baselines(world, cell) for world in WORLDS for cell in CELLS}
    ratios = {where: against(evidence, (study,), policy, "Random") for where, study in studies.items()}
    farthest = max(ratios.values(), key=lambda each: abs(math.log(max(each.ours, 1e-9))))
    listed = ", ".join(f"{where} {each.ours:.2f}" for where, each in ratios.items())
    return farthest._replace(why=f"Its regret over that of Random: {listed}.")


# ---- what to use ----


def recommended() -> Iterator[Claim]:
    """Policies that are told neither drift nor radius, against the printed column of Our Policy."""
    for policy in (ADAPTIVE, SLIDING):
        for world in WORLDS:
            for cell in CELLS:
                paper = printed(world, cell, "Our Policy")
                yield Claim(
                    id=f"{fresh(world, cell)}/{policy}",
                    says=f"{policy} loses no more than what is printed for Our Policy, {paper:,.0f}",
                    studies=(fresh(world, cell),),
                    measure=partial(_no_worse, study=fresh(world, cell), policy=policy, paper=paper),
                    agrees=at_most(paper),
                    paper=paper,
                    statement=None,
                    about=policy,
                )


def _no_worse(evidence: Evidence, *, study: str, policy: str, paper: float) -> Finding:
    finding = mean_of(evidence.regrets(study, policy))
    return finding._replace(why=f"{finding.ours / paper:.2f} of it, on drift paths on which nothing was picked.")
