"""Who may ask a server: tokens, of which only the hash is kept."""

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

from watersmeet.core.errors import ConfigError, NotFound
from watersmeet.core.files import make_private, replace_file
from watersmeet.core.locks import locked
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.settings.settings import config_folder

SCOPES = ("read", "write")
FILE = "tokens.json"
WAIT = 10.0
PREFIX = "wm"


@dataclass(frozen=True, slots=True)
class Token:
    """What is known of a token; `hash` is of its secret part, which is long and random and so needs no salt."""

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
    """Who a request is from. `key` is what its rate is counted by; `near`: from this machine, whose paths it knows."""

    viewer: Viewer = EVERYONE
    scope: str = "read"
    key: str = ""
    is_local: bool = False
    token: str = ""


@dataclass(slots=True)
class Tokens:
    """The tokens of this user. A change is seen at once, also by a server that runs."""

    path: str = ""
    _known: Mapping[str, Token] = field(default_factory=dict)
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
                self._known, self._stamp = self._read(), stamp
        return self._known

    def _read(self) -> Mapping[str, Token]:
        try:
            with open(self.path, encoding="utf8") as file:
                found = [Token(**{**one, "groups": tuple(one.get("groups", ()))}) for one in json.load(file)["tokens"]]
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise ConfigError(f"{self.path} cannot be read", "mend it, or delete it and make new tokens") from error
        return {token.id: token for token in found}

    def create(self, scope: str, user: str = "", groups: tuple[str, ...] = ()) -> tuple[Token, str]:
        """A new token and what its holder sends; this is the only time that it can be seen."""
        if scope not in SCOPES:
            raise ConfigError(f"no scope called {scope!r}", f"known: {', '.join(SCOPES)}")
        name, secret = secrets.token_hex(4), secrets.token_urlsafe(32)
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        token = Token(name, _hash(secret), scope, user, groups, now)
        with self._alone():
            self._write({**self.all(), name: token})
        return token, f"{PREFIX}_{name}_{secret}"

    def revoke(self, name: str) -> None:
        with self._alone():
            known = dict(self.all())
            if known.pop(name, None) is None:
                raise NotFound(f"no token called {name!r}", "`watersmeet token list` shows what there is")
            self._write(known)

    def were_made(self) -> bool:
        """Whether there ever was a token: then nobody writes without one, also once all are revoked."""
        try:
            os.stat(self.path)
        except FileNotFoundError:
            return False
        return True

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One process at a time changes the tokens; two that read before either wrote would lose one's change."""
        make_private(os.path.dirname(self.path))
        with locked(os.path.dirname(self.path), WAIT, f"{FILE}.lock"):
            yield

    def _write(self, tokens: Mapping[str, Token]) -> None:
        kept = {"tokens": [asdict(token) for token in tokens.values()]}
        replace_file(self.path, json.dumps(kept, indent=1).encode(), 0o600)

    def holder(self, sent: str) -> Token | None:
        """The token that was sent. It takes as long to refuse one that is nearly right as one that is not."""
        kind, _, rest = sent.partition("_")
        name, _, secret = rest.partition("_")
        token = self.all().get(name)
        right = hmac.compare_digest(token.hash if token else _hash(""), _hash(secret))
        return token if token is not None and right and kind == PREFIX else None


def is_loopback(host: str) -> bool:
    """Whether an address to listen on can be reached from this machine only; any other needs a token."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def _hash(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf8", "surrogatepass")).hexdigest()
