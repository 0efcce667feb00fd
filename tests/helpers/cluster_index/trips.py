"""Calls to other machines: how many there are, how far away these are, and how many wait for one another."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass(slots=True)
class Trips:
    """`delay` seconds are added to each call."""

    delay: float = 0.0
    calls: list[tuple[float, float, str]] = field(default_factory=list)
    """When each began and ended, and where it went."""

    @contextmanager
    def one(self, to: str) -> Iterator[None]:
        start = time.perf_counter()
        if self.delay:
            time.sleep(self.delay)
        try:
            yield
        finally:
            self.calls.append((start, time.perf_counter(), to))

    @contextmanager
    def counted(self) -> Iterator[list[tuple[float, float, str]]]:
        """The calls inside the block."""
        before = len(self.calls)
        found: list[tuple[float, float, str]] = []
        yield found
        found += self.calls[before:]


def depth(calls: list[tuple[float, float, str]]) -> int:
    """How many calls followed one another: the longest chain in which each began after the one before had ended."""
    chain, free = 0, 0.0
    for start, end, _ in sorted(calls, key=lambda one: one[1]):
        if start >= free:
            chain, free = chain + 1, end
    return chain
