"""What an evaluation of policies on a log returns."""

from collections.abc import Mapping
from typing import Any, NamedTuple, TypedDict

from driftwise.core.problem import ProblemValue
from driftwise.display.frames import frame_of
from driftwise.evaluate.comparison import Comparison
from driftwise.evaluate.periods import Period
from driftwise.measure.intervals import Interval


class EvaluateOptions(TypedDict, total=False):
    """What `Log.evaluate` takes; `driftwise.evaluate.off_policy.evaluate` says what each means."""

    method: str
    periods: int | str
    rounds: str
    acceptance: float | None
    threshold: float | None
    replays: int
    reward_range: tuple[float, float] | None
    problem: ProblemValue | None
    standardise: bool
    estimate: bool
    seed: int


class PeriodValue(NamedTuple):
    """The value of a policy in one period; None where the log cannot tell."""

    period: Period
    value: Interval | None
    effective_sample_size: float

    def as_dict(self) -> dict[str, object]:
        """As JSON."""
        return {
            "start_at": self.period.start_at,
            "end_at": self.period.end_at,
            "first_row": self.period.start,
            "rows": self.period.stop - self.period.start,
            "value": None if self.value is None else self.value.as_dict(),
            "effective_sample_size": self.effective_sample_size,
        }


class PolicyEvaluation(NamedTuple):
    """What one policy would have earned; `value` is None where the log cannot tell, and `warnings` say why.

    `acceptance` is the share of rows that a policy which learns has learned from; None for others.
    """

    value: Interval | None
    method: str
    effective_sample_size: float
    periods: tuple[PeriodValue, ...]
    acceptance: float | None
    warnings: tuple[str, ...]

    def as_dict(self) -> dict[str, object]:
        """As JSON."""
        return {
            "value": None if self.value is None else self.value.as_dict(),
            "method": self.method,
            "effective_sample_size": self.effective_sample_size,
            "acceptance": self.acceptance,
            "periods": [each.as_dict() for each in self.periods],
            "warnings": list(self.warnings),
        }


class Evaluation(NamedTuple):
    """What policies would have earned, beside what was earned (`logged`), and their differences.

    `comparisons` pair every policy with the log and with every other; `notes` say what was assumed.
    """

    rows: int
    arms: tuple[str, ...]
    policies: Mapping[str, PolicyEvaluation]
    logged: PolicyEvaluation
    comparisons: tuple[Comparison, ...]
    notes: tuple[str, ...]

    def __repr__(self) -> str:
        from driftwise.evaluate.display.cards import evaluation_text

        return evaluation_text(self)

    def _repr_html_(self) -> str:
        from driftwise.evaluate.display.cards import evaluation_html

        return evaluation_html(self)

    def frame(self, library: str = "pandas") -> Any:
        """A row per policy and one of what was earned, as a frame of `pandas`, `polars` or `arrow`."""
        from driftwise.evaluate.display.cards import evaluation_rows

        return frame_of(evaluation_rows(self), library)

    def as_dict(self) -> dict[str, object]:
        """As JSON: what `driftwise evaluate --json` prints."""
        return {
            "rows": self.rows,
            "arms": list(self.arms),
            "policies": {name: each.as_dict() for name, each in self.policies.items()},
            "logged": self.logged.as_dict(),
            "comparisons": [each.as_dict() for each in self.comparisons],
            "notes": list(self.notes),
        }
