"""Variation is the sum of every step, whatever blocks a world is drawn in; and what follows from it is told."""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import driftwise as dw
from driftwise.cli import main
from driftwise.core.seeding import key
from driftwise.core.types import Floats
from driftwise.families.contextual.worlds import base
from driftwise.families.multi_armed.worlds.base import ArmedWorld
from driftwise.measure.levels import Drift, Levels
from driftwise.measure.variation import variation
from driftwise.study.study import Study

HORIZON = 500


@dataclass(frozen=True, kw_only=True)
class ThereAndBack(ArmedWorld):
    """Two rows of means that take turns: the rows of a tape go back as well as forth."""

    n_arms: int = 2

    def drift(self, horizon: int, seed: int) -> Drift:
        table = np.array([[0.3, 0.7], [0.8, 0.4]])
        return lambda start, stop: Levels(table, (np.arange(start, stop) // 100 % 2).astype(np.int32))


WORLDS: dict[str, Any] = {
    "still": dw.worlds.Stationary(),
    "there and back": ThereAndBack(),
    "abrupt": dw.worlds.Abrupt(phases=4),
    "walk": dw.worlds.RandomWalk(n_arms=3),
    "seasons": dw.worlds.Sinusoidal(),
    "late": dw.worlds.Delayed(world=dw.worlds.Abrupt(), delay=3),
    "pair": dw.worlds.SinePair(variation=3.0),
    "fresh": dw.worlds.PiecewiseLinear(dim=3, n_actions=4),
    "fresh and late": dw.worlds.Delayed(world=dw.worlds.Rotating(), delay=3),
    "fixed": dw.worlds.PiecewiseLinear(dim=3, n_actions=4, actions="fixed"),
    "logistic": dw.worlds.Rotating(actions="basis", link="logistic"),
    "flights": dw.worlds.Flights(per_hour=7),
    "flights with features": dw.worlds.Flights(per_hour=7, features=1),
}
every_world = pytest.mark.parametrize("world", [*WORLDS.values()], ids=[*WORLDS])


def by_hand(world: Any) -> tuple[float, float]:
    """Step by step through the whole of a world, as the definitions say."""
    tape, _ = world.draw(HORIZON, seed=1)
    tape = getattr(tape, "tape", tape)
    means: Floats = tape.levels.table[tape.levels.rows]
    path = getattr(tape, "path", means)
    path = path if path.shape[1] else means
    l2 = sum(math.sqrt(sum((b - a) ** 2 for a, b in zip(*path[t : t + 2], strict=True))) for t in range(HORIZON - 1))
    sup = sum(max(abs(b - a) for a, b in zip(*means[t : t + 2], strict=True)) for t in range(HORIZON - 1))
    return l2, sup


@every_world
@pytest.mark.parametrize("block", [HORIZON, 64, 1])
def test_every_step_counts_those_between_blocks_too(world: Any, block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    inner = type(getattr(world, "world", world))
    monkeypatch.setattr(inner, "block", property(lambda self: block))
    monkeypatch.setattr(base, "BLOCK", block)
    monkeypatch.setattr(ArmedWorld, "block", block)
    monkeypatch.setattr("driftwise.families.contextual.worlds.base.BLOCK", block)
    found = variation(world, HORIZON, seed=1)
    l2, sup = by_hand(world)
    assert found.l2 == pytest.approx(l2, rel=1e-9, abs=1e-12)
    if world.lasting:
        assert found.sup == pytest.approx(sup, rel=1e-9, abs=1e-12)
    else:
        assert math.isnan(found.sup)
    assert found.changes == len(world.changes(HORIZON, 1))


def test_what_is_known_on_paper() -> None:
    long = 30_000
    assert variation(dw.worlds.SinePair(variation=2.0), long, 0).l2 == pytest.approx(6.0 * math.sqrt(2.0), rel=1e-3)
    assert variation(dw.worlds.SinePair(variation=2.0), long, 0).sup == pytest.approx(6.0, rel=1e-3)
    assert variation(dw.worlds.SinePair(variation=1.0, thirds=1), long, 0).l2 == pytest.approx(1.3295587654, rel=1e-9)
    assert variation(dw.worlds.SinePair(variation=30.0, thirds=1), long, 0).l2 == pytest.approx(
        30 * math.sqrt(2.0), rel=5e-3
    )
    assert variation(dw.worlds.Rotating(turns=2.5, norm=3.0), long, 0).l2 == pytest.approx(15.0 * math.pi, rel=1e-4)
    assert variation(dw.worlds.Stationary(), long, 0) == (0.0, 0.0, 0)
    world = dw.worlds.PiecewiseLinear(dim=4, breaks=9)
    _, vectors = world.knots(long, 5)
    walked = np.linalg.norm(np.diff(vectors, axis=0), axis=1).sum()
    assert variation(world, long, 5).l2 == pytest.approx(walked, rel=1e-9)


def test_the_papers_windows_come_out_of_it() -> None:
    """Five dimensions, 30 breaks, T = 1e5: the window of equation (90) lies in 807..867."""
    for instance in range(3):
        found = variation(dw.worlds.PiecewiseLinear(instance=instance), 100_000, seed=0)
        policy = dw.SlidingLinUCB.optimal(horizon=100_000, dim=5, variation=found.l2, noise=0.1)
        assert 807 <= int(policy.window) <= 867


def test_regret_against_a_single_action_needs_actions_that_last() -> None:
    worlds = {actions: dw.worlds.Rotating(actions=actions, dim=3, n_actions=4) for actions in ("fresh", "fixed")}
    study = Study(name="static", worlds=worlds, policies={"uniform": dw.Uniform()}, horizon=100, runs=2)
    results = dw.run(study)
    assert np.isnan(results.column(study.cells_of("fresh", "uniform"), "static_regret")).all()
    assert np.isfinite(results.column(study.cells_of("fixed", "uniform"), "static_regret")).all()
    assert np.isfinite(results.column(study.cells_of("fresh", "uniform"), "regret")).all()


@pytest.mark.parametrize(("text", "called"), [("rotating:dim=3,n_actions=4", "action"), ("abrupt", "arm")])
def test_simulate_tells_the_variation_of_run_0(text: str, called: str) -> None:
    asked = ["simulate", "--world", text, "--policy", "uniform", "--horizon", "200", "--runs", "2"]
    told = json.loads(CliRunner().invoke(main, [*asked, "--json"]).stdout)["variation"]
    world = {"action": dw.worlds.Rotating(dim=3, n_actions=4), "arm": dw.worlds.Abrupt()}[called]
    expected = variation(world, 200, int(key(0, 0, "world")))
    assert told == {"l2": expected.l2, "sup": None if math.isnan(expected.sup) else expected.sup}
    table = " ".join(CliRunner().invoke(main, asked).stdout.split())  # a narrow table breaks its lines
    assert f"how far run 0 drifts, all steps added: {expected.l2:.4g} (l2 norm)" in table
    assert ("(sup norm)" in table) == (called == "arm")
    assert f"best {called}" in table
