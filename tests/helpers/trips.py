"""Calls to servers: how many there are, how far away these are, and how many wait for one another."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from watersmeet.store.postgres.pool import Pool
from watersmeet.store.qdrant.nodes import Nodes


@dataclass(slots=True)
class Trips:
    """`delay` seconds are added to each call."""

    delay: float = 0.0
    calls: list[tuple[float, float, str]] = field(default_factory=list)
    """When each began and ended, and where it went."""

    @contextmanager
    def watched(self) -> Iterator[None]:
        """Every call of this process inside the block."""
        ask, call = Pool.ask, Nodes.call
        Pool.ask, Nodes.call = self._timed(ask, "postgres"), self._timed(call, "qdrant")  # type: ignore[method-assign]
        try:
            yield
        finally:
            Pool.ask, Nodes.call = ask, call  # type: ignore[method-assign]

    def _timed(self, call: Callable[..., Any], to: str) -> Callable[..., Any]:
        def timed(*values: Any, **options: Any) -> Any:
            start = time.perf_counter()
            if self.delay:
                time.sleep(self.delay)
            try:
                return call(*values, **options)
            finally:
                self.calls.append((start, time.perf_counter(), to))

        return timed

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
