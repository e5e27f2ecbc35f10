"""Random numbers that are a function of (seed, round): nothing to store, any decision can be replayed.

SplitMix64 (Steele, Lea & Flood 2014): the state is a counter, the output a mix of it. A stream is one `uint64`;
every draw takes it and returns `(value, stream)`, so inside a loop it lives in a register. Passing numpy's
Generator into a kernel costs 35 microseconds a call; this costs nothing.

Normals and exponentials by the ziggurat with 256 layers (Marsaglia & Tsang 2000), gammas by Marsaglia & Tsang's
squeeze (2000), beta as a ratio of gammas, integers by Lemire's multiply and reject (2019).
"""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats

GOLDEN = np.uint64(0x9E3779B97F4A7C15)  # SplitMix64's step: 2^64 / golden ratio, odd
ROUND = np.uint64(0xD1342543DE82EF95)  # a second odd step, so rounds and draws never walk in line
BRANCH = np.uint64(0xA0761D6478BD642F)  # tells the stream of an update from that of its decision
MIX_1 = np.uint64(0xBF58476D1CE4E5B9)
MIX_2 = np.uint64(0x94D049BB133111EB)
ONE, TWO, EIGHT, ELEVEN = np.uint64(1), np.uint64(2), np.uint64(8), np.uint64(11)
U27, U30, U31, U32 = np.uint64(27), np.uint64(30), np.uint64(31), np.uint64(32)
LAYER, LOW_32 = np.uint64(255), np.uint64(0xFFFFFFFF)
ULP = 2.0**-53


def _layers(
    edge: float, area: float, density: Callable[[float], float], inverse: Callable[[float], float]
) -> tuple[Floats, Floats]:
    """Right edges of 256 layers of equal area under a falling density, and the density there."""
    x = np.zeros(257)
    x[0], x[1] = area / density(edge), edge
    for i in range(2, 256):
        x[i] = inverse(area / x[i - 1] + density(x[i - 1]))
    return x, np.array([density(each) for each in x])


NORMAL_EDGE, NORMAL_AREA = 3.6541528853610088, 0.00492867323399
EXPONENTIAL_EDGE, EXPONENTIAL_AREA = 7.69711747013104972, 0.0039496598225815571993
NORMAL_X, NORMAL_F = _layers(
    NORMAL_EDGE, NORMAL_AREA, lambda x: math.exp(-0.5 * x * x), lambda y: math.sqrt(-2.0 * math.log(y))
)
EXPONENTIAL_X, EXPONENTIAL_F = _layers(
    EXPONENTIAL_EDGE, EXPONENTIAL_AREA, lambda x: math.exp(-x), lambda y: -math.log(y)
)


@kernel
def mix(z: Any) -> Any:
    """Scramble 64 bits; a bijection."""
    z = (z ^ (z >> U30)) * MIX_1
    z = (z ^ (z >> U27)) * MIX_2
    return z ^ (z >> U31)


@kernel
def stream(rng: Any, t: int) -> Any:
    """The stream of round `t`."""
    return mix(np.uint64(rng) + np.uint64(t) * ROUND)


@kernel
def branch(rng: Any) -> Any:
    """A stream beside `rng`, for what is drawn when the reward comes."""
    return mix(np.uint64(rng) ^ BRANCH)


@kernel
def bits(rng: Any) -> Any:
    """Sixty-four random bits, and the stream moved on."""
    rng = np.uint64(rng) + GOLDEN  # a stream that passed through Python comes back as a signed number
    return mix(rng), rng


@kernel
def uniform(rng: Any) -> tuple[float, Any]:
    """Uniform on [0, 1), 53 bits."""
    word, rng = bits(rng)
    return (word >> ELEVEN) * ULP, rng


@kernel
def positive_uniform(rng: Any) -> tuple[float, Any]:
    """Uniform on (0, 1): its logarithm is always finite."""
    word, rng = bits(rng)
    return ((word >> ELEVEN) | ONE) * ULP, rng


@kernel
def normal(rng: Any) -> tuple[float, Any]:
    """Standard normal."""
    while True:
        word, rng = bits(rng)
        layer = word & LAYER
        x = (word >> ELEVEN) * ULP * NORMAL_X[layer]
        if x >= NORMAL_X[layer + ONE]:
            x, rng = _normal_edge(x, layer, rng)
        if x >= 0.0:
            return (x if (word >> EIGHT) & ONE else -x), rng


@kernel(inline=False)
def _normal_edge(x: float, layer: Any, rng: Any) -> tuple[float, Any]:
    """The one draw in a hundred that falls beside a layer's rectangle; -1 means draw again."""
    if layer == 0:
        while True:
            u, rng = positive_uniform(rng)
            v, rng = positive_uniform(rng)
            beyond = -math.log(u) / NORMAL_EDGE
            if -2.0 * math.log(v) > beyond * beyond:
                return NORMAL_EDGE + beyond, rng
    u, rng = uniform(rng)
    height = NORMAL_F[layer] + u * (NORMAL_F[layer + ONE] - NORMAL_F[layer])
    return (x if height < math.exp(-0.5 * x * x) else -1.0), rng


@kernel
def exponential(rng: Any) -> tuple[float, Any]:
    """Exponential with mean one."""
    shift = 0.0
    while True:
        word, rng = bits(rng)
        layer = word & LAYER
        x = (word >> ELEVEN) * ULP * EXPONENTIAL_X[layer]
        if x < EXPONENTIAL_X[layer + ONE]:
            return shift + x, rng
        if layer == 0:  # the tail is the same law again, further out
            shift += EXPONENTIAL_EDGE
            continue
        u, rng = uniform(rng)
        height = EXPONENTIAL_F[layer] + u * (EXPONENTIAL_F[layer + ONE] - EXPONENTIAL_F[layer])
        if height < math.exp(-x):
            return shift + x, rng


@kernel
def gamma(shape: float, rng: Any) -> tuple[float, Any]:
    """Gamma with scale one, any positive shape."""
    boost = 1.0
    if shape < 1.0:
        u, rng = positive_uniform(rng)
        boost = u ** (1.0 / shape)
        shape += 1.0
    d = shape - 1.0 / 3.0
    c = 1.0 / math.sqrt(9.0 * d)
    while True:
        x, rng = normal(rng)
        v = 1.0 + c * x
        if v <= 0.0:
            continue
        v = v * v * v
        u, rng = positive_uniform(rng)
        square = x * x
        if u < 1.0 - 0.0331 * square * square:
            return boost * d * v, rng
        if math.log(u) < 0.5 * square + d * (1.0 - v + math.log(v)):
            return boost * d * v, rng


@kernel
def beta(a: float, b: float, rng: Any) -> tuple[float, Any]:
    """Beta(a, b)."""
    x, rng = gamma(a, rng)
    y, rng = gamma(b, rng)
    total = x + y
    if total == 0.0:  # both gammas underflowed: shapes near zero put all mass at the ends
        u, rng = uniform(rng)
        return (1.0 if u * (a + b) < a else 0.0), rng
    return x / total, rng


@kernel
def integers(n: int, rng: Any) -> tuple[Any, Any]:
    """A whole number in 0..n-1, without bias, for n below 2^32."""
    size = np.uint64(n)
    reject_below = (U32_RANGE - size) % size
    while True:
        word, rng = bits(rng)
        product = (word >> U32) * size
        if (product & LOW_32) >= reject_below:
            return np.int64(product >> U32), rng


U32_RANGE = np.uint64(1 << 32)


@kernel
def choice(weights: Floats, rng: Any) -> tuple[int, Any]:
    """An index drawn in proportion to non-negative `weights` (not all zero)."""
    total = 0.0
    for weight in weights:
        total += weight
    u, rng = uniform(rng)
    left = u * total
    last = 0
    for i in range(len(weights)):
        if weights[i] > 0.0:
            if left < weights[i]:
                return i, rng
            left -= weights[i]
            last = i
    return last, rng


@kernel
def fill_uniform(rng: Any, start: int, out: Floats) -> None:
    """`out[i]` is uniform, and a function of (rng, start + i) alone: blocks join without a seam."""
    for i in range(len(out)):
        out[i] = uniform(stream(rng, start + i))[0]


@kernel
def fill_normal(rng: Any, start: int, out: Floats) -> None:
    """Standard normals, each a function of (rng, start + i) alone."""
    for i in range(len(out)):
        out[i] = normal(stream(rng, start + i))[0]
