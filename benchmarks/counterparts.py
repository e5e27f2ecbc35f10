"""Our policy for every case of a peer, with the parameters that the peer is given (`peers/settings.py`)."""

from typing import Any

from benchmarks.peers import settings
from benchmarks.peers.timing import Options
from driftwise import families as ours

#: What a reader of the table must know of how a pair was set.
REMARKS = {
    "smpybandits: kl-ucb": "it cannot use Numba here",
    "smpybandits: sliding-kl-ucb": "it cannot use Numba here",
    "smpybandits: glr-kl-ucb": "both test every 10th reward, every 10th cut; it cannot use Numba here",
    "smpybandits: glr-kl-ucb-full": "both test every reward, every cut; it cannot use Numba here",
    "river: sliding-ucb": "its window forced in by hand",
    "river: sliding-thompson": "its window forced in by hand",
} | {
    f"{peer}: lin-ucb": "a regression per arm, ours in blocks of one matrix"
    for peer in ("pymab", "river", "mabwiser", "contextualbandits", "bayesianbandits")
}


def counterpart(case: str, options: Options) -> Any:
    """The policy to time beside a peer's."""
    return _all(options)[case]


def _all(options: Options) -> dict[str, Any]:
    """By case; the level of KL-UCB is ln t, without the iterated logarithm, as the peers have it."""
    window, horizon, share = options.window, options.horizon, settings.DETECTING_SHARE
    glr = ours.GLRKLUCB(alpha=share, delta=settings.GLR_DELTA, c=0.0)
    cusum = ours.CusumUCB.for_changes(horizon, options.changes)
    page_hinkley = ours.PageHinkleyUCB.for_changes(horizon, options.changes)
    return {
        "uniform": ours.Uniform(),
        "epsilon-greedy": ours.EpsilonGreedy(epsilon=settings.EPSILON),
        "ucb1": ours.UCB1(),
        "kl-ucb": ours.KLUCB(c=0.0),
        "thompson": ours.Thompson(),
        "gaussian-thompson": ours.GaussianThompson(noise=1.0),
        "exp3": ours.EXP3(gamma=settings.EXP3_GAMMA),
        "exp3s": ours.EXP3S(gamma=settings.EXP3_GAMMA, alpha=1 / horizon),
        "sliding-ucb": ours.SlidingUCB(window=window),
        "sliding-kl-ucb": ours.SlidingKLUCB(window=window, c=0.0),
        "sliding-thompson": ours.SlidingThompson(window=window),
        "discounted-ucb": ours.DiscountedUCB(gamma=settings.DISCOUNT),
        "discounted-thompson": ours.DiscountedThompson(gamma=settings.DISCOUNT),
        "cusum-ucb": cusum._replace(epsilon=settings.CUSUM_SLACK, warmup=settings.WARM_UP),
        "page-hinkley-ucb": page_hinkley._replace(epsilon=settings.PAGE_HINKLEY_SLACK, warmup=settings.WARM_UP),
        "m-ucb": ours.MUCB(window=settings.MONITORED, b=settings.MONITORED_GAP, gamma=share),
        "glr-kl-ucb": glr._replace(every=settings.GLR_LAZY, stride=settings.GLR_LAZY),
        "glr-kl-ucb-full": glr,
        "practical-ad-switch": ours.PracticalAdSwitch(horizon=horizon),
    }
