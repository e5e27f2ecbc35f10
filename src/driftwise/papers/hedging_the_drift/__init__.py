"""Cheung, Simchi-Levi & Zhu, *Hedging the Drift: Learning to Optimize under Non-Stationarity*: all of sections 4 to 9.

What is quoted is the text of 2019 (arXiv 1903.01461): its equation numbers, and its section 9.
"""

from functools import partial
from pathlib import Path

from driftwise.papers import Paper
from driftwise.papers.hedging_the_drift.auto_loans import STAND_IN, Source, from_file
from driftwise.papers.hedging_the_drift.claims import claims
from driftwise.papers.hedging_the_drift.figures import figures
from driftwise.papers.hedging_the_drift.studies import studies
from driftwise.study.printed import PaperAnswer, PrintedTable

ANSWER = PaperAnswer(
    printed="SW-UCB, which forgets by a window, and BOB, which learns its window by EXP3 over blocks. Their regret is "
    "O(d^(2/3) B^(1/3) T^(2/3)), the best possible. In play SW-UCB loses a fifth of what EXP3.S does, and BOB, which "
    "knows nothing of the drift, less than others that know nothing: {statements} statements.",
    comes_out="{matches} of them. SW-UCB loses {figure2a/ratio} of what EXP3.S does. The orders of Figures 3 and 4 "
    "come out. So does the lower bound of Theorem 1, with its constant: nobody here loses less than {theorem1/bound} "
    "times it. For arms, whose features lie along axes, the theory holds.",
    does_not="Lemma 1 and Theorem 2 are false: on a path that an adversary can force, drift does {erratum/lemma1} "
    "times the harm that they allow. What is proven for features is O(d^(7/8) B^(1/4) T^(3/4)). BOB is two algorithms, "
    "by the text and by the lines of Algorithm 2, and no reading gives all figures. It does not converge to the best "
    "window: the chance of that is {figure1/converges} after all blocks of Figure 4. Figure 5 needs data that nobody "
    "may publish.",
    use="`auto`, or `kalman-mixture` where the noise is known: in Figure 4 they lose {use/figure4/auto/SW-UCB-opt} and "
    "{use/figure4/kalman-mixture/SW-UCB-opt} of what SW-UCB-opt does, which knows B_T. If it must be BOB, leave out "
    "windows below 8 d (`shortest`): {use/figure4/BOB-mended/BOB-windowed} of its regret there. Read literally BOB is "
    "good while B is small; where it is large it loses {use/literal/large-B} times what windowed BOB does.",
)


def tables(scale: str) -> list[PrintedTable]:
    """The paper prints none; its rates, in the form of one."""
    del scale
    large, small = ("T", "B", "d"), ("T", None, "d")

    def row(heading: str, theorem: str, symbols: tuple[str | None, ...]) -> tuple[str, tuple[str | None, ...]]:
        return heading, tuple(symbol and theorem.format(symbol) for symbol in symbols)

    return [
        PrintedTable(
            title="Rates: the power of T, B and d that is printed, and the one with which regret grows here",
            columns=("T", "B", "d"),
            rows=(
                row("Theorem 1, any policy", "theorem1/rate/{}", large),
                row("Theorem 3, SW-UCB", "theorem3/large/{}/SW-UCB-thm3", large),
                row("Theorem 4, BOB, B large", "theorem4/large/{}/BOB-windowed", large),
                row("Theorem 4, BOB, B large, read literally", "theorem4/large/{}/BOB-literal", large),
                row("Theorem 4, BOB, B small", "theorem4/small/{}/BOB-windowed", small),
                row("Theorem 4, BOB, B small, read literally", "theorem4/small/{}/BOB-literal", small),
            ),
        )
    ]


def played_on(source: Source) -> Paper:
    """The paper, with Figure 5 played on a source of loans."""
    return Paper(
        name="hedging-the-drift",
        title="Hedging the Drift: Learning to Optimize under Non-Stationarity",
        source="Cheung, Simchi-Levi & Zhu, Management Science 68 (2022) 1696-1713; quoted from arXiv 1903.01461 (2019)",
        notes=(
            source.note,
            "BOB is two algorithms. By the text a block plays SW-UCB with the window drawn for it (windowed); by the "
            "lines of Algorithm 2 nothing is forgotten within a block and the window drawn only sizes the bonus "
            "(literal). Section 9.1.2 fits the first, 9.1.1 and 9.2 fit the second; both are played everywhere. The "
            "statement is counted by the text.",
            "The phase of section 9.1.1 is printed as 5 B pi t / T. Its variation is three times what the paper says; "
            "a third of it has the right one. Both are played. The quoted 20% come out with the printed phase and "
            "lambda = 1, and with a third of it and lambda = 10: which one was played cannot be told.",
            "Constants the paper leaves open: lambda = S = L = 1, delta = 1/T, R = 0.1 in 9.1.2 as well, windows by "
            "(90) for the linear form of SW-UCB. With section 8.1's form for arms, 9.1.2's ranking does not come out.",
            "The paper shows one random instance of section 9.1.2; the order of some algorithms differs between "
            "instances. One is shown here too, and claims are judged again on the average of many.",
            "In Figure 5 features are up to 3 long and parameters, too, where S = L = 1 is played.",
            "All slips of the text are listed in docs/hedging-errata.md.",
        ),
        studies=partial(studies, source=source),
        claims=partial(claims, source=source),
        figures=partial(figures, source=source),
        answer=ANSWER,
        tables=tables,
        data="stand-in" if not source.real else next(iter(source.worlds.values())).data,
        with_data=_with_data,
    )


def _with_data(path: Path) -> Paper:
    return played_on(from_file(path))


PAPER = played_on(STAND_IN)
