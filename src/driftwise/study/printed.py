"""What a reader of the paper looks for first: its answer in four sentences, and its tables in its own form."""

import re
from collections.abc import Mapping
from typing import NamedTuple

from driftwise.study.tallies import Headline
from driftwise.study.verdicts import VERDICTS, Verdict

FIELD = re.compile(r"\{([^{}]+)\}")


class PrintedTable(NamedTuple):
    """A table as the paper prints it: headings, and the claim of every cell (None: the paper leaves it empty)."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[str | None, ...]], ...]


class PaperAnswer(NamedTuple):
    """What was printed, what comes out, what does not and why, and what to use.

    `{matches}`, `{statements}` and the like become counts of the paper's statements; `{ID}` becomes our value of a
    claim, `{ID|paper}` the printed one. A sentence with a claim that was not judged is left out.
    """

    printed: str
    comes_out: str
    does_not: str
    use: str

    def filled(self, verdicts: Mapping[str, Verdict], counts: Headline, *, whole: bool = True) -> "PaperAnswer":
        """The same with its numbers.

        Where only a part of the paper was played (not `whole`), no more is left of it than what was printed, and
        sentences on claims that were judged: counts and words alone tell of the rest.
        """
        numbers = dict(zip(VERDICTS, map(str, counts.literal[1:]), strict=True))
        numbers["statements"] = str(counts.literal.total)

        def number(match: re.Match[str]) -> str:
            name, _, which = match[1].partition("|")
            if name in numbers:
                return numbers[name]
            each = verdicts[name]
            return compact(each.claim.paper if which == "paper" else each.finding.ours)

        def remains(sentence: str, *, paper: bool) -> bool:
            names = {name.partition("|")[0] for name in FIELD.findall(sentence)}
            claims = names - set(numbers)
            evident = whole or (names == claims if paper else bool(claims))
            return evident and claims <= set(verdicts)

        texts = []
        for name, text in self._asdict().items():
            sentences = re.split(r"(?<=\.) ", text)
            remaining = [each for each in sentences if remains(each, paper=name == "printed")]
            texts.append(FIELD.sub(number, " ".join(remaining)))
        return PaperAnswer(*texts)


def compact(value: float | None) -> str:
    """A number for a sentence: whole from a hundred on, else to three digits.

    >>> compact(1234.5), compact(0.07613), compact(None)
    ('1,234', '0.0761', 'no number')
    """
    if value is None or value != value:
        return "no number"
    return f"{value:,.0f}" if abs(value) >= 100.0 else f"{value:.3g}"
