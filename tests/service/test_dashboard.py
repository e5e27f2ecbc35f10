"""The dashboard in a real browser, and the demonstration it is first looked at with."""

import asyncio
import itertools
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from driftwise.families import Knapsack, Restless
from driftwise.service.dashboard.pages import STATIC
from driftwise.service.demo import ARMS, FIRST_CHANGE_S, POLICIES, Coins, play
from driftwise.service.deployments import spec
from driftwise.service.deployments.catalogue import Catalogue
from driftwise.service.deployments.clock import now_us
from driftwise.service.deployments.stats.collector import StatsCollector
from driftwise.service.http.server import temporary_folder
from driftwise.service.store.events import Created
from driftwise.service.store.journal import open_journal
from tests.fixtures.engine import create, decide, deployment_spec, running
from tests.fixtures.patience import HANG_S, get, patient, post, until, until_so
from tests.fixtures.service_process import SOURCE, Service, admin_key, free_port

pytestmark = pytest.mark.system

CHROMIUM = Path("/usr/bin/chromium")
NASTY = "<img src=x onerror=document.title='taken'>"
INKED = """place => {
  const canvas = document.querySelector(`#${place} canvas`);
  const data = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height).data;
  const seen = new Set();
  for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.add(data.slice(i, i + 3).join());
  return [...seen];
}"""


class Tab:
    """A page in the browser that notes what goes wrong, and whom it asks."""

    def __init__(self, page: Any, url: str) -> None:
        self.page, self.url = page, url
        page.set_default_timeout(1000 * HANG_S)
        self.wrong: list[str] = []
        self.asked: set[str] = set()
        page.on("console", lambda message: self.wrong.append(message.text) if message.type != "log" else None)
        page.on("pageerror", lambda error: self.wrong.append(str(error)))
        page.on("request", lambda request: self.asked.add(request.url))

    def open(self, path: str) -> None:
        self.page.goto(self.url + path)
        self.page.wait_for_selector("#content:not([hidden])")

    def until(self, ready: Callable[[], bool], what: str) -> None:
        end = time.monotonic() + HANG_S
        while not ready():
            assert time.monotonic() < end, f"{what} did not come"
            self.page.wait_for_timeout(100)

    def text(self, selector: str) -> str:
        return str(self.page.inner_text(selector))

    def decided(self) -> int:
        return int(self.text("#tiles div:nth-child(4) dd").replace(",", ""))

    def sign_in(self, key: str) -> None:
        self.page.fill("#key", key)
        self.page.press("#key", "Enter")
        self.page.wait_for_selector("#content:not([hidden])")
        self.page.wait_for_selector("#door", state="hidden")

    def fits(self) -> bool:
        return bool(self.page.evaluate("document.documentElement.scrollWidth <= innerWidth"))


@contextmanager
def browser(url: str, width: int = 1200) -> Iterator[Tab]:
    """A tab of Debian's chromium, for which there is no other machine."""
    if not CHROMIUM.exists():
        pytest.skip(f"there is no browser at {CHROMIUM}: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    alone = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1"
    with sync_playwright() as driver:
        chromium = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox", alone])
        try:
            yield Tab(chromium.new_page(viewport={"width": width, "height": 800}), url)
        finally:
            chromium.close()


def fill(url: str) -> None:
    """A deployment with markup for a name, one with a budget, and one whose arms move."""
    with patient(url) as client:
        client.create("shop", "epsilon-greedy", [NASTY, "plain"], seed=1)
        for _ in range(60):
            decision = client.decide("shop")
            client.learn("shop", decision.id, reward=1.0 if decision.action == "plain" else 0.0)
        client.create("paid", "prequential-pacing", Knapsack(2, {"euros <b>": 50.0}, horizon=200), seed=1)
        for _ in range(10):
            decision = client.decide("paid")
            if decision.action is not None:
                client.learn("paid", decision.id, reward=1.0, costs={"euros <b>": 1.0})
        people = [f"p{i:02}" for i in range(25)]
        problem = Restless(people, n_active=2, states=[NASTY, "fine"], state_rewards=[0, 1])
        client.create("calls", "round-robin", problem)
        for _ in range(13):
            decision = client.decide("calls", states=[NASTY, "fine", "fine", "fine", "fine"] * 5)
            client.learn("calls", decision.id, states=["fine"] * 25)
            time.sleep(0.1)  # stretches are a second wide at least, and one is not drawn


def test_the_dashboard_in_a_browser(tmp_path: Path) -> None:
    with Service(tmp_path / "store.db", "--demo") as service, browser(service.url) as tab:
        fill(service.url)
        tab.open("/")
        tab.until(lambda: tab.page.locator("#rows a").count() == len(POLICIES) + 3, "the list of deployments")
        assert tab.page.locator("#rows a").all_inner_texts() == sorted([*POLICIES, "calls", "paid", "shop"])
        assert tab.fits()

        tab.page.click("#rows a >> text=shop")  # names are text
        tab.page.wait_for_selector("#arms tr >> text=plain")
        assert tab.text("#name") == "shop" and tab.page.title() == "shop · driftwise"
        assert NASTY in tab.text("#arms") and NASTY in tab.text("#legend")
        assert tab.page.locator("main img, main b:not(.whisker > b)").count() == 0
        assert tab.page.locator("#floor canvas").count() == 1 and "0.05" in tab.text("#tiles")

        tab.open("/deployments/paid")
        assert "euros <b>" in tab.text("#budgets") and "of 50" in tab.text("#budgets")

        assert "0,114,178" in tab.page.evaluate(INKED, "spending") and "euros <b>" in tab.text("#spending-legend")
        assert not tab.page.is_visible("#states-part")

        tab.open("/deployments/calls")
        assert NASTY in tab.text("#states-legend") and "And 5 more." in tab.text("#more-arms")
        assert {"0,114,178", "213,94,0"} <= set(tab.page.evaluate(INKED, "states"))
        assert "0,114,178" in tab.page.evaluate(INKED, "rewards") and not tab.page.is_visible("#budget-part")
        assert tab.page.locator("#arms tr").count() == 20 and "reward of an arm a round" in tab.text("#tiles")

        tab.open("/deployments/demo")  # charts hold data, and numbers move
        first = tab.decided()
        tab.until(lambda: tab.decided() >= first + 8, "news of decisions")
        tab.until(lambda: tab.page.locator("#delays .bar").count() > 2, "delays")
        assert tab.page.locator("#arms tr").count() == len(ARMS)
        inked = set(tab.page.evaluate(INKED, "allocation"))
        assert {"0,114,178", "213,94,0", "0,158,115"} <= inked, "every arm has its colour in the chart"
        assert len(tab.page.evaluate(INKED, "rewards")) > 3 and len(tab.page.evaluate(INKED, "rate")) > 3
        assert "Live" in tab.text("#news") and re.search(r"Half within .* s, 95% within", tab.text("#about-delays"))

        tab.page.set_viewport_size({"width": 390, "height": 800})  # a phone
        for path in ("/deployments/shop", "/deployments/paid", "/deployments/calls", "/deployments/demo", "/"):
            tab.open(path)
            assert tab.fits(), f"{path} is wider than a phone"

        assert tab.wrong == []
        assert {urlsplit(url).hostname for url in tab.asked} == {"127.0.0.1"}

        assert service.stop() == 0  # a page that is left alone says so, and goes on asking
        tab.until(lambda: "does not answer" in tab.text("#news"), "the news that the service is gone")


def test_a_key_opens_the_page(tmp_path: Path) -> None:
    admin = admin_key(tmp_path / "store.db")
    with Service(tmp_path / "store.db", auth=True) as service, browser(service.url) as tab:
        with patient(service.url, key=admin) as client:
            client.create("shop", "uniform", 2)
            client.create("other", "uniform", 2)
            wanted = {"name": "page", "scopes": ["read"], "deployments": ["shop"]}
            bearer = {"authorization": f"Bearer {admin}"}
            made = post(f"{service.url}/v1/keys", json=wanted, headers=bearer).json()
        tab.page.goto(f"{service.url}/deployments/shop")
        tab.page.wait_for_selector("#door:not([hidden])")
        assert not tab.page.is_visible("#content")
        tab.sign_in(made["key"])
        assert tab.text("#name") == "shop" and not tab.page.is_visible("#door")
        tab.open("/")  # a key for one deployment lists that one
        assert tab.page.locator("#rows a").all_inner_texts() == ["shop"]


def test_the_token_opens_the_page(tmp_path: Path) -> None:
    with Service(tmp_path / "store.db", auth=True) as service, browser(service.url) as tab:
        with patient(service.url, key=service.token) as client:
            client.create("shop", "uniform", 2)
        tab.page.goto(service.url)
        tab.page.wait_for_selector("#door:not([hidden])")
        assert tab.text("#news") == "Please sign in." and "driftwise keys token" in tab.text("#door")
        tab.page.fill("#key", "dwt_wrong")
        tab.page.press("#key", "Enter")
        tab.until(lambda: "not the token of the service" in tab.text("#news"), "what is wrong with the token")
        tab.sign_in(service.token)
        assert tab.page.locator("#rows a").all_inner_texts() == ["shop"]
        link = next(word for word in service.terminal.read_text().split() if "?token=" in word)
    with Service(tmp_path / "store.db", auth=True, port=service.port) as service, browser(service.url) as tab:
        tab.page.goto(link)
        tab.page.wait_for_selector("#content:not([hidden])")
        assert tab.page.url == f"{service.url}/"  # the token does not stay in the address
        tab.page.click("#rows a")
        tab.page.wait_for_selector("#content:not([hidden])")
        assert tab.text("#name") == "shop"
        tab.page.reload()
        tab.page.wait_for_selector("#content:not([hidden])")
        assert tab.wrong == []


OTHER_PAGE = """<!doctype html><script>
const at = "SERVICE/v1/deployments/shop/";
const quietly = { method: "POST", mode: "no-cors", credentials: "include" };
navigator.sendBeacon(at + "retire");
const all = [fetch(at + "pause", quietly), fetch(at + "retire", quietly)];
const seen = fetch(at).then(() => "read", () => "refused");
const form = Object.assign(document.createElement("form"), { method: "POST", action: at + "retire", target: "frame" });
document.documentElement.append(Object.assign(document.createElement("iframe"), { name: "frame" }), form);
form.submit();
Promise.allSettled(all).then(() => seen).then((word) => setTimeout(() => (document.title = word), 500));
</script>"""


def test_a_page_on_another_port_is_not_trusted(tmp_path: Path) -> None:
    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(OTHER_PAGE.replace("SERVICE", service.url).encode())

        def log_message(self, *_: Any) -> None:
            pass

    with Service(tmp_path / "store.db", "--log-requests") as service, browser(service.url) as tab:
        with patient(service.url) as client:
            client.create("shop", "uniform", 2)
            with ThreadingHTTPServer(("127.0.0.1", 0), Page) as other:
                threading.Thread(target=other.serve_forever, daemon=True).start()
                tab.page.goto(f"http://127.0.0.1:{other.server_port}/")
                tab.until(lambda: tab.page.title() == "refused", "the end of the attack")
                other.shutdown()
            assert client.describe("shop").status == "running"
            tab.open("/")  # its own pages are trusted
            assert tab.page.locator("#rows a").all_inner_texts() == ["shop"]
        lines = [json.loads(line) for line in service.log.read_text().splitlines()]
        tried = [line["endpoint"] for line in lines if line.get("status") == 403]
        for verb in ("pause", "retire"):
            assert f"POST /v1/deployments/{{name}}/{verb}" in tried


def test_a_deployment_that_cannot_be_read_does_not_hide_the_others(tmp_path: Path) -> None:
    """Such as one whose name a browser takes for a folder, from before such names were refused."""
    journal, catalogue = open_journal(f"sqlite:///{tmp_path}/store.db"), Catalogue()
    made = spec.with_changes(deployment_spec(name=".."), {})
    journal.append([catalogue.event(Created(1, spec.encode(made)), now_us())])
    journal.close()
    with Service(tmp_path / "store.db") as service, browser(service.url) as tab:
        with patient(service.url) as client:
            client.create("shop", "sliding-thompson:window=100", ["red", "blue", "green"])
            client.decide("shop")
        tab.open("/")
        assert tab.page.locator("#rows a").all_inner_texts() == ["..", "shop"]
        first, second = tab.page.locator("#rows tr").all_inner_texts()
        assert "cannot be read: there is nothing at '/v1/statistics'" in first and "cannot be read" not in second
        assert "Live" in tab.text("#news") and tab.fits()
        tab.page.set_viewport_size({"width": 390, "height": 800})
        assert tab.fits()


def test_pages_are_safe_to_open(tmp_path: Path) -> None:
    """No inline script or style, nothing that makes markup of text, no other host; and only what is there is served."""
    for path in STATIC.iterdir():
        text = path.read_text()
        if path.suffix == ".html":
            assert not re.search(r"<script(?![^>]*\bsrc=)|<style|\sstyle=|\son\w+=|https?://", text), path
        if path.suffix == ".js" and path.name != "uplot.js":
            assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|https?://", text), path
    with Service(tmp_path / "store.db") as service, httpx.Client(base_url=service.url, timeout=HANG_S) as http:
        front = http.get("/")
        assert front.status_code == 200 and front.headers["content-type"].startswith("text/html")
        assert "default-src 'self'" in front.headers["content-security-policy"]
        assert http.get("/", headers={"if-none-match": front.headers["etag"]}).status_code == 304
        assert http.get("/deployments/anything").status_code == 200 and http.post("/").status_code == 405
        for other in ("/static/", "/static/nothing.js", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/app.py"):
            assert http.get(other).status_code == 404, other


def test_the_demonstration_touches_nothing_else(tmp_path: Path) -> None:
    async def look() -> None:
        async with running(f"sqlite:///{tmp_path}/store.db") as engine:
            await create(engine, name="demo")
            await decide(engine, "demo")
            task = asyncio.ensure_future(play(engine, per_second=500.0))

            async def played() -> bool:
                told = engine.catalogue.entries.get("demo-2")
                return told is not None and told.live is not None and told.live.number > 30

            await until_so(played, "decisions of the demonstration")
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
            assert sorted(engine.catalogue.entries) == ["demo", "demo-2", "demo-epsilon", "demo-remembers-all"]
            before, new = (engine.catalogue.entries[name].live for name in ("demo", "demo-2"))
            assert before is not None and before.number == 1
            assert new is not None and new.number > 30

    asyncio.run(look())


def test_without_a_store_the_demonstration_leaves_nothing(tmp_path: Path) -> None:
    here, scratch = tmp_path / "here", tmp_path / "scratch"
    here.mkdir()
    scratch.mkdir()
    line = [sys.executable, "-m", "driftwise.cli", "serve", "--demo", "--port", str(free_port())]
    environment = os.environ | {"PYTHONPATH": SOURCE, "TMPDIR": str(scratch)}
    with subprocess.Popen(line, cwd=here, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        said = "".join(itertools.takewhile(lambda said: '"event": "serving"' not in said, process.stderr))
        assert f"open   http://127.0.0.1:{line[-1]}/" in said
        until(lambda: _answers(f"http://127.0.0.1:{line[-1]}/healthz"), "an answer")
        assert [*scratch.glob("driftwise-demo-*/demo.db")]
        process.terminate()
        assert '"event": "stopped"' in process.stderr.read() and process.wait(HANG_S) == 0
    assert [*here.iterdir()] == [] and [*scratch.glob("driftwise-demo-*")] == []


def test_a_signal_that_comes_as_the_folder_is_made_leaves_none_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mkdir = Path.mkdir

    def interrupted(folder: Path, mode: int = 0o777) -> None:
        mkdir(folder, mode)
        raise SystemExit(0)

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(Path, "mkdir", interrupted)
    with pytest.raises(SystemExit), ExitStack() as stack:
        temporary_folder(stack)
    assert [*tmp_path.iterdir()] == []


def _answers(url: str) -> bool:
    with suppress(httpx.TransportError):
        return get(url).is_success
    return False


def test_a_demonstration_that_is_stopped_before_it_serves_leaves_nothing_either(tmp_path: Path) -> None:
    line = [sys.executable, "-m", "driftwise.cli", "serve", "--demo", "--port", str(free_port())]
    environment = os.environ | {"PYTHONPATH": SOURCE, "TMPDIR": str(tmp_path)}
    with subprocess.Popen(line, cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL) as process:
        while not [*tmp_path.glob("driftwise-demo-*")]:
            assert process.poll() is None
            time.sleep(0.001)
        process.terminate()
        assert process.wait(HANG_S) == 0
    assert [*tmp_path.glob("driftwise-demo-*")] == []


def test_the_best_coin_changes_ever_more_slowly() -> None:
    coins = Coins(0)
    best = [max(range(len(ARMS)), key=coins.at(float(second)).__getitem__) for second in range(3600)]
    changes = [second for second in range(1, 3600) if best[second] != best[second - 1]]
    gaps = [later - earlier for earlier, later in itertools.pairwise(changes)]
    assert changes[0] == FIRST_CHANGE_S and gaps == sorted(gaps)
    for end in (300, 1000, 3600):
        assert 4 <= len([second for second in changes if end / 2 < second <= end]) <= 6


def test_windowed_means_and_their_intervals() -> None:
    """Against the plain formula, over the last eight bins; and few rewards alike do not make a narrow interval."""
    monitor = StatsCollector(0.0, 1.0)
    assert monitor.view(0).bins == []
    rewards = [float(n % 3 == 0) for n in range(20)]
    for second, reward in enumerate(rewards):
        at = 1_000_000 * second
        monitor.add_decision(at, "red", 0.5)
        monitor.add_outcome(at, at, (["red"], [reward]), status="learned", defaulted=False)
    told = monitor.view(20_000_000)
    for last, bin in enumerate(told.bins):
        seen = rewards[max(0, last - 7) : last + 1]
        heads, n = sum(seen) + 2, len(seen) + 4
        half = 1.96 * (heads / n * (1 - heads / n) / n) ** 0.5
        low, high = max(0.0, heads / n - half), min(1.0, heads / n + half)
        assert bin.window_means[0] == pytest.approx((len(seen), sum(seen) / len(seen), low, high))
    assert told.decisions_per_second == 1.0
    alike = StatsCollector(0.0, 1.0)
    alike.add_outcome(0, 0, (["red"], [1.0]), status="learned", defaulted=False)
    assert alike.view(0).bins[0].window_means[0][2] < 0.3  # type: ignore[index]
