"""The power is cut at any moment: nothing acknowledged is lost. And the control, which must lose.

The journal runs on a file system that forgets what was not synced (`tests/power.py`). With `synchronous=FULL` every
acknowledged event must be there afterwards; with NORMAL some must be missing, or the simulation proves nothing.
"""

import itertools
import random
from contextlib import suppress

import apsw
import pytest

from driftwise.service.store.journal import Event, JournalError
from driftwise.service.store.sqlite import SQLiteJournal
from tests.fixtures.power_cuts import PowerVFS

_COUNT = itertools.count()
CUTS = 40


def cut_power(durability: str, cuts: int, seed: int) -> tuple[int, int, int]:
    """Write until the power goes, look what is there, go on; acknowledged, lost, and cuts that lost something."""
    luck = random.Random(seed)
    name = f"power-{next(_COUNT)}"
    vfs = PowerVFS(name)
    power = vfs.power
    acknowledged = lost = losing = 0
    number = 0
    for _ in range(cuts):
        journal = SQLiteJournal("store.db", durability, vfs=name)
        journal._writer.wal_autocheckpoint(20)  # often, so that cuts meet checkpoints too
        power.until = power.calls + luck.randrange(1, 400)
        told = number
        with suppress(JournalError):
            while power.on:
                batch = [Event(1, number + i, 0, "decided", luck.randbytes(60)) for i in range(luck.randrange(1, 30))]
                journal.append(batch)
                number += len(batch)
                acknowledged += len(batch)
                told = number
        power.on = False
        with suppress(apsw.Error):
            journal.close()  # without power nothing of this reaches the disk
        power.back(luck)
        journal = SQLiteJournal("store.db", durability, vfs=name)
        there = [event.number for event in _all(journal)]
        assert there == list(range(len(there))), "what is there has a gap"
        if len(there) < told:
            lost += told - len(there)
            losing += 1
        number = len(there)  # an event that was written but not acknowledged may be there: that is allowed
        journal.close()
    vfs.unregister()
    return acknowledged, lost, losing


def _all(journal: SQLiteJournal) -> list[Event]:
    """Everything, through the one connection there is."""
    rows = journal._writer.execute("SELECT stream, number, at, kind, body, ref FROM events ORDER BY number")
    return [Event(*row) for row in rows]


def test_a_power_cut_loses_nothing_that_was_acknowledged() -> None:
    acknowledged, lost, _ = cut_power("full", CUTS, seed=1)
    assert acknowledged > 20 * CUTS and lost == 0


def test_the_control_loses() -> None:
    acknowledged, lost, losing = cut_power("normal", CUTS, seed=2)
    assert acknowledged > 20 * CUTS and lost > 0 and losing > CUTS // 4


@pytest.mark.deep
def test_three_hundred_power_cuts() -> None:
    assert cut_power("full", 300, seed=3)[1] == 0
    assert cut_power("normal", 300, seed=3)[2] > 100
