"""Hedging the Drift, section 9, at reduced size: the studies, every kind of claim, the bound and the figures.

Sections 4 to 8 are in `test_hedging_theory.py`.

Measured values are held against numbers known before, from another implementation of the same experiments: means over
20 to 50 runs. Here runs are few, and tolerances are about three standard errors of what is played or more. Were the
seeds renewed, some assertion would fail with probability below 0.1, half of that because UCB earns less than nothing on
one instance in six and need not do so on any of sixteen. Seeds are fixed.
"""

import json
import math
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import driftwise as dw
from driftwise.core.types import Decision, Outcome, Problem
from driftwise.errors import ParameterError
from driftwise.families import SinePair
from driftwise.families.contextual.regret_bounds import sliding_lin_ucb_bound
from driftwise.papers import only_world, paper
from driftwise.papers.hedging_the_drift import (
    advice,
    auto_loans,
    generalised,
    gradual,
    lower_bound,
    piecewise,
    played_on,
    rates,
    remark2,
    wrong_variation,
)
from driftwise.papers.hedging_the_drift.growth import Growth, growth
from driftwise.papers.hedging_the_drift.piecewise import Size
from driftwise.report.style import NARROW, WIDE, svg
from driftwise.study.claims import Claim, Evidence, choose, needed
from driftwise.study.verdicts import Verdict, judge
from tests.fixtures.verbs import update

NAME, SMALL = "hedging-the-drift", "small"
FIGURES = ("figure2a", "figure2b", "figure3", "figure4", "figure5", "theorem3/bound")
ONE = dict(list(auto_loans.STAND_IN.worlds.items())[:1])
REDUCED = played_on(auto_loans.STAND_IN._replace(worlds=ONE))
REDUCED_DATA = auto_loans.STAND_IN._replace(worlds=ONE, real=True)


def section_9() -> list[Claim]:
    """The claims on the figures."""
    return [claim for figure in FIGURES for claim in choose(REDUCED.claims(SMALL), figure)]


@pytest.fixture(scope="module")
def evidence() -> Iterator[Evidence]:
    """All of section 9 at a scale of its own: three horizons, few instances, few runs, one stand-in."""
    patch = pytest.MonkeyPatch()
    patch.setitem(gradual.HORIZONS, SMALL, (30_000, 60_000, 120_000))
    patch.setitem(gradual.RUNS, SMALL, 3)
    patch.setitem(piecewise.SIZES["figure3"], SMALL, Size(2, 16, 1))
    patch.setitem(piecewise.SIZES["figure4"], SMALL, Size(1, 2, 1))
    patch.setitem(auto_loans.RUNS, SMALL, 1)
    for subject in (lower_bound.RUNS, rates.RUNS, generalised.RUNS, wrong_variation.INSTANCES):
        patch.setitem(subject, SMALL, 2)
    for subject in (advice.INSTANCES, remark2.INSTANCES):
        patch.setitem(subject, SMALL, 2)
    studies = needed(section_9(), REDUCED.studies(SMALL, None))
    results = dw.Results()
    for study in studies.values():
        dw.run(study, results)
    yield Evidence(studies, results)
    patch.undo()


@pytest.fixture(scope="module")
def verdicts(evidence: Evidence) -> dict[str, Verdict]:
    return {each.id: each for each in judge(section_9(), evidence)}


def ours(verdicts: dict[str, Verdict], claim: str) -> float:
    return verdicts[claim].finding.ours


# ---- the frame ----


def test_every_claim_has_a_name_of_its_own_and_rests_on_studies_that_exist() -> None:
    chosen = paper(NAME)
    for scale in ("quick", "full"):
        claims, studies = chosen.claims(scale), set(chosen.studies(scale, None))
        assert len({claim.id for claim in claims}) == len(claims)
        assert {name for claim in claims for name in claim.studies} == studies
        assert all(claim.says for claim in claims)
    assert {claim.id for claim in chosen.claims("quick")} == {claim.id for claim in chosen.claims("full")}


def test_full_is_the_papers_size() -> None:
    studies = paper(NAME).studies("full", None)
    horizons = {studies[name].horizon for name in studies if name.startswith("figure2")}
    assert horizons == {30_000 * step for step in range(1, 9)}
    assert studies["figure2b/printed/T=240000"].runs == 20
    for figure in ("figure3", "figure4"):
        assert (studies[f"{figure}/instance=0"].horizon, studies[f"{figure}/instance=0"].runs) == (100_000, 50)
        assert len([name for name in studies if name.startswith(f"{figure}/instance=")]) > 20
    assert studies["figure5/stand-in=1"].horizon == 50_000


def test_studies_are_made_when_they_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    names = []
    monkeypatch.setattr(auto_loans, "_study", lambda name, *_: names.append(name))
    studies = paper(NAME).studies("full", None)
    assert "figure5/stand-in=1" in studies and len(studies) > 50 and names == []
    _ = studies["figure5/stand-in=2"]
    assert names == ["figure5/stand-in=2"]


def test_windows_are_the_papers() -> None:
    studies = paper(NAME).studies("quick", None)

    def parameter(study: str, policy: str, name: str) -> float:
        return float(studies[study].policies[policy]._asdict()[name])

    known = partial(parameter, "figure2a/printed/T=30000")
    assert known("SW-UCB-thm3", "window") == math.floor(60_000 ** (2 / 3))
    assert known("SW-UCB-thm6", "window") == math.floor(2 ** (1 / 3) * 30_000 ** (2 / 3))
    assert known("EXP3.S", "gamma") == pytest.approx((4 * math.log(60_000) / ((math.e - 1) ** 2 * 30_000)) ** (1 / 3))
    assert parameter("figure3/instance=0", "SW-UCB-obl", "window") == 6731
    assert parameter("figure4/instance=0", "SW-UCB-obl", "window") == 10209
    assert 750 < parameter("figure4/instance=0", "SW-UCB-opt", "window") < 900
    swing = only_world(studies["figure2b/thirds/T=60000"], SinePair)
    assert swing.variation == pytest.approx(60_000 ** (1 / 3)) and swing.thirds == 1
    literal = [parameter("figure4/instance=3", f"BOB-{reading}", "literal") for reading in ("windowed", "literal")]
    assert literal == [0, 1]


# ---- Figure 2 ----


def test_sw_ucb_has_a_fifth_of_the_regret_of_exp3s(verdicts: dict[str, Verdict]) -> None:
    """Known before: 19.4% as printed; 15.2, 12.9 and 38.7% in other readings."""
    assert verdicts["figure2a/ratio"].verdict == "matches"
    before = {"SW-UCB-exact": 0.152, "SW-UCB-thm3": 0.129, "SW-UCB-ridge=10": 0.387}
    for name, ratio in before.items():
        other = verdicts[f"figure2a/readings/printed/{name}"]
        assert other.finding.ours == pytest.approx(ratio, rel=0.15) and other.verdict != "matches"
    assert {verdicts[f"figure2a/wins/{phase}"].verdict for phase in gradual.PHASES} == {"matches"}


@pytest.mark.parametrize(
    ("claim", "low", "high"),
    [
        ("figure2a/slope/printed/SW-UCB", 0.43, 0.58),
        ("figure2a/slope/thirds/SW-UCB", 0.40, 0.57),
        ("figure2a/slope/printed/EXP3.S", 0.50, 0.65),
        ("figure2a/slope/thirds/EXP3.S", 0.57, 0.70),
        ("figure2b/slope/printed/SW-UCB-thm3", 0.98, 1.08),
        ("figure2b/slope/printed/SW-UCB-thm6", 0.86, 1.00),
        ("figure2b/slope/thirds/SW-UCB-thm6", 0.78, 0.95),
        ("figure2b/slope/printed/BOB-literal", 0.84, 0.98),
        ("figure2b/slope/printed/BOB-literal-armed", 0.60, 0.72),
        ("figure2b/slope/thirds/BOB-literal", 0.63, 0.75),
        ("figure2b/slope/thirds/BOB-literal-armed", 0.58, 0.70),
    ],
)
def test_slopes_are_those_known_before(verdicts: dict[str, Verdict], claim: str, low: float, high: float) -> None:
    assert low < ours(verdicts, claim) < high


def test_both_readings_of_bob_stand_side_by_side(verdicts: dict[str, Verdict]) -> None:
    """Known before, against Theorem 3's window as printed: 0.37 windowed, 0.09 literal. Theorem 6's beats windowed."""
    assert 0.25 < ours(verdicts, "figure2b/windowed/printed/SW-UCB-thm3") < 0.5
    assert 0.07 < ours(verdicts, "figure2b/literal/printed/SW-UCB-thm3") < 0.11
    assert verdicts["figure2b/literal/printed/SW-UCB-thm3"].verdict == "matches"
    lost = verdicts["figure2b/windowed/printed/SW-UCB-thm6"]
    assert lost.verdict == "differs" and 2.2 < lost.finding.ours < 4.0
    assert verdicts["figure2b/literal/thirds/SW-UCB-thm6"].verdict == "matches"


def test_mean_regrets_are_those_known_before(evidence: Evidence) -> None:
    """Three runs against the mean of twenty; the standard deviation of a run is below 6% of the mean for all these."""
    known = {"SW-UCB": (160, 345), "SW-UCB-thm3": (113, 224), "EXP3.S": (817, 1761), "EXP3.S-exact": (899, 2093)}
    unknown = {"SW-UCB-thm3": (5069, 21276), "SW-UCB-thm6": (617, 2228), "BOB-literal": (516, 1911)}
    for figure, before in (("figure2a", known), ("figure2b", unknown)):
        names = [f"{figure}/printed/T={horizon}" for horizon in (30_000, 120_000)]
        for policy, means in before.items():
            np.testing.assert_allclose(growth(evidence, names, policy).means, means, rtol=0.12, err_msg=policy)


def test_a_slope_and_a_ratio_by_hand() -> None:
    t = np.array([1e3, 1e4, 1e5])
    one, other = Growth(t, np.array([t**0.5, t**0.5])), Growth(t, np.array([4 * t**0.5, 4 * t**0.5]))
    assert one.slope.ours == pytest.approx(0.5) and one.slope.error == pytest.approx(0.0, abs=1e-12)
    assert one.over(other).ours == pytest.approx(0.25) and one.over(other).error == pytest.approx(0.0, abs=1e-12)
    noisy = Growth(t, np.array([t**0.5, 3 * t**0.5]))
    assert noisy.slope.ours == pytest.approx(0.5) and noisy.slope.error > 0.0 and noisy.over(other).runs == 2


# ---- Figures 3 and 4 ----


def test_the_ranking_of_figure_3_holds_on_average(evidence: Evidence, verdicts: dict[str, Verdict]) -> None:
    """Known before, 40 instances: 963, 7842, 9629, 741, 11661 and 22166; between instances 12, 10, 15, 10, 33, 49%."""
    names = piecewise.instances("figure3", SMALL)
    before = {"SW-UCB-opt": 963, "EXP3.S": 7842, "BOB-windowed": 9629, "BOB-literal": 741, "SW-UCB-obl": 11661}
    for policy, mean in before.items():
        assert piecewise.regrets(evidence, names, policy).mean() == pytest.approx(mean, rel=0.25), policy
    pairs = ("SW-UCB-opt/EXP3.S", "BOB-windowed/UCB", "BOB-literal/SW-UCB-obl", "BOB-literal/UCB")
    for claim in (*(f"order/{pair}" for pair in pairs), "adapts/SW-UCB-opt", "adapts/EXP3.S", "adapts/BOB-windowed"):
        assert verdicts[f"figure3/instances/{claim}"].verdict == "matches", claim
    assert ours(verdicts, "figure3/instances/order/BOB-windowed/SW-UCB-obl") < 1.0
    assert ours(verdicts, "figure3/instances/comparable/windowed") == pytest.approx(0.92, abs=0.08)
    assert ours(verdicts, "figure3/instances/UCB-negative") < 0.0
    assert verdicts["figure3/instances/armed-form"].verdict == "differs"


def test_the_ranking_of_figure_4_holds(evidence: Evidence, verdicts: dict[str, Verdict]) -> None:
    """Known before: 2689 to 3146, 15873 to 16217, 3306 to 3579, 36062 and 51989."""
    for pair in ("SW-UCB-opt/BOB-windowed", "BOB-windowed/SW-UCB-obl", "BOB-literal/SW-UCB-obl", "SW-UCB-obl/UCB"):
        assert ours(verdicts, f"figure4/order/{pair}") < 1.0 and ours(verdicts, f"figure4/instances/order/{pair}") < 1.0
    assert ours(verdicts, "figure4/UCB-positive") > 0.0
    names = piecewise.instances("figure4", SMALL)
    before = {"SW-UCB-opt": 3146, "BOB-windowed": 16000, "BOB-literal": 3579, "SW-UCB-obl": 36062, "UCB": 51989}
    for policy, mean in before.items():
        assert piecewise.regrets(evidence, names, policy).mean() == pytest.approx(mean, rel=0.3), policy


# ---- Figure 5 ----


def test_figure_5_is_not_judged_without_the_data(verdicts: dict[str, Verdict]) -> None:
    on_loans = [each for name, each in verdicts.items() if name.startswith("figure5")]
    assert len(on_loans) == 20 and {each.verdict for each in on_loans} == {"not-judged"}
    assert all("No data" in each.why for each in on_loans)
    assert ours(verdicts, "figure5/literal/saves/company") > 0.32 > ours(verdicts, "figure5/windowed/saves/company")


def test_figure_5_is_judged_with_data() -> None:
    """As if the stand-ins were the data: then it is judged, and can fail."""
    claims = choose(played_on(REDUCED_DATA).claims("quick"), "figure5/variation")
    (variation, drift) = judge(claims, Evidence({}, dw.Results()))
    assert (variation.verdict, drift.verdict) in {("matches", "differs"), ("differs", "differs")}
    assert not variation.claim.fitted and drift.finding.ours < 1.5


# ---- theory ----


def test_the_bound_is_judged_only_where_it_says_something(verdicts: dict[str, Verdict]) -> None:
    """At T = 240,000 and a third of the phase (60) is below the regret of the worst arm; here T is at most 120,000."""
    for figure in ("figure2b", "figure3"):
        verdict = verdicts[f"theorem3/bound/{figure}"]
        assert verdict.verdict == "not-judged" and "times the regret of the worst arm" in verdict.why


def test_the_bound_is_equation_60() -> None:
    problem = Problem(4, noise=0.5, horizon=1000, dim=2, family="contextual")
    policy = dw.SlidingLinUCB(window=100, ridge=2.0, norm=3.0, reach=1.5)
    beta = 0.5 * math.sqrt(2 * math.log((1 + 100 * 2.25 / 2) * 1000)) + math.sqrt(2) * 3
    uncertain = 2 * beta * 1000 * math.sqrt(2 * 2 / 100 * math.log((2 * 2 + 100 * 2.25) / (2 * 2)))
    assert sliding_lin_ucb_bound(policy, problem, 7.0) == pytest.approx(2 * 1.5 * 100 * 7.0 + uncertain + 2.0)
    timid = dw.SlidingLinUCB(window=100, ridge=1e-4)._replace(confidence=0.9)
    share = 100 / 1e-4
    least = 2 * 1000 * math.sqrt(2 * 2 / 100 * math.log1p(share / 2)) + 2 * 1000 * 0.9
    quiet = problem._replace(noise=1e-3)
    assert sliding_lin_ucb_bound(timid, quiet, 0.0) == pytest.approx(least), "a radius below 1 counts as 1"
    with pytest.raises(ParameterError, match=r"scale=0\.5 is below 1"):
        sliding_lin_ucb_bound(policy._replace(scale=0.5), problem, 1.0)


def test_the_best_window_is_near_where_the_bound_is_least() -> None:
    """Only near: equation (90) takes T for w inside the logarithms."""
    problem = Problem(2, noise=0.1, horizon=100_000, dim=2, family="contextual")

    def bound(window: int) -> float:
        return sliding_lin_ucb_bound(dw.SlidingLinUCB(window=window), problem, 42.98)

    best = bound(int(dw.SlidingLinUCB.optimal(100_000, 2, 42.98, 0.1).window))
    assert best < bound(100) and best < bound(1_100)
    assert best < 1.05 * min(bound(window) for window in range(100, 1_100, 10))


# ---- EXP3.S on a declared range ----


@pytest.mark.parametrize(("low", "high", "gain"), [(0.0, 1.0, -0.3), (-1.0, 1.0, 0.35), (-2.0, 2.0, 0.425)])
def test_exp3s_takes_rewards_by_a_declared_range(low: float, high: float, gain: float) -> None:
    policy, unbounded = dw.EXP3S(gamma=0.5, alpha=0.1, low=low, high=high), Problem(2, -np.inf, np.inf, 0.1)
    state = policy.init(unbounded)
    update(policy, state, Decision(0, 0, 0.5, (), np.uint64(1)), Outcome(-0.3), 0)
    shared = math.e * 0.1
    ratio = (math.exp(0.5 * gain / 0.5 / 2) + shared) / (1.0 + shared)
    assert state.weights[0] / state.weights[1] == pytest.approx(ratio)


def test_exp3s_asks_for_a_range_and_survives_a_reward_far_outside_it() -> None:
    unbounded = Problem(2, -np.inf, np.inf, 0.1)
    with pytest.raises(ParameterError, match="declare a range"):
        dw.EXP3S(gamma=0.5, alpha=0.1).init(unbounded)
    with pytest.raises(ParameterError, match=r"the reward range \[1, -1\] is empty"):
        dw.EXP3S(gamma=0.5, alpha=0.1, low=1.0, high=-1.0).init(unbounded)
    policy = dw.EXP3S(gamma=0.5, alpha=0.1, low=0.0, high=1.0)
    state = policy.init(unbounded)
    for reward in (1e9, -1e9, 1e9):
        update(policy, state, Decision(0, 0, 0.5, (), np.uint64(1)), Outcome(reward), 0)
        assert np.isfinite(state.weights).all() and state.weights.sum() == pytest.approx(2.0)


# ---- what people see ----


def test_every_figure_is_drawn(evidence: Evidence) -> None:
    drawings = REDUCED.figures(evidence)
    titles = [each.title.split(":")[0] for each in drawings]
    assert titles == [
        "Figure 1",
        "Figure 2(a)",
        "Figure 2(b)",
        "Figure 3",
        "Figure 3",
        "Figure 4",
        "Figure 4",
        "Figure 5",
    ]
    for each in drawings:
        for sheet in (WIDE, NARROW) if each.title.startswith("Figure 2(a)") else (WIDE,):
            ET.fromstring(svg(each.draw(sheet), title=each.title))
    assert all(text in svg(drawings[1].draw(WIDE)) for text in ("EXP3.S", "T^2/3", "120k"))
    assert "synthetic stand-ins, not the lending data" in drawings[-1].caption
    assert "company" in svg(drawings[-1].draw(WIDE))


def test_figures_of_what_was_not_played_are_left_out(evidence: Evidence) -> None:
    some = {name: study for name, study in evidence.studies.items() if name.startswith("figure4/instance=0")}
    assert [each.title for each in REDUCED.figures(Evidence(some, evidence.results))] == [
        "Figure 1: the blocks of BOB",
        "Figure 4: linear actions, d = 5",
    ]


@pytest.mark.system
def test_the_command_says_what_was_played(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "driftwise.cli", "reproduce", NAME, "--claim", "erratum", "--json"]
    done = subprocess.run([*command, "--out", str(tmp_path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert (document["paper"], document["data"], len(document["claims"])) == (NAME, "stand-in", 10)
    assert "Figure 5 is not judged without the lending data" in (tmp_path / "report.html").read_text(encoding="utf-8")
