"""A call that fails changes nothing: neither one that is refused, nor one that breaks in the middle.

Two agents live the same life, and one of them also meets calls that fail. After each of those it must be, byte for
byte, what it was before; and in the end both must be the same.
"""

import dis
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from inspect import CO_GENERATOR
from pathlib import Path
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from driftwise.agent import Agent
from driftwise.checks.alike import called
from driftwise.checks.features import bad_features
from driftwise.checks.grounds import (
    ARMS,
    DIM,
    HORIZON,
    SLATE,
    STATES,
    ContractError,
    Ground,
    Luck,
    Way,
    ground_of,
    require,
)
from driftwise.core.kernel import Kernel, kinds
from driftwise.core.rules import cast
from driftwise.core.verbs import kernels_of
from driftwise.errors import DriftwiseError

Call = Callable[[Agent], Any]
HERE = Path(__file__).parent
CODE = str(HERE.parent)
PENDING = 6  # so few may wait that the oldest is given up
LIFE = 12  # rounds
KERNELS = {"decide": ("_decide",), "decide nothing": ("_decide", "_learn"), "learn": ("_learn",)}  # a verb runs


DECISIONS: tuple[Any, ...] = (99, -1, "first", None, 1.5, True, [])
NAMELESS: tuple[Any, ...] = (None, 1.5, [], {}, np.nan)


class Bad(NamedTuple):
    """A call that must be refused."""

    verb: str
    arguments: tuple[Any, ...]
    words: dict[str, Any]


class Broken(Exception):
    """What a step that breaks raises: nothing in driftwise knows it."""


def refused_calls_change_nothing(policy: Any) -> None:
    """Bad input is refused with a sentence, whatever the verb, and the agent goes on as if it had not been asked."""
    ground = ground_of(policy)
    for how, way in ground.ways.items():
        who, luck = f"{policy} ({how})", np.random.default_rng(3)
        agent, twin = _pair(policy, ground, way, luck)
        for bad in _bad_calls(agent, ground, way, luck):
            before = agent.dumps()
            try:
                getattr(agent, bad.verb)(*bad.arguments, **bad.words)
            except DriftwiseError:
                require(agent.dumps() == before, f"{who} changed although {bad} was refused")
            except Exception as error:
                raise ContractError(f"{who} met {bad} with {error!r}, not with a sentence of its own") from error
            else:
                raise ContractError(f"{who} took {bad}")
        _live((agent, twin), ground, way, luck, who)


def broken_calls_change_nothing(policy: Any) -> None:
    """Whatever function breaks on the way, and whatever a kernel has written by then, the call leaves no trace."""
    ground = ground_of(policy)
    for how, way in ground.ways.items():
        who, luck = f"{policy} ({how})", np.random.default_rng(4)
        agent, twin = _pair(policy, ground, way, luck)
        for verb, call in _good_calls(twin, ground, way, luck):
            expected = call(twin)
            for kernel in KERNELS.get(verb, ()):
                _break_kernel(agent, kernel, call, f"{who}, {verb}", writes=not ground.bare)
            result = _break_functions(agent, call, f"{who}, {verb}")
            require(result == expected, f"{who}: {verb} gave {result}, not {expected}, after calls that broke")
            require(agent.dumps() == twin.dumps(), f"{who}: {verb} ended otherwise after calls that broke")
        _live((agent, twin), ground, way, luck, who)


def bare_kernels_cannot_fail(policy: Any) -> str | None:
    """Agents for bare arms keep no copy of the state to go back to: no kernel of such a policy raises anything."""
    ground, policy = ground_of(policy), cast(policy)
    if not ground.bare:
        return f"{called(policy)} is rewound where a kernel fails"
    state = policy.init(ground.problem)
    for kernel in _reached([each for kind in kinds([policy, state]) for each in kernels_of(kind)]):
        raises = any(step.opname == "RAISE_VARARGS" for step in dis.get_instructions(kernel.function))
        require(not raises, f"{policy} runs {kernel.function.__qualname__}, which raises: the state would be half done")
    return None


def _reached(found: list[Kernel[..., Any]]) -> list[Kernel[..., Any]]:
    """Kernels, and those they call by name."""
    for kernel in found:  # it grows on the way
        named = (kernel.function.__globals__.get(name) for name in kernel.function.__code__.co_names)
        found += [each for each in named if isinstance(each, Kernel) and each not in found]
    return found


# ---- two lives ----


def _pair(policy: Any, ground: Ground, way: Way, luck: Luck) -> tuple[Agent, Agent]:
    """An agent that has decided and learned a little, with decisions that wait, and its twin."""
    agents = way.agent(policy, seed=1, max_pending=PENDING), way.agent(policy, seed=1, max_pending=PENDING)
    _live(agents, ground, way, luck, str(policy))
    return agents


def _live(agents: tuple[Agent, Agent], ground: Ground, way: Way, luck: Luck, who: str) -> None:
    """Some rounds of both; every other decision waits."""
    for i in range(LIFE):
        context, outcome = _context(agents[0], way, luck), _outcome(agents[0], ground, luck)
        one, other = (agent.decide(**context) for agent in agents)
        require(one == other, f"{who} decided {one}, not {other}, after calls that failed")
        for agent in agents:
            if i % 2 and one.action is not None:
                agent.learn(one, **outcome)
    require(agents[0].dumps() == agents[1].dumps(), f"{who} ended in another state after calls that failed")


def _context(agent: Agent, way: Way, luck: Luck) -> dict[str, Any]:
    """What a decision needs, with the arms there are now."""
    context = way.told(luck)
    return {"states": luck.integers(STATES, size=len(agent.arms)).tolist()} if "states" in context else context


def _outcome(agent: Agent, ground: Ground, luck: Luck) -> dict[str, Any]:
    """What could come of a decision, with the arms there are now."""
    if ground.family == "restless":
        return {"states": {name: int(luck.integers(STATES)) for name in agent.arms}}
    return ground.any_told(luck)


def _override(agent: Agent, ground: Ground) -> Any:
    """An action that could have been chosen elsewhere."""
    if ground.family == "convex":
        return tuple(agent.problem.setting.domain.centres.tolist())
    arms = agent.arms or (0,)
    return list(arms[-SLATE:]) if ground.problem.slate else arms[-1]


# ---- calls that break ----


def _good_calls(agent: Agent, ground: Ground, way: Way, luck: Luck) -> Iterator[tuple[str, Call]]:
    """Calls of every verb, made up for the agent as it is when they are asked for."""
    context, override = _context(agent, way, luck), _override(agent, ground)
    yield "decide", lambda agent: agent.decide(**context)
    yield "decide", lambda agent: agent.decide(**context, held=(override, 0.5))
    outcome, (first, second, *_, last) = _outcome(agent, ground, luck), agent.pending
    yield "learn", lambda agent: agent.learn(last, **outcome)
    yield "learn", lambda agent: agent.learn(first, **outcome)
    yield "cancel", lambda agent: agent.cancel(second)
    if way.named:
        yield "decide", lambda agent: agent.decide(**context, held=(override, 0.5))
        waiting, leaving = agent.pending[-1], agent.arms[-1]
        yield "add_arm", lambda agent: agent.add_arm("d", **way.brings)
        yield "retire_arm", lambda agent: agent.retire_arm(leaving)
        late = _outcome(agent, ground, luck)
        yield "learn late", lambda agent: agent.learn(waiting, **late)
    if ground.family == "restless":
        yield "change", lambda agent: agent.change(activate=1)
    if ground.family == "budgets":
        least = {name: HORIZON * 0.5 - agent.remaining[name] + agent.reserved[name] for name in ("units",)}
        yield "change", lambda agent: agent.change(budgets=least, horizon=HORIZON + 10)
        yield "decide nothing", lambda agent: agent.decide()
        yield "change", lambda agent: agent.change(budgets={"units": 1.0 * HORIZON})
        yield "decide", lambda agent: agent.decide()


def _break_functions(agent: Agent, call: Call, what: str) -> Any:
    """Let the call break at every function it runs, one after another; what it gives when it is left alone."""
    for at in range(100_000):
        before = agent.dumps()
        where: list[str] = []
        try:
            with _broken(at, where):
                return call(agent)
        except Broken:
            require(agent.dumps() == before, f"{what} changed the agent although {where[0]} broke")
    raise ContractError(f"{what} runs more functions than can be tried")


@contextmanager
def _broken(at: int, where: list[str]) -> Iterator[None]:
    """Raise where function number `at` of driftwise begins; its name is added to `where`."""
    left = at

    def profile(frame: FrameType, event: str, arg: Any) -> None:
        nonlocal left
        code = frame.f_code
        ours = code.co_filename.startswith(CODE) and not code.co_filename.startswith(str(HERE))
        if event == "call" and ours and not code.co_flags & CO_GENERATOR:  # which is called to be closed, too
            left -= 1
            if left < 0:
                sys.setprofile(None)
                where.append(code.co_qualname)
                raise Broken

    kept = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield
    finally:
        sys.setprofile(kept)


def _break_kernel(agent: Agent, name: str, call: Call, what: str, *, writes: bool) -> None:
    """Let a compiled half of a round fail, when it has written all that it writes or before."""
    kernel, before = getattr(agent, name), agent.dumps()

    def fail(*arguments: Any) -> Any:
        if writes:
            kernel(*arguments)
        raise FloatingPointError("broken")

    setattr(agent, name, fail)
    try:
        call(agent)
    except (FloatingPointError, DriftwiseError):
        pass
    else:
        raise ContractError(f"{what} does not run the kernel {name}")
    finally:
        setattr(agent, name, kernel)
    require(agent.dumps() == before, f"{what} changed the agent although the kernel {name} failed")


# ---- calls that are refused ----


def _bad_calls(agent: Agent, ground: Ground, way: Way, luck: Luck) -> list[Bad]:
    """Everything that a verb must refuse."""
    context, outcome, waiting = _context(agent, way, luck), _outcome(agent, ground, luck), agent.pending[0]
    calls = [Bad("decide", (), each) for each in _bad_contexts(ground, way)]
    calls += [Bad("decide", (), context | {"held": each}) for each in _bad_overrides(agent, ground)]
    calls += [Bad("learn", (waiting,), each) for each in ground.bad_told(luck)]
    calls += [Bad("learn", (waiting,), outcome | {"costs": each}) for each in ground.bad_costs]
    settled = next(t for t in range(agent.t) if t not in agent.pending)
    calls += [Bad("learn", (each,), outcome) for each in (settled, *DECISIONS)]
    calls += [Bad("cancel", (each,), {}) for each in (settled, *DECISIONS)]
    calls += [Bad("add_arm", (each,), way.brings) for each in (*agent.arms[:1], *NAMELESS)]
    calls += [Bad("add_arm", ("d",), each) for each in _bad_arms(ground, way)]
    calls += [Bad("retire_arm", (each,), {}) for each in ("nobody", *NAMELESS)]
    calls += [Bad("change", (), each) for each in _bad_changes(agent, ground)]
    damaged = agent.dumps()[:-1] + b"?"
    calls += [Bad("loads", (each,), {}) for each in (damaged, damaged[:9], b"", "much", None)]
    return calls


def _bad_contexts(ground: Ground, way: Way) -> list[dict[str, Any]]:
    if ground.family == "features":
        return [*bad_features(way), {"states": [0] * ARMS}]
    foreign: list[dict[str, Any]] = [{"actions": np.ones((ARMS, DIM))}, {"context": [1.0]}]
    if ground.family != "restless":
        return [*foreign, {"states": [0] * ARMS}]
    states: tuple[Any, ...]
    states = [], "much", 0, [0] * (ARMS - 1), [STATES] * ARMS, [None] * ARMS, [0.5] * ARMS, {"z": 0}, {"a": 0}
    return [{}, *foreign, *({"states": each} for each in states)]


def _bad_overrides(agent: Agent, ground: Ground) -> list[Any]:
    good = _override(agent, ground)
    points = ([0.5] * (DIM - 1), ["much"] * DIM, [np.nan] * DIM, [1e300] * DIM)
    actions: tuple[Any, ...] = points if ground.family == "convex" else ("nobody", -1, 99, ["nobody"])
    bad = [*((each, 1.0) for each in actions), *((good, each) for each in (0.0, 1.5, "much", None))]
    return ["much", 0, (), (good,), (good, 1.0, 1.0), *bad]


def _bad_arms(ground: Ground, way: Way) -> list[dict[str, Any]]:
    if not way.named:
        return [{}, {"features": np.ones(DIM)}]
    if way.brings:
        return [{}, *({"features": each} for each in ([1.0], np.full(DIM, np.nan), np.full(DIM, 1e300), "much"))]
    costs = (np.nan, "much") if ground.family == "restless" else (0.0,)
    return [{"features": np.ones(DIM)}, {"arm_class": "nobody"}, *({"activation_cost": each} for each in costs)]


def _bad_changes(agent: Agent, ground: Ground) -> list[dict[str, Any]]:
    changes: list[dict[str, Any]] = [{"horizon": each} for each in (0, -1, 0.5, "much")]
    changes += [{"activate": each} for each in (0, -1, 99, 1.5, "much")]
    changes += [{"budgets": {"euros": each}} for each in (-1.0, 0.0, np.nan, np.inf, "much", None)]
    changes += [{"budgets": each} for each in ({"gold": 1.0}, 5)]
    if ground.family == "budgets":
        more = {name: 2.0 * amount for name, amount in agent.remaining.items()}
        changes += [{"budgets": more | {"gold": 1.0}}, {"budgets": more, "horizon": 1}, {"budgets": {"units": 1e-6}}]
        changes += [{"budgets": more, "activate": 1}]
    return changes
