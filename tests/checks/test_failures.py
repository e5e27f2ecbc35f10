"""The check of calls that break finds an agent that writes before it has finished."""

from typing import Any

import pytest

import driftwise as dw
from driftwise.checks.contract import ContractError
from driftwise.checks.failures import broken_calls_change_nothing


@pytest.mark.parametrize("verb", ["decide", "learn", "cancel", "add_arm", "retire_arm"])
def test_a_verb_that_counts_first_is_found(verb: str, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = getattr(dw.Agent, verb)

    def hasty(agent: dw.Agent, *arguments: Any, **words: Any) -> Any:
        agent.forgotten += 1
        return honest(agent, *arguments, **words)

    monkeypatch.setattr(dw.Agent, verb, hasty)
    with pytest.raises(ContractError, match=f", {verb} changed the agent although"):
        broken_calls_change_nothing(dw.UCB1())
