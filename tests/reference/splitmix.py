"""SplitMix64 (Steele, Lea & Flood, OOPSLA 2014) in whole numbers, and how rounds take their streams from it."""

WORD = 1 << 64


def mix(z: int) -> int:
    """Variant 13 of Stafford's finalisers."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB % WORD
    return z ^ (z >> 31)


def unmix(z: int) -> int:
    """The inverse: which state gives this word. For trying the words that chance will never show."""
    z = _undo_shift(z, 31) * pow(0x94D049BB133111EB, -1, WORD) % WORD
    z = _undo_shift(z, 27) * pow(0xBF58476D1CE4E5B9, -1, WORD) % WORD
    return _undo_shift(z, 30)


def _undo_shift(z: int, shift: int) -> int:
    x = z
    for _ in range(64 // shift):
        x = z ^ (x >> shift)
    return x


def step(rng: int) -> tuple[int, int]:
    """The next word, and the stream moved on."""
    rng = (rng + 0x9E3779B97F4A7C15) % WORD
    return mix(rng), rng


def before(word: int) -> int:
    """The stream whose next word is `word`."""
    return (unmix(word) - 0x9E3779B97F4A7C15) % WORD


def stream(rng: int, t: int) -> int:
    """The stream of round `t`."""
    return mix((rng + t * 0xD1342543DE82EF95) % WORD)


def branch(rng: int) -> int:
    """The stream beside: for what is drawn when the reward comes."""
    return mix(rng ^ 0xA0761D6478BD642F)


def uniform(rng: int) -> float:
    """The upper 53 bits of the next word, as a fraction."""
    word, _ = step(rng)
    return (word >> 11) / 2**53
