"""What is measured is a row; what was promised is one table. A benchmark reports, it never fails on a number."""

from typing import Any, NamedTuple


class Target(NamedTuple):
    """A promise: `sense` is <=, < or >=; `aim` is what we would like beyond it."""

    sense: str
    bound: float
    aim: float | None = None

    def met_by(self, value: float) -> bool:
        """Whether `value` keeps the promise."""
        if self.sense == ">=":
            return value >= self.bound
        return value <= self.bound if self.sense == "<=" else value < self.bound

    def __str__(self) -> str:
        return f"{self.sense} {self.bound:g}" + (f" (aim {self.aim:g})" if self.aim else "")


TARGETS = {
    "C: sliding-ucb": Target("<=", 1.1),
    "C: sliding-thompson": Target("<=", 1.2),
    "C: sliding-lin-ucb": Target("<=", 1.5),
    "C: sliding-knapsack-ucb": Target("<=", 1.5),
    "C: prequential-pacing": Target("<=", 1.5),
    "linprog: sliding-knapsack-ucb": Target(">=", 1000),
    "smpybandits: sliding-ucb": Target(">=", 2000),
    "smpybandits: sliding-kl-ucb": Target(">=", 100),
    "smpybandits: glr-kl-ucb": Target(">=", 100),
    "river: sliding-ucb": Target(">=", 400),
    "river: sliding-thompson": Target(">=", 150),
    "river: lin-ucb": Target(">=", 50),
    "mabwiser: lin-ucb": Target(">=", 50),
    "contextualbandits: lin-ucb": Target(">=", 50),
    "bayesianbandits: lin-ucb": Target(">=", 50),
    "window: sliding-ucb": Target("<=", 1.5),
    "window: sliding-lin-ucb": Target("<=", 1.5),
    "features: sliding-lin-ucb": Target("<=", 1.2),
    "actions: sliding-lin-ucb": Target("<=", 1.2),
    "accuracy": Target("<", 1e-8),
    "plan: HiGHS": Target(">=", 20),
    "plan: gap": Target("<", 1e-6),
    "whittle: S=10": Target(">=", 20),
    "whittle: S=100": Target(">=", 8),
    "whittle: S=500": Target(">=", 3),
    "whittle: agreement": Target("<", 1e-9),
    "whittle: replan": Target("<", 1),
    "arms: sliding-ucb": Target("<=", 5),
    "threads": Target(">=", 1.8),
    "memory": Target("<", 500),
    "agent": Target(">=", 3),
    "agent: linear": Target(">=", 1.5, aim=3),
    "agent: 20 features": Target("<=", 40),
    "agent: restless": Target("<=", 0.5),
    "obp: values": Target("<=", 1e-12),
    "service: durable": Target(">=", 0.5),
    "service: p99": Target("<=", 5),
    "service: restart": Target("<", 10),
    "service: idle": Target("<", 100),
    "help": Target("<", 0.3),
    "simulate": Target("<", 1),
    "first: multi-armed": Target("<=", 2),
    "first: contextual": Target("<=", 5),
    "first: restless": Target("<=", 8),
    "first: compiled ahead": Target("<=", 1.5),
}


class Row(NamedTuple):
    """One line of the report. The target is about `ratio`, or about `ours` where there is nothing to compare with.

    `note` is for the reader of the table; `detail` goes into the JSON only.
    """

    name: str
    unit: str
    ours: float | None
    theirs: float | None
    ratio: float | None
    target: Target | None
    met: bool | None
    note: str
    detail: dict[str, Any]


def row(
    name: str,
    *,
    unit: str,
    ours: float,
    theirs: float | None = None,
    ratio: float | None = None,
    target: str = "",
    note: str = "",
    detail: dict[str, Any] | None = None,
) -> Row:
    """A measured row, judged by the target of that key, if there is one."""
    promise = TARGETS.get(target)
    measured = ours if ratio is None and theirs is None else ratio
    met = promise.met_by(measured) if promise and measured is not None else None
    return Row(name, unit, ours, theirs, ratio, promise, met, note, detail or {})


def not_measured(name: str, why: object, *, target: str = "") -> Row:
    """A row that could not be measured here, with the reason."""
    return Row(name, "", None, None, None, TARGETS.get(target), None, f"not measured: {why}", {})
