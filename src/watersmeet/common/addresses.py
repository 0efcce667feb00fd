"""The address guard: requests may go to public machines, or to those that the user has allowed.

A page, a redirect or a name server can name any machine, also one that only this machine can reach (SSRF). So a name is
resolved once, all its addresses are checked, and the connection is made to a checked address: nothing can change in
between (DNS rebinding).
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

from watersmeet.common.redaction import shown
from watersmeet.core.errors import AddressRefused, ConfigError, NoReply

_UNICAST = ipaddress.IPv6Network("2000::/3")  # global unicast
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")
_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[A-Za-z0-9_.-]+")
_UNQUOTED = "!$%&'()*+,/:;=?@[]~"


def check_address(name: str, url: str) -> None:
    """Raise if a setting is no web address."""
    if not url.startswith(("http://", "https://")):
        raise ConfigError(
            f"{name} {shown(url)!r} is not a web address", "give one that begins with http:// or https://"
        )


@dataclass(frozen=True, slots=True)
class Address:
    """Socket address."""

    family: int
    place: tuple[Any, ...]

    @property
    def ip(self) -> str:
        return str(self.place[0])


@dataclass(frozen=True, slots=True)
class Target:
    """Parsed URL."""

    scheme: str
    host: str  # ASCII, lower case
    port: int
    path: str  # with its query, percent-encoded
    user: str | None = None  # name:password, as written

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
    """Allows public machines and those in `allowed`: `host` or `host:port`, from the user's own settings only."""

    allowed: tuple[str, ...] = ()

    def check(self, target: Target, addresses: list[Address]) -> None:
        """`AddressRefused` if any address is not public: a name with both kinds is not trusted."""
        if not {target.host, f"{target.host}:{target.port}"}.isdisjoint(name.lower() for name in self.allowed):
            return
        private = next((address.ip for address in addresses if not is_public(address.ip)), None)
        if private is not None:
            shown = target.host if private == target.host else f"{target.host} ({private})"
            raise AddressRefused(
                f"{shown} is not a public address", f"if you trust it, allow {target.host} in your own settings"
            )


def is_public(ip: str) -> bool:
    """Whether an address is globally routable. An embedded IPv4 address is checked too."""
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
    """Parse a URL; `NoReply` if it is not a valid http or https URL."""
    try:
        parts = urlsplit(url)
        usual = _PORTS[parts.scheme]
        port = usual if parts.port is None else parts.port
        host = _ascii(parts.hostname or "", "[" in parts.netloc.rpartition("@")[2])
    except (ValueError, KeyError):  # also a host that cannot be written in ASCII
        host = ""
    if not host or not port:
        raise NoReply("not a web address", "give one that begins with http:// or https:// and has a host") from None
    user, at, _ = parts.netloc.rpartition("@")
    query = f"?{quote(parts.query, safe=_UNQUOTED)}" if parts.query else ""
    path = quote(parts.path or "/", safe=_UNQUOTED) + query
    return Target(parts.scheme, host, port, path, user if at else None)


def _ascii(host: str, in_brackets: bool) -> str:
    """Host name for look-up; empty if it is not valid."""
    if in_brackets:
        return str(ipaddress.IPv6Address(host))
    name = host if host.isascii() else host.encode("idna").decode()
    return name.lower().rstrip(".") if _HOST.fullmatch(name) else ""


def resolve(host: str, port: int, seconds: float) -> list[Address]:
    """Resolve a host once; `TimeoutError` after so many seconds, `OSError` if it has no address."""
    with contextlib.suppress(socket.gaierror):
        return _looked_up(host, port, socket.AI_NUMERICHOST)
    found: SimpleQueue[list[Address] | OSError] = SimpleQueue()

    def look() -> None:
        try:
            found.put(_looked_up(host, port))
        except OSError as error:
            found.put(error)

    Thread(target=look, daemon=True).start()  # the system's resolver has no timeout, so the thread is abandoned
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
    except UnicodeError:  # a label is empty or too long
        raise socket.gaierror(socket.EAI_NONAME, "no such name") from None
    return list(dict.fromkeys(Address(family, place) for family, _, _, _, place in found))
