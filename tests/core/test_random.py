"""Random numbers: the known words of SplitMix64, frozen vectors of our own, and the laws against SciPy's.

Seeds are fixed, so a run gives the same answer every time. Were the streams renewed, each statistical test here would
raise a false alarm with probability ALARM = 1e-5, and all of them together (fewer than 60) below 6e-4. A change that
moves a frozen vector changes the results of every study: show the numbers before and after, then renew the vectors.
"""

import math
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from driftwise.core.kernel import kernel
from driftwise.core.random import (
    EXPONENTIAL_EDGE,
    NORMAL_EDGE,
    beta,
    bits,
    branch,
    choice,
    exponential,
    fill_normal,
    fill_uniform,
    gamma,
    integers,
    normal,
    positive_uniform,
    stream,
    uniform,
)
from driftwise.core.seeding import at, key
from driftwise.core.types import Floats, Ints
from tests.fixtures import splitmix

ALARM = 1e-5
MANY = 200_000

FROZEN: dict[str, Any] = {
    "stream": [12058926934050108962, 8741144525309179051, 11576087136235975586],
    "branch": 6602851468335138130,
    "key": 15312174757386992360,
    "uniform": [0.7415648787718233, 0.1599103928769201, 0.27860113025513866, 0.34419071652363753],
    "positive uniform": [0.7415648787718234, 0.15991039287692016, 0.2786011302551387, 0.3441907165236376],
    "normal": [-1.0340455945289504, 0.530941639835746, 0.521004429469418, 0.48224381062722876],
    "exponential": [1.0526250812427194, 1.0359600501541562, 0.6522272965668021, 0.4925173973013264],
    "gamma 0.5": [1.0114362908329346, 0.14115763842703707, 0.12788489452325716, 0.5463691754816534],
    "gamma 2.5": [0.9731893917553953, 3.027604772937737, 2.200490332835477, 2.7922999632991825],
    "beta 0.5 3": [0.2225055782943849, 0.2777219077957304, 0.007381106434214124, 0.018134594145015243],
    "integers 1000": [741, 159, 278, 344, 38, 868, 218, 800],
    "choice": [3, 0, 1, 1, 0, 3, 1, 3],
}


@kernel
def fill_words(rng: Any, out: NDArray[np.uint64]) -> None:
    for i in range(len(out)):
        out[i], rng = bits(rng)


@kernel
def fill_uniforms(rng: Any, out: Floats) -> None:
    for i in range(len(out)):
        out[i], rng = uniform(rng)


@kernel
def fill_positive(rng: Any, out: Floats) -> None:
    for i in range(len(out)):
        out[i], rng = positive_uniform(rng)


@kernel
def fill_normals(rng: Any, out: Floats) -> None:
    for i in range(len(out)):
        out[i], rng = normal(rng)


@kernel
def fill_exponentials(rng: Any, out: Floats) -> None:
    for i in range(len(out)):
        out[i], rng = exponential(rng)


@kernel
def fill_gammas(rng: Any, shape: float, out: Floats) -> None:
    for i in range(len(out)):
        out[i], rng = gamma(shape, rng)


@kernel
def fill_betas(rng: Any, a: float, b: float, out: Floats) -> None:
    for i in range(len(out)):
        out[i], rng = beta(a, b, rng)


@kernel
def fill_integers(rng: Any, n: int, out: Ints) -> None:
    for i in range(len(out)):
        out[i], rng = integers(n, rng)


@kernel
def fill_choices(rng: Any, weights: Floats, out: Ints) -> None:
    for i in range(len(out)):
        out[i], rng = choice(weights, rng)


@kernel
def fill_second_words(rng: Any, out: NDArray[np.uint64]) -> None:
    """The second word of each round's stream."""
    for t in range(len(out)):
        own = stream(rng, t)
        _, own = bits(own)
        out[t], own = bits(own)


@kernel
def fill_first_normals(streams: NDArray[np.uint64], out: Floats) -> None:
    """The first normal of each stream."""
    for i in range(len(out)):
        out[i], _ = normal(streams[i])


def sample(fill: Any, *parameters: Any, size: int = MANY, seed: int = 0, dtype: Any = np.float64) -> NDArray[Any]:
    """Draws from one stream."""
    out = np.empty(size, dtype)
    fill(key(seed, "test", fill.__name__, *parameters), *parameters, out)
    return out


def fits(draws: Floats, cdf: Any) -> bool:
    """Kolmogorov and Smirnov see no difference between the draws and a law."""
    return bool(stats.kstest(draws, cdf).pvalue > ALARM)


def often_enough(hits: int, draws: int, chance: float) -> bool:
    """A count within its binomial bounds."""
    return bool(stats.binomtest(int(hits), draws, chance).pvalue > ALARM)


def even(counts: Ints, shares: Floats | None = None) -> bool:
    """Chi-square sees no difference between counts and shares (equal ones when none are given)."""
    expected = None if shares is None else shares * counts.sum()
    return bool(stats.chisquare(counts, expected).pvalue > ALARM)


# ---- known words ----


def test_words_are_those_of_splitmix64() -> None:
    """The reference output for seed 1234567 (Vigna's splitmix64.c)."""
    words = np.empty(5, np.uint64)
    fill_words(np.uint64(1234567), words)
    assert words.tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.parametrize("rng", [0, 1, 1234567, 2**63 - 1, 2**63, 2**64 - 1])
def test_streams_are_those_of_the_twin_in_whole_numbers(rng: int) -> None:
    for t in (0, 1, 2, 10**6, 2**40):
        own = splitmix.stream(rng, t)
        assert at(np.uint64(rng), t) == own
        assert np.uint64(branch(np.uint64(own))) == splitmix.branch(own)
        assert uniform(np.uint64(own))[0] == splitmix.uniform(own)
        word, moved_on = bits(np.uint64(own))
        assert (int(np.uint64(word)), int(np.uint64(moved_on))) == splitmix.step(own)


def test_frozen_streams() -> None:
    assert [int(at(np.uint64(42), t)) for t in range(3)] == FROZEN["stream"]
    assert int(np.uint64(branch(np.uint64(42)))) == FROZEN["branch"]
    assert int(key(0, "noise")) == FROZEN["key"]


@pytest.mark.parametrize(
    ("law", "fill", "parameters"),
    [
        ("uniform", fill_uniforms, ()),
        ("positive uniform", fill_positive, ()),
        ("normal", fill_normals, ()),
        ("exponential", fill_exponentials, ()),
        ("gamma 0.5", fill_gammas, (0.5,)),
        ("gamma 2.5", fill_gammas, (2.5,)),
        ("beta 0.5 3", fill_betas, (0.5, 3.0)),
    ],
)
def test_frozen_draws(law: str, fill: Any, parameters: tuple[float, ...]) -> None:
    draws = np.empty(4)
    fill(np.uint64(42), *parameters, draws)
    np.testing.assert_allclose(draws, FROZEN[law], rtol=1e-14)  # the last bit belongs to the platform's logarithm


def test_frozen_whole_numbers() -> None:
    numbers = np.empty(8, np.int64)
    fill_integers(np.uint64(42), 1000, numbers)
    assert numbers.tolist() == FROZEN["integers 1000"]
    fill_choices(np.uint64(42), np.array([1.0, 2.0, 0.0, 3.0]), numbers)
    assert numbers.tolist() == FROZEN["choice"]


# ---- ranges ----


@pytest.mark.parametrize("word", [0, 1, 2**11 - 1, 2**11, 2**63, 2**64 - 2**11, 2**64 - 1])
def test_uniforms_stay_in_their_range_whatever_the_word(word: int) -> None:
    """Also at the words that chance shows once in 2^64 draws: the stream before them is computed."""
    rng = np.uint64(splitmix.before(word))
    assert np.uint64(bits(rng)[0]) == word
    assert 0.0 <= uniform(rng)[0] < 1.0
    assert 0.0 < positive_uniform(rng)[0] < 1.0


@pytest.mark.parametrize("word", [0, 255, 2**8, 2**64 - 1, 2**64 - 256])
def test_ziggurats_are_finite_at_the_first_and_last_word_of_the_outer_layers(word: int) -> None:
    rng = np.uint64(splitmix.before(word))
    assert math.isfinite(normal(rng)[0])
    assert 0.0 <= exponential(rng)[0] < math.inf


# ---- laws ----


@pytest.mark.parametrize("fill", [fill_uniforms, fill_positive], ids=lambda fill: fill.__name__)
def test_uniforms_are_uniform(fill: Any) -> None:
    draws = sample(fill)
    assert fits(draws, stats.uniform.cdf)
    assert even(np.bincount((draws * 4096).astype(np.int64) % 64, minlength=64))  # middle bits too


def test_normals_are_normal() -> None:
    assert fits(sample(fill_normals), stats.norm.cdf)


def test_normals_beyond_the_ziggurat_are_normal() -> None:
    """One draw in 4,600 leaves the layers at 3.654: how many, on either side, and where they fall."""
    edge, draws = 3.7, sample(fill_normals, size=4_000_000)
    assert edge > NORMAL_EDGE
    beyond = draws[np.abs(draws) > edge]
    assert often_enough(len(beyond), len(draws), 2.0 * stats.norm.sf(edge))
    assert often_enough((beyond > 0.0).sum(), len(beyond), 0.5)
    assert fits(np.abs(beyond), lambda x: 1.0 - stats.norm.sf(x) / stats.norm.sf(edge))


def test_where_normals_fall_beyond_the_ziggurat() -> None:
    """Streams whose first word is known to leave the outermost layer, so that every draw comes from the tail."""
    words = np.random.default_rng(0).integers(15 * 2**49, 2**53, size=40_000)  # 0.934 of that layer lies inside
    streams = np.array([splitmix.before(int(word) << 11 | 1 << 8) for word in words], np.uint64)
    draws = np.empty(len(streams))
    fill_first_normals(streams, draws)
    assert draws.min() > NORMAL_EDGE
    assert fits(draws, lambda x: 1.0 - stats.norm.sf(x) / stats.norm.sf(NORMAL_EDGE))


def test_normals_between_layers_are_normal() -> None:
    """A wrong wedge shows as a dent of one part in a hundred: 4 million draws in 200 cells of equal chance."""
    draws = sample(fill_normals, size=4_000_000, seed=1)
    cells = np.minimum((stats.norm.cdf(draws) * 200).astype(np.int64), 199)
    assert even(np.bincount(cells, minlength=200))


def test_exponentials_are_exponential() -> None:
    assert fits(sample(fill_exponentials), stats.expon.cdf)
    draws = sample(fill_exponentials, size=4_000_000, seed=1)
    assert even(np.bincount((-np.expm1(-draws) * 200).astype(np.int64), minlength=200))


def test_exponentials_beyond_the_ziggurat_are_exponential() -> None:
    draws = sample(fill_exponentials, size=4_000_000)
    beyond = draws[draws > EXPONENTIAL_EDGE]
    assert often_enough(len(beyond), len(draws), math.exp(-EXPONENTIAL_EDGE))
    assert fits(beyond - EXPONENTIAL_EDGE, stats.expon.cdf)


@pytest.mark.parametrize("shape", [0.05, 0.5, 1.0, 2.5, 100.0, 1e6])
def test_gammas_are_gamma(shape: float) -> None:
    assert fits(sample(fill_gammas, shape), stats.gamma(shape).cdf)


@pytest.mark.parametrize(
    ("a", "b"), [(0.3, 0.3), (0.5, 3.0), (1.0, 1.0), (2.0, 5.0), (1.0, 40.0), (700.0, 2.0), (3e4, 5e4)]
)
def test_betas_are_beta(a: float, b: float) -> None:
    assert fits(sample(fill_betas, a, b), stats.beta(a, b).cdf)


def test_betas_near_zero_are_beta() -> None:
    """Over two hundred powers of ten."""
    draws, law = sample(fill_betas, 0.01, 0.03), stats.beta(0.01, 0.03)
    for x in (1e-200, 1e-50, 1e-3, 0.5, 0.999):
        assert often_enough((draws <= x).sum(), len(draws), law.cdf(x))


@pytest.mark.parametrize(("a", "b"), [(0.01, 0.03), (1e-3, 1e-3), (1e-4, 3e-4), (1e-8, 1e-8)])
def test_betas_of_tiny_shapes_fall_on_either_side_in_the_right_shares(a: float, b: float) -> None:
    """Both gammas underflow here, and a double near 1 is 1: which end, not where near it, is what can be asked."""
    draws, law = sample(fill_betas, a, b), stats.beta(a, b)
    assert ((draws >= 0.0) & (draws <= 1.0)).all()
    assert often_enough((draws <= 0.5).sum(), len(draws), law.cdf(0.5))


@pytest.mark.parametrize("n", [1, 2, 3, 7])
def test_integers_are_even_over_few(n: int) -> None:
    draws = sample(fill_integers, n, dtype=np.int64)
    counts = np.bincount(draws, minlength=n)
    assert len(counts) == n
    assert n == 1 or even(counts)


@pytest.mark.parametrize("n", [10**6, 3 << 30, 2**32 - 1, 2**32 - 2**20])
def test_integers_are_even_over_many(n: int) -> None:
    """In hundredths of the range, and by remainder: without rejection, 3 * 2^30 would favour some remainders."""
    draws = sample(fill_integers, n, dtype=np.int64)
    assert 0 <= draws.min() <= draws.max() < n
    assert even(np.bincount(draws * 100 // n, minlength=100), shares_of_hundredths(n))
    assert even(np.bincount(draws % 3, minlength=3), np.array([len(range(r, n, 3)) for r in range(3)]) / n)


def shares_of_hundredths(n: int) -> Floats:
    ends = np.array([-(-i * n // 100) for i in range(101)])
    return np.diff(ends) / n


@pytest.mark.parametrize("weights", [[0.0, 2.0, 0.0, 5.0, 3.0, 0.0], [1e-300, 3e-300], [4.0, 0.0, 1e16], [7.0]])
def test_choice_follows_the_weights_and_never_takes_a_zero(weights: list[float]) -> None:
    chances = np.array(weights) / sum(weights)
    out = np.empty(MANY, np.int64)
    fill_choices(key(3, "choice"), np.array(weights), out)
    counts = np.bincount(out, minlength=len(weights))
    assert (counts[chances == 0.0] == 0).all()
    likely = chances * MANY > 5.0
    assert likely.sum() == 1 or even(counts[likely], chances[likely])


@pytest.mark.parametrize("word", [0, 2**64 - 1])
def test_choice_takes_a_positive_weight_at_the_first_and_last_word(word: int) -> None:
    rng = np.uint64(splitmix.before(word))
    assert choice(np.array([0.0, 0.1, 0.2, 0.0]), rng)[0] == (1 if word == 0 else 2)


# ---- streams ----


def test_rounds_are_uncorrelated_with_their_neighbours() -> None:
    """First draws of neighbouring rounds, at several distances, and in pairs over a grid of cells."""
    draws = np.empty(1_000_000)
    fill_uniform(key(0, "neighbours"), 0, draws)
    assert fits(draws[:MANY], stats.uniform.cdf)
    for distance in (1, 2, 3, 64):
        assert abs(correlation(draws[:-distance], draws[distance:])) < correlation_bound(len(draws))
    cells = (draws * 32).astype(np.int64)
    assert even(np.bincount(cells[:-1] * 32 + cells[1:], minlength=1024))


def test_the_second_draw_of_a_round_is_not_the_first_of_another() -> None:
    rng, n = key(1, "walk"), 1_000_000
    second, first = np.empty(n, np.uint64), np.empty(n)
    fill_second_words(rng, second)
    fill_uniform(rng, 0, first)
    seconds: Floats = (second >> np.uint64(11)).astype(float) * 2.0**-53
    assert len(np.intersect1d(first, seconds)) == 0
    for shift in (0, 1, 2):
        assert abs(correlation(first[shift:], seconds[: n - shift])) < correlation_bound(n)


def test_neighbouring_seeds_give_uncorrelated_streams() -> None:
    one, other = np.empty((2, MANY))
    fill_uniform(np.uint64(7), 0, one)
    fill_uniform(np.uint64(8), 0, other)
    assert abs(correlation(one, other)) < correlation_bound(MANY)


def test_the_stream_of_a_reward_is_uncorrelated_with_that_of_its_decision() -> None:
    pairs = np.array([(splitmix.uniform(r), splitmix.uniform(splitmix.branch(r))) for r in range(20_000)])
    assert abs(correlation(*pairs.T)) < correlation_bound(len(pairs))


def correlation(one: Floats, other: Floats) -> float:
    return float(np.corrcoef(one, other)[0, 1])


def correlation_bound(n: int) -> float:
    return float(stats.norm.isf(ALARM / 2.0)) / math.sqrt(n)


@pytest.mark.parametrize("fill", [fill_uniform, fill_normal], ids=lambda fill: fill.__name__)
def test_blocks_join_without_a_seam(fill: Any) -> None:
    whole, rng = np.empty(1000), key(2, "seam")
    fill(rng, 0, whole)
    for size in (1, 7, 64, 999):
        blocks = [np.empty(min(size, 1000 - start)) for start in range(0, 1000, size)]
        for i, block in enumerate(blocks):
            fill(rng, i * size, block)
        np.testing.assert_array_equal(np.concatenate(blocks), whole)


def test_unlike_names_give_unlike_keys() -> None:
    names: list[tuple[Any, ...]] = [(), ("a",), ("b",), ("a", "b"), ("b", "a"), ("ab",), (1,), ("1",), (1, "a")]
    keys = {int(key(seed, *each)) for seed in (0, 1, 2**64) for each in names}
    assert len(keys) == 3 * len(names)
