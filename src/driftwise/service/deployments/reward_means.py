"""Mean rewards of arms, which predict what a decision will earn, for doubly robust estimates.

They move on with drift: the newest of a few hundred rewards count most. A prediction is made before the outcome comes,
so that an estimate is right whatever the prediction is worth; a good one makes its interval narrower.
"""

from collections.abc import Sequence

import msgspec

from driftwise.service.deployments.stats.collector import MAX_LABELS, labels_of

MEMORY = 200  # rewards


class LabelMean(msgspec.Struct, array_like=True):
    """The mean of rewards: plain for the first ones, fading after that."""

    n: int = 0
    mean: float = 0.0

    def add(self, reward: float) -> None:
        """Count a reward in."""
        self.n += 1
        self.mean += (reward - self.mean) / min(self.n, MEMORY)


class RewardMeans(msgspec.Struct, array_like=True):
    """The mean of each label; `overall` stands for those that are not known."""

    overall: LabelMean = msgspec.field(default_factory=LabelMean)
    labels: dict[str, LabelMean] = {}

    def predict(self, action: object) -> float:
        """What an action will earn: the sum over its items."""
        return sum((self.labels.get(label, self.overall).mean for label in labels_of(action)), 0.0)

    def learn(self, items: Sequence[object], rewards: Sequence[float]) -> None:
        """Learn what each item earned."""
        for label, reward in zip(map(str, items), rewards, strict=False):
            self.overall.add(reward)
            if label not in self.labels and len(self.labels) < MAX_LABELS:
                self.labels[label] = LabelMean()
            if label in self.labels:
                self.labels[label].add(reward)
