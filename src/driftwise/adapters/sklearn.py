"""A contextual policy that is used like an estimator of scikit-learn, which is not needed.

`partial_fit` learns from rows of a log, `predict` names the arm with the largest estimate in each context. Parameters
are read and written with `get_params` and `set_params`, those of the policy as `policy__window`. Where scikit-learn is
installed an estimator is one of its own: it is cloned, pickled, shown in notebooks, and stands at the end of a
`Pipeline`, which hands the rewards over: `pipeline.fit(X, y, banditestimator__rewards=rewards)`.
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

try:
    from sklearn.base import BaseEstimator
    from sklearn.exceptions import NotFittedError
except ImportError:
    BaseEstimator, NotFittedError = object, ValueError

NAMES = ("policy", "arms", "reward_range", "seed")


class UnfittedError(ParameterError, NotFittedError):  # type: ignore[misc]  # scikit-learn has no types
    """An estimator is asked before it has learned anything."""


class BanditEstimator(BaseEstimator):  # type: ignore[misc]  # scikit-learn has no types
    """A policy for contexts with scikit-learn's methods: `X` are contexts, `y` the arms that were chosen in them.

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

    Attributes
    ----------
    agent_ : Agent
        What has learned.
    classes_ : array
        The arms, in the order of the columns of `decision_function`.
    n_features_in_ : int
        How many numbers a context has.
    feature_names_in_ : array of str
        The columns of the first contexts, where they were a frame whose columns have names.

    >>> estimator = BanditEstimator("sliding-lin-ucb:window=100")
    >>> X, arms, rewards = [[1.0, 0.0], [0.0, 1.0]] * 20, ["sun", "rain"] * 20, [1.0, 1.0] * 20
    >>> estimator.partial_fit(X, arms, rewards).predict([[1.0, 0.0], [0.0, 1.0]]).tolist()
    ['sun', 'rain']
    >>> estimator.set_params(policy__window=50).get_params()["policy__window"]
    50
    """

    agent_: Agent
    classes_: Array
    n_features_in_: int
    feature_names_in_: Array

    def __init__(
        self,
        policy: Policy | str = "auto",
        arms: Sequence[Arm] | None = None,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        seed: int = 0,
    ) -> None:
        self.policy, self.arms, self.reward_range, self.seed = policy, arms, reward_range, seed

    # ---- learning ----

    def fit(self, X: ArrayLike, y: Sequence[object], rewards: ArrayLike) -> Self:
        """Forget all, and learn from these rows."""
        self._forget()
        return self.partial_fit(X, y, rewards)

    def partial_fit(self, X: ArrayLike, y: Sequence[object], rewards: ArrayLike) -> Self:
        """Learn from rows, in their order: a context, the arm that was chosen in it, and what that earned.

        All of them, or where one cannot be learned from none.
        """
        rows, names = self._rows(X), _column_names(X)
        if y is None:
            name = type(self).__name__
            raise ParameterError(f"{name} requires y to be passed, but the target y is None: it is the arms chosen")
        chosen = [plain_name(each) for each in np.asarray(y, object).tolist()]
        values = np.asarray(rewards, np.float64)
        if len(chosen) != len(rows) or values.shape != (len(rows),):
            raise RewardError(f"{len(rows)} contexts, {len(chosen)} actions and {values.size} rewards are not as many")
        agent = self.agent_ if self._is_fitted() else self._new_agent(rows.shape[1], chosen)
        with agent.atomic():
            self._add_arms(agent, chosen)
            for row, arm, value in zip(rows, chosen, values, strict=True):
                agent.learn(agent.decide(context=row, override=(arm, float("nan"))), value)
        if not self._is_fitted() and names is not None:
            self.feature_names_in_ = names
        self.agent_, self.n_features_in_ = agent, rows.shape[1]
        alike = len({*map(type, agent.arms)}) == 1  # NumPy would make text of numbers beside text
        self.classes_ = np.array(agent.arms, None if alike else object)
        return self

    # ---- asking ----

    def decision_function(self, X: ArrayLike) -> Floats:
        """The mean reward of each arm in each context that the policy believes in; nan where it knows nothing."""
        if not self._is_fitted():
            raise UnfittedError("nothing was learned yet: call partial_fit(X, y, rewards) first")
        table = [[each.estimate for each in self.agent_.summary(context=row)] for row in self._rows(X)]
        return np.array(table, np.float64)

    def predict(self, X: ArrayLike) -> Array:
        """The arm with the largest estimate in each context; nothing is tried, and nothing changes."""
        estimates = self.decision_function(X)
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
        self._forget()
        return self

    def __sklearn_tags__(self) -> Any:
        """What scikit-learn asks of its own; nobody asks without it."""
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        """What pickle and copies keep: of the agent its class of policy and its bytes."""
        agent = {"agent_": (type(self.agent_.policy), self.agent_.dumps())} if self._is_fitted() else {}
        return vars(self) | agent

    def __setstate__(self, state: dict[str, Any]) -> None:
        kind, blob = state.get("agent_", (None, b""))
        self.__dict__.update(state | ({"agent_": Agent.loads(blob, policy=kind)} if blob else {}))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.policy!r}, arms={self.arms!r})"

    def _policy(self) -> Policy:
        policy: Policy = parse(self.policy, POLICIES, "policy") if isinstance(self.policy, str) else self.policy
        return policy

    # ---- what was learned ----

    def _is_fitted(self) -> bool:
        return "agent_" in vars(self)

    def _forget(self) -> None:
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)

    def _new_agent(self, width: int, chosen: Sequence[Arm]) -> Agent:
        arms = list(dict.fromkeys(chosen) if self.arms is None else self.arms)
        problem = Contextual(arms=arms, context_dim=width, reward_range=self.reward_range)
        return Agent(self._policy(), problem, seed=self.seed)

    def _add_arms(self, agent: Agent, chosen: Sequence[Arm]) -> None:
        for arm in dict.fromkeys(chosen):
            if arm not in agent.arms:
                if self.arms is not None:
                    raise ArmError(f"action {arm!r} is not one of the arms {', '.join(map(str, self.arms))}")
                agent.add_arm(arm)

    def _rows(self, X: ArrayLike) -> Floats:
        """A row of finite numbers per context, with the columns of the first contexts."""
        rows, names = _matrix(X), _column_names(X)
        if not self._is_fitted():
            return rows
        if rows.shape[1] != self.n_features_in_:
            sentence = f"X has {rows.shape[1]} features, but {type(self).__name__} is expecting {self.n_features_in_}"
            raise FeatureError(f"{sentence} features as input")
        first: Array | None = getattr(self, "feature_names_in_", None)
        if names is not None and first is not None and names.tolist() != first.tolist():
            raise FeatureError(f"contexts have the columns {', '.join(names)}; the first had {', '.join(first)}")
        return rows


def _matrix(contexts: Any) -> Floats:
    """A row of finite numbers per context: arrays, lists, and frames of pandas or Polars."""
    if hasattr(contexts, "toarray"):
        raise FeatureError("contexts are a sparse matrix: give contexts.toarray()")
    if np.iscomplexobj(contexts):  # NumPy would drop a part of each
        raise FeatureError("contexts are complex numbers: Complex data not supported")
    try:
        rows = np.asarray(contexts, np.float64)
    except (TypeError, ValueError):
        raise FeatureError("contexts are not made of numbers") from None
    if rows.ndim != 2:
        raise FeatureError(f"Reshape your data: contexts have shape {rows.shape}, and each is a row of numbers")
    if not rows.size:
        what = "feature" if len(rows) else "sample"
        raise FeatureError(f"contexts have 0 {what}(s) (shape={rows.shape}) while a minimum of 1 is required.")
    if not np.isfinite(rows).all():
        raise FeatureError(f"contexts hold {rows[~np.isfinite(rows)][0]}: NaN and infinity cannot be learned from")
    return rows


def _column_names(contexts: object) -> Array | None:
    """The columns of a frame, where all of them have names."""
    names = [*getattr(contexts, "columns", ())]
    return np.array(names, object) if names and all(isinstance(name, str) for name in names) else None
