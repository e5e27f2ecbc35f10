"""Docstrings as Markdown: paragraphs, formulas and doctests."""

import inspect
import re

FACTS = (
    "Known in advance",
    "Regret",
    "Reward",
    "Late rewards",
    "Late outcomes",
    "Deviation",
    "Deviations",
    "Propensity",
)
FACT = re.compile(rf"^({'|'.join(FACTS)})(?=\b)", re.MULTILINE)
PAGE = re.compile(r"`?docs/([\w-]+)\.md`?")


def summary_of(text: str) -> str:
    """The first paragraph in one line."""
    return " ".join(text.split("\n\n")[0].split())


def markdown(text: str, depth: int = 0) -> str:
    """Prose of a docstring for a page that lies `depth` folders deep."""
    blocks = [_block(block, depth) for block in re.split(r"\n{2,}(?! )|\n{2,}(?=    )", text.strip("\n"))]
    return "\n\n".join(blocks)


def _block(block: str, depth: int) -> str:
    if block.startswith(">>> "):
        return f"```pycon\n{block}\n```"
    if "\n>>> " in block:
        before, _, after = block.partition("\n>>> ")
        return _block(before, depth) + "\n\n" + _block(f">>> {after}", depth)
    if block.startswith("    "):
        return "```text\n" + inspect.cleandoc("\n" + block) + "\n```"
    if block.startswith("|"):
        return escape(block)
    return FACT.sub(r"\n**\1**", escape(link_pages(block, depth))).strip()


def escape(text: str) -> str:
    """Angle brackets and stars that are mathematics stay as they are written; code in backticks is left alone."""
    parts = re.split(r"(`[^`]*`)", text)
    plain = [part.replace("<", "&lt;").replace(" * ", r" \* ") for part in parts[::2]]
    return "".join(part for pair in zip(plain, [*parts[1::2], ""], strict=True) for part in pair)


def link_pages(text: str, depth: int) -> str:
    """`docs/NAME.md` becomes a link to that page."""
    return PAGE.sub(lambda match: f"[{match[1]}]({'../' * depth}{match[1]}.md)", text)


def cell(text: str) -> str:
    """Text that fits into a cell of a table."""
    return escape(" ".join(text.split())).replace("|", r"\|")
