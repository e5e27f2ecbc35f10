"""Policies with river's two verbs, `pull` and `update`, for programs that are written for river; river is not needed.

river joins a reward with the arm alone, so that a reward belongs to the oldest pull of its arm that waits for one. A
pull that is never updated stays pending, and counts as a try, unless `forget=True`: then only the latest pull waits.
"""

import math
from collections.abc import Iterable, Mapping

from driftwise.agent.agent import Agent
from driftwise.core.encoding import Arm
from driftwise.core.problem import ProblemValue
from driftwise.core.protocols import Policy
from driftwise.core.types import Decision
from driftwise.errors import ArmError, ParameterError
from driftwise.families.contextual.problem import Contextual
from driftwise.families.multi_armed.problem import MultiArmed

Range = tuple[float, float] | None


class _Puller:
    """Arms come with every pull: those that are new are added, those that are missing are retired."""

    def __init__(
        self, policy: Policy, *, reward_range: Range = (0.0, 1.0), seed: int = 0, forget: bool = False
    ) -> None:
        self.policy, self.reward_range, self.seed, self.forget = policy, reward_range, seed, forget
        self.agent: Agent | None = None
        self._waiting: dict[Arm, list[Decision]] = {}

    def _pull(self, arm_ids: Iterable[Arm], context: list[float] | None = None) -> Arm:
        arms = list(arm_ids)
        if not arms:
            raise ArmError("there are no arms to pull")
        agent = self._with_arms(arms, context)
        if self.forget:
            for decision in (each for waiting in self._waiting.values() for each in waiting):
                agent.cancel(decision)
            self._waiting.clear()
        decision = agent.decide(context=context)
        arm: Arm = decision.action
        self._waiting.setdefault(arm, []).append(decision)
        return arm

    def _with_arms(self, arms: list[Arm], context: list[float] | None) -> Agent:
        if self.agent is None:
            self.agent = Agent(self.policy, self._problem(arms, context), seed=self.seed)
        elif list(self.agent.arms) != arms:
            before, now = (dict.fromkeys(each) for each in (self.agent.arms, arms))  # sets that keep their order
            for arm in [arm for arm in now if arm not in before]:
                self.agent.add_arm(arm)
            for arm in [arm for arm in before if arm not in now]:
                self.agent.retire_arm(arm)
        return self.agent

    def _problem(self, arms: list[Arm], context: list[float] | None) -> ProblemValue:
        if context is None:
            return MultiArmed(arms, reward_range=self.reward_range)
        return Contextual(arms, context_dim=len(context), reward_range=self.reward_range)

    def _update(self, arm_id: Arm, reward: object, context: list[float] | None = None) -> None:
        if self.agent is None:
            raise ParameterError("nothing was pulled yet: call pull(arm_ids) first, which says what arms there are")
        waiting = self._waiting.get(arm_id)
        decision = waiting.pop(0) if waiting else self.agent.decide(override=(arm_id, math.nan), context=context)
        self.agent.learn(decision, reward)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.policy if self.agent is None else self.agent})"


class RiverPolicy(_Puller):
    """A policy for bare arms, as river's bandits are used.

    Parameters
    ----------
    policy
        What decides, such as `SlidingThompson(window=1000)`.
    reward_range : pair of float, optional
        The range of rewards; None where there is none.
    seed : int
        All randomness comes from it.
    forget : bool
        Whether a pull calls off those before it that were not updated.

    >>> import driftwise as dw
    >>> policy = RiverPolicy(dw.SlidingThompson(window=100), seed=1)
    >>> arm = policy.pull(["red", "blue"])
    >>> policy.update(arm, 1.0)
    >>> arm in policy.ranking
    True
    """

    def pull(self, arm_ids: Iterable[Arm]) -> Arm:
        """Choose one of the arms."""
        return self._pull(arm_ids)

    def update(self, arm_id: Arm, reward: float) -> None:
        """Report the reward of a pull; without one that waits, the arm was chosen elsewhere."""
        self._update(arm_id, reward)

    @property
    def ranking(self) -> list[Arm]:
        """The arms, the best estimate first; those without one last."""
        records = self.agent.summary() if self.agent is not None else []
        known = sorted(records, key=lambda each: math.inf if each.estimate is None else -each.estimate)
        return [each.arm for each in known]

    def clone(self) -> "RiverPolicy":
        """The same policy before its first pull."""
        return RiverPolicy(self.policy, reward_range=self.reward_range, seed=self.seed, forget=self.forget)


class RiverContextualPolicy(_Puller):
    """A policy for contexts, as river's contextual bandits are used: a context is a mapping from names to numbers.

    The names of the first context count: each further one must have the same.
    """

    _names: list[str] | None = None

    def pull(self, arm_ids: Iterable[Arm], context: Mapping[str, float]) -> Arm:
        """Choose one of the arms in a context."""
        return self._pull(arm_ids, self._row(context))

    def update(self, arm_id: Arm, context: Mapping[str, float], reward: float) -> None:
        """Report the reward of a pull; without one that waits, the arm was chosen elsewhere, in this context."""
        self._update(arm_id, reward, self._row(context))

    def clone(self) -> "RiverContextualPolicy":
        """The same policy before its first pull."""
        return RiverContextualPolicy(self.policy, reward_range=self.reward_range, seed=self.seed, forget=self.forget)

    def _row(self, context: Mapping[str, float]) -> list[float]:
        if not isinstance(context, Mapping) or not context:
            raise ParameterError(f"context={context!r} is not a mapping from names to numbers")
        self._names = self._names or sorted(context)
        if sorted(context) != self._names:
            raise ParameterError(
                f"context has {', '.join(sorted(context))}: the first one had {', '.join(self._names)}"
            )
        return [context[name] for name in self._names]
