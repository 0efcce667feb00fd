"""Access tokens of a server; only their hashes are stored."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import os
import re
import secrets
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import Any

from watersmeet.common.dates import age, parse_date
from watersmeet.core.actor import Actor
from watersmeet.core.errors import ConfigError, NotFound
from watersmeet.core.files import make_private, replace_file
from watersmeet.core.locks import locked
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.audit import log_of_tokens, note
from watersmeet.engine.settings.settings import config_folder

SCOPES = ("read", "write")
FILE, USED_FILE = "tokens.json", "tokens_used.json"
LOCK_SECONDS = 10.0
PREFIX = "wm"
TIME = "%Y-%m-%dT%H:%M:%SZ"
USED_SECONDS = 600.0
"""How often the last use of a token is written down."""
_NAME = re.compile(r"[\w.@-]{1,64}")


@dataclass(frozen=True, slots=True)
class Token:
    """A stored token. `hash` is of its secret part, which is long and random and so needs no salt."""

    id: str
    hash: str
    scope: str = "read"
    user: str = ""
    groups: tuple[str, ...] = ()
    created: str = ""
    name: str = ""  # empty for a token of an earlier version
    expires: str = ""  # empty: never

    @property
    def label(self) -> str:
        """What it is called in lists and logs: its name, else its id."""
        return self.name or self.id

    @property
    def has_expired(self) -> bool:
        return bool(self.expires) and self.expires <= _now()

    def to_json(self) -> dict[str, Any]:
        """All but the hash; `expired` says whether it is still valid."""
        found = {key: value for key, value in asdict(self).items() if key != "hash"}
        return {**found, "name": self.label, "expires": self.expires or None, "expired": self.has_expired}


@dataclass(frozen=True, slots=True)
class Caller:
    """The sender of a request. `key` is what the rate limit counts by; `is_local`: on this machine, so paths may be
    shown."""

    viewer: Viewer = EVERYONE
    scope: str = "read"
    key: str = ""
    is_local: bool = False
    token: str = ""
    name: str = ""
    """What its token is called, for logs."""

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
    _next_note: dict[str, float] = field(default_factory=dict)

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

    def create(
        self, scope: str, user: str = "", groups: tuple[str, ...] = (), name: str = "", expires: str = ""
    ) -> tuple[Token, str]:
        """A new token, and the secret that its holder sends. The secret is not stored and cannot be shown again.

        `expires`: after how long, such as 30d, or a date; empty: never."""
        if scope not in SCOPES:
            raise ConfigError(f"no scope called {scope!r}", f"choose one of: {', '.join(SCOPES)}")
        if name and not _NAME.fullmatch(name):
            raise ConfigError(f"{name!r} cannot be the name of a token", "use up to 64 letters, digits and . _ - @")
        key, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        token = Token(key, _hash(secret), scope, user, groups, _now(), name, _expiry(expires))
        with self._exclusive():
            tokens = self.all()
            if name and any(name in (other.id, other.name) for other in tokens.values()):
                raise ConfigError(f"there is a token called {name!r}", "choose another name, or revoke that one first")
            self._write({**tokens, key: token})
            note(log_of_tokens(), "create-token", [token.label], scope=scope, user=user, groups=list(groups))
        return token, f"{PREFIX}_{key}_{secret}"

    def revoke(self, name: str) -> Token:
        """Revoke the token with this name or id."""
        with self._exclusive():
            tokens = dict(self.all())
            found = next((token for token in tokens.values() if name and name in (token.id, token.name)), None)
            if found is None:
                raise NotFound(f"no token called {name!r}", "`watersmeet token list` shows all tokens")
            del tokens[found.id]
            self._write(tokens)
            note(log_of_tokens(), "revoke-token", [found.label])
        return found

    def is_valid(self, key: str) -> bool:
        """Whether the token with this id was neither revoked nor has expired."""
        token = self.all().get(key)
        return token is not None and not token.has_expired

    # ------------------------------------------------------------ last use

    def last_used(self) -> Mapping[str, str]:
        """When each token was last used, by id, to about ten minutes. Not known for one that was never used."""
        try:
            with open(self._used_path, encoding="utf8") as file:
                return {str(key): str(value) for key, value in json.load(file).items()}
        except (OSError, ValueError, AttributeError):
            return {}

    def note_use(self, token: Token) -> None:
        """Write down that a token is used. That it cannot be written stops no request."""
        now = time.monotonic()
        if now < self._next_note.get(token.id, 0.0):
            return
        self._next_note[token.id] = now + USED_SECONDS
        with suppress(OSError):
            known = self.all()
            used = {key: value for key, value in self.last_used().items() if key in known} | {token.id: _now()}
            replace_file(self._used_path, json.dumps(used, indent=1).encode(), 0o600)

    @property
    def _used_path(self) -> str:
        return os.path.join(os.path.dirname(self.path), USED_FILE)

    # ------------------------------------------------------------ the file

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
        """The token that was sent, compared in constant time; none if there is no such token. It may have expired."""
        kind, _, rest = sent.partition("_")
        name, _, secret = rest.partition("_")
        token = self.all().get(name)
        right = hmac.compare_digest(token.hash if token else _hash(""), _hash(secret))
        return token if token is not None and right and kind == PREFIX else None


def _now() -> str:
    return time.strftime(TIME, time.gmtime())


def _expiry(text: str) -> str:
    """The time at which a token expires: after an age such as 30d, or at a date."""
    if not text:
        return ""
    after = age(text)
    now = datetime.now(UTC)
    try:
        moment = (now + after if after is not None else parse_date(text)).astimezone(UTC)
    except OverflowError:
        raise ConfigError(f"{text!r} is too far away", "leave out --expires for a token that never expires") from None
    if moment <= now:
        raise ConfigError(f"{text!r} is in the past", "say for how long it is valid, such as 30d, or until which date")
    return moment.strftime(TIME)


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only; listening on any other needs a token."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf8", "surrogatepass")).hexdigest()
