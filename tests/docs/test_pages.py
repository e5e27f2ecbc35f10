"""Every block of every page is run, or is in the list of those that cannot be, with the reason.

Blocks that start with `>>> ` are doctests, which pytest collects. Those of the languages `console` and `sh` are typed;
of `console` the output is compared, too.
"""

import json
import re
import shutil
from collections.abc import Iterator

import msgspec
import pytest
import yaml

from driftwise.service.http.schemas.responses import ShadowResponse
from tests.docs.test_tutorials import FOLLOWED
from tests.fixtures.console import ADDRESS, BLOCK, NOT_RUN, PAGES, ROOT, Console, reason_not_run, steps
from tests.fixtures.postgres import Server

README, SERVICE, EVALUATE = "README.md", "docs/service.md", "docs/evaluate.md"
SPECIAL = {README, SERVICE, EVALUATE, *(f"docs/tutorials/{name}.md" for name in FOLLOWED)}  # tests of their own
TEXTS = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
COMMANDS = [name for name, text in TEXTS.items() if name not in SPECIAL and any(steps(text, name))]


def not_run(page: str, text: str) -> Iterator[str]:
    """The blocks of a page that nothing runs, and that are not in the list."""
    blocks = list(BLOCK.finditer(text))
    if len(re.findall(r"^[ >]*(```|~~~)", text, re.MULTILINE)) != 2 * len(blocks):
        yield "a block of another form"
    for block in blocks:
        body, language = block["body"], block["language"]
        typed = language in ("console", "sh") or (block["title"] and page in SPECIAL)
        doctests = language in ("python", "pycon") and body.startswith(">>> ")
        if "+SKIP" in body or not (typed or doctests or reason_not_run(page, body)):
            yield body


@pytest.mark.parametrize("page", TEXTS)
def test_every_block_is_run_or_has_a_reason(page: str) -> None:
    assert list(not_run(page, TEXTS[page])) == []


@pytest.mark.parametrize(
    "block",
    [
        "```\nls\n```\n",
        "```python\nprint(1)\n```\n",
        '```python title="a.py"\nprint(1)\n```\n',
        "```python\n>>> 1  # doctest: +SKIP\n```\n",
        "* a list\n\n  ```sh\n  ls\n  ```\n",
    ],
)
def test_a_block_that_nothing_runs_is_found(block: str) -> None:
    assert len(list(not_run("docs/new.md", f"# A page\n\n{block}"))) == 1
    assert list(not_run("docs/new.md", "```sh\nls\n```\n\n```python\n>>> 1\n1\n\n```\n")) == []


def test_every_reason_is_that_of_a_block() -> None:
    used = {reason_not_run(page, block["body"]) for page, text in TEXTS.items() for block in BLOCK.finditer(text)}
    assert used - {None} == set(NOT_RUN)
    assert all(NOT_RUN.values())
    gate = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "make test" in gate and re.search(r"^make .*\bdemo\b", gate, re.MULTILINE)


@pytest.mark.system
@pytest.mark.usefixtures("clicks")
@pytest.mark.parametrize("page", COMMANDS)
def test_the_commands_of_a_page_work(console: Console, page: str) -> None:
    console.replace["/srv/kernels"] = str(console.folder / "kernels")
    assert console.follow(TEXTS[page], page) >= 1


@pytest.mark.system
@pytest.mark.usefixtures("clicks")
def test_the_commands_of_the_readme_work(console: Console) -> None:
    """What decides over HTTP begins with an empty store."""
    log, heading, http = TEXTS[README].partition("## Decisions over HTTP")
    assert heading and console.follow(log, README) == 3
    console.stop()
    (console.folder / "driftwise.db").unlink()
    console.serve()
    assert console.follow(http, README) >= 7


@pytest.mark.system
@pytest.mark.usefixtures("clicks")
def test_the_commands_about_evaluation_work(console: Console) -> None:
    """The last of them read the log of a deployment: from its service, and from a copy of the store."""
    text, heading, deployment = TEXTS[EVALUATE].partition("## A deployment")
    assert heading and console.follow(text, EVALUATE) == 1
    served = "driftwise serve --deployment shop --policy thompson --log clicks.csv --store sqlite:///running.db"
    console.serve(served)
    console.stop()
    shutil.copy(console.folder / "running.db", console.folder / "driftwise.db")
    console.serve(f"{served} --no-auth")
    console.replace["https://decide.example.org"] = f"http://{console.replace[ADDRESS]}"
    assert console.follow(deployment, EVALUATE) == 2


def section(first: str, end: str = "") -> str:
    """A part of the page on the service, from one heading to another."""
    start, stop = (TEXTS[SERVICE].index(f"\n{heading}\n") if heading else None for heading in (first, end))
    return TEXTS[SERVICE][start:stop]


STORE, POSTGRES, RUNNING = "### Looking after the store", "## PostgreSQL", "## Running it"


@pytest.mark.system
def test_the_requests_of_the_page_on_the_service_work(console: Console) -> None:
    assert console.follow(section("", STORE), SERVICE) >= 40


@pytest.mark.system
@pytest.mark.usefixtures("clicks")
def test_the_commands_for_a_store_work(console: Console) -> None:
    """A store with the events of a log, and a copy of it."""
    console.serve("driftwise serve --deployment shop --policy thompson --log clicks.csv")
    console.stop()
    shutil.copy(console.folder / "driftwise.db", console.folder / "copy.db")
    assert console.follow(section(STORE, POSTGRES), SERVICE) == 6
    assert list((console.folder / "archive").rglob("*.parquet"))


@pytest.mark.system
def test_the_commands_for_postgresql_and_for_several_processes_work(
    console: Console, request: pytest.FixtureRequest
) -> None:
    server: Server = request.getfixturevalue("postgres_server")
    url = server.store()
    both = {"postgresql://user@host/database?schema=shop": url, "postgresql://user@host/database": url}
    console.replace |= both
    assert console.follow(section(POSTGRES, RUNNING), SERVICE) == 3


@pytest.mark.system
def test_the_commands_for_keys_and_the_python_client_work(console: Console) -> None:
    access, heading, python = section(RUNNING).partition("## From Python")
    assert heading and console.follow(access, SERVICE) == 3
    console.run("export DRIFTWISE_KEY=$(driftwise keys create --name python --scopes admin 2> /dev/null)")
    console.serve()
    assert console.follow(python, SERVICE) == 1


def test_examples_that_nothing_runs_have_the_fields_they_should() -> None:
    """The answer about shadows, and the file of Prometheus."""
    (answer,) = (block["body"] for block in BLOCK.finditer(TEXTS[SERVICE]) if block["body"].startswith('{"shadows"'))
    (shadow,) = json.loads(answer)["shadows"]
    assert list(shadow) == [field.encode_name for field in msgspec.structs.fields(ShadowResponse)]
    msgspec.convert(shadow, ShadowResponse)
    (scrapes,) = (block["body"] for block in BLOCK.finditer(TEXTS["docs/deploying.md"]) if block["language"] == "yaml")
    for name in yaml.safe_load(scrapes)["rule_files"]:
        assert (ROOT / "deploy" / name).exists()
