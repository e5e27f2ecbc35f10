"""Sliding-Window Thompson Sampling: its claims at reduced size, its theory by hand, and the command that judges it."""

import json
import math
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.core.loop import play
from driftwise.core.seeding import key
from driftwise.core.types import Floats, new_trace
from driftwise.errors import ParameterError
from driftwise.papers import names, paper
from driftwise.papers.sliding_window_thompson.bounds import closeness, largest_loss, theorem1, theorem2
from driftwise.papers.sliding_window_thompson.cells import published, tables
from driftwise.papers.sliding_window_thompson.growth import ORDERS, growth
from driftwise.papers.sliding_window_thompson.printed_ucb import PrintedUCB
from driftwise.papers.sliding_window_thompson.studies import (
    ALGORITHMS,
    ARMS,
    PRINTED_NAME,
    TABLES,
    algorithms,
    reported,
    studies,
    window,
)
from driftwise.papers.sliding_window_thompson.switch import Switch
from driftwise.papers.sliding_window_thompson.theory import close_rounds
from driftwise.report.style import WIDE, svg
from driftwise.study.claims import Evidence, Finding, Range, choose, needed
from driftwise.study.tallies import headline, sentence_of
from driftwise.study.verdicts import Verdict, judge

PAPER = "sliding-window-thompson"


def test_papers_are_found_by_listing_their_folder() -> None:
    assert PAPER in names()
    assert paper(PAPER).name == PAPER
    with pytest.raises(
        ParameterError, match="no paper called 'sliding-thompson'; did you mean sliding-window-thompson"
    ):
        paper("sliding-thompson")


# ---- the tables ----


def test_every_printed_cell_is_one_statement() -> None:
    assert len(published()) == 348  # tables 2, 3, 5, 6 with 72 cells; table 4 has no SER4 rows
    claims = paper(PAPER).claims("full")
    cells = [claim for claim in claims if claim.id.startswith("table")]
    assert {claim.statement for claim in cells} == set(published())
    assert all(claim.paper == published()[str(claim.statement)][0] for claim in cells)
    literal = {claim.statement for claim in cells if claim.reading == "literal"}
    assert literal >= {place for place in published() if place.startswith(("table2", "table3", "table4"))}


def test_the_tables_have_the_papers_rows_and_columns() -> None:
    for table in tables("full"):
        assert table.columns == ("N = 10,000", "N = 100,000", "N = 1,000,000")
        printed = [cells for heading, cells in table.rows if heading.count(",") == 1]
        assert [ids[0] for ids in printed if ids[0] is not None] == [
            f"{name}/K={k}/N=10000/{algorithm}"
            for name in [str(printed[0][0]).split("/")[0]]
            for k in ARMS
            for algorithm in ("TS", "SER4", "REXP3", "SW-UCB", "SW-KL-UCB", "SW-TS")
            if (name, algorithm) != ("table4", "SER4")
        ]


def test_constants_are_not_counted_where_they_were_fitted() -> None:
    fitted = {claim.id: claim.fitted for claim in paper(PAPER).claims("full") if claim.fitted}
    assert all(claim.split("/")[0] in ("table3", "table6") for claim in fitted)
    assert "table3/K=5/N=10000/SER4-resets" in fitted and "table2/K=5/N=10000/SER4-resets" not in fitted


def test_windows_and_checkpoints_are_the_specs() -> None:
    assert [TABLES["table2"].tau(n) for n in (10_000, 100_000, 1_000_000)] == [1213, 4291, 14867]
    assert [TABLES["table3"].tau(n) for n in (10_000, 100_000, 1_000_000)] == [100, 316, 1000]
    assert [TABLES["table4"].tau(n) for n in (10_000, 1_000_000)] == [251, 251]
    assert [reported(n) for n in (10_000, 100_000, 1_000_000)] == [9_000, 99_000, 990_000]
    assert [window(x, 10_000) for x in (-1.0, 0.0, 1.0)] == [10_000, 100, 1]


def test_quick_is_a_part_of_full() -> None:
    quick, full = studies("quick"), studies("full")
    assert {name for name in quick if name.startswith("table")} < set(full)
    for name, study in full.items():
        if name.startswith("table"):
            assert set(ALGORITHMS) < study.policies.keys() <= {*ALGORITHMS, *PRINTED_NAME}


def test_rexp3_has_three_readings_of_the_variation() -> None:
    abrupt, smooth = (algorithms(TABLES[table], 5, 10_000) for table in ("table2", "table3"))
    assert abrupt["REXP3"] == dw.REXP3(variation=3.0) and abrupt["REXP3-true"] == dw.REXP3(variation="true")
    assert smooth["REXP3"] == dw.REXP3(variation=1.0) and smooth["REXP3-amplitude"] == dw.REXP3(variation=0.8)


def printed_choices(means: Floats, noise: Floats, tau: int) -> list[int]:
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
    """Table 4 at N=10,000, K=5 and 10, with 40 runs, and the winners there.

    The standard error of a mean is below 1.2% of it for SW-TS, SW-KL-UCB and SW-UCB, their expectation lies within 1.2%
    of the printed mean, and the printed errors are below 1%: were the seeds renewed, one of the cells asserted on would
    leave the margin of 5% with probability below 0.02. Seeds are fixed.
    """
    chosen = paper(PAPER)
    prefixes = [*(f"table4/K={k}" for k in (5, 10)), *(f"order/table4/K={k}" for k in (5, 10))]
    claims = [claim for prefix in prefixes for claim in choose(chosen.claims("quick"), prefix)]
    reduced = needed(claims, chosen.studies("quick", 40))
    results = dw.Results()
    for study in reduced.values():
        dw.run(study, results)
    return {each.id: each.verdict for each in judge(claims, Evidence(reduced, results), chosen.expected())}


@pytest.mark.parametrize("arms", [5, 10])
def test_the_papers_own_algorithms_match(verdicts: dict[str, str], arms: int) -> None:
    place = f"table4/K={arms}/N=10000"
    assert {verdicts[f"{place}/{name}"] for name in ("SW-TS", "SW-KL-UCB", "SW-UCB-printed")} == {"matches"}
    assert verdicts[f"order/{place}"] == verdicts[f"order/{place}/as-tables"] == "matches"


def test_the_printed_sw_ucb_needs_the_defect(verdicts: dict[str, str]) -> None:
    assert verdicts["table4/K=5/N=10000/SW-UCB"] == "matches"
    assert verdicts["table4/K=10/N=10000/SW-UCB"] == "known-deviation"


def test_rexp3_does_not_reach_table_4(verdicts: dict[str, str]) -> None:
    found = {verdicts[f"table4/K={k}/N=10000/{name}"] for k in (5, 10) for name in ("REXP3", "REXP3-amplitude")}
    assert found == {"unexplained"}


# ---- theory ----


def test_theorem_1_by_hand() -> None:
    """Two phases of one gap of 0.5 each: Delta (tau + N/tau (52 ln tau / Delta^2 + 20 ln tau + 5)), twice."""
    means, lengths, tau = np.array([[0.9, 0.4], [0.4, 0.9]]), np.array([600.0, 400.0]), 20
    log = math.log(tau)
    by_hand = sum(0.5 * (tau + n / tau * (52.0 * log / 0.25 + 20.0 * log + 5.0)) for n in (600, 400))
    assert theorem1(means, lengths, tau) == pytest.approx(by_hand)
    assert largest_loss(means, lengths) == pytest.approx(500.0)
    assert by_hand > 500.0  # it says nothing of so short a run


def test_theorems_2_and_3_need_a_slow_drift_and_say_nothing() -> None:
    assert theorem2(5, 10_000, 251, 1e-3) == math.inf  # 2 sigma tau = 0.502: tables 4 and 6
    for k in ARMS:
        for n in (10_000, 1_000_000):
            tau = TABLES["table3"].tau(n)
            assert theorem2(k, n, tau, 1e-4) > 8.0 * k / (k - 1) * n
            assert theorem2(k, n, tau, 1e-4, breakpoints=4) > 8.0 * k / (k - 1) * n


def test_appendix_e_counts_too_few_rounds() -> None:
    """All pairs, one by one."""
    means = dw.worlds.SCMAB(n_arms=4, sigma=1e-4).draw(3_000, 0)[0].levels
    slow = sum(
        any(abs(row[i] - row[j]) < 0.05 for i in range(4) for j in range(i)) for row in means.table[means.rows].tolist()
    )
    assert close_rounds(4, 3_000, 0.05) == slow
    assert close_rounds(5, 10_000, 0.05) == 5_267 > closeness(5, 1e-4) * 0.05 == pytest.approx(2_500.0)


def test_what_needs_no_play_is_judged_without() -> None:
    chosen = paper(PAPER)
    claims = [claim for claim in chosen.claims("quick") if not claim.studies]
    found = {each.id: each for each in judge(claims, Evidence({}, dw.Results()), chosen.expected())}
    assert found["world/first-change"].finding.ours == 2527 and found["world/changes"].finding.ours == 13
    assert {each.verdict for each in found.values()} == {"matches", "known-deviation", "not-judged"}
    kinds: dict[str, set[str]] = {name.partition("/")[0]: set() for name in found}
    for name, each in found.items():
        kinds[name.partition("/")[0]].add(each.verdict)
    assert kinds["appendixE"] == kinds["world"] == {"known-deviation"}
    assert found["theorem2/applies/table3/N=10000"].verdict == "matches"
    assert found["assumption3/K=5/delta=0.05"].verdict == "not-judged"


def test_the_example_of_two_arms() -> None:
    tape = Switch().draw(100, 3)[0]
    assert tape.levels.table[tape.levels.rows].argmax(axis=1).tolist() == [0] * 50 + [1] * 50
    with pytest.raises(ParameterError, match="low"):
        Switch(low=0.95)


def test_the_exponents_of_the_corollaries() -> None:
    """sqrt(N) log N from 10,000 to 100,000 has a slope of about 0.5 + log10(5/4); a bound is allowed 0.05 more."""
    claims = {claim.id: claim for claim in growth("quick")}
    assert claims["growth/corollary1/K=5"].agrees.high == pytest.approx(0.5 + math.log10(1.25) + 0.05, abs=0.001)
    assert claims["growth/corollary5/K=5"].agrees.low < 0.5 and claims["growth/corollary5/K=5"].agrees.high == math.inf
    assert {claim.split("/")[1] for claim in claims} == set(ORDERS)


# ---- figures ----


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


@pytest.mark.system
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
        assert f'id="{claim}"' in page or claim.partition("/")[2] in page
    printed = page.split('<table class="printed">')[1].split("</table>")[0].split("<tr>")[2:]
    assert printed
    for line in printed:  # rows without a value are left out
        assert "K = 5" in line and re.search('class="ours [a-z]', line)
    again = reproduce(PAPER, "--claim", "table4/K=5", "--runs", "8", "--json", out=tmp_path)
    assert json.loads(again.stdout) == document, "nothing is played twice, and nothing changes"


@pytest.mark.system
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


# ---- the documentation ----

ROOT = Path(__file__).parents[2]
READINGS = {
    "SW-TS": "SW-TS",
    "SW-KL-UCB": "SW-KL-UCB",
    "TS": "TS",
    "REXP3": "REXP3",
    "REXP3-true": "REXP3, true variation (Table 2)",
    "REXP3-amplitude": "REXP3, sigma N (K-1)/K (Tables 3 to 6)",
    "SER4": "SER4",
    "SER4-resets": "SER4 with resets",
    "SW-UCB": "SW-UCB",
    "SW-UCB-printed": "SW-UCB with the defect",
}
KINDS = ("matches", "known-deviation", "unexplained", "inconclusive", "not-judged", "differs")


def row_of_algorithm(recorded: dict[str, dict[str, Any]], algorithm: str) -> str:
    """One line of the table of docs/papers.md: how the cells of an algorithm came out."""
    cells = {
        claim: each
        for claim, each in recorded.items()
        if claim.startswith("table") and "-literal/" not in claim and claim.endswith(f"/{algorithm}")
    }
    off = [100.0 * (each["ours"] / each["paper"] - 1.0) for each in cells.values()]
    counts = [sum(each["verdict"] == kind for each in cells.values()) for kind in KINDS[:4]]
    shown = f"{min(off):+.0f} to {max(off):+.0f}%"
    return f"| {READINGS[algorithm]} | {len(cells)} | {' | '.join(map(str, counts))} | {shown} |"


def test_the_numbers_of_the_page_are_those_recorded() -> None:
    """The table of cells, the headline, and every number of the form `ours` (claim) in docs/papers.md."""
    recorded = json.loads((Path(__file__).parent / "recorded" / f"{PAPER}.json").read_text(encoding="utf-8"))
    claims = paper(PAPER).claims("quick")
    assert set(recorded) == {claim.id for claim in claims}
    page = (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
    part = page[page.index("## Sliding-Window Thompson") : page.index("## Hedging the Drift")]
    for algorithm in READINGS:
        assert row_of_algorithm(recorded, algorithm) in part
    verdicts = [
        Verdict(claim, Finding(0.0), Range(0.0, 0.0), None, recorded[claim.id]["verdict"], "") for claim in claims
    ]
    assert sentence_of(headline(verdicts)) in " ".join(part.split())
    numbers = re.findall(r"([+-]?[\d,.]+) \(`([a-zE0-9][^`]*/[^`]*)`\)", part)
    assert len(numbers) >= 10
    for shown, claim in numbers:
        digits = len(shown.partition(".")[2])
        assert float(shown.replace(",", "")) == round(recorded[claim]["ours"], digits), claim
