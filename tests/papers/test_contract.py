"""Contracts over the claims of all papers: every verdict could have been another one."""

import pytest

import driftwise as dw
from driftwise.checks.claims import blind_to, can_fail
from driftwise.papers import SCALES, names, paper
from driftwise.study.claims import Claim, Evidence, choose, needed
from driftwise.study.verdicts import judge

# What is played in the gate; `make deep` plays all of `quick`.
SMALL = {
    "hedging-the-drift": (),
    "knapsacks": (),
    "sliding-window-thompson": (("table4/K=5", 30),),
    "whittle": (),
}


def every(name: str, scale: str) -> list[Claim]:
    return paper(name).claims(scale)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", names())
def test_every_claim_can_fail(name: str, scale: str) -> None:
    assert [claim.id for claim in every(name, scale) if not can_fail(claim)] == []


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", names())
def test_ids_are_unique_and_expectations_belong_to_claims(name: str, scale: str) -> None:
    ids = [claim.id for claim in every(name, scale)]
    assert len(ids) == len(set(ids))
    if scale == "full":
        assert set(paper(name).expected()) <= set(ids) | {claim.id for claim in every(name, "quick")}


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", names())
def test_every_cell_and_order_says_which_policy_it_is_about(name: str, scale: str) -> None:
    silent = [
        claim.id
        for claim in every(name, scale)
        if claim.id.startswith(("table", "order", "row")) and claim.studies and not claim.about
    ]
    assert silent == []


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("name", names())
def test_every_cell_of_a_printed_table_is_a_claim(name: str, scale: str) -> None:
    ids = {claim.id for claim in every(name, "full")} | {claim.id for claim in every(name, "quick")}
    for table in paper(name).tables(scale):
        for _, cells in table.rows:
            assert len(cells) == len(table.columns)
            assert {claim for claim in cells if claim} <= ids


def blind(name: str, prefix: str | None, runs: int | None) -> list[str]:
    chosen = paper(name)
    claims = choose(chosen.claims("quick"), prefix)
    studies = needed(claims, chosen.studies("quick", runs))
    results = dw.Results()
    for study in studies.values():
        dw.run(study, results)
    evidence = Evidence(studies, results)
    assert any(each.verdict == "matches" for each in judge(claims, evidence))
    return blind_to(claims, evidence)


@pytest.mark.parametrize(("name", "prefix", "runs"), [(name, *part) for name, parts in SMALL.items() for part in parts])
def test_uniform_play_turns_the_claims_of_a_policy(name: str, prefix: str, runs: int) -> None:
    assert blind(name, prefix, runs) == []


@pytest.mark.deep
@pytest.mark.parametrize("name", names())
def test_uniform_play_turns_every_claim_of_a_policy(name: str) -> None:
    assert blind(name, None, None) == []
