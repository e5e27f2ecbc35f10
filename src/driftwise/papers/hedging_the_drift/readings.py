"""The paper's algorithms by the names its figures use, with R = 0.1 and lambda = S = L = 1, and delta = 1/T.

The paper describes two algorithms called BOB. By its text, by (13) and by the remark, a block plays SW-UCB with the
window drawn for it: **windowed**. By the lines of Algorithm 2, nothing is forgotten within a block, and what was drawn
only sizes the bonus: **literal**. Both are played. For arms without features there are two forms of SW-UCB as well: the
**linear** one on the unit vectors of the axes, and that of section 8.1, **armed** here, with windows by Theorem 6.
"""

from driftwise.core.protocols import Policy
from driftwise.families import BanditOverBandit, SlidingArmedUCB, SlidingLinUCB

NOISE = 0.1
READINGS = ("windowed", "literal")


def bob(reading: str, *, armed: bool = False) -> Policy:
    """Bandit-over-Bandit by one of its readings."""
    inside = SlidingArmedUCB() if armed else SlidingLinUCB()
    return BanditOverBandit(policy=inside, literal=int(reading == "literal"))


def bobs(*, armed: bool = False) -> dict[str, Policy]:
    """Both readings by name."""
    form = "-armed" if armed else ""
    return {f"BOB-{reading}{form}": bob(reading, armed=armed) for reading in READINGS}


def mended(dim: int) -> dict[str, Policy]:
    """BOB without the windows that only explore, those below 8 d; and with half the bonus as well."""
    return {
        "BOB-mended": BanditOverBandit(policy=SlidingLinUCB(), shortest=8 * dim),
        "BOB-mended-half": BanditOverBandit(policy=SlidingLinUCB(scale=0.5), shortest=8 * dim),
    }
