"""What shadow policies cost, and whether their intervals hold: ``shadows.py cost|coverage``.

``cost``: processor time of a decision and its outcome in an engine on a SQLite file, with 0, 1 and 2 shadows, in turns;
the least of a dozen turns, of the thread that answers requests, and of the whole process, which feeds the shadows meanwhile.

``coverage``: how often the 95 % interval of a shadow's mean reward holds the truth in simulated deployments with drift
and late outcomes: the mean over the decisions counted of the expected reward of what the shadow would have chosen.
"""

import asyncio
import json
import math
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from driftwise.families import MultiArmed
from driftwise.service.deployments import admin, decisions, shadows
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.engine import Engine
from driftwise.service.deployments.shadow import Shadow
from driftwise.service.http.schemas.requests import DecideRequest, DeploymentSpec, LearnRequest
from driftwise.service.store.journal import open_journal

ARMS = ["red", "blue", "green"]
SHADOWS = ["sliding-ucb:window=500", "sliding-thompson:window=500"]
ROUNDS, REPEATS = 1000, 12
RUNS, LENGTH = 400, 1500


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
    await shadows.catch_up(engine, engine.entry(name))
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


def run_once(policy: str, samples: int, shadow: str, seed: int) -> tuple[Any, float, float]:
    """The view of a shadow after a simulated life, its true mean reward, and that of what was decided."""
    rng = np.random.default_rng(seed)
    spec = spec_of("run", policy, seed=seed, propensity_samples=samples)
    live = Deployment(1, spec)
    follower = Shadow(shadow, Deployment(1, shadows.shadow_spec(spec, shadow)))
    propose, chosen = follower._proposer.propose, []
    follower._proposer.propose = lambda request, t: chosen.append(propose(request, t)) or chosen[-1]  # type: ignore
    due: dict[int, list[tuple[int, float]]] = {}
    truth, earned, decided = [], [], {}
    for t in range(LENGTH):
        now, means = 1_000_000 * (t + 1), means_at(t)
        event, body = live.decide({}, None, now)
        follower.apply(event)
        reward = float(rng.random() < means[body.action])
        due.setdefault(t + int(rng.integers(20)), []).append((event.number, reward))
        decided[event.number] = means[str(chosen[-1])], means[body.action]
        for ref, value in due.pop(t, []):
            follower.apply(live.learn(ref, {"reward": value}, now)[0])
            truth.append(decided[ref][0])
            earned.append(decided[ref][1])
    return follower.view(live.number), float(np.mean(truth)), float(np.mean(earned))


def coverage() -> None:
    for policy, samples in (("epsilon-greedy:epsilon=0.3", 0), ("exp3", 0), ("sliding-thompson:window=300", 200)):
        for shadow in (*SHADOWS, "uniform"):
            held = differences = given = 0
            widths, errors = [], []
            for seed in range(RUNS):
                view, truth, earned = run_once(policy, samples, shadow, seed)
                if view.estimate is None:
                    continue
                given += 1
                (low, high), (least, most) = view.estimate.ci95, view.difference.ci95
                held += low <= truth <= high
                differences += least <= truth - earned <= most
                widths.append(high - low)
                errors.append(view.estimate.mean - truth)
            if not given:
                print(f"{policy} / {shadow}: no estimate in {RUNS} runs")
                continue
            print(
                f"{policy} / {shadow}: {given} of {RUNS} runs have an estimate, bias {np.mean(errors):+.4f}, "
                f"width {np.mean(widths):.3f}; the interval holds the truth in {held / given:.1%}, "
                f"that of the difference in {differences / given:.1%}",
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
