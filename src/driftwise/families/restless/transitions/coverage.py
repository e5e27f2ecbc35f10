"""Do the balls hold the truth? Of a run of `sliding-whittle`, episode by episode: who is inside, and how far off.

    inside    |P_true(. | s, a) - frequencies|_1 <= radius        of pairs that were seen; others may go anywhere
    Lemma 1   (Shisher, Tripathi, Chiang & Brinton): by (13) all pairs of all arms are inside in all episodes, with
              chance 1 - eta1 - eta2, where epsilon is the most a row moves in an episode

With `certain` a ball is a point, and only what was met exactly is inside; the error is of use all the same.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from driftwise.core.family import trace_for
from driftwise.core.loop import play
from driftwise.core.seeding import at, key
from driftwise.core.types import Floats, Problem
from driftwise.core.validation import cast
from driftwise.core.verbs import advance
from driftwise.families.restless.ground_truth import RestlessGroundTruth
from driftwise.families.restless.policies.sliding_whittle import ALL, LATELY, SlidingWhittle, ball_sizes
from driftwise.families.restless.structure import DRIFTING, KNOWN


class Coverage(NamedTuple):
    """At the start of every episode but the first: the share of pairs inside their balls, and the mean L1 error.

    Both are over pairs that were seen, of all arms, or of classes where counts are pooled; nan where there are none.
    """

    inside: Floats
    errors: Floats

    @property
    def everywhere(self) -> bool:
        """Whether no pair was ever outside: what Lemma 1 is about."""
        return bool((np.isnan(self.inside) | (self.inside == 1.0)).all())


def coverage(policy: SlidingWhittle, world: RestlessGroundTruth, horizon: int, seed: int) -> Coverage:
    """Play a run, and compare every ball with the transitions of its episode."""
    policy, problem, nature = cast(policy), world.problem(horizon), world.nature(horizon)
    state, rng = policy.init(problem), key(seed, "coverage")
    path, segments = world.segments(horizon, seed)
    transitions, results = world.checked(path), []
    for tape in world.tapes(horizon, seed, size=world.episode):
        slots = len(tape.levels.rows)
        play(policy, state, tape, nature, rng, trace_for(problem, tape.start, slots), horizon)
        begins = tape.start + slots
        if begins < horizon:
            advance(policy, state, begins, at(rng, begins))
            results.append(_inside_and_error(policy, state, problem, transitions[segments[begins // world.episode]]))
    inside, errors = np.array(results).reshape(-1, 2).T
    return Coverage(inside, errors)


def _inside_and_error(policy: SlidingWhittle, state: Any, problem: Problem, truth: Floats) -> tuple[float, float]:
    """The share inside and the mean error, at the start of an episode whose transitions are `truth`."""
    n_classes = len(problem.structure.rewards)
    sizes = np.array([(0.0, *ball_sizes(policy, state, own)) for own in range(n_classes)])[state.classes]
    kinds, views = problem.structure.kinds[state.classes], state.counts.views
    drifts = kinds == DRIFTING
    counts = np.where(drifts[..., None], views[:, LATELY], views[:, ALL])
    seen = counts.sum(axis=-1)
    judged = (kinds != KNOWN) & (seen > 0.0)
    if not judged.any():
        return math.nan, math.nan
    often = np.maximum(seen, 1.0)
    errors = np.abs(counts / often[..., None] - truth[state.classes]).sum(axis=-1)
    size = np.take_along_axis(sizes, kinds.reshape(len(kinds), -1), axis=1).reshape(kinds.shape)
    radii = np.sqrt(size / often) + np.where(drifts, state.slacks[state.classes][:, None, None], 0.0)
    return float((errors <= radii + 1e-12)[judged].mean()), float(errors[judged].mean())
