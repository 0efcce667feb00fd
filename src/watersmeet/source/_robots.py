"""The rules of robots.txt for us."""

from __future__ import annotations

import math
import time
from hashlib import sha256
from typing import TYPE_CHECKING

from watersmeet.core.errors import SourceProblem

if TYPE_CHECKING:
    from protego import Protego

AGENT = "watersmeet"
MAX_BYTES = 500_000
MAX_LINES = 20_000
MAX_SITEMAPS = 50
MAX_SECONDS = 20.0
"""Processor time for the rules in one crawl. 20,000 rules with wildcards take 5 ms for each address."""
MAX_DELAY_SECONDS = 60.0
"""A longer Crawl-delay counts as this one."""


class Robots:
    """What a site allows, and how quickly; everything if it has no robots.txt."""

    def __init__(self, content: bytes = b"") -> None:
        self._rules: Protego | None = None
        self._seconds = 0.0  # spent on applying them
        lines = content[:MAX_BYTES].decode("utf-8-sig", "replace").splitlines()[:MAX_LINES]
        plain = [line for one in lines if (line := one.partition("#")[0].strip())]
        self.hash = sha256("\n".join(plain).encode()).hexdigest()[:16] if plain else ""
        """A hash of the rules; empty if there are none."""
        if plain:
            self._rules = _parsed("\n".join(lines))

    def allows(self, url: str) -> bool:
        """Whether a page may be requested; `SourceProblem` once the rules have taken too much time."""
        if self._rules is None:
            return True
        if self._seconds > MAX_SECONDS:
            raise SourceProblem(
                f"its robots.txt has so many rules that they took more than {MAX_SECONDS:.0f} s to apply",
                "lower the number of pages (--max-pages)",
            )
        start = time.thread_time()
        is_allowed = self._rules.can_fetch(url, AGENT)
        self._seconds += time.thread_time() - start
        return is_allowed

    @property
    def delay(self) -> float:
        """Seconds between two requests (`Crawl-delay`); 0 if it does not say."""
        delay = self._rules.crawl_delay(AGENT) if self._rules else None
        return min(max(delay, 0.0), MAX_DELAY_SECONDS) if delay and math.isfinite(delay) else 0.0

    @property
    def sitemaps(self) -> list[str]:
        return list(self._rules.sitemaps)[:MAX_SITEMAPS] if self._rules else []


def _parsed(text: str) -> Protego:
    try:
        from protego import Protego
    except ImportError:
        raise SourceProblem(
            "robots.txt cannot be read: protego is not installed", "`pip install 'watersmeet[web]'` adds it"
        ) from None
    return Protego.parse(text)
