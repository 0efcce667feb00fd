"""The HTTP client: everything of ours that asks another machine asks through it.

It waits no longer than it may, tries again where that may help, reads no more than it may, follows redirects itself,
judges every address on the way (addresses.py), and no error of it holds a secret (redaction.py). It heeds no proxy, no
password file and no cookie of this machine. Each request has a connection of its own.
"""

from __future__ import annotations

import base64
import email.utils
import http.client
import io
import math
import random
import socket
import ssl
import string
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from email.message import Message
from functools import cache
from typing import Any
from urllib.parse import quote, unquote, urljoin

from watersmeet.common.addresses import Address, Guard, Target, parse, resolve
from watersmeet.common.redaction import redact, secrets_of, shown
from watersmeet.core.errors import NoReply

_AGAIN = {408, 409, 425, 429, *range(500, 600)} - {501, 505}
_REDIRECTS = {301, 302, 303, 307, 308}
_LONGEST_PAUSE = 60.0
_EXCERPT = 300
_LATER = "is it up? try again later"
_CHECK = "check the address and the network"
_BLOCK = 1 << 16
_ERROR_PAGE = 1 << 16
"""So many bytes of an error are read: enough to say why."""
_BESIDES = 1 << 20
"""Bytes that an answer may take besides its body: headers, sizes of chunks."""
_GZIP = 16 + zlib.MAX_WBITS


@dataclass(frozen=True, slots=True)
class Version:
    """Which version of a page is known, in the server's own words."""

    etag: str = ""
    modified: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """They ask for anything but this version."""
        stated = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in stated.items() if value}


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """What was answered in the end, be it an error."""

    url: str = field(repr=False)  # after all redirects
    status: int
    reason: str
    headers: Message = field(repr=False)
    body: bytes = field(repr=False)
    tries: int
    secrets: frozenset[str] = field(repr=False)

    @property
    def unchanged(self) -> bool:
        """The known version is the one of now."""
        return self.status == 304

    @property
    def version(self) -> Version:
        return Version(self.headers.get("ETag") or "", self.headers.get("Last-Modified") or "")

    @property
    def again(self) -> bool:
        """Whether another try may help."""
        return self.status in _AGAIN

    @property
    def error(self) -> str:
        """What a message says of an answer that is no success, without secrets."""
        status = f"{self.status} {_excerpt(self.reason, self.secrets)}{_times(self.tries)}"
        body = _excerpt(self.body.decode(errors="replace"), self.secrets)
        return f"{shown(self.url)} answered {status}" + (f": {body}" if body else "")


@dataclass(frozen=True, slots=True, eq=False)
class _Failed:
    """No reply this time."""

    what: str
    hint: str
    again: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    method: str
    target: Target
    headers: Mapping[str, str]
    body: bytes | None = None
    known: Version = Version()
    earlier: frozenset[str] = frozenset()  # secrets of what it was redirected from

    @property
    def secrets(self) -> frozenset[str]:
        return self.earlier | secrets_of(self.target.url, self.headers)

    @property
    def sent_headers(self) -> dict[str, str]:
        user = self.target.user
        basic = {} if user is None else {"Authorization": f"Basic {base64.b64encode(unquote(user).encode()).decode()}"}
        return {"User-Agent": "watersmeet", "Accept": "*/*", **basic, **self.known.headers, **self.headers}

    def redirected(self, location: str) -> _Request:
        """What is meant for one machine alone is not sent to another."""
        readable = quote(location, safe=string.punctuation, encoding="iso-8859-1")
        try:
            target = parse(urljoin(self.target.url, readable))
        except (NoReply, ValueError):
            raise NoReply(f"{shown(self.target.url)} leads to what is no web address", _CHECK) from None
        if target.origin != self.target.origin:
            return replace(self, target=target, headers={}, earlier=self.secrets)
        return replace(self, target=replace(target, user=target.user or self.target.user), earlier=self.secrets)


@dataclass(frozen=True, slots=True)
class Client:
    """Threads may share it. Any status is a reply; `NoReply` says why there is none."""

    guard: Guard | None = Guard()  # None for an address that the user has written into the settings
    timeout: float = 30.0  # seconds for one try
    deadline: float = 120.0  # seconds for everything: tries, pauses, redirects
    retries: int = 3
    backoff: float = 0.5  # seconds before the first retry; doubled for each further one
    redirects: int = 5
    most_bytes: int = 64 << 20  # of a body, unpacked

    def get(self, url: str, headers: Mapping[str, str] | None = None, known: Version | None = None) -> Reply:
        """The page, or that it is unchanged since the known version."""
        request = _Request("GET", parse(url), headers or {}, known=known or Version())
        deadline = Deadline(self.deadline)
        for _ in range(self.redirects + 1):
            reply = self._ask(request, deadline)
            location = reply.headers.get("Location")
            if reply.status not in _REDIRECTS or not location:
                return reply
            request = request.redirected(location)
        raise NoReply(f"{shown(url)} leads on more than {self.redirects} times", _CHECK)

    def post(self, url: str, body: bytes, headers: Mapping[str, str] | None = None) -> Reply:
        """Tried again as any request is, so for questions only. A redirect is not followed."""
        return self._ask(_Request("POST", parse(url), headers or {}, body), Deadline(self.deadline))

    def _ask(self, request: _Request, deadline: Deadline) -> Reply:
        """The answer of one address, asked again as long as that may help."""
        tries = 1
        while True:
            outcome = self._ask_once(request, deadline, tries)
            stated = outcome.headers.get("Retry-After") if isinstance(outcome, Reply) else None
            pause = max(self._pause(tries), _seconds(stated or ""))
            if not outcome.again or tries > self.retries or pause >= deadline.left:
                break
            time.sleep(pause)
            tries += 1
        if isinstance(outcome, Reply):
            return outcome
        what = _excerpt(outcome.what, request.secrets)
        raise NoReply(f"{shown(request.target.url)} {what}{_times(tries)}", outcome.hint)

    def _ask_once(self, request: _Request, deadline: Deadline, tries: int) -> Reply | _Failed:
        seconds = max(min(self.timeout, deadline.left), 0.0)
        once, target, most = Deadline(seconds), request.target, self.most_bytes
        try:
            addresses = resolve(target.host, target.port, seconds)
            if self.guard is not None:
                self.guard.check(target, addresses)
            got = exchange(target, addresses, request.method, request.sent_headers, request.body, once, most)
        except TimeoutError:
            return _Failed(f"did not answer within {seconds:.3g} s", _LATER, again=True)
        except TooLarge:
            return _Failed(f"answers with more than {most:,} bytes", "that is more than is read of one page")
        except ConnectionRefusedError as error:
            return _Failed(f"cannot be reached: {error}", _CHECK)
        except (ConnectionError, ssl.SSLEOFError, http.client.HTTPException, BrokenOff) as error:
            return _Failed(f"broke off: {error}", _LATER, again=True)
        except OSError as error:
            return _Failed(f"cannot be reached: {error}", _CHECK)
        except ValueError:  # its message would show the header
            return _Failed(
                "cannot be asked: a header cannot be sent", "is there a line break or a strange letter in it?"
            )
        return Reply(target.url, got.status, got.reason, got.headers, got.body, tries, request.secrets)

    def _pause(self, tries: int) -> float:
        """Seconds before the next try, spread so that not all who failed at once come back at once."""
        spread = 0.5 + random.random() / 2  # noqa: S311 - guards no secret
        return min(self.backoff * 2.0 ** (tries - 1), _LONGEST_PAUSE) * spread


def _excerpt(said: str, secrets: frozenset[str]) -> str:
    """The beginning of what a stranger says, on one line."""
    plain = "".join(character if character.isprintable() else " " for character in redact(said, secrets))
    return " ".join(plain.split())[:_EXCERPT]


def _times(tries: int) -> str:
    return f" ({tries} tries)" if tries > 1 else ""


def _seconds(stated: str) -> float:
    """`Retry-After`: a number of seconds, or a date; 0 if it is neither."""
    try:
        seconds = float(stated)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(stated).timestamp() - time.time()
        except (ValueError, OverflowError):
            return 0.0
    return max(seconds, 0.0) if not math.isnan(seconds) else 0.0


# ---------------------------------------------------------------- one exchange on one connection


class TooLarge(Exception):
    """More bytes than are taken."""


class BrokenOff(Exception):
    """The answer ended before its end, or is none."""


class Deadline:
    """A moment after which nothing is waited for."""

    def __init__(self, seconds: float) -> None:
        self._end = time.monotonic() + seconds

    @property
    def left(self) -> float:
        return self._end - time.monotonic()

    def wait(self) -> float:
        """Seconds that may be waited now; `TimeoutError` if there are none."""
        left = self.left
        if left <= 0:
            raise TimeoutError
        return left


@dataclass(frozen=True, slots=True, eq=False)
class Received:
    status: int
    reason: str
    headers: Message
    body: bytes


def exchange(
    target: Target,
    addresses: list[Address],
    method: str,
    headers: Mapping[str, str],
    body: bytes | None,
    deadline: Deadline,
    most: int,
) -> Received:
    """What the machine at one of these addresses answers; their order counts."""
    with _connected(addresses, deadline) as plain, _secured(plain, target, deadline) as sock:
        connection: Any = http.client.HTTPConnection(target.host, target.port)
        connection.sock = wire = _Wire(sock, deadline, 2 * most + _BESIDES)
        always = {"Host": target.host_header, "Accept-Encoding": "gzip", "Connection": "close"}
        connection.request(method, target.path, body, {**headers, **always})
        with connection.getresponse() as response:
            if wire.incoming.ended:  # http.client takes half a head for a whole one
                raise BrokenOff("its headers are not complete")
            return Received(response.status, response.reason, response.headers, _body(response, most))


def _connected(addresses: list[Address], deadline: Deadline) -> socket.socket:
    """The first that takes the connection; each gets its share of the time."""
    problem: OSError = OSError("it has no address")
    for number, address in enumerate(addresses):
        try:
            return _connect(address, deadline.wait() / (len(addresses) - number))
        except OSError as error:
            problem = error
    raise problem


def _connect(address: Address, seconds: float) -> socket.socket:
    sock = socket.socket(address.family, socket.SOCK_STREAM)
    try:
        sock.settimeout(seconds)
        sock.connect(address.place)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except BaseException:
        sock.close()
        raise
    return sock


def _secured(sock: socket.socket, target: Target, deadline: Deadline) -> socket.socket:
    if target.scheme != "https":
        return sock
    sock.settimeout(deadline.wait())
    return tls().wrap_socket(sock, server_hostname=target.host)


@cache
def tls() -> ssl.SSLContext:
    """Certificates are checked, against the authorities of this machine."""
    return ssl.create_default_context()


class _Wire:
    """A socket as http.client uses one, on which every single wait is cut at the deadline."""

    def __init__(self, sock: socket.socket, deadline: Deadline, most: int) -> None:
        self._sock = sock
        self._deadline = deadline
        self.incoming = _Incoming(sock, deadline, most)

    def sendall(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            self._sock.settimeout(self._deadline.wait())
            rest = rest[self._sock.send(rest) :]

    def makefile(self, mode: str) -> io.BufferedReader:
        return io.BufferedReader(self.incoming, _BLOCK)

    def close(self) -> None:
        """Whoever opened the socket closes it."""


class _Incoming(io.RawIOBase):
    def __init__(self, sock: socket.socket, deadline: Deadline, most: int) -> None:
        super().__init__()
        self._sock = sock
        self._deadline = deadline
        self._room = most
        self.ended = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._sock.settimeout(self._deadline.wait())
        count = self._sock.recv_into(buffer)
        self._room -= count
        self.ended = count == 0
        if self._room < 0:
            raise TooLarge
        return count


def _body(response: http.client.HTTPResponse, most: int) -> bytes:
    if 200 <= response.status < 300:
        if (response.length or 0) > most:
            raise TooLarge
        return b"".join(_decoded(response, most))
    said = bytearray()
    if response.status >= 400:
        with suppress(OSError, http.client.HTTPException, ValueError, BrokenOff, TooLarge):
            for block in _decoded(response, _ERROR_PAGE):
                said += block
    return bytes(said)


def _decoded(response: http.client.HTTPResponse, most: int) -> Iterator[bytes]:
    encoding = (response.headers.get("Content-Encoding") or "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise BrokenOff(f"it is encoded as {encoding[:20]!r}, which was not asked for")
    blocks = _blocks(response)
    for block in _unpacked(blocks) if encoding.endswith("gzip") else blocks:
        most -= len(block)
        if most < 0:
            raise TooLarge
        yield block


def _blocks(response: http.client.HTTPResponse) -> Iterator[bytes]:
    try:
        while block := response.read(_BLOCK):
            yield block
    except ValueError as error:
        raise BrokenOff("a length in it is none") from error
    if response.length:
        raise BrokenOff(f"{response.length} bytes are missing")


def _unpacked(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """What gzip has packed, a little at a time: a small block may hold any number of bytes."""
    decoder, begun = zlib.decompressobj(_GZIP), False
    for packed in blocks:
        while packed:
            begun = True
            try:
                yield decoder.decompress(packed, _BLOCK)
            except zlib.error as error:
                raise BrokenOff("it is not packed as it says") from error
            packed = decoder.unconsumed_tail
            if decoder.eof:
                packed, decoder, begun = decoder.unused_data, zlib.decompressobj(_GZIP), False
    if begun:
        raise BrokenOff("what is packed in it is not complete")
