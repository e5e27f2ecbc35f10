"""The diagnosis of logs whose truth is known, and slow twins of what is compiled or vectorised."""

import html
import json
import re
import shlex
from itertools import combinations, pairwise
from pathlib import Path

import numpy as np
import pytest

import driftwise as dw
from driftwise.core.types import Floats, Ints
from driftwise.errors import LogError
from driftwise.evaluate.diagnosis.change_points import LEAST_SEGMENT, segments
from driftwise.evaluate.diagnosis.figures import window_figure
from driftwise.evaluate.diagnosis.permutation import (
    Exchangeable,
    drift_test,
    exchangeable,
    permute,
    statistics,
    summed,
)
from driftwise.evaluate.diagnosis.seasons import find_seasons, local_hours
from driftwise.evaluate.diagnosis.summary import to_dict
from driftwise.evaluate.diagnosis.window_curve import window_curve
from driftwise.numerics.local_level import sample_path, smooth
from driftwise.report.style import WIDE
from tests.fixtures.clicks import DAY, START, clicks_csv
from tests.fixtures.command_line import driftwise


@pytest.fixture(scope="module")
def month(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clicks_csv(tmp_path_factory.mktemp("month") / "clicks.csv", season=0.04)


def log_of(rewards: Floats, actions: Ints, **more: object) -> dw.Log:
    times = START + np.arange(len(rewards)) * (30 * DAY / len(rewards))
    return dw.Log.from_arrays(actions, rewards, arms=["A", "B", "C"], **{"times": times, **more})  # type: ignore[arg-type]


def drawn(seed: int, n: int = 3000, *, means: tuple[float, ...] = (0.3, 0.3, 0.3), step: float = 0.0) -> dw.Log:
    random = np.random.default_rng(seed)
    actions = random.integers(0, 3, n)
    chance = np.array(means)[actions] + step * ((actions == 1) & (np.arange(n) >= n // 2))
    return log_of((random.random(n) < chance).astype(float), actions)


# ---- the whole ----


def test_a_month_of_clicks(month: Path) -> None:
    found = dw.Log.read(month).diagnose(name="clicks.csv")
    assert found.drifts and [season.name for season in found.seasons.present] == ["hour"]
    (change,) = found.changes
    assert found.arms[change.arm].name == "video" and abs(change.row - 6000) < 600
    assert change.low <= 6000 <= change.high and abs(change.size - 0.06) < 1.96 * 1.5 * change.standard_error
    assert found.window.best is not None and f"window={found.window.best}" in found.recommendation.command
    assert found.recommendation.command.startswith("driftwise evaluate clicks.csv --policy ")
    video = found.arms[2].variation
    assert video.low < 0.06 < video.high
    text = str(found)
    assert "It drifts (p <= 0.002): 1 sudden change." in text and "There is a season by hour" in text


def test_without_drift() -> None:
    found = drawn(1).diagnose()
    assert not found.drifts and not found.changes and found.window.best is None
    assert found.recommendation.policy == "auto" and "no drift was found" in found.recommendation.why
    assert found.variation.value == 0.0 < found.variation.high


def test_the_level_holds() -> None:
    """Binomial(40, 0.025) exceeds 5 with probability 0.0005."""
    assert sum(drawn(seed, 300).diagnose().drifts for seed in range(40)) <= 5


def test_the_level_holds_with_many_arms() -> None:
    """Weights that follow the order of rewards would break it. Binomial(40, 0.025) exceeds 5 with odds of 1:2000."""
    called = 0
    for seed in range(40):
        random = np.random.default_rng(seed)
        arms, values = random.integers(0, 100, 2000), random.random(2000)
        runs = exchangeable(arms, values, np.zeros(2000, np.int64), 100)
        called += drift_test(runs, seed=seed, permutations=199).p_value <= 0.025
    assert called <= 5


def test_steps_are_found_and_dated() -> None:
    """Ten logs of 10,000 rows; a step is dated within 5 % with 91 %: fewer than 6 of them has odds of 1:1000."""
    logs = [drawn(100 + seed, 10_000, step=0.1).diagnose() for seed in range(10)]
    near = [any(each.arm == 1 and abs(each.row - 5000) <= 500 for each in found.changes) for found in logs]
    assert sum(near) >= 6


def test_the_same_log_gets_the_same_diagnosis() -> None:
    assert json.dumps(to_dict(drawn(5).diagnose())) == json.dumps(to_dict(drawn(5).diagnose()))


def test_units_of_rewards_change_nothing_but_units() -> None:
    log = drawn(6, step=0.2)
    other = log_of(100.0 * log.rewards + 1000.0, log.actions)
    one, two = log.diagnose(), other.diagnose()
    assert one.p_value == two.p_value and [each[:4] for each in one.changes] == [each[:4] for each in two.changes]
    assert two.variation.value == pytest.approx(100.0 * one.variation.value)
    assert one.window.best == two.window.best


# ---- what is odd ----


@pytest.mark.parametrize("unit", [0.01, 1.0, 90_000.0])
def test_an_arm_that_never_varies_has_the_noise_of_the_log(unit: float) -> None:
    """A price that nobody buys is ordinary: nothing may be told in units of 1, nor in those of rounding."""
    random = np.random.default_rng(1)
    actions = random.integers(0, 3, 6000)
    sold = (random.random(6000) < 0.3 + 0.3 * (np.arange(6000) > 3000)).astype(float)
    found = {
        value: log_of(unit * np.where(actions == 2, value, sold), actions, times=START + np.arange(6000.0)).diagnose()
        for value in (0.0, 0.1)
    }
    for value, each in found.items():
        assert each.drifts and {change.arm for change in each.changes} == {0, 1}
        assert 0.4 * unit < each.arms[2].noise < 0.6 * unit
        assert 0.02 * unit < each.arms[2].variation.high < 0.2 * unit < each.variation.value
        assert f"rewards of C (always {value * unit:g}) do not vary; " in str(each)
    for means in (0.0, 0.1):
        still = log_of(unit * np.where(actions == 2, means, random.random(6000) < 0.3), actions).diagnose()
        assert not still.drifts and still.test is not None and still.test.statistics["cusum"] < 4.0


def test_an_arm_of_few_rows_has_no_band(tmp_path: Path) -> None:
    """The band of twelve rows is wider than all that the others do."""
    random = np.random.default_rng(2)
    actions = np.where(np.arange(6000) % 500 == 7, 2, random.integers(0, 2, 6000))
    found = log_of((random.random(6000) < 0.1).astype(float), actions).diagnose()
    assert [found.has_band(k) for k in range(3)] == [True, True, False] and found.arms[2].chosen == 12
    assert found.plot().svg.count('opacity="0.18"') == 2
    page = found.write(tmp_path / "page.html").read_text()
    assert "Without a band, for they have few rows: C." in page


def test_an_arm_of_one_reward_has_a_mean_and_no_interval(tmp_path: Path) -> None:
    actions = np.append(np.arange(60) % 2, 2)
    found = log_of(np.random.default_rng(3).random(61), actions).diagnose()
    page = found.write(tmp_path / "page.html").read_text()
    for text in (str(found), page, found._repr_html_()):
        assert not re.search(r"\bnan\b", text)
    assert json.loads(json.dumps(found.to_dict()))["arms"][2]["ci95"] is None


def test_numbers_that_are_no_arms_are_cut_and_noted(tmp_path: Path) -> None:
    random = np.random.default_rng(3)
    prices = random.normal(20.0, 5.0, 2000).round(2)
    log = dw.Log.from_arrays(prices, random.random(2000))
    found = log.diagnose()
    lines = str(found).splitlines()
    assert lines[0].startswith(f"2,000 rows, {len(found.arms):,} arms")
    assert len(lines) < 60 and len(found.arms) > 1000 and len(to_dict(found)["arms"]) == len(found.arms)  # type: ignore[arg-type]
    (more,) = [line for line in lines if "--json lists all" in line]
    assert more == f"  and {len(found.arms) - 20:,} more, each chosen 4 times or less: --json lists all"
    listed = lines[lines.index(more) - 20 : lines.index(more)]
    chosen = [int(line.split()[1]) for line in listed]
    assert chosen == sorted(chosen, reverse=True) and chosen[0] == max(arm.chosen for arm in found.arms)
    assert found.notes[0].startswith(f"half of the {len(found.arms):,} arms have at most 1 row, and all are numbers: ")
    assert "and name it (--action COLUMN, or action= in Python)" in found.notes[0]
    assert f"and {len(found.arms) - 50:,} more, each" in found.write(tmp_path / "page.html").read_text()
    rounded = dw.Log.from_arrays(prices.round(), random.random(2000))
    assert not any("at most" in note for note in rounded.diagnose().notes)


def test_commands_that_a_log_suggests_name_its_columns(tmp_path: Path) -> None:
    """From Python as from the command line: what is copied runs."""
    random = np.random.default_rng(4)
    rows = [f"{'ab'[k]},{luck:.3f},x" for k, luck in zip(random.integers(0, 2, 300), random.random(300), strict=True)]
    path = tmp_path / "my sales.csv"
    path.write_text("\n".join(["price,revenue,action", *rows]))
    found = dw.Log.read(path, action="price", time="").diagnose()
    command, serve = found.recommendation.command, found.recommendation.serve
    assert command.startswith(f"driftwise evaluate '{path}' --time= --action=price --policy ")
    assert serve.endswith(f" --log '{path}' --time= --action=price")
    assert driftwise("diagnose", str(path), "--action=price", "--time=").stdout == f"{found}\n"
    assert "2 arms" in driftwise(*shlex.split(command)[1:3], *shlex.split(command)[3:7]).stdout
    frame = dw.Log.from_frame(dw.Log.read(path, action="price").frame("polars"), reward="reward")
    assert frame.diagnose().recommendation.command.startswith("driftwise evaluate LOG --reward=reward --policy ")
    assert any("this log has no file" in note and "log.evaluate(['" in note for note in frame.diagnose().notes)
    named = frame.diagnose(name="sales.csv")
    assert named.recommendation.command.startswith("driftwise evaluate sales.csv --reward=reward --policy ")
    assert not any("no file" in note for note in named.notes)


def test_odd_logs_are_diagnosed_with_a_sentence() -> None:
    random = np.random.default_rng(0)
    single = dw.Log.from_arrays(["a"] * 100, random.random(100)).diagnose()
    assert "single arm" in single.recommendation.why
    constant = log_of(np.ones(100), random.integers(0, 3, 100)).diagnose()
    assert not constant.drifts and "all rewards are the same" in constant.recommendation.why
    assert "every reward is 1" in str(constant)
    with pytest.raises(LogError, match="5 rewards are too few to look for drift: 20 are needed"):
        dw.Log.from_arrays([0, 1, 0, 1, 0], [0, 1, 0, 1, 1]).diagnose()
    with pytest.raises(LogError, match="1 reward is too few to look for drift: 20 are needed"):
        dw.Log.from_arrays([0], [1]).diagnose()
    times = START + np.concatenate([np.arange(500) * 60.0, 100 * DAY + np.arange(500) * 60.0])
    gap = log_of(random.random(1000), random.integers(0, 3, 1000), times=times).diagnose()
    assert any("100 days" in note and "a gap ages nothing" in note for note in gap.notes)


def test_propensities_that_do_not_add_up() -> None:
    random = np.random.default_rng(0)
    actions = random.integers(0, 3, 1000)
    wrong = log_of(random.random(1000), actions, propensities=np.full(1000, 0.9)).diagnose()
    assert any("propensities do not add up to 1" in note for note in wrong.overlap.notes)
    right = log_of(random.random(1000), actions, propensities=np.full(1000, 1 / 3)).diagnose()
    assert not right.overlap.notes and right.overlap.effective_share == pytest.approx(1.0)
    sure = log_of(random.random(1000), actions, propensities=np.ones(1000)).diagnose()
    assert sure.overlap.deterministic


def test_delays() -> None:
    log = drawn(2)
    assert log.times is not None
    late = dw.Log.from_arrays(log.actions, log.rewards, times=log.times, rewarded_at=log.times + 3600.0).diagnose()
    assert late.delays is not None and late.delays.median == late.delays.longest == 3600.0
    assert "Rewards came 1 hours after the decision" in str(late)


# ---- seasons ----


def test_a_season_is_no_drift_and_a_step_is_no_season() -> None:
    random = np.random.default_rng(3)
    n = 9000
    actions = random.integers(0, 3, n)
    times = START + np.arange(n) * (30 * DAY / n)
    weekend = ((times // DAY + 3) % 7) >= 5
    season = log_of((random.random(n) < 0.2 + 0.15 * weekend).astype(float), actions).diagnose()
    assert not season.drifts and [each.name for each in season.seasons.present] == ["weekday"]
    step = log_of((random.random(n) < 0.2 + 0.15 * (np.arange(n) > n / 2)).astype(float), actions).diagnose()
    assert step.drifts and not step.seasons.present


def test_seasons_hold_their_level() -> None:
    """Two tests at 1 % on each of 20 logs: Binomial(40, 0.01) exceeds 4 with probability 0.0001."""
    called = 0
    for seed in range(20):
        random = np.random.default_rng(seed)
        times = START + np.sort(random.uniform(0, 28 * DAY, 2000))
        arms, values = random.integers(0, 3, 2000), random.random(2000)
        found = find_seasons(times, "UTC", arms, values, 3, seed=seed)
        called += len(found.present)
    assert called <= 4


def test_hours_follow_the_clock_on_the_wall() -> None:
    summer, winter = 1_785_578_400.0, 1_798_797_600.0  # 2026-08-01 10:00 and 2027-01-01 10:00 UTC
    hours = local_hours(np.array([summer, winter]), "Europe/Berlin") % 24
    assert hours.tolist() == [12, 11]


# ---- slow twins ----


def test_permutations_keep_strata_and_reach_every_order() -> None:
    values = np.arange(5.0)
    cells, starts = np.arange(5), np.array([0, 3, 5])
    out = np.zeros((600, 5))
    permute(values, cells, starts, out, np.uint64(7))
    assert (np.sort(out[:, :3], axis=1) == [0, 1, 2]).all() and (np.sort(out[:, 3:], axis=1) == [3, 4]).all()
    orders, counts = np.unique(out, axis=0, return_counts=True)
    assert len(orders) == 12 and counts.min() > 20  # 50 each on average; below 20 with probability 1e-6


def test_statistics_equal_their_definition() -> None:
    random = np.random.default_rng(0)
    arms, values = random.integers(0, 2, 80), random.normal(size=80)
    runs = exchangeable(arms, values, np.zeros(80, np.int64), 2)
    sums = summed(runs.cells, runs.values, runs.n_bins * 2).reshape(runs.n_bins, 2)
    names, table = statistics(sums[None], runs.counts)
    own = [values[arms == k] - values[arms == k].mean() for k in range(2)]
    own = [each / each.std() for each in own]
    edges = [[int(np.ceil(len(each) * b / runs.n_bins)) for b in range(runs.n_bins + 1)] for each in own]
    cusum = max(
        abs(each[:cut].sum()) / np.sqrt(cut * (len(each) - cut) / len(each))
        for each, cuts in zip(own, edges, strict=True)
        for cut in cuts[1:-1]
    )
    spread = sum(
        each[low:high].sum() ** 2 / (high - low)
        for each, cuts in zip(own, edges, strict=True)
        for low, high in pairwise(cuts)
    )
    assert dict(zip(names, table[0], strict=True)) == pytest.approx(
        {"cusum": cusum, f"spread{runs.n_bins}": spread} | dict(zip(names[1:-1], table[0][1:-1], strict=True))
    )


def test_runs_of_long_logs_keep_every_reward_of_their_stratum(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("driftwise.evaluate.diagnosis.permutation.MOST_RUNS", 25)
    random = np.random.default_rng(1)
    arms, slots, values = random.integers(0, 2, 100), random.integers(0, 3, 100), random.normal(size=100)
    runs = exchangeable(arms, values, slots, 2)
    expected = []
    for k in range(2):
        strata = [values[(arms == k) & (slots == slot)] for slot in range(3)]
        strata = [own - own.mean() for own in strata]
        spread = np.concatenate(strata).std()
        expected += [own[i : i + 4].sum() / spread for own in strata for i in range(0, len(own) // 4 * 4, 4)]
    assert runs.length == 4 and np.allclose(runs.values, expected)


def test_the_test_counts_time_by_rewards_of_the_arm() -> None:
    values, cells, starts = np.array([-1.0, -1.0, 1.0, 1.0] * 5), np.repeat(np.arange(4), 5), np.array([0, 20])
    found = drift_test(Exchangeable(np.sort(values), cells, starts, 1, 4, 1), seed=0, permutations=99)
    assert found.p_value == 0.01
    mixed = drift_test(Exchangeable(values, cells, starts, 1, 4, 1), seed=0, permutations=99)
    assert mixed.p_value > 0.2


@pytest.mark.parametrize("seed", range(5))
def test_segments_are_the_best_of_all(seed: int) -> None:
    """Against every set of at most three changes of nine bins."""
    random = np.random.default_rng(seed)
    counts = random.integers(LEAST_SEGMENT, 20, 9).astype(float)
    noise = random.uniform(0.5, 1.5, 9)
    sums = counts * np.repeat(random.normal(size=3), 3) + noise * np.sqrt(counts) * random.normal(size=9)
    penalty = 6.0

    def cost(cuts: tuple[int, ...]) -> float:
        total = penalty * len(cuts)
        for low, high in pairwise((0, *cuts, 9)):
            weights = (counts / noise**2)[low:high]
            means = (sums / counts)[low:high]
            centre = (weights * means).sum() / weights.sum()
            total += float((weights * (means - centre) ** 2).sum())
        return total

    best = min((cuts for n in range(5) for cuts in combinations(range(1, 9), n)), key=cost)
    assert tuple(segments(counts, sums, noise, penalty)) == best


def test_window_errors_equal_predictions_one_by_one() -> None:
    random = np.random.default_rng(0)
    n = 120
    rows = np.sort(random.choice(150, n, replace=False))
    arms, values = random.integers(0, 2, n), random.random(n)
    curve = window_curve(rows, arms, values, 150, 2)
    for window, error in zip(curve.windows, curve.errors, strict=True):
        losses = []
        for i in range(n):
            earlier = [j for j in range(i) if arms[j] == arms[i]]
            mean = values[earlier].mean() if earlier else values.mean()
            inside = [j for j in earlier if rows[j] >= rows[i] - window]
            losses.append((values[i] - (values[inside].sum() + mean) / (len(inside) + 1)) ** 2)
        assert error == pytest.approx(np.mean(losses))


def test_smoothing_equals_the_normal_distribution_of_all_means() -> None:
    """The mean of all means given all rewards, by one big linear system."""
    random = np.random.default_rng(0)
    counts = random.integers(1, 9, (12, 1)).astype(float)
    counts[4] = 0.0
    sums = random.normal(size=(12, 1)) * np.sqrt(counts) + counts * np.linspace(0, 3, 12)[:, None]
    noise = np.array([0.8])
    found = smooth(counts, sums, noise)
    step, steps = float(found.steps[0]), np.diff(np.eye(12), axis=0)
    precision = np.diag(counts[:, 0]) / noise[0] ** 2 + steps.T @ steps / step**2
    mean = np.linalg.solve(precision, sums[:, 0] / noise[0] ** 2)
    assert found.means[:, 0] == pytest.approx(mean, abs=1e-3)
    assert found.sds[:, 0] == pytest.approx(np.sqrt(np.diag(np.linalg.inv(precision))), rel=1e-3)
    paths = np.array([sample_path(counts, sums, noise, found.steps, random)[:, 0] for _ in range(4000)])
    assert np.abs(paths.mean(axis=0) - mean).max() < 5.0 * found.sds.max() / np.sqrt(4000)
    assert np.cov(paths.T) == pytest.approx(np.linalg.inv(precision), abs=0.05)


# ---- the command ----


def test_the_command(month: Path, tmp_path: Path) -> None:
    done = driftwise("diagnose", str(month), "--json", "--out", str(tmp_path / "out"))
    document = json.loads(done.stdout)
    assert document["drifts"] and document["rows"] == 12_000 and document["p_value"] == 0.002
    assert {"at", "action", "size"} <= set(document["changes"][0]) and document["changes"][0]["action"] == "video"
    assert document["best_window"] and {"policy", "why", "command"} <= set(document["recommendation"])
    page = (tmp_path / "out" / "report.html").read_text()
    assert "p <b>&lt;= 0.002</b>" in page  # as the headline says it
    assert (
        "It drifts (p &lt;= 0.002): 1 sudden change." in page
        and "<svg" in page
        and "http" not in page.split("</svg>")[-1]
    )
    words = re.findall("<span>(.*?)</span>", page.partition('<pre class="command">')[2].partition("</pre>")[0])
    assert " ".join(words) == html.escape(document["recommendation"]["command"])  # lines break between words only


def test_the_curve_of_windows_fills_its_figure() -> None:
    """Windows that predict far worse lie below the figure: their part of the axis would be empty."""
    random = np.random.default_rng(3)
    rewards = random.normal(np.sin(np.arange(40_000) / 8000), 1.0)
    found = dw.Log.from_arrays(["a"] * len(rewards), rewards).diagnose()
    (axes,) = window_figure(found, WIDE).axes
    curve = next(line for line in axes.lines if np.size(line.get_xdata()) > 2)
    assert np.sum(np.asarray(curve.get_ydata()) < axes.get_ylim()[0]) <= 1
    assert found.window.best is not None and axes.get_xlim()[0] < np.log2(found.window.best) < axes.get_xlim()[1]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nothing.csv"], "nothing.csv cannot be read: No such file or directory"),
        (["{log}", "--action", "colour"], "action='colour' is not a column; columns: timestamp, variant, click"),
        (["{log}", "--timezone", "Atlantis"], "timezone='Atlantis' is not a time zone"),
    ],
)
def test_bad_input_is_one_sentence(month: Path, words: list[str], says: str) -> None:
    done = driftwise("diagnose", *(word.format(log=month) for word in words), code=2)
    assert says in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_log_with_context_is_advised_by_what_was_measured_with_context(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    rows = [
        f"{'ab'[i % 2]},{random.integers(2)},{random.uniform(18, 80)},{random.uniform(1e4, 9e4)}" for i in range(400)
    ]
    path = tmp_path / "log.csv"
    path.write_text("\n".join(["arm,reward,age,income", *rows]))
    bare = dw.Log.read(path, context=()).diagnose()
    assert bare.recommendation.policy == "auto" and "--standardise" not in str(bare)
    found = dw.Log.read(path, context=["age", "income"]).diagnose()
    measured = dw.recommend("contextual", horizon=400, drift="none")
    assert found.recommendation.policy == measured.spec and measured.reason in found.recommendation.why
    assert found.recommendation.command.endswith(" --standardise")
    (uneven,) = [note for note in found.notes if "differ in scale, 'age'" in note]
    assert "--standardise" in uneven
    (compare,) = [note for note in found.notes if "what the context adds" in note]
    words = shlex.split(compare.partition("driftwise ")[2])
    assert words[-4:] == ["--context", "", "--policy", "auto"] and "auto" in driftwise(*words).stdout
    assert found.recommendation.policy in driftwise(*shlex.split(found.recommendation.command)[1:]).stdout
    alone = dw.Log.read(path, context=["age"]).diagnose()
    assert "--standardise" not in str(alone)
