"""A call that fails changes nothing: neither one that is refused, nor one that breaks in the middle.

Two agents live the same life, and one of them also meets calls that fail. After each of those it must be, byte for
byte, what it was before; and in the end both must be the same.
"""

import dis
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from inspect import CO_GENERATOR
from pathlib import Path
from types import CodeType, FrameType
from typing import Any, NamedTuple

import numpy as np

from driftwise.agent import Agent
from driftwise.checks._helpers import kind_name
from driftwise.checks.contract import ContractError, agent_for, fixtures_of, require
from driftwise.core.family import FAMILIES, family_of
from driftwise.core.fixtures import Arguments, Fixtures, Rng, Usage
from driftwise.core.kernel import Kernel
from driftwise.core.pinned import kinds
from driftwise.core.protocols import Policy
from driftwise.core.validation import cast
from driftwise.core.verbs import kernels_of
from driftwise.errors import DriftwiseError

Call = Callable[[Agent], object]
HERE = str(Path(__file__).parent)
CODE = str(Path(__file__).parent.parent)
PENDING = 6  # so few may wait that the oldest is given up
LIFE = 12  # rounds
OFTEN = 10  # times that one function breaks within one call
KERNELS = {"decide": ("_decide",), "decide nothing": ("_decide", "_follow"), "learn": ("_follow",)}  # a verb runs


DECISIONS: tuple[object, ...] = (99, -1, "first", None, 1.5, True, [])
NAMELESS: tuple[object, ...] = (None, np.inf, [], {}, np.nan)


class Bad(NamedTuple):
    """A call that must be refused."""

    verb: str
    arguments: tuple[object, ...]
    words: Arguments


class Broken(Exception):
    """What a step that breaks raises: nothing in driftwise knows it."""


def refused_calls_change_nothing(policy: Policy) -> None:
    """Bad input is refused with a sentence, whatever the verb, and the agent goes on as if it had not been called."""
    fixtures = fixtures_of(policy)
    for how, usage in fixtures.usages.items():
        who, luck = f"{policy} ({how})", np.random.default_rng(3)
        agent, twin = _pair(policy, fixtures, usage, luck)
        for bad in _bad_calls(agent, fixtures, usage, luck):
            before = agent.dumps()
            try:
                getattr(agent, bad.verb)(*bad.arguments, **bad.words)
            except DriftwiseError:
                require(agent.dumps() == before, f"{who} changed although {bad} was refused")
            except Exception as error:
                raise ContractError(f"{who} met {bad} with {error!r}, not with a sentence of its own") from error
            else:
                raise ContractError(f"{who} took {bad}")
        _live((agent, twin), fixtures, usage, luck, who)


def broken_calls_change_nothing(policy: Policy) -> None:
    """Whatever function breaks on the way, and whatever a kernel has written by then, the call leaves no trace."""
    fixtures = fixtures_of(policy)
    for how, usage in fixtures.usages.items():
        who, luck = f"{policy} ({how})", np.random.default_rng(4)
        agent, twin = _pair(policy, fixtures, usage, luck)
        for verb, call in _good_calls(twin, fixtures, usage, luck):
            expected = call(twin)
            for kernel in KERNELS.get(verb, ()):
                _break_kernel(agent, kernel, call, f"{who}, {verb}", writes=not agent.adapter.bare)
            result = _break_functions(agent, call, f"{who}, {verb}")
            require(result == expected, f"{who}: {verb} gave {result}, not {expected}, after calls that broke")
            require(agent.dumps() == twin.dumps(), f"{who}: {verb} ended otherwise after calls that broke")
        _live((agent, twin), fixtures, usage, luck, who)


def blocks_that_fail_change_nothing(policy: Policy) -> None:
    """Calls of every verb within `Agent.atomic` leave no trace where the block fails after them."""
    fixtures = fixtures_of(policy)
    for how, usage in fixtures.usages.items():
        who, luck = f"{policy} ({how})", np.random.default_rng(5)
        agent, twin = _pair(policy, fixtures, usage, luck)
        with suppress(Broken), agent.atomic():
            for _, call in _good_calls(agent, fixtures, usage, luck):
                call(agent)
            raise Broken
        require(agent.dumps() == twin.dumps(), f"{who} changed in a block that failed")
        _live((agent, twin), fixtures, usage, luck, who)


def bare_kernels_cannot_fail(policy: Policy) -> str | None:
    """Agents for bare arms keep no copy of the state to go back to: no kernel of such a policy raises anything."""
    fixtures, policy = fixtures_of(policy), cast(policy)
    if not FAMILIES[family_of(policy)].adapter.bare:
        return f"{kind_name(policy)} is rewound where a kernel fails"
    state = policy.init(fixtures.problem)
    for kernel in _reached([each for kind in kinds([policy, state]) for each in kernels_of(kind)]):
        raises = any(step.opname == "RAISE_VARARGS" for step in dis.get_instructions(kernel.function))
        require(not raises, f"{policy} runs {kernel.function.__qualname__}, which raises: the state would be half done")
    return None


def _reached(kernels: list[Kernel[..., Any]]) -> list[Kernel[..., Any]]:
    """Kernels, and those they call by name."""
    for kernel in kernels:  # it grows on the way
        named = (kernel.function.__globals__.get(name) for name in kernel.function.__code__.co_names)
        kernels += [each for each in named if isinstance(each, Kernel) and each not in kernels]
    return kernels


# ---- two lives ----


def _pair(policy: Policy, fixtures: Fixtures, usage: Usage, luck: Rng) -> tuple[Agent, Agent]:
    """An agent that has decided and learned a little, with decisions that wait, and its twin."""
    one, other = (agent_for(policy, usage, seed=1, max_pending=PENDING) for _ in range(2))
    _live((one, other), fixtures, usage, luck, str(policy))
    return one, other


def _live(agents: tuple[Agent, Agent], fixtures: Fixtures, usage: Usage, luck: Rng, who: str) -> None:
    """Some rounds of both; every other decision waits."""
    for i in range(LIFE):
        arms = agents[0].arms
        request, outcome = usage.request(luck, arms), fixtures.outcome(luck, arms)
        one, other = (agent.decide(**request) for agent in agents)
        require(one == other, f"{who} decided {one}, not {other}, after calls that failed")
        for agent in agents:
            if i % 2 and one.action is not None:
                agent.learn(one, **outcome)
    require(agents[0].dumps() == agents[1].dumps(), f"{who} ended in another state after calls that failed")


# ---- calls that break ----


def _good_calls(agent: Agent, fixtures: Fixtures, usage: Usage, luck: Rng) -> Iterator[tuple[str, Call]]:
    """Calls of every verb, each for the agent as it is when the call is taken from here."""
    request = usage.request(luck, agent.arms)
    override = fixtures.external_action(agent.problem, agent.arms), 0.5
    yield "decide", lambda agent: agent.decide(**request)
    yield "decide", lambda agent: agent.decide(**request, override=override)
    outcome, (first, second, *_, last) = fixtures.outcome(luck, agent.arms), agent.pending
    yield "learn", lambda agent: agent.learn(last, **outcome)
    yield "learn", lambda agent: agent.learn(first, **outcome)
    yield "cancel", lambda agent: agent.cancel(second)
    if usage.named:
        yield "decide", lambda agent: agent.decide(**request, override=override)
        waiting, leaving = agent.pending[-1], agent.arms[-1]
        yield "add_arm", lambda agent: agent.add_arm("d", **usage.new_arm)
        yield "retire_arm", lambda agent: agent.retire_arm(leaving)
        late = fixtures.outcome(luck, agent.arms)
        yield "learn late", lambda agent: agent.learn(waiting, **late)
    for what, verb, arguments in fixtures.further_calls(agent):
        yield what, partial(_call, verb, arguments)


def _call(verb: str, arguments: Arguments, agent: Agent) -> object:
    return getattr(agent, verb)(**arguments)


def _break_functions(agent: Agent, call: Call, what: str) -> object:
    """Let the call break at the functions it runs, one after another; what it gives when it is left alone.

    A function that it runs again and again breaks the first `OFTEN` times.
    """
    before = agent.dumps()  # each call that breaks leaves the agent as it was then
    breaks = _Breaks()
    while True:
        try:
            with breaks.next():
                return call(agent)
        except Broken:
            require(agent.dumps() == before, f"{what} changed the agent although {breaks.where} broke")


class _Breaks:
    """Where a call has broken so far: in `where` the last time."""

    def __init__(self) -> None:
        self.where = ""
        self._done = 0  # functions that the call began, up to the one that broke last
        self._times: Counter[CodeType] = Counter()

    @contextmanager
    def next(self) -> Iterator[None]:
        """Raise where a function of driftwise begins that comes after the last."""
        begun = 0

        def profile(frame: FrameType, event: str, arg: object) -> None:
            nonlocal begun
            if event != "call":
                return
            code = frame.f_code
            ours = code.co_filename.startswith(CODE) and not code.co_filename.startswith(HERE)
            if ours and not code.co_flags & CO_GENERATOR:  # which is called to be closed, too
                begun += 1
                if begun > self._done and self._times[code] < OFTEN:
                    sys.setprofile(None)
                    self.where, self._done = code.co_qualname, begun
                    self._times[code] += 1
                    raise Broken

        former = sys.getprofile()
        sys.setprofile(profile)
        try:
            yield
        finally:
            sys.setprofile(former)


def _break_kernel(agent: Agent, name: str, call: Call, what: str, *, writes: bool) -> None:
    """Let a compiled half of a round fail, when it has written all that it writes or before."""
    kernel, before = getattr(agent, name), agent.dumps()

    def fail(*arguments: object) -> None:
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


def _bad_calls(agent: Agent, fixtures: Fixtures, usage: Usage, luck: Rng) -> list[Bad]:
    """Everything that a verb must refuse."""
    request, outcome = usage.request(luck, agent.arms), fixtures.outcome(luck, agent.arms)
    calls = [Bad("decide", (), each) for each in usage.bad_requests]
    calls += [Bad("decide", (), request | {"override": each}) for each in _bad_overrides(agent, fixtures)]
    calls += [Bad("decide", (), request | {"at": each}) for each in (agent.t - 1, -1, 0.5, "much")]
    calls += [Bad("learn", (agent.pending[0],), each) for each in fixtures.bad_outcomes(luck)]
    settled = next(t for t in range(agent.t) if t not in agent.pending)
    calls += [Bad("learn", (each,), outcome) for each in (settled, *DECISIONS)]
    calls += [Bad("cancel", (each,), {}) for each in (settled, *DECISIONS)]
    calls += [Bad("add_arm", (each,), usage.new_arm) for each in (*agent.arms[:1], *NAMELESS)]
    calls += [Bad("add_arm", ("d",), each) for each in usage.bad_arms]
    calls += [Bad("retire_arm", (each,), {}) for each in ("nobody", *NAMELESS)]
    calls += [Bad("change", (), each) for each in fixtures.bad_changes(agent)]
    damaged = agent.dumps()[:-1] + b"?"
    calls += [Bad("loads", (each,), {}) for each in (damaged, damaged[:9], b"", "much", None)]
    return calls


def _bad_overrides(agent: Agent, fixtures: Fixtures) -> list[object]:
    good = fixtures.external_action(agent.problem, agent.arms)
    actions = [(each, 1.0) for each in fixtures.bad_external_actions]
    propensities = [(good, each) for each in (0.0, 1.5, "much", None)]
    return ["much", 0, (), (good,), (good, 1.0, 1.0), *actions, *propensities]
