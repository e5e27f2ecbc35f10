"""What notebooks and terminals show: HTML that is safe and needs nothing but itself, and short text."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pandas as pd
import polars as pl
import pytest

import driftwise as dw
from driftwise.display.svg import PlotLine, line_plot
from driftwise.errors import ParameterError
from tests.fixtures.clicks import clicks_csv

EVIL = "<script>alert('x')</script> & co"
LIBRARIES = {"pandas": pd.DataFrame, "polars": pl.DataFrame}


@pytest.fixture(scope="module")
def study() -> dw.Study:
    return dw.Study(
        name=EVIL,
        worlds={EVIL: dw.worlds.Abrupt(n_arms=4)},
        policies={EVIL: dw.SlidingThompson(window=100), "guess": dw.Uniform()},
        horizon=300,
        runs=3,
    )


@pytest.fixture(scope="module")
def sweep(study: dw.Study) -> dw.Study:
    return study.sweep(window=[20, 100, 300])


@pytest.fixture(scope="module")
def results(sweep: dw.Study) -> dw.Results:
    return dw.run(sweep)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> dw.Log:
    path = clicks_csv(tmp_path_factory.mktemp("log") / "clicks.csv", rows=3000)
    path.write_text(path.read_text().replace("photo", '"<b>photo</b>"'))
    return dw.Log.read(path)


def agent() -> dw.Agent:
    made = dw.Agent(dw.SlidingThompson(window=100), [EVIL, "blue"], seed=1)
    made.learn(made.decide(), 1.0)
    return made


def check(shown: object) -> str:
    """HTML that is well formed, escapes what users wrote, and loads nothing; text of few lines."""
    html: str = shown._repr_html_()  # type: ignore[attr-defined]
    ElementTree.fromstring(html.replace("&nbsp;", " "))
    assert "<script" not in html and "<b>photo" not in html
    assert "src=" not in html and "href=" not in html and "url(" not in html
    assert len(html) < 100_000
    assert len(repr(shown).splitlines()) <= 20 and len(repr(shown)) < 2000
    return html


def test_agents_and_decisions() -> None:
    card = check(agent())
    assert "estimate" in card and "interval" in card and "95" not in card  # bounds of the policy, made to choose by
    assert "propensity" in check(agent().decide())
    features = dw.Agent(dw.SlidingLinUCB(window=100), dw.Contextual(n_features=2))
    check(features)
    assert "features" in check(features.decide(actions=[[1.0, 0.2], [0.0, 0.9]]))


def test_many_arms_stay_few_lines() -> None:
    assert "and 88 more arms" in check(dw.Agent(dw.SlidingThompson(window=100), 100))


def test_studies_and_results(study: dw.Study, sweep: dw.Study, results: dw.Results) -> None:
    for shown in (study, sweep, results, results.summary(sweep), dw.Results()):
        check(shown)
    for plot in (results.plot(sweep), results.summary(sweep).plot(EVIL)):
        ElementTree.fromstring(plot.svg)
    assert "window" in results.summary(sweep).plot().svg


def test_long_tables_of_a_world_are_shown_by_their_size(log: dw.Log) -> None:
    world = log.world(n_bins=50)
    study = dw.Study(name="log", worlds={"log": world}, policies={"p": dw.Uniform()}, horizon=100, runs=1)
    shown = check(study)
    assert "means=50 × 3 values" in shown
    assert max(map(len, re.findall(">([^<]*)<", shown))) < 300


def test_logs_diagnoses_evaluations_and_recommendations(log: dw.Log) -> None:
    check(log)
    diagnosis = log.diagnose()
    assert "<svg" in check(diagnosis) and "Run" in check(dw.recommend(["a", "b"]))
    assert len(repr(diagnosis).splitlines()) == 1
    check(log.evaluate({"sliding": dw.SlidingThompson(window=100)}))


@pytest.mark.parametrize("library", sorted(LIBRARIES))
def test_every_table_leaves_as_a_frame(library: str, log: dw.Log, sweep: dw.Study, results: dw.Results) -> None:
    summary = results.summary(sweep).frame(library)
    tables = [results.frame(library), summary, log.frame(library), agent().frame(library)]
    tables += [log.diagnose().frame(library), log.evaluate({"p": dw.SlidingThompson(window=100)}).frame(library)]
    assert {type(table) for table in tables} == {LIBRARIES[library]}
    assert [*summary["window"]][:3] == [20, 100, 300]
    again = dw.Log.from_frame(log.frame(library))
    assert (again.rewards == log.rewards).all() and again.arms == log.arms


def test_a_plot_is_saved_as_svg_only(tmp_path: Path) -> None:
    plot = line_plot([PlotLine("a", [1, 2], [0.0, 1.0])], title="t", x_title="x")
    assert plot.save(tmp_path / "p.svg").read_text() == plot.svg
    with pytest.raises(ParameterError, match=r"'p.png' does not end in .svg"):
        plot.save(tmp_path / "p.png")


def test_a_sweep_is_a_study_of_every_combination(study: dw.Study, sweep: dw.Study, results: dw.Results) -> None:
    assert list(sweep.policies)[-1] == "guess" and len(sweep.policies) == 4
    two = study.sweep(window=range(10, 30, 10), prior_a=[1.0, 2.0])
    assert [dict(two.parameters_of(label)) for label in two.policies][1] == {"window": 10, "prior_a": 2.0}
    alone = dw.run(study)  # a label makes no difference
    same = sweep.cells_of(EVIL, f"{EVIL} window=100")
    assert (alone.column(study.cells_of(EVIL, EVIL), "regret") == results.column(same, "regret")).all()


def test_bad_input_is_one_sentence(study: dw.Study, results: dw.Results, sweep: dw.Study, log: dw.Log) -> None:
    cases = [
        (lambda: study.sweep(), "nothing is swept"),
        (lambda: study.sweep(windw=[1]), "no policy of the study has a parameter 'windw': they have window"),
        (lambda: study.sweep(window=5), "window=5 is not a list of values"),  # type: ignore[arg-type]
        (lambda: study.sweep(window=[]), "window has no values to try"),
        (lambda: study.sweep(window=[0]), "window=0 is not a whole number"),
        (lambda: results.plot(sweep, "elsewhere"), "world='elsewhere' is not in the study"),
        (lambda: results.plot(sweep, outcome="joy"), "outcome='joy' has no course over time"),
        (lambda: results.frame("excel"), "library='excel' is not one of pandas, polars, arrow"),
        (lambda: log.frame("excel"), "library='excel' is not one of pandas, polars, arrow"),
        (lambda: dw.run(study, progress="loud"), "progress='loud' is not True, False, None or a Progress"),  # type: ignore[arg-type]
    ]
    for call, sentence in cases:
        with pytest.raises(ParameterError, match=sentence):
            call()  # type: ignore[no-untyped-call]


def test_letters_of_a_plot_are_readable_on_a_phone() -> None:
    """A phone is 400 pixels wide, of which a page has 368: a wider plot shrinks, and its letters with it."""
    lines = [PlotLine(name, [0, 1], [0.0, 1.0]) for name in ("all rounds", "prequential pacing")]
    svg = line_plot(lines, title="t", x_title="x").svg
    width, size = (float(each) for each in re.findall(r'viewBox="0 0 (\d+) .* font-size="(\d+)"', svg)[0])
    assert size * min(1.0, 368 / width) >= 9.0
