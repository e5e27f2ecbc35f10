"""An agent decides in a live program: the same kernels as the simulation, one round at a time.

Its whole self is data: policy, problem, arms, seed, round, pending decisions and the policy's state. `dumps` writes
it down, `loads` continues bit for bit, with decisions still waiting for their rewards. Threads may share an agent.
The code is bound when the agent is made: kernels registered later are used by agents made, or loaded, later.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from threading import Lock
from typing import Any

import msgspec
import numpy as np

from driftwise.agent.bound import Bound
from driftwise.agent.budgets import Budgeted
from driftwise.agent.features import Features
from driftwise.agent.manner import Manner
from driftwise.agent.manners import MANNERS, manner_of
from driftwise.agent.restless import Ranked, RestlessArms
from driftwise.agent.rewind import Rewind, Step
from driftwise.agent.roster import Roster, plain_name, roster_of
from driftwise.agent.saved import Arm, Saved, from_paper, on_paper, setting_from_paper, setting_on_paper
from driftwise.core import state as states
from driftwise.core.family import family_of
from driftwise.core.kernel import kinds
from driftwise.core.play import choose_once, decide_once, learn_once, pend_once, share_of
from driftwise.core.rules import cast, number, whole
from driftwise.core.seeding import key
from driftwise.core.tag import code_tag
from driftwise.core.types import ArmIds, Decision, PerArm, Problem, Scratch
from driftwise.core.verbs import advance, appraise, pend, rank
from driftwise.errors import ArmError, BudgetError, DecisionError, FeatureError, ParameterError, StateError

Row = Any  # one row of features: numbers in any sequence
Pending = tuple[Any, float, Any]  # what waits for its outcome: the lasting number of its arm, the propensity, its row
COUNTED = ("armed", "features", "budgets")  # families of which one arm is chosen


class Agent:
    """A policy at work.

    Parameters
    ----------
    policy
        What decides, e.g. `SlidingThompson(window=1000)`.
    n_arms : int, optional
        Number of arms, called 0, 1, ...; or give `arms`.
    arms : iterable of str, or mapping, optional
        Names of the arms; a mapping gives each its row of features.
    features : int, optional
        How many features an action has, where rows come with every decision; arms need not be named then.
    context : int, optional
        Length of the vector that comes with every decision and multiplies the features of the arms.
    slate : int, optional
        How many arms a decision chooses at once, for policies that fill slates.
    budgets : mapping of str to float, optional
        What may be spent of each resource over the `horizon`, e.g. `{"euros": 5000}`; costs come with rewards.
    most : mapping of str to float, optional
        The most a single decision can cost of each resource; 1 where it is not said.
    reserve : str, optional
        What is kept back for pending decisions: "maximum", the most they can cost, so that nothing is ever overspent,
        unless another is said; or "estimate", what they cost at most but for a tiny chance, by what their arms have
        cost of late. Where outcomes come late the estimate leaves more to decide with.
    overspend : bool
        True where nothing is kept back: pending decisions may together cost more than is left.
    domain : Domain, optional
        What points are chosen from, for policies that choose points: `box`, `ball`, `simplex` or a `product`.
    constraints : int, optional
        How many constraints the points should keep on average.
    start : sequence of float, optional
        The first point; the middle of the domain where none is given.
    activate : int, optional
        How many arms are activated at a time, for policies with arms that move on their own; the next ones too.
    states : int or list of str, optional
        Their states, counted or named.
    rewards : sequence or mapping, optional
        What an arm earns in each state; perhaps one such for each class.
    classes : sequence or mapping, optional
        The class of each arm: arms of a class move alike. "own" where no two do.
    structure : mapping, optional
        What is known of how arms move; `driftwise.agent.dynamics` says how to tell.
    episode : int, optional
        Slots after which all arms start over, where they do.
    discount : float, optional
        Of rewards from slot to slot, 0.99 unless given.
    activation_cost : float, sequence or mapping, optional
        What it costs to activate an arm.
    ties : str, optional
        Of arms with equal indices, which: drawn by "lot" unless "first" is said, which takes them in their order.
    reward_range : (float, float), optional
        Where rewards lie; None when they are unbounded.
    noise : float, optional
        Standard deviation of a reward around its mean, in the unit of rewards. Where it is not given, half the range is
        taken for it; without a range, policies with features learn it, and others may ask for it.
    horizon : int, optional
        Rounds to come, where it is known.
    seed : int
        All randomness comes from it: the stream of decision i is derived from (seed, i).
    max_pending : int
        Decisions that may wait for a reward; beyond it the oldest is given up and counted as `forgotten`.
    draws : int
        Where the policy cannot tell the propensity of the arm it chose, count it by so many draws; 0 leaves it nan.

    >>> import driftwise as dw
    >>> agent = dw.Agent(dw.SlidingThompson(window=100), arms=["red", "blue"], seed=1)
    >>> decision = agent.decide()
    >>> decision.action in agent.arms
    True
    >>> agent.learn(decision, reward=1.0)
    >>> again = dw.Agent.loads(agent.dumps())
    >>> again.decide() == agent.decide()
    True
    >>> agent = dw.Agent(dw.SlidingLinUCB(window=100), features=3)
    >>> decision = agent.decide(actions=[[1.0, 0.2, 0.0], [1.0, 0.9, 0.3]])
    >>> decision.action, decision.context
    (1, (1.0, 0.9, 0.3))
    """

    def __init__(
        self,
        policy: Any,
        *,
        n_arms: int | None = None,
        arms: Iterable[Arm] | Mapping[Arm, Row] | None = None,
        features: int | None = None,
        context: int | None = None,
        slate: int | None = None,
        budgets: Mapping[str, float] | None = None,
        most: Mapping[str, float] | None = None,
        reserve: str | None = None,
        overspend: bool = False,
        domain: Any = None,
        constraints: int | None = None,
        start: Any = None,
        activate: int | None = None,
        states: Any = None,
        rewards: Any = None,
        classes: Any = None,
        structure: Any = None,
        episode: int | None = None,
        discount: float | None = None,
        activation_cost: Any = None,
        ties: str | None = None,
        reward_range: tuple[float, float] | None = (0.0, 1.0),
        noise: float | None = None,
        horizon: int = 0,
        seed: int = 0,
        max_pending: int = 100_000,
        draws: int = 0,
    ) -> None:
        if isinstance(policy, type) or not hasattr(policy, "init"):
            raise ParameterError(f"policy={policy!r} is not a policy: give an instance, such as SlidingUCB(window=500)")
        policy = cast(policy)
        roster = roster_of(n_arms, arms, needed=features is None and domain is None and family_of(policy) != "convex")
        low, high = (-math.inf, math.inf) if reward_range is None else _range(reward_range)
        horizon, spread = whole("horizon", horizon, low=0), 0.0 if noise is None else number("noise", noise, above=0.0)
        made: dict[str, Any] = {"arms": arms, "features": features, "context": context, "slate": slate}
        made |= {"budgets": budgets, "most": most, "reserve": reserve, "overspend": overspend}
        made |= {"domain": domain, "constraints": constraints, "start": start}
        made |= {"activate": activate, "states": states, "rewards": rewards, "classes": classes}
        made |= {"structure": structure, "episode": episode, "discount": discount, "activation_cost": activation_cost}
        made |= {"ties": ties}
        manner = manner_of(policy, Problem(max(1, len(roster)), low, high, spread, horizon), roster, made)
        seed, max_pending = whole("seed", seed, low=0, high=2**63 - 1), whole("max_pending", max_pending, high=10**9)
        self._set_up(policy, manner, seed, max_pending, whole("draws", draws, low=0, high=10**6))

    def _set_up(self, policy: Any, manner: Manner, seed: int, max_pending: int, draws: int) -> None:
        if draws and manner.problem.family not in COUNTED:
            raise ParameterError(f"draws={draws} counts how often an arm is chosen: this agent does not choose one arm")
        self.seed, self.max_pending, self.draws = seed, max_pending, draws
        self.t = 0
        self.forgotten = self.ignored = 0
        self._pending: dict[int, Pending] = {}
        self._oldest = 0  # no pending decision is older
        self._lock = Lock()
        self._rng = key(seed, "agent")
        self._bound = Bound(policy)
        state = policy.init(manner.problem)
        if _keeps_arms(state) and isinstance(manner, Features) and not manner.roster:
            raise ParameterError(f"{type(policy).__name__} remembers something of every arm: name the arms")
        self._bind(policy, manner, state)

    def _bind(self, policy: Any, manner: Manner, state: Any) -> None:
        """Take a policy, a manner and a state, and the compiled halves of a round for their types."""
        single = type(manner) is Manner  # one bare arm is chosen
        if isinstance(manner, Features):
            manner.keeps_arms = _keeps_arms(state)
        place, row, told = manner.answers
        shown = np.zeros((1, len(row))) if isinstance(manner, Features) else row
        plain = _wordless(policy)
        brief = not isinstance(manner, RestlessArms)  # a round of theirs may plan for thousands of arms
        choice, decision = (plain, state, 0, shown, self._rng), (plain, state, 0, place, 0.0, row, self._rng)
        joint = single and not self.draws  # nothing is asked between the choice and its pending
        bound, pends = self._bound, type(policy) in pend.kernels
        decide = bound(decide_once, *choice, 0, holds=brief) if joint else bound(choose_once, *choice, holds=brief)
        wait = bound(pend_once, *decision, holds=brief) if pends and not joint else None
        learn = bound(learn_once, *decision, told, 0, True, holds=brief)
        share = bound(share_of, *choice, 0, self.draws, holds=True) if self.draws else None
        ranks = isinstance(manner, RestlessArms)
        rank_all: Any = bound(rank, plain, state, 0, row, np.zeros(len(row))) if ranks else None
        past = None if single else Rewind(plain, state, manner.answers)
        stale, alarms = _counters(state, "stale"), _counters(state, "alarms")
        # From here on nothing can fail, so that an agent changes as a whole or not at all.
        self.policy, self._plain, self._manner, self._state, self._past = policy, plain, manner, state, past
        self._single, self._shown, self._stale, self._alarms = single, manner.shown, stale, alarms
        self._decide, self._learn, self._share, self._rank = decide, learn, share, rank_all
        self._joint, self._pends, self._pend = joint, pends, wait

    # ---- the two verbs ----

    def decide(self, actions: Any = None, *, context: Any = None, states: Any = None, held: Any = None) -> Decision:
        """Choose for the next round. Keep the decision, or its id, for the reward.

        `actions` is a matrix with a row of features per action, or a mapping from arms to rows; `context` a vector;
        `states` the state of each arm that moves on its own, in their order or a mapping. Which of them an agent
        needs was said when it was made. What it chose is `action`: the name of an arm, the number of a row where arms
        have no names, the names in a slate or of the arms to activate, or, with budgets, None: choose nothing now.

        `held` is an action and its propensity that were settled elsewhere, in a log or by an earlier decision: it is
        taken instead of the policy's own, and learned from like any other. Where nobody knows the propensity it is nan.
        With budgets, it is paid for whatever is left.
        """
        with self._lock:
            t, shown, manner = self.t, self._shown, self._manner
            override = None if held is None else manner.override(held)
            if shown is None or actions is not None or context is not None or states is not None:
                shown = manner.show(t, _given(actions=actions, context=context, states=states))
            if len(self._pending) >= self.max_pending:
                self._find_oldest()
            if not self._single:
                return self._decide_among(t, shown, override)
            over = self._ends(self._oldest) if len(self._pending) >= self.max_pending else None
            if self._joint:
                chosen = -1 if override is None else override[0]
                place, propensity, own = self._decide(self._plain, self._state, t, shown, self._rng, chosen)
            else:
                place, propensity, own = self._decide(self._plain, self._state, t, shown, self._rng)
            # From here on nothing can fail: a decision is made as a whole or not at all.
            if override is not None:
                place, propensity = override
            elif self._share is not None and propensity != propensity:
                propensity = self._share(self._plain, self._state, t, shown, own, place, self.draws)
            if propensity != propensity:
                propensity = math.nan  # the one nan object, so that equal decisions compare equal
            if self._pend is not None:
                self._pend(self._plain, self._state, t, place, propensity, (), self._rng)
            self.t = t + 1
            pending, roster = self._pending, manner.roster
            if len(pending) >= self.max_pending:
                if over is not None:
                    self._learn(self._plain, self._state, *over)
                del pending[self._oldest]
                self.forgotten += 1
            pending[t] = roster.numbers[place], propensity, ()
            return Decision(t, roster.names[place], propensity, (), np.uint64(own))

    def learn(
        self,
        decision: Decision | int,
        reward: Any = None,
        *,
        rewards: Any = None,
        costs: Any = None,
        gradient: Any = None,
        values: Any = None,
        jacobian: Any = None,
        loss: Any = None,
        states: Any = None,
    ) -> None:
        """Tell what came of a decision, now or later, in any order.

        A slate has `rewards`, one per item, in its order. Budgets have `costs`, a mapping from resources to what was
        spent; a number will do where there is only one. A point has the `gradient` of its loss, and where there are
        constraints their `values` and `jacobian`, a row of gradients each, all at the point chosen. Arms that move on
        their own have the `states` they went to, in their order or by name, and perhaps `rewards`; policies that learn
        from states alone refuse those.

        A reward is ignored and counted when nothing can be learned from it any more: when its arm was retired, or an
        item of its slate was. Features go on teaching when their arm is gone, unless arms have parameters of their own.
        """
        if self._single and rewards is costs is gradient is values is jacobian is loss is states is None:
            value = self._manner.reward(reward)
        else:
            told = {"reward": reward, "rewards": rewards, "costs": costs}
            told |= {"gradient": gradient, "values": values, "jacobian": jacobian, "loss": loss, "states": states}
            value = self._manner.read(_given(**told))
        with self._lock:
            t, (chosen, propensity, row) = self._waiting_for(decision)
            found = self._manner.find(chosen, row)
            if not self._single:
                self._learn_about(t, value, found)
            elif found is not None:
                step = t, found[0], propensity, row, self._rng, value, self.t - 1, True
                self._learn(self._plain, self._state, *step)
            if found is None:
                self.ignored += 1
            del self._pending[t]

    def check_asked(self, *asked: Mapping[str, Any]) -> None:
        """Refuse, as `decide` would, what the next decisions cannot be made of: a mapping for each."""
        for i, each in enumerate(asked):
            self._manner.show(self.t + i, _given(**each))

    def check(self, **told: Any) -> None:
        """Refuse, as `learn` would, an outcome that nothing can be learned from."""
        self._manner.read(_given(**told))

    def worth(self, decision: Decision | int, **told: Any) -> float | None:
        """What arms that move would have earned by this outcome, less what it cost to activate some of them.

        It is the mean over the arms that were told of; None where none was, or none of them is still there.
        """
        value = self._arms_that_move().read(_given(**told))
        with self._lock:
            _, (chosen, _, row) = self._waiting_for(decision)
            if self._manner.find(chosen, row) is None:
                return None
            moves = self._manner.complete(value, chosen, row)
            seen = int((moves.states >= 0).sum())
            return moves.reward / seen if seen else None

    def cancel(self, decision: Decision | int) -> None:
        """Call off a decision that never happened: nothing is learned from it, and nothing was spent."""
        with self._lock:
            t, (chosen, *_) = self._waiting_for(decision)
            before = self._manner.checkpoint()
            try:
                if isinstance(self._manner, Budgeted):
                    self._manner.call_off(chosen)
                steps = self._settle(t)
                if self._past is not None:
                    self._past.note(*steps)
            except BaseException as error:
                raise self._undone(before, error) from None
            del self._pending[t]

    def _settle(self, t: int) -> list[Step]:
        """A decision of which nothing will ever be known pends no longer for the policy; the steps it took."""
        step = self._ends(t)
        if step is None:
            return []
        self._learn(self._plain, self._state, *step)
        return [(self._learn, step)]

    def _ends(self, t: int) -> tuple[Any, ...] | None:
        """What tells the policy that a decision pends no longer, though nothing came of it; None where nothing must."""
        chosen, propensity, row = self._pending[t]
        found = self._manner.find(chosen, row) if self._pends else None
        if found is None:
            return None
        return t, found[0], propensity, found[1], self._rng, self._manner.answers[2], self.t - 1, False

    def _waiting_for(self, decision: Decision | int) -> tuple[int, Pending]:
        """A decision that is pending, by itself or its id."""
        t: Any = decision.t if isinstance(decision, Decision) else decision
        t = int(t) if isinstance(t, np.integer) else t
        pending = self._pending.get(t) if type(t) is int else None
        if pending is None:
            raise DecisionError(self._why_unknown(t))
        return t, pending

    # ---- the same where more than one bare arm is chosen, and more of it can fail ----

    def _decide_among(self, t: int, shown: Any, override: tuple[Any, float] | None) -> Decision:
        """Choose between rows, slates, points, with budgets or of many arms."""
        manner, before, full = self._manner, self._manner.checkpoint(), len(self._pending) >= self.max_pending
        if override is not None and isinstance(manner, Features) and override[0] >= len(shown):
            raise ArmError(f"there is no row {override[0]}: {len(shown)} were shown")
        try:
            place, propensity, own = self._decide(self._plain, self._state, t, shown, self._rng)
            if override is not None:
                place, propensity = override
            elif self._share is not None and propensity != propensity:
                propensity = self._share(self._plain, self._state, t, shown, own, place, self.draws)
            over: list[Step] = []
            if full:
                manner.settle(self._oldest, self._pending[self._oldest][0], None)
                over = self._settle(self._oldest)
            decision, kept = self._described(t, place, propensity, shown, np.uint64(own), over, spends=override is None)
        except BaseException as error:
            raise self._undone(before, error) from None
        self.t = t + 1
        if full:
            del self._pending[self._oldest]
            self.forgotten += 1
        if kept is not None:
            self._pending[t] = kept
        return decision

    def _described(
        self, t: int, place: Any, propensity: float, shown: Any, own: np.uint64, over: list[Step], *, spends: bool
    ) -> tuple[Decision, Pending | None]:
        """A decision, and what to keep of it until its outcome comes; None where nothing will.

        `over` are the steps that gave an older decision up.
        """
        manner = self._manner
        # What is shown to others than rows of features is theirs to keep, and `_decide` is compiled already.
        again: Step = (advance, (t, own)) if isinstance(manner, Features) else (self._decide, (t, shown, self._rng))
        steps = [again, *over]
        if spends and isinstance(manner, Budgeted) and not manner.purse.lasts():
            place, propensity = -1, 1.0
        if isinstance(manner, RestlessArms):
            indices = np.zeros(len(shown))
            self._rank(self._plain, self._state, t, shown, indices)
            if spends:
                place, chance = manner.by_lot(place, indices, own)
                if chance != 1.0:  # on top of what a policy drew itself, nobody knows
                    propensity = chance if propensity == 1.0 else math.nan
            manner.keep(shown, indices, place)
        if propensity != propensity:
            propensity = math.nan  # the one nan object, so that equal decisions compare equal
        action, chosen, row = manner.choose(place, shown)
        decision = Decision(t, action, propensity, () if action is None else manner.told_row(row), own)
        ends = action is None  # nothing will come of it that is not known
        if self._pend is not None and not (ends and family_of(self.policy) != "budgets"):
            where = place.copy() if isinstance(place, np.ndarray) else place  # perhaps room that a policy works in
            described = manner.rows.whole(row, place) if isinstance(manner, Features) else row
            steps.append((self._pend, (t, where, propensity, described, self._rng)))
            self._pend(self._plain, self._state, *steps[-1][1])
        if ends and family_of(self.policy) == "budgets":
            steps.append((self._learn, (t, -1, propensity, row, self._rng, manner.answers[2], t, True)))
            self._learn(self._plain, self._state, *steps[-1][1])
        if self._past is not None:
            self._past.note(*steps)
        return decision, None if ends else (chosen, propensity, row)

    def _learn_about(self, t: int, value: Any, found: tuple[Any, Any] | None) -> None:
        """Learn what came of a decision that is still known; one that is not is settled all the same."""
        manner, before, (chosen, propensity, row) = self._manner, self._manner.checkpoint(), self._pending[t]
        answer = None if found is None else manner.complete(value, chosen, row)
        try:
            manner.settle(t, chosen, value)
            if found is not None:
                place, row = found
                step = t, place, propensity, row, self._rng, answer, self.t - 1, True
                self._learn(self._plain, self._state, *step)
                if self._past is not None:
                    self._past.note((self._learn, step))
        except BaseException as error:
            raise self._undone(before, error) from None

    def _undone(self, before: Any, error: BaseException) -> BaseException:
        """Undo what a call had begun when it failed; the error to raise."""
        self._manner.rollback(before)
        if self._past is not None:
            self._past.back()
        failed = isinstance(error, FloatingPointError) and isinstance(self._manner, Features)
        return FeatureError(str(error)) if failed else error

    def _find_oldest(self) -> None:
        """Find the oldest pending decision. Ids only grow, so the search never starts over."""
        while self._oldest not in self._pending:
            self._oldest += 1

    def _why_unknown(self, t: Any) -> str:
        if isinstance(t, bool) or not isinstance(t, int) or not 0 <= t < self.t:
            return f"decision {t!r} was never made: this agent has made {self.t}, numbered from 0"
        return f"decision {t} has been answered already, or was given up as the oldest of {self.max_pending} pending"

    # ---- arms that come and go ----

    @property
    def problem(self) -> Problem:
        """What the policy may know."""
        return self._manner.problem

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms to choose from now; none where rows come without names."""
        return tuple(self._manner.roster.names)

    def add_arm(
        self, name: Arm, features: Row = None, *, arm_class: str | None = None, activation_cost: float | None = None
    ) -> None:
        """A new arm, unexplored; it brings its `features`, or its class and cost, where the others did."""
        name = plain_name(name)
        with self._lock:
            if not self._manner.roster:
                raise ArmError("this agent's actions have no names: they come with every decision")
            roster = self._manner.roster.joined(name)
            self._manner.check_features(name, features)
            if isinstance(self._manner, RestlessArms):
                features = arm_class, activation_cost
            elif arm_class is not None or activation_cost is not None:
                raise ArmError(f"{type(self.policy).__name__} knows no classes of arms, nor costs of activation")
            self._regroup(roster, features)

    def retire_arm(self, name: Arm) -> None:
        """Never choose this arm again; `learn` says what becomes of rewards still under way for it."""
        with self._lock:
            self._regroup(self._manner.roster.left(name, least=self.problem.slate))

    def _regroup(self, roster: Roster, features: Row = None) -> None:
        policy, before = self.policy, self._manner
        if self.t and hasattr(policy, "settled"):  # what it sizes by the number of arms stays as it is from now on
            policy = policy.settled(self.problem)
        manner = before.regrouped(policy, roster, features)
        state = policy.init(manner.problem)
        if self.t:
            kept = before.roster.kept(roster)
            state = self._moved(state, kept, before.columns(kept))
        self._bind(policy, manner, state)

    def _moved(self, fresh: Any, kept: list[int], columns: list[int] | None) -> Any:
        """What has been learned so far, in a state for other arms."""
        try:
            return states.regroup(self._state, fresh, kept, columns)
        except StateError:
            raise
        except ValueError:  # an array that should be the same whatever the arms is not
            name = type(self.policy).__name__
            raise ArmError(f"{name} sizes what it remembers by the number of arms: none can come or go") from None

    # ---- what changes on the way, budgets and indices ----

    def change(
        self,
        *,
        budgets: Mapping[str, float] | None = None,
        horizon: int | None = None,
        activate: int | None = None,
    ) -> None:
        """Other budgets in all, another horizon, or so many arms to activate, from the next decision on.

        What was spent stays spent, and what was learned stays learned. Whatever the policy derives from its problem,
        such as limits of prices, rates, step sizes and widths, is that of the changed problem: of a run that may
        spend in every round what is left by the rounds that are left.
        """
        with self._lock:
            manner = self._manner.changed(self.t, _given(budgets=budgets, horizon=horizon, activate=activate))
            state = self.policy.init(manner.problem)
            if self.t:
                state = self._replanned(state, manner.problem)
            self._bind(self.policy, manner, state)

    def _replanned(self, fresh: Any, problem: Problem) -> Any:
        """What has been learned so far, in a state for a changed problem; nothing where the policy begins anew."""
        if not getattr(self.policy, "begins_anew", _goes_on)(self.problem, problem):
            return self._moved(fresh, list(range(self.problem.n_arms)), None)
        for name in ("stale", "alarms"):
            for count, former in zip(_counters(fresh, name), _counters(self._state, name), strict=True):
                count[...] = former
        return fresh

    @property
    def ranking(self) -> tuple[Ranked, ...]:
        """All arms at the latest decision, the largest index first: state, index, whether chosen, and why."""
        with self._lock:
            return self._arms_that_move().ranking()

    @property
    def indices(self) -> dict[Arm, float]:
        """The index of each arm at the latest decision; nan where the policy goes by none."""
        return {each.arm: each.index for each in self.ranking}

    def _arms_that_move(self) -> RestlessArms:
        if not isinstance(self._manner, RestlessArms):
            raise ArmError("the arms of this agent do not move on their own: it has no indices, and activates none")
        return self._manner

    @property
    def remaining(self) -> dict[str, float]:
        """What has not been spent of each resource; part of it may be `reserved` for pending decisions."""
        purse = self._budgeted().purse
        return purse.named(purse.remaining)

    @property
    def reserved(self) -> dict[str, float]:
        """What is kept back for pending decisions: by `reserve`, the most they can cost, or an estimate of it."""
        purse = self._budgeted().purse
        return purse.named(purse.reserved)

    @property
    def can_pay(self) -> bool:
        """Whether one more decision can be paid for, whatever it costs; always so without budgets."""
        return not isinstance(self._manner, Budgeted) or self._manner.purse.lasts()

    @property
    def prices(self) -> dict[str, float]:
        """What one more unit of each resource would earn, by the policy's reckoning; nan where it reckons none."""
        with self._lock:
            manner = self._budgeted()
            rates = manner.purse.rates(self.problem.horizon - self.t)
            prices = np.zeros(len(rates))
            asked = self._plain, self._state, self.t, rates, prices
            self._bound(appraise, *asked)(*asked)
            return manner.purse.named(prices / manner.purse.most)

    def _budgeted(self) -> Budgeted:
        if not isinstance(self._manner, Budgeted):
            raise BudgetError("this agent has no budgets: make it with budgets=, and a policy that spends them")
        return self._manner

    # ---- what can be asked ----

    @property
    def pending(self) -> tuple[int, ...]:
        """Ids of the decisions that wait for a reward, oldest first."""
        return tuple(self._pending)

    @property
    def stale(self) -> int:
        """Rewards that came too late to count: their round had left the window, or their batch had ended."""
        return int(sum(counter[0] for counter in self._stale))

    @property
    def alarms(self) -> int:
        """Changes that the policy has noticed, where it looks for any."""
        return int(sum(counter[0] for counter in self._alarms))

    @property
    def state(self) -> Any:
        """A copy of the policy's state."""
        return states.clone(self._state)

    def __repr__(self) -> str:
        offers = f"arms={list(self.arms)}" if self.arms else f"features={self.problem.dim}"
        offers = f"points of {self.problem.dim} coordinates" if self.problem.family == "convex" else offers
        return f"Agent({self.policy}, {offers}, t={self.t}, pending={len(self._pending)})"

    # ---- on paper and back ----

    def dumps(self) -> bytes:
        """Everything, as bytes: exact, versioned, never pickle."""
        return self.draft()()

    def draft(self) -> Callable[[], bytes]:
        """Take a copy, which is quick; what this returns makes the bytes of it, later and in any thread.

        >>> import driftwise as dw
        >>> agent = dw.Agent(dw.SlidingUCB(window=10), arms=["a", "b"])
        >>> before, write = agent.dumps(), agent.draft()
        >>> _ = agent.decide()
        >>> write() == before
        True
        """
        with self._lock:
            saved, pending, manner = self._saved(), self._pending.copy(), self._manner

        def write() -> bytes:
            saved.pending = [(t, chosen, propensity) for t, (chosen, propensity, _) in pending.items()]
            saved.rows = manner.pack_rows([row for *_, row in pending.values()])
            return states.seal(msgspec.msgpack.encode(saved))

        return write

    def _saved(self) -> Saved:
        """Everything but pending decisions, of which there may be many."""
        policy, manner, roster = on_paper(self.policy), self._manner, self._manner.roster
        facts, arrays = manner.paper()
        return Saved(
            policy=policy.policy,
            parameters=policy.parameters,
            tag=self._bound.tag,
            problem=list(self.problem[:-1]),
            setting=setting_on_paper(self.problem.setting),
            arms=[*roster.names],
            numbers=[*roster.numbers],
            next_number=roster.following,
            seed=self.seed,
            t=self.t,
            pending=[],
            max_pending=self.max_pending,
            draws=self.draws,
            counters={"forgotten": self.forgotten, "ignored": self.ignored},
            state=states.pack(self._state),
            facts=facts,
            arrays=arrays,
            rows=[],
        )

    @classmethod
    def loads(cls, blob: bytes, *, policy: type | None = None) -> "Agent":
        """An agent that continues where the saved one stopped.

        `policy` is needed for a class that is not in driftwise's table. Bytes written by another version of the
        policy's code are accepted when they fit, with a warning: the run goes on, though not bit for bit.
        """
        try:
            saved = msgspec.msgpack.decode(states.unseal(blob), type=Saved)
        except msgspec.DecodeError as error:
            raise StateError(f"these bytes hold something other than an agent: {error}") from None
        chosen = from_paper(saved, policy)
        problem = Problem(*saved.problem, setting=setting_from_paper(saved.setting))  # type: ignore[arg-type, misc]
        if len(saved.arms) != len(saved.numbers):
            raise StateError("the saved arms do not fit the saved problem")
        roster = Roster(saved.arms, saved.numbers, saved.next_number)
        arrays = {each.path: each for each in saved.arrays}
        manner = MANNERS[problem.family].from_paper(chosen, problem, roster, saved.facts, arrays)
        agent = cls.__new__(cls)
        agent._set_up(chosen, manner, saved.seed, saved.max_pending, saved.draws)
        agent._bind(chosen, manner, states.unpack(saved.state, agent._state))
        agent.t = saved.t
        agent._pending = agent._restored(saved)
        agent.forgotten, agent.ignored = saved.counters["forgotten"], saved.counters["ignored"]
        if saved.tag != code_tag(*kinds([chosen])):
            warnings.warn(f"{saved.policy} has changed since this agent was saved: choices may differ", stacklevel=2)
        return agent

    def _restored(self, saved: Saved) -> dict[int, Pending]:
        """The pending decisions of a saved agent; what they hold must fit this one, for kernels trust it."""
        rows = self._manner.unpack_rows(saved.rows, len(saved.pending))
        return {
            t: (self._manner.check_kept(t, chosen), propensity, row)
            for (t, chosen, propensity), row in zip(saved.pending, rows, strict=True)
        }


def _given(**words: Any) -> dict[str, Any]:
    """What was said, without what was not."""
    return {name: value for name, value in words.items() if value is not None}


def _goes_on(before: Problem, after: Problem) -> bool:
    """A policy that does not say otherwise keeps what it has learned."""
    return False


def _counters(state: Any, name: str) -> list[Any]:
    """The arrays of a state that are called so, wherever in it they are."""
    return [array for path, array in states.arrays(state) if path.split(".")[-1] == name]


def _keeps_arms(state: Any) -> bool:
    """Whether a state remembers anything by arm."""
    return len(list(states.arrays(state))) > len(list(states.arrays(state, but=(Scratch, PerArm, ArmIds))))


def _wordless(policy: Any) -> Any:
    """The policy as kernels are given it: they read no words, and each word handed over would leave bytes behind."""
    inner = {name: _wordless(value) for name, value in policy._asdict().items() if hasattr(value, "_fields")}
    return policy._replace(**inner, **{name: 0 for name, value in policy._asdict().items() if isinstance(value, str)})


def _range(reward_range: tuple[float, float]) -> tuple[float, float]:
    try:
        low, high = (float(end) for end in reward_range)
    except (TypeError, ValueError):
        raise ParameterError(f"reward_range={reward_range!r} is not a pair (low, high)") from None
    if not low < high or not math.isfinite(low) or not math.isfinite(high):
        raise ParameterError(f"reward_range=({low:g}, {high:g}) is not a pair of finite numbers with low < high")
    return low, high
