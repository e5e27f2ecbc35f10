"""Behind a real nginx: what a service without API keys refuses, and that one with keys works, dashboard included."""

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import httpx
import pytest

from tests.fixtures.patience import HANG_S, patient, until
from tests.fixtures.service_process import Service, admin_key, free_port
from tests.service.test_dashboard import browser

pytestmark = pytest.mark.system

NGINX = Path("/usr/sbin/nginx")
SAMPLE = Path(__file__).parents[2] / "deploy" / "nginx.conf"
CONFIG = """
daemon off;
master_process off;
pid {folder}/pid;
events {{}}
http {{
    access_log off;
    proxy_read_timeout {patience:.0f}s;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {sites}
}}
"""
PLAIN = "server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass {url}; {more} }} }}"


@contextmanager
def nginx(folder: Path, sites: str, port: int) -> Iterator[str]:
    """Debian's nginx as a proxy, for as long as this lasts."""
    if not NGINX.exists():
        pytest.skip(f"there is no proxy at {NGINX}: apt-get install nginx-light")
    folder.mkdir()
    config = folder / "nginx.conf"
    config.write_text(CONFIG.format(folder=folder, sites=sites, patience=HANG_S))
    line = [str(NGINX), "-p", str(folder), "-c", str(config), "-e", str(folder / "log")]
    with subprocess.Popen(line, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            url = f"http://127.0.0.1:{port}"
            until(lambda: _answers(url, process, folder / "log"), "an answer of nginx")
            yield url
        finally:
            process.terminate()


def _answers(url: str, process: subprocess.Popen[bytes], log: Path) -> bool:
    assert process.poll() is None, log.read_text()
    with suppress(httpx.TransportError):
        httpx.get(url, timeout=HANG_S)
        return True
    return False


@contextmanager
def proxy(folder: Path, service: Service, more: str = "") -> Iterator[str]:
    """Nginx with its default settings, and perhaps some more."""
    port = free_port()
    with nginx(folder, PLAIN.format(port=port, url=service.url, more=more), port) as url:
        yield url


FORWARDING = {
    "x-forwarded-for": "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
    "x-real-ip": "proxy_set_header X-Real-IP $remote_addr;",
    "forwarded": "proxy_set_header Forwarded for=$remote_addr;",
    "via": 'proxy_set_header Via "1.1 nginx";',
}


def test_without_keys_a_service_behind_a_proxy_is_nobodys(tmp_path: Path) -> None:
    wanted = {"name": "mine", "scopes": ["admin"]}
    with Service(tmp_path / "store.db", auth=True) as service:
        with proxy(tmp_path / "default", service) as url:
            for answer in (
                httpx.get(f"{url}/v1/deployments", timeout=HANG_S),
                httpx.post(f"{url}/v1/keys", json=wanted, timeout=HANG_S),
            ):
                assert answer.status_code == 401 and "the token of the service is needed" in answer.json()["detail"]
        shown = {"authorization": f"Bearer {service.token}"}
        for header, line in FORWARDING.items():
            with proxy(tmp_path / header, service, line) as url:
                for answer in (
                    httpx.get(f"{url}/v1/deployments", headers=shown, timeout=HANG_S),
                    httpx.post(f"{url}/v1/keys", json=wanted, headers=shown, timeout=HANG_S),
                ):
                    assert answer.status_code == 403
                    assert f"requests through a proxy are refused (header '{header}')" in answer.json()["detail"]
        with proxy(tmp_path / "host", service, "proxy_set_header Host $host;") as url:
            answer = httpx.get(f"{url}/v1/deployments", headers=shown | {"host": "decide.example"}, timeout=HANG_S)
            assert answer.status_code == 403 and "(Host was 'decide.example')" in answer.json()["detail"]
        assert httpx.get(f"{service.url}/v1/keys", headers=shown, timeout=HANG_S).json() == {"keys": []}
    with Service(tmp_path / "open.db") as service:
        for header, line in FORWARDING.items():
            with proxy(tmp_path / f"open-{header}", service, line) as url:
                assert httpx.get(f"{url}/v1/deployments", timeout=HANG_S).status_code == 403


def documented(service: Service, port: int) -> str:
    """The sample in deploy/, without TLS."""
    text = re.sub(r"\n *ssl_\w+ [^\n]+", "", SAMPLE.read_text(encoding="utf-8"))
    assert "listen 443 ssl;" in text and "127.0.0.1:8000" in text
    return text.replace("443 ssl", f"127.0.0.1:{port}").replace("127.0.0.1:8000", f"127.0.0.1:{service.port}")


@pytest.mark.parametrize("kind", ["default", "documented"])
def test_with_keys_a_service_behind_a_proxy_works_and_so_does_its_dashboard(tmp_path: Path, kind: str) -> None:
    key, port = admin_key(tmp_path / "store.db"), free_port()
    with Service(tmp_path / "store.db", auth=True) as service:
        plain = PLAIN.format(port=port, url=service.url, more="")
        with nginx(tmp_path / kind, plain if kind == "default" else documented(service, port), port) as url:
            assert httpx.get(f"{url}/v1/deployments", timeout=HANG_S).status_code == 401
            with patient(url, key=key) as client:
                client.create("shop", "uniform", 2)
                for _ in range(20):
                    client.learn("shop", client.decide("shop").id, 1.0)
                assert client.verify("shop").identical
                assert len(b"".join(client.export("shop")).splitlines()) == 20
            with browser(url) as tab:
                tab.page.goto(url)
                tab.page.wait_for_selector("#door:not([hidden])")
                tab.sign_in(key)
                tab.page.click("#rows a")
                tab.page.wait_for_selector("#arms tr")
                assert tab.text("#name") == "shop"


FOLDER = "server {{ listen 127.0.0.1:{port}; location /driftwise/ {{ proxy_pass {url}/; }} }}"


def test_the_dashboard_works_in_a_folder_of_a_host(tmp_path: Path) -> None:
    key, port = admin_key(tmp_path / "store.db"), free_port()
    with Service(tmp_path / "store.db", auth=True) as service:
        with patient(service.url, key=key) as client:
            for name in ("shop", "other"):
                client.create(name, "uniform", 2)
                for _ in range(20):
                    client.learn(name, client.decide(name).id, 1.0)
        folder = FOLDER.format(port=port, url=service.url)
        with nginx(tmp_path / "folder", folder, port) as url, browser(f"{url}/driftwise") as tab:
            tab.page.goto(f"{url}/driftwise")  # nginx adds the slash
            tab.page.wait_for_selector("#door:not([hidden])")
            tab.sign_in(key)
            tab.page.click("#rows a >> text=shop")
            tab.page.wait_for_selector("#rewards canvas")
            tab.page.click("#decisions a >> nth=0")
            tab.page.wait_for_selector("#arms-part:not([hidden])")
            tab.page.click("header a >> text=shop")
            tab.page.wait_for_selector("#actions:not([hidden])")
            tab.page.click("#pause")
            tab.page.click("#yes")
            tab.until(lambda: tab.text("#status") == "paused", "the pause")
            tab.page.click("header a")
            tab.page.wait_for_selector("#content:not([hidden])")
            tab.page.check("input[data-name=shop]")
            tab.page.check("input[data-name=other]")
            tab.page.click("#compare")
            tab.page.wait_for_selector("#rewards canvas")
            assert all(each.startswith(f"{url}/driftwise") for each in tab.asked), tab.asked
            assert [text for text in tab.wrong if "401" not in text] == []
