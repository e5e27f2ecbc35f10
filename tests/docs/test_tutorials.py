"""Every command of the tutorials is typed, in order, and prints what the page says."""

from pathlib import Path

import pytest

from tests.fixtures.console import Console, agrees, steps
from tests.fixtures.postgres import Server

TUTORIALS = Path(__file__).parents[2] / "docs" / "tutorials"
DATABASE = "postgresql://you@db.example/driftwise"
FOLLOWED = ("pricing", "research", "service")  # the other pages have doctests alone


@pytest.mark.system
@pytest.mark.parametrize(("page", "least"), [("pricing", 6), ("research", 6)])
def test_a_tutorial_works_as_printed(console: Console, page: str, least: int) -> None:
    assert console.follow((TUTORIALS / f"{page}.md").read_text(encoding="utf-8")) >= least


@pytest.mark.system
def test_the_tutorial_of_the_service_works_as_printed(console: Console, request: pytest.FixtureRequest) -> None:
    """Its last part needs PostgreSQL, and is skipped where there is none."""
    text = (TUTORIALS / "service.md").read_text(encoding="utf-8")
    before, heading, after = text.partition("## 6. PostgreSQL")
    assert heading and console.follow(before) >= 12
    server: Server = request.getfixturevalue("postgres_server")
    console.replace[DATABASE] = server.store()
    assert console.follow(after) >= 5


@pytest.mark.system
def test_a_page_that_says_something_else_is_found(console: Console) -> None:
    with pytest.raises(AssertionError, match="the page says"):
        console.follow("```console\n$ echo one\ntwo\n```\n")


def test_steps_of_a_page() -> None:
    page = '```python title="a.py"\nprint(1)\n```\n\n```console\n$ python \\\na.py\n1\n$ true\n```\n'
    page += "```sh\nls  # all\n```\n"
    files, *commands = steps(page)
    assert files == ("a.py", "", "print(1)\n")
    assert commands == [("", "python a.py", "1"), ("", "true", ""), ("", "ls", None)]


@pytest.mark.parametrize(
    ("page", "printed", "same"),
    [("a  b", "a b", True), ("a ... c", "a b c", True), ("...", "", True), ("a", "a b", False), ("[1]", "[1]", True)],
)
def test_what_agrees(page: str, printed: str, same: bool) -> None:
    assert agrees(page, printed) is same
