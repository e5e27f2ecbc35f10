"""Regret against other libraries on the same rewards, each in its own environment.

    python -m benchmarks.regret_against_peers [--horizon 3000] [--runs 5] [--peers NAME ...] [--file FILE]

Two comparisons. At equal settings: the same algorithm with the same parameters (`peers/settings.py`), where both have
it; regrets should be equal but for luck, and a difference shows a slip on one side. At defaults: `auto`, which has
nothing to set, against what each library offers without setting anything, or what its documentation starts with.

Every pair plays the same runs, so differences are taken run by run. A side is better where the 95 % interval of the
mean difference, by Student's t, leaves out zero.

With `--file` every regret is written as soon as it is known, and one that is there is not played again: a command that
was stopped goes on, and another peer adds its own. Delete the file when worlds or players have changed.
"""

import argparse
import itertools
import sys
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from scipy.stats import t as student

from benchmarks.counterparts import counterpart
from benchmarks.peers.environments import python_of
from benchmarks.peers.measure import ask
from benchmarks.peers.regret_file import RegretFile
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
FEW_RUNS = {"bayesianbandits": 5}
PEERS = tuple(dict.fromkeys([*EQUAL, *DEFAULTS]))


class Duel(NamedTuple):
    """Ours and theirs in one world, run by run."""

    world: str
    case: str
    peer: str
    ours: Floats
    theirs: Floats

    @property
    def half_width(self) -> float:
        """Of the 95 % interval of the mean difference."""
        gaps = self.theirs - self.ours
        return float(gaps.std(ddof=1) / np.sqrt(len(gaps)) * student.ppf(0.975, len(gaps) - 1))

    @property
    def winner(self) -> str:
        """The side that is better beyond luck, or nobody."""
        gap = (self.theirs - self.ours).mean()
        if abs(gap) <= self.half_width:
            return ""
        return "ours" if gap > 0 else self.peer


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
    return compare(worlds(sizes.regret_rounds, sizes.regret_runs), PEERS, RegretFile(None, sizes.regret_rounds))


def skipped(why: str) -> list[Row]:
    """The rows unmeasured."""
    return [not_measured(f"regret, {peer}'s / ours", why) for peer in PEERS]


def compare(drawn: Mapping[str, DrawnWorld], peers: Iterable[str], regrets: RegretFile) -> list[Row]:
    """A row per peer and algorithm at equal settings, and a row per peer, default and world."""
    equal: list[Duel] = []
    defaults: list[Duel] = []
    failures: list[Row] = []
    for peer in peers:
        try:
            python_of(peer)
        except RuntimeError as why:  # it cannot be installed; the others still play
            print(f"bench: {peer} left out: {why}", file=sys.stderr)
            failures.append(not_measured(f"regret, {peer}'s / ours", f"{peer} does not run here"))
            continue
        for name, case in itertools.product(drawn, _cases(peer)):
            if _is_linear(case) != (name == LINEAR):
                continue
            among, mine = (equal, case) if case in EQUAL.get(peer, ()) else (defaults, "auto")
            try:
                among.append(_duel(peer, case, mine, name, drawn[name], regrets))
            except RuntimeError as why:
                print(f"bench: {peer} {case} left out of {name}: {why}", file=sys.stderr)
                failures.append(not_measured(f"regret, {name}, {peer} {case} / {mine}", f"{peer}'s breaks"))
    return [*_equal_rows(equal), *_default_rows(defaults), *failures]


def _cases(peer: str) -> list[str]:
    return [*EQUAL.get(peer, ()), *DEFAULTS.get(peer, ())]


def _is_linear(case: str) -> bool:
    return case.startswith("lin") or case == "square-cb"


def _duel(peer: str, case: str, mine: str, name: str, world: DrawnWorld, regrets: RegretFile) -> Duel:
    """Both sides in one world, played as far as their regrets are not known."""
    few = world.first(FEW_RUNS.get(peer))
    theirs = regrets.of(name, f"{peer} {case}", len(few.rewards), lambda: _their_regret(peer, case, few))
    ours = regrets.of(name, f"driftwise {mine}", len(world.rewards), lambda: _our_regret(mine, world))
    return Duel(name, case, peer, ours[: len(theirs)], theirs)


def _their_regret(peer: str, case: str, world: DrawnWorld) -> Floats:
    """By run."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "tape.npz"
        world.write(file)
        words = ("--tape", str(file), "--window", str(WINDOW), "--features", str(_features(world)))
        played = ask(peer, *words, "--cases", case)["cases"]
    if case not in played:  # the peer has said why on stderr
        raise RuntimeError(f"{peer} did not play {case} to its end")
    return world.regret(np.array(played[case]))


def _features(world: DrawnWorld) -> int:
    return 1 if world.contexts is None else world.contexts.shape[2]


def _our_regret(case: str, world: DrawnWorld) -> Floats:
    """By run."""
    return world.regret(play(our_policy(case, world.rewards.shape[1]), world))


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
    """Theirs over ours, the worlds together; the interval is that of the difference, as a share of ours."""
    case, peer = duels[0].case, duels[0].peer
    both = Duel("all", case, peer, *(np.mean([getattr(d, side) for d in duels], axis=0) for side in ("ours", "theirs")))
    ours, theirs = float(both.ours.mean()), float(both.theirs.mean())
    wins = {side: [d.world for d in duels if d.winner == side] for side in ("ours", peer)}
    better = [f"{side} better in {', '.join(where)}" for side, where in wins.items() if where]
    note = "; ".join([f"+- {both.half_width / ours:.2g}, {len(both.ours)} runs", *better])
    by_world = {d.world: {"ours": d.ours.tolist(), "theirs": d.theirs.tolist()} for d in duels}
    return row(name, unit="regret", ours=ours, theirs=theirs, ratio=theirs / ours, note=note, detail=by_world)


def _main() -> None:
    parser = argparse.ArgumentParser(description="Regret against other libraries on the same rewards.")
    parser.add_argument("--horizon", type=int, default=FULL.regret_rounds)
    parser.add_argument("--runs", type=int, default=FULL.regret_runs)
    parser.add_argument("--peers", nargs="*", default=PEERS, choices=PEERS, metavar="PEER")
    parser.add_argument("--file", type=Path, help="a JSON file of regrets by run: written as they come, and continued")
    options = parser.parse_args()
    if options.horizon <= WINDOW or options.runs < 2:
        parser.error(f"needs --horizon above {WINDOW} and --runs of at least 2")
    try:
        regrets = RegretFile(options.file, options.horizon)
    except ValueError as error:
        parser.error(str(error))
    found = compare(worlds(options.horizon, options.runs), options.peers, regrets)
    Console(width=None if sys.stdout.isatty() else 150).print(table_of("regret", found))


if __name__ == "__main__":
    _main()
