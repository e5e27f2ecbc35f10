"""What to run when there is no log yet, by tables that were measured.

`measured_losses.py` reads what each candidate lost in small sets of simulated worlds, by kind of problem, by how they
drift, and by horizon; nothing else is read here. The candidate with the least mean loss is recommended. People are
often wrong about drift, so their answer has the weight 0.7, and how much would be lost in worlds of the other kinds of
drift 0.3.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from statistics import fmean
from typing import NamedTuple

import msgspec

from driftwise.core.family import FAMILIES, resolve
from driftwise.core.problem import ProblemValue
from driftwise.core.protocols import Policy
from driftwise.core.spec import parameters
from driftwise.core.validation import number, one_of, whole
from driftwise.core.verbs import ABOUT
from driftwise.errors import DriftwiseError, ParameterError
from driftwise.evaluate.measured_losses import DRIFTS, Losses, MeasuredLosses, policy_of
from driftwise.families.multi_armed.problem import MultiArmed

UNKNOWN = "unknown"
WORLDS = {
    "none": "do not drift",
    "slow": "drift slowly",
    "fast": "drift fast",
    "abrupt": "jump now and then",
    UNKNOWN: "stand still, drift slowly, drift fast or jump",
}
TRUST = 0.7  # the weight of what is said of the drift
TIE = 0.005  # of losses that differ by no more than this, the candidate with less to set is better
TUNING = re.compile("an? .* fit for the drift")  # a need that the candidate has in its parameters: no world tells it
ROUND_TRIP = 1000  # samples with which an agent counts propensities


class Cost(NamedTuple):
    """The share of the attainable reward that is lost: by what is recommended, and by the best candidate there."""

    loss: float
    best: float
    best_policy: str


@dataclass(frozen=True, kw_only=True)
class Recommendation:
    """A policy to run, why, and what it costs if what was said of the drift is wrong.

    Parameters
    ----------
    kind : str
        The kind of problem.
    policy : str
        The name of the policy, as the command line has it.
    parameters : mapping
        Its parameters, those at their defaults left out.
    reason : str
        Why, in one sentence.
    cost_if_wrong : mapping of str to Cost
        By how the world may drift instead: the share of the attainable reward that is lost.
    code : str
        The line of Python that makes the agent.
    command : str
        A command that compares it with the runner-up in a simulated world.
    notes : tuple of str
        What else to know, a sentence each.
    """

    kind: str
    policy: str
    parameters: Mapping[str, float | str]
    reason: str
    cost_if_wrong: Mapping[str, Cost]
    code: str
    command: str
    notes: tuple[str, ...] = ()
    spec: str = field(repr=False, default="")

    def build(self) -> Policy:
        """The policy itself, for an agent or a study."""
        return policy_of(self.spec)

    def as_dict(self) -> dict[str, object]:
        """Plain data, for JSON."""
        costs = {drift: cost._asdict() for drift, cost in self.cost_if_wrong.items()}
        names = ("kind", "policy", "spec", "reason", "code", "command")
        plain: dict[str, object] = {name: getattr(self, name) for name in names}
        return plain | {"parameters": dict(self.parameters), "cost_if_wrong": costs, "notes": list(self.notes)}

    def __str__(self) -> str:
        lines = [("run", self.spec), ("because", self.reason)]
        for drift, cost in self.cost_if_wrong.items():
            none_better = f"no candidate {'loses less' if cost.loss >= 0.0 else 'earns more'}"
            best = none_better if cost.best_policy == self.spec else f"{cost.best_policy} {in_words(cost.best)}"
            lines.append((f"if {drift}", f"it {_share(cost.loss)} ({best})"))
        lines += [*(("note", note) for note in self.notes), ("python", self.code), ("try it", self.command)]
        return "\n".join(f"{label:<10} {text}" for label, text in lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from driftwise.evaluate.display.cards import recommendation_html

        return recommendation_html(self)


def in_words(loss: float) -> str:
    """A share of the attainable reward; what is lost is negative where a comparator that never moves was beaten."""
    return f"loses {loss:.1%}" if loss >= 0.0 else f"earns {-loss:.1%} more"


def _share(loss: float) -> str:
    return in_words(loss) + (" of the attainable reward" if loss >= 0.0 else " than the comparator")


def recommend(
    problem: ProblemValue | Iterable[str] | str | int = "multi-armed",
    *,
    horizon: int | None = None,
    delay: float | None = None,
    drift: str | None = None,
    needs_propensities: bool = False,
) -> Recommendation:
    """What to run, by what is known.

    Parameters
    ----------
    problem : problem value, name of a kind, int or list of str
        What is decided between; of a kind alone its name, such as "contextual". A list of names, or a count, stands
        for `MultiArmed`.
    horizon : int, optional
        How many decisions there will be; that of the problem, where it has one. None or 0 where nobody knows.
    delay : float, optional
        How many decisions are made on average before the reward of one arrives.
    drift : str, optional
        How the world drifts: "none", "slow", "fast", "abrupt", or None where nobody knows.
    needs_propensities : bool
        Whether the log must tell how likely each choice was, so that other policies can be evaluated on it.

    >>> recommend("multi-armed", drift="none", needs_propensities=True).parameters
    {'floor': 0.05}
    """
    value = _problem_of(problem)
    kind = str(problem) if value is None else value.kind
    horizon = whole("horizon", horizon if horizon is not None else value.horizon if value else 0, low=0)
    delay = number("delay", 0.0 if delay is None else delay, above=0.0, closed="[")
    stated = one_of("drift", UNKNOWN if drift is None else drift, (UNKNOWN, *DRIFTS))
    table = MeasuredLosses.of(kind, horizon, delay)
    losses = table.losses()
    notes = list(table.notes)
    if stated not in (UNKNOWN, *table.drifts):
        notes.append(f"worlds in which {DRIFTS[stated]} were not measured for {kind} problems")
        stated = UNKNOWN
    fitting = _fitting(losses, kind, value, horizon)
    chosen, note = _with_propensities(fitting, table) if needs_propensities else (fitting, "")
    ranked = _ranked(chosen, stated)
    notes = [each for each in (_knowledge(ranked, kind), *notes, note) if each]
    return _recommendation(kind, stated, horizon, ranked, fitting, table, tuple(notes), needs_propensities)


def _problem_of(problem: ProblemValue | Iterable[str] | str | int) -> ProblemValue | None:
    """The problem value; None where only the name of a kind is known."""
    if isinstance(problem, ProblemValue):
        return problem
    if isinstance(problem, str):
        return None
    return MultiArmed(problem)  # type: ignore[arg-type]  # the adapter checks it


def _fitting(losses: Losses, kind: str, value: ProblemValue | None, horizon: int) -> Losses:
    """The candidates that accept this problem; where only its kind is known, a small one of that kind.

    A policy that was measured under several names, as `auto` and its own, is one candidate: the first of them.
    """
    family = FAMILIES[kind]
    problem = value or next(iter(family.fixtures.of().usages.values())).problem
    known = msgspec.structs.replace(problem, horizon=horizon or problem.horizon)
    fitting: dict[str, str] = {}
    for policy in losses:
        try:
            candidate = resolve(policy_of(policy), kind)
            candidate.init(family.adapter.of(candidate, known).problem)
        except DriftwiseError as error:
            reason = error
        else:
            fitting.setdefault(repr(candidate), policy)  # tuples of two classes are equal where their fields are
    if not fitting:
        raise ParameterError(f"no candidate for {kind} problems accepts this one: {reason}")
    return {policy: losses[policy] for policy in fitting.values()}


def _with_propensities(losses: Losses, table: MeasuredLosses) -> tuple[Losses, str]:
    """The candidates whose propensities are known, or can be counted; all, with a note, where there are none."""
    random = {row.policy for row in table.rows if row.propensities != "none"}
    chosen = {policy: by_drift for policy, by_drift in losses.items() if policy in random}
    if chosen:
        return chosen, ""
    return losses, (
        "no candidate draws its choices at random: for a log that others can be evaluated on, "
        "choose a small share of actions uniformly yourself and pass them as decide(override=(action, propensity))"
    )


def _ranked(losses: Losses, stated: str) -> list[str]:
    """Candidates, least expected loss first; of ties, the one with the least to set."""
    scores = {policy: _expected(by_drift, stated) for policy, by_drift in losses.items()}
    least = min(scores.values())
    tied = sorted(
        (p for p in scores if scores[p] <= least + TIE), key=lambda p: (len(_non_default_parameters(p)), scores[p])
    )
    return [*tied[:1], *(p for p in sorted(scores, key=scores.__getitem__) if p != tied[0])]


def _expected(by_drift: Mapping[str, float], stated: str) -> float:
    others = [loss for drift, loss in by_drift.items() if drift != stated]
    if stated == UNKNOWN or not others:
        return fmean(by_drift.values())
    return TRUST * by_drift[stated] + (1.0 - TRUST) * fmean(others)


def _knowledge(ranked: list[str], kind: str) -> str:
    """What the best candidate was told in the measured worlds, and what to run without; empty if it needs nothing."""
    needs = _needs(ranked[0], kind)
    if not needs:
        return ""
    without = next((p for p in ranked if p.partition(":")[0] == "auto" and not _needs(p, kind)), "")
    instead = f"; where you do not know that, run {without}" if without else ""
    return f"in the measured worlds it was told what it needs to know ({needs}){instead}"


def _needs(spec: str, kind: str) -> str:
    """What a problem must tell, by the registry; of `auto`, what the policy needs that it stands for."""
    needs = ABOUT[type(resolve(policy_of(spec), kind))].needs.split("; ")
    return "; ".join(each for each in needs if not each.startswith("nothing") and not TUNING.fullmatch(each))


def _recommendation(
    kind: str,
    stated: str,
    horizon: int,
    ranked: list[str],
    losses: Losses,
    table: MeasuredLosses,
    notes: tuple[str, ...],
    needs_propensities: bool,
) -> Recommendation:
    best, by_drift = ranked[0], losses[ranked[0]]
    policy = policy_of(best)
    known = by_drift[stated] if stated != UNKNOWN else fmean(by_drift.values())
    lengths = sorted({row.horizon for row in table.rows})
    rounds = " or ".join(f"{length:,}" for length in lengths)
    reason = (
        f"it {_share(known)} in simulated worlds that {WORLDS[stated]} "
        f"({len(losses)} candidates measured at {rounds} rounds{'' if horizon else ', as no horizon is known'})"
    )
    costs = {}
    for drift in table.drifts:
        if drift != stated:
            least, winner = min((losses[policy][drift], policy) for policy in losses)
            costs[drift] = Cost(by_drift[drift], least, winner)
    if needs_propensities and any(row.propensities == "sampled" for row in table.rows if row.policy == best):
        samples = f", propensity_samples={ROUND_TRIP}"
    else:
        samples = ""
    return Recommendation(
        kind=kind,
        policy=best.partition(":")[0],
        parameters=_non_default_parameters(best),
        spec=best,
        reason=reason,
        cost_if_wrong=costs,
        code=f"agent = dw.Agent({_code(policy)}, problem{samples})",
        command=_command(table, stated, ranked[:2]),
        notes=notes,
    )


def _command(table: MeasuredLosses, stated: str, policies: list[str]) -> str:
    """The two best candidates in a measured world that drifts as stated."""
    drift = stated if stated != UNKNOWN else table.drifts[-1]
    row = next(row for row in table.rows if row.drift == drift)
    words = ["driftwise", "simulate", "--world", _quoted(row.world), "--horizon", str(row.horizon)]
    words += [word for policy in policies for word in ("--policy", _quoted(policy))]
    return " ".join([*words, *(["--delay", row.delay] if row.delay != "0" else [])])


def _quoted(text: str) -> str:
    return f"'{text}'" if "(" in text else text


def _code(policy: Policy) -> str:
    """The policy in Python; parameters at their defaults are left out."""
    options = [
        f"{name}={_code(value) if hasattr(value, 'init') else repr(value)}"
        for name, default in parameters(type(policy)).items()
        if (value := getattr(policy, name)) != default
    ]
    return f"dw.{type(policy).__name__}({', '.join(options)})"


def _non_default_parameters(spec: str) -> dict[str, float | str]:
    """The parameters of a policy that are not at their defaults."""
    policy = policy_of(spec)
    defaults = parameters(type(policy))
    changed = {name: getattr(policy, name) for name, default in defaults.items() if getattr(policy, name) != default}
    return {name: value if isinstance(value, int | float | str) else repr(value) for name, value in changed.items()}
