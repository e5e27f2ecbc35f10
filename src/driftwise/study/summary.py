"""A study in a table: per world and policy the mean regret with its interval, and what the family adds.

`results.summary(study)` makes one; it prints as a table, and leaves as a frame, CSV, LaTeX or a dictionary.
"""

import csv
import io
import math
from collections.abc import Mapping
from statistics import median
from typing import TYPE_CHECKING, Any, NamedTuple

from driftwise.core.family import drift_of, words_of
from driftwise.core.seeding import key
from driftwise.core.words import Words
from driftwise.display.frames import frame_of_columns
from driftwise.display.svg import Plot
from driftwise.display.text import counted, plus_minus, text_table
from driftwise.measure.summary import Estimate, estimate
from driftwise.study.parameter_columns import column_name, of_one_kind, plain

if TYPE_CHECKING:
    from driftwise.study.results import Results
    from driftwise.study.study import Study


class PolicySummary(NamedTuple):
    """One policy in one world, over all its runs. `more` has the columns of the family.

    `parameters` are those that were swept.
    """

    world: str
    policy: str
    runs: int
    regret: Estimate
    optimal_rate: float
    seconds: float
    ns_per_round: float
    more: dict[str, float]
    parameters: Mapping[str, object]

    def flat(self) -> dict[str, Any]:
        """All of it by column."""
        regret = {"runs": self.runs, "regret": self.regret.mean, "regret_ci95": self.regret.ci95}
        rest = {"optimal_rate": self.optimal_rate, "seconds": self.seconds, "ns_per_round": self.ns_per_round}
        head, tail = {"world": self.world, "policy": self.policy}, regret | rest | self.more
        parameters = {column_name(name, head | tail): plain(value) for name, value in self.parameters.items()}
        return head | parameters | tail


class StudySummary:
    """The table of a study, a row per world and policy."""

    def __init__(self, study: "Study", results: "Results") -> None:
        self.name, self.horizon, self.runs = study.name, study.horizon, study.runs
        self.words: dict[str, Words] = {name: words_of(world) for name, world in study.worlds.items()}
        seed = int(key(study.seed, 0, "world"))
        self.drift = {name: drift_of(world, study.horizon, seed) for name, world in study.worlds.items()}
        self.rows = [_row(study, results, world, policy) for world in study.worlds for policy in study.policies]

    def of(self, world: str) -> list[PolicySummary]:
        """The rows of one world, the least regret first."""
        return sorted((row for row in self.rows if row.world == world), key=lambda row: row.regret.mean)

    def as_dict(self, world: str) -> dict[str, Any]:
        """One world as `simulate --json` prints it."""
        policies = {
            row.policy: {
                "regret": {"mean": row.regret.mean, "ci95": None if math.isnan(row.regret.ci95) else row.regret.ci95},
                "optimal_rate": row.optimal_rate,
                "seconds": row.seconds,
                "ns_per_round": row.ns_per_round,
                **row.more,
            }
            for row in self.rows
            if row.world == world
        }
        head = {"world": world, "horizon": self.horizon, "runs": self.runs}
        return head | {"variation": self.drift[world], "policies": policies}

    def frame(self, library: str = "pandas") -> Any:
        """A data frame of `pandas`, `polars` or `arrow`; parameters that were swept have columns of their own."""
        rows = [row.flat() for row in self.rows]
        names = list(dict.fromkeys(name for row in rows for name in row))
        return frame_of_columns({name: of_one_kind([row.get(name) for row in rows]) for name in names}, library)

    def to_csv(self) -> str:
        """Comma-separated text, with a line of names."""
        text = io.StringIO()
        rows = [row.flat() for row in self.rows]
        writer = csv.DictWriter(text, list(dict.fromkeys(name for row in rows for name in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue()

    def to_latex(self) -> str:
        """A LaTeX tabular of policies and their regret."""
        body = "\n".join(
            rf"{_escape(row.world)} & {_escape(row.policy)} & ${_spread(row.regret)}$ & {row.optimal_rate:.2f} \\"
            for row in self.rows
        )
        head = "\\begin{tabular}{llrr}\nworld & policy & regret & best choice \\\\\n\\hline\n"
        return f"{head}{body}\n\\end{{tabular}}\n"

    def __repr__(self) -> str:
        rows = [("world", "policy", "regret", "best choice")]
        rows += [(r.world, r.policy, plus_minus(*r.regret), f"{r.optimal_rate:.0%}") for r in self.rows]
        return f"{self.name}: {counted(self.horizon, 'round')}, {counted(self.runs, 'run')}\n{text_table(rows, left=2)}"

    def _repr_html_(self) -> str:
        from driftwise.study.display import summary_html

        return summary_html(self)

    def plot(self, world: str | None = None) -> Plot:
        """Regret by the parameter that was swept, in one world; the first unless given."""
        from driftwise.study.display import sweep_plot

        return sweep_plot(self, world)


def _row(study: "Study", results: "Results", world: str, policy: str) -> PolicySummary:
    cells, columns = study.cells_of(world, policy), words_of(study.worlds[world]).columns
    seconds = results.column(cells, "seconds")
    return PolicySummary(
        world,
        policy,
        len(cells),
        estimate(results.column(cells, "regret")),
        float(results.column(cells, "optimal_rate").mean()),
        float(seconds.sum()),
        1e9 * float(median(seconds)) / study.horizon,
        {column.name: float(results.values(cells, column).mean()) for column in columns},
        study.parameters_of(policy),
    )


def _spread(regret: Estimate) -> str:
    return f"{regret.mean:,.0f}" + ("" if math.isnan(regret.ci95) else rf" \pm {regret.ci95:,.0f}")


def _escape(text: str) -> str:
    return text.replace("_", r"\_").replace("%", r"\%").replace("&", r"\&")
