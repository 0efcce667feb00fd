"""Access tokens of a server; only their hashes are stored."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import os
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from threading import Lock
from typing import Any

from watersmeet.core.actor import Actor
from watersmeet.core.errors import ConfigError, NotFound
from watersmeet.core.files import make_private, replace_file
from watersmeet.core.locks import locked
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.audit import log_of_tokens, note
from watersmeet.engine.settings.settings import config_folder

SCOPES = ("read", "write")
FILE = "tokens.json"
LOCK_SECONDS = 10.0
PREFIX = "wm"


@dataclass(frozen=True, slots=True)
class Token:
    """A stored token. `hash` is of its secret part, which is long and random and so needs no salt."""

    id: str
    hash: str
    scope: str = "read"
    user: str = ""
    groups: tuple[str, ...] = ()
    created: str = ""

    def to_json(self) -> dict[str, Any]:
        return {key: value for key, value in asdict(self).items() if key != "hash"}


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request. `key` is what the rate limit counts by; `is_local`: on this machine, so paths may be
    shown."""

    viewer: Viewer = EVERYONE
    scope: str = "read"
    key: str = ""
    is_local: bool = False
    token: str = ""

    def actor(self, via: str) -> Actor:
        """Who changes something, for the audit log."""
        return Actor(via, self.viewer.user, self.token)

    @property
    def asks(self) -> dict[str, Any]:
        """Who asks, for a search of the registry: addresses of backends are for those who may write."""
        return {"viewer": self.viewer, "addresses": self.scope == "write"}


@dataclass(slots=True)
class Tokens:
    """The token file of this user. It is read again when it changes, so a running server follows at once."""

    path: str = ""
    _cached: Mapping[str, Token] = field(default_factory=dict)
    _stamp: tuple[int, int, int] | None = None
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.path = self.path or os.path.join(config_folder(), FILE)

    def all(self) -> Mapping[str, Token]:
        try:
            found = os.stat(self.path)
        except FileNotFoundError:
            return {}
        stamp = (found.st_mtime_ns, found.st_size, found.st_ino)
        if stamp != self._stamp:
            with self._lock:
                self._cached, self._stamp = self._read(), stamp
        return self._cached

    def _read(self) -> Mapping[str, Token]:
        try:
            with open(self.path, encoding="utf8") as file:
                found = [Token(**{**one, "groups": tuple(one.get("groups", ()))}) for one in json.load(file)["tokens"]]
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ConfigError(f"{self.path} cannot be read", "fix it, or delete it and create new tokens") from error
        return {token.id: token for token in found}

    def create(self, scope: str, user: str = "", groups: tuple[str, ...] = ()) -> tuple[Token, str]:
        """A new token, and the secret that its holder sends. The secret is not stored and cannot be shown again."""
        if scope not in SCOPES:
            raise ConfigError(f"no scope called {scope!r}", f"choose one of: {', '.join(SCOPES)}")
        name, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        token = Token(name, _hash(secret), scope, user, groups, now)
        with self._exclusive():
            self._write({**self.all(), name: token})
            note(log_of_tokens(), "create-token", [name], scope=scope, user=user, groups=list(groups))
        return token, f"{PREFIX}_{name}_{secret}"

    def revoke(self, name: str) -> None:
        with self._exclusive():
            tokens = dict(self.all())
            if tokens.pop(name, None) is None:
                raise NotFound(f"no token called {name!r}", "`watersmeet token list` shows all tokens")
            self._write(tokens)
            note(log_of_tokens(), "revoke-token", [name])

    def were_created(self) -> bool:
        """Whether a token was ever created: from then on writing needs one, even after all are revoked."""
        try:
            os.stat(self.path)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        """A lock across processes: without it, two that read before either wrote would lose one's change."""
        make_private(os.path.dirname(self.path))
        with locked(os.path.dirname(self.path), LOCK_SECONDS, f"{FILE}.lock"):
            yield

    def _write(self, tokens: Mapping[str, Token]) -> None:
        content = {"tokens": [asdict(token) for token in tokens.values()]}
        replace_file(self.path, json.dumps(content, indent=1).encode(), 0o600)

    def holder(self, sent: str) -> Token | None:
        """The token that was sent, compared in constant time; none if it is not valid."""
        kind, _, rest = sent.partition("_")
        name, _, secret = rest.partition("_")
        token = self.all().get(name)
        right = hmac.compare_digest(token.hash if token else _hash(""), _hash(secret))
        return token if token is not None and right and kind == PREFIX else None


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only; listening on any other needs a token."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf8", "surrogatepass")).hexdigest()
