"""Where other members reach this process."""

import ipaddress
import re
import socket
from contextlib import suppress

from driftwise.errors import ParameterError

ADDRESS = re.compile(r"(\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+):([0-9]{1,5})")
ANY = ("0.0.0.0", "::", "")


def parse_address(text: str) -> tuple[str, int]:
    """The host and the port of `--advertise`.

    >>> parse_address("10.0.0.7:8000"), parse_address("[::1]:80")
    (('10.0.0.7', 8000), ('[::1]', 80))
    """
    match = ADDRESS.fullmatch(text)
    if match is None or not 1 <= int(match[2]) <= 65535:
        raise ParameterError(f"--advertise {text} is not HOST:PORT, as in 10.0.0.7:8000")
    return match[1], int(match[2])


def advertised_address(advertise: str | None, host: str, port: int, offset: int = 0) -> str:
    """The address in the roster: `advertise`, where there is one; else that on which the process listens.

    >>> advertised_address(None, "127.0.0.1", 8000), advertised_address("a.example:7000", "0.0.0.0", 8000, offset=2)
    ('127.0.0.1:8000', 'a.example:7002')
    """
    if advertise is not None:
        host, port = parse_address(advertise)
        return f"{host}:{port + offset}"
    if host in ANY:
        host = _own_address()
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _own_address() -> str:
    """An address of this machine that others can reach, as far as its name tells; else loopback."""
    with suppress(OSError):
        addresses = [info[4][0] for info in socket.getaddrinfo(socket.gethostname(), None, type=socket.SOCK_STREAM)]
        return str(next((each for each in addresses if not ipaddress.ip_address(each).is_loopback), "127.0.0.1"))
    return "127.0.0.1"
