"""The rules of robots.txt for us."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from watersmeet.core.errors import SourceProblem

if TYPE_CHECKING:
    from protego import Protego

AGENT = "watersmeet"
MAX_BYTES = 500_000
MAX_LINES = 20_000
MAX_SITEMAPS = 50
MAX_DELAY_SECONDS = 60.0
"""A longer Crawl-delay counts as this one."""


class Robots:
    """What a site allows, and how quickly; everything if it has no robots.txt."""

    def __init__(self, content: bytes = b"") -> None:
        self._rules: Protego | None = None
        if content.strip():
            text = content[:MAX_BYTES].decode("utf-8-sig", "replace")
            self._rules = _parsed("\n".join(text.splitlines()[:MAX_LINES]))

    def allows(self, url: str) -> bool:
        return self._rules is None or self._rules.can_fetch(url, AGENT)

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
