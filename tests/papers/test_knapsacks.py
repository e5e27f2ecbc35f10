"""Non-stationary Bandits with Knapsacks: every claim at reduced size, the errata, the lemmas, the figures.

Powers of the lower bounds hardly vary from run to run; those of other worlds are asserted on with three standard errors
or more, and not at all where this size is too small for them. Were the seeds renewed, some assertion would fail with
probability below 0.05. Seeds are fixed.
"""

import importlib.util
import json
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

import driftwise as dw
from driftwise.checks import check_world
from driftwise.checks.claims import blind_to
from driftwise.core.family import trace_for
from driftwise.core.random import stream
from driftwise.core.seeding import key
from driftwise.errors import ParameterError
from driftwise.families import BudgetRotating, KnapsackExample
from driftwise.families.knapsack.hindsight.path_length import steps
from driftwise.families.knapsack.hindsight.sandwich import chain
from driftwise.papers import paper
from driftwise.papers.knapsacks import (
    adaptive_adversary,
    appendix_b,
    appendix_d,
    errata_algorithm1,
    errata_convex,
    lemmas2_3,
    proposition1,
    series,
    theorem1,
    theorem1_constants,
    theorem2_iii,
    theorem3,
    what_to_use,
)
from driftwise.papers.knapsacks.algorithm1 import FORMS, Algorithm1
from driftwise.papers.knapsacks.power_law import PowerLaw, margin
from driftwise.papers.knapsacks.series import SeriesSize
from driftwise.papers.knapsacks.worlds import CheapBest, WithIdleArm
from driftwise.report.style import NARROW, WIDE, svg
from driftwise.study.claims import Evidence, choose, needed
from driftwise.study.verdicts import Verdict, judge
from tests.fixtures.verbs import advance, play

NAME, SMALL = "knapsacks", "small"
ROOT = Path(__file__).parents[2]
SIZES = {
    "T/rotating": SeriesSize((2_000.0, 8_000.0, 32_000.0), 4),
    "T/stationary": SeriesSize((1_000.0, 4_000.0, 16_000.0), 4),
    "V/rotating": SeriesSize((1.0, 64.0), 2),
    "T/lower-bound": SeriesSize((4_000.0, 16_000.0, 64_000.0), 4),
    "V/lower-bound": SeriesSize((2.0, 8.0, 32.0), 2),
    "m/lower-bound": SeriesSize((2.0, 8.0, 32.0), 2),
    "b/lower-bound": SeriesSize((2.5, 20.0), 2),
    "T/appendix-c1": SeriesSize((4_000.0, 16_000.0, 64_000.0), 2),
    "T/appendix-d": SeriesSize((4_000.0, 16_000.0, 64_000.0), 2),
}
COUNTS = (
    (theorem2_iii.RUNS, 1),
    (proposition1.INSTANCES, 24),
    (appendix_b.INSTANCES, 4),
    (lemmas2_3.RUNS, 2),
    (appendix_d.RUNS, 2),
    (theorem1_constants.LONG, 64_000),
    (theorem1_constants.RUNS, 2),
    (theorem3.HORIZONS, (250, 1_000, 4_000, 16_000)),
    (theorem3.RUNS, 2),
    (theorem3.PROGRAMS, 20),
    (adaptive_adversary.HORIZONS, (250, 1_000, 4_000)),
    (errata_algorithm1.RUNS, 4),
    (what_to_use.RUNS, 3),
)


@pytest.fixture(scope="module")
def evidence() -> Iterator[Evidence]:
    """All that is played, at a scale of its own."""
    patch = pytest.MonkeyPatch()
    patch.setitem(series.SIZES, SMALL, SIZES)
    for table, value in COUNTS:
        patch.setitem(table, SMALL, value)
    patch.setattr(theorem1, "LONG", 64_000)
    patch.setattr(theorem2_iii, "LONGER", (5_000, 20_000))
    patch.setattr(appendix_d, "HORIZONS", (500, 2_000, 8_000))
    patch.setattr(errata_convex, "HORIZONS", (400, 1_600))
    two = {name: what_to_use.WORLDS[name] for name in ("sinusoidal", "switching")}
    patch.setattr(what_to_use, "WORLDS", two)  # compiling for pricing takes half a minute
    chosen = paper(NAME)
    studies = needed(chosen.claims(SMALL), chosen.studies(SMALL, None))
    results = dw.Results()
    for study in studies.values():
        dw.run(study, results)
    yield Evidence(studies, results)
    patch.undo()


@pytest.fixture(scope="module")
def verdicts(evidence: Evidence) -> dict[str, Verdict]:
    chosen = paper(NAME)
    return {each.id: each for each in judge(chosen.claims(SMALL), evidence, chosen.expected())}


def ours(verdicts: dict[str, Verdict], claim: str) -> float:
    return verdicts[claim].finding.ours


# ---- the frame ----


def test_every_claim_rests_on_studies_that_exist_and_groups_are_named_as_in_the_paper() -> None:
    chosen = paper(NAME)
    for scale in ("quick", "full"):
        claims, studies = chosen.claims(scale), chosen.studies(scale, None)
        assert {name for claim in claims for name in claim.studies} == set(studies)
        assert all(claim.says for claim in claims)
        groups = [claim.id.split("/")[0] for claim in claims]
        assert len(set(groups)) == 1 + sum(one != other for one, other in pairwise(groups))
        named = r"(section|lemma|proposition|corollary|theorem|figure|appendix)-|erratum|remark|open|what-to-use"
        assert all(re.match(named, group) for group in groups)
    assert {claim.id for claim in chosen.claims("quick")} == {claim.id for claim in chosen.claims("full")}


def test_studies_have_the_names_they_are_found_by() -> None:
    studies = paper(NAME).studies("quick", 2)
    for name in list(studies)[::20]:
        assert studies[name].name == name and studies[name].runs <= 2


def test_every_statement_has_one_literal_reading() -> None:
    literal = [claim.counted_as for claim in paper(NAME).claims("quick") if claim.reading == "literal"]
    counted = {claim.counted_as for claim in paper(NAME).claims("quick")} - {None}
    for statement in counted:
        assert literal.count(statement) == 1, statement


def test_forms_have_the_windows_of_theorem_1_for_the_run_they_play() -> None:
    world = BudgetRotating(n_arms=5, resources=2, phases=3)
    means = world.means(64_000, 7)
    v1, v2 = steps(means)
    logs = math.log(12 * 5 * 64_000**3), math.log(12 * 5 * 2 * 64_000**3)
    expected = [
        math.ceil(math.cbrt(5 * log) * (64_000 / v) ** (2 / 3)) for log, v in zip(logs, (v1, v2.max()), strict=True)
    ]
    for form in FORMS.values():
        tuned = form.tuned(means)
        assert (tuned.window, tuned.cost_window) == pytest.approx(expected, abs=1)
    printed = FORMS["paper"].tuned(means)
    assert (printed.conf, printed.scale, printed.clip, printed.resolve) == ("paper", 1.0, 0, 0)
    with pytest.raises(ParameterError, match="knows the world in advance"):
        FORMS["paper"].init(world.problem(100))


def test_the_best_arm_is_cheap_and_an_idle_arm_does_nothing() -> None:
    cheap, idle = CheapBest(n_arms=4, resources=2, phases=3), WithIdleArm(n_arms=3)
    means, wider = cheap.means(90, 5), idle.means(90, 5)
    best = np.argmax(means.rewards, axis=1)
    for row, arm in enumerate(best):
        assert means.costs[row, :, arm].max() <= 0.3 and np.delete(means.costs[row], arm, axis=1).min() >= 0.6
    assert (means.costs[0][:, best[0]] == means.costs[1][:, best[1]]).all()
    assert not wider.rewards[:, 3].any() and not wider.costs[:, :, 3].any()
    assert idle.problem(100).n_arms == 4
    check_world(cheap)
    check_world(idle)


def test_powers_leave_out_run_after_run() -> None:
    sizes = np.array([1.0, 10.0, 100.0])
    noise = np.random.default_rng(0).lognormal(0.0, 0.3, (50, 3))
    power, error = PowerLaw(sizes, sizes**0.5 * noise).fit()
    runs = np.polyfit(np.log(sizes), np.log((sizes**0.5 * noise).T), 1)[0]
    assert abs(power - 0.5) < 4.0 * error
    assert error == pytest.approx(runs.std() / math.sqrt(50), rel=0.3)
    assert PowerLaw(sizes, np.array([[1.0, 0.0, 1.0]])).finding().not_judged
    assert margin([1.0, 16.0]) == pytest.approx(0.0805, abs=1e-3)


def test_no_claim_that_matches_would_match_for_a_blind_player(evidence: Evidence) -> None:
    """A level that uniform play reaches, too, is not the algorithm's."""
    claims = [claim for claim in paper(NAME).claims(SMALL) if not claim.id.startswith("what-to-use")]
    assert blind_to(claims, evidence) == []


# ---- Theorems 1 and 2 ----


def test_the_lower_bounds_have_the_powers_of_theorem_2_and_so_does_uniform_play(verdicts: dict[str, Verdict]) -> None:
    """Known before: 0.65 to 0.69 in T, 0.27 to 0.33 in V, 0.46 to 0.51 in m, 0.92 to 1 in 1/b."""
    for part in ("i", "ii"):
        for kind in ("least", "blind"):
            assert 0.62 < ours(verdicts, f"theorem-2-{part}/T/{kind}") < 0.71
            assert 0.27 < ours(verdicts, f"theorem-2-{part}/V/{kind}") < 0.38
        assert 0.43 < ours(verdicts, f"theorem-2-{part}/m/least") < 0.55
        assert 0.27 < ours(verdicts, f"theorem-2-{part}/m/construction") < 0.39
        assert 0.9 < ours(verdicts, f"theorem-2-{part}/blind/share") <= 1.01
        assert abs(ours(verdicts, f"theorem-2-{part}/foresight")) < 0.4
    assert 0.9 < ours(verdicts, "theorem-2-ii/b/least") < 1.02


def test_uniform_play_loses_in_proportion_to_t_where_algorithm_1_does_not(verdicts: dict[str, Verdict]) -> None:
    for d in (1, 2):
        name = f"theorem-1/T/rotating/d={d}"
        assert all(0.3 < ours(verdicts, f"{name}/{form}") < 1.05 for form in FORMS)
        assert 0.9 < ours(verdicts, f"{name}/uniform") < 1.1


def test_the_bound_says_something_after_millions_of_rounds_only(verdicts: dict[str, Verdict]) -> None:
    """Known before: from about 10^7 on where nothing drifts, from 10^9 on for V = 1."""
    assert 3e6 < ours(verdicts, "theorem-1/speaks/stationary") < 2e7
    assert 1e8 < ours(verdicts, "theorem-1/speaks/V=1") < 3e9
    for claim in ("theorem-1/constants/paper", "theorem-1/constants/rotating", "corollary-1/constants/paper"):
        assert verdicts[claim].verdict == "not-judged"  # at this size
    claims = {claim.id: claim for claim in paper(NAME).claims("quick")}
    for claim in ("theorem-1/constants/paper", "corollary-1/constants/paper"):
        assert claims[claim].possible.high > 1.5  # there the bound could be broken


def test_the_repaired_proof_needs_the_outer_inequality_only(verdicts: dict[str, Verdict]) -> None:
    assert verdicts["theorem-1/repair"].verdict == "matches"
    means, budgets = proposition1.instance(23)
    assert chain(means, budgets).printed_middle.slack < -0.1  # the step of the printed proof fails here
    assert theorem1_constants.repaired(means, budgets) > -1e-9


# ---- Lemmas 2, 3 and 6 to 10 ----


def test_bounds_are_never_broken(verdicts: dict[str, Verdict]) -> None:
    for name in lemmas2_3.WORLDS:
        for lemma in ("lemma-2", "lemma-6/coverage"):
            assert verdicts[f"{lemma}/{name}"].verdict == "matches"
        for side in lemmas2_3.SIDES:
            assert 0.0 < ours(verdicts, f"lemma-3/{name}/{side}/whole") < 0.5
    assert 0.5 < ours(verdicts, "lemma-6/decay") < 1.0


def test_narrower_bounds_are_broken() -> None:
    """The count of Lemma 2 is not 0 by construction."""
    form = Algorithm1(scale=0.1, clip=1)
    assert lemmas2_3.broken_bounds(lemmas2_3.WORLDS["stationary"], form, 1_000, 2).ours > 0


@pytest.mark.parametrize("conf", ["paper", "appendix"])
def test_bounds_from_the_log_are_those_of_the_policy(conf: str) -> None:
    horizon, world, seed = 300, BudgetRotating(n_arms=3, resources=2, rate=1.0), 4
    means = world.means(horizon, seed)
    policy = Algorithm1(conf=conf).tuned(means)._replace(window=50, cost_window=70)
    upper, lower = lemmas2_3.bounds(policy, lemmas2_3.played_by(policy, world, means, seed), means)
    for rounds in (0, 1, 40, 150, 299):
        problem, (tape, till), rng = world.problem(horizon), world.draw(horizon, seed), key(seed, "coverage")
        state = policy.init(problem)
        play(policy, state, tape, till, rng, trace_for(problem, 0, rounds), rounds)
        advance(policy, state, rounds, np.uint64(stream(rng, rounds)))
        np.testing.assert_allclose(state.upper, upper[rounds], rtol=1e-12)
        np.testing.assert_allclose(state.lower.T, lower[rounds], rtol=1e-12, atol=1e-12)


def test_the_terms_of_lemma_3_add_up() -> None:
    world = lemmas2_3.WORLDS["rotating"]
    means, rates = world.means(400, 1), world.rates(400)
    policy = Algorithm1().tuned(means)
    log = lemmas2_3.played_by(policy, world, means, 1)
    found = lemmas2_3.sums(lemmas2_3.confidence(policy, log, means, rates), log, means)
    for terms in (*found["rewards"], *found["costs"]):
        np.testing.assert_allclose(terms["whole"], terms["luck"] + terms["learning"] - terms["drawing"], atol=1e-9)


def test_the_chance_that_lemma_6_fails_is_that_of_the_binomial() -> None:
    coin, samples, gamma = 0.3, 50, 1.0
    tosses = np.random.default_rng(0).random((20_000, samples)) < coin
    mean = tosses.mean(axis=1)
    rad = np.sqrt(gamma * mean / samples) + gamma / samples
    often = (np.abs(mean - coin) > rad).mean()
    assert appendix_d.chance_of_failure(coin, samples, gamma) == pytest.approx(often, abs=0.012)


# ---- W ----


def test_regret_is_linear_in_w_and_near_the_least_there_is(verdicts: dict[str, Verdict]) -> None:
    """Known before, with T = 20,000: 619 as printed and 512 re-solved where 500 must be lost."""
    assert verdicts["section-2.1/delta=0.1/inevitable"].claim.paper == pytest.approx(500.0)
    assert 495 <= ours(verdicts, "section-2.1/delta=0.1/inevitable") < 525
    assert 500 <= ours(verdicts, "section-2.1/delta=0.1/resolved") < 525
    assert 0.95 < ours(verdicts, "section-2.1/linear-in-T") < 1.05
    assert 0.2 < ours(verdicts, "theorem-2-iii/order") < 1.0
    assert 0.99 < ours(verdicts, "theorem-2-iii/least") < 1.1


@pytest.mark.parametrize("turn", [(0.2, 0.0), (0.0, 0.1), (0.1, 0.2), (0.0, 0.4)])
def test_the_least_regret_is_that_of_the_best_share_of_the_first_half(turn: tuple[float, float]) -> None:
    """Against the closed forms of LP(T): r T/2 + d1 T/2 + T d2 r / (4b) to the better, r T/2 to the worse."""
    world = KnapsackExample(kind="lower-bound-3", delta1=turn[0], delta2=turn[1])
    rounds, b, r = 1000, 0.25, 0.5
    plans = rounds / 2 * (r + turn[0]) + rounds * turn[1] * r / (4 * b), rounds * r / 2
    shares = np.linspace(0.0, 1.0, 2001)
    regrets = []
    for sign, plan in zip((1, -1), plans, strict=True):
        later = np.minimum(rounds / 2, b * rounds * (1.0 - shares) / (2 * b - sign * turn[1]))
        regrets.append(plan - (shares * rounds / 2 * r + later * (r + sign * turn[0])))
    assert theorem2_iii.least(world, rounds) == pytest.approx(np.maximum(*regrets).min(), rel=1e-2)


def test_constraints_that_do_not_bind(verdicts: dict[str, Verdict]) -> None:
    for name in ("appendix-c1/prices", "appendix-c1/even-spending", "appendix-c2/even-spending"):
        assert verdicts[name].verdict == "matches"
    assert all(ours(verdicts, f"appendix-c2/T/{form}") > 0.95 for form in FORMS)
    assert ours(verdicts, "appendix-c2/T/resolved") == pytest.approx(1.0, abs=0.05)
    assert abs(ours(verdicts, "appendix-c2/blind")) < 1e-3  # who always plays loses nothing there


# ---- measures ----


def test_measures_are_as_the_text_says(verdicts: dict[str, Verdict]) -> None:
    groups = ("section-2.2", "lemma-1", "proposition-1", "proposition-2", "proposition-3", "figure-1", "appendix-e1")
    judged = [each for name, each in verdicts.items() if name.split("/")[0] in groups]
    assert {each.verdict for each in judged} == {"matches"}
    assert ours(verdicts, "section-2.2/gap/cycles") == pytest.approx(1.0, abs=0.01)
    shares = [ours(verdicts, f"appendix-e1/delta={delta:g}") for delta in (0.05, 0.2, 0.5)]
    assert shares == pytest.approx([0.244, 0.227, 0.2], abs=1e-3)


# ---- errata ----


def test_errata_are_told_apart_from_remarks(verdicts: dict[str, Verdict]) -> None:
    """Printed statements fail, corrected ones hold; what the paper does not say is not counted."""
    errata = {name: each for name, each in verdicts.items() if name.startswith("erratum/")}
    assert len(errata) == 18
    for name, each in errata.items():
        assert each.verdict == ("known-deviation" if name.endswith("/printed") else "matches"), name
        assert each.claim.counted_as
    notes = {name: each for name, each in verdicts.items() if name.startswith(("remark/", "open/"))}
    assert {name.removeprefix("remark/") for name in notes if "remark/" in name} == {
        *("negative-costs", "negative-costs-cut", "prices", "stop", "epsilon", "drawn-w")
    }
    assert {name.removeprefix("open/") for name in notes if "open/" in name} == {"null-arm", "window", "first-rounds"}
    assert all(each.claim.counted_as is None for each in notes.values())


@pytest.mark.parametrize(
    ("claim", "known"),
    [
        ("erratum/proposition-1/printed", 1.4),
        ("erratum/claim-1/printed", 2.0 / 1.5),
        ("erratum/claim-2/printed", 0.7143),
        ("erratum/theorem-1-proof/printed", 1.0 / 6.0),
        ("erratum/appendix-c1-constant/printed", 1.0 + 8.0 * math.sqrt(2.0)),
        ("erratum/appendix-e1-optima/printed", 0.2),
        ("remark/negative-costs", 0.8 * 0.803571),
        ("remark/prices", 2.0),
    ],
)
def test_errata_have_the_numbers_known_before(verdicts: dict[str, Verdict], claim: str, known: float) -> None:
    assert ours(verdicts, claim) == pytest.approx(known, rel=2e-3)


# ---- points, and what to use ----


def test_points_have_the_powers_of_theorem_3_with_the_corrected_parameters_only(verdicts: dict[str, Verdict]) -> None:
    for name in ("theorem-3/Reg1/linear", "theorem-3/Reg1/quadratic", "appendix-e3/Reg1/noisy"):
        assert ours(verdicts, f"{name}/corrected") < 0.65
        assert ours(verdicts, f"{name}/printed") > 0.9
    assert 0.9 < ours(verdicts, "theorem-3/still/linear") < 1.1
    assert ours(verdicts, "theorem-3/Reg2/d") < 1.2
    assert ours(verdicts, "theorem-3/Reg1/W") < 1.0


def test_nature_that_reacts_defeats_who_never_moves_and_not_algorithm_2(verdicts: dict[str, Verdict]) -> None:
    for symbol in ("Reg1", "Reg2"):
        assert verdicts[f"theorem-3/adversary/{symbol}/corrected"].verdict == "matches"
        assert verdicts[f"theorem-3/adversary/{symbol}/still"].verdict == "matches"
    assert ours(verdicts, "theorem-3/adversary/Reg1/still") > 5.0


def test_the_recommended_policy_is_ahead_on_average(verdicts: dict[str, Verdict]) -> None:
    """Three runs: a mean share varies by about 0.02; those behind are 0.07 behind at least."""
    assert ours(verdicts, "what-to-use/share") > 0.82
    ahead = [each for name, each in verdicts.items() if name.startswith("what-to-use/ahead")]
    assert len(ahead) == 10 and all(each.finding.ours > 0.0 for each in ahead)


# ---- what people see ----


def test_every_figure_is_drawn(evidence: Evidence) -> None:
    drawings = paper(NAME).figures(evidence)
    assert [each.title.split(":")[0] for each in drawings] == [
        "Section 2.1 and Theorem 2 (iii)",
        "What even spending misses follows W, not V",
        "Figure 1",
        "Theorem 1",
        "Theorem 2 (i) and (ii)",
        "Theorem 1, with its constants",
        "Theorem 3",
        "Share of the best plan, by policy and world",
    ]
    for each in drawings:
        for sheet in (WIDE, NARROW) if each.title.startswith("Share") else (WIDE,):
            ET.fromstring(svg(each.draw(sheet), title=each.title))
    assert "power 2/3" in svg(drawings[3].draw(WIDE))


def test_figures_of_what_was_not_played_are_left_out() -> None:
    titles = [each.title for each in paper(NAME).figures(Evidence({}, dw.Results()))]
    assert titles == ["What even spending misses follows W, not V", "Figure 1: W1 and W1-min"]


def test_a_claim_is_asked_for_by_its_start() -> None:
    chosen = choose(paper(NAME).claims("quick"), "theorem-2-i/T/least")
    assert [claim.id for claim in chosen] == ["theorem-2-i/T/least"]
    assert all(name.startswith("theorem-2-i/T/at=") for name in chosen[0].studies)


def test_the_numbers_of_the_documentation_are_those_of_a_recorded_run() -> None:
    spec = importlib.util.spec_from_file_location("record_results", ROOT / "tools" / "record_results.py")
    assert spec and spec.loader
    tool = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(tool)
    folder = ROOT / "tests" / "papers" / "recorded"
    kept = json.loads((folder / f"{NAME}.json").read_text(encoding="utf-8"))
    assert {claim.id for claim in paper(NAME).claims("quick")} <= set(kept["claims"])
    part = tool.rendered((folder / f"{NAME}.md").read_text(encoding="utf-8"), kept)
    assert part.strip() in (ROOT / "docs" / "papers.md").read_text(encoding="utf-8")
