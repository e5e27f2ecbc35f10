"""The report: what it says is what the results hold, whatever the labels, and it needs nothing but itself."""

import html
import re
import runpy
import sys
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import driftwise as dw
from driftwise.core.protocols import Policy
from driftwise.core.seeding import key
from driftwise.errors import ParameterError
from driftwise.measure.summary import estimate, paired_difference
from driftwise.measure.variation import variation
from driftwise.report import style as canvas
from driftwise.report import templates as page_module
from driftwise.report.formatting import brief, spread
from driftwise.study import report
from driftwise.study.plots import drift as drifts
from driftwise.study.plots import study_figure as figures
from driftwise.study.results import Results
from driftwise.study.run import run
from driftwise.study.study import Study

NASTY = '<b>mean</b> & "$x$"'
POLICIES: dict[str, Policy] = {
    "uniform": dw.Uniform(),
    "window": dw.SlidingUCB(window=321, xi=0.77),
    NASTY: dw.Thompson(),
}
WORLDS = {"abrupt": dw.worlds.Abrupt(n_arms=4, phases=3), "seasons": dw.worlds.Sinusoidal(n_arms=3, amplitude=0.31)}


@pytest.fixture(scope="module")
def study() -> Study:
    return Study(name="weather", worlds=WORLDS, policies=POLICIES, horizon=2000, runs=3, seed=11)


@pytest.fixture(scope="module")
def results(study: Study) -> Results:
    return run(study)


@pytest.fixture(scope="module")
def page(study: Study, results: Results, tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("out") / "new" / "report.html"
    assert report.write_report(study, results, path, title="Rain <or> shine") == path
    return path.read_text(encoding="utf-8")


def small(worlds: dict[str, Any], policies: dict[str, Any], runs: int, horizon: int = 400) -> Study:
    return Study(name="small", worlds=worlds, policies=policies, horizon=horizon, runs=runs)


def drawings(page: str) -> list[ET.Element]:
    return [ET.fromstring(text) for text in re.findall(r"<svg.*?</svg>", page, re.S)]


def lead(page: str) -> str:
    match = re.search(r'<p class="lead">(.*?)</p>', page, re.S)
    assert match
    return html.unescape(re.sub(r"<[^>]*>", "", match[1]))


def test_everything_that_was_played_is_on_the_page(study: Study, page: str) -> None:
    for thing in [*WORLDS.values(), *POLICIES.values()]:
        entry = report._entry("", thing)
        assert entry.kind in page
        for name, value in entry.parameters.items():
            assert f"<dt>{name}</dt><dd>{value}</dd>" in page
    for cell in study.cells():
        assert cell.facts["tag"] in page
        assert html.escape(cell.policy).replace("&quot;", "&#34;") in page
    for text in (
        "Rain &lt;or&gt; shine",
        "2,000",
        "seed <b>11</b>",
        f"driftwise {dw.__version__}",
        f"numpy {np.__version__}",
    ):
        assert text in page
    assert "Lower regret is better" in page


def test_parameters_without_a_part_are_not_shown() -> None:
    coins, noisy = dw.worlds.Abrupt(sd=0.3), dw.worlds.Abrupt(rewards="gaussian", sd=0.3)
    assert "sd" not in report._entry("", coins).parameters
    assert report._entry("", noisy).parameters["sd"] == 0.3
    assert report._entry("", dw.worlds.Delayed(world=noisy, delay=3)).parameters["world.sd"] == 0.3
    late = report._entry("", dw.worlds.Delayed(world=coins, delay=3)).parameters
    assert "world.sd" not in late and late["world.n_arms"] == 5


def explained(world: Any, policy: Any) -> str:
    study = small({"only": world}, {"one": policy}, runs=1)
    page = report.render(study, run(study))
    text = page[page.index("How to read this") : page.index("What was played")]
    assert not re.search(r"[a-z]\.[A-Z]", text)  # a blank between sentences
    return text


def test_only_terms_of_the_page_are_explained() -> None:
    jumps = explained(dw.worlds.Abrupt(), dw.UCB1())
    assert "Recovery" in jumps and "l2 norm" in jumps and "sup norm" in jumps
    assert "psilon" not in jumps and "W adds up" not in jumps
    assert "Recovery" not in explained(dw.worlds.Sinusoidal(), dw.UCB1())
    points = explained(dw.worlds.ConvexLinear(), dw.VirtualQueue())
    assert "W adds up" in points and "norm" not in points and "psilon" not in points
    arms = explained(dw.worlds.Climbing(), dw.RoundRobin())
    assert "Epsilon is" in arms and "norm" not in arms and "W adds up" not in arms


def test_labels_are_escaped(page: str) -> None:
    assert NASTY not in page
    assert "<b>mean</b>" not in page
    assert any(NASTY in "".join(svg.itertext()) for svg in drawings(page))


def test_page_stands_alone(page: str) -> None:
    namespaces = re.findall(r'xmlns(?::\w+)?="(https?://[^"]*)"', page)
    assert set(namespaces) == {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert len(re.findall("https?://", page)) == len(namespaces)
    for tag in ("<script", "<link", "<img", "@import", "src="):
        assert tag not in page


def test_figures_are_well_formed_and_share_the_page(page: str) -> None:
    assert len(drawings(page)) == 2 * len(WORLDS)
    ids = re.findall(r'\sid="([^"]*)"', page)
    assert len(ids) == len(set(ids))
    used = re.findall(r'(?:href="#|url\(#)([^")]*)', page)
    assert used and set(used) <= set(ids)


@pytest.mark.parametrize("world", WORLDS)
def test_numbers_are_those_of_the_results(study: Study, results: Results, page: str, world: str) -> None:
    section = page[page.index(f"<h2>{world}</h2>") :]
    body = section[section.index("<tbody>") : section.index("</tbody>")]
    rows = [[float(value) for value in re.findall(r'<data value="([^"]*)"', row)] for row in body.split("<tr")[1:]]
    cells = {label: study.cells_of(world, label) for label in study.policies}
    regrets = {label: results.column(row, "regret") for label, row in cells.items()}
    order = sorted(regrets, key=lambda label: float(regrets[label].mean()))
    for place, (label, row) in enumerate(zip(order, rows, strict=True)):
        names = ["optimal_rate", "recovery", "reward"] if world == "abrupt" else ["optimal_rate", "reward"]
        gap = [paired_difference(regrets[label], regrets[order[0]]).mean] if place else []
        speed = 1e9 * np.median(results.column(cells[label], "seconds")) / study.horizon
        means = [results.column(cells[label], name).mean() for name in names]
        assert row == pytest.approx([regrets[label].mean(), *gap, *means, speed])
        line = html.unescape(re.sub(r"<[^>]*>", "", body.split("<tr")[place + 1]))
        assert spread(estimate(regrets[label])) in line
        assert ("least mean regret" in line) == (place == 0)


def test_same_study_same_page(study: Study, results: Results) -> None:
    assert report.render(study, results) == report.render(study, results)


def test_recipe_plays_the_study_again(page: str, study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    match = re.search(r"<pre>(.*?)</pre>", page, re.S)
    assert match
    monkeypatch.chdir(tmp_path)
    played: dict[str, object] = {}
    exec(html.unescape(match[1]), played)
    assert played["study"] == study
    assert (tmp_path / "report.html").exists()


def test_long_tables_are_shown_by_their_size_and_whole_in_the_recipe() -> None:
    rows = tuple((0.2, 0.3 + row / 200) for row in range(40))
    counts, pair = ((50.0,) * 2,) * 40, (0.4, 0.4)
    world = dw.worlds.LocalLevel(means=rows, counts=counts, noise=pair, steps=pair, labels=("a", "b"))
    study = small({"log": dw.worlds.Delayed(world=world)}, {"uniform": dw.Uniform()}, runs=1)
    page = report.render(study, run(study))
    assert "<dd>40 × 2 values</dd>" in page
    again: dict[str, Any] = {}
    exec(report.recipe(study).rpartition("write_report(")[0], again)
    assert again["study"].worlds == study.worlds
    assert [each.key for each in again["study"].cells()] == [each.key for each in study.cells()]


def test_headline_claims_no_more_than_the_runs_carry() -> None:
    abrupt: dict[str, Any] = {"abrupt": dw.worlds.Abrupt()}
    still: dict[str, Any] = {"still": dw.worlds.Stationary()}
    clear: dict[str, Any] = {"uniform": dw.Uniform(), "window": dw.SlidingUCB(window=100)}
    twins: dict[str, Any] = {"one": dw.UCB1(xi=0.5), "two": dw.UCB1(xi=0.5), "uniform": dw.Uniform()}
    expected = {
        "one run": (small(abrupt, clear, 1), "Another run may say otherwise."),
        "few runs": (small(abrupt, clear, 3), "3 runs are too few to tell policies apart: it takes 6."),
        "a clear case": (small(abrupt, clear, 8), "lost least"),
        "twins": (small(still, twins, 8), "8 runs do not tell it apart from two."),
        "alone": (small(still, {"one": dw.UCB1()}, 8), "no other policy to compare it with"),
        "two worlds": (small(abrupt | still, clear, 8), "told apart from every other in each of them."),
    }
    for case, (study, words) in expected.items():
        assert words in lead(report.render(study, run(study))), case


@pytest.mark.parametrize(
    ("runs", "note", "other"), [(3, "too few runs", "not told apart"), (8, "not told apart", "few")]
)
def test_rows_say_why_policies_are_not_told_apart(runs: int, note: str, other: str) -> None:
    """An interval that leaves zero out stands beside that note where there are few runs."""
    twins = {"one": dw.UCB1(xi=0.5), "two": dw.UCB1(xi=0.5)}
    few = small({"still": dw.worlds.Stationary()}, twins, runs)
    page = report.render(few, run(few))
    body = page[page.index("<tbody>") : page.index("</tbody>")]
    assert f'<span class="note">{note}</span>' in body and other not in body


def test_least_regret_is_set_against_the_best_that_assumes_no_drift() -> None:
    study = small(
        {"seasons": dw.worlds.Sinusoidal()},
        {"thompson": dw.Thompson(), "short": dw.SlidingThompson(window=150), "long": dw.SlidingThompson(window=2000)},
        runs=8,
        horizon=4000,
    )
    results = run(study)
    ours, theirs = (results.column(study.cells_of("seasons", name), "regret") for name in ("short", "thompson"))
    share = 1.0 - ours.mean() / theirs.mean()
    assert f"{share:.0%} l" in lead(report.render(study, results))


@pytest.mark.parametrize("suffix", ["svg", "png", "pdf"])
def test_figures_are_saved(study: Study, results: Results, tmp_path: Path, suffix: str) -> None:
    figure = figures.regret_figure(study, results, "abrupt")
    assert canvas.save(figure, tmp_path / f"figure.{suffix}").stat().st_size > 1000


def test_drift_is_that_of_run_0(study: Study, results: Results) -> None:
    drift = figures.picture(study, results, figures.cells_by_policy(study, results, "abrupt")).drift
    seed = int(key(study.seed, 0, "world"))
    tape, _ = WORLDS["abrupt"].draw(study.horizon, seed)
    assert drift.changes == [666, 1333] and set(drift.changes) <= set(drift.rounds.tolist())
    np.testing.assert_array_equal(drift.lines, tape.levels.table[tape.levels.rows[drift.rounds]])
    assert drift.labels == ["arm 0", "arm 1", "arm 2", "arm 3"]


def words(page: str) -> str:
    """All that a reader sees, on one line."""
    return re.sub(r"\s+", " ", html.unescape(re.sub(r"<style.*?</style>|<[^>]*>", " ", page, flags=re.S)))


def test_variation_is_told_of_every_world(study: Study, page: str) -> None:
    for world in WORLDS.values():
        distance = variation(world, study.horizon, int(key(study.seed, 0, "world")))
        sizes = f"{brief(distance.l2)} (l2 norm) and {brief(distance.sup)} (sup norm)"
        assert f"How far run 0 drifts, all steps added: {sizes}." in words(page)


def test_fresh_actions_are_shown_by_the_parameter_behind_them() -> None:
    world = dw.worlds.Rotating(dim=3, n_actions=4)
    study = small({"turning": world}, {"uniform": dw.Uniform()}, runs=2)
    results = run(study)
    drift = figures.picture(study, results, figures.cells_by_policy(study, results, "turning")).drift
    tape, _ = world.draw(study.horizon, int(key(study.seed, 0, "world")))
    np.testing.assert_array_equal(drift.lines, tape.path[drift.rounds])
    page = report.render(study, results)
    for drawing in drawings(page):
        texts = [text.text for text in drawing.iter("{http://www.w3.org/2000/svg}text")]
        assert {"feature 0", "feature 1", "feature 2"} <= set(texts)
        assert not any("arm" in (text or "") for text in texts)
    assert "no means to follow" in words(page)
    assert "in the sup norm." not in words(page)
    assert "Best action chosen is the share" in words(page)
    assert "best arm" not in words(page).lower()


def test_many_features_share_one_name() -> None:
    study = small({"turning": dw.worlds.Rotating(dim=9, n_actions=4)}, {"uniform": dw.Uniform()}, runs=2)
    drawing = canvas.svg(figures.regret_figure(study, run(study), "turning"))
    assert "9 features" in drawing and "feature 0" not in drawing


def test_worlds_of_several_kinds_share_a_page() -> None:
    worlds: dict[str, Any] = {
        "arms": dw.worlds.Abrupt(),
        "fixed": dw.worlds.Rotating(dim=3, n_actions=4, actions="fixed"),
    }
    study = small(worlds, {"uniform": dw.Uniform()}, runs=2)
    text = words(report.render(study, run(study)))
    assert "Drift: mean reward of each arm" in text and "Drift: mean reward of each action" in text
    assert "Best option chosen is the share" in text


def test_the_best_slate_is_as_many_heavy_lines_as_it_has_items() -> None:
    world = dw.worlds.Slates(size=2, drift="sinusoidal:n_arms=5")
    study = small({"slates": world}, {"one": dw.SlidingSlateUCB(window=50)}, runs=2)
    results = run(study)
    above = figures.regret_figure(study, results, "slates").axes[1]
    heavy = [
        np.asarray(line.get_ydata())
        for line in above.lines
        if line.get_linewidth() > 1.0 and len(np.asarray(line.get_xdata())) > 4
    ]
    tape, _ = world.draw(study.horizon, int(key(study.seed, 0, "world")))
    best = np.sort(tape.levels.table[tape.levels.rows], axis=1)[:, -2:]
    np.testing.assert_allclose([line[0] for line in heavy], best[0])
    np.testing.assert_allclose([line[-1] for line in heavy], best[-1])
    assert "best slate chosen" in words(report.render(study, results)).lower()


def test_arms_with_names_are_called_by_them() -> None:
    study = small({"flights": dw.worlds.Flights(arms="origins", n_arms=3)}, {"uniform": dw.Uniform()}, runs=2)
    figure = figures.regret_figure(study, run(study), "flights")
    assert {text.get_text() for text in figure.axes[1].texts} & {"EWR", "JFK", "LGA"}


def test_few_points_are_drawn_of_a_long_world() -> None:
    rounds, means = drifts.sample(dw.worlds.RandomWalk(n_arms=3), 200_000, 0, [])
    assert len(rounds) == drifts.MOST_POINTS and means.shape == (drifts.MOST_POINTS, 3)
    assert (rounds[0], rounds[-1]) == (0, 199_999)


def test_single_run_has_no_band_and_long_delays_no_trouble() -> None:
    study = small({"late": dw.worlds.Delayed(world=dw.worlds.Abrupt(), delay=9)}, {"one": dw.UCB1()}, runs=1)
    figure = figures.regret_figure(study, run(study), "late")
    assert not any("FillBetween" in type(each).__name__ for axes in figure.axes for each in axes.collections)
    assert "95%" not in canvas.svg(figure)


def test_names_never_touch() -> None:
    draws = np.random.default_rng(0)
    for count in (1, 2, 7, 30):
        positions = draws.random(count) ** 3 * 100.0
        placed = canvas.apart(positions, gap=4.0, top=100.0)
        gap = min(4.0, 100.0 / max(1, count - 1))
        assert (np.diff(np.sort(placed)) >= gap - 1e-9).all()
        assert (np.argsort(placed) == np.argsort(positions)).all()
        assert -1e-9 <= placed.min() <= placed.max() <= 100.0 + 1e-9


def test_what_cannot_be_done_is_said_in_one_sentence(study: Study, results: Results, tmp_path: Path) -> None:
    with pytest.raises(ParameterError, match="no world called 'abrup'; did you mean abrupt"):
        figures.regret_figure(study, results, "abrup")
    with pytest.raises(ParameterError, match="9 of 9 cells of 'abrupt' are missing"):
        report.write_report(study, Results(), tmp_path / "report.html")
    with pytest.raises(ParameterError, match=r"does not end in one of \.svg, \.png, \.pdf"):
        canvas.save(figures.regret_figure(study, results, "abrupt"), "figure.bmp")
    with pytest.raises(ParameterError, match="cannot be written"):
        report.write_report(study, results, tmp_path)


@pytest.mark.parametrize(("module", "lacks"), [(canvas, "matplotlib"), (page_module, "jinja2")])
def test_missing_extra_is_named(module: object, lacks: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, lacks, None)
    with pytest.raises(ParameterError, match=r"pip install -e '\.\[report\]' in a clone of driftwise"):
        runpy.run_path(str(module.__file__))  # type: ignore[attr-defined]
