"""What a notebook does: cells are edited and run again, in one process. The newest code is used, or an error says why not."""

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
from driftwise.core.kernel import Kernel, kernel
from driftwise.core.tag import code_tag
from driftwise.core.verbs import VERBS, register
from tests.notebook import Notebook, notebook

IMPORTS = """
import numpy as np
import driftwise as dw
from typing import Any, NamedTuple
from driftwise.worlds.arms import Levels
"""
CLASSES = """
class NotedState(NamedTuple):
    values: dw.PerArm

class Noted(NamedTuple):
    def init(self, problem: dw.Problem) -> NotedState:
        return NotedState(np.ones(problem.n_arms))
"""
STEP = "STEP = {step}\n"
HELPER = """
@dw.kernel
def moved(value, reward):
    return value + {step} * (reward - value)
"""
KERNELS = """
@dw.kernel
def _select(policy, state, t, context, rng):
    return {choose}(state.values), 1.0

@dw.kernel
def _update(policy, state, decision, outcome, now):
    state.values[decision.action] = {new}
"""
REGISTER = "dw.register(Noted, select=_select, update=_update)\n"
STUDY = """
study = dw.Study(name="noted", worlds={"w": dw.Abrupt(n_arms=3)}, policies={"p": Noted()}, horizon=300, runs=1)
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
    agent = dw.Agent(book.Noted(), n_arms=3)
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


@pytest.mark.parametrize("way", WAYS)
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
    assert value_after_one(book) == 0.5
