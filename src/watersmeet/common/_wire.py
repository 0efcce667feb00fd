"""One HTTP exchange on one connection: to a given address, until a deadline, of so many bytes at most."""

from __future__ import annotations

import http.client
import io
import socket
import ssl
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from email.message import Message
from functools import cache
from typing import Any

from watersmeet.common.addresses import Address, Target

_BLOCK = 1 << 16
_ERROR_PAGE = 1 << 16
"""So many bytes of an error are read: enough to say why."""
_BESIDES = 1 << 20
"""Bytes that an answer may take besides its body: headers, sizes of chunks."""
_GZIP = 16 + zlib.MAX_WBITS


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
