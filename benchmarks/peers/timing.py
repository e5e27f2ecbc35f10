"""What the peer scripts share: the world, the stopwatch and the JSON document.

Only the standard library is used, because this runs inside every peer's environment.

What makes the numbers comparable:

* A round is the library's own decision and its own update, nothing else. Each peer script writes
  the loop with the library's own calls, so no adapter stands between the clock and the library.
* The world costs nearly nothing: its uniform numbers and its means exist before the clock starts,
  and a reward is one comparison (the loop without a policy costs about 0.04 microseconds).
* Every library meets the same numbers, and the same policy with the same seed in each repeat.
* The clock is processor time, and starts after a warm-up as long as the window, so a sliding
  policy is timed with a full window. The reported number is the median of three repeats.
* A case that would take minutes gets fewer rounds (``SHORT``), and a shorter warm-up.
* What a library prints goes nowhere.
"""

from __future__ import annotations

import argparse
import contextlib
import gc
import json
import math
import operator
import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

try:  # beside us in a peer's environment, in our package in ours
    import settings  # type: ignore[import-not-found]
except ImportError:
    from benchmarks.peers import settings

REPEATS = 3
SEGMENTS = 4

#: Rounds and warm-up of the cases that are too slow for more: their cost grows with the rounds played.
SHORT = {"glr-kl-ucb-full": (400, 200), "practical-ad-switch": (200, 200)}

#: One round of the world: a uniform number and the mean reward of each arm.
Round = tuple[float, tuple[float, ...]]

#: One round of the linear world: noise, the mean reward of each arm, and the context in the form a library takes.
LinearRound = tuple[float, tuple[float, ...], Any]

#: The loop of a peer over rounds, with the library's own calls: the arms that were chosen.
Play = Callable[[Any, Iterable[Any]], list[int]]


@dataclass(frozen=True)
class Case:
    """A policy to time: how a fresh one is made, and what a reader must know about it.

    ``form`` and ``play`` are for policies that look at a context: the form a library takes it in, and the loop.
    """

    make: Callable[[], Any]
    note: str
    form: Callable[[list[float]], Any] | None = None
    play: Play | None = None


@dataclass(frozen=True)
class Options:
    """The command line that every peer script takes."""

    rounds: int
    arms: int
    window: int
    seed: int
    features: int = settings.FEATURES
    cases: tuple[str, ...] = ()
    tape: str = ""

    @property
    def horizon(self) -> int:
        """All rounds, the warm-up's too."""
        return self.window + self.rounds

    @property
    def changes(self) -> int:
        """How often the world changes, for policies that are tuned by it."""
        return SEGMENTS - 1

    def of(self, case: str) -> Options:
        """The same with as few rounds as this case can bear."""
        rounds, window = SHORT.get(case, (self.rounds, self.window))
        return replace(self, rounds=min(rounds, self.rounds), window=min(window, self.window))


def main(
    peer: str,
    *,
    version: str,
    cases: Callable[[Options], dict[str, Case]],
    play: Play,
) -> None:
    """Time every case, or play the tape with it, and print one JSON document.

    ``play(policy, rounds)`` plays those rounds and returns the arms that were chosen.
    """
    options = _options(peer)
    chosen = [name for name in cases(options) if not options.cases or name in options.cases]
    measured: dict[str, Any] = {}
    document: dict[str, Any] = {"peer": peer, "version": version, "cases": measured}
    for name in chosen:
        try:
            with Path(os.devnull).open("w") as nowhere, contextlib.redirect_stdout(nowhere):
                if options.tape:
                    measured[name] = play_tape(name, options, cases, play)
                    continue
                if not measured:
                    document |= _first_use(cases(options)[name], options, play)
                measured[name] = _time(cases(options)[name], options=options.of(name), play=play)
        except Exception as error:  # a peer that breaks in one case is still timed in the others
            print(f"peers: {peer} {name} left out, it raised {error!r}", file=sys.stderr)
    print(json.dumps(document | {"peak_bytes": peak_bytes()}))


def _options(peer: str) -> Options:
    parser = argparse.ArgumentParser(description=f"Time the policies of {peer}.")
    parser.add_argument("--rounds", type=int, default=3000)
    parser.add_argument("--arms", type=int, default=10)
    parser.add_argument("--window", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--features", type=int, default=settings.FEATURES)
    parser.add_argument("--cases", nargs="*", default=(), help="only these; all when none is named")
    parser.add_argument("--tape", default="", help="an archive of rewards to play instead; rounds and arms are its own")
    options = Options(**vars(parser.parse_args()))
    if options.rounds < SEGMENTS or options.arms < 2 or options.window < 1:
        parser.error(f"needs --rounds >= {SEGMENTS}, --arms >= 2 and --window >= 1")
    return options


def make_world(options: Options) -> tuple[list[Round], list[Round]]:
    """Return the warm-up rounds and the timed rounds.

    The means are spread evenly over 0.1..0.9 and move to other arms at each quarter of the timed
    rounds; the warm-up has the means of the first quarter.
    """
    spread = [0.1 + 0.8 * arm / (options.arms - 1) for arm in range(options.arms)]
    shift = max(1, options.arms // SEGMENTS)
    segments = []
    for segment in range(SEGMENTS):
        cut = segment * shift % options.arms
        segments.append(tuple(spread[cut:] + spread[:cut]))
    rng = random.Random(options.seed)
    warm_up = [(rng.random(), segments[0]) for _ in range(options.window)]
    timed = [(rng.random(), segments[SEGMENTS * index // options.rounds]) for index in range(options.rounds)]
    return warm_up, timed


def make_linear_world(options: Options, form: Callable[[list[float]], Any] = tuple) -> tuple[list[Any], list[Any]]:
    """Return the warm-up rounds and the timed rounds of a world in which every arm has a parameter of its own.

    The mean of an arm is the product of its parameter and the context, both random unit vectors.
    """
    rng = random.Random(options.seed)

    def direction() -> list[float]:
        numbers = [rng.gauss(0.0, 1.0) for _ in range(options.features)]
        length = math.hypot(*numbers)
        return [number / length for number in numbers]

    def one_round() -> LinearRound:
        context = direction()
        means = tuple(sum(map(operator.mul, context, each)) for each in parameters)
        return settings.LINEAR_NOISE * rng.gauss(0.0, 1.0), means, form(context)

    parameters = [direction() for _ in range(options.arms)]
    rounds = [one_round() for _ in range(options.horizon)]
    return rounds[: options.window], rounds[options.window :]


def _rounds(case: Case, options: Options) -> tuple[list[Any], list[Any]]:
    return make_linear_world(options, case.form) if case.form else make_world(options)


def _first_use(case: Case, options: Options, play: Play) -> dict[str, float]:
    """Processor seconds of this process until a first reward was learned: imports, making a policy, one round."""
    policy = case.make()
    (case.play or play)(policy, _rounds(case, replace(options, window=1, rounds=SEGMENTS))[0])
    return {"first_use_seconds": time.process_time()}


def play_tape(name: str, options: Options, cases: Callable[[Options], dict[str, Case]], play: Play) -> list[list[int]]:
    """The arms that a case chose in each run of a tape.

    A round of a tape looks like a round of the worlds above: noise that decides nothing, and a row of rewards in the
    place of the means, of which ``play`` reads the one of the arm it chose.
    """
    actions = []
    for run, (rewards, contexts) in enumerate(read_tape(options.tape)):
        rounds, arms = len(rewards), len(rewards[0])
        case = cases(replace(options, rounds=rounds - options.window, arms=arms, seed=run))[name]
        form = case.form
        played = (
            [(0.0, row, form(x)) for row, x in zip(rewards, contexts, strict=True)]
            if form
            else [(0.5, row) for row in rewards]
        )
        actions.append([int(arm) for arm in (case.play or play)(case.make(), played)])
    return actions


def read_tape(file: str) -> list[tuple[list[tuple[float, ...]], list[list[float]]]]:
    """For every run of the archive the rewards of all arms in each round, and the contexts, if it has any."""
    import numpy as np  # every peer's environment has it, but the clock of a first use need not pay for it

    with np.load(file) as archive:
        rewards = archive["rewards"].tolist()
        contexts = archive["contexts"].tolist() if "contexts" in archive else [[] for _ in rewards]
    return [([tuple(row) for row in each], rows) for each, rows in zip(rewards, contexts, strict=True)]


def peak_bytes() -> int:
    """The most memory this process ever had resident, where Linux tells it."""
    status = Path("/proc/self/status")
    lines = status.read_text().splitlines() if status.exists() else []
    return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM:"))


def _time(case: Case, *, options: Options, play: Play) -> dict[str, object]:
    warm_up, timed = _rounds(case, options)
    play, seconds = case.play or play, []
    for _ in range(REPEATS):
        policy = case.make()
        play(policy, warm_up)
        gc.collect()  # the garbage of the repeat before is not this one's cost
        start = time.process_time()
        chosen = play(policy, timed)
        seconds.append(time.process_time() - start)
    # A policy that is called wrongly often still runs, fast: chance level gives it away.
    share = statistics.fmean(means[arm] == max(means) for arm, (_, means, *_) in zip(chosen, timed, strict=True))
    learns = share > 1 / options.arms
    note = f"{case.note}; best arm in {share:.0%} of rounds"
    if not learns:
        note += " (NOT better than chance: it does not learn here)"
    return {
        "ns_per_round": statistics.median(seconds) / options.rounds * 1e9,
        "rounds": options.rounds,
        "learns": learns,
        "note": note,
    }
