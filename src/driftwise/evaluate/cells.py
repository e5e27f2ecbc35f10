"""What stands in a cell of a log, as expressions that Polars computes while it reads."""

from driftwise.core.extras import needed_for

with needed_for("reading a log"):
    import polars as pl

BLANK = ("", "na", "nan", "null", "none", "n/a")
TRUTH = {"true": "1", "yes": "1", "false": "0", "no": "0"}


def number(name: str, kind: "pl.DataType", decimal_comma: bool = False) -> "pl.Expr":
    """A cell as a float; null where it is none."""
    column = pl.col(name)
    if kind == pl.String:
        text = column.str.strip_chars()
        text = text.str.replace(",", ".", literal=True) if decimal_comma else text
        return text.str.to_lowercase().replace(TRUTH).cast(pl.Float64, strict=False)
    if kind == pl.Boolean or kind.is_numeric() or kind == pl.Null:
        return column.cast(pl.Float64, strict=False)
    return pl.lit(None, pl.Float64)


def missing(name: str, kind: "pl.DataType") -> "pl.Expr":
    """Whether nothing stands in a cell."""
    column = pl.col(name)
    if kind == pl.String:
        return column.is_null() | column.str.strip_chars().str.to_lowercase().is_in(BLANK)
    return column.is_null() | (column.is_nan() if kind.is_float() else pl.lit(False))


def label(name: str, kind: "pl.DataType") -> "pl.Expr":
    """A cell as the name of an arm or a category; null where it is empty."""
    text = pl.col(name).cast(pl.String)
    text = text.str.strip_chars() if kind == pl.String else text
    return pl.when(text == "").then(None).otherwise(text)
