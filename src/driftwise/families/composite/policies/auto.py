"""One word for every problem: the policy of each family that works without anything set.

| family | auto is |
|---|---|
| multi-armed | filter-bank-ucb |
| contextual | filter-bank-lin-ucb |
| slate | sliding-slate-ucb |
| knapsack | prequential-pacing |
| contextual-knapsack | lin-pacing |
| convex | virtual-queue |
| restless | adaptive-whittle |

Each family names its own (`Family.auto`). Agents, studies, deployments and the command line put it in the place of
`auto` as soon as they know the problem (`core/family.py`, `resolve`), so that there is nothing here to compile: an
agent's policy, and what is saved of it, is the policy of the family; only errors name `auto` beside it. Results and
deployments keep the name `auto`.

Known in advance: nothing of the drift; with budgets the horizon.
Regret: that of the policy of the family. `docs/auto.md` has what was measured.
"""

from typing import NamedTuple

from driftwise.core.family import ANY, FAMILIES, Family
from driftwise.core.protocols import Policy
from driftwise.core.types import About, Problem, Record
from driftwise.core.validation import cast
from driftwise.core.verbs import register
from driftwise.errors import ParameterError


class Auto(NamedTuple):
    """The policy that needs nothing set, chosen by the problem.

    Parameters
    ----------
    alertness : float
        Visits to idle arms, for changes that nobody can see: more finds them sooner, and costs more where nothing
        changes. Multi-armed problems have it.
    floor : float
        Share of decisions made uniformly at random, so that propensities are known. Multi-armed and contextual problems
        have it.

    >>> import driftwise as dw
    >>> dw.Agent(dw.Auto(), ["red", "blue"]).policy
    FilterBankUCB(alertness=1.0, floor=0.0)
    """

    alertness: float = 1.0
    floor: float = 0.0

    def init(self, problem: Problem) -> Record:
        """The state of the policy that plays this problem."""
        state: Record = self.for_family(FAMILIES[problem.family]).init(problem)
        return state

    def for_family(self, family: Family) -> Policy:
        """The policy of a family, with the options that it has; others must be at their defaults."""
        if family.auto is None:
            raise ParameterError(f"auto has no policy for {family.name} problems: choose one by name")
        kind, defaults = family.auto, self._field_defaults
        options = {name: value for name, value in self._asdict().items() if value != defaults[name]}
        for name, value in options.items():
            if name not in kind._fields:
                raise ParameterError(
                    f"{name}={value} is not possible in a {family.name} problem: auto is {kind.__name__} there, "
                    f"which has no {name}"
                )
        policy: Policy = cast(kind(**options))
        return policy


ABOUT = About(
    "nothing of the drift",
    "that of the policy it stands for, which depends on the kind of problem",
    "driftwise: docs/auto.md",
    family=ANY,
)
register(Auto, about=ABOUT)
