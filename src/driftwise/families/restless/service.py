"""What a decision service asks of restless arms."""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from driftwise.core.adapter import AnyAdapter
from driftwise.core.problem import ProblemValue
from driftwise.core.protocols import Policy
from driftwise.core.service_hooks import MAX_NUMBERS, ServiceHooks, Track
from driftwise.errors import ParameterError
from driftwise.families.restless.adapter import RestlessAdapter
from driftwise.families.restless.arguments import structure_of
from driftwise.families.restless.inspection import episodes_in_window, index_table, transitions_from
from driftwise.families.restless.policies.sliding_whittle import SlidingWhittle
from driftwise.families.restless.problem import Restless
from driftwise.families.restless.schemas import (
    RankedArm,
    RestlessAnswer,
    RestlessArmOptions,
    RestlessChanges,
    RestlessFields,
    RestlessRequest,
)

NEXT_IN_LINE = 10  # arms in an answer beside those to activate
EPISODES = 32  # that a policy without a window of its own may remember
MAX_INDICES = 10_000  # in an explanation


class RestlessService(ServiceHooks):
    """Requests and outcomes have states; answers rank the arms; statistics count arms in each state."""

    request, outcome, answer, arm = RestlessRequest, RestlessFields, RestlessAnswer, RestlessArmOptions
    changes = RestlessChanges
    sticky = False
    one_arm = False
    samples = 100  # a choice may plan for many arms
    no_estimate = (
        "restless arms move by what was decided: another policy would have met other states, of which the journal has "
        "no rewards"
    )

    def check_limits(self, policy: Policy, problem: ProblemValue, propensity_samples: int) -> None:
        """Refuse what would need more memory, or more time to plan, than a service gives to one deployment."""
        super().check_limits(policy, problem, propensity_samples)
        assert isinstance(problem, Restless)
        registry = problem.arm_registry()
        n_arms = len(registry)
        n_states = problem.states if isinstance(problem.states, int) else len(problem.states)
        pools = problem.arm_types != "own" and getattr(policy, "pooled", getattr(policy, "pools", True))
        groups = max(1, len(_types(problem.arm_types))) if pools else n_arms
        n_episodes = max(EPISODES, int(getattr(policy, "window", 1)))
        if isinstance(policy, SlidingWhittle):  # windows may follow from how fast each type drifts
            structure, _ = structure_of(problem, registry)
            n_episodes = max(EPISODES, int(policy.windows(structure, 0).max()))
        if groups * n_episodes * 2 * n_states * n_states > MAX_NUMBERS:
            whose = "types" if pools else "arms"
            raise ParameterError(
                f"transitions between {n_states} states, of {groups} {whose} in {n_episodes} episodes, "
                f"exceed the limit of {MAX_NUMBERS} numbers"
            )

    def default_outcome(self, problem: ProblemValue) -> dict[str, Any] | None:
        """Where no states came in time, nothing is learned."""
        return {"states": {}}

    def check_window(self, *, in_seconds: bool) -> None:
        """Restless arms are remembered by episodes."""
        raise ParameterError("window counts rounds, and restless arms are remembered by episodes: use `parameters`")

    # ---- what is answered ----

    def answer_of(self, adapter: AnyAdapter, t: int) -> dict[str, Any]:
        """Those to activate at the latest decision, and the next in line, should one of them not be reached."""
        assert isinstance(adapter, RestlessAdapter)
        rows = adapter.ranking()
        line = itertools.islice((row for row in rows if not row.chosen), NEXT_IN_LINE)
        ranking = [
            RankedArm(row.arm, row.state, _finite(row.index), row.chosen, row.why)
            for row in (*(row for row in rows if row.chosen), *line)
        ]
        return {"ranking": ranking}

    def explain(self, adapter: AnyAdapter, t: int, arms: Sequence[dict[str, Any]]) -> None:
        """Of every arm at the latest decision: its state, its index there and elsewhere, and why.

        `transitions` counts what was seen of the arm, or of its type, when it was there.
        """
        assert isinstance(adapter, RestlessAdapter)
        names, structure, rows = adapter.words, adapter.problem.structure, {row.arm: row for row in adapter.ranking()}
        small = len(arms) * names.n_states <= MAX_INDICES
        table = index_table(adapter, max(0, t - 1)) if small else None
        for index, arm in enumerate(arms):
            row = rows[arm["arm"]]
            arm |= {"state": row.state, "index": _finite(row.index), "why": row.why}
            arm["activation_cost"] = float(structure.costs[index])
            arm["arm_type"] = names.classes[structure.classes[index]] if names.classes else None
            if table is not None:
                arm["indices"] = dict(zip(map(str, names.calls), map(_finite, table[:, index]), strict=True))
            counts = transitions_from(adapter, index, names.calls.index(row.state))
            if counts is not None:
                arm["transitions"] = {
                    action: {str(name): float(n) for name, n in zip(names.calls, moves, strict=True) if n}
                    for action, moves in counts.items()
                }

    def window(self, adapter: AnyAdapter, t: int) -> dict[str, Any] | None:
        """Which rounds a policy looked at that remembers so many episodes."""
        assert isinstance(adapter, RestlessAdapter)
        window = episodes_in_window(adapter)
        if window is None:
            return None
        episodes, period = window
        first = max(0, (t // period - episodes) * period)
        return {"episodes": episodes, "rounds": episodes * period, "from_round": first, "to_round": t - 1}

    def same_outcome(self, one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
        """Whether two outcomes are the same, be arms that have left named by numbers or by text."""
        return bool(_text(one) == _text(other))

    # ---- statistics ----

    def tracks(self, problem: ProblemValue) -> list[Track]:
        """What an arm earns a round, and how many arms were in each state."""
        assert isinstance(problem, Restless)
        states = range(problem.states) if isinstance(problem.states, int) else problem.states
        return [Track("slot_reward", "mean", ["reward per arm"]), Track("states", "sum", [*map(str, states)])]

    def rewards(self, action: object, outcome: Mapping[str, Any]) -> tuple[list[Any], list[float]] | None:
        """What a slot earns is no single arm's."""
        return None

    def earned(self, outcome: Mapping[str, Any], value: Any) -> float | None:
        """What an arm earned on average, less the cost of activation; None where no arm was seen."""
        n_arms = 0 if value is None else int((value.states >= 0).sum())
        return float(value.reward) / n_arms if n_arms else None

    def uniform_share(self, n_arms: int, request: Mapping[str, Any]) -> float | None:
        """Other activations would have led to other states."""
        return None

    def at_outcome(self, earned: float | None) -> dict[str, list[float]]:
        """What an arm earned."""
        return {} if earned is None else {"slot_reward": [earned]}

    def at_decision(self, adapter: AnyAdapter, t: int, request: Mapping[str, Any]) -> dict[str, list[float]]:
        """How many arms were in each state."""
        assert isinstance(adapter, RestlessAdapter)
        states = request["states"]
        counts = Counter(map(str, states.values() if isinstance(states, Mapping) else states))
        return {"states": [float(counts[str(name)]) for name in adapter.words.calls]}


def _types(arm_types: Mapping[Any, str] | Iterable[str] | str | None) -> set[str]:
    if arm_types is None or isinstance(arm_types, str):
        return set()
    return {*(arm_types.values() if isinstance(arm_types, Mapping) else arm_types)}


def _text(outcome: object) -> object:
    return {str(name): _text(each) for name, each in outcome.items()} if isinstance(outcome, Mapping) else outcome


def _finite(index: float) -> float | None:
    return float(index) if math.isfinite(index) else None
