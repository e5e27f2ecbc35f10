"""What a round of `filter-bank-ucb` costs, as a multiple of `sliding-kl-ucb`: processor time, interleaved, in one run.

python -m benchmarks.auto.cost
"""

import statistics
import time
from typing import Any

from driftwise.core.loop import play
from driftwise.core.seeding import key
from driftwise.core.types import new_trace
from driftwise.core.validation import cast
from driftwise.families import Abrupt, FilterBankUCB, SlidingKLUCB

ROUNDS, PAIRS = 100_000, 15


def seconds(policy: Any, world: Abrupt, tape: Any) -> float:
    """Processor time of one run."""
    state, trace = policy.init(world.problem()), new_trace(0, ROUNDS)
    before = time.thread_time()
    play(policy, state, tape, (), key(1), trace, ROUNDS)
    return time.thread_time() - before


def main() -> None:
    print("arms  filter-bank-ucb  sliding-kl-ucb  ratio (medians; ns a round)")
    for n_arms in (3, 10, 50):
        world = Abrupt(n_arms=n_arms, phases=10)
        tape, _ = world.draw(ROUNDS, seed=0)
        policies = cast(FilterBankUCB()), cast(SlidingKLUCB())
        for policy in policies:
            seconds(policy, world, tape)  # compiles
        pairs = [[seconds(policy, world, tape) for policy in policies] for _ in range(PAIRS)]
        ours, theirs = (statistics.median(pair[i] for pair in pairs) * 1e9 / ROUNDS for i in range(2))
        ratio = statistics.median(one / other for one, other in pairs)
        print(f"{n_arms:4d}  {ours:15.0f}  {theirs:14.0f}  {ratio:5.2f}", flush=True)


if __name__ == "__main__":
    main()
