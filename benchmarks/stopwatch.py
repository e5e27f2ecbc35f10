"""Processor time of compiled runs. Only `play` is on the clock: tapes, states and traces exist before it starts."""

import time
from collections.abc import Iterable
from typing import Any

import numpy as np

from driftwise.core.family import check_fit
from driftwise.core.play import play
from driftwise.core.types import Problem, Trace, new_trace

RNG = np.uint64(5)


def timed_play(policy: Any, state: Any, tape: Any, trace: Trace, nature: Any = ()) -> float:
    """Seconds of this thread's processor time to play a whole tape."""
    horizon = tape.start + len(tape.noise)
    start = time.thread_time()
    play(policy, state, tape, nature, RNG, trace, horizon)
    return time.thread_time() - start


def timed_run(policy: Any, problem: Problem, tapes: Iterable[Any]) -> list[float]:
    """Seconds for each of the consecutive tapes of one run, from a fresh state; `ParameterError` for a misfit."""
    check_fit(policy, problem)
    state = policy.init(problem)
    return [timed_play(policy, state, tape, new_trace(tape.start, len(tape.noise))) for tape in tapes]
