"""Claims and papers: the mechanism, and the Sliding-Window Thompson Sampling paper at reduced size."""

import json
import math
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

import driftwise as dw
from driftwise.core.loop import play
from driftwise.core.seeding import key
from driftwise.core.types import new_trace
from driftwise.errors import ParameterError
from driftwise.papers import names, paper
from driftwise.papers.sliding_window_thompson.cells import published
from driftwise.papers.sliding_window_thompson.printed_ucb import PrintedUCB
from driftwise.papers.sliding_window_thompson.studies import ALGORITHMS, ARMS, TABLES, reported, studies, window
from driftwise.report.style import WIDE, svg
from driftwise.study.claims import Claim, Evidence, Finding, choose, group_of, judge, needed, summary

PAPER = "sliding-window-thompson"


def finding(holds: bool) -> Finding:
    return Finding(1.0, math.nan, holds, "It came out so.")


def claims() -> list[Claim]:
    return [
        Claim("table1/K=5/A", "holds", ("one",), lambda _: finding(True)),
        Claim("table1/K=5/B", "does not", ("one",), lambda _: finding(False)),
        Claim("table10/K=5/A", "does not, as known", ("two",), lambda _: finding(False), known="The reason."),
    ]


def test_a_verdict_is_decided_by_what_came_out_and_what_is_known() -> None:
    verdicts = judge(claims(), Evidence({}, dw.Results()))
    assert [each.verdict for each in verdicts] == ["matches", "differs", "known-deviation"]
    assert verdicts[2].why == "It came out so. The reason."
    known_but_holds = claims()[0]._replace(known="The reason.")
    assert judge([known_but_holds], Evidence({}, dw.Results()))[0].verdict == "matches"


def test_a_prefix_chooses_whole_parts_of_an_id() -> None:
    assert [claim.id for claim in choose(claims(), "table1")] == ["table1/K=5/A", "table1/K=5/B"]
    assert [claim.id for claim in choose(claims(), "table1/K=5/B")] == ["table1/K=5/B"]
    assert len(choose(claims(), None)) == 3
    with pytest.raises(ParameterError, match=r"no claim 'table2': ids start with table1, table10, e\.g\. table1/K=5/A"):
        choose(claims(), "table2")


def test_only_the_studies_a_claim_rests_on_are_played() -> None:
    every = {name: object() for name in ("one", "two", "three")}
    assert list(needed(claims()[:2], every)) == ["one"]  # type: ignore[arg-type]


def test_the_tally_counts_cells_by_table_and_algorithm() -> None:
    assert group_of("table2/K=5/N=10000/SW-TS") == "table2, SW-TS"
    assert group_of("order/table2/K=5/N=10000") == "order, table2"
    tally = summary(judge(claims(), Evidence({}, dw.Results())))
    assert [tuple(group) for group in tally] == [
        ("table1, A", 1, 0, 0),
        ("table1, B", 0, 0, 1),
        ("table10, A", 0, 1, 0),
    ]


def test_papers_are_found_by_listing_their_folder() -> None:
    assert PAPER in names()
    assert paper(PAPER).name == PAPER
    with pytest.raises(
        ParameterError, match="no paper called 'sliding-thompson'; did you mean sliding-window-thompson"
    ):
        paper("sliding-thompson")


# ---- Sliding-Window Thompson Sampling ----


def test_every_printed_cell_is_a_claim() -> None:
    assert len(published()) == 348  # tables 2, 3, 5, 6 with 72 cells; table 4 has no SER4 rows
    ids = {claim.id for claim in paper(PAPER).claims("full")}
    assert set(published()) <= ids
    assert "table2/K=30/N=1000000/SW-UCB-printed" in ids


def test_windows_and_checkpoints_are_the_specs() -> None:
    assert [TABLES["table2"].tau(n) for n in (10_000, 100_000, 1_000_000)] == [1213, 4291, 14867]
    assert [TABLES["table3"].tau(n) for n in (10_000, 100_000, 1_000_000)] == [100, 316, 1000]
    assert [TABLES["table4"].tau(n) for n in (10_000, 1_000_000)] == [251, 251]
    assert [reported(n) for n in (10_000, 100_000, 1_000_000)] == [9_000, 99_000, 990_000]
    assert [window(x, 10_000) for x in (-1.0, 0.0, 1.0)] == [10_000, 100, 1]


def test_quick_is_a_part_of_full() -> None:
    quick, full = studies("quick"), studies("full")
    assert {name for name in quick if name.startswith("table")} < set(full)
    assert all(study.policies.keys() == set(ALGORITHMS) for name, study in full.items() if name.startswith("table"))


def printed_choices(means: np.ndarray, noise: np.ndarray, tau: int) -> list[int]:
    """SW-UCB with the defect, plainly: clipped at 1, ties to the lowest, an arm gone from the window gone for ever."""
    chosen: list[int] = []
    rewards: list[float] = []
    for t in range(len(noise)):
        recent = range(max(0, t - tau), t)
        bounds = []
        for arm in range(means.shape[1]):
            own = [rewards[s] for s in recent if chosen[s] == arm]
            if arm not in chosen:
                bounds.append(math.inf)
            elif own:
                bounds.append(min(1.0, sum(own) / len(own) + math.sqrt(0.6 * math.log(min(t, tau)) / len(own))))
            else:
                bounds.append(-math.inf)
        arm = bounds.index(max(bounds))
        chosen.append(arm)
        rewards.append(float(noise[t] < means[t, arm]))
    return chosen


@pytest.mark.parametrize(("n_arms", "tau", "seed"), [(3, 20, 1), (5, 60, 2), (8, 251, 3), (4, 5, 4)])
def test_the_printed_sw_ucb_agrees_with_its_slow_twin(n_arms: int, tau: int, seed: int) -> None:
    rounds, policy, world = 600, PrintedUCB(window=tau), dw.worlds.SCMAB(n_arms=n_arms, sigma=0.01)
    tape, nature = world.draw(rounds, seed)
    trace = new_trace(0, rounds)
    play(policy, policy.init(world.problem(rounds)), tape, nature, key(0), trace, rounds)
    assert trace.actions.tolist() == printed_choices(tape.levels.table, tape.noise, tau)


@pytest.fixture(scope="module")
def verdicts() -> dict[str, str]:
    """Tables 2, 3, 4 and 6 at N=10,000 with few runs, K=5 and 10.

    With 30 runs (Table 2: 100) the standard error of a mean is below 1.3% of it for SW-TS, SW-KL-UCB and SW-UCB, whose
    expectations lie within 3.7% of the printed means; the rule allows 5% or both intervals. Were the seeds renewed, one
    of the cells asserted on would fail with probability below 0.02. Seeds are fixed.
    """
    chosen = paper(PAPER)
    prefixes = [f"table{n}/K={k}" for n in (2, 3, 4, 6) for k in (5, 10)]
    claims = [claim for prefix in prefixes for claim in choose(chosen.claims("quick"), prefix)]
    reduced = {
        name: chosen.studies("quick", 100 if name.startswith("table2") else 30)[name]
        for name in needed(claims, chosen.studies("quick", None))
    }
    results = dw.Results()
    for study in reduced.values():
        dw.run(study, results)
    return {each.id: each.verdict for each in judge(claims, Evidence(reduced, results))}


@pytest.mark.parametrize("algorithm", ["SW-TS", "SW-KL-UCB"])
@pytest.mark.parametrize("table", ["table2", "table3", "table4", "table6"])
@pytest.mark.parametrize("arms", [5, 10])
def test_the_papers_own_algorithms_match(verdicts: dict[str, str], table: str, arms: int, algorithm: str) -> None:
    assert verdicts[f"{table}/K={arms}/N=10000/{algorithm}"] == "matches"


@pytest.mark.parametrize("table", ["table2", "table3", "table4"])
@pytest.mark.parametrize("arms", [5, 10])
def test_the_printed_sw_ucb_needs_the_defect(verdicts: dict[str, str], table: str, arms: int) -> None:
    assert verdicts[f"{table}/K={arms}/N=10000/SW-UCB-printed"] == "matches"
    correct = "matches" if (table, arms) == ("table4", 5) else "known-deviation"
    assert verdicts[f"{table}/K={arms}/N=10000/SW-UCB"] == correct


def test_rexp3_does_not_reach_table_4(verdicts: dict[str, str]) -> None:
    assert {verdicts[f"table4/K={k}/N=10000/REXP3"] for k in (5, 10)} == {"known-deviation"}
    assert {verdicts[f"table6/K={k}/N=10000/REXP3"] for k in (5, 10)} == {"matches"}


def test_the_wave_is_judged_without_simulation() -> None:
    chosen = paper(PAPER)
    verdicts = judge(choose(chosen.claims("quick"), "world"), Evidence({}, dw.Results()))
    assert {each.id: (each.ours, each.verdict) for each in verdicts} == {
        "world/first-change": (2527.0, "known-deviation"),
        "world/changes": (13, "known-deviation"),
    }


def test_the_sweeps_of_several_horizons_are_drawn_as_figures_6_to_11() -> None:
    """The full scale in small: two horizons, five windows, three runs."""
    small, grid = {}, (-1.0, -0.5, 0.0, 0.5, 1.0)
    for symbol, world in (("alpha", dw.worlds.ACMAB), ("beta", dw.worlds.SCMAB)):
        for n_arms in ARMS:
            for rounds in (200, 2000):
                name, worlds = f"{symbol}/K={n_arms}/N={rounds}", {"world": world(n_arms=n_arms)}
                policies = {f"{x:+.2f}": dw.SlidingThompson(window=window(x, rounds)) for x in grid}
                small[name] = dw.Study(name=name, worlds=worlds, policies=policies, horizon=rounds, runs=3)
    results = dw.Results()
    for study in small.values():
        dw.run(study, results)
    drawings = paper(PAPER).figures(Evidence(small, results))
    assert [each.title.split(":")[0] for each in drawings] == [f"Figure {n}" for n in (6, 7, 8, 9, 10, 11)]
    for each in drawings:
        if each.title.endswith("by N"):
            continue  # shows N = 10,000, 100,000, 500,000 and 1,000,000 only
        ET.fromstring(svg(each.draw(WIDE), title=each.title))


# ---- the command ----


def reproduce(*words: str, out: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "driftwise.cli", "reproduce", *words, "--out", str(out)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_reproduce_prints_one_document_and_writes_a_page(tmp_path: Path) -> None:
    done = reproduce(PAPER, "--claim", "table4/K=5", "--runs", "8", "--json", out=tmp_path)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["paper"] == PAPER and document["scale"] == "quick"
    rows = {row["id"]: row for row in document["claims"]}
    row = rows["table4/K=5/N=10000/SW-TS"]
    assert {"id", "paper", "paper_ci95", "ours", "ours_ci95", "verdict", "why"} <= set(row)
    assert row["paper"] == 423 and row["at_end"] > row["ours"] > 0
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for claim in rows:
        assert claim.partition("/")[2] in page
    again = reproduce(PAPER, "--claim", "table4/K=5", "--runs", "8", "--json", out=tmp_path)
    assert json.loads(again.stdout) == document, "nothing is played twice, and nothing changes"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([PAPER, "--claim", "table7"], "no claim 'table7': ids start with table2, table3"),
        (["sliding-window"], "no paper called 'sliding-window'"),
        ([PAPER, "--runs", "0"], "runs=0 is not a whole number of at least 1"),
        ([PAPER, "--scale", "huge"], "'huge' is not one of"),
    ],
)
def test_bad_input_is_one_sentence_and_exit_code_2(tmp_path: Path, words: list[str], says: str) -> None:
    done = reproduce(*words, out=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr and "Traceback" not in done.stderr
