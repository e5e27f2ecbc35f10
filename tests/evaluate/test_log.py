"""Logs from files, frames and arrays: the same rows whatever they come in, and a sentence for whatever is odd."""

import html
import json
import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import driftwise as dw
from driftwise.errors import LogError
from driftwise.evaluate.columns import ColumnOptions, choose_columns
from driftwise.evaluate.diagnosis.page import render
from tests.fixtures.clicks import START, clicks_csv

SMALL = "time,action,reward\n2026-09-01T10:00:00Z,a,1\n2026-09-01T11:00:00Z,b,0\n2026-09-01T12:00:00Z,a,0\n"


WINDOWS = "action;reward\nGr\u00f6\u00dfer;1\nplain;0\n".encode("cp1252")  # as Excel writes it


def write(folder: Path, text: str, name: str = "log.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def said(log: dw.Log, words: str) -> bool:
    return any(words in note for note in log.notes)


@pytest.fixture(scope="module")
def csv(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return clicks_csv(tmp_path_factory.mktemp("clicks") / "clicks.csv", rows=500)


def same(log: dw.Log, other: dw.Log) -> bool:
    assert log.times is not None and other.times is not None
    return (
        log.arms == other.arms
        and np.array_equal(log.actions, other.actions)
        and np.array_equal(log.rewards, other.rewards, equal_nan=True)
        and np.array_equal(log.times, other.times)
    )


@pytest.mark.parametrize("kind", ["parquet", "jsonl", "json", "semicolons", "gzip", "tab"])
def test_every_kind_of_file_has_the_same_rows(csv: Path, tmp_path: Path, kind: str) -> None:
    frame = pl.read_csv(csv)
    path = tmp_path / f"log.{kind}"
    if kind == "parquet":
        frame.with_columns(pl.col("timestamp").str.to_datetime(time_unit="ms")).write_parquet(path)
    elif kind == "jsonl":
        frame.write_ndjson(path)
    elif kind == "json":
        frame.write_json(path)
    elif kind == "gzip":
        import gzip

        path.write_bytes(gzip.compress(csv.read_bytes()))
    else:
        frame.write_csv(path, separator=";" if kind == "semicolons" else "\t")
    assert same(dw.Log.read(path), dw.Log.read(csv))


@pytest.mark.parametrize("library", ["pandas", "named index", "polars", "lazy", "arrow"])
def test_every_kind_of_frame_has_the_same_rows(csv: Path, library: str) -> None:
    frame = pl.read_csv(csv, try_parse_dates=True)
    frames: dict[str, Callable[[], object]] = {
        "pandas": lambda: pd.read_csv(csv, parse_dates=["timestamp"]),
        "named index": lambda: pd.read_csv(csv, parse_dates=["timestamp"]).set_index(["timestamp", "variant"]),
        "polars": lambda: frame,
        "lazy": frame.lazy,
        "arrow": lambda: pa.table(frame.to_dict(as_series=False)),
    }
    assert same(dw.Log.from_frame(frames[library]()), dw.Log.read(csv))


def test_what_was_guessed_is_said(csv: Path) -> None:
    log = dw.Log.read(csv)
    assert log.arms == ("photo", "plain", "video")
    assert said(log, "columns guessed by name or content: time 'timestamp', action 'variant', reward 'click'")
    assert said(log, "times in 'timestamp' carry no zone; UTC is assumed")


def test_frame_and_back(csv: Path) -> None:
    log = dw.Log.read(csv)
    again = dw.Log.from_frame(log.frame())
    assert same(log, again)


def test_optional_columns(tmp_path: Path) -> None:
    text = (
        "when,arm,reward,propensity,user_id,rewarded_at,context_age,context_new,cost\n"
        "2026-09-01 10:00,a,1,0.5,7,2026-09-01 10:05,30,1,2.5\n"
        "2026-09-01 11:00,b,,0.25,8,,40,0,0\n"
    )
    log = dw.Log.read(write(tmp_path, text))
    assert log.propensities is not None and log.propensities.tolist() == [0.5, 0.25]
    assert log.context is not None and log.context.tolist() == [[30.0, 1.0], [40.0, 0.0]]
    assert log.context_names == ("context_age", "context_new") and log.cost_names == ("cost",)
    assert log.rewarded_at is not None and log.times is not None
    assert log.rewarded_at[0] - log.times[0] == 300.0 and np.isnan(log.rewarded_at[1])
    assert np.isnan(log.rewards[1]) and log.units is not None and len(set(log.units)) == 2


def test_only_what_was_guessed_is_said_to_be(tmp_path: Path) -> None:
    text = "ordered_at,segment,price_shown,sold\n2026-09-01,new,9,1\n2026-09-02,old,12,0\n"
    log = dw.Log.read(write(tmp_path, text), reward="sold", context=["segment"])
    assert log.arms == ("9", "12") and said(
        log, "columns guessed by name or content: time 'ordered_at', action 'price_shown'"
    )


def test_columns_by_option_and_none(tmp_path: Path) -> None:
    text = "a,b,c\nx,1,2026-09-01\ny,0,2026-09-02\n"
    log = dw.Log.read(write(tmp_path, text), action="a", reward="b", time="")
    assert log.times is None and log.arms == ("x", "y")
    with pytest.raises(LogError, match="action='z' is not a column; columns: a, b, c"):
        dw.Log.read(write(tmp_path, text), action="z")
    with pytest.raises(LogError, match=r"'b' has two roles: a column is one of .*action, reward"):
        dw.Log.read(write(tmp_path, text), action="b", reward="b")
    with pytest.raises(
        LogError, match=r"no column looks like the action: name it .--action COLUMN, or action= in Python."
    ):
        dw.Log.read(write(tmp_path, "p,q\n1,2\n3,4\n"))
    rows = "".join(f"{'xy'[i % 2]},{'uv'[i % 2]},{i % 3}\n" for i in range(20))
    with pytest.raises(LogError, match="'p' and 'q' could be the action: name it"):
        dw.Log.read(write(tmp_path, f"p,q,r\n{rows}"))


@pytest.mark.parametrize(
    ("names", "action", "reward"),
    [
        (["Timestamp", "Button Variant", "clickCount"], "Button Variant", "clickCount"),
        (["ts", "arm", "y"], "arm", "y"),
        (["time", "treatment", "outcome_at", "outcome"], "treatment", "outcome"),
    ],
)
def test_names_are_guessed(names: list[str], action: str, reward: str) -> None:
    columns, _ = choose_columns(ColumnOptions(), names, {})
    assert (columns.action, columns.reward) == (action, reward)


@pytest.mark.parametrize(
    ("header", "first_line"),
    [
        (
            "app_version,headline_id",
            "arms from 'app_version' (a guess; 'headline_id' could be it: --action headline_id)",
        ),
        ("group,banner", "arms from 'group' (a guess; 'banner' could be it: --action banner)"),
        ("item,price", "arms from 'item' (a guess; 'price' could be it: --action price)"),
        ("group,banner,my price", "arms from 'group' (a guess; 'banner' or 'my price' could be it: --action banner)"),
        ("my group,The Country", "arms from 'my group' (a guess; 'The Country' could be it: --action 'The Country')"),
        ("country", "arms from 'country' (a guess by content alone; to name it: --action COLUMN)"),
        ("group", ""),
        ("variant,country", ""),
    ],
)
def test_a_guess_of_the_arm_that_could_be_wrong_stands_first(tmp_path: Path, header: str, first_line: str) -> None:
    width = len(header.split(","))
    rows = "".join(f"2026-09-01 00:{i % 60:02},{','.join(['ab'[i % 2]] * width)},{i % 3 // 2}\n" for i in range(60))
    log = dw.Log.read(write(tmp_path, f"ts,{header},click\n{rows}"))
    found = log.diagnose()
    text, page = str(found).splitlines(), render(found, title="t")
    assert text[0].partition("; ")[2] == first_line
    assert log.notes[0] == first_line if first_line else not any("arms from" in note for note in log.notes)
    assert not any("arms from" in line for line in text[1:])
    assert (first_line == "") == (found.to_dict()["arm_guess"] is None) == ("arms from" not in page)
    assert html.escape(first_line).replace("&#x27;", "&#39;") in page.partition('<p class="lead">')[0]


def test_a_column_of_many_values_is_no_arm(tmp_path: Path) -> None:
    rows = "".join(f"2026-09-01 00:{i % 60:02},{'ab'[i % 2]},{i / 7:.2f},{i % 3 // 2}\n" for i in range(60))
    log = dw.Log.read(write(tmp_path, f"ts,group,purchase_price,click\n{rows}"))
    assert log.arm_guess is None and log.arms == ("a", "b")


# ---- times ----


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2026-09-01T00:00:00Z", 0.0),
        ("2026-09-01 02:00:00+02:00", 0.0),
        ("2026-08-31T19:30:00.25-0430", 0.25),
        ("2026-09-01", 0.0),
        ("2026/09/01 00:01", 60.0),
        ("01.09.2026 00:01", 60.0),
        (str(START), 0.0),
        (str(START * 1000 + 500), 0.5),
        (f"{START}.75", 0.75),
    ],
)
def test_times_in_many_forms(tmp_path: Path, text: str, seconds: float) -> None:
    log = dw.Log.read(write(tmp_path, f"time,action,reward\n{text},a,1\n{text},b,0\n"))
    assert log.dated and log.times is not None and log.times[0] - START == seconds


def test_zones(tmp_path: Path) -> None:
    naive = write(tmp_path, "time,action,reward\n2026-09-01 00:00:00,a,1\n2026-09-01 01:00:00,b,0\n")
    log = dw.Log.read(naive, timezone="Europe/Berlin")
    assert log.times is not None and log.times[0] == START - 7200 and log.timezone == "Europe/Berlin"
    mixed = write(tmp_path, "time,action,reward\n2026-09-01T00:00:00+02:00,a,1\n2026-09-01T00:00:00-05:00,b,0\n")
    assert said(dw.Log.read(mixed), "mix the offsets +02:00, -05:00; each is read by its own")
    some = write(tmp_path, "time,action,reward\n2026-09-01T00:00:00+02:00,a,1\n2026-09-01T00:00:00,b,0\n")
    assert said(dw.Log.read(some), "mix zones: 1 carry none, which is taken as UTC")
    with pytest.raises(LogError, match="timezone='Mars/Base' is not a time zone"):
        dw.Log.read(naive, timezone="Mars/Base")


def test_a_format_of_times(tmp_path: Path) -> None:
    path = write(tmp_path, "time,action,reward\n08/31/2026 23:00,a,1\n09/01/2026 00:00,b,0\n")
    log = dw.Log.read(path, time_format="%m/%d/%Y %H:%M")
    assert log.times is not None and log.times.tolist() == [START - 3600.0, START]
    with pytest.raises(
        LogError, match=r"have a time that cannot be read.* say how times are written, as in --time-format"
    ):
        dw.Log.read(path)


def test_a_count_is_no_date(tmp_path: Path) -> None:
    log = dw.Log.read(write(tmp_path, "round,time,action,reward\n" + "".join(f"{i},{i},a,1\n" for i in range(5))))
    assert not log.dated and said(log, "counts from 0 and names no dates")


# ---- what is odd ----


def test_bad_rows_are_counted_and_the_first_is_quoted(tmp_path: Path) -> None:
    good = "".join(f"2026-09-02T{i // 60:02}:{i % 60:02}:00Z,b,1\n" for i in range(60))
    text = SMALL + "oops\n2026-13-01,a,1\n2026-09-01T13:00:00Z,a,many\n2026-09-01T14:00:00Z,b,inf\n" + good
    log = dw.Log.read(write(tmp_path, text))
    assert len(log) == 63
    assert said(log, "1 of 67 rows has no action and is left out; the first is line 5: action=None")
    assert said(
        log, "1 of 67 rows has a time that cannot be read and is left out; the first is line 6: time='2026-13-01'"
    )
    assert said(
        log, "2 of 67 rows have a reward that is not a finite number and are left out; the first is line 7: rew"
    )


def test_a_log_of_which_much_cannot_be_read_is_refused(tmp_path: Path) -> None:
    rows = [f"2026-09-02T00:{i:02}:00Z,a,{'5.00 EUR' if i % 3 else 5.0}" for i in range(60)]
    with pytest.raises(LogError, match=r"40 of 60 rows have a reward .* first is line 3: reward='5.00 EUR'; write num"):
        dw.Log.read(write(tmp_path, "\n".join(["time,action,reward", *rows])))
    rows = [f"{'noon' if i % 3 else '2026-09-02T00'}:{i:02}:00Z,a,1" for i in range(60)]
    with pytest.raises(LogError, match=r"40 of 60 rows have a time that cannot be read; .*--time-format"):
        dw.Log.read(write(tmp_path, "\n".join(["time,action,reward", *rows])), time="time")


@pytest.mark.parametrize("lazy", [False, True])
def test_text_with_decimal_commas_is_read_from_a_frame_as_from_a_file(tmp_path: Path, lazy: bool) -> None:
    path = write(tmp_path, "action;reward\na;17,90\nb;3\na;-0,5\n")
    frame = pl.read_csv(path, separator=";")
    log = dw.Log.from_frame(frame.lazy() if lazy else frame.to_pandas())
    assert log.rewards.tolist() == dw.Log.read(path).rewards.tolist() == [17.9, 3.0, -0.5]
    thousands = pl.DataFrame({"action": ["a", "b"], "reward": ["1,234", "2,500"]})
    with pytest.raises(LogError, match="it starts with '1,234': write numbers alone"):
        dw.Log.from_frame(thousands)


def test_blanks_around_names_of_arms_are_trimmed(tmp_path: Path) -> None:
    log = dw.Log.read(write(tmp_path, "action,reward\nA,1\n A,0\nA ,1\nA  b,0\nA b,1\n"))
    assert log.arms == ("A", "A  b", "A b")
    assert said(log, "differ in spaces only")


def test_arms_that_are_one_number_are_noted(tmp_path: Path) -> None:
    log = dw.Log.read(write(tmp_path, "action,reward\n5,1\n5.00,0\n7,1\n"))
    assert log.arms == ("5", "5.00", "7")
    assert said(log, "'5' (1 row) and '5.00' (1 row) are equal as numbers, and are different arms here: if they")


def test_arms_that_differ_in_case_or_spaces_are_noted_first_and_not_merged(tmp_path: Path) -> None:
    names = ["Basic 4,99\u20ac", "BASIC 4,99\u20ac", "Plus", "Plus  8", "Plus 8", "\u00c9t\u00e9", "\u00e9t\u00e9"]
    rows = [f"{name};{i % 2}" for i, name in enumerate([*names, names[0]])]
    log = dw.Log.read(write(tmp_path, "\n".join(["action;reward", *rows])))
    assert len(log.arms) == 7
    pairs, advice = log.notes[0].split(", and are ")
    assert pairs.split("; ") == [
        "'BASIC 4,99\u20ac' (1 row) and 'Basic 4,99\u20ac' (2 rows) differ in case only",
        "'Plus  8' (1 row) and 'Plus 8' (1 row) differ in spaces only",
        "'\u00c9t\u00e9' (1 row) and '\u00e9t\u00e9' (1 row) differ in case only",
    ]
    assert advice == "different arms here: if they are one arm, write its name in one way and read the log again"
    assert "differ in case" in dw.Log.from_arrays([*"aabA"], [1, 0, 1, 0]).notes[0]


def test_unsorted_times_are_sorted(tmp_path: Path) -> None:
    first, *lines = SMALL.splitlines()
    log = dw.Log.read(write(tmp_path, "\n".join([first, *lines[::-1]])))
    assert log.rewards.tolist() == [1.0, 0.0, 0.0] and said(log, "rows were not in order of time and were sorted")


def test_rows_twice(tmp_path: Path) -> None:
    lines = SMALL.splitlines()
    log = dw.Log.read(write(tmp_path, "\n".join([*lines, lines[-1]])))
    assert len(log) == 4 and said(log, "1 of 4 rows repeats another in every column that is used; it is kept")
    named = [line + f",{i}" for i, line in enumerate(lines[1:])]
    log = dw.Log.read(write(tmp_path, "\n".join([lines[0] + ",event_id", *named, named[0]])))
    assert len(log) == 3 and said(log, "1 of 4 rows repeats another in every column that is used and is left out")


def test_propensities_that_cannot_be(tmp_path: Path) -> None:
    text = "action,reward,propensity\na,1,0.5\nb,0,0\na,1,1.5\nb,0,\na,0,x\n"
    log = dw.Log.read(write(tmp_path, text))
    assert log.propensities is not None and np.isnan(log.propensities).tolist() == [False, True, True, True, True]
    assert said(log, "2 of 5 propensities are outside (0, 1] and count as unknown; the first is line 3: propensity='0'")
    assert said(log, "2 of 5 propensities are missing")
    percent = dw.Log.read(write(tmp_path, "action,reward,propensity\na,1,50\nb,0,50\n"))
    assert said(percent, "are they percentages?")
    with pytest.raises(LogError, match=r"propensities hold 1.5, which is outside \(0, 1\]"):
        dw.Log.from_arrays([0, 1], [1, 0], propensities=[0.5, 1.5])


def test_single_arms_and_constant_rewards(tmp_path: Path) -> None:
    log = dw.Log.read(write(tmp_path, "action,reward\na,1\na,1\n"))
    assert said(log, "the log has a single arm, 'a'") and said(log, "every reward is 1: there is nothing to learn")


def test_truth_and_decimal_commas(tmp_path: Path) -> None:
    assert dw.Log.read(write(tmp_path, "action,reward\na,True\nb,no\n")).rewards.tolist() == [1.0, 0.0]
    assert dw.Log.read(write(tmp_path, "action;reward\na;1,5\nb;0\n")).rewards.tolist() == [1.5, 0.0]


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("log.csv", b"", "is empty"),
        ("log.csv", b"time,action,reward\n", "has no rows"),
        ("log.png", b"\x89PNG\r\n", "is a picture"),
        ("log.xlsx", b"PK\x03\x04", "an Excel file; export it as CSV"),
        ("store.db", b"SQLite format 3\x00", "is an SQLite database"),
        ("log.csv", b"just words\n", "has one column, 'just words'"),
        ("log.csv", b"a,b\x00\xff", "is neither text nor Parquet"),
        (
            "log.csv",
            "action;reward\n".encode("utf-16"),
            "if it is in utf-16: iconv -f utf-16 -t utf-8 FILE > NEW",
        ),
        (
            "my log.csv",
            WINDOWS,
            "save it in Excel as 'CSV UTF-8', or convert it, if it is in cp1252: iconv -f",
        ),
        (
            "late.csv",
            b"action;reward\n" + b"a;1\nb;0\n" * 9000 + WINDOWS,
            "iconv -f cp1252 -t utf-8 FILE > NEW",
        ),
        ("log.json", b'[{"a": 1}, oops', "is not a JSON list of rows"),
        ("page.csv", b"<html>", "is a web page or XML"),
        ("log.csv", b"action,reward\na,x\nb,y\n", "holds no numbers, it starts with 'x': write numbers alone"),
        ("log.csv", b"action,reward\n,1\n,0\n", "has no row that can be used: 2 of 2 rows have no action"),
    ],
)
def test_a_file_of_another_kind_is_one_sentence(tmp_path: Path, name: str, content: bytes, words: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(LogError) as caught:
        dw.Log.read(path)
    assert words in str(caught.value)


def test_no_file_no_folder_no_frame(tmp_path: Path) -> None:
    with pytest.raises(LogError, match="cannot be read: No such file"):
        dw.Log.read(tmp_path / "none.csv")
    with pytest.raises(LogError, match="is a folder"):
        dw.Log.read(tmp_path)
    with pytest.raises(LogError, match="int is not a data frame"):
        dw.Log.from_frame(3)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"actions": [0, 3], "arms": ["a", "b"]}, "action 3 is not an index into 2 arms"),
        ({"actions": ["a", "z"], "arms": ["a", "b"]}, "action 'z' is not one of the arms a, b"),
        ({"rewards": [1, np.inf]}, "rewards hold an infinite number"),
        ({"rewards": [np.nan, np.nan]}, "no row of the log has a reward"),
        ({"rewards": [1]}, "rewards have shape (1,): a row for each of 2 actions is needed"),
        ({"times": [1, np.nan]}, "times hold nan: every row needs a time"),
        ({"context": np.ones((2, 3))}, "3 context columns are more than 2 rows"),
        ({"actions": []}, "actions have shape (0,)"),
    ],
)
def test_arrays_that_cannot_be_a_log(options: dict[str, object], words: str) -> None:
    arguments: dict[str, object] = {"actions": [0, 1], "rewards": [1, 0], **options}
    with pytest.raises(LogError) as caught:
        dw.Log.from_arrays(**arguments)  # type: ignore[arg-type]
    assert words in str(caught.value)


# ---- the log of a deployment ----


def exported(**more: object) -> dict[str, object]:
    row: dict[str, object] = {"id": 1, "decided_at": datetime(2026, 9, 1, tzinfo=UTC), "action": "a", "propensity": 0.5}
    row |= {"unit": None, "sticky": False, "override": False, "request": None, "status": "learned"}
    return row | {"outcome_at": datetime(2026, 9, 1, 1, tzinfo=UTC), "reward": 1.0, "costs": None} | more


def test_the_export_of_a_deployment(tmp_path: Path) -> None:
    rows = [
        exported(request={"context": [1.0, 2.0]}, costs={"euros": 2.0}),
        exported(action="b", status="cancelled"),
        exported(action=None, status="nothing", reward=None, request={"context": [0.0, 1.0]}),
        exported(action="b", status="pending", reward=None, outcome_at=None, request={"context": [3.0, 4.0]}),
    ]
    log = dw.Log.from_deployment(rows)
    assert log.arms == ("a", "b") and len(log) == 2 and said(log, "2 decisions that were cancelled or chose nothing")
    assert log.context is not None and log.context.tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert log.rewarded_at is not None and log.rewarded_at[0] - START == 3600.0 and np.isnan(log.rewards[1])
    assert log.costs is not None and log.costs.tolist() == [[2.0], [0.0]] and log.cost_names == ("euros",)
    lines = (json.dumps(row, default=datetime.isoformat) for row in rows)
    again = dw.Log.read(write(tmp_path, "\n".join(lines), "log.jsonl"))
    assert same(log, again) and again.context is not None and again.context.tolist() == log.context.tolist()


# ---- a world, and an agent ----


def test_a_world_of_a_log(csv: Path) -> None:
    log = dw.Log.read(csv)
    world = log.world()
    means = np.mean([world.draw(1000, seed)[0].levels.table.mean(axis=0) for seed in range(200)], axis=0)
    truth = [log.rewards[log.actions == k].mean() for k in range(3)]
    assert world.labels == log.arms and world.rewards == "bernoulli"
    assert np.abs(means - truth).max() < 0.02
    with pytest.raises(LogError, match="a world needs at least two arms"):
        dw.Log.from_arrays(["a", "a"], [1, 0]).world()


def test_feeding_an_agent_equals_deciding_by_hand(csv: Path) -> None:
    log = dw.Log.read(csv)
    fed, own = (dw.Agent(dw.SlidingUCB(window=100), list(log.arms)) for _ in range(2))
    assert log.feed(fed) == 500
    for action, reward in zip(log.actions, log.rewards, strict=True):
        own.learn(own.decide(override=(log.arms[action], np.nan)), reward=reward)
    assert fed.dumps() == own.dumps()


def test_feeding_lets_rounds_pass_and_rewards_come_late() -> None:
    log = dw.Log.from_arrays(
        [0, 1, 0],
        [1, np.nan, 0],
        arms=["a", "b"],
        times=[START, START + 60, START + 180],
        rewarded_at=[START + 100] * 3,
    )
    agent = dw.Agent(dw.SlidingUCB(window=10), ["a", "b"])
    assert log.feed(agent, round_seconds=60) == 2 and agent.t == 4 and agent.pending == ()
    with pytest.raises(LogError, match="arm 'b' of the log is not one of the agent's arms: a, c"):
        log.feed(dw.Agent(dw.SlidingUCB(), ["a", "c"]))


def test_an_agent_learns_the_whole_log_or_nothing() -> None:
    log = dw.Log.from_arrays([0, 1, 0], [0.5, 1.0, 5.5])
    agent = dw.Agent(dw.SlidingUCB(), ["0", "1"])
    before = agent.dumps()
    with pytest.raises(LogError, match=r"row 3 of the log has the reward 5.5, .* \[0, 1\]: .*_range=\(0.5, 5.5\)"):
        log.feed(agent)
    assert agent.dumps() == before


def test_feedback_of_the_open_bandit_pipeline() -> None:
    feedback = {"n_actions": 3, "action": [2, 0], "reward": [1, 0], "pscore": [0.5, 0.25], "context": [[1.0], [2.0]]}
    log = dw.Log.from_obp(feedback | {"position": None, "n_rounds": 2})
    assert log.arms == ("0", "1", "2") and log.actions.tolist() == [2, 0]
    assert log.propensities is not None and log.propensities.tolist() == [0.5, 0.25]
    with pytest.raises(LogError, match="the feedback has several positions"):
        dw.Log.from_obp(feedback | {"position": [0, 1]})
    with pytest.raises(LogError, match="the feedback has no 'action'"):
        dw.Log.from_obp({"reward": [1]})


def test_a_bad_row_is_quoted_with_its_line_where_the_file_has_lines(tmp_path: Path) -> None:
    rows = ["a,1", "b,0", ",1", "b,1"]
    assert said(dw.Log.read(write(tmp_path, "\n".join(["\naction,reward", *rows]))), "the first is line 5: action=None")
    lines = ['{"action": "a", "reward": 1}', '{"action": "b", "reward": 0}', '{"reward": 1}']
    assert said(dw.Log.read(write(tmp_path, "\n".join(lines), "log.jsonl")), "the first is line 3: action=None")
    frame = pl.DataFrame({"action": ["a", "b", None], "reward": [1, 0, 1]})
    assert said(dw.Log.from_frame(frame), "the first is row 3: action=None")


@pytest.mark.parametrize(
    ("time", "form"),
    [
        ("01.09.26 00:19", "%d.%m.%y %H:%M"),
        ("09/01/26 00:19", "%m/%d/%y %H:%M"),
        ("26-09-01", "%y-%m-%d"),
        ("13/09/2026 00:19:30", "%d/%m/%Y %H:%M:%S"),
    ],
)
def test_years_of_two_digits_need_a_format_and_the_error_names_one_that_fits(
    tmp_path: Path, time: str, form: str
) -> None:
    path = write(tmp_path, f"time,action,reward\n{time},a,1\n{time},b,0\n")
    with pytest.raises(LogError, match=rf"time that cannot be read; .*--time-format '{re.escape(form)}'"):
        dw.Log.read(path)
    times = dw.Log.read(path, time_format=form).times
    assert times is not None
    assert datetime.fromtimestamp(times[0], UTC).year == 2026
