"""The HTTP client: every request to another machine goes through it.

It has a timeout and a deadline, retries, limits the size of answers, follows redirects itself, checks every address on
the way (addresses.py), and redacts secrets in errors (redaction.py). It ignores proxies, password files and cookies of
this machine. Each request has a connection of its own.
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
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from email.message import Message
from functools import cache
from threading import Lock
from typing import Any, Self, TypeVar
from urllib.parse import quote, unquote, urljoin

from watersmeet.common.addresses import Address, Guard, Target, parse, resolve
from watersmeet.common.redaction import excerpt, secrets_of, shown
from watersmeet.core.errors import NoReply, Stopped, Unreachable

RETRY_STATUSES = frozenset({408, 409, 425, 429, *range(500, 600)} - {501, 505})
_REDIRECTS = {301, 302, 303, 307, 308}
_MAX_PAUSE_SECONDS = 60.0
_LATER = "is it up? try again later"
_CHECK = "check the address and the network"
_BLOCK = 1 << 16
_MAX_ERROR_BYTES = 1 << 16
"""Bytes of an error page that are read for the message."""
_MAX_HEADER_BYTES = 1 << 20
"""Bytes of an answer besides its body: headers, chunk sizes."""
_GZIP = 16 + zlib.MAX_WBITS

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Version:
    """Version of a page: its validators for a conditional request."""

    etag: str = ""
    modified: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """Headers of a conditional request: answer only if the version differs."""
        validators = {"If-None-Match": self.etag, "If-Modified-Since": self.modified}
        return {name: value for name, value in validators.items() if value}


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """The final reply to a request, after retries and redirects; any status."""

    url: str = field(repr=False)  # after all redirects
    status: int
    reason: str
    headers: Message = field(repr=False)
    body: bytes = field(repr=False)
    tries: int
    secrets: frozenset[str] = field(repr=False)

    @property
    def unchanged(self) -> bool:
        """Whether the server confirmed the known version (304)."""
        return self.status == 304

    @property
    def version(self) -> Version:
        return Version(self.headers.get("ETag") or "", self.headers.get("Last-Modified") or "")

    @property
    def retryable(self) -> bool:
        """Whether a retry may help."""
        return self.status in RETRY_STATUSES

    @property
    def retry_after(self) -> float:
        """Seconds that the server wants to be left alone; 0 if it does not say."""
        return _seconds(self.headers.get("Retry-After") or "")

    @property
    def location(self) -> str:
        """Address that the reply redirects to; empty if it does not."""
        location = self.headers.get("Location") if self.status in _REDIRECTS else None
        if not location:
            return ""
        try:
            return urljoin(self.url, _readable(location))
        except ValueError:
            return ""

    @property
    def error(self) -> str:
        """Error message for an unsuccessful reply, without secrets."""
        status = f"{self.status} {excerpt(self.reason, self.secrets)}{_times(self.tries)}"
        body = excerpt(self.body.decode(errors="replace"), self.secrets)
        return f"{shown(self.url)} answered {status}" + (f": {body}" if body else "")


@dataclass(frozen=True, slots=True, eq=False)
class _Failed:
    """An attempt without a reply."""

    message: str
    hint: str
    retryable: bool = False
    kind: type[NoReply] = NoReply

    def as_error(self, request: _Request, tries: int = 1) -> NoReply:
        message = excerpt(self.message, request.secrets)
        return self.kind(f"{shown(request.target.url)} {message}{_times(tries)}", self.hint)


class Cancellation:
    """Ends a request from another thread: its connection is shut down, and no other is opened."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._cancelled = False
        self._open: socket.socket | None = None

    def cancel(self) -> None:
        with self._lock:
            self._cancelled = True
            if self._open is not None:
                with suppress(OSError):  # it is closed already
                    self._open.shutdown(socket.SHUT_RDWR)

    def opened(self, sock: socket.socket) -> None:
        with self._lock:
            self._open = sock
        self.check()

    def check(self) -> None:
        if self._cancelled:
            raise Stopped("the request was cancelled")


@dataclass(frozen=True, slots=True, eq=False)
class _Request:
    method: str
    target: Target
    headers: Mapping[str, str]
    body: bytes | None = None
    known_version: Version = Version()
    cancellation: Cancellation = field(default_factory=Cancellation)
    earlier: frozenset[str] = frozenset()  # secrets of the requests that it was redirected from

    @property
    def secrets(self) -> frozenset[str]:
        return self.earlier | secrets_of(self.target.url, self.headers)

    @property
    def sent_headers(self) -> dict[str, str]:
        user = self.target.user
        basic = {} if user is None else {"Authorization": f"Basic {base64.b64encode(unquote(user).encode()).decode()}"}
        return {"User-Agent": "watersmeet", "Accept": "*/*", **basic, **self.known_version.headers, **self.headers}

    def redirected(self, location: str) -> _Request:
        """The redirected request; headers and credentials are not sent to another origin."""
        try:
            target = parse(urljoin(self.target.url, _readable(location)))
        except (NoReply, ValueError):
            raise NoReply(
                f"{shown(self.target.url)} redirects to something that is not a web address", _CHECK
            ) from None
        if target.origin != self.target.origin:
            return replace(self, target=target, headers={}, earlier=self.secrets)
        return replace(self, target=replace(target, user=target.user or self.target.user), earlier=self.secrets)


@dataclass(frozen=True, slots=True)
class Client:
    """An HTTP client; threads may share it. Any status is a reply; `NoReply` says why there is none."""

    guard: Guard | None = Guard()  # None: for an address from the user's own settings
    timeout: float = 30.0  # seconds for one attempt
    deadline: float = 120.0  # seconds for everything: attempts, pauses, redirects
    retries: int = 3
    backoff: float = 0.5  # seconds before the first retry; doubled for each further one
    redirects: int = 5
    max_bytes: int = 64 << 20  # of an unpacked body
    retry_statuses: frozenset[int] = RETRY_STATUSES

    def get(
        self,
        url: str,
        headers: Mapping[str, str] | None = None,
        known_version: Version | None = None,
        follow: bool = True,
    ) -> Reply:
        """GET, following redirects unless `follow` is false; the reply is `unchanged` if the page still has the known
        version."""
        request = _Request("GET", parse(url), headers or {}, known_version=known_version or Version())
        deadline = Deadline(self.deadline)
        for _ in range(self.redirects + 1):
            reply = self._send(request, deadline)
            location = reply.headers.get("Location")
            if not follow or reply.status not in _REDIRECTS or not location:
                return reply
            request = request.redirected(location)
        raise NoReply(f"{shown(url)} redirects more than {self.redirects} times", _CHECK)

    def post(self, url: str, body: bytes, headers: Mapping[str, str] | None = None) -> Reply:
        """POST without following redirects. It is retried, so the request must be idempotent."""
        return self.send("POST", url, body, headers)

    def send(
        self,
        method: str,
        url: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        cancellation: Cancellation | None = None,
    ) -> Reply:
        """A request of any method, without following redirects. It is retried as often as `retries` says."""
        request = _Request(method, parse(url), headers or {}, body, cancellation=cancellation or Cancellation())
        return self._send(request, Deadline(self.deadline))

    def stream(
        self,
        url: str,
        body: bytes,
        headers: Mapping[str, str] | None = None,
        cancellation: Cancellation | None = None,
    ) -> Stream | Reply:
        """POST without following redirects, whose answer is read while it arrives; a reply if it was not successful.

        `timeout` is for each wait, `deadline` for everything. It is retried until an answer begins, and not after that.
        """
        request = _Request("POST", parse(url), headers or {}, body, cancellation=cancellation or Cancellation())
        return self._retried(request, Deadline(self.deadline), self._open_once)

    def _send(self, request: _Request, deadline: Deadline) -> Reply:
        """Send a request to one address, with retries."""
        return self._retried(request, deadline, self._send_once)

    def _retried(
        self, request: _Request, deadline: Deadline, once: Callable[[_Request, Deadline, int], T | Reply | _Failed]
    ) -> T | Reply:
        tries = 1
        while True:
            outcome = once(request, deadline, tries)
            if not isinstance(outcome, Reply | _Failed):
                return outcome
            stated = outcome.headers.get("Retry-After") if isinstance(outcome, Reply) else None
            pause = max(self._pause(tries), _seconds(stated or ""))
            request.cancellation.check()
            again = outcome.status in self.retry_statuses if isinstance(outcome, Reply) else outcome.retryable
            if not again or tries > self.retries or pause >= deadline.left:
                break
            time.sleep(pause)
            tries += 1
        if isinstance(outcome, Reply):
            return outcome
        raise outcome.as_error(request, tries)

    def _send_once(self, request: _Request, deadline: Deadline, tries: int) -> Reply | _Failed:
        seconds = max(min(self.timeout, deadline.left), 0.0)
        try:
            with ExitStack() as stack:
                response = self._answer(request, Deadline(seconds), stack, seconds)
                return _reply(request, response, _body(response, self.max_bytes), tries)
        except _FAILURES as error:
            return _failed(error, f"did not answer within {seconds:.3g} s", self.max_bytes)

    def _open_once(self, request: _Request, deadline: Deadline, tries: int) -> Stream | Reply | _Failed:
        waits = Deadline(max(deadline.left, 0.0), idle=self.timeout)
        try:
            with ExitStack() as stack:
                response = self._answer(request, waits, stack, self.timeout, encoding="identity")
                if not 200 <= response.status < 300:
                    return _reply(request, response, _body(response, self.max_bytes), tries)
                return Stream(request, response, stack.pop_all(), waits, self)
        except _FAILURES as error:
            return _failed(error, self.silence(waits), self.max_bytes)

    def silence(self, waits: Deadline) -> str:
        """Message for a stream that stopped."""
        if waits.left <= 0:
            return f"did not finish within {self.deadline:.3g} s"
        return f"sent nothing for {self.timeout:.3g} s"

    def _answer(
        self, request: _Request, deadline: Deadline, stack: ExitStack, seconds: float, encoding: str = "gzip"
    ) -> http.client.HTTPResponse:
        """The beginning of an answer; the connection is closed with the stack."""
        addresses = resolve(request.target.host, request.target.port, seconds)
        if self.guard is not None:
            self.guard.check(request.target, addresses)
        headers = {**request.sent_headers, "Accept-Encoding": encoding}
        return _answered(request, addresses, headers, deadline, self.max_bytes, stack)

    def _pause(self, tries: int) -> float:
        """Seconds before the next attempt, with jitter."""
        spread = 0.5 + random.random() / 2  # noqa: S311 - not for security
        return min(self.backoff * 2.0 ** (tries - 1), _MAX_PAUSE_SECONDS) * spread


class Stream:
    """The body of a successful answer, in blocks as they arrive. Close it to cancel the request."""

    def __init__(
        self, request: _Request, response: http.client.HTTPResponse, stack: ExitStack, waits: Deadline, client: Client
    ) -> None:
        self.headers = response.headers
        self._request = request
        self._response = response
        self._stack = stack
        self._waits = waits
        self._client = client

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __iter__(self) -> Iterator[bytes]:
        with self:
            try:
                yield from _decoded(self._response, self._client.max_bytes, self._response.read1)
            except _FAILURES as error:
                failed = _failed(error, self._client.silence(self._waits), self._client.max_bytes)
                raise failed.as_error(self._request) from error

    def close(self) -> None:
        self._stack.close()


def _reply(request: _Request, response: http.client.HTTPResponse, body: bytes, tries: int) -> Reply:
    url, secrets = request.target.url, request.secrets
    return Reply(url, response.status, response.reason, response.headers, body, tries, secrets)


def _readable(location: str) -> str:
    """A `Location` header as a URL: headers are Latin-1, and may hold anything."""
    return quote(location, safe=string.punctuation, encoding="iso-8859-1")


def _times(tries: int) -> str:
    return f" ({tries} tries)" if tries > 1 else ""


def _seconds(stated: str) -> float:
    """Seconds of a `Retry-After` header: a number or a date; 0 if it is neither."""
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
    """An answer that is larger than the limit."""


class ConnectionBroken(Exception):
    """An answer that is incomplete or not valid HTTP."""


class Deadline:
    """A deadline for several waits, each at most `idle` seconds long."""

    def __init__(self, seconds: float, idle: float = math.inf) -> None:
        self._end = time.monotonic() + seconds
        self._idle = idle

    @property
    def left(self) -> float:
        return self._end - time.monotonic()

    def wait(self) -> float:
        """Seconds that a wait may take; `TimeoutError` if none remain."""
        left = self.left
        if left <= 0:
            raise TimeoutError
        return min(left, self._idle)


_FAILURES = (OSError, http.client.HTTPException, ConnectionBroken, TooLarge, ValueError)
"""What an exchange can raise."""


def _failed(error: Exception, timeout: str, most: int) -> _Failed:
    """Why there is no answer; `timeout` is the message of a timeout."""
    match error:
        case TimeoutError():
            return _Failed(timeout, _LATER, retryable=True)
        case TooLarge():
            return _Failed(f"answers with more than {most:,} bytes", "that is more than is read of one page")
        case ConnectionRefusedError():
            return _Failed(f"cannot be reached: {error}", _CHECK, kind=Unreachable)
        case ConnectionError() | ssl.SSLEOFError() | http.client.HTTPException() | ConnectionBroken():
            return _Failed(f"broke off: {error}", _LATER, retryable=True)
        case OSError():
            return _Failed(f"cannot be reached: {error}", _CHECK, kind=Unreachable)
    # a ValueError, whose message would contain the header
    return _Failed("cannot be requested: a header is not valid", "remove line breaks and non-ASCII letters from it")


def _answered(
    request: _Request,
    addresses: list[Address],
    headers: Mapping[str, str],
    deadline: Deadline,
    most: int,
    stack: ExitStack,
) -> http.client.HTTPResponse:
    """The head of the answer of the first of these addresses that accepts a connection; the stack closes it."""
    plain = stack.enter_context(_connected(addresses, deadline))
    target = request.target
    sock = stack.enter_context(_secured(plain, target, deadline))
    request.cancellation.opened(sock)
    connection: Any = http.client.HTTPConnection(target.host, target.port)
    connection.sock = deadline_socket = _DeadlineSocket(sock, deadline, 2 * most + _MAX_HEADER_BYTES)
    connection.request(
        request.method, target.path, request.body, {**headers, "Host": target.host_header, "Connection": "close"}
    )
    response: http.client.HTTPResponse = stack.enter_context(connection.getresponse())
    if deadline_socket.incoming.ended:  # http.client accepts an incomplete header block
        raise ConnectionBroken("its headers are incomplete")
    return response


def _connected(addresses: list[Address], deadline: Deadline) -> socket.socket:
    """Connection to the first address that accepts one; each gets its share of the time."""
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
    """TLS context that verifies certificates against this machine's authorities."""
    return ssl.create_default_context()


class _DeadlineSocket:
    """A socket for http.client whose every wait ends at the deadline."""

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
        """Does nothing: the socket is closed by its opener."""


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
        return b"".join(_decoded(response, most, response.read))
    error_page = bytearray()
    if response.status >= 400:
        with suppress(OSError, http.client.HTTPException, ValueError, ConnectionBroken, TooLarge):
            for block in _decoded(response, _MAX_ERROR_BYTES, response.read):
                error_page += block
    return bytes(error_page)


def _decoded(response: http.client.HTTPResponse, most: int, read: Callable[[int], bytes]) -> Iterator[bytes]:
    encoding = (response.headers.get("Content-Encoding") or "").strip().lower()
    if encoding not in ("", "identity", "gzip", "x-gzip"):
        raise ConnectionBroken(f"it is encoded as {encoding[:20]!r}, which was not requested")
    blocks = _blocks(response, read)
    for block in _unpacked(blocks) if encoding.endswith("gzip") else blocks:
        most -= len(block)
        if most < 0:
            raise TooLarge
        yield block


def _blocks(response: http.client.HTTPResponse, read: Callable[[int], bytes]) -> Iterator[bytes]:
    try:
        while block := read(_BLOCK):
            yield block
    except ValueError as error:
        raise ConnectionBroken("a length in it is not a number") from error
    if response.length:
        raise ConnectionBroken(f"{response.length} bytes are missing")


def _unpacked(blocks: Iterator[bytes]) -> Iterator[bytes]:
    """Decompressed gzip blocks of limited size: a small block may expand to any number of bytes."""
    decoder, begun = zlib.decompressobj(_GZIP), False
    for packed in blocks:
        while packed:
            begun = True
            try:
                yield decoder.decompress(packed, _BLOCK)
            except zlib.error as error:
                raise ConnectionBroken("it is not valid gzip") from error
            packed = decoder.unconsumed_tail
            if decoder.eof:
                packed, decoder, begun = decoder.unused_data, zlib.decompressobj(_GZIP), False
    if begun:
        raise ConnectionBroken("its gzip data is incomplete")
