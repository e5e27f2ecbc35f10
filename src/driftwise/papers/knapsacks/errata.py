"""What is wrong in the paper, what is worth a remark, and what it leaves open: told apart.

    erratum    a statement that is false, or cannot be meant, as printed; and the same as it is meant
    remark     nothing printed is wrong, but who builds on it should know
    open       the text does not say; what is done here is shown

An erratum belongs to a statement of the paper, and is counted as a reading of it. Slips that no computation can show
are listed in `SLIPS`.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from driftwise.study.claims import Claim, Evidence, Finding, Range

SLIPS = (
    "The estimators of section 3 sum r_(t,j) and c_(t,j,i) over s: meant are r_s and c_(s,j).",
    "The example of section 2.1 pays 1 + delta, and rewards are said to lie in [0, 1]: divide by 1 + delta.",
    "E.3 calls the best point on average x*', which in section 4 is the best that keeps constraints in every round.",
)


class Form(NamedTuple):
    """A statement, how it is measured, and what agrees with it; `paper` is the number it names, if any."""

    says: str
    measure: Callable[[Evidence], Finding]
    agrees: Range
    paper: float | None = None


class Erratum(NamedTuple):
    """As printed, and as it is meant; `statement` is the paper's statement that both are readings of."""

    name: str
    printed: Form
    corrected: Form
    statement: str = ""
    studies: tuple[str, ...] = ()

    def claims(self) -> Iterator[Claim]:
        """Two readings of one statement."""
        statement = self.statement or f"erratum/{self.name}"
        for reading, (says, measure, agrees, paper) in (("printed", self.printed), ("corrected", self.corrected)):
            yield Claim(
                f"erratum/{self.name}/{reading}",
                says,
                self.studies,
                measure,
                agrees,
                paper=paper,
                statement=statement,
                reading="literal" if reading == "printed" else reading,
            )


class Note(NamedTuple):
    """Something that is true, and that the paper does not say."""

    kind: str
    name: str
    form: Form
    studies: tuple[str, ...] = ()

    def claims(self) -> Iterator[Claim]:
        """One, which is not counted."""
        says, measure, agrees, paper = self.form
        name = f"{self.kind}/{self.name}"
        yield Claim(name, says, self.studies, measure, agrees, paper=paper, statement=None)


def remark(name: str, form: Form, studies: tuple[str, ...] = ()) -> Note:
    """Nothing printed is wrong."""
    return Note("remark", name, form, studies)


def left_open(name: str, form: Form, studies: tuple[str, ...] = ()) -> Note:
    """The text does not say."""
    return Note("open", name, form, studies)
