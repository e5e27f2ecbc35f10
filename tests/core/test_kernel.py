"""The promises of `core.kernel` and `core.verbs`: lazy, never stale, one owner per name."""

import dataclasses
import gc
import importlib
import inspect
import itertools
import os
import pkgutil
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
import pytest

import driftwise
from driftwise.core.code_references import frozen
from driftwise.core.fingerprint import _tag_of, code_tag
from driftwise.core.kernel import PARTS, kernel, load_numba
from driftwise.core.loop import play
from driftwise.core.validation import without_text
from driftwise.core.verbs import register
from driftwise.errors import ArmError, KernelError, RegistrationError
from driftwise.families import BanditOverBandit, SlidingKnapsackUCB, SlidingUCB, Thompson, Uniform

POLICY = """
from typing import Any, NamedTuple
import numpy as np
import driftwise as dw
{imports}

class {name}State(NamedTuple):
    counts: dw.extend.PerArm

class {name}(NamedTuple):
    def init(self, problem):
        return {name}State(np.zeros(problem.n_arms, np.int64))

@dw.extend.kernel
def _select(policy, state, t, context, rng):
    return {call}(), 1.0

@dw.extend.kernel
def _update(policy, state, decision, outcome, now):
    state.counts[decision.action] += 1

dw.extend.register({name}, select=_select, update=_update)
"""
RULE = """
import driftwise as dw

@dw.extend.kernel
def favourite():
    return {arm}
"""
PLAY = """
import driftwise as dw
from driftwise.core.pinned import kinds
from driftwise.core.loop import play
from driftwise.core.seeding import key
from driftwise.core.types import new_trace
from mulish import Mulish
from stubborn import Stubborn

world = dw.worlds.Stationary(n_arms=4)
tape, nature = world.draw(10, seed=0)
for policy in (Stubborn(), Mulish()):
    trace = new_trace(0, 10)
    state = policy.init(world.problem())
    play(policy, state, tape, nature, key(0), trace, 10)
    loop = play.entry(*kinds((policy, state, tape, nature, key(0), trace, 10)))
    print(trace.actions[0], sum(loop.stats.cache_hits.values()), end=" ")
"""


def python(code: str, *, folder: Path, **environment: str) -> str:
    """What a fresh process prints."""
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    env = os.environ | {"PYTHONPATH": path, "DRIFTWISE_CACHE_DIR": str(folder / "cache")} | environment
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


@pytest.mark.system
def test_a_kernel_edited_in_another_file_is_never_answered_from_the_cache(tmp_path: Path) -> None:
    """Whether a policy imports the kernel or the file it is in."""
    stubborn = POLICY.format(name="Stubborn", imports="from rule import favourite", call="favourite")
    (tmp_path / "stubborn.py").write_text(stubborn)
    (tmp_path / "mulish.py").write_text(POLICY.format(name="Mulish", imports="import rule", call="rule.favourite"))
    (tmp_path / "rule.py").write_text(RULE.format(arm=1))
    assert python(PLAY, folder=tmp_path) == "1 0 1 0"
    assert python(PLAY, folder=tmp_path) == "1 1 1 1", "a second process should load the compiled loop"
    (tmp_path / "rule.py").write_text(RULE.format(arm=2))
    assert python(PLAY, folder=tmp_path) == "2 0 2 0", "an edit two files away must reach the loop"
    assert python(PLAY, folder=tmp_path, NUMBA_BOUNDSCHECK="1") == "2 0 2 0", "flags belong to the tag too"


WAVERING = """
import os
from typing import Any, NamedTuple
import numpy as np
import driftwise as dw

def kernel_with(step):
    @dw.extend.kernel
    def take(arm):
        return step(arm)
    return take

@dw.extend.kernel
def one():
    return 1

@dw.extend.kernel
def two():
    return 2

@dw.extend.kernel
def up(arm):
    return arm

@dw.extend.kernel
def down(arm):
    return 3 - arm

def by(name):
    return os.environ["CHOICE"] == name

class WaveringState(NamedTuple):
    counts: dw.extend.PerArm

class Wavering(NamedTuple):
    def init(self, problem):
        return WaveringState(np.zeros(problem.n_arms, np.int64))

favourite = two if by("name") else one
turns = [kernel_with(step) for step in (up, down)]
if by("closure"):
    turns.reverse()
turn, other_turn = turns

@dw.extend.kernel
def _select(policy, state, t, context, rng):
    return turn(favourite()), 1.0

@dw.extend.kernel
def _select_two(policy, state, t, context, rng):
    return 2, 1.0

@dw.extend.kernel
def _update(policy, state, decision, outcome, now):
    state.counts[decision.action] += 1

dw.extend.register(Wavering, select=_select_two if by("registration") else _select, update=_update)
"""


@pytest.mark.system
def test_what_a_module_chose_when_it_was_imported_belongs_to_the_tag(tmp_path: Path) -> None:
    """Which kernel is registered, what a name stands for, and what a factory was given: the text tells none of them."""
    (tmp_path / "wavering.py").write_text(WAVERING)
    ask = "import driftwise as dw, wavering; print(dw.Agent(wavering.Wavering(), 4).decide().action)"
    assert python(ask, folder=tmp_path, CHOICE="none") == "1"
    for choice in ("registration", "name", "closure"):
        assert python(ask, folder=tmp_path, CHOICE=choice) == "2", choice
    assert python(ask, folder=tmp_path, CHOICE="none") == "1"


@pytest.mark.system
def test_a_tag_does_not_depend_on_what_else_was_loaded(tmp_path: Path) -> None:
    (tmp_path / "stubborn.py").write_text(POLICY.format(name="Stubborn", imports="", call="int"))
    ask = "import stubborn; {} from driftwise.core.fingerprint import code_tag; print(code_tag(stubborn.Stubborn))"
    more = "import driftwise.core.compilation.deferred_codegen, driftwise.checks; from driftwise import Agent, run;"
    assert python(ask.format(""), folder=tmp_path) == python(ask.format(more), folder=tmp_path)


@pytest.mark.parametrize(("function", "belong"), [(dataclasses.fields, False), (np.kron, True), (python, True)])
def test_lines_of_the_standard_library_do_not_belong_to_the_tag(function: Any, belong: bool) -> None:
    """They change with each release of Python, and what was compiled ahead would be compiled again."""
    function = inspect.unwrap(function)
    moved = FunctionType(function.__code__.replace(co_firstlineno=7), function.__globals__)
    moved.__module__, moved.__defaults__ = function.__module__, function.__defaults__
    assert (repr(frozen(moved)) != repr(frozen(function))) == belong


@pytest.mark.system
def test_listing_policies_imports_no_numba(tmp_path: Path) -> None:
    code = "import sys, driftwise; driftwise.POLICIES, driftwise.WORLDS; print('numba' in sys.modules)"
    assert python(code, folder=tmp_path) == "False"


@pytest.mark.system
def test_compiling_imports_no_scipy_linalg(tmp_path: Path) -> None:
    code = """import sys, driftwise as dw
agent = dw.Agent(dw.SlidingUCB(window=100), ["red", "blue"])
agent.learn(agent.decide(), reward=1.0)
print("numba.np.arraymath" in sys.modules, "scipy.linalg" in sys.modules)
"""
    assert python(code, folder=tmp_path) == "True False"


@pytest.mark.system
def test_importing_driftwise_and_its_commands_imports_no_numpy(tmp_path: Path) -> None:
    assert python("import sys, driftwise.cli; print('numpy' in sys.modules)", folder=tmp_path) == "False"


def test_the_tag_of_a_policy_knows_its_own_files_only() -> None:
    assert code_tag(SlidingUCB) == code_tag(SlidingUCB)
    assert len({code_tag(SlidingUCB), code_tag(Thompson), code_tag(Uniform)}) == 3


def test_a_class_name_is_taken_once() -> None:
    class SlidingUCB(NamedTuple):
        window: int = 1
        xi: float = 1.0

    with pytest.raises(
        RegistrationError, match=r"SlidingUCB is taken by driftwise\.families\.multi_armed\.policies\.sliding_ucb"
    ):
        register(SlidingUCB)


def written(arm: int) -> Any:
    """A policy as a notebook cell defines it, again and again under one name."""

    class Anew(NamedTuple):
        def init(
            self, problem: driftwise.extend.Problem
        ) -> driftwise.families.multi_armed.policies.uniform.UniformState:
            return driftwise.families.multi_armed.policies.uniform.UniformState(np.zeros(problem.n_arms, np.int64))

    def select(policy: Any, state: Any, t: int, context: Any, rng: Any) -> tuple[int, float]:
        return arm, 1.0

    def update(policy: Any, state: Any, decision: Any, outcome: Any, now: int) -> None: ...

    register(Anew, select=kernel(select), update=kernel(update))
    return Anew()


def test_a_class_written_anew_runs_its_new_kernels_and_the_old_its_own() -> None:
    before = driftwise.Agent(written(1), 4)
    after = driftwise.Agent(written(2), 4)
    assert [before.decide().action, after.decide().action, before.decide().action] == [1, 2, 1]


def test_a_policy_that_chooses_no_arm_is_stopped_before_it_writes() -> None:
    policy, world = written(9), driftwise.worlds.Abrupt(n_arms=4)
    study = driftwise.Study(name="x", worlds={"w": world}, policies={"p": policy}, horizon=100, runs=1)
    with pytest.raises(ArmError, match="chose an arm that does not exist"):
        driftwise.run(study)


def test_registration_refuses_what_is_no_kernel_no_verb_or_no_tuple() -> None:
    class Loner(NamedTuple):
        x: float = 0.0

    def plain(policy: Any) -> None: ...

    with pytest.raises(RegistrationError, match=r"decorate it with @dx\.kernel"):
        register(Loner, select=plain)  # type: ignore[arg-type]
    with pytest.raises(RegistrationError, match="'choose' is not a verb"):
        register(Loner, choose=kernel(plain))
    with pytest.raises(RegistrationError, match="int is not a NamedTuple"):
        register(int)


def test_a_missing_kernel_is_named() -> None:
    class Mute(NamedTuple):
        x: float = 0.0

    with pytest.raises(RegistrationError, match="Mute has no select kernel"):
        driftwise.core.verbs.select(Mute(), (), 0, (), np.uint64(0))


def test_all_named_tuples_have_names_of_their_own() -> None:
    names: Counter[str] = Counter()
    for module in pkgutil.walk_packages(driftwise.__path__, "driftwise."):
        for name, value in vars(importlib.import_module(module.name)).items():
            if inspect.isclass(value) and hasattr(value, "_fields") and value.__module__ == module.name:
                names[name] += 1
    assert names["Decision"] == 1
    assert [name for name, count in names.items() if count > 1] == []


def test_a_kernel_that_allocates_says_so() -> None:
    @kernel(allocates=True)
    def total(n: int) -> float:
        return float(np.ones(n).sum())

    @kernel
    def outer(n: int) -> float:
        return 2.0 * total(n)

    assert outer(5) == 10.0


# ---- parts ----


def test_what_only_kernels_call_is_compiled_as_a_part() -> None:
    """With the version of numba this was tested with, that is: others may need another `PARTS`."""
    import numba

    from driftwise.core.compilation.deferred_codegen import PartLibrary

    assert numba.version_info.short in PARTS
    load_numba()
    assert numba.njit(_twice_doubled)(3) == 12
    dispatcher: Any = doubled.compiled
    (compiled,) = dispatcher.overloads.values()
    assert isinstance(compiled.library, PartLibrary)
    assert doubled(4) == 8, "and Python can call it too, by another way"


def test_constants_do_not_compile_a_kernel_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DRIFTWISE_CACHE_DIR", str(tmp_path))  # an empty one: from a full one nothing is compiled

    @kernel
    def value_of(values: Any, arm: int) -> Any:
        return values[arm]

    @kernel
    def both(values: Any, arm: int) -> Any:
        return value_of(values, 0) + value_of(values, -1) + value_of(values, arm)

    assert both(np.array([1.0, 2.0, 4.0]), 1) == 7.0
    dispatcher: Any = value_of.compiled
    assert len(dispatcher.signatures) == 1


def test_garbage_is_collected_again_after_a_compilation() -> None:
    @kernel
    def fine(x: float) -> float:
        return x + 1.0

    @kernel
    def wrong(x: float) -> Any:
        return x.nothing  # type: ignore[attr-defined]

    assert gc.isenabled()
    assert fine(1.0) == 2.0
    with pytest.raises(KernelError):
        wrong(1.0)
    assert gc.isenabled()
    gc.disable()
    try:
        assert fine(1) == 2.0
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_flags_are_equal_as_for_numba() -> None:
    load_numba()
    from numba.core.compiler import Flags

    from driftwise.core.compilation.deferred_codegen import QuickFlags

    plain, other = Flags(), Flags()
    other.nrt = True
    for one in (plain, other):
        for two in (plain, other):
            assert (QuickFlags(one) == QuickFlags(two)) == (QuickFlags(one) == two) == (one == two)
        assert hash(QuickFlags(one)) == hash(one)
    default = Flags()
    default.nrt = False  # written out, and still what it is without
    assert QuickFlags(default) == plain and QuickFlags(plain) == default


def test_words_among_parameters_reach_no_kernel() -> None:
    inner = SlidingKnapsackUCB(conf="literal")
    for plain in (without_text(inner), without_text(BanditOverBandit(policy=inner)).policy):
        assert plain._asdict() == inner._asdict() | {"conf": 0}
    assert without_text(SlidingUCB(window=7)) == SlidingUCB(window=7)


def test_parts_are_the_same_as_whole_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where numba is too new for parts, kernels give the same bits without them."""
    from driftwise.core.compilation.deferred_codegen import PartLibrary

    told = []
    for parts in (PARTS, []):
        monkeypatch.setattr("driftwise.core.kernel.PARTS", parts)
        monkeypatch.setitem(globals(), "root", kernel(_root))
        told.append(load_numba().njit(_roots)(np.linspace(0.1, 9.0, 50)))
        (compiled,) = globals()["root"].compiled.overloads.values()
        assert isinstance(compiled.library, PartLibrary) == bool(parts)
    assert told[0] == told[1]


def _doubled(x: Any) -> Any:
    return 2 * x


doubled = kernel(_doubled)


def _twice_doubled(x: Any) -> Any:
    return doubled(doubled(x))


def _root(x: float) -> float:
    guess = x
    for _ in range(20):
        guess = 0.5 * (guess + x / guess)
    return guess


root = kernel(_root)


def _roots(values: Any) -> float:
    total = 0.0
    for i in range(len(values)):
        total += root(values[i]) * 0.1
    return total


@kernel
def _grow(size: int) -> float:
    return float(np.zeros(size)[0])


def test_a_kernel_that_allocates_learns_how_to_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(KernelError, match=r"zeros.*test_kernel.py, line \d+.*allocates=True"):
        _grow(3)
    monkeypatch.setenv("DRIFTWISE_DEBUG", "1")
    with pytest.raises(Exception, match=r"During: |No implementation of function") as told:
        _grow(3)
    assert not isinstance(told.value, KernelError)


def test_a_tag_is_made_while_another_thread_imports() -> None:
    """As two deployments of a service that begin at once do: importing adds names to packages.

    A collection of garbage gives way too, wherever a tuple is made, if somebody is called when one begins.
    """
    done, failures = threading.Event(), []
    space = vars(sys.modules["driftwise.numerics.window"])  # that the policy reads

    def add_names() -> None:
        for i in itertools.count():
            if done.is_set() or i == 100_000:
                return
            space[f"just_imported_{i}"] = None

    def give_way(phase: str, info: dict[str, int]) -> None:
        time.sleep(0)

    before, interval, thread = {*space}, sys.getswitchinterval(), threading.Thread(target=add_names)
    thresholds = gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(50, 1000, 1000)
    gc.callbacks.append(give_way)
    thread.start()
    try:
        for _ in range(10):
            try:
                _tag_of((play, SlidingUCB))
            except RuntimeError as error:
                failures.append(error)
    finally:
        done.set()
        thread.join()
        gc.callbacks.remove(give_way)
        gc.set_threshold(*thresholds)
        sys.setswitchinterval(interval)
        for name in space.keys() - before:
            del space[name]
    assert failures == []


FIRST_AGENTS = """
import sys, threading
from driftwise.agent.agent import Agent
from driftwise.families import UCB1

sys.setswitchinterval(1e-5)
start = threading.Barrier(4)

def make():
    start.wait()
    Agent(UCB1(), 2).decide()

threads = [threading.Thread(target=make) for _ in range(4)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
"""


@pytest.mark.system
def test_the_first_agents_of_a_process_may_be_made_by_several_threads() -> None:
    """As a service does that opens its deployments: whoever comes first loads numba, and the others wait for all of it.

    Before they did, about one of four such processes wrote an error.
    """
    for _ in range(6):
        done = subprocess.run([sys.executable, "-c", FIRST_AGENTS], capture_output=True, text=True, check=True)
        assert done.stderr == ""
