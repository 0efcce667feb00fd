"""Calls to the nodes of a Qdrant cluster: over HTTP by the standard library, points in bulk over gRPC.

A node that fails is left out for a while, so that not every third query meets it, and the call goes to the next one.
All calls may be repeated: a point is written under its row number, and the same row is always the same point.
"""

from __future__ import annotations

import http.client
import json
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any, TypeVar
from urllib.parse import urlsplit

from watersmeet.common.redaction import excerpt
from watersmeet.core.errors import ConfigError, DatabaseDown, DatabaseProblem, NotAllowed

T = TypeVar("T")
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 15.0
"""Seconds for which a node is left out after its first failure, and after many."""
IDLE_SECONDS = 4.0
"""Qdrant closes connections that are idle for five seconds."""
MAX_MESSAGE = 1 << 28
UNAUTHORIZED, FORBIDDEN = 401, 403
DOWN_HINT = "start it, or check store.postgres.qdrant; searches by words and vectors work again as soon as it answers"
CA_HINT = "name the file of the authority that signed it: store.postgres.qdrant_ca, or QDRANT_CA"
NAME_HINT = "write the address with a name that the certificate has"
PLAIN_HINT = "it speaks no TLS there: write http://, or start it with TLS"


@dataclass(slots=True)
class Node:
    """One node: its address, its idle connections, and until when it is left out."""

    url: str
    grpc_port: int
    secure: bool = field(init=False)
    host: str = field(init=False)
    port: int = field(init=False)
    prefix: str = field(init=False)
    failures: int = 0
    rest_until: float = 0.0
    idle: list[tuple[float, http.client.HTTPConnection]] = field(default_factory=list)
    upsert: Callable[..., bytes] | None = None
    channel: Any = None

    def __post_init__(self) -> None:
        parts = urlsplit(self.url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ConfigError(f"{self.url!r} is not the address of Qdrant", "write http://HOST:6333")
        self.secure, self.host = parts.scheme == "https", parts.hostname
        self.port, self.prefix = parts.port or 6333, parts.path.rstrip("/")

    @property
    def name(self) -> str:
        return f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Access:
    """What Qdrant is reached with. `key_from`: the variable that the key is read from; `authority`: a file with the
    certificates that those of the nodes are signed by, else those that the system trusts."""

    key: str = field(default="", repr=False)
    key_from: str = "QDRANT_API_KEY"
    authority: str = ""

    @cached_property
    def tls(self) -> ssl.SSLContext:
        try:
            return ssl.create_default_context(cafile=self.authority or None)
        except (OSError, ValueError) as error:
            raise ConfigError(
                f"{self.authority} cannot be used: {error}", "store.postgres.qdrant_ca names a file of certificates"
            ) from None

    @property
    def roots(self) -> bytes | None:
        """The same certificates for gRPC; None: it has its own of public authorities."""
        found = [ssl.DER_cert_to_PEM_cert(one) for one in self.tls.get_ca_certs(binary_form=True)]
        return "".join(found).encode() or None

    def without_secrets(self, text: str) -> str:
        return excerpt(text, {self.key} if self.key else set())

    def refused(self, node: str, status: int, said: str) -> NotAllowed:
        """The error for a call that Qdrant does not allow."""
        if not self.key:
            return NotAllowed(f"Qdrant ({node}) wants a key", f"set {self.key_from}")
        if status == FORBIDDEN:
            reason = self.without_secrets(said)
            return NotAllowed(
                f"the key does not allow this at Qdrant ({node}): {reason}", "writers need a key that may write"
            )
        return NotAllowed(
            f"Qdrant ({node}) refuses the key", f"set {self.key_from} to the key that it was started with"
        )


class Nodes:
    """The nodes of a cluster. `seconds`: the deadline of a call, over all nodes that it is tried on."""

    def __init__(
        self, urls: list[str], grpc_ports: list[int], access: Access, seconds: float, bulk_seconds: float
    ) -> None:
        ports = [*grpc_ports, *[grpc_ports[-1] if grpc_ports else 0] * len(urls)]
        self._nodes = [Node(url, port) for url, port in zip(urls, ports, strict=False)]
        self._access, self.seconds, self.bulk_seconds = access, seconds, bulk_seconds
        self._lock, self._next = Lock(), 0

    @property
    def place(self) -> str:
        return ", ".join(node.name for node in self._nodes) or "no address"

    def down(self) -> list[str]:
        """Names of the nodes that are left out for now."""
        now = time.monotonic()
        return [node.name for node in self._nodes if node.rest_until > now]

    def close(self) -> None:
        for node in self._nodes:
            while node.idle:
                node.idle.pop()[1].close()
            channel, node.channel, node.upsert = node.channel, None, None
            if channel is not None:
                channel.close()

    # ------------------------------------------------------------ calls

    def call(self, method: str, path: str, body: object = None, seconds: float | None = None) -> Any:
        """The result of a call; None if what it names does not exist."""
        content = None if body is None else json.dumps(body).encode()
        return self._tried(lambda node, left: self._http(node, method, path, content, left), seconds or self.seconds)

    def put(self, message: bytes) -> None:
        """Write points, as one encoded message."""
        self._tried(lambda node, left: self._grpc(node, message, left), self.bulk_seconds)

    @property
    def bulk(self) -> bool:
        """Whether points can be written over gRPC."""
        return all(node.grpc_port for node in self._nodes)

    def _tried(self, call: Callable[[Node, float], T], seconds: float) -> T:
        end, reason, hint = time.monotonic() + seconds, "no node is named", DOWN_HINT
        others = len(self._nodes)
        for node in self._order():
            left, others = end - time.monotonic(), others - 1
            if left <= 0:
                break
            try:
                found = call(node, left / 2 if others > 0 else left)  # one that stalls leaves time for another
            except (OSError, http.client.HTTPException) as error:
                reason, hint = self._access.without_secrets(_said(error)), _hint(error, node.secure)
                self._failed(node)
                continue
            node.failures, node.rest_until = 0, 0.0
            return found
        raise DatabaseDown(f"Qdrant ({self.place}) does not answer: {reason}", hint)

    def _order(self) -> Iterator[Node]:
        """Nodes that are up, in turn; then those that are left out, which may be up again; then all once more."""
        with self._lock:
            self._next += 1
            first = self._next % max(1, len(self._nodes))
        turned = self._nodes[first:] + self._nodes[:first]
        now = time.monotonic()
        yield from [node for node in turned if node.rest_until <= now]
        yield from [node for node in turned if node.rest_until > now]
        for node in turned:
            time.sleep(0.05)
            yield node

    def _failed(self, node: Node) -> None:
        with self._lock:
            node.failures += 1
            pause = min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** (node.failures - 1))
            node.rest_until = time.monotonic() + pause
            idle, node.idle = node.idle, []
        for _, connection in idle:
            connection.close()

    # ------------------------------------------------------------ HTTP

    def _http(self, node: Node, method: str, path: str, content: bytes | None, seconds: float) -> Any:
        connection = self._connection(node, seconds)
        try:
            key = {"api-key": self._access.key} if self._access.key else {}
            headers = {"Content-Type": "application/json", **key}
            connection.request(method, node.prefix + path, content, headers)
            answer = connection.getresponse()
            text = answer.read()
        except BaseException:
            connection.close()
            raise
        with self._lock:
            node.idle.append((time.monotonic(), connection))
        if answer.status == 200:
            return json.loads(text)["result"]
        said = self._access.without_secrets(text.decode("utf8", "replace"))
        if answer.status == 404:
            return None
        if answer.status in (UNAUTHORIZED, FORBIDDEN):
            raise self._access.refused(node.name, answer.status, said)
        if answer.status >= 500 or answer.status == 429:  # another node may do it
            raise ConnectionError(f"{answer.status}: {said}")
        raise DatabaseProblem(f"Qdrant ({node.name}): {said}")

    def _connection(self, node: Node, seconds: float) -> http.client.HTTPConnection:
        with self._lock:
            while node.idle:
                since, connection = node.idle.pop()
                if time.monotonic() - since < IDLE_SECONDS:
                    if connection.sock is not None:
                        connection.sock.settimeout(seconds)
                    return connection
                connection.close()
        if not node.secure:
            return http.client.HTTPConnection(node.host, node.port, timeout=seconds)
        return http.client.HTTPSConnection(node.host, node.port, timeout=seconds, context=self._access.tls)

    # ------------------------------------------------------------ gRPC

    def _grpc(self, node: Node, message: bytes, seconds: float) -> None:
        grpc = _grpc()
        metadata = [("api-key", self._access.key)] if self._access.key else []
        try:
            self._upsert(node)(message, timeout=seconds, metadata=metadata)
        except grpc.RpcError as error:
            code, said = error.code(), self._access.without_secrets(str(error.details()))
            if code in (grpc.StatusCode.UNAVAILABLE, grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.INTERNAL):
                raise ConnectionError(said) from None
            if code in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED):
                status = UNAUTHORIZED if code == grpc.StatusCode.UNAUTHENTICATED else FORBIDDEN
                raise self._access.refused(node.name, status, said) from None
            raise DatabaseProblem(f"Qdrant ({node.name}): {said}") from None

    def _upsert(self, node: Node) -> Callable[..., bytes]:
        grpc = _grpc()

        from watersmeet.store.qdrant._wire import UPSERT

        with self._lock:
            if node.upsert is None:
                options = [("grpc.max_send_message_length", MAX_MESSAGE)]
                target = f"{node.host}:{node.grpc_port}"
                if node.secure:
                    node.channel = grpc.secure_channel(
                        target, grpc.ssl_channel_credentials(self._access.roots), options
                    )
                else:
                    node.channel = grpc.insecure_channel(target, options)
                node.upsert = node.channel.unary_unary(UPSERT)
            return node.upsert


def _said(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message}"
    return "it did not answer in time" if isinstance(error, TimeoutError) else str(error) or type(error).__name__


def _hint(error: Exception, secure: bool) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return NAME_HINT if "mismatch" in error.verify_message or "not valid for" in error.verify_message else CA_HINT
    if isinstance(error, ssl.SSLError) and "WRONG_VERSION_NUMBER" in str(error):
        return PLAIN_HINT
    if isinstance(error, http.client.BadStatusLine | ConnectionResetError) and not secure:
        return f"{DOWN_HINT}; if it speaks TLS, write https://"
    return CA_HINT if "certificate" in str(error).casefold() else DOWN_HINT


def _grpc() -> Any:
    try:
        import grpc
    except ModuleNotFoundError as error:
        hint = "pip install 'watersmeet[cluster]', or set store.postgres.qdrant_grpc_ports to [0]"
        raise ConfigError("points are written to Qdrant by grpcio", hint) from error
    return grpc
