"""Regret against other libraries on the same rewards, each in its own environment.

    python -m benchmarks.regret_against_peers [--horizon 3000] [--runs 5] [--peers NAME ...]

Two comparisons. At equal settings: the same algorithm with the same parameters (`peers/settings.py`), where both have
it; regrets should be equal but for luck, and a difference shows a slip on one side. At defaults: `auto`, which has
nothing to set, against what each library offers without setting anything, or what its documentation starts with.

Every pair plays the same runs, so differences are taken run by run. A side is better where the 95 % interval of the
mean difference, by Student's t, leaves out zero.
"""

import argparse
import itertools
import json
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from scipy.stats import t as student

from benchmarks.counterparts import counterpart
from benchmarks.peers.measure import ask
from benchmarks.peers.timing import Options
from benchmarks.report import table_of
from benchmarks.sizes import FULL, Sizes
from benchmarks.table import Row, not_measured, row
from benchmarks.tapes import DrawnWorld, draw_arms, draw_contexts, play
from driftwise.core.types import Floats
from driftwise.families import Abrupt, Auto, LinThompson, RandomWalk, Sinusoidal, Stationary

ARMS, PHASES, WINDOW = 5, 5, 500
LINEAR = "contexts"

#: Cases that both sides have, by peer; `peers/<peer>_peer.py` says how it calls them.
EQUAL: dict[str, tuple[str, ...]] = {
    "smpybandits": ("ucb1", "kl-ucb", "thompson", "sliding-ucb", "discounted-ucb", "discounted-thompson"),
    "pymab": (
        *("ucb1", "kl-ucb", "thompson", "sliding-ucb", "sliding-thompson", "discounted-ucb", "discounted-thompson"),
        "lin-thompson",
    ),
    "river": ("ucb1", "thompson", "sliding-thompson"),
    "mabwiser": ("ucb1", "thompson", "lin-thompson"),
    "bayesianbandits": ("discounted-thompson", "lin-thompson"),
    "contextualbandits": ("lin-thompson",),
}

#: What a peer plays without settings, in worlds of arms and in worlds of contexts.
DEFAULTS: dict[str, tuple[str, ...]] = {
    "smpybandits": ("default", "for drift"),
    "pymab": ("default", "for drift", "linear default"),
    "river": ("default", "linear default"),
    "mabwiser": ("default", "linear default"),
    "bayesianbandits": ("default", "linear default"),
    "vowpalwabbit": ("default", "for drift", "linear default", "linear for drift", "square-cb"),
    "contextualbandits": ("linear default",),
}
#: A peer that takes milliseconds a round plays the first runs only.
FEW_RUNS = {"bayesianbandits": 3}
PEERS = tuple(dict.fromkeys([*EQUAL, *DEFAULTS]))

Regrets = dict[str, Floats]  # by case, an entry per run


class Duel(NamedTuple):
    """Ours and theirs in one world, run by run."""

    world: str
    case: str
    peer: str
    ours: Floats
    theirs: Floats

    @property
    def winner(self) -> str:
        """The side that is better beyond luck, or nobody."""
        gaps = self.theirs - self.ours
        half_width = gaps.std(ddof=1) / np.sqrt(len(gaps)) * student.ppf(0.975, len(gaps) - 1)
        if abs(gaps.mean()) <= half_width:
            return ""
        return "ours" if gaps.mean() > 0 else self.peer


def worlds(horizon: int, runs: int) -> dict[str, DrawnWorld]:
    """Four worlds of arms and one of contexts."""
    arms = {
        "stationary": Stationary(n_arms=ARMS),
        "abrupt": Abrupt(n_arms=ARMS, phases=PHASES),
        "sinusoidal": Sinusoidal(n_arms=ARMS),
        "random-walk": RandomWalk(n_arms=ARMS),
    }
    drawn = {name: draw_arms(world, horizon, runs) for name, world in arms.items()}
    return drawn | {LINEAR: draw_contexts(ARMS, PHASES, horizon, runs)}


def rows(sizes: Sizes) -> list[Row]:
    """Everybody in every world that fits."""
    return compare(worlds(sizes.regret_rounds, sizes.regret_runs), PEERS)


def skipped(why: str) -> list[Row]:
    """The rows unmeasured."""
    return [not_measured(f"regret, {peer}'s / ours", why) for peer in PEERS]


def compare(drawn: Mapping[str, DrawnWorld], peers: Iterable[str], out: Path | None = None) -> list[Row]:
    """A row per peer and algorithm at equal settings, and a row per peer, default and world.

    The rows so far are written to `out` after every world of every peer.
    """
    equal: list[Duel] = []
    defaults: list[Duel] = []
    failures: list[Row] = []
    ours = OurRegrets()

    def rows_so_far() -> list[Row]:
        return [*_equal_rows(equal), *_default_rows(defaults), *failures]

    for peer, (name, world) in itertools.product(peers, drawn.items()):
        asked = _asked(peer, name)
        if not asked:
            continue
        try:
            regrets = _regrets(peer, asked, world.first(FEW_RUNS.get(peer)))
        except RuntimeError as why:  # it could not be installed or started; the others still play
            print(f"bench: {peer} left out of {name}: {why}", file=sys.stderr)
            failures.append(not_measured(f"regret, {name}, {peer}'s / ours", f"{peer} does not run here"))
            continue
        for case, theirs in regrets.items():
            among, mine = (equal, case) if case in EQUAL.get(peer, ()) else (defaults, "auto")
            among.append(Duel(name, case, peer, ours.of(mine, name, world)[: len(theirs)], theirs))
        if out:
            document = [each._asdict() for each in rows_so_far()]
            out.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
    return rows_so_far()


def _asked(peer: str, world: str) -> list[str]:
    """The cases of a peer that fit a world."""
    every = [*EQUAL.get(peer, ()), *DEFAULTS.get(peer, ())]
    return [case for case in every if _is_linear(case) == (world == LINEAR)]


def _is_linear(case: str) -> bool:
    return case.startswith("lin") or case == "square-cb"


def _regrets(peer: str, cases: list[str], world: DrawnWorld) -> Regrets:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tape.npz"
        world.write(file)
        words = ("--tape", str(file), "--window", str(WINDOW), "--features", str(_features(world)))
        document = ask(peer, *words, "--cases", *cases)
    return {case: world.regret(np.array(actions)) for case, actions in document["cases"].items()}


def _features(world: DrawnWorld) -> int:
    return 1 if world.contexts is None else world.contexts.shape[2]


class OurRegrets:
    """Our regrets, each policy played once per world."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], Floats] = {}

    def of(self, case: str, name: str, world: DrawnWorld) -> Floats:
        """By run."""
        if (case, name) not in self._known:
            self._known[case, name] = world.regret(play(our_policy(case, world.rewards.shape[1]), world))
        return self._known[case, name]


def our_policy(case: str, horizon: int) -> Any:
    """Ours for a case: the counterpart with equal settings, or `auto`."""
    if case == "auto":
        return Auto()
    if case == "lin-thompson":
        return LinThompson()
    return counterpart(case, Options(rounds=horizon - WINDOW, arms=ARMS, window=WINDOW, seed=0))


def _equal_rows(duels: list[Duel]) -> list[Row]:
    """A row per peer and algorithm, its worlds together."""
    pairs = dict.fromkeys((duel.peer, duel.case) for duel in duels)
    return [
        _row(f"regret, {case}, {peer}'s / ours", [d for d in duels if (d.peer, d.case) == (peer, case)])
        for peer, case in pairs
    ]


def _default_rows(duels: list[Duel]) -> list[Row]:
    """A row per peer, default and world: theirs over the regret of `auto`."""
    return [_row(f"regret, {duel.world}, {duel.peer} {duel.case} / auto", [duel]) for duel in duels]


def _row(name: str, duels: list[Duel]) -> Row:
    ours, theirs = (float(np.mean([getattr(d, side).mean() for d in duels])) for side in ("ours", "theirs"))
    wins = {side: [d.world for d in duels if d.winner == side] for side in ("ours", duels[0].peer)}
    note = "; ".join(f"{side} better in {', '.join(where)}" for side, where in wins.items() if where)
    by_world = {d.world: {"ours": d.ours.tolist(), "theirs": d.theirs.tolist()} for d in duels}
    return row(name, unit="regret", ours=ours, theirs=theirs, ratio=theirs / ours, note=note, detail=by_world)


def _main() -> None:
    parser = argparse.ArgumentParser(description="Regret against other libraries on the same rewards.")
    parser.add_argument("--horizon", type=int, default=FULL.regret_rounds)
    parser.add_argument("--runs", type=int, default=FULL.regret_runs)
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS, metavar="PEER")
    parser.add_argument("--out", type=Path, help="a JSON file for the regrets by run, written as they come")
    options = parser.parse_args()
    if options.horizon <= WINDOW or options.runs < 2:
        parser.error(f"needs --horizon above {WINDOW} and --runs of at least 2")
    found = compare(worlds(options.horizon, options.runs), options.peers, options.out)
    Console(width=None if sys.stdout.isatty() else 150).print(table_of(found))


if __name__ == "__main__":
    _main()
