"""The worlds that `auto` is measured in: two dozen it was developed on, and a dozen it was not.

What each one is: K arms, the noise of a reward around its mean, and the course of the means (`courses.py`).
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from benchmarks.auto import courses
from benchmarks.auto.courses import Rng
from driftwise.core.seeding import generator
from driftwise.core.types import Floats
from driftwise.families.multi_armed.worlds.base import ArmedWorld, GaussianTape
from driftwise.measure.levels import Drift, Levels

BERNOULLI = 0.0  # a noise of 0 means rewards of 0 and 1


class Course(NamedTuple):
    """One world: its arms, noise, law of the noise, and course; `still` where nothing ever drifts."""

    arms: int
    noise: float
    means: Callable[[Rng], Floats]
    law: str = "gaussian"
    still: bool = False


DEVELOPMENT: dict[str, Course] = {
    "trend4": Course(4, 0.05, lambda rng: courses.knots(rng, 4, 8_000)),
    "trend3": Course(3, 0.4, lambda rng: courses.knots(rng, 3, 1_500)),
    "slow3": Course(3, 0.1, lambda rng: courses.sines(rng, 3, 80_000, 0.4)),
    "stat3": Course(3, 1.0, lambda rng: courses.constant(rng, np.array([10.0, 10.3, 10.5])), still=True),
    "stat20B": Course(20, BERNOULLI, lambda rng: courses.constant(rng, np.linspace(0.2, 0.8, 20)), still=True),
    "click6": Course(6, BERNOULLI, lambda rng: courses.constant(rng, np.linspace(0.01, 0.045, 6)), still=True),
    "clickdr6": Course(6, BERNOULLI, lambda rng: 0.03 * np.exp(courses.ou(rng, 6, 20_000, 0.5))),
    "rw4": Course(4, 0.3, lambda rng: courses.walk(rng, 4, 0.01)),
    "rwslow8": Course(8, 0.5, lambda rng: courses.walk(rng, 8, 0.0015)),
    "ou5": Course(5, 0.2, lambda rng: courses.ou(rng, 5, 400, 0.25)),
    "ou3slow": Course(3, 1.0, lambda rng: courses.ou(rng, 3, 10_000, 0.5)),
    "season3": Course(3, 0.3, lambda rng: courses.sines(rng, 3, 2_000, 0.4)),
    "season6B": Course(6, BERNOULLI, lambda rng: courses.sines(rng, 6, 30_000, 0.3)),
    "abr10K3": Course(3, 0.5, lambda rng: courses.jumps(rng, 3, 10)),
    "abr100K8": Course(8, 0.3, lambda rng: courses.jumps(rng, 8, 100)),
    "abr1000K3": Course(3, 0.2, lambda rng: courses.jumps(rng, 3, 1_000)),
    "local40K6": Course(6, 0.3, lambda rng: courses.local_jumps(rng, 6, 40)),
    "local400B": Course(5, BERNOULLI, lambda rng: courses.local_jumps(rng, 5, 400)),
    "swap2": Course(2, 0.5, courses.swap),
    "riser5": Course(5, 0.3, lambda rng: courses.risers(rng, 5)),
    "heavy4": Course(4, 0.5, lambda rng: courses.jumps(rng, 4, 20), law="student"),
    "abr20K50": Course(50, 0.3, lambda rng: courses.jumps(rng, 50, 20)),
    "mixed4": Course(4, 0.3, lambda rng: courses.half_still(rng, 4, 0.01)),
    "rot5": Course(5, 0.2, lambda rng: courses.sawtooth(rng, 5, 2_500, 1_500)),
}

HELD_OUT: dict[str, Course] = {
    "still7": Course(7, 0.5, lambda rng: courses.constant(rng, -5.0 + np.linspace(0.0, 1.2, 7)), still=True),
    "still30B": Course(30, BERNOULLI, lambda rng: courses.constant(rng, np.linspace(0.05, 0.5, 30)), still=True),
    "clicks12": Course(12, BERNOULLI, lambda rng: 0.01 * np.exp(courses.ou(rng, 12, 50_000, 0.7)).clip(0, 30)),
    "walk12": Course(12, 1.0, lambda rng: courses.walk(rng, 12, 0.02, high=4.0)),
    "logit6": Course(6, BERNOULLI, lambda rng: courses.logistic(courses.ou(rng, 6, 2_500, 1.2))),
    "daily5": Course(
        5, 0.4, lambda rng: courses.sines(rng, 5, 1_440, 0.3) + courses.sines(rng, 5, 10_080, 0.3, centre=0.0)
    ),
    "jumps15": Course(15, 0.15, lambda rng: courses.jumps(rng, 15, 40)),
    "jumps4B": Course(4, BERNOULLI, lambda rng: courses.jumps(rng, 4, 300, 0.1, 0.9)),
    "local12": Course(12, 0.25, lambda rng: courses.local_jumps(rng, 12, 100)),
    "jumpwalk5": Course(5, 0.2, lambda rng: courses.walk(rng, 5, 0.002) + courses.jumps(rng, 5, 25)),
    "lines10": Course(10, 0.1, lambda rng: courses.knots(rng, 10, 20_000)),
    "fading4": Course(4, 0.4, lambda rng: courses.fading_leader(rng, 4, 30_000)),
    "skewed3": Course(3, 0.6, lambda rng: courses.walk(rng, 3, 0.004), law="skewed"),
}

COURSES = DEVELOPMENT | HELD_OUT


@dataclass(frozen=True, kw_only=True)
class CourseWorld(ArmedWorld):
    """The world called `name`; `sd` is the true noise, and what policies with a noise are given."""

    name: str = "rw4"

    @property
    def course(self) -> Course:
        """What it is."""
        return COURSES[self.name]

    def drift(self, horizon: int, seed: int) -> Drift:
        """The course of the means, from its first round on."""
        means = self.course.means(generator(seed, "means", self.name))
        return lambda start, stop: Levels.of_each_round(means[start:stop])

    def tapes(self, horizon: int, seed: int, size: int | None = None) -> Iterator[Any]:
        """Blocks of rounds; noise of another law than the normal is drawn for the whole run."""
        rng = generator(seed, "law")
        for tape in super().tapes(horizon, seed, size):
            if self.course.law == "gaussian":
                yield tape
            else:
                yield GaussianTape(tape.start, tape.levels, _noise(self.course.law, rng, len(tape.noise)), tape.sd)


def _noise(law: str, rng: Rng, rounds: int) -> Floats:
    """Noise of variance one."""
    if law == "student":
        return np.asarray(rng.standard_t(2.5, rounds) / np.sqrt(5.0))
    return np.asarray(rng.exponential(1.0, rounds) - 1.0)


def world_of(name: str) -> CourseWorld:
    """The world called `name`."""
    course = COURSES[name]
    if course.noise == BERNOULLI:
        return CourseWorld(name=name, n_arms=course.arms, rewards="bernoulli")
    return CourseWorld(name=name, n_arms=course.arms, rewards="gaussian", sd=course.noise)
