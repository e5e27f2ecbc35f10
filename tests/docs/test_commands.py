"""Commands that pages show without their output are at least commands: names, options and policies exist."""

import re
import shlex
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import click
import pytest

from driftwise.cli import main
from driftwise.core.spec import parse
from driftwise.families import FAMILIES, ORACLES, POLICIES, WORLDS
from tests.fixtures.console import BLOCK, PAGES, ROOT

INLINE = re.compile(r"`(driftwise [a-z]+ [^`]*)`")
TABLES = {"--policy": POLICIES | ORACLES, "--world": WORLDS}
SHELLS = ("console", "sh")
FORMER = re.compile(r"\b((?:most|draws|held|overspend|default_reward|default_costs)=)|`(most|draws|held|overspend)`")


def commands(page: Path) -> Iterator[list[str]]:
    """The words of every `driftwise` command of a page, in blocks and within lines."""
    text = page.read_text(encoding="utf-8")
    blocks = "\n".join(block["body"] for block in BLOCK.finditer(text) if block["language"] in SHELLS)
    typed = re.findall(r"^(?:\$ )?(driftwise .*)", blocks.replace("\\\n", " "), re.MULTILINE)
    for command in [*typed, *INLINE.findall(BLOCK.sub("", text))]:
        words = shlex.split(command, comments=True)
        ends = [words.index(word) for word in (">", "2>", "|", "&", "&&") if word in words]
        yield words[1 : min(ends, default=len(words))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_exist(page: Path) -> None:
    for words in commands(page):
        command: click.Command = main
        while isinstance(command, click.Group) and words and not words[0].startswith("-"):
            assert words[0] in command.commands, f"{page.name}: there is no command {words[0]}"
            command, words = command.commands[words[0]], words[1:]
        known = {name for parameter in command.params for name in (*parameter.opts, *parameter.secondary_opts)}
        options = {word.partition("=")[0] for word in words if re.match(r"--[a-z]", word)}
        assert options <= known | {"--help", "--version"}, f"{page.name}: {command.name} lacks {options - known}"
        for option, value in pairwise(words):
            name = value.partition(":")[0]
            if option in TABLES and name not in ("fixed", "logged") and not name.isupper():
                parse(value, TABLES[option], option)


def test_there_are_commands() -> None:
    assert sum(1 for page in PAGES for _ in commands(page)) > 50


@pytest.mark.parametrize("page", [*PAGES, ROOT / "ARCHITECTURE.md", ROOT / "CHANGELOG.md"], ids=lambda page: page.name)
def test_no_page_has_a_former_name(page: Path) -> None:
    """Of a parameter that has another name now: max_cost, propensity_samples, override, allow_overspend, ..."""
    assert FORMER.findall(page.read_text(encoding="utf-8")) == []


def test_the_table_of_problems_has_every_kind() -> None:
    table = (ROOT / "docs" / "service.md").read_text(encoding="utf-8").partition("| `kind` |")[2].partition("\n\n")[0]
    kinds = {str(family.problem.__struct_config__.tag) for family in FAMILIES.values()}
    assert set(re.findall(r"^\| `([\w-]+)` \|", table, re.MULTILINE)) == kinds
