"""Requests to a site: at a limited rate, as its robots.txt allows, with pauses where it asks for them."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from threading import Event, Lock

from watersmeet.common.http import Client, Reply, Version
from watersmeet.core.errors import AddressRefused, NoReply, SourceProblem
from watersmeet.source._robots import Robots

MAX_PAUSE_SECONDS = 60.0
"""The longest pause that a site is granted; if it asks for more, the crawl ends."""
RETRIES = 2
BACKOFF_SECONDS = 0.5
_BUSY = (429, 503)


class Later(Exception):
    """The site asks for a longer pause than is waited for, or the crawl was stopped."""


class Gate:
    """A gate that threads pass one after the other, at a limited rate."""

    def __init__(self, interval: float) -> None:
        self.interval = interval
        self._next = 0.0
        self._lock = Lock()
        self._stop = Event()

    def wait(self) -> None:
        with self._lock:
            slot = max(time.monotonic(), self._next)
            self._next = slot + self.interval
        self.sleep(slot - time.monotonic())

    def hold(self, seconds: float) -> None:
        """Let nobody pass for so many seconds."""
        with self._lock:
            self._next = max(self._next, time.monotonic() + seconds)

    def sleep(self, seconds: float) -> None:
        if self._stop.wait(seconds) if seconds > 0 else self._stop.is_set():
            raise Later("the crawl was stopped")

    def close(self) -> None:
        self._stop.set()


@dataclass(slots=True)
class Fetcher:
    """Requests of one crawl. Threads share it."""

    client: Client
    rate: float
    obey_robots: bool = True
    robots: Robots = field(default_factory=Robots)
    requests: int = 0
    gate: Gate = field(init=False)

    def __post_init__(self) -> None:
        self.gate = Gate(1 / self.rate if self.rate else 0.0)

    def read_robots(self, origin: str) -> None:
        """Read robots.txt of a site; `SourceProblem` if nobody knows what it allows."""
        if not self.obey_robots:
            return
        reply = self.request(f"{origin}/robots.txt", follow=True)
        if reply.status >= 500 or reply.status == 429:
            raise SourceProblem(
                f"{reply.error}; without it nobody knows what may be read",
                "nothing was read and nothing deleted; try again later",
            )
        self.robots = Robots(reply.body if reply.status == 200 else b"")
        self.gate.interval = max(self.gate.interval, self.robots.delay)

    def allows(self, url: str) -> bool:
        return not self.obey_robots or self.robots.allows(url)

    def request(self, url: str, version: Version | None = None, follow: bool = False) -> Reply:
        """A reply that the crawl cannot do without; `SourceProblem` if there is none."""
        try:
            return self.get(url, version, follow)
        except Later as later:
            raise SourceProblem(str(later), "try again later") from later
        except AddressRefused as problem:
            place = "/".join(url.split("/")[2:3])
            hint = f'if you trust it: `allowed = ["{place}"]` under [source.site] in your own settings'
            raise SourceProblem(str(problem), hint) from problem
        except NoReply as problem:
            raise SourceProblem(str(problem), problem.hint) from problem

    def get(self, url: str, version: Version | None = None, follow: bool = False, retries: int = RETRIES) -> Reply:
        """A reply, after pauses that the site asks for; `NoReply` without one, `Later` for a pause that is too long."""
        for attempt in range(retries + 1):
            self.gate.wait()
            self.requests += 1
            reply = self.client.get(url, known_version=version, follow=follow)
            if reply.status not in _BUSY and (reply.status < 500 or attempt):
                break
            pause = reply.retry_after or BACKOFF_SECONDS * 2**attempt
            if pause > MAX_PAUSE_SECONDS:
                raise Later(f"{url} answered {reply.status} and asks to come back in {pause:.0f} s")
            if attempt == retries:
                break
            if reply.retry_after:
                self.gate.hold(pause)
            else:
                self.gate.sleep(pause)
        return reply
