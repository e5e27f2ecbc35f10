"""Online learning of Whittle indices as a paper: every printed cell is a claim, its theory, and what its page says."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from driftwise.families import WIQL, AgeOfInformation, Climbing, SlidingWhittle
from driftwise.families.restless.oracles.whittle_oracle import indices_of
from driftwise.papers import only_world, paper
from driftwise.papers.whittle.closed_form import OUR_POLICY, closed_form_indices
from driftwise.papers.whittle.readings import ADAPTIVE, READINGS, ROWS, SLIDING
from driftwise.papers.whittle.studies import CELLS, FRESH, WORLDS, fresh, informed, studies, table, table_baselines
from driftwise.papers.whittle.table import cell_id, printed, published, study_of
from driftwise.papers.whittle.theory import covered_runs, largest_loss, theorem1_bound
from driftwise.report.style import NARROW, svg
from driftwise.study.claims import Evidence, choose, needed
from driftwise.study.run import run
from driftwise.study.verdicts import judge

PAPER = "whittle"
ROOT = Path(__file__).parents[2]


def test_every_printed_cell_is_a_claim_by_each_of_its_readings() -> None:
    assert len(published()) == 24
    claims = {claim.id: claim for claim in paper(PAPER).claims("quick")}
    for (world, cell, row), (value, _) in published().items():
        readings = [reading for reading in READINGS if reading.row == row]
        assert readings[0].name == "literal"
        for reading in readings:
            claim = claims[cell_id(world, cell, row, reading.name)]
            assert (claim.paper, claim.statement) == (value, cell_id(world, cell, row))
            assert reading.policy in studies("quick")[study_of(world, cell, row)].policies


def test_a_printed_number_counts_once_and_what_was_fitted_on_it_does_not() -> None:
    claims = [claim for claim in paper(PAPER).claims("full") if claim.id.startswith("table1/")]
    assert len({claim.counted_as for claim in claims if claim.counted_as}) == 24
    fitted = {claim.id for claim in claims if claim.fitted}
    assert cell_id("ladder", (10, 4), "WIQL", "step 0.1") in fitted
    assert cell_id("ages", (10, 4), "WIQL", "step 0.1") not in fitted  # its step was picked on the other world
    assert all(cell_id(world, cell, "Our Policy", "calibrated") in fitted for world in WORLDS for cell in CELLS)


def test_claims_rest_on_studies_that_there_are() -> None:
    for scale in ("quick", "full"):
        every = studies(scale)
        assert {name for claim in paper(PAPER).claims(scale) for name in claim.studies} == set(every)


def test_readings_are_what_they_are_said_to_be() -> None:
    every = studies("full")
    study = every[table("ladder", (10, 4))]
    assert (study.horizon, study.runs, study.marks) == (5000, 100, (1000,))
    assert study.policies["ours-literal"] == SlidingWhittle(window=7, conf="literal", pooled=0, every=0)
    assert study.policies["ours-calibrated"] == SlidingWhittle(window=7, every=0)
    assert every[table_baselines("ages", (10, 1))].policies["WIQL-published"] == WIQL(step=0.0, by_slot=1)
    late = every["theorem2/world=ages/k=0.5/T=400"]
    assert [late.policies[name]._asdict()["window"] for name in ("ours-literal", "ours-calibrated")] == [7, 7]
    assert only_world(late, AgeOfInformation).step == 0.05
    without = only_world(every[informed("ladder", "none", "moves")], Climbing)
    assert (without.drift, without.knowledge) == ("none", "moves")


def test_what_to_use_is_tried_on_drift_paths_of_its_own() -> None:
    for world in WORLDS:
        for cell in CELLS:
            study = studies("full")[fresh(world, cell)]
            assert (study.seed, list(study.policies), study.runs) == (FRESH, [ADAPTIVE, SLIDING], 50)
            assert study.policies[SLIDING] == SlidingWhittle()
            ours, theirs = (only_world(study, Climbing, AgeOfInformation).path(50, seed) for seed in (0, FRESH))
            assert (ours != theirs).any()


def test_the_closed_form_is_the_index_of_the_average_cost() -> None:
    """At a discount near 1 the exact index is next to it; at 0.99 it is 7% off; a channel that never works has none."""
    path = np.array([[0.1], [0.6], [0.0]])
    near, far = (indices_of(AgeOfInformation(discount=discount), path[:2]) for discount in (0.99999, 0.99))
    closed = closed_form_indices(AgeOfInformation(), path)
    np.testing.assert_allclose(closed[:2], near, atol=2e-4 * near.max())
    assert 0.05 < np.abs(closed[:2] - far).max() / far.max() < 0.08
    assert not closed[2, 1].any()
    assert OUR_POLICY == {cell: printed("ages", cell, "Our Policy") for cell in CELLS}


@pytest.mark.parametrize("world", WORLDS)
def test_theorem_1_bounds_regret_by_more_than_can_be_lost(world: str) -> None:
    """Until there are 10^8 episodes; by hand for the ladder: five arms, ten pairs of each kind."""
    assert theorem1_bound(world, 50, 7, 0.05) > 100 * largest_loss(world, 50)
    assert theorem1_bound(world, 10**8, 1e8 ** (2 / 3), 1e-8) < largest_loss(world, 10**8)
    if world == "ladder":
        value = 9.0 * (1.0 - 0.99**100) / 0.01
        still = np.sqrt(20.0 * np.log(2.0 * 10 * 10 * 50 / 0.1)) * (np.sqrt(101.0) + 1.0) * np.sqrt(10 * 50 * 100.0)
        assert theorem1_bound(world, 50, 7, 0.05) == pytest.approx(5 * value * (still + 50 * 100 * 0.35))
        assert largest_loss(world, 50) == pytest.approx(10 * 50 * value)


@pytest.mark.deep
def test_lemma_1_holds_by_its_radii_and_not_by_small_ones() -> None:
    assert covered_runs("ladder", "epsilon 0.1", 2)[0] == (True, True)
    assert covered_runs("ladder", "calibrated", 2)[0] == (False, False)


@pytest.mark.deep
def test_a_part_is_played_judged_and_drawn() -> None:
    chosen = choose(paper(PAPER).claims("quick"), "table1/world=ladder/N=10/M=1/Random")
    chosen_studies = needed(chosen, paper(PAPER).studies("quick", 10))
    (study,) = chosen_studies.values()
    evidence = Evidence(chosen_studies, run(study))
    (verdict,) = judge(chosen, evidence)
    assert verdict.verdict == "matches"
    (drawing,) = paper(PAPER).figures(evidence)
    assert "Random" in svg(drawing.draw(NARROW), name="a", title=drawing.title)


# ---- what people read ----


def test_the_numbers_of_the_page_are_those_recorded() -> None:
    """The rows `policy, reading` of Table 1, the rows of other claims, and the counts of verdicts."""
    recorded = json.loads((Path(__file__).parent / "recorded" / f"{PAPER}.json").read_text(encoding="utf-8"))["claims"]
    assert set(recorded) == {claim.id for claim in paper(PAPER).claims("quick")}
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    part = page[page.index("## Online Learning of Whittle Indices") :].split("\n## ")[0]
    places = [(world, cell) for world in WORLDS for cell in CELLS]
    found = {}
    for row, reading, numbers in re.findall(r"^\| ([A-Z][\w ]+), ([\w. ]+) \| (.+) \|$", part, flags=re.MULTILINE):
        found[row, reading] = [float(number.replace(",", "").rstrip("*")) for number in numbers.split(" | ")]
    assert set(found) == {(each.row, each.name) for each in READINGS} | {(row, "paper") for row in ROWS}
    for (row, reading), numbers in found.items():
        for number, (world, cell) in zip(numbers, places, strict=True):
            ours = recorded.get(cell_id(world, cell, row, reading), {}).get("ours")
            assert number == round(printed(world, cell, row) if reading == "paper" else ours), (row, reading, cell)
    rows = re.findall(r"^\| `([^`]+)` \|.*\| (-?[0-9.,]+) \| ([a-z-]+) \|$", part, flags=re.MULTILINE)
    assert len(rows) > 15
    for claim, number, verdict in rows:
        digits = len(number.partition(".")[2])
        assert float(number.replace(",", "")) == round(recorded[claim]["ours"], digits), claim
        assert verdict == recorded[claim]["verdict"], claim
