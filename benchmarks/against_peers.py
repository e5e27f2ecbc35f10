"""`play` against other libraries: the same rounds, as `peers/timing.py` makes them, after the same warm-up.

Ours is measured right before and right after each run of a peer; a ratio is of neighbours, so a machine that slows
down slows both. The cost of entering compiled code, ten microseconds a run, is ours and is counted.
"""

import itertools
import statistics
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from benchmarks.counterparts import REMARKS, counterpart
from benchmarks.peers.measure import ROUNDS, measure
from benchmarks.peers.timing import Options, Round, make_world
from benchmarks.sizes import Sizes
from benchmarks.stopwatch import timed_play, timed_run
from benchmarks.table import TARGETS, Row, not_measured, row
from driftwise.core.types import Problem, new_trace
from driftwise.families.multi_armed.worlds.base import BernoulliTape
from driftwise.measure.levels import Levels

ARMS, WINDOW = 10, 1000
PLAIN = ("uniform", "epsilon-greedy", "ucb1", "kl-ucb", "thompson", "gaussian-thompson", "exp3")
DRIFTING = ("sliding-ucb", "discounted-ucb", "discounted-thompson", "cusum-ucb", "page-hinkley-ucb")
ONLY_SMPYBANDITS = ("sliding-kl-ucb", "exp3s", "m-ucb", "glr-kl-ucb", "glr-kl-ucb-full", "practical-ad-switch")
PEERS = {
    "smpybandits": (*PLAIN, *DRIFTING, *ONLY_SMPYBANDITS),
    "river": ("sliding-ucb", "sliding-thompson", "ucb1", "thompson"),
    "pymab": (*PLAIN, *DRIFTING, "sliding-thompson"),
}
SHORT_RUNS = 20


class Game:
    """One of our policies in the world of a peer, as a warm-up tape and a timed one."""

    def __init__(self, policy: Any, problem: Problem, tapes: Sequence[Any]) -> None:
        self.policy, self.problem, self.tapes = policy, problem, tapes

    def cost(self) -> float:
        """Nanoseconds per timed round, the median of short runs; the first, which may compile, is left out."""
        seconds = [timed_run(self.policy, self.problem, self.tapes)[1] for _ in range(SHORT_RUNS + 1)]
        return statistics.median(seconds[1:]) / len(self.tapes[1].noise) * 1e9

    def success(self) -> float:
        """In what share of the timed rounds the best arm was chosen; the peers are asked the same."""
        state = self.policy.init(self.problem)
        for tape in self.tapes:
            trace = new_trace(tape.start, len(tape.noise))
            timed_play(self.policy, state, tape, trace)
        means = tape.levels.table[tape.levels.rows]
        return float(np.mean(means[np.arange(len(means)), trace.actions] == means.max(axis=1)))


def armed_game(case: str, rounds: int) -> Game:
    """Our policy for a case, with the rounds the case has in the world of the peers."""
    options = Options(rounds=rounds, arms=ARMS, window=WINDOW, seed=0).of(case)
    return Game(counterpart(case, options), Problem(ARMS, horizon=options.horizon), as_tapes(*make_world(options)))


def rows(sizes: Sizes) -> list[Row]:
    """A row per peer and policy."""
    return [each for peer in PEERS for each in _peer(peer, sizes.peer_pairs)]


def _peer(peer: str, pairs: int) -> list[Row]:
    games = {case: armed_game(case, ROUNDS[peer]) for case in PEERS[peer]}
    return against(peer, games, {case: case for case in games}, pairs, rounds=ROUNDS[peer], arms=ARMS, window=WINDOW)


def skipped(why: str) -> list[Row]:
    """The rows that carry a target, unmeasured."""
    return [missing(peer, case, why) for peer, cases in PEERS.items() for case in cases if _key(peer, case) in TARGETS]


def _name(peer: str, case: str) -> str:
    return f"{case}, speed / {peer}'s"


def _key(peer: str, case: str) -> str:
    return f"{peer}: {case}"


def missing(peer: str, case: str, why: object) -> Row:
    """A row that could not be measured."""
    return not_measured(_name(peer, case), why, target=_key(peer, case))


def against(peer: str, games: Mapping[str, Game], asked: Mapping[str, str], pairs: int, **options: int) -> list[Row]:
    """A row per game of ours beside the case of the peer that is asked for it; ours before and after each of theirs."""
    ours = {name: [game.cost()] for name, game in games.items()}
    theirs: list[dict[str, Any]] = []
    for _ in range(pairs):
        try:
            theirs.append(measure(peer, cases=tuple(dict.fromkeys(asked.values())), **options))
        except RuntimeError as why:  # it could not be installed or started; the other peers still run
            print(f"bench: {peer} left out: {why}", file=sys.stderr)
            return [missing(peer, name, f"{peer} does not run here") for name in games]
        for name, game in games.items():
            ours[name].append(game.cost())
    return [
        _row(peer, name, games[name], ours[name], [_result(each, case, options["rounds"]) for each in theirs])
        if all(case in each["cases"] for each in theirs)  # else the peer has said why on stderr
        else missing(peer, name, f"{peer}'s breaks")
        for name, case in asked.items()
    ]


def _result(document: dict[str, Any], case: str, rounds: int) -> dict[str, Any]:
    """What a peer says of a case, its version, and how many rounds it was asked for."""
    said: dict[str, Any] = document["cases"][case]
    return said | {"version": document["version"], "asked": rounds}


def _row(peer: str, case: str, game: Game, ours: list[float], results: list[dict[str, Any]]) -> Row:
    beside = [(before + after) / 2 for before, after in itertools.pairwise(ours)]
    theirs = [result["ns_per_round"] for result in results]
    last = results[-1]
    return row(
        _name(peer, case),
        unit="ns/round",
        ours=statistics.median(beside),
        theirs=statistics.median(theirs),
        ratio=statistics.median(its / mine for its, mine in zip(theirs, beside, strict=True)),
        target=_key(peer, case),
        note="; ".join(_remarks(peer, case, last)),
        detail={
            "ours": f"{game.policy}; best arm in {game.success():.0%} of rounds",
            "peer": f"{peer} {last['version']}: {last['note']}",
            "rounds": last["rounds"],
        },
    )


def _remarks(peer: str, case: str, result: dict[str, Any]) -> list[str]:
    key = _key(peer, case)
    remarks = [REMARKS[key]] if key in REMARKS else []
    if result["rounds"] < result["asked"]:
        remarks.append(f"{result['rounds']} rounds only")
    if not result["learns"] and case != "uniform":
        remarks.append("theirs does not learn here")
    return remarks


def as_tapes(warm_up: list[Round], timed: list[Round]) -> list[BernoulliTape]:
    """The rounds of the peers' world as two consecutive tapes."""
    tapes, start = [], 0
    for part in (warm_up, timed):
        table = sorted({means for _, means in part})
        places = {means: place for place, means in enumerate(table)}
        levels = Levels(np.array(table), np.array([places[means] for _, means in part], np.int32))
        tapes.append(BernoulliTape(start, levels, np.array([uniform for uniform, _ in part])))
        start += len(part)
    return tapes
