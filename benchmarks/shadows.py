"""What shadow policies cost, and whether their intervals hold: ``shadows.py cost|coverage``.

``cost``: processor time of a decision and its outcome in an engine on a SQLite file, with 0, 1 and 2 shadows: the least
of a dozen turns, of the thread that answers requests, and of the whole process, which feeds the shadows meanwhile.

``coverage``: how often the 95 % interval of a shadow's mean reward holds the truth in simulated deployments with drift
and late outcomes: the mean over the decisions counted of the expected reward of what the shadow would have chosen.
"""

import asyncio
import json
import math
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.families import MultiArmed
from driftwise.service.deployments import admin, decisions, shadow_feed, shadows
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.shadow import Shadow
from driftwise.service.http.schemas.requests import DecideRequest, DeploymentSpec, LearnRequest
from driftwise.service.http.schemas.responses import ShadowResponse
from driftwise.service.store.journal import open_journal

ARMS = ["red", "blue", "green"]
SHADOWS = ["sliding-ucb:window=500", "sliding-thompson:window=500"]
LIVE = [("epsilon-greedy:epsilon=0.3", 0), ("exp3:gamma=0.2", 0), ("sliding-thompson:window=300", 200)]
ROUNDS, REPEATS = 1000, 12
RUNS, LENGTH = 300, 1000


def spec_of(name: str, policy: str, **fields: Any) -> DeploymentSpec:
    return DeploymentSpec(name=name, policy=policy, problem=MultiArmed(ARMS), **fields)


# ---- cost ----


async def play(engine: Engine, name: str) -> tuple[float, float]:
    """Seconds of processor time per decision and outcome: of this thread, and of the process until all are fed."""
    thread, process = time.thread_time(), time.process_time()
    for n in range(ROUNDS):
        _, body = await decisions.decide(engine, name, [DecideRequest()])
        id = json.loads(body)["id"]
        await decisions.learn(engine, name, [LearnRequest(id=id, reward=float(n % 2))])
    own = time.thread_time() - thread
    await shadow_feed.catch_up(engine, engine.entry(name))
    return own / ROUNDS, (time.process_time() - process) / ROUNDS


async def cost(folder: Path) -> None:
    engine = Engine(open_journal(f"sqlite:///{folder}/store.db", "normal"))
    await engine.start()
    names = [f"with-{n}" for n in range(3)]
    for n, name in enumerate(names):
        await admin.create(engine, spec_of(name, "epsilon-greedy", shadows=SHADOWS[:n]))
        await play(engine, name)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for _ in range(REPEATS):
        for name in names:
            taken[name].append(await play(engine, name))
    await engine.close()
    first = [min(each[k] for each in taken[names[0]]) for k in range(2)]
    for n, name in enumerate(names):
        own, whole = (min(each[k] for each in taken[name]) for k in range(2))
        print(
            f"{n} shadows: {1e6 * own:.0f} us in the thread that answers ({own / first[0]:.2f} x), "
            f"{1e6 * whole:.0f} us in the process ({whole / first[1]:.2f} x)"
        )


# ---- coverage ----


def means_at(t: int) -> dict[str, float]:
    """Expected rewards that drift: two arms change places once in a run."""
    phase = math.cos(math.pi * t / LENGTH)
    return {"red": 0.3, "blue": 0.5 + 0.2 * phase, "green": 0.5 - 0.2 * phase}


class Watched(Shadow):
    """A shadow that notes what it would have chosen."""

    def __init__(self, policy: str, spec: DeploymentSpec) -> None:
        super().__init__(policy, Deployment(1, shadows.shadow_spec(spec, policy)))
        self.choice = ""
        propose = self._proposer.propose

        def note(request: dict[str, Any], t: int) -> object:
            self.choice = str(propose(request, t))
            return self.choice

        self._proposer.propose = note  # type: ignore[method-assign]


def live_once(spec: DeploymentSpec, names: Sequence[str]) -> dict[str, tuple[ShadowResponse, float, float]]:
    """Of each shadow in a simulated life its view, its true mean reward, and that of what was decided."""
    rng, live, followers = (
        np.random.default_rng(spec.seed),
        Deployment(1, spec),
        [Watched(name, spec) for name in names],
    )
    due: dict[int, list[tuple[int, float]]] = {}
    decided: dict[int, list[float]] = {}
    counted: list[list[float]] = []
    for t in range(LENGTH):
        now, means = 1_000_000 * (t + 1), means_at(t)
        event, body = live.decide({}, None, now)
        for each in followers:
            each.apply(event)
        due.setdefault(t + int(rng.integers(20)), []).append((event.number, float(rng.random() < means[body.action])))
        decided[event.number] = [means[each.choice] for each in followers] + [means[body.action]]
        for ref, reward in due.pop(t, []):
            learned, _ = live.learn(ref, {"reward": reward}, now)
            for each in followers:
                each.apply(learned)
            counted.append(decided.pop(ref))
    *truths, earned = np.mean(counted, axis=0).tolist()
    return {
        name: (each.view(live.number), truth, earned)
        for name, each, truth in zip(names, followers, truths, strict=True)
    }


def coverage() -> None:
    for policy, samples in LIVE:
        names = [name for name in (*SHADOWS, "uniform") if name != policy]
        lives = [
            live_once(spec_of("run", policy, seed=seed, propensity_samples=samples), names) for seed in range(RUNS)
        ]
        for name in names:
            report(f"{policy} / {name}", [life[name] for life in lives])


def report(title: str, lives: Sequence[tuple[ShadowResponse, float, float]]) -> None:
    """How often intervals hold the truth, and how far estimates are from it."""
    rows = []
    for view, truth, earned in lives:
        if view.estimate is None or view.difference is None:
            continue
        (low, high), (least, most) = view.estimate.ci95, view.difference.ci95
        assert low is not None and high is not None and least is not None and most is not None
        rows.append((low <= truth <= high, least <= truth - earned <= most, view.estimate.mean - truth, high - low))
    held, differences, bias, width = np.mean(rows, axis=0) if rows else [math.nan] * 4
    print(
        f"{title}: {len(rows)} of {len(lives)} lives have an estimate; its interval holds the truth in {held:.1%}, "
        f"that of the difference in {differences:.1%}; bias {bias:+.4f}, width {width:.3f}",
        flush=True,
    )


if __name__ == "__main__":
    if sys.argv[1:] == ["cost"]:
        with tempfile.TemporaryDirectory() as folder:
            asyncio.run(cost(Path(folder)))
    elif sys.argv[1:] == ["coverage"]:
        coverage()
    else:
        sys.exit(__doc__)
