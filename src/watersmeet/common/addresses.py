"""The address guard: a document's address may lead to a public machine, or to one that the user has named.

A page, a redirect or a name server can name any machine, also one that only this machine can reach (SSRF). So a name is
resolved once, every address that it has is judged, and the connection is made to a judged address: nothing is left
to be changed in between (DNS rebinding).
"""

from __future__ import annotations

import contextlib
import ipaddress
import re
import socket
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any
from urllib.parse import quote, urlsplit

from watersmeet.core.errors import AddressRefused, NoReply

_UNICAST = ipaddress.IPv6Network("2000::/3")  # all that is given out to machines of the public internet
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[A-Za-z0-9_.-]+")
_AS_IT_IS = "!$%&'()*+,/:;=?@[]~"


@dataclass(frozen=True, slots=True)
class Address:
    """Where a socket connects to."""

    family: int
    place: tuple[Any, ...]

    @property
    def ip(self) -> str:
        return str(self.place[0])


@dataclass(frozen=True, slots=True)
class Target:
    """A web address, taken apart."""

    scheme: str
    host: str  # in ASCII and small letters
    port: int
    path: str  # with its query, as it is sent
    user: str | None = None  # name:password, as it was written

    @property
    def origin(self) -> tuple[str, str, int]:
        return self.scheme, self.host, self.port

    @property
    def host_header(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return host if self.port == _PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def url(self) -> str:
        user = "" if self.user is None else f"{self.user}@"
        return f"{self.scheme}://{user}{self.host_header}{self.path}"


@dataclass(frozen=True, slots=True)
class Guard:
    """Public machines, and those of `allowed`: `host` or `host:port`, from the user's own settings and nowhere else."""

    allowed: tuple[str, ...] = ()

    def check(self, target: Target, addresses: list[Address]) -> None:
        """`AddressRefused` if one of them is not public: a name that leads to both kinds is not trusted."""
        if not {target.host, f"{target.host}:{target.port}"}.isdisjoint(name.lower() for name in self.allowed):
            return
        private = next((address.ip for address in addresses if not is_public(address.ip)), None)
        if private is not None:
            shown = target.host if private == target.host else f"{target.host} ({private})"
            raise AddressRefused(
                f"{shown} is not a public address", f"if you trust it, allow {target.host} in your own settings"
            )


def is_public(ip: str) -> bool:
    """Whether anybody on the internet reaches the same machine there. An address in another one is judged, too."""
    address = ipaddress.ip_address(ip)
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is None:
            relayed = address.sixtofour
            return address in _UNICAST and address.is_global and (relayed is None or is_public(str(relayed)))
        address = inner
    return address.is_global and not address.is_multicast


def parse(url: str) -> Target:
    """A web address, taken apart; `NoReply` if it is none."""
    try:
        parts = urlsplit(url)
        usual = _PORTS[parts.scheme]
        port = usual if parts.port is None else parts.port
        host = _ascii(parts.hostname or "", "[" in parts.netloc.rpartition("@")[2])
    except (ValueError, KeyError):  # also what cannot be written in ASCII
        host = ""
    if not host or not port:
        raise NoReply("this is no web address", "it begins with http:// or https://, and names a host") from None
    user, at, _ = parts.netloc.rpartition("@")
    query = f"?{quote(parts.query, safe=_AS_IT_IS)}" if parts.query else ""
    path = quote(parts.path or "/", safe=_AS_IT_IS) + query
    return Target(parts.scheme, host, port, path, user if at else None)


def _ascii(host: str, in_brackets: bool) -> str:
    """A host as it is looked up; empty if it is none."""
    if in_brackets:
        return str(ipaddress.IPv6Address(host))
    name = host if host.isascii() else host.encode("idna").decode()
    return name.lower().rstrip(".") if _HOST.fullmatch(name) else ""


def resolve(host: str, port: int, seconds: float) -> list[Address]:
    """The addresses of a host, asked for once; `TimeoutError` after so many seconds, `OSError` if it has none."""
    with contextlib.suppress(socket.gaierror):
        return _looked_up(host, port, socket.AI_NUMERICHOST)
    found: SimpleQueue[list[Address] | OSError] = SimpleQueue()

    def look() -> None:
        try:
            found.put(_looked_up(host, port))
        except OSError as error:
            found.put(error)

    Thread(target=look, daemon=True).start()  # the system's resolver knows no deadline, so it may be left behind
    try:
        answer = found.get(timeout=seconds)
    except Empty:
        raise TimeoutError("the name was not resolved") from None
    if isinstance(answer, OSError):
        raise answer
    return answer


def _looked_up(host: str, port: int, flags: int = 0) -> list[Address]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=flags)
    except UnicodeError:  # a part of the name is empty or too long
        raise socket.gaierror(socket.EAI_NONAME, "no such name") from None
    return list(dict.fromkeys(Address(family, place) for family, _, _, _, place in found))
