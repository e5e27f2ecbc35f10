"""Online learning of Whittle indices as a paper: every printed cell is a claim, and a small part of it is played."""

import pytest

from driftwise.families import AgeOfInformation, Climbing
from driftwise.papers import only_world, paper
from driftwise.papers.whittle.studies import CELLS, FRESH, RECOMMENDED, WORLDS, fresh, studies, table
from driftwise.papers.whittle.table import ROWS, published
from driftwise.report.style import NARROW, svg
from driftwise.study.claims import Evidence, choose, judge, needed
from driftwise.study.run import run

PAPER = "whittle"


def test_every_printed_cell_is_a_claim_by_each_of_its_readings() -> None:
    assert len(published()) == 24
    claims = {claim.id: claim for claim in paper(PAPER).claims("quick")}
    assert len(claims) == len(paper(PAPER).claims("quick"))
    for (world, cell, row), (printed, _) in published().items():
        for policy in ROWS[row]:
            assert claims[f"{table(world, cell)}/{policy.replace('=', ' ')}"].paper == printed


def test_claims_rest_on_studies_that_there_are() -> None:
    for scale in ("quick", "full"):
        every = studies(scale)
        assert {name for claim in paper(PAPER).claims(scale) for name in claim.studies} == set(every)


def test_windows_and_drift_are_the_papers() -> None:
    every = studies("full")
    study = every[table("ladder", (10, 4))]
    assert (study.horizon, study.runs, study.marks) == (5000, 50, (1000,))
    assert study.policies["ours-literal"]._asdict()["window"] == 7
    late = every["theorem2/world=ages/k=0.5/T=400"]
    assert [late.policies[name]._asdict()["window"] for name in ("ours-literal", "ours-calibrated")] == [7, 7]
    assert only_world(late, AgeOfInformation).step == 0.05


def test_the_recommended_policy_is_tried_on_drift_paths_of_its_own() -> None:
    for world in WORLDS:
        for cell in CELLS:
            study = studies("full")[fresh(world, cell)]
            assert (study.seed, list(study.policies), study.runs) == (FRESH, [RECOMMENDED], 50)
            ours, theirs = (only_world(study, Climbing, AgeOfInformation).path(50, seed) for seed in (0, FRESH))
            assert (ours != theirs).any()


@pytest.mark.deep
def test_a_part_is_played_judged_and_drawn() -> None:
    """Choosing at random on the smallest ladder, with two runs: within 1%, or within an interval that is wide."""
    chosen = choose(paper(PAPER).claims("quick"), "table1/world=ladder/N=10/M=1/Random")
    chosen_studies = needed(chosen, paper(PAPER).studies("quick", 2))
    (study,) = chosen_studies.values()
    evidence = Evidence(chosen_studies, run(study))
    (verdict,) = judge(chosen, evidence)
    assert verdict.verdict == "matches"
    assert abs(verdict.ours / 46_035 - 1.0) < 0.05
    (drawing,) = paper(PAPER).figures(evidence)
    assert "Random" in svg(drawing.draw(NARROW), name="a", title=drawing.title)
