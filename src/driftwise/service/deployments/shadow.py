"""A shadow: another policy that is fed the journal of a deployment, and chooses without being obeyed.

Its state is that of a replay of the journal into its policy, bit for bit. Before each decision of the journal it says
what it would choose; what that would have earned is estimated from the outcomes, by the propensities of what was
decided (`measure.running_estimate`). The count begins anew when another policy begins to decide.

A decision counts where its propensity is known: chosen by the policy, or outside with a propensity. Where a unit keeps
its arm, only its first decision counts, which chose it.
"""

from collections.abc import Callable
from typing import Any

import msgspec

from driftwise.agent.proposal import Proposer
from driftwise.core.fingerprint import code_tag
from driftwise.core.seeding import key
from driftwise.display.text import counted
from driftwise.measure.estimators import SURE
from driftwise.measure.intervals import Interval
from driftwise.measure.running_estimate import EstimateState, RunningEstimate
from driftwise.service.deployments.clock import utc
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.reward_means import RewardMeans
from driftwise.service.http.schemas.responses import MeanEstimate, ShadowResponse
from driftwise.service.store.events import Cancelled, Changed, Decided, Erased, Learned, body_of
from driftwise.service.store.journal import Event, Snapshot

PendingRow = tuple[float, float, float]  # weight, prediction, and expectation of a decision without an outcome
NO_PROPENSITY = (
    "the policy in force gives no propensities, without which nothing can be estimated: set propensity_samples, such "
    "as 200, so that they are counted"
)
DETERMINISTIC = (
    "the policy in force leaves nothing to chance (its propensities are 1), so that its decisions do not tell what "
    "others would earn: let one decide that explores at random, such as auto:floor=0.05, epsilon-greedy, or Thompson "
    "sampling with propensity_samples"
)


class ShadowState(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """What is counted since event `since`; the first decision was at `since_at`."""

    since: int = 0
    since_at: int = 0
    n_decisions: int = 0
    n_agreed: int = 0
    n_unknown: int = 0  # decisions of the policy without a propensity
    n_sure: int = 0  # decisions of the policy that could not have been others
    pending: dict[int, PendingRow] = {}
    estimate: EstimateState = msgspec.field(default_factory=EstimateState)
    means: RewardMeans = msgspec.field(default_factory=RewardMeans)


class SavedShadow(msgspec.Struct, array_like=True, forbid_unknown_fields=True):
    """A shadow as it is stored: after event `number`, whose link is `link`; `tag` names the code that counted."""

    tag: str
    policy: str
    number: int
    link: int
    deployment: bytes
    state: ShadowState


class Shadow:
    """A fold of the journal into `policy`, and the estimate of its value."""

    def __init__(self, policy: str, deployment: Deployment, state: ShadowState | None = None) -> None:
        self.policy, self.deployment = policy, deployment
        self.state = ShadowState(since=deployment.number) if state is None else state
        self.estimate = RunningEstimate(self.state.estimate)
        self.failure: str | None = None  # why it cannot go on
        self._proposer = Proposer(deployment.agent, key(deployment.spec.seed, "shadow", policy))

    @property
    def number(self) -> int:
        """The number of the next event that it is fed."""
        return self.deployment.number

    # ---- events ----

    def apply(self, event: Event) -> None:
        """Handle the next event of the journal."""
        body = body_of(event)
        if isinstance(body, Erased):
            body = body.decided
        if isinstance(body, Decided):
            self._on_decided(event, body)
        elif isinstance(body, Learned):
            self._on_learned(event, body)
        else:
            self.deployment.apply(event)
            if isinstance(body, Cancelled):
                self.state.pending.pop(event.ref, None)
            elif isinstance(body, Changed) and body.policy:
                self._begin_anew()

    def _begin_anew(self) -> None:
        self.state = ShadowState(since=self.number)
        self.estimate = RunningEstimate(self.state.estimate)

    def _on_decided(self, event: Event, body: Decided) -> None:
        deployment, state = self.deployment, self.state
        if body.sticky:
            deployment.apply(event)
            return
        choice = plain(self._proposer.propose(body.request, deployment.round_at(event.at)))
        deployment.apply(event)
        agreed = choice == body.action
        state.since_at = state.since_at or event.at
        if not body.override:
            state.n_decisions += 1
            state.n_agreed += agreed
            state.n_unknown += body.propensity is None
            state.n_sure += body.propensity is not None and body.propensity >= SURE
        if body.propensity is not None and deployment.hooks.no_estimate is None:
            means = state.means
            state.pending[event.number] = agreed / body.propensity, means.predict(body.action), means.predict(choice)

    def _on_learned(self, event: Event, body: Learned) -> None:
        deployment, row = self.deployment, self.state.pending.pop(event.ref, None)
        rewards = deployment.hooks.rewards(deployment.pending[event.ref].action, body.outcome)
        deployment.apply(event)
        if rewards is None or deployment.hooks.no_estimate is not None:
            return
        if row is not None:
            self.estimate.add(row[0], float(sum(rewards[1])), row[1], row[2])
        self.state.means.learn(*rewards)

    # ---- what is known ----

    def why_not(self, lag: int) -> str | None:
        """Why there is no estimate; None where there is one. `lag` is how many events it has not been fed."""
        state, n = self.state, self.estimate.n
        if self.failure is not None or self.deployment.hooks.no_estimate is not None:
            return self.failure or self.deployment.hooks.no_estimate
        if state.n_unknown:
            return NO_PROPENSITY
        if not n and lag:
            return f"it has not been fed {counted(lag, 'event')} yet"
        if not n:
            return "no outcome of a decision with a propensity has come yet"
        if state.n_decisions and state.n_sure >= SURE * state.n_decisions:
            return DETERMINISTIC
        return self.estimate.doubt()

    def view(self, n_events: int) -> ShadowResponse:
        """What is known, when the deployment has so many events."""
        state, n, lag = self.state, self.estimate.n, max(0, n_events - self.number)
        response = ShadowResponse(
            policy=self.policy,
            since=utc(state.since_at) if state.since_at else None,
            since_event=state.since,
            upto_event=self.number - 1,
            lag=lag,
            n=n,
            agreement=state.n_agreed / state.n_decisions if state.n_decisions else None,
            why=self.why_not(lag),
        )
        if response.why is None:
            values = self.estimate.values()
            response.estimate, response.live = _mean(values.policy), _mean(values.earned)
            response.estimate.effective_sample_size = values.size
            response.difference = _mean(values.difference)
        return response

    # ---- snapshots ----

    def freeze(self, link: int) -> Callable[[], SavedShadow]:
        """Copy the state, which is fast; the function returned makes what is stored. `link` is that of its event."""
        draft, state = self.deployment.freeze(), msgspec.msgpack.encode(self.state)

        def write() -> SavedShadow:
            snapshot: Snapshot = draft()
            return SavedShadow(
                code_tag(Shadow), self.policy, snapshot.number, link, snapshot.body, _STATES.decode(state)
            )

        return write


_STATES = msgspec.msgpack.Decoder(ShadowState)


def plain(action: object) -> Any:
    """An action as the journal has it."""
    return list(action) if isinstance(action, tuple) else action


def _mean(interval: Interval) -> MeanEstimate:
    return msgspec.convert(interval.as_dict(), MeanEstimate)
