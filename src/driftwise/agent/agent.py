"""An agent decides in a live program: the same kernels as the simulation, one round at a time.

Its whole self is data: policy, problem, arms, seed, round, pending decisions and the policy's state. `dumps` writes
it down, `loads` continues bit for bit, with decisions still waiting for their rewards. Threads may share an agent.
The code is bound when the agent is made: kernels registered later are used by agents made, or loaded, later.
"""

import math
import warnings
from collections.abc import Callable, Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from driftwise.agent.pending import PendingNotes
from driftwise.agent.rounds import Rounds
from driftwise.agent.serialization import (
    decode_agent,
    encode_agent,
    write_whole,
)
from driftwise.agent.summary import ArmSummary, flat, html_of, summary_of, table_of, title_of
from driftwise.core import serialization as states
from driftwise.core.adapter import NOTHING, AnyAdapter
from driftwise.core.arm_registry import plain_name
from driftwise.core.encoding import Arm
from driftwise.core.family import FAMILIES, caution_of, display_name, errors_about, player_of, resolve
from driftwise.core.loop import KNOWN
from driftwise.core.outcome_status import OutcomeStatus
from driftwise.core.problem import ProblemValue
from driftwise.core.protocols import Policy
from driftwise.core.types import Decision, Problem, new_decision
from driftwise.core.validation import cast, policy_instance, whole
from driftwise.display.frames import frame_of
from driftwise.errors import ArmError, DriftwiseError, ParameterError, StateError
from driftwise.families.multi_armed.problem import MultiArmed

# Members of an enum are looked up slowly in Python 3.11.
LEARNED, STALE, IGNORED = OutcomeStatus.LEARNED, OutcomeStatus.STALE, OutcomeStatus.IGNORED


class Agent(Rounds):
    """A policy at work.

    Parameters
    ----------
    policy
        What decides, e.g. `SlidingThompson(window=1000)`; `Auto()` takes the one of the problem's family.
    problem : problem value, int or list of str
        What is decided between: `MultiArmed`, `Contextual`, `Slate`, `Knapsack`, `Convex` or `Restless`. A list of
        names, or a count, stands for `MultiArmed`.
    seed : int
        All randomness comes from it: the stream of decision i is derived from (seed, i).
    max_pending : int
        Decisions that may wait for a reward; beyond it the oldest is given up and counted as `forgotten`.
    propensity_samples : int
        Where the policy cannot tell the propensity of the arm it chose, count it by so many samples; 0 leaves it nan.

    >>> import driftwise as dw
    >>> agent = dw.Agent(dw.SlidingThompson(window=100), ["red", "blue"], seed=1)
    >>> decision = agent.decide()
    >>> decision.action in agent.arms
    True
    >>> agent.learn(decision, reward=1.0)
    'learned'
    >>> again = dw.Agent.loads(agent.dumps())
    >>> again.decide() == agent.decide()
    True
    >>> agent = dw.Agent(dw.SlidingLinUCB(window=100), dw.Contextual(n_features=3))
    >>> decision = agent.decide(actions=[[1.0, 0.2, 0.0], [1.0, 0.9, 0.3]])
    >>> decision.action, decision.context
    (1, (1.0, 0.9, 0.3))
    """

    def __init__(
        self,
        policy: Policy,
        problem: ProblemValue | Iterable[Arm] | int,
        *,
        seed: int = 0,
        max_pending: int = 100_000,
        propensity_samples: int = 0,
    ) -> None:
        chosen, value = cast(policy_instance(policy)), as_problem(problem)
        policy = resolve(chosen, value.kind)
        seed, max_pending = whole("seed", seed, low=0, high=2**63 - 1), whole("max_pending", max_pending, high=10**9)
        samples = whole("propensity_samples", propensity_samples, low=0, high=10**6)
        with errors_about(chosen, policy):
            policy = player_of(policy, value)
            adapter = FAMILIES[value.kind].adapter.of(policy, value)
            self._set_up(policy, adapter, seed, max_pending, samples)
        adapter.name = display_name(chosen, policy)
        if caution := caution_of(policy, adapter.problem):
            warnings.warn(caution, stacklevel=2)

    # ---- the two verbs ----

    def decide(
        self,
        actions: object = None,
        *,
        override: object = None,
        at: int | None = None,
        id: int | None = None,
        note: object = None,
        **request: object,
    ) -> Decision:
        """Choose for the next round. Keep the decision, or its id, for the reward.

        What else it takes depends on the problem: `actions`, a matrix with a row of features per action, or a mapping
        from arms to rows; `context`, a vector; `states`, the state of each restless arm, in their order or a mapping.
        What it chose is `action`: the name of an arm, the number of a row where arms have no names, the names in a
        slate or of the arms to activate, a point, or, with budgets, None: choose nothing now.

        `override` is an action and its propensity that were chosen outside, in a log or against advice: it takes the
        place of the policy's own choice, and the policy learns from it like from any other. Where nobody knows the
        propensity it is nan. With budgets, it is paid for whatever is left.

        `at` is the round, where rounds pass without decisions: not before the next one. `id` is by what `learn` and
        `cancel` find the decision, where a journal numbers decisions: a number larger than all before; without it, the
        round. `note` is stored with the pending decision (`notes`), and saved with the agent if msgpack can encode it.
        """
        with self._lock:
            t, context, adapter = self.t if at is None else whole("at", at, low=self.t), self._context, self._adapter
            outside = None if override is None else adapter.read_override(override)
            if context is None or actions is not None or request:
                context = adapter.read_request(t, _without_none(actions=actions, **request))
            pending = self._pending
            full = len(pending) >= self.max_pending
            if full:
                self._find_oldest()
            id = t if id is None else self._new_id(id)
            if not self._bare:
                return self._decide_among(t, context, outside, id, note)
            over = self._ends(self._oldest) if full else None
            chosen = -1 if outside is None else outside[0]
            index, propensity, own = self._decide(self._plain, self._address, t, context, self._rng, chosen)
            registry = adapter.registry
            try:
                if index < 0:
                    raise IndexError
                uid, name = registry.uids[index], registry.names[index]
            except (IndexError, TypeError):
                raise self._no_such_arm(index) from None
            # From here on nothing can fail: a decision is made as a whole or not at all.
            if outside is not None:
                propensity = outside[1]
            elif propensity != propensity:
                propensity = math.nan  # the one nan object, so that equal decisions compare equal
            self.t = t + 1
            if full:
                if over is not None:
                    self._follow(self._plain, self._address, *over)
                del pending[self._oldest]
                self.forgotten += 1
            pending[id] = t, uid, propensity, NOTHING, note
            return new_decision((t, name, propensity, NOTHING, own))

    def learn(self, decision: Decision | int, reward: object = None, **outcome: object) -> OutcomeStatus:
        """Report the outcome of a decision, now or later, in any order; what became of it comes back.

        What an outcome is depends on the problem: a `reward`; for a slate `rewards`, one per item, in its order; with
        budgets `costs` too, a mapping from resources to what was spent (a number will do where there is only one); for
        a point the `gradient` of its loss, and where there are constraints their `values` and `jacobian`, a row of
        gradients each, all at the point chosen; for restless arms the `states` they went to, in their order or by name,
        and perhaps `rewards`, which policies that learn from states alone refuse.

        An outcome is ignored when nothing can be learned from it any more: when its arm was retired, or an item of its
        slate was. Features go on teaching when their arm is gone, unless arms have parameters of their own.
        """
        low, high = self._plain_rewards
        if type(reward) is float and low <= reward <= high and not outcome:
            value: Any = reward
        else:
            value = self._adapter.read_outcome(_without_none(reward=reward, **outcome))
        with self._lock:
            id: Any = decision[0] if type(decision) is Decision else None  # the common case, tested without a call
            pending = self._pending.get(id) if type(id) is int else None
            if pending is None or pending[0] != id:
                id, pending = self._waiting_for(decision)
            read_stale = self._read_stale
            stale = read_stale() if read_stale is not None else None
            if self._bare:
                t, chosen, propensity, row, _ = pending
                index = self._adapter.registry.index_by_uid.get(chosen)
                known = index is not None
                if known:
                    now = self.t - 1
                    self._follow(self._plain, self._address, t, index, propensity, row, self._rng, value, now, KNOWN)
            else:
                known = self._learn_about(pending, value)
            del self._pending[id]
            if not known:
                self.ignored += 1
                return IGNORED
            return STALE if read_stale is not None and read_stale() != stale else LEARNED

    def validate_requests(self, *requests: Mapping[str, Any]) -> None:
        """Refuse, as `decide` would, requests that the next decisions cannot be made from."""
        with self._lock:  # reading writes into room that decisions share
            for i, request in enumerate(requests):
                self._adapter.read_request(self.t + i, _without_none(**request))

    def validate_outcome(self, **outcome: object) -> None:
        """Refuse, as `learn` would, an outcome that nothing can be learned from."""
        self._adapter.read_outcome(_without_none(**outcome))

    def outcome_of(self, decision: Decision | int, **outcome: object) -> Any:
        """What the policy would read of an outcome of a pending decision; None where it would learn nothing."""
        value = self._adapter.read_outcome(_without_none(**outcome))
        with self._lock:
            _, (_, chosen, _, row, _) = self._waiting_for(decision)
            return None if self._adapter.locate(chosen, row) is None else self._adapter.complete(value, chosen, row)

    def cancel(self, decision: Decision | int) -> None:
        """Call off a decision that never happened: nothing is learned from it, and nothing was spent."""
        with self._lock:
            id, (_, chosen, *_) = self._waiting_for(decision)
            before = self._adapter.checkpoint()
            try:
                self._adapter.cancel(chosen)
                steps = self._settle(id)
                if self._past is not None:
                    self._past.note(*steps)
            except BaseException as error:
                raise self._undone(before, error) from None
            del self._pending[id]

    # ---- what changes on the way ----

    def add_arm(self, name: Arm, **options: object) -> None:
        """A new arm, unexplored; it brings its `features`, or its `arm_type` and `activation_cost`, as others did."""
        name = plain_name(name)
        with self._lock:
            if not self._adapter.registry:
                raise ArmError("this agent's actions have no names: they come with every decision")
            registry, options = self._adapter.registry.with_arm(name), _without_none(**options)
            self._adapter.check_arm(name, options)
            self._regroup(registry, options)

    def retire_arm(self, name: Arm) -> None:
        """Never choose this arm again; `learn` says what becomes of rewards still under way for it."""
        with self._lock:
            self._regroup(self._adapter.registry.without_arm(name, least=self.problem.slate), {})

    def change(self, **changes: object) -> None:
        """Another `horizon`, other `budgets` in all, or another `n_active`, from the next decision on.

        What was spent stays spent, and what was learned stays learned. Whatever the policy derives from its problem,
        such as limits of prices, rates, step sizes and widths, is that of the changed problem: of a run that may
        spend in every round what is left by the rounds that are left.
        """
        with self._lock:
            adapter = self._adapter.changed(self.t, _without_none(**changes))
            adapter.name = self._adapter.name
            state = self.policy.init(adapter.problem)
            if self.t:
                state = self._replanned(state, adapter.problem)
            self._bind(self.policy, adapter, state)

    # ---- what can be asked ----

    def summary(self, actions: object = None, **request: object) -> list[ArmSummary]:
        """What the policy knows of every arm, or of every row offered, before the next decision.

        It takes what `decide` does.

        >>> import driftwise as dw
        >>> agent = dw.Agent(dw.KLUCB(), dw.MultiArmed(["red", "blue"], reward_range=(0, 10)))
        >>> agent.learn(agent.decide(), reward=5.0)
        'learned'
        >>> red, blue = agent.summary()
        >>> red.estimate, red.count, blue.estimate, blue.index
        (5.0, 1.0, None, inf)
        """
        with self._lock:
            return summary_of(self, _without_none(actions=actions, **request), self.t)

    @property
    def problem(self) -> Problem:
        """What the policy may know."""
        return self._adapter.problem

    @property
    def adapter(self) -> AnyAdapter:
        """What stands between this agent and its policy: the part that is particular to a family."""
        return self._adapter

    @property
    def arms(self) -> tuple[Arm, ...]:
        """The arms to choose from now; none where rows come without names."""
        return tuple(self._adapter.registry.names)

    @property
    def pending(self) -> tuple[int, ...]:
        """Ids of the decisions that wait for a reward, oldest first."""
        return tuple(self._pending)

    @property
    def notes(self) -> PendingNotes:
        """The notes of the decisions that wait for a reward, by id, oldest first: a live view."""
        return PendingNotes(self._pending)

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

    if TYPE_CHECKING:  # attributes of some families: agent/views.py

        def __getattr__(self, name: str) -> Any: ...

    def __repr__(self) -> str:
        line = f"Agent({title_of(self)}, {self._adapter.describe()}, t={self.t}, pending={len(self._pending)})"
        try:
            records = self.summary()
        except DriftwiseError:  # features or states come with requests
            return line
        return f"{line}\n{table_of(records)}" if records else line

    def _repr_html_(self) -> str:
        return html_of(self)

    def frame(self, library: str = "pandas", **request: object) -> Any:
        """What `summary` says, as a frame of `pandas`, `polars` or `arrow`: a row per arm."""
        return frame_of([flat(each) for each in self.summary(**request)], library)

    # ---- bytes and files ----

    def dumps(self) -> bytes:
        """Everything, as bytes: exact, versioned, never pickle."""
        return self.freeze()()

    def freeze(self) -> Callable[[], bytes]:
        """Take a copy, which is quick; what this returns makes the bytes of it, later and in any thread.

        >>> import driftwise as dw
        >>> agent = dw.Agent(dw.SlidingUCB(window=10), ["a", "b"])
        >>> before, write = agent.dumps(), agent.freeze()
        >>> _ = agent.decide()
        >>> write() == before
        True
        """
        with self._lock:
            return encode_agent(self)

    @classmethod
    def loads(cls, blob: bytes, *, policy: type | None = None, note: object = Any) -> "Agent":
        """An agent that continues where the saved one stopped.

        `policy` is needed for a class that is not in driftwise's table. Bytes written by another version of the
        policy's code are accepted when they fit, with a warning: the run goes on, though not bit for bit. `note` is the
        type of the notes.
        """
        saved = decode_agent(blob, policy, note)
        agent = cls.__new__(cls)
        agent._set_up(saved.policy, saved.adapter, saved.seed, saved.max_pending, saved.propensity_samples)
        agent._bind(saved.policy, saved.adapter, states.unpack(saved.state, agent._state))
        agent.t, agent._pending = saved.t, saved.pending
        agent.forgotten, agent.ignored = saved.forgotten, saved.ignored
        return agent

    def save(self, path: str | PathLike[str]) -> None:
        """Write everything to a file: the whole of it or nothing, also when the machine stops half way."""
        write_whole(Path(path), self.dumps())

    @classmethod
    def load(cls, path: str | PathLike[str], *, policy: type | None = None) -> "Agent":
        """The agent that a file holds; see `loads`."""
        try:
            return cls.loads(Path(path).read_bytes(), policy=policy)
        except StateError as error:
            raise StateError(f"{path}: {error}") from None


def as_problem(problem: ProblemValue | Iterable[Arm] | int) -> ProblemValue:
    """A problem value; a count or a list of names stands for arms without features."""
    if isinstance(problem, ProblemValue):
        return problem
    if isinstance(problem, Mapping):
        raise ParameterError("arms with features are a contextual problem: give dw.Contextual({name: row, ...})")
    return MultiArmed(problem)  # type: ignore[arg-type]  # what is neither names nor a count is refused there


def _without_none(**arguments: object) -> dict[str, Any]:
    """Arguments without those that are None."""
    return {name: value for name, value in arguments.items() if value is not None}
