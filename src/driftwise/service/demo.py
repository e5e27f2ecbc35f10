"""A demonstration: coins that drift, and a simulated client that decides and learns a few times a second.

Three policies meet the same coins. Rewards come late, after an exponential time of a second on average; some never
come, and the default is recorded for them. Now and then another coin becomes the best: after half a minute at first,
then ever more slowly (after a sixth of the time gone by), so that the page, which shows the whole life of a
deployment, always shows a handful of changes.
"""

import asyncio
import heapq
import logging
import random

import msgspec

from driftwise.errors import DriftwiseError
from driftwise.families.multi_armed.problem import MultiArmed
from driftwise.service.deployments import admin, decisions
from driftwise.service.deployments.engine import Engine
from driftwise.service.http.schemas.requests import DecideRequest, DeploymentSpec, LearnRequest
from driftwise.service.http.schemas.responses import DecideResponse

ARMS = ["penny", "dime", "nickel"]
HEADS = (0.8, 0.4, 0.2)  # of the best, the second and the worst coin
POLICIES = {
    "demo": "sliding-thompson:window=100",
    "demo-epsilon": "epsilon-greedy:epsilon=0.1,step=0.1",
    "demo-remembers-all": "thompson",
}
PER_SECOND = 8.0
SAMPLES = 200
FIRST_CHANGE_S, SLOWER = 30.0, 6.0
DELAY_S, LOST, REWARD_WINDOW_S = 1.0, 0.03, 20.0
LOOK = """\
A demonstration: three policies choose between three coins, and the best coin changes every half a minute or so.

  open   {url}/
  look   at demo: its choices follow the best coin, some ten seconds after each change
         at demo-remembers-all: it never forgets, and follows late or not at all

Rewards come late, and a few never. Nothing of yours is touched. Stop with Ctrl-C.
"""
DECISION = msgspec.json.Decoder(DecideResponse)
log = logging.getLogger("driftwise.service")


class Coins:
    """Three coins; which one is best changes with time."""

    def __init__(self, seed: int) -> None:
        self._luck = random.Random(seed)
        self._chances = list(HEADS)
        self._next_change = FIRST_CHANGE_S

    def at(self, seconds: float) -> list[float]:
        """The chance of heads of each coin, so long after the start; time only goes forward."""
        while seconds >= self._next_change:
            self._chances = [self._chances[-1], *self._chances[:-1]]
            self._next_change += max(FIRST_CHANGE_S, self._next_change / SLOWER)
        return self._chances

    def toss(self, arm: int, seconds: float) -> float:
        """1 for heads."""
        return float(self._luck.random() < self.at(seconds)[arm])

    def delay(self) -> float | None:
        """How long a reward takes; None when it never comes."""
        return None if self._luck.random() < LOST else self._luck.expovariate(1 / DELAY_S)


async def play(engine: Engine, *, per_second: float = PER_SECOND, seed: int = 1) -> None:
    """Create deployments, decide and send outcomes, until cancelled."""
    names = [await _create(engine, name, policy, seed) for name, policy in POLICIES.items()]
    loop = asyncio.get_running_loop()
    coins, start = Coins(seed), loop.time()
    coming: list[tuple[float, str, int, float]] = []  # rewards to send: time, deployment, decision, reward
    round = 0
    while True:
        now = loop.time() - start
        for name in names:
            try:
                _, body = await decisions.decide(engine, name, [DecideRequest()])
            except DriftwiseError:  # paused or retired by a visitor, or the disk is full: try again later
                continue
            decision = DECISION.decode(body)
            delay = coins.delay()
            if delay is not None:
                heads = coins.toss(ARMS.index(decision.action), now)
                heapq.heappush(coming, (now + delay, name, decision.id, heads))
        while coming and coming[0][0] <= now:
            _, name, id, heads = heapq.heappop(coming)
            try:
                await decisions.learn(engine, name, [LearnRequest(id=id, reward=heads)])
            except DriftwiseError as error:
                log.info("a reward of the demonstration failed", extra={"facts": {"why": str(error)}})
        round += 1
        await asyncio.sleep(max(0.0, start + round / per_second - loop.time()))


async def _create(engine: Engine, name: str, policy: str, seed: int) -> str:
    """Create a deployment, under another name where this one exists."""
    entries, number, free = engine.catalogue.entries, 1, name
    while free in entries:
        number += 1
        free = f"{name}-{number}"
    spec = DeploymentSpec(
        name=free,
        policy=policy,
        problem=MultiArmed([*ARMS]),
        seed=seed,
        reward_window=REWARD_WINDOW_S,
        propensity_samples=SAMPLES,
    )
    await admin.create(engine, spec)
    return free
