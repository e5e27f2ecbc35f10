"""Limits per API key: requests per second, in a bucket that holds two seconds of them, and requests per day (UTC)."""

import math
import time
from collections.abc import Callable
from typing import NamedTuple

from driftwise.service.http.errors import LimitReached

BURST_S = 2.0  # seconds of requests that may come at once
DAY_S = 86_400


class RateLimits(NamedTuple):
    """Of every key: `per_second` requests, and `per_day`; 0 is no limit."""

    per_second: float = 5000.0
    per_day: int = 0


class Bucket:
    """What one key has left."""

    __slots__ = ("at", "day", "left", "used")

    def __init__(self, at: float, left: float) -> None:
        self.at, self.left, self.day, self.used = at, left, 0, 0


class RateLimiter:
    """Counts requests by key. The clocks are arguments so that tests can control time."""

    def __init__(
        self,
        limits: RateLimits,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self.limits = limits
        self._monotonic, self._wall = monotonic, wall
        self._buckets: dict[str, Bucket] = {}

    def check(self, key: str) -> None:
        """Count a request; an error with the time to wait, where the key has none left."""
        per_second, per_day = self.limits
        if not per_second and not per_day:
            return
        now = self._monotonic()
        bucket = self._buckets.get(key)
        if bucket is None:
            bucket = self._buckets[key] = Bucket(now, BURST_S * per_second)
        if per_day:
            self._check_day(bucket)
        if per_second:
            bucket.left = min(BURST_S * per_second, bucket.left + (now - bucket.at) * per_second)
            bucket.at = now
            if bucket.left < 1.0:
                wait = math.ceil((1.0 - bucket.left) / per_second)
                raise LimitReached(f"this key has reached {per_second:g} requests per second", retry_after=wait)
            bucket.left -= 1.0
        bucket.used += 1

    def _check_day(self, bucket: Bucket) -> None:
        day, second = divmod(int(self._wall()), DAY_S)
        if day != bucket.day:
            bucket.day, bucket.used = day, 0
        if bucket.used >= self.limits.per_day:
            what = f"this key has reached {self.limits.per_day:,} requests today (UTC)"
            raise LimitReached(what, retry_after=DAY_S - second)
