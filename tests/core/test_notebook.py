"""What a notebook does: cells are edited and run again, in one process. The newest code is used."""

import gc
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest

import driftwise as dw
from driftwise.core.fingerprint import code_tag
from driftwise.core.kernel import Kernel, kernel
from driftwise.core.verbs import VERBS, register
from driftwise.errors import KernelError
from tests.fixtures.everyday import deep_unless
from tests.fixtures.notebook import Notebook, notebook

IMPORTS = """
import numpy as np
import driftwise as dw
from typing import Any, NamedTuple
from driftwise.measure.levels import Levels
"""
CLASSES = """
class NotedState(NamedTuple):
    values: dw.extend.PerArm

class Noted(NamedTuple):
    def init(self, problem: dw.extend.Problem) -> NotedState:
        return NotedState(np.ones(problem.n_arms))
"""
STEP = "STEP = {step}\n"
HELPER = """
@dw.extend.kernel
def moved(value, reward):
    return value + {step} * (reward - value)
"""
KERNELS = """
@dw.extend.kernel
def _select(policy, state, t, context, rng):
    return {choose}(state.values), 1.0

@dw.extend.kernel
def _update(policy, state, decision, outcome, now):
    state.values[decision.action] = {new}
"""
REGISTER = "dw.extend.register(Noted, select=_select, update=_update)\n"
STUDY = """
study = dw.Study(name="noted", worlds={"w": dw.worlds.Abrupt(n_arms=3)}, policies={"p": Noted()}, horizon=300, runs=1)
regret = float(dw.run(study, results).column(study.cells(), "regret")[0])
"""
WAYS = {
    "kernel": lambda step: [KERNELS.format(choose="np.argmax", new=_inline(step)) + REGISTER],
    "constant and kernel": lambda step: [
        STEP.format(step=step),
        KERNELS.format(choose="np.argmax", new=_inline("STEP")) + REGISTER,
    ],
    "helper and registration": lambda step: [HELPER.format(step=step), REGISTER],
    "helper alone": lambda step: [HELPER.format(step=step)],
    "constant alone": lambda step: [STEP.format(step=step)],
}


def _inline(step: Any) -> str:
    return f"state.values[decision.action] + {step} * (outcome.reward - state.values[decision.action])"


def first_cells(way: str, step: float) -> list[str]:
    """All cells of a notebook that is edited in this way, before the edit."""
    start = [IMPORTS, CLASSES]
    if "helper" in way:
        call = "moved(state.values[decision.action], outcome.reward)"
        return [*start, HELPER.format(step=step), KERNELS.format(choose="np.argmax", new=call), REGISTER]
    if "constant" in way:
        text = KERNELS.format(choose="np.argmax", new=_inline("STEP"))
        return [*start, STEP.format(step=step), text + REGISTER]
    return [*start, *WAYS[way](step)]


def value_after_one(book: Notebook) -> float:
    """What an agent made now believes of an arm after one reward of 0."""
    agent = dw.Agent(book.Noted(), 3)
    agent.learn(agent.decide(), reward=0.0)
    return float(agent.state.values[0])


def regret_of(book: Notebook, results: Any) -> float:
    """The regret of a study made and run now."""
    book.module.__dict__["results"] = results
    book.run(STUDY)
    return float(book.regret)


@pytest.fixture
def book() -> Iterator[Notebook]:
    with notebook("noted_cells") as opened:
        yield opened


@pytest.mark.parametrize("way", [deep_unless(way in ("kernel", "constant alone"), way) for way in WAYS])
def test_an_edited_cell_is_used_by_agents_and_studies(way: str, book: Notebook, tmp_path: Path) -> None:
    for cell in first_cells(way, 0.5):
        book.run(cell)
    file = tmp_path / "results.sqlite"
    assert value_after_one(book) == 0.5
    before, tag = regret_of(book, file), code_tag(book.Noted)
    for cell in WAYS[way](0.0):
        book.run(cell)
    assert value_after_one(book) == 1.0
    assert code_tag(book.Noted) != tag
    after = regret_of(book, file)  # the same file: what the old code played is not taken for the new
    assert after != before
    for cell in WAYS[way](0.5):
        book.run(cell)
    assert code_tag(book.Noted) == tag, "the old code again: what it played is found"
    assert regret_of(book, file) == before


FRESH = """
import sys
from tests.fixtures.notebook import notebook
with notebook("noted_cells") as book:
    book.module.results = None
    for cell in sys.argv[1:]:
        book.run(cell)
    agent = book.dw.Agent(book.Noted(), 3)
    agent.learn(agent.decide(), reward=0.0)
    print(float(agent.state.values[0]), book.regret, next(book.study.cells()).key)
"""


@pytest.mark.system
def test_an_edited_notebook_gives_what_a_fresh_process_gives(book: Notebook, tmp_path: Path) -> None:
    """Numbers and keys of results are those of a process that saw the last form of each cell only."""
    text = KERNELS.format(choose="np.argmax", new="moved(state.values[decision.action], RATE * outcome.reward)")
    for cell in (IMPORTS, CLASSES, HELPER.format(step=0.5), "RATE = 0.5", text + REGISTER):
        book.run(cell)
    value_after_one(book)
    regret_of(book, None)
    edited = [HELPER.format(step=0.25), "RATE = 0.75", text.replace("argmax", "argmin") + REGISTER]
    for cell in edited:
        book.run(cell)
    here = value_after_one(book), regret_of(book, None), next(book.study.cells()).key
    root = Path(__file__).parents[2]
    env = os.environ | {"PYTHONPATH": f"{root / 'src'}{os.pathsep}{root}", "DRIFTWISE_CACHE_DIR": str(tmp_path)}
    command = [sys.executable, "-c", FRESH, IMPORTS, CLASSES, *edited, STUDY]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(each) for each in here]


# ---- every verb ----


class Anyone(NamedTuple):
    """Whatever answers to a verb: a policy, a tape or a state."""

    x: float = 0.0


def writes(number: float) -> Kernel[..., Any]:
    """A kernel that writes a number, as a cell would define it; it returns what a `select` must."""

    def answer(subject: Any, out: Any) -> tuple[int, float]:
        out[0] = number
        return 0, 1.0

    return kernel(answer)


def through(verb: Any) -> Kernel[..., Any]:
    """A kernel that calls a verb."""

    def call(subject: Any, out: Any) -> None:
        verb(subject, out)

    return kernel(call)


@pytest.mark.parametrize("name", VERBS)
def test_every_verb_is_answered_by_the_kernel_registered_last(name: str) -> None:
    verb, out = VERBS[name], np.zeros(1)
    caller = through(verb)
    told = []
    for number in (1.0, 2.0):
        answers: dict[str, Any] = {name: writes(number)}
        register(Anyone, **answers)
        for call in (verb, caller):
            call(Anyone(), out)
            told.append(float(out[0]))
    register(Anyone, **{name: None})
    assert told == [1.0, 1.0, 2.0, 2.0]
    assert Anyone not in verb.kernels


def test_a_kernel_that_is_taken_away_leaves_the_default(book: Notebook) -> None:
    for cell in first_cells("kernel", 0.5):
        book.run(cell)
    book.run("""
@dw.extend.kernel
def _advance(policy, state, t, rng):
    state.values[:] = 7.0

dw.extend.register(Noted, advance=_advance)
""")
    assert value_after_one(book) == 3.5
    book.run("dw.extend.register(Noted, advance=None)")
    assert value_after_one(book) == 0.5


TAPE = """
class NotedTape(NamedTuple):
    start: int
"""
RESPOND = """
@dw.extend.kernel
def _observe(tape, nature, t):
    return (), True

@dw.extend.kernel
def _respond(tape, nature, t, action):
    return dw.extend.Outcome({reward})

dw.extend.register(NotedTape, observe=_observe, respond=_respond)
"""


def test_a_tape_whose_kernels_are_registered_anew_is_played_by_them(book: Notebook) -> None:
    from driftwise.core.loop import play
    from driftwise.core.types import new_trace

    for cell in (*first_cells("kernel", 0.5), TAPE):
        book.run(cell)
    policy, trace, rewards = book.Noted(), new_trace(0, 3), []
    for reward in (0.25, 0.75):
        book.run(RESPOND.format(reward=reward))
        state = policy.init(dw.extend.Problem(2))
        play(policy, state, book.NotedTape(0), (), np.uint64(1), trace, 3)
        rewards.append(trace.rewards.tolist())
    assert rewards == [[0.25] * 3, [0.75] * 3]


# ---- agents at work ----


def test_an_agent_at_work_keeps_its_code_and_one_that_is_loaded_takes_the_new(book: Notebook) -> None:
    for cell in first_cells("kernel", 0.5):
        book.run(cell)
    agent = dw.Agent(book.Noted(), 2)
    for cell in WAYS["kernel"](0.0):
        book.run(cell)
    other = dw.Agent(book.Noted(), 2)
    gc.collect()
    for each in (agent, other):
        each.learn(each.decide(), reward=0.0)
        each.add_arm("late")
        each.learn(each.decide(), reward=0.0)
    assert agent.state.values.tolist() == [0.5, 0.5, 1.0]
    assert other.state.values.tolist() == [1.0, 1.0, 1.0]
    with pytest.warns(UserWarning, match="Noted has changed since this agent was saved"):
        moved = dw.Agent.loads(agent.dumps(), policy=book.Noted)
    decision = moved.decide()
    moved.learn(decision, reward=0.0)
    assert moved.state.values.tolist() == [0.5, 0.5, 1.0]


# ---- what a tag is made of ----


def test_a_tag_follows_what_the_code_names_and_nothing_else(book: Notebook) -> None:
    for cell in first_cells("constant alone", 0.5):
        book.run(cell)
    tags = [code_tag(book.Noted)]
    unrelated = "values = [1]; values.append(values); action = 2"  # in the kernels these are names of attributes
    book.run(f"_i1 = 'history'; {unrelated}\ndef plot(): ...\n")
    assert code_tag(book.Noted) == tags[0]
    book.run(KERNELS.format(choose="np.argmin", new="1.0"))  # another policy's kernels, under the same names
    assert code_tag(book.Noted) == tags[0]
    for edit in (
        "STEP = np.array([0.5])",
        "STEP[0] = 0.25",
        "STEP = (1, [2.0])",
        "STEP[1][0] = 3.0",
        "STEP[1].append(STEP)",
        "dw.extend.register(Noted, update=_update)",
    ):
        book.run(edit)
        tags.append(code_tag(book.Noted))
    assert len(set(tags)) == 7


def test_what_python_code_of_a_notebook_reads_counts_too(book: Notebook) -> None:
    book.run(IMPORTS + "START = {'value': 1.0}")
    book.run(CLASSES.replace("np.ones(problem.n_arms)", "np.full(problem.n_arms, START['value'])"))
    book.run(KERNELS.format(choose="np.argmax", new="0.0") + REGISTER)
    tag = code_tag(book.Noted)
    book.run("START['value'] = 0.5")
    assert code_tag(book.Noted) != tag


# ---- kernels that do not compile ----


@pytest.mark.parametrize(
    ("choose", "new", "reason"),
    [
        ("np.argmx", "1.0", r"select of Noted does not compile: .*argmx.* \(in _select, <cell \d+>, line 2\)"),
        ("np.argmax", "state.values.max()", r"`\.max\(\)` of an array .*write @dx.kernel\(allocates=True\)"),
        ("np.argmax", "policy.stepp", r"update of Noted does not .*stepp.* \(<cell \d+>, line 8: .*policy.stepp\)"),
    ],
)
def test_a_kernel_that_does_not_compile_is_told_in_a_sentence(
    book: Notebook, choose: str, new: str, reason: str
) -> None:
    for cell in (IMPORTS, CLASSES, KERNELS.format(choose=choose, new=new) + REGISTER):
        book.run(cell)
    with pytest.raises(KernelError, match=reason) as live:
        value_after_one(book)
    with pytest.raises(KernelError, match=reason) as played:
        regret_of(book, None)
    assert "\n" not in f"{live.value}{played.value}"
