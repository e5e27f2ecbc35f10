"""What people do on the dashboard, in a real browser: compare, read charts, look at a decision, administer."""

import asyncio
import json
import math
import random
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from driftwise.families import Knapsack, MultiArmed, Restless
from tests.fixtures.engine import Clock, create, decide, learn, running
from tests.fixtures.patience import get, patient, post
from tests.fixtures.service_process import Service, admin_key
from tests.service.test_dashboard import Tab, browser

pytestmark = pytest.mark.system

LONG = "n" * 64
STEP_S, ROUNDS = 30, 150
PHONE, DESK = {"width": 375, "height": 800}, {"width": 1200, "height": 800}


async def fill(store: Path) -> None:
    """An hour and a quarter of decisions: two that can be compared, budgets, states, and some with nothing yet."""
    luck, clock = random.Random(1), Clock(int(1e6 * (time.time() - ROUNDS * STEP_S)))
    async with running(store, clock) as engine:
        coins = MultiArmed(["red", "blue"])
        await create(engine, name="good", policy="epsilon-greedy:epsilon=0.3", problem=coins)
        await create(engine, name="poor", policy="epsilon-greedy:epsilon=1", problem=coins)
        await create(engine, name="sure", policy="sliding-ucb:window=9", problem=coins, shadows=["uniform", "thompson"])
        await create(
            engine, name="paid", policy="prequential-pacing", problem=Knapsack(2, {"euros": 50.0}, horizon=200)
        )
        people = [f"p{i}" for i in range(9)]
        problem = Restless(people, n_active=2, states=["ill", "well"], state_rewards=[0, 1])
        await create(engine, name="calls", policy="round-robin", problem=problem)
        await create(engine, name="nothing-yet", policy="uniform", problem=coins)
        await create(engine, name=LONG, policy="uniform", problem=MultiArmed(["x" * 60, "y"]))
        for n in range(ROUNDS):
            for name in ("good", "poor", "sure"):
                decision = await decide(engine, name)
                chance = 0.9 if decision["action"] == "red" else 0.1
                await learn(engine, decision["id"], name, reward=float(luck.random() < chance))
            if n % 15 == 0:
                decision = await decide(engine, "paid")
                if decision["action"] is not None:
                    await learn(engine, decision["id"], "paid", reward=1.0, costs={"euros": 0.5})
                decision = await decide(engine, "calls", states=["ill", "well", "well"] * 3)
                await learn(engine, decision["id"], "calls", states=["well"] * 9)
            clock.wait(STEP_S)
        await decide(engine, LONG)


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Service, str, str]]:
    """A service with data, an admin key, and a key that may only read."""
    store = tmp_path_factory.mktemp("dashboard") / "store.db"
    asyncio.run(fill(store))
    admin = admin_key(store)
    with Service(store, auth=True) as service:
        bearer = {"authorization": f"Bearer {admin}"}
        made = post(f"{service.url}/v1/keys", json={"name": "eyes", "scopes": ["read"]}, headers=bearer).json()
        for name in ("good", "poor", "sure", "paid", "calls", "nothing-yet", LONG):
            get(f"{service.url}/v1/deployments/{name}", headers=bearer)  # those not used yet are not in the list
        yield service, admin, made["key"]


def signed_in(tab: Tab, key: str) -> None:
    tab.page.goto(tab.url)
    tab.page.wait_for_selector("#door:not([hidden])")
    tab.sign_in(key)
    tab.wrong.clear()  # the refusal before it


def violations(tab: Tab) -> list[str]:
    from axe_playwright_python.sync_playwright import Axe

    found = Axe().run(tab.page).response["violations"]
    return [f"{each['id']}: {each['nodes'][0]['html'][:200]}" for each in found]


def reward(url: str, name: str, key: str, field: str = "reward") -> dict[str, float]:
    headers = {"authorization": f"Bearer {key}"}
    found: dict[str, float] = get(f"{url}/v1/deployments/{name}/statistics", headers=headers).json()["monitor"][field]
    return found


def numbers(text: str) -> list[float]:
    return [float(each.replace("−", "-")) for each in re.findall(r"[−+]?\d+\.\d+", text)]


def x_range(tab: Tab, chart: str = "rewards") -> tuple[float, float]:
    low, high = tab.page.evaluate(
        "id => { const { min, max } = charts.get(id).plot.scales.x; return [min, max]; }", chart
    )
    return low, high


def test_every_page_is_accessible_and_fits(service: tuple[Service, str, str]) -> None:
    """No violation of axe's rules, no page wider than its window: desk and phone, light and dark."""
    running, admin, _ = service
    paths = ["/", "/compare?names=good,poor,calls", "/compare?names=good,nothing-yet", "/deployments/good/decisions/0"]
    paths += [f"/deployments/{name}" for name in ("good", "sure", "paid", "calls", "nothing-yet", LONG)]
    paths += ["/deployments/calls/decisions/0", "/deployments/sure/decisions/0"]
    with browser(running.url) as tab:
        signed_in(tab, admin)
        for size, scheme in ((DESK, "light"), (PHONE, "dark")):
            tab.page.set_viewport_size(size)
            tab.page.emulate_media(color_scheme=scheme)
            for path in paths:
                tab.open(path)
                if "decisions" in path:
                    tab.until(lambda: "replay" in tab.text("#about"), "the explanation")
                    assert "-1" not in tab.text("#about") and "−1" not in tab.text("#about")
                links = tab.page.locator("footer a").all()
                assert all(get(link.evaluate("link => link.href")).status_code == 200 for link in links)
                for summary in tab.page.locator("summary").all():
                    if summary.is_visible():
                        summary.click()
                assert violations(tab) == [], path
                assert tab.fits(), f"{path} is wider than {size['width']}"
        tab.open("/")
        cells = tab.page.locator("#rows tr", has_text="good").locator("td.estimate").all()  # nothing is cut off
        assert all(cell.bounding_box()["x"] + cell.bounding_box()["width"] <= PHONE["width"] for cell in cells)
        assert tab.wrong == []


def test_which_earns_more(service: tuple[Service, str, str]) -> None:
    running, _, key = service
    with browser(running.url) as tab:
        signed_in(tab, key)
        row = tab.page.locator("#rows tr", has_text="good")
        mean, low, high = numbers(row.locator(".estimate").nth(0).inner_text())
        api = reward(running.url, "good", key)
        assert [mean, low, high] == pytest.approx([api["mean"], api["low"], api["high"]], abs=0.006)
        lift = reward(running.url, "good", key, "lift")
        assert numbers(row.locator(".estimate").nth(1).inner_text()) == pytest.approx(
            [lift["mean"], lift["low"], lift["high"]], abs=0.006
        )
        sure = tab.page.locator("#rows tr", has_text="sure")
        assert sure.locator(".estimate").nth(1).inner_text() == "–"  # its choices are certain
        assert tab.page.is_disabled("#compare")
        tab.page.check("input[data-name=good]")
        tab.page.check("input[data-name=poor]")
        tab.page.click("#compare")
        tab.page.wait_for_selector("#answer p")
        good, poor = api, reward(running.url, "poor", key)
        difference = good["mean"] - poor["mean"]
        ends = [
            difference - math.hypot(good["mean"] - good["low"], poor["high"] - poor["mean"]),
            difference + math.hypot(good["high"] - good["mean"], poor["mean"] - poor["low"]),
        ]
        words = tab.text("#answer")
        assert re.fullmatch(r"good earns [\d.]+ more per decision than poor \(95%: [\d.]+ to [\d.]+\)\.", words)
        assert [n for n in numbers(words) if n != 95] == pytest.approx([difference, *ends], abs=0.006)
        assert tab.page.locator("#rewards canvas").count() == 1 and tab.text("#legend").split() == ["good", "poor"]
        tab.open("/compare?names=good,calls")
        assert "cannot be compared" in tab.text("#answer")
        tab.open("/compare?names=good,nothing-yet")
        assert "nothing to compare yet" in tab.text("#answer")
        tab.page.goto(f"{running.url}/compare?names=good")
        tab.until(lambda: "Choose two" in tab.text("#news"), "what to do")
        assert tab.wrong == []


def test_charts_are_read_zoomed_and_cut_to_a_time(service: tuple[Service, str, str]) -> None:
    running, _, key = service
    with browser(running.url) as tab:
        signed_in(tab, key)
        tab.open("/deployments/good")
        page = tab.page
        page.locator("#rewards").scroll_into_view_if_needed()
        box = page.locator("#rewards").bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        page.mouse.move(*middle)
        page.wait_for_selector("#rewards .tip:not([hidden])")
        assert re.search(r"\d\d:\d\d.*\n?.*(red|blue) \d\.\d+ \(\d\.\d+ to \d\.\d+\)", tab.text("#rewards .tip"))
        whole = x_range(tab)
        page.mouse.down()
        page.mouse.move(middle[0] + 200, middle[1], steps=3)
        page.mouse.up()
        part = x_range(tab)
        assert whole[0] < part[0] < part[1] < whole[1] and part == x_range(tab, "allocation")
        assert page.is_visible("#unzoom")
        page.mouse.dblclick(*middle)
        assert x_range(tab)[1] - x_range(tab)[0] >= whole[1] - whole[0] and not page.is_visible("#unzoom")

        page.focus("#rewards")  # the same by keyboard, in words
        page.keyboard.press("ArrowLeft")
        latest = tab.text("#reading")
        page.keyboard.press("ArrowLeft")
        assert "red" in latest and tab.text("#reading") != latest
        page.keyboard.press("+")
        assert x_range(tab)[1] - x_range(tab)[0] < 0.6 * (whole[1] - whole[0])
        page.keyboard.press("Escape")
        assert not page.is_visible("#unzoom")

        page.click("#rewards + .numbers summary")  # and as a table
        tab.until(lambda: page.locator("#rewards + .numbers tbody tr").count() > 20, "the rows")  # filled once it opens
        assert page.locator("#rewards + .numbers th").all_inner_texts() == ["time", "red", "blue"]

        page.click("#ranges >> text=Last hour")
        tab.until(lambda: 3500 < x_range(tab)[1] - x_range(tab)[0] < 3700, "the last hour")
        assert page.url.endswith("?last=3600")
        page.reload()
        page.wait_for_selector("#content:not([hidden])")
        assert page.get_attribute("#ranges >> text=Last hour", "aria-pressed") == "true"
        tab.until(lambda: 3500 < x_range(tab)[1] - x_range(tab)[0] < 3700, "the last hour after a reload")
        assert tab.wrong == []


MANY = """() => {
  const at = (i) => life.from + ((life.to - life.from) * (i + 0.5)) / 50;
  life.marks = Array.from({ length: 50 }, (_, i) => ({ at: at(i), colour: "#0072b2" }));
  return groupMarks(charts.get("rewards").plot).map(({ n }) => n);
}"""


def test_many_changes_are_drawn_as_few_marks(service: tuple[Service, str, str]) -> None:
    running, _, key = service
    with browser(running.url, 390) as tab:
        signed_in(tab, key)
        tab.open("/deployments/good")
        groups = tab.page.evaluate(MANY)
        assert sum(groups) == 50 and len(groups) <= 390 / 18


def test_estimates_have_the_digits_that_their_intervals_deserve(service: tuple[Service, str, str]) -> None:
    """A lift of equal propensities is 0 but for rounding; what rounding leaves is shown as 0."""
    running, _, key = service
    texts = {
        (1e-17, -1e-10, 1e-10): "0 (0 to 0)",
        (0.0, 0.0, 0.0): "0 (0 to 0)",
        (1234.5, 1234.5, 1234.5): "+1,234.5 (1,234.5 to 1,234.5)",
        (-0.25, -0.25, -0.25): "−0.25 (−0.25 to −0.25)",
        (0.001, -0.1, 0.1): "+0.00 (−0.10 to 0.10)",
        (0.0123, 0.0, 0.03): "+0.012 (0.000 to 0.030)",
        (2e-6, 1e-6, 3e-6): "+0.0000020 (0.0000010 to 0.0000030)",
    }
    with browser(running.url) as tab:
        signed_in(tab, key)
        tab.open("/deployments/good")
        for (mean, low, high), text in texts.items():
            estimate = {"mean": mean, "low": low, "high": high}
            assert tab.page.evaluate("(each) => estimate(each, true).textContent", estimate) == text


def test_a_decision_is_explained(service: tuple[Service, str, str]) -> None:
    running, _, key = service
    with browser(running.url) as tab:
        signed_in(tab, key)
        tab.open("/deployments/good")
        tab.page.wait_for_selector("#decisions a")
        assert tab.page.locator("#decisions tr").count() == 10
        tab.page.click("#decisions a >> nth=0")
        tab.page.wait_for_selector("#arms-part:not([hidden])")
        id = tab.page.url.rsplit("/", 1)[1]
        headers = {"authorization": f"Bearer {key}"}
        api = get(f"{running.url}/v1/deployments/good/decisions/{id}/explain", headers=headers).json()
        assert tab.text("#name") == f"Decision {id}" and "A replay chooses the same." in tab.text("#about")
        assert tab.text("#facts div:nth-child(1) dd") == api["decision"]["action"]
        assert tab.page.locator("#arms tr.chosen").inner_text().split()[0] == api["decision"]["action"]
        tab.page.fill("#id", "1")  # an outcome, and no decision
        tab.page.press("#id", "Enter")
        tab.until(lambda: "there is no decision 1" in tab.text("#news"), "the sentence of the service")
        tab.page.fill("#id", "0")
        tab.page.press("#id", "Enter")
        tab.page.wait_for_selector("#arms-part:not([hidden])")
        assert tab.page.url.endswith("/deployments/good/decisions/0")


def test_an_admin_key_can_act_and_another_cannot(service: tuple[Service, str, str]) -> None:
    running, admin, key = service
    with patient(running.url, key=admin) as client, browser(running.url) as tab:
        client.create("shop", "epsilon-greedy", ["red", "blue"])
        client.learn("shop", client.decide("shop").id, 1.0)
        signed_in(tab, key)
        tab.open("/deployments/shop")
        tab.page.wait_for_selector("#decisions a")
        assert not tab.page.is_visible("#actions")
        tab.page.evaluate("sessionStorage.clear()")
        signed_in(tab, admin)
        tab.open("/deployments/shop")
        tab.page.wait_for_selector("#actions:not([hidden])")

        def act(button: str, answer: str, news: str) -> None:
            tab.page.click(button)
            tab.page.click(f"#{answer}")
            if news:
                tab.until(lambda: news in tab.text("#done") + tab.text("#refusal"), news)

        act("#pause", "no", "")
        assert client.describe("shop").status == "running"
        act("#pause", "yes", "Done.")
        assert client.describe("shop").status == "paused"
        tab.page.wait_for_selector("#resume:not([hidden])")
        act("#resume", "yes", "Done.")
        tab.page.fill("#new-arm", "green")
        act("#add-arm button", "yes", "Done.")
        assert client.describe("shop").arms == ["red", "blue", "green"]
        tab.page.fill("#new-arm", "green")
        act("#add-arm button", "yes", "green")  # the sentence of the service
        assert client.describe("shop").arms == ["red", "blue", "green"] and tab.text("#refusal")
        tab.until(lambda: "green" in tab.text("#old-arm"), "the new arm in the list")
        tab.page.select_option("#old-arm", label="red")
        act("#retire-arm button", "yes", "Done.")
        assert client.describe("shop").arms == ["blue", "green"]
        tab.page.fill("#new-policy", "nonsense")
        act("#change-policy button", "yes", "there is no policy called 'nonsense'")
        tab.page.fill("#new-policy", "thompson")
        act("#change-policy button", "yes", "Done.")
        assert client.describe("shop").policy == "thompson"
        refused = [text for text in tab.wrong if "status of 4" not in text]
        assert refused == []


def test_a_policy_may_begin_with_the_events_that_are_kept(service: tuple[Service, str, str]) -> None:
    """Where events were dropped the page shows the refusal, and asks; whoever agrees sends the request again."""
    running, admin, _ = service
    sent: list[Any] = []

    def change(route: Any) -> None:
        if route.request.method != "PATCH":
            route.continue_()
            return
        sent.append(json.loads(route.request.post_data))
        if sent[-1].get("allow_partial_replay"):
            route.fulfill(json={})
        else:
            route.fulfill(status=409, json={"detail": "events up to 7 are gone", "code": "events-dropped"})

    with browser(running.url) as tab:
        signed_in(tab, admin)
        tab.page.route("**/v1/deployments/good", change)
        tab.open("/deployments/good")
        for answer, requests in (("#no", 1), ("#yes", 3)):
            tab.page.fill("#new-policy", "thompson")
            tab.page.click("#change-policy button")
            tab.page.click("#yes")
            tab.until(lambda: "events up to 7 are gone. Begin with" in tab.text("#question"), "the second question")
            assert "events up to 7 are gone" in tab.text("#refusal")
            tab.page.click(answer)
            tab.until(lambda n=requests: len(sent) == n, "the calls")  # type: ignore[misc]
        assert sent[-1] == {"policy": "thompson", "allow_partial_replay": True}
        tab.until(lambda: tab.text("#done") == "Done.", "the end")


def test_shadow_policies_and_replays_are_shown(service: tuple[Service, str, str]) -> None:
    """By the fields that a deployment's JSON has for them; a page without them is the other tests' page."""
    running, admin, _ = service
    sent: list[Any] = []

    def more(route: Any) -> None:
        body = route.fetch().json()
        known = {"estimate": {"mean": 0.7, "ci95": [0.6, 0.8]}, "difference": {"mean": -0.1, "ci95": [-0.3, 0.1]}}
        body["shadows"] = [{"policy": "thompson", "n": 120, **known}]
        body["shadows"].append({"policy": "ucb1", "n": 0, "estimate": None, "why": "it has no propensities"})
        body["replay"] = {"why": "verify", "done": 30, "total": 120, "seconds_left": 9.0}
        route.fulfill(json=body)

    def promote(route: Any) -> None:
        sent.append(json.loads(route.request.post_data))
        route.fulfill(json={})

    with browser(running.url) as tab:
        signed_in(tab, admin)
        tab.page.route("**/v1/deployments/good", more)
        tab.page.route("**/v1/deployments/good/promote", promote)
        tab.open("/deployments/good")
        tab.page.wait_for_selector("#shadows button")
        assert "thompson" in tab.text("#shadows") and numbers(tab.text("#shadows"))[:6] == [
            0.7,
            0.6,
            0.8,
            -0.1,
            -0.3,
            0.1,
        ]
        assert "it has no propensities" in tab.text("#shadows")
        assert "30 of 120 events, about 9 s left" in tab.text("#replay") and violations(tab) == []
        tab.page.click("#shadows button >> nth=0")
        tab.page.click("#yes")
        tab.until(lambda: sent == [{"policy": "thompson"}], "the call")
