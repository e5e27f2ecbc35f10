"""`prequential-pacing` where actions have features: it sees the rates that are left, and no feature.

An action is an arm by the number of its row, and what customers, hours or places have to do with it is averaged over.
What lies between it and `lin-pacing` is what features are worth.

Parameters, what is known in advance, and late outcomes: as in `knapsack/policies/prequential_pacing.py`.
"""

from typing import Any, NamedTuple

from driftwise.core.kernel import kernel
from driftwise.core.summary import Summary
from driftwise.core.types import About, Decision, Floats, Problem, Spent
from driftwise.core.validation import whole
from driftwise.core.verbs import appraise, pend, register, select, settle, summarise, update
from driftwise.families.knapsack.cost_windows import pass_rounds
from driftwise.families.knapsack.policies.prequential_pacing import PrequentialPacing, PrequentialPacingState


class ArmPacing(NamedTuple):
    """Windows per arm chosen by how well they predict, and prices that make a budget last; features are ignored.

    Parameters
    ----------
    windows : int
        How many windows are tried.
    rho : float
        Width of the bounds: larger explores more.
    fade : float
        What an error of one choice ago counts, where one of now counts 1.
    share : float
        How much the errors of other arms count in the choice of a window.
    step : float
        How fast prices follow what is spent.
    """

    windows: int = 6
    rho: float = 0.2
    fade: float = 0.998
    share: float = 0.2
    step: float = 1.0

    def init(self, problem: Problem) -> PrequentialPacingState:
        """Nothing known, nothing dear: prices start at 0."""
        whole("dim", problem.dim)
        return PrequentialPacing(*self).init(problem)


@kernel
def _inner(policy: ArmPacing) -> PrequentialPacing:
    return PrequentialPacing(policy.windows, policy.rho, policy.fade, policy.share, policy.step)


@kernel
def _dim(state: PrequentialPacingState, row: Floats) -> int:
    """How many features a row has; the rates that follow them are the same in every row."""
    return len(row) - len(state.prices)


@kernel
def _blind(state: PrequentialPacingState, decision: Decision) -> Decision:
    """The decision without its features."""
    row = decision.context
    return Decision(decision.t, decision.action, decision.propensity, row[_dim(state, row) :], decision.rng)


@kernel
def _select(policy: ArmPacing, state: PrequentialPacingState, t: int, context: Floats, rng: Any) -> tuple[int, float]:
    action, propensity = select(_inner(policy), state, t, context[0][_dim(state, context[0]) :], rng)
    return action, propensity


@kernel
def _pend(policy: ArmPacing, state: PrequentialPacingState, decision: Decision) -> None:
    pend(_inner(policy), state, _blind(state, decision))


@kernel
def _settle(policy: ArmPacing, state: PrequentialPacingState, decision: Decision) -> None:
    settle(_inner(policy), state, _blind(state, decision))


@kernel
def _update(policy: ArmPacing, state: PrequentialPacingState, decision: Decision, outcome: Spent, now: int) -> None:
    update(_inner(policy), state, _blind(state, decision), outcome, now)


@kernel
def _appraise(policy: ArmPacing, state: PrequentialPacingState, t: int, context: Floats, prices: Floats) -> None:
    appraise(_inner(policy), state, t, context[0][_dim(state, context[0]) :], prices)


@kernel
def _summarise(policy: ArmPacing, state: PrequentialPacingState, t: int, context: Floats, out: Summary) -> None:
    summarise(_inner(policy), state, t, context[0][_dim(state, context[0]) :], out)


register(
    ArmPacing,
    about=About("horizon and budgets", "none proven", "driftwise", family="contextual-knapsack"),
    advance=pass_rounds,
    select=_select,
    pend=_pend,
    settle=_settle,
    update=_update,
    appraise=_appraise,
    summarise=_summarise,
)
