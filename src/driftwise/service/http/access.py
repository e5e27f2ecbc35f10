"""Access control: an API key; before the first API key exists, the token, from this machine only.

Without API keys a request must come straight from this machine, whether it shows the token or `auth` is off: its `Host`
is a loopback address, no proxy has forwarded it, and a browser sends it only from pages of the service itself. With API
keys none of that is checked: a browser never adds an `authorization` header on its own, so a page of another origin
cannot use a key that it does not have.
"""

import hmac
import ipaddress
import re
from typing import NamedTuple

from driftwise.service.deployments.catalogue import Catalogue
from driftwise.service.deployments.clock import Clock
from driftwise.service.http.api_keys import allows, find_api_key
from driftwise.service.http.errors import Forbidden, Unauthorized
from driftwise.service.store.events import ApiKeyCreated

Headers = dict[bytes, bytes]
TOKEN_KEY = ApiKeyCreated("token", "token", b"", ["admin"])  # the scopes of the token, as a key
FORWARDED = re.compile(rb"forwarded|x-forwarded-.*|x-real-ip|via")
HOST = re.compile(r"(?:([A-Za-z0-9.]+)|\[([0-9A-Fa-f:.]+)\])(?::[0-9]{1,5})?")
OWN_PAGES = (b"same-origin", b"none")  # values of Sec-Fetch-Site for our pages, and for typed addresses
CREATE_KEY = "stop the service, run `driftwise keys create --scopes admin` and start it again"
SEND_TOKEN = "`driftwise keys token` prints it; send `authorization: Bearer TOKEN`"
MAX_QUOTE = 100


class Access(NamedTuple):
    """What a request needs before any API key exists: the `token`; nothing, if `auth` is False."""

    token: str | None = None
    auth: bool = True

    def caller(
        self,
        headers: Headers,
        catalogue: Catalogue,
        clock: Clock,
        scope: str,
        name: str | None,
        *,
        filtered: bool = False,
    ) -> ApiKeyCreated | None:
        """The key of a request for `scope` on the deployment `name`, or an error; None where auth is off.

        A key for some deployments may use an endpoint without a name only where the response is `filtered` for it.
        """
        if catalogue.key_created_at:
            text = _bearer(headers, "an API key is needed: `authorization: Bearer dw_...`")
            key = find_api_key(text, catalogue, clock())
            if not allows(key, scope, name, filtered=filtered):
                where = "for all deployments" if name is None else f"for deployment {_quote(name)}"
                raise Forbidden(f"this API key lacks the scope {scope!r} {where}")
            return key
        check_local(headers)
        if not self.auth:
            return None
        text = _bearer(headers, f"no API keys exist, so the token of the service is needed: {SEND_TOKEN}")
        if self.token is None or not hmac.compare_digest(text.encode(), self.token.encode()):
            raise Unauthorized("this is not the token of the service: `driftwise keys token` prints it")
        return TOKEN_KEY


def check_local(headers: Headers) -> None:
    """Refuse requests that do not come straight from this machine, or come from a page of another origin."""
    for name in headers:
        if FORWARDED.fullmatch(name):
            raise Forbidden(
                f"no API keys exist, so requests through a proxy are refused (header {_quote(name)}): {CREATE_KEY}"
            )
    host = headers.get(b"host", b"")
    if not is_local(host.decode("latin-1")):
        raise Forbidden(f"no API keys exist, so only requests to localhost are accepted (Host was {_quote(host)})")
    site, origin = headers.get(b"sec-fetch-site"), headers.get(b"origin")
    if site is not None and site not in OWN_PAGES:
        raise Forbidden(f"no API keys exist, so pages of other origins are refused (Sec-Fetch-Site was {_quote(site)})")
    if origin is not None and origin.lower() != b"http://" + host.lower():
        raise Forbidden(f"no API keys exist, so pages of other origins are refused (Origin was {_quote(origin)})")


def is_local(host: str) -> bool:
    """Whether a `Host` header names this machine.

    >>> is_local("127.0.0.2:8000"), is_local("[::1]:8000"), is_local("x@127.0.0.1"), is_local("localhost.evil")
    (True, True, False, False)
    """
    match = HOST.fullmatch(host)
    return match is not None and is_loopback(match[1] or match[2])


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _bearer(headers: Headers, need: str) -> str:
    kind, _, text = headers.get(b"authorization", b"").decode("latin-1").partition(" ")
    if kind.lower() != "bearer" or not text.strip():
        raise Unauthorized(need)
    return text.strip()


def _quote(text: str | bytes) -> str:
    """Text of a request, shortened for an error."""
    plain = text.decode("latin-1") if isinstance(text, bytes) else text
    return repr(plain if len(plain) <= MAX_QUOTE else f"{plain[:MAX_QUOTE]}...")
