"""Metrics for Prometheus. They are read off the engine when they are asked for; `deploy/` has rules that use them."""

import platform
from collections.abc import Iterable, Iterator, Mapping
from importlib.metadata import version
from typing import TypeVar

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from driftwise.service.deployments.catalogue import DeploymentEntry
from driftwise.service.deployments.deployment import Deployment
from driftwise.service.deployments.engine import Engine
from driftwise.service.histogram import Histogram
from driftwise.service.http.middleware import HttpMetrics
from driftwise.service.members.router import Router

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
PREFIX = "driftwise_"
FAMILIES: dict[str, type[GaugeMetricFamily | CounterMetricFamily]] = {
    "gauge": GaugeMetricFamily,
    "counter": CounterMetricFamily,
}
LabelsT = TypeVar("LabelsT", bound=tuple[str, ...])


class ServiceMetrics:
    """A collector of everything that is known of a service."""

    def __init__(self, engine: Engine, http: HttpMetrics, router: Router | None = None) -> None:
        self.engine, self.http, self.router = engine, http, router
        self.store_bytes: int | None = None  # of the store, and free where it is, as far as is known
        self.free_bytes: int | None = None
        self._registry = CollectorRegistry()
        self._registry.register(self)
        ProcessCollector(namespace="driftwise", registry=self._registry)

    def text(self) -> bytes:
        """All metrics, in the text format."""
        return generate_latest(self._registry)

    def collect(self) -> Iterator[Metric]:
        """Called by the registry."""
        yield from self._service()
        yield from self._store()
        yield from self._deployments()
        yield from self._shadows()
        yield from self._http()
        if self.router is not None:
            yield from self._members(self.router)

    def _service(self) -> Iterator[Metric]:
        engine = self.engine
        build = ("version", "python", "numba")
        versions = (version("driftwise"), platform.python_version(), version("numba"))
        yield _family("gauge", "build_info", "versions", {versions: 1}, build)
        yield _one("gauge", "ready", "1 when requests are served", int(engine.ready))
        yield _one("gauge", "damaged", "deployments whose journal is damaged", len(engine.damaged_names))
        yield _one("gauge", "deployments", "deployments, retired ones too", len(engine.catalogue.entries))
        replayed = engine.counts["replayed", ""]
        yield _one("counter", "replayed", "requests answered with a stored answer, by idempotency key", replayed)
        expiry = {(key.id, key.name): key.expires / 1e6 for key in engine.catalogue.keys.values() if key.expires}
        about = "when API keys expire, in seconds since 1970"
        yield _family("gauge", "api_key_expiry_seconds", about, expiry, ("id", "name"))

    def _store(self) -> Iterator[Metric]:
        writer = self.engine.writer
        yield _one("counter", "commits", "commits to the store", writer.commits)
        yield _one("counter", "commit_failures", "commits that failed", writer.failures)
        yield _one("counter", "events", "events committed", writer.written)
        yield _one("gauge", "commits_waiting", "requests that wait for a commit", writer.waiting)
        yield _histogram("commit_seconds", "time of a commit", {(): writer.seconds})
        yield _histogram("commit_events", "events in a commit", {(): writer.sizes})
        for name, about, value in (
            ("store_bytes", "bytes of the store", self.store_bytes),
            ("store_free_bytes", "bytes free on the disk of the store", self.free_bytes),
        ):
            yield _family("gauge", name, about, {} if value is None else {(): value})

    def _deployments(self) -> Iterator[Metric]:
        counts, entries = self.engine.counts, self.engine.catalogue.entries
        live = {name: entry.live for name, entry in entries.items() if entry.live is not None}
        decided = {(name,): n for (what, name), n in counts.items() if what == "decided"}
        yield _family("counter", "decisions", "decisions made", decided, ("deployment",))
        outcomes = {(name, what): n for (what, name), n in counts.items() if name and what != "decided"}
        yield _family("counter", "outcomes", "outcomes by status", outcomes, ("deployment", "status"))
        pending = {(name,): len(each.pending) for name, each in live.items()}
        yield _family("gauge", "pending", "decisions without an outcome", pending, ("deployment",))
        now = self.engine.clock()
        ages = {(name,): _age(entries[name], each, now) for name, each in live.items()}
        about = "age of the oldest decision without an outcome"
        yield _family("gauge", "oldest_pending_seconds", about, ages, ("deployment",))
        means = {(name,): each.stats.state.total_reward / n for name, each in live.items() if (n := _rewards(each))}
        yield _family("gauge", "reward_mean", "mean reward since the start", means, ("deployment",))
        rewards = {(name,): each.stats.state.total_reward for name, each in live.items()}
        yield _family("gauge", "reward_sum", "sum of rewards", rewards, ("deployment",))
        changes = {(name,): len(each.stats.state.changes) for name, each in live.items()}
        yield _family("gauge", "changes_detected", "changes of rewards found so far", changes, ("deployment",))
        replays = {(name, each.why): each for name, entry in entries.items() if (each := entry.replay) is not None}
        for about in ("done", "total"):
            events = {labels: getattr(each, about) for labels, each in replays.items()}
            what = f"events of a replay under way, {about}"
            yield _family("gauge", f"replay_{about}_events", what, events, ("deployment", "why"))

    def _shadows(self) -> Iterator[Metric]:
        entries = {name: entry for name, entry in self.engine.catalogue.entries.items() if entry.shadows is not None}
        lags = {
            (name,): entry.shadows.lag(entry.live.number)
            for name, entry in entries.items()
            if entry.shadows is not None and entry.live is not None
        }
        yield _family("gauge", "shadow_lag_events", "events not fed to shadow policies yet", lags, ("deployment",))

    def _members(self, router: Router) -> Iterator[Metric]:
        membership = router.membership
        owned = sum(map(membership.owns, (entry.stream for entry in self.engine.catalogue.entries.values())))
        yield _one("gauge", "members", "processes that serve the store", len(membership.view.members))
        yield _one("gauge", "owned_deployments", "deployments that this process owns", owned)
        yield _one("counter", "forwarded", "requests sent to other processes", router.n_forwarded)
        yield _one("counter", "takeovers", "processes expelled by this one", membership.takeovers)

    def _http(self) -> Iterator[Metric]:
        answers = {(label, str(status)): n for (label, status), n in self.http.statuses.items()}
        yield _family("counter", "http_answers", "answers by endpoint and status", answers, ("endpoint", "status"))
        times = {(label,): histogram for label, histogram in self.http.seconds.items()}
        yield _histogram("http_seconds", "time to answer", times, ("endpoint",))


def _age(entry: DeploymentEntry, live: Deployment, now: int) -> float:
    oldest = next(iter(live.pending.values()), None)
    return 0.0 if oldest is None else max(0.0, (live.time(now) - oldest.at) / 1e6)


def _rewards(live: Deployment) -> int:
    return live.stats.state.n_learned + live.stats.state.n_defaulted


def _one(kind: str, name: str, about: str, value: float) -> Metric:
    return _family(kind, name, about, {(): value})


def _family(kind: str, name: str, about: str, values: Mapping[LabelsT, float], labels: Iterable[str] = ()) -> Metric:
    family = FAMILIES[kind](PREFIX + name, about, labels=list(labels))
    for key, value in values.items():
        family.add_metric(list(key), value)
    return family


def _histogram(name: str, about: str, values: Mapping[LabelsT, Histogram], labels: Iterable[str] = ()) -> Metric:
    family = HistogramMetricFamily(PREFIX + name, about, labels=list(labels))
    for key, histogram in values.items():
        family.add_metric(list(key), histogram.cumulative(), histogram.sum)
    return family
