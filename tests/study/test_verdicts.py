"""The rule that turns findings into verdicts, counting, and playing on until claims are settled."""

import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import driftwise as dw
from driftwise.checks.claims import blind_to, can_fail
from driftwise.cli.terminal import show_verdicts
from driftwise.core.protocols import Policy
from driftwise.errors import ParameterError
from driftwise.papers import names, paper
from driftwise.study.claims import Claim, Evidence, Finding, Range, around, at_most, between, choose, needed
from driftwise.study.findings import lead, mean_of, not_judged, ratio_of, row_of, slope_of
from driftwise.study.printed import FIELD, PaperAnswer
from driftwise.study.settling import plan, settle
from driftwise.study.tallies import group_of, groups, headline, sentence_of
from driftwise.study.verdicts import VERDICTS, Expected, as_json, judge, read_expected, runs_to_settle, verdict_of

FIVE_PERCENT = around(100.0)
NOTHING = Evidence({}, dw.Results())
RECORDED = Expected(Range(118.0, 124.0), 50, "2026-11-17", "")


def claim(agrees: Range = FIVE_PERCENT, **more: object) -> Claim:
    fields = {"id": "table1/K=5/A", "says": "100", "studies": (), "measure": not_judged("?"), "paper": 100.0} | more
    return Claim(agrees=agrees, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("ours", "error", "expected", "verdict"),
    [
        (102.0, 1.0, None, "matches"),
        (102.0, 3.0, None, "inconclusive"),  # a wide interval is never agreement
        (100.0, 50.0, None, "inconclusive"),
        (121.0, 1.0, None, "differs"),
        (79.0, 1.0, None, "differs"),
        (121.0, 1.0, RECORDED._replace(reason="A slip in the table."), "known-deviation"),
        (121.0, 1.0, RECORDED, "unexplained"),
        (140.0, 1.0, RECORDED, "differs"),  # leaving what was recorded
        (79.0, 1.0, RECORDED._replace(reason="A slip."), "differs"),
        (102.0, 1.0, RECORDED, "matches"),
        (100.0, math.nan, None, "inconclusive"),  # a single run has no interval
    ],
)
def test_the_rule(ours: float, error: float, expected: Expected | None, verdict: str) -> None:
    assert verdict_of(claim(), Finding(ours, error, runs=1000), expected).verdict == verdict


def test_intervals_are_combined_in_quadrature() -> None:
    printed = claim(paper_error=3.0)
    half = verdict_of(printed, Finding(100.0, 4.0, runs=10**9)).interval.high - 100.0
    assert half == pytest.approx(stats.norm.ppf(0.95) * 5.0, rel=1e-6)
    few = verdict_of(claim(), Finding(100.0, 1.0, runs=4)).interval.high - 100.0
    assert few == pytest.approx(stats.t.ppf(0.95, 3))


def test_an_inconclusive_verdict_says_how_many_runs_would_settle_it() -> None:
    finding = Finding(104.0, 2.0, runs=100)
    many = runs_to_settle(claim(), finding)
    assert many is not None and many > 100
    spread = 2.0 * math.sqrt(100)  # one run's
    assert verdict_of(claim(), Finding(104.0, spread / math.sqrt(1.1 * many), runs=many)).verdict == "matches"
    assert "100 runs do not settle it" in verdict_of(claim(), finding).why
    hopeless = claim(paper_error=4.0)
    assert runs_to_settle(hopeless, finding) is None
    assert "no number of our runs" in verdict_of(hopeless, finding).why


def test_what_cannot_fail_is_not_judged() -> None:
    bound = claim(agrees=at_most(5000.0), possible=Range(0.0, 1000.0))
    assert verdict_of(bound, Finding(3.0)).verdict == "not-judged"
    assert verdict_of(bound._replace(possible=Range(0.0, 9000.0)), Finding(3.0)).verdict == "matches"
    (missing,) = judge([claim(measure=not_judged("The file is not here."))], NOTHING)
    assert (missing.verdict, missing.why) == ("not-judged", "The file is not here.")


@pytest.mark.parametrize("agrees", [around(100.0), between(-1.0, 1.0), at_most(0.0), at_most(3.0), Range(0.0, 0.0)])
def test_every_margin_can_be_left(agrees: Range) -> None:
    assert can_fail(claim(agrees=agrees))


def test_a_claim_that_agrees_with_everything_cannot_be_judged() -> None:
    assert verdict_of(claim(agrees=Range(-math.inf, math.inf)), Finding(1e9)).verdict == "not-judged"


# ---- findings ----


def test_ratios_and_slopes_carry_their_errors() -> None:
    draws = np.random.default_rng(7)
    shared = draws.normal(0.0, 5.0, (2000, 40))
    ours, theirs = 50.0 + shared + draws.normal(size=(2000, 40)), 100.0 + shared + draws.normal(size=(2000, 40))
    found = [ratio_of(one, other) for one, other in zip(ours, theirs, strict=True)]
    inside = np.mean([abs(each.ours - 0.5) <= stats.t.ppf(0.95, 39) * each.error for each in found])
    assert 0.87 < inside < 0.93
    samples = np.exp(draws.normal(0.0, 0.1, (2000, 3, 30))) * np.array([1.0, 10.0, 100.0])[:, None] ** 0.5
    slopes = [slope_of([1.0, 10.0, 100.0], list(sample)) for sample in samples]
    assert 0.86 < np.mean([abs(each.ours - 0.5) <= 1.7 * each.error for each in slopes]) < 0.95


def test_a_row_whose_cells_are_all_high_does_not_match() -> None:
    def cells(values: list[float]) -> list[Claim]:
        return [claim(id=f"table1/K={k}/A", measure=lambda _, v=v: Finding(v)) for k, v in enumerate(values)]

    def row(values: list[float]) -> str:
        return judge([row_of("table1/A", cells(values))], NOTHING)[0].verdict

    assert row([101.0] * 12) == row([99.0] * 12) == "differs"
    assert row([101.0, 99.0] * 6) == "matches"
    assert row([101.0] * 4) == "not-judged"


# ---- counting ----


def test_statements_are_counted_once_by_the_literal_and_the_best_reading() -> None:
    claims = [
        claim(id="t/a", measure=lambda _: Finding(120.0)),
        claim(id="t/a repaired", measure=lambda _: Finding(100.0), statement="t/a", reading="repaired"),
        claim(id="t/a fitted", measure=lambda _: Finding(100.0), statement="t/a", reading="fitted", fitted="on t/a"),
        claim(id="t/b", measure=lambda _: Finding(100.0)),
        claim(id="use/c", measure=lambda _: Finding(100.0), statement=None),
    ]
    verdicts = judge(claims, NOTHING)
    counts = headline(verdicts)
    assert (counts.literal.total, counts.literal.matches, counts.literal.differs, counts.best.matches) == (2, 1, 1, 2)
    assert sentence_of(counts) == (
        "Of 2 statements of the paper, 1 matches, and 1 differs. By the best reading of each, 2 match."
    )
    assert [row["counted"] for row in as_json(verdicts)] == [True, True, False, True, False]
    assert [each.name for each in groups(verdicts)] == ["t, a", "t, a repaired", "t, a fitted", "t, b", "use, c"]


def test_one_statement_is_counted_in_the_singular() -> None:
    (verdict,) = judge([claim(measure=lambda _: Finding(100.0))], NOTHING)
    assert sentence_of(headline([verdict])) == "Of 1 statement of the paper, 1 matches, and none differs."


def test_the_table_of_verdicts_fits_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every verdict in it, no head is cut."""
    monkeypatch.setenv("COLUMNS", "80")
    (one,) = judge([claim(id="sensitivity/alpha/K=5", measure=lambda _: Finding(100.0))], NOTHING)
    show_verdicts([one._replace(verdict=kind) for kind in VERDICTS])
    table = capsys.readouterr().out
    assert "…" not in table and max(map(len, table.splitlines())) <= 80
    assert all(part in table for kind in VERDICTS for part in kind.split("-"))


def test_groups_are_named_by_table_and_algorithm() -> None:
    assert group_of("table2/K=5/N=10000/SW-TS") == "table2, SW-TS"
    assert group_of("order/table2/K=5/N=10000") == "order, table2"


def test_an_answer_takes_its_numbers_from_the_verdicts() -> None:
    verdicts = judge([claim(measure=lambda _: Finding(101.5))], NOTHING)
    by_id = {each.id: each for each in verdicts}
    answer = PaperAnswer("{statements} numbers", "{table1/K=5/A} for {table1/K=5/A|paper}", "{differs}", "It is good.")
    assert answer.filled(by_id, headline(verdicts)) == ("1 numbers", "102 for 100", "0", "It is good.")


def test_an_answer_tells_nothing_of_what_was_not_played() -> None:
    verdicts = judge([claim(measure=lambda _: Finding(101.5))], NOTHING)
    by_id = {each.id: each for each in verdicts}
    answer = PaperAnswer(
        printed="It is best. It has {table1/K=5/A|paper} and {table9/A|paper}. {statements} numbers are judged.",
        comes_out="{matches} match. All tables do. We get {table1/K=5/A}. There it is {table1/K=5/A}, here {table9/A}.",
        does_not="{differs} differ. The rest is wrong.",
        use="It, with {table9/A}. Or this.",
    )
    part = answer.filled(by_id, headline(verdicts), whole=False)
    assert part == ("It is best.", "We get 102.", "", "")
    whole = answer.filled(by_id, headline(verdicts))
    assert whole.comes_out == "1 match. All tables do. We get 102." and whole.use == "Or this."


@pytest.mark.parametrize("name", names())
def test_all_numbers_of_an_answer_are_claims(name: str) -> None:
    """At every scale: else a sentence would be missing from the page of a whole reproduction."""
    each = paper(name)
    for scale in ("quick", "full"):
        known = {one.id for one in each.claims(scale)} | {"statements", *VERDICTS}
        found = {field.partition("|")[0] for text in each.answer or () for field in FIELD.findall(text)}
        assert found <= known, (name, scale, found - known)


def test_a_prefix_chooses_whole_parts_of_an_id() -> None:
    claims = [claim(id=name) for name in ("table1/K=5/A", "table1/K=5/B", "table10/K=5/A")]
    assert [each.id for each in choose(claims, "table1")] == ["table1/K=5/A", "table1/K=5/B"]
    assert [each.id for each in choose(claims, "table1/K=5/B")] == ["table1/K=5/B"]
    assert len(choose(claims, None)) == 3
    with pytest.raises(ParameterError, match=r"no claim 'table2': ids start with table1, table10, e\.g\. table1/K=5/A"):
        choose(claims, "table2")


def test_only_the_studies_a_claim_rests_on_are_played() -> None:
    every = {name: object() for name in ("one", "two", "three")}
    assert list(needed([claim(studies=("one",))], every)) == ["one"]  # type: ignore[arg-type]


def test_recorded_deviations_are_read_from_a_table(tmp_path: Path) -> None:
    path = tmp_path / "expected.csv"
    assert read_expected(path) == {}
    path.write_text('claim,low,high,runs,recorded,reason\na/b,1,2.5,30,2026-11-17,"It, too."\n', encoding="utf-8")
    assert read_expected(path) == {"a/b": Expected(Range(1.0, 2.5), 30, "2026-11-17", "It, too.")}
    path.write_text("claim,low\na/b,1\n", encoding="utf-8")
    with pytest.raises(ParameterError, match="not a table of expected deviations"):
        read_expected(path)


# ---- with runs ----


def study(runs: int) -> dw.Study:
    policies: dict[str, Policy] = {"ts": dw.Thompson(), "uniform": dw.Uniform()}
    return dw.Study(
        name="s", worlds={"w": dw.worlds.ACMAB(n_arms=3, phases=2)}, policies=policies, horizon=300, runs=runs, seed=3
    )


def claims_of_runs(border: float) -> list[Claim]:
    def measure(evidence: Evidence) -> Finding:
        return lead(evidence, "s", "ts", "uniform")

    return [Claim("order/s", "ts loses less", ("s",), measure, at_most(border), about="ts")]


def test_uniform_play_in_place_of_a_policy_turns_its_claims() -> None:
    few = study(20)
    results = dw.run(few, dw.Results())
    evidence = Evidence({"s": few}, results)
    assert judge(claims_of_runs(0.95), evidence)[0].verdict == "matches"
    assert blind_to(claims_of_runs(0.95), evidence) == []
    assert blind_to(claims_of_runs(1.5), evidence) == ["order/s"]  # a claim that uniform play satisfies too
    with pytest.raises(ParameterError, match="is about 'bob', which none of its studies plays"):
        blind_to([claims_of_runs(0.95)[0]._replace(about="bob")], evidence)


def test_runs_are_added_until_a_claim_is_settled() -> None:
    few = study(3)
    results = dw.run(few, dw.Results())
    truth = judge(claims_of_runs(1.0), Evidence({"s": few}, results))[0].finding
    claims = claims_of_runs(truth.ours + truth.error)  # too near for three runs
    first = judge(claims, Evidence({"s": few}, results))
    assert first[0].verdict == "inconclusive"
    more = plan(first, Evidence({"s": few}, results))
    assert more.claims == 1 and more.studies["s"].runs > 3 and more.seconds > 0.0

    def play(studies: object) -> None:
        for each in studies:  # type: ignore[attr-defined]
            dw.run(each, results)

    def judged(evidence: Evidence) -> list[object]:
        return judge(claims, evidence)  # type: ignore[return-value]

    evidence, verdicts = settle(judged, {"s": few}, results, play, hours=1.0, threads=1)  # type: ignore[arg-type]
    assert verdicts[0].verdict in ("matches", "differs") and evidence.studies["s"].runs > 3
    with pytest.raises(ParameterError, match=r"settling 1 claim would take about .* choose fewer with --claim"):
        settle(judged, {"s": few}, results, play, hours=1e-12, threads=1)  # type: ignore[arg-type]


def test_a_mean_over_runs_has_its_standard_error() -> None:
    found = mean_of([1.0, 2.0, 3.0])
    assert (found.ours, found.runs) == (2.0, 3) and found.error == pytest.approx(1.0 / math.sqrt(3.0))
    assert math.isnan(mean_of([1.0]).error)
