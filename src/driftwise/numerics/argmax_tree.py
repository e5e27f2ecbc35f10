"""A winner tree: the first of the largest of K scores, kept up to date in O(log K) per change.

Below `SMALL` arms a plain scan is faster, and the tree stays empty. Node 1 is the root, leaves start at the first
power of two not below K; a node holds the arm that won below it, -1 where there is none. The left child wins ties,
so the answer is the lowest arm among equals, exactly as the scan's. A blank tree is built at the first change.
"""

import numpy as np

from driftwise.core.kernel import kernel
from driftwise.core.types import Floats, Ints

SMALL = 96


def new_tree(n_arms: int) -> Ints:
    """An empty tree for `n_arms` scores; of size one when a scan serves better."""
    if n_arms <= SMALL:
        return np.full(1, -1, np.int64)
    leaves = 1 << (n_arms - 1).bit_length()
    return np.full(2 * leaves, -1, np.int64)


@kernel
def blank(tree: Ints) -> None:
    """As new."""
    for node in range(len(tree)):
        tree[node] = -1


@kernel
def best(tree: Ints, scores: Floats) -> int:
    """The lowest arm with the largest score."""
    if len(tree) > 1 and tree[1] >= 0:
        return int(tree[1])
    winner = 0
    top = scores[0]
    for k in range(1, len(scores)):
        if scores[k] > top:
            winner, top = k, scores[k]
    return winner


@kernel
def repair(tree: Ints, scores: Floats, arm: int) -> None:
    """The score of `arm` has changed: replay its matches, up to the first that goes to another as before."""
    if len(tree) == 1:
        return
    if tree[1] < 0:
        _build(tree, scores)
        return
    node = (len(tree) // 2 + arm) >> 1
    while node >= 1:
        before = tree[node]
        _match(tree, scores, node)
        if tree[node] == before and before != arm:
            return
        node >>= 1


@kernel
def _match(tree: Ints, scores: Floats, node: int) -> None:
    left, right = tree[2 * node], tree[2 * node + 1]
    right_wins = right >= 0 and not scores[left] >= scores[right]
    tree[node] = right if right_wins else left


@kernel(inline=False)
def _build(tree: Ints, scores: Floats) -> None:
    leaves = len(tree) // 2
    for k in range(len(scores)):
        tree[leaves + k] = k
    for node in range(leaves - 1, 0, -1):
        _match(tree, scores, node)
