"""An `Agent` in a live program, one decide and one learn at a time, against river's UCB doing the same.

What a restless agent costs beside its policy is measured with `round-robin`, which computes nothing.
"""

import gc
import itertools
import statistics
import time
from typing import Any

from benchmarks.peers.measure import ROUNDS, measure
from benchmarks.peers.timing import Options, Round, make_world
from benchmarks.scaling import chosen
from benchmarks.sizes import Sizes
from benchmarks.table import Row, row
from driftwise.agent import Agent
from driftwise.core.family import FAMILIES, family_of
from driftwise.families import POLICIES, MultiArmed, Restless, RoundRobin

ARMS, WINDOW = 10, 1000
MANY, ACTIVE, TURNS = 1000, 100, 200


def rows(sizes: Sizes, *, peers: bool) -> list[Row]:
    """A row per policy for arms without features; without peers, only our own speed."""
    rounds = ROUNDS["river"]
    warm_up, timed = make_world(Options(rounds=rounds, arms=ARMS, window=WINDOW, seed=0))
    names = [name for name in chosen(sizes) if FAMILIES["multi-armed"].accepts(family_of(POLICIES[name]()))]
    ours = [_all_rates(names, warm_up, timed)]
    theirs = []
    for _ in range(sizes.peer_pairs if peers else 0):
        document = measure("river", rounds=rounds, arms=ARMS, window=WINDOW, cases=("ucb1",))
        theirs.append(1e9 / document["cases"]["ucb1"]["ns_per_round"])
        ours.append(_all_rates(names, warm_up, timed))
    return [_row(name, [rates[name] for rates in ours], theirs) for name in names]


def _row(name: str, ours: list[float], theirs: list[float]) -> Row:
    beside = [(before + after) / 2 for before, after in itertools.pairwise(ours)]
    if not theirs:
        return row(f"agent {name}", unit="rounds/s", ours=ours[0], note="river not measured")
    return row(
        f"agent {name}, speed / river's ucb1",
        unit="rounds/s",
        ours=statistics.median(beside),
        theirs=statistics.median(theirs),
        ratio=statistics.median(mine / its for mine, its in zip(beside, theirs, strict=True)),
        target="agent",
    )


def _agent(name: str, rounds: int) -> Agent:
    return Agent(POLICIES[name](), MultiArmed(ARMS, horizon=WINDOW + rounds), seed=0)


def _all_rates(names: list[str], warm_up: list[Round], timed: list[Round]) -> dict[str, float]:
    return {name: statistics.median(_rate(name, warm_up, timed) for _ in range(3)) for name in names}


def _rate(name: str, warm_up: list[Round], timed: list[Round]) -> float:
    """Rounds per second of processor time."""
    agent = _agent(name, len(timed))
    _live(agent, warm_up)
    gc.collect()
    start = time.process_time()
    _live(agent, timed)
    return len(timed) / (time.process_time() - start)


def _live(agent: Any, rounds: list[Round]) -> None:
    decide, learn = agent.decide, agent.learn
    for uniform, means in rounds:
        decision = decide()
        learn(decision, 1.0 if uniform < means[decision.action] else 0.0)


def restless_row() -> Row:
    """Processor time of `learn` for one of many arms, outside the policy."""
    states = ["well", "ill"]
    agent = Agent(RoundRobin(), Restless(MANY, states=states, state_rewards=[1.0, 0.0], n_active=ACTIVE), seed=0)
    seen = [[states[(arm + turn) % 2] for arm in range(MANY)] for turn in range(2)]
    seconds = []
    for turn in range(TURNS):
        decision = agent.decide(states=seen[turn % 2])
        start = time.process_time()
        agent.learn(decision, states=seen[(turn + 1) % 2])
        seconds.append(time.process_time() - start)
    cost = statistics.median(seconds) / MANY * 1e6
    return row(f"agent round-robin, learn, {MANY:,} restless arms", unit="us/arm", ours=cost, target="agent: restless")
