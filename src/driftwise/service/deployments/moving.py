"""Restless arms in the service: their settings and values in JSON, rankings and explanations.

Names are text in JSON, so that arms and states without names are called "0", "1", ... in a mapping; here those become
the numbers that an agent uses.
"""

import itertools
import math
from collections.abc import Collection, Mapping
from typing import Any

from driftwise.agent import Agent
from driftwise.agent.elsewhere import episodes_seen, herd_of, index_table, moves_from
from driftwise.errors import ParameterError
from driftwise.service.http.schemas.requests import Settings
from driftwise.service.http.schemas.responses import RankedArm

NEXT_IN_LINE = 10  # arms in a ranking after those to activate
MAX_NUMBERS = 10**7  # in what is counted of moves
EPISODES = 32  # that a policy without a window of its own may remember
MAX_INDICES = 10_000  # that an explanation tells


# ---- settings and values ----


def made_with(settings: Settings) -> dict[str, Any]:
    """The arguments of an agent that are for restless arms."""
    arms = _arms(settings)
    counted, classes = isinstance(settings.states, int), _class_names(settings.classes)
    return {
        "activate": settings.activate,
        "states": settings.states,
        "rewards": _numbered(settings.rewards, classes) if counted else settings.rewards,
        "classes": by_name(settings.classes, arms),
        "structure": _numbered(settings.structure, classes) if counted else settings.structure,
        "episode": settings.episode,
        "discount": settings.discount,
        "activation_cost": by_name(settings.activation_cost, arms),
        "ties": settings.ties,
    }


def by_name(values: Any, arms: Collection[Any]) -> Any:
    """Values per arm, a mapping with the names that the agent uses: numbers, where arms have no names."""
    if not isinstance(values, Mapping):
        return values
    return {_name(name, arms): each for name, each in values.items()}


def _name(name: Any, arms: Collection[Any]) -> Any:
    if name in arms or not isinstance(name, str) or not name.isdecimal() or len(name) > 16 or int(name) not in arms:
        return name
    return int(name)


def same(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two outcomes are the same, be arms that have left named by numbers or by text."""
    return bool(_text(one) == _text(other))


def _text(values: Any) -> Any:
    return {str(name): _text(each) for name, each in values.items()} if isinstance(values, Mapping) else values


def _arms(settings: Settings) -> Collection[Any]:
    return range(settings.n_arms) if settings.n_arms is not None else settings.arms or ()


def _class_names(classes: Any) -> set[str]:
    return set() if classes is None or isinstance(classes, str) else {*_values(classes)}


def _values(values: Any) -> Any:
    return values.values() if isinstance(values, Mapping) else values


def _numbered(values: Any, classes: Collection[str] = ()) -> Any:
    """Names that are numbers as numbers, except where they are those of all classes."""
    if not isinstance(values, Mapping):
        return values
    by_class = bool(classes) and set(values) == set(classes)
    return {
        int(name) if name.isdecimal() and len(name) < 4 and not by_class else name: _numbered(each)
        for name, each in values.items()
    }


def check_size(policy: Any, settings: Settings) -> None:
    """Refuse what would need more memory, or more time to plan, than a service should give to one deployment."""
    n_arms = len(_arms(settings))
    n_states = settings.states if isinstance(settings.states, int) else len(settings.states or ())
    together = settings.classes != "own" and getattr(policy, "pooled", type(policy).__name__ != "UCWhittle")
    groups = max(1, len(_class_names(settings.classes))) if together else n_arms
    kept = max(EPISODES, int(getattr(policy, "window", 1)))
    if groups * kept * 2 * n_states * n_states > MAX_NUMBERS:
        whose = "classes" if together else "arms"
        raise ParameterError(
            f"moves between {n_states} states, of {groups} {whose} in {kept} episodes, are too much for one deployment"
        )


def check_words(settings: Settings) -> dict[str, Any]:
    """Check settings of restless arms; returns the default outcome."""
    if settings.sticky:
        raise ParameterError("sticky=true is not allowed with restless arms: a decision is about all of them")
    if settings.window is not None:
        raise ParameterError(
            "window is not allowed with restless arms, whose policies count episodes: set it in parameters"
        )
    if settings.default_reward != 0.0 or settings.default_costs is not None:
        raise ParameterError(
            "default_reward and default_costs are not allowed with restless arms: without states nothing is learned"
        )
    return {"states": {}}


# ---- rankings and explanations ----


def ranked(agent: Agent) -> list[RankedArm]:
    """The arms to activate at the latest decision, and the next in line, as replacements."""
    rows = agent.ranking
    line = itertools.islice((row for row in rows if not row.chosen), NEXT_IN_LINE)
    return [
        RankedArm(row.arm, row.state, _plain(row.index), row.chosen, row.why)
        for row in (*(row for row in rows if row.chosen), *line)
    ]


def explained(agent: Agent, arms: list[dict[str, Any]]) -> None:
    """Say of every arm at the latest decision where it was, what its index was there and elsewhere, and why.

    `moves` tells what was seen of the arm, or of its class, when it was there.
    """
    herd, rows = herd_of(agent), {row.arm: row for row in agent.ranking}
    table = index_table(agent) if len(arms) * len(herd.states) <= MAX_INDICES else None
    for place, arm in enumerate(arms):
        row = rows[arm["arm"]]
        arm |= {"state": row.state, "index": _plain(row.index), "why": row.why, "cost": herd.costs[place]}
        arm["class"] = herd.classes[herd.members[place]] if herd.classes else None
        if table is not None:
            arm["indices"] = dict(zip(map(str, herd.states), map(_plain, table[:, place]), strict=True))
        moves = moves_from(agent, place, herd.states.index(row.state))
        if moves is not None:
            arm["moves"] = {
                action: {str(name): float(n) for name, n in zip(herd.states, seen, strict=True) if n}
                for action, seen in moves.items()
            }


def window(agent: Agent, round_: int) -> dict[str, Any] | None:
    """Which rounds a policy looked at that remembers so many episodes."""
    window = episodes_seen(agent)
    if window is None:
        return None
    episodes, period = window
    first = max(0, (round_ // period - episodes) * period)
    return {"episodes": episodes, "rounds": episodes * period, "from_round": first, "to_round": round_ - 1}


def _plain(index: Any) -> float | None:
    return float(index) if math.isfinite(index) else None
