"""The time of events: the wall clock, checked against the monotonic clock.

A wall clock can be set: by a year for a second, by mistake; for good, when it was wrong before. So it is followed only
while it advances as the steady (monotonic) clock does.

* A step of at most `STEP_S` (a time server's correction) is followed at once, back by standing still.
* A larger one is a *leap*. While it lasts, time goes on at the pace of the steady clock, as if nothing had happened.
* A leap that has lasted for `LASTING_S` is accepted: the wall clock was wrong before. The time it skipped did not pass:
  `Leaps` leaves it out of the age of a decision.

The steady clock of Linux goes on while the machine sleeps, so that waking up is no leap: that time did pass. Where it
stands still (a virtual machine that was paused), waking up is a leap that lasts.

`deployment` says how a deployment goes on when its events are ahead of this time.
"""

import logging
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

from driftwise.service.store.journal import DamagedError

STEP_S = 10
LASTING_S = 300
SECOND_US = 1_000_000
EPOCH, MICROSECOND = datetime(1970, 1, 1, tzinfo=UTC), timedelta(microseconds=1)
log = logging.getLogger("driftwise.service")


def now_us() -> int:
    """The wall clock, in microseconds since 1970."""
    return time.time_ns() // 1000


def utc(at: int) -> datetime:
    """A time in microseconds since 1970 as JSON tells it: RFC 3339, to the microsecond.

    >>> utc(1_700_000_000_000_001).isoformat()
    '2023-11-14T22:13:20.000001+00:00'
    """
    try:
        return EPOCH + at * MICROSECOND
    except OverflowError:
        raise DamagedError(f"a time of {at} microseconds since 1970 is outside the years 1 to 9999") from None


def microseconds(time: datetime) -> int:
    """Microseconds since 1970: the inverse of `utc`."""
    return (time - EPOCH) // MICROSECOND


def steady_us() -> int:
    """The monotonic clock, in microseconds."""
    sleeping = getattr(time, "CLOCK_BOOTTIME", None)  # counts the time asleep, too
    return (time.monotonic_ns() if sleeping is None else time.clock_gettime_ns(sleeping)) // 1000


class Leap(NamedTuple):
    """By how much the wall clock is off, and since when by the steady clock."""

    by: int
    since: int


class Clock:
    """The time in microseconds since 1970, for all events. Thread-safe."""

    def __init__(self, wall: Callable[[], int] = now_us, steady: Callable[[], int] = steady_us) -> None:
        self._wall, self._steady = wall, steady
        self._lock = threading.Lock()
        self._now, self._read_at = wall(), steady()  # the time when last read, and the steady clock then
        self._leap: Leap | None = None

    def __call__(self) -> int:
        """The time."""
        with self._lock:
            off, expected, steady = self._compare()
            if abs(off) > STEP_S * SECOND_US:  # or this thread was suspended between two readings
                off, expected, steady = self._compare()
            if self._leap is not None or abs(off) > STEP_S * SECOND_US:
                self._detect_leap(off, steady)
            self._now, self._read_at = max(self._now, expected + (off if self._leap is None else 0)), steady
            return self._now

    def _compare(self) -> tuple[int, int, int]:
        """By how much the wall clock is off what is expected, what is expected, and the steady clock."""
        wall, steady = self._wall(), self._steady()
        expected = self._now + steady - self._read_at
        return wall - expected, expected, steady

    def _detect_leap(self, off: int, steady: int) -> None:
        """Detect and log the beginning and the end of a leap."""
        leap = self._leap
        if abs(off) <= STEP_S * SECOND_US:
            self._leap = None
            if leap is not None:
                facts: Any = {"was_off_s": _seconds(leap.by)}
                log.warning("the clock of this machine is right again", extra={"facts": facts})
        elif leap is None or abs(off - leap.by) > STEP_S * SECOND_US:  # another leap: it must last anew
            self._leap = Leap(off, steady)
            if leap is None:
                facts = {"off_s": _seconds(off), "accepted_after_s": LASTING_S}
                log.warning("the clock of this machine has leapt: it is not followed for now", extra={"facts": facts})

    def lasting_leap(self) -> tuple[int, int] | None:
        """The time, and the time after a leap that has lasted long enough; else None."""
        now = self()
        if self._leap is None or self._read_at - self._leap.since < LASTING_S * SECOND_US:
            return None
        return now, now + self._leap.by

    def accept_leap(self) -> None:
        """Follow the wall clock after a leap."""
        with self._lock:
            leap, self._leap = self._leap, None
            self._now, self._read_at = self._wall(), self._steady()
        if leap is not None:
            log.warning("the clock of this machine is accepted now", extra={"facts": {"leapt_s": _seconds(leap.by)}})


class Leaps:
    """Stretches of time that did not pass, because the clock leapt over them.

    >>> leaps = Leaps()
    >>> leaps.add(100, 1000)
    >>> leaps.back(1050, 50), leaps.back(1050, 70)
    (1000, 80)
    """

    def __init__(self) -> None:
        self._leaps: list[tuple[int, int]] = []

    def add(self, before: int, after: int) -> None:
        """The clock was set from one moment to another. When it was set back, nothing is skipped."""
        if after > before:
            self._leaps = sorted([*self._leaps, (after, before)], reverse=True)

    def back(self, now: int, duration: int) -> int:
        """The latest moment since which `duration` has passed by now."""
        moment = now - duration
        for after, before in self._leaps:
            if moment < after <= now:
                moment -= after - before
        return moment


def _seconds(microseconds: int) -> float:
    return round(microseconds / SECOND_US, 1)
