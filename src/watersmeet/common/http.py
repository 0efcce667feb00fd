"""The HTTP client: everything of ours that asks another machine asks through it.

It waits no longer than it may, tries again where that may help, reads no more than it may, follows redirects itself,
judges every address on the way (addresses.py), and no error of it holds a secret (redaction.py). It heeds no proxy, no
password file and no cookie of this machine. Each request has a connection of its own.
"""

from __future__ import annotations

import base64
import email.utils
import http.client
import math
import random
import ssl
import string
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from email.message import Message
from urllib.parse import quote, unquote, urljoin

from watersmeet.common._wire import BrokenOff, Deadline, TooLarge, exchange
from watersmeet.common.addresses import Guard, Target, parse, resolve
from watersmeet.common.redaction import redact, secrets_of, shown
from watersmeet.core.errors import NoReply

_AGAIN = {408, 409, 425, 429, *range(500, 600)} - {501, 505}
_REDIRECTS = {301, 302, 303, 307, 308}
_LONGEST_PAUSE = 60.0
_EXCERPT = 300
_LATER = "is it up? try again later"
_CHECK = "check the address and the network"


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
