"""Nineteen errors and omissions of the paper: each as printed, and as corrected.

A printed statement that fails is a known deviation, and its reason is given; the corrected one must match. Where the
text leaves something open, only what is done here is shown.
"""

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from driftwise.study.claims import Claim, Evidence, Finding


class Form(NamedTuple):
    """A statement, and how it is judged; `paper` is the number it names, if any."""

    says: str
    judge: Callable[[Evidence], Finding]
    paper: float | None = None


class Erratum(NamedTuple):
    """A place in the paper: as printed, as it is meant, why they differ, and the studies that show it."""

    name: str
    printed: Form | None
    corrected: Form
    why: str = ""
    studies: tuple[str, ...] = ()

    def claims(self) -> Iterator[Claim]:
        """One or two."""
        if self.printed:
            says, judge, paper = self.printed
            yield Claim(f"erratum/printed/{self.name}", says, self.studies, judge, paper=paper, known=self.why)
        says, judge, paper = self.corrected
        yield Claim(f"erratum/corrected/{self.name}", says, self.studies, judge, paper=paper)


def exactly(ours: float, holds: bool, why: str) -> Finding:
    """What came out, where nothing is left to chance."""
    return Finding(float(ours), math.nan, bool(holds), why)
