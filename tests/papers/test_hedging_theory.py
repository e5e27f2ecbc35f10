"""Hedging the Drift, sections 4 to 8: what is computed, what is played at reduced size, and what the pages say."""

import json
import math
import re
from pathlib import Path

import numpy as np
import pytest

import driftwise as dw
from driftwise.core.types import Problem
from driftwise.papers import paper
from driftwise.papers.hedging_the_drift import blocks, estimation, lower_bound, rates
from driftwise.papers.hedging_the_drift.unrestarted_bob import UnrestartedBOB
from driftwise.study.claims import Evidence, choose
from driftwise.study.verdicts import Verdict, judge

NAME = "hedging-the-drift"
ROOT = Path(__file__).parents[2]
NOTHING = Evidence({}, dw.Results())


@pytest.fixture(scope="module")
def exact() -> dict[str, Verdict]:
    """Every claim that needs no study and is quick to compute."""
    chosen = paper(NAME)
    names = ("erratum", "lemma1", "lemma3", "lemma5", "theorem1/rate", "theorem8")
    claims = [claim for name in names for claim in choose(chosen.claims("quick"), name)]
    return {each.id: each for each in judge(claims, NOTHING, chosen.expected())}


def test_lemma_1_and_theorem_2_are_false_as_printed(exact: dict[str, Verdict]) -> None:
    assert exact["erratum/lemma1"].finding.ours == pytest.approx(11.1225, abs=1e-4)
    assert "2,000 of 2,000 draws" in exact["erratum/theorem2"].why
    assert {exact[f"erratum/{name}"].verdict for name in ("lemma1", "theorem2")} == {"known-deviation"}


def test_lemma_1_by_brute_force() -> None:
    """Round by round: the left side of the lemma over the right one, for the jump and direction that were found."""
    rounds, found = 200, estimation.two_directions(200)
    rows = np.repeat([[math.cos(0.05), math.sin(0.05)], [1.0, 0.0]], rounds, axis=0)
    path = np.repeat([found.jump, -found.jump], rounds, axis=0)
    gram = np.eye(2) + sum(np.outer(x, x) for x in rows)
    left = np.linalg.solve(
        gram, sum(np.outer(x, x) @ (theta + found.jump) for x, theta in zip(rows, path, strict=True))
    )
    assert np.linalg.norm(left) / np.linalg.norm(2.0 * found.jump) == pytest.approx(found.factor)
    assert found.factor > 4.0


def test_where_they_hold_and_what_is_true_instead(exact: dict[str, Verdict]) -> None:
    for claim in ("lemma1/axes", "lemma1/repaired", "lemma1/growth", "lemma3", "lemma5"):
        assert exact[claim].verdict == "matches", claim
    assert exact["theorem8"].verdict == "not-judged"


def test_errata_come_out_as_printed_and_as_meant(exact: dict[str, Verdict]) -> None:
    numbers = {name: round(each.finding.ours, 3) for name, each in exact.items() if name.startswith("erratum/")}
    assert numbers | {"erratum/lemma1": 11.122, "erratum/theorem2": 2001.0} == {
        "erratum/lemma1": 11.122,
        "erratum/theorem2": 2001.0,
        "erratum/phase/printed": 4.243,
        "erratum/phase/thirds": 1.33,
        "erratum/eq90/printed": 0.887,
        "erratum/eq90/mended": 1.0,
        "erratum/budget/printed": 20.0,
        "erratum/budget/mended": 1.0,
        "erratum/eq16": 48.214,
        "erratum/unseen-arm": 0.202,
    }
    for name, each in exact.items():
        if name.startswith("erratum/"):
            assert each.verdict == ("matches" if name.endswith(("thirds", "mended")) else "known-deviation"), name


def test_the_lower_bound_has_the_rates_of_theorem_1(exact: dict[str, Verdict]) -> None:
    assert {exact[f"theorem1/rate/{symbol}"].verdict for symbol in lower_bound.RATES} == {"matches"}


def test_theorem_2_holds_on_axes_in_play() -> None:
    (verdict,) = judge(choose(paper(NAME).claims("quick"), "theorem2/axes"), NOTHING)
    assert verdict.verdict == "matches" and verdict.finding.ours == 0.0


def test_both_regimes_of_theorem_4_are_played() -> None:
    for ladder, places in rates.LADDERS.items():
        for place in places.values():
            border = place.dim**-0.5 * place.horizon**0.25
            assert (rates.moved(place) + 1.0 < border) == ladder.startswith("small"), (ladder, place)


def test_gamma_is_equation_24() -> None:
    windows, draws = 9, math.ceil(100_000 / 1581)
    assert blocks.learning_rate(100_000, 5) == pytest.approx(
        math.sqrt(windows * math.log(windows) / (math.e - 1) / draws)
    )
    assert blocks.learning_rate(1_000, 5) == 1.0


def test_what_blocks_drew_is_told() -> None:
    run = blocks.blocks_of(3, horizon=4_000)
    assert len(run.drawn) == len(run.earned) == math.ceil(4_000 / math.floor(5 * math.sqrt(4_000)))
    assert set(run.drawn) <= set(run.windows) and run.chances.sum() == pytest.approx(1.0)
    assert np.abs(run.earned).max() < 1.1


def test_bob_without_restarts_keeps_the_counts_of_every_window() -> None:
    problem, policy = Problem(2, -np.inf, np.inf, 0.1, 300, unit=1.0), UnrestartedBOB()
    world = dw.worlds.SinePair(variation=3.0)
    study = dw.Study(name="r2", worlds={"w": world}, policies={"bob": policy}, horizon=300, runs=1)
    assert np.isfinite(dw.run(study).at(study.cells(), 300)).all()
    state = policy.init(problem)
    from driftwise.core.types import Decision, Outcome
    from tests.fixtures.verbs import advance, update

    played = np.random.default_rng(1).integers(0, 2, 200)
    for t, arm in enumerate(played):
        advance(policy, state, t, np.uint64(t))
        update(policy, state, Decision(t, int(arm), 1.0, (), np.uint64(t)), Outcome(float(t)), t)
    for place, window in enumerate(state.hedge.windows[: state.hedge.used[0]]):
        lately = slice(200 - int(window), 200)
        for arm in range(2):
            there = played[lately] == arm
            assert state.counts[arm, place] == there.sum()
            assert state.sums[arm, place] == pytest.approx(np.arange(200)[lately][there].sum())


# ---- what people read ----


def test_the_page_of_errata_names_claims_that_exist_and_all_of_them() -> None:
    page = (ROOT / "docs" / "hedging-errata.md").read_text(encoding="utf-8")
    ids = [claim.id for claim in paper(NAME).claims("quick")]
    named = {
        name for name in re.findall(r"`([a-z0-9/-]+)`", page) if "/" in name or name.startswith(("figure", "theorem"))
    }
    assert not {name for name in named if not any(each == name or each.startswith(f"{name}/") for each in ids)}
    assert {each for each in ids if each.startswith("erratum/")} <= named


def test_the_numbers_of_the_page_are_those_recorded() -> None:
    """Rows `claim | ours | verdict` of docs/papers.md against what a quick run recorded."""
    recorded = json.loads((Path(__file__).parent / "recorded" / f"{NAME}.json").read_text(encoding="utf-8"))
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    part = page[page.index("## Hedging the Drift") :].split("\n## ")[0]
    rows = re.findall(r"^\| `([^`]+)` \|.*\| ([-0-9.,]+) \| ([a-z-]+) \|$", part, flags=re.MULTILINE)
    assert len(rows) >= 30
    for claim, number, verdict in rows:
        digits = len(number.partition(".")[2])
        assert float(number.replace(",", "")) == round(recorded[claim]["ours"], digits), claim
        assert verdict == recorded[claim]["verdict"], claim
    assert set(recorded) == {claim.id for claim in paper(NAME).claims("quick")}
