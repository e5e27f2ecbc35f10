"""A contextual policy that is used like an estimator of scikit-learn, which is not needed.

`partial_fit` learns from rows of a log, `predict` names the arm with the largest estimate in each context. Parameters
are read and written with `get_params` and `set_params`, those of the policy as `policy__window`, and
`sklearn.base.clone` works.
"""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from driftwise.agent.agent import Agent
from driftwise.core.arm_registry import plain_name
from driftwise.core.encoding import Arm
from driftwise.core.protocols import Policy
from driftwise.core.spec import parse
from driftwise.core.types import Array, Floats, with_fields
from driftwise.errors import ArmError, FeatureError, ParameterError, RewardError
from driftwise.families import POLICIES
from driftwise.families.contextual.problem import Contextual

NAMES = ("policy", "arms", "reward_range", "seed")


class BanditEstimator:
    """A policy for contexts with scikit-learn's methods.

    Parameters
    ----------
    policy : policy or str
        What learns, such as `SlidingLinUCB(window=1000)`, or its text, `sliding-lin-ucb:window=1000`.
    arms : sequence, optional
        The arms; those of the first `partial_fit` unless given. Arms that come later are added.
    reward_range : pair of float, optional
        The range of rewards; None where there is none.
    seed : int
        All randomness comes from it.

    >>> estimator = BanditEstimator("sliding-lin-ucb:window=100")
    >>> X, actions, rewards = [[1.0, 0.0], [0.0, 1.0]] * 20, ["sun", "rain"] * 20, [1.0, 1.0] * 20
    >>> estimator.partial_fit(X, actions, rewards).predict([[1.0, 0.0], [0.0, 1.0]]).tolist()
    ['sun', 'rain']
    >>> estimator.set_params(policy__window=50).get_params()["policy__window"]
    50
    """

    def __init__(
        self,
        policy: Policy | str = "auto",
        arms: Sequence[Arm] | None = None,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        self.policy, self.arms, self.reward_range, self.seed = policy, arms, reward_range, seed
        self.agent_: Agent | None = None

    # ---- learning ----

    def fit(self, contexts: ArrayLike, actions: Sequence[object], rewards: ArrayLike) -> Self:
        """Forget all, and learn from these rows."""
        self.agent_ = None
        return self.partial_fit(contexts, actions, rewards)

    def partial_fit(self, contexts: ArrayLike, actions: Sequence[object], rewards: ArrayLike) -> Self:
        """Learn from rows, in their order: a context, the arm that was chosen in it, and what that earned."""
        rows = _matrix(contexts)
        chosen = [plain_name(each) for each in np.asarray(actions).tolist()]
        values = np.asarray(rewards, np.float64)
        if len(chosen) != len(rows) or values.shape != (len(rows),):
            raise RewardError(f"{len(rows)} contexts, {len(chosen)} actions and {values.size} rewards are not as many")
        agent = self._agent(rows.shape[1], chosen)
        for row, arm, value in zip(rows, chosen, values, strict=True):
            agent.learn(agent.decide(context=row, override=(arm, float("nan"))), value)
        return self

    # ---- asking ----

    @property
    def classes_(self) -> Array:
        """The arms, in the order of the columns of `decision_function`."""
        return np.array(self._fitted().arms)

    def decision_function(self, contexts: ArrayLike) -> Floats:
        """The mean reward of each arm in each context that the policy believes in; nan where it knows nothing."""
        agent = self._fitted()
        rows = _matrix(contexts)
        table = [[each.estimate for each in agent.summary(context=row)] for row in rows]
        return np.array(table, np.float64)

    def predict(self, contexts: ArrayLike) -> Array:
        """The arm with the largest estimate in each context; nothing is tried, and nothing changes."""
        estimates = self.decision_function(contexts)
        best = np.argmax(np.where(np.isnan(estimates), -np.inf, estimates), axis=1)
        chosen: Array = self.classes_[best]
        return chosen

    # ---- parameters ----

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters; with `deep` those of the policy too, as `policy__NAME`."""
        own = {name: getattr(self, name) for name in NAMES}
        return own | ({f"policy__{name}": value for name, value in self._policy()._asdict().items()} if deep else {})

    def set_params(self, **parameters: object) -> Self:
        """Set parameters, and forget all that was learned."""
        policy = parameters.pop("policy", self.policy)
        inner = {
            name.removeprefix("policy__"): parameters.pop(name) for name in [*parameters] if name.startswith("policy__")
        }
        for name in parameters:
            if name not in NAMES:
                raise ParameterError(f"{name!r} is not a parameter: there are {', '.join(self.get_params())}")
            setattr(self, name, parameters[name])
        self.policy = policy  # type: ignore[assignment]  # checked when it is first used
        for name in inner:
            if name not in self._policy()._fields:
                raise ParameterError(f"policy__{name} is not a parameter: there are {', '.join(self.get_params())}")
        if inner:
            self.policy = with_fields(self._policy(), **inner)
        self.agent_ = None
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.policy!r}, arms={self.arms!r})"

    def _policy(self) -> Policy:
        policy: Policy = parse(self.policy, POLICIES, "policy") if isinstance(self.policy, str) else self.policy
        return policy

    def _agent(self, width: int, chosen: Sequence[Arm]) -> Agent:
        if self.agent_ is None:
            arms = list(dict.fromkeys(chosen) if self.arms is None else self.arms)
            problem = Contextual(arms=arms, context_dim=width, reward_range=self.reward_range)
            self.agent_ = Agent(self._policy(), problem, seed=self.seed)
        for arm in dict.fromkeys(chosen):
            if arm not in self.agent_.arms:
                if self.arms is not None:
                    raise ArmError(f"action {arm!r} is not one of the arms {', '.join(map(str, self.arms))}")
                self.agent_.add_arm(arm)
        return self.agent_

    def _fitted(self) -> Agent:
        if self.agent_ is None:
            raise ParameterError("nothing was learned yet: call partial_fit(contexts, actions, rewards) first")
        return self.agent_


def _matrix(contexts: ArrayLike) -> Floats:
    """A row of numbers per context: arrays, lists, and frames of pandas or Polars."""
    try:
        rows = np.asarray(contexts, np.float64)
    except (TypeError, ValueError):
        raise FeatureError("contexts are not made of numbers") from None
    if rows.ndim != 2:
        raise FeatureError(f"contexts have shape {rows.shape}: a row of numbers is needed for each")
    return rows
