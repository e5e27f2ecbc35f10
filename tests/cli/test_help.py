"""Help tells a new user what every option means, what it takes, and what is taken where it is left out."""

from collections.abc import Iterator

import click
import pytest

from driftwise.cli import evaluate, main
from driftwise.cli.command import KINDS
from driftwise.evaluate.off_policy import METHODS
from driftwise.evaluate.replay import ROUNDS
from driftwise.families import FAMILIES
from driftwise.service.http.api_keys import SCOPES
from tests.fixtures.command_line import driftwise


def options(command: click.Command, *words: str) -> Iterator[tuple[str, click.Option]]:
    """Every option of every command, with the words of the command."""
    if isinstance(command, click.Group):
        for name, each in command.commands.items():
            yield from options(each, *words, name)
    for option in command.params:
        if isinstance(option, click.Option):
            yield " ".join(words), option


OPTIONS = [pytest.param(*each, id=f"{each[0]} {each[1].opts[-1]}") for each in options(main)]


@pytest.mark.parametrize(("command", "option"), OPTIONS)
def test_an_option_says_what_it_means_and_shows_its_default(command: str, option: click.Option) -> None:
    assert option.help and option.help.endswith(".") and option.help != f"Column of the {option.name}."
    has_default = isinstance(option.default, str | int | float) and not (option.is_flag or option.multiple)
    assert option.show_default or option.required or not has_default
    if isinstance(option.type, click.Choice):
        assert f"[{'|'.join(option.type.choices)}]" in "".join(driftwise(*command.split(), "--help").stdout.split())


def test_values_that_help_lists_are_those_there_are() -> None:
    assert KINDS.replace(" or ", ", ").split(", ") == list(FAMILIES)
    assert evaluate.METHODS == METHODS and evaluate.ROUNDS == ROUNDS
    (scopes,) = [option.help for command, option in options(main) if option.name == "scopes"]
    assert scopes and scopes.rstrip(".").partition(": ")[2].split(", ") == list(SCOPES)
    for words in (["policies"], ["worlds"], ["compile"], ["recommend"]):
        assert "contextual-knapsack" in driftwise(*words, "--help").stdout.replace("-\n", "-").replace(" ", "")


@pytest.mark.parametrize("option", ["--rounds", "--method"])
def test_another_value_is_one_sentence(option: str) -> None:
    done = driftwise("evaluate", "log.csv", "--policy", "auto", option, "all", code=2)
    assert f"invalid value for '{option}': 'all' is not one of" in done.stderr and done.stderr.count("\n") == 1
