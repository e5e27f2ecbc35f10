"""The powers that the theorems print, as tables: what each player loses grows as that power of T, V, m, 1/b or d."""

from driftwise.papers.knapsacks import theorem1, theorem2
from driftwise.papers.knapsacks.algorithm1 import READINGS
from driftwise.study.printed import PrintedTable

PLAYERS = ("as printed", "a quarter of the radius", "a tenth", "a tenth, re-solved", "uniform play")
Row = tuple[str, tuple[str | None, ...]]


def tables(scale: str) -> list[PrintedTable]:
    """One for each theorem with a rate."""
    return [_theorem1(), _theorem2(), _theorem3(), _theorem4()]


def _theorem1() -> PrintedTable:
    rows: list[Row] = []
    for name, series in theorem1.SERIES.items():
        _, symbol, world, d = name.split("/")
        blind = f"{name}/uniform" if symbol == "T" else None
        sign = "at most " if symbol == "T" else ""
        heading = f"{symbol}, {world} arms, {d.replace('=', ' = ')}: {sign}{series.power}"
        rows.append((heading, (*(f"{name}/{form}" for form in READINGS), blind)))
    for heading, name in (
        ("Corollary 1, T - tau, rotating arms: at most 2/3", "corollary-1/rate/rotating"),
        ("Corollary 1, T - tau, stationary arms: at most 1/2", "corollary-1/rate/stationary"),
        ("C.1, nothing binds: at most 2/3", "appendix-c1/T"),
        ("C.2, only rounds bind: 1", "appendix-c2/T"),
    ):
        rows.append((heading, (*(f"{name}/{form}" for form in READINGS), None)))
    return PrintedTable("Theorem 1, Corollary 1 and Appendix C: powers", PLAYERS, tuple(rows))


def _theorem2() -> PrintedTable:
    rows: list[Row] = []
    for name, series in theorem2.SERIES.items():
        part = name.split("/")[0].removeprefix("theorem-2-")
        exact = f"{name}/construction" if series.symbol == "m" else None
        blind = None if series.symbol == "m" else f"{name}/blind"
        rows.append((f"({part}), {series.symbol}: {series.power}", (f"{name}/least", exact, blind)))
    columns = ("least loss of all players", "without (1 - 1/m)^(2/3)", "uniform play")
    return PrintedTable("Theorem 2 (i) and (ii): powers of the loss that nobody can help", columns, tuple(rows))


def _theorem3() -> PrintedTable:
    cells = {
        "Reg1, linear": "theorem-3/Reg1/linear",
        "Reg2, linear": "theorem-3/Reg2/linear",
        "Reg1, quadratic": "theorem-3/Reg1/quadratic",
        "Reg2, quadratic": "theorem-3/Reg2/quadratic",
        "Reg2, constraints that swing": "theorem-3/Reg2/swinging",
        "Reg2, 16 constraints": "theorem-3/Reg2/many",
        "Reg2, nature that reacts": "theorem-3/adversary/Reg2",
        "E.3, Reg1": "appendix-e3/Reg1/noisy",
        "E.3, Reg2": "appendix-e3/Reg2/noisy",
    }
    rows = tuple((f"{heading}: 1/2", (f"{name}/printed", f"{name}/corrected")) for heading, name in cells.items())
    return PrintedTable("Theorem 3: powers of T", ("as printed", "alpha = T, beta = sqrt(T)"), rows)


def _theorem4() -> PrintedTable:
    players = ("appendix", "cut", "uniform")
    rows = tuple(
        (f"{world} arms: 0", tuple(f"theorem-4/{world}/{player}" for player in players))
        for world in ("stationary", "rotating")
    )
    columns = ("as printed", "bounds cut to [0, 1]", "uniform play")
    return PrintedTable("Theorem 4: the power of T by which regret leaves its expression", columns, rows)
