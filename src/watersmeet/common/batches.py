"""Batches that are used while the next one is made."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def use_each(batches: Iterable[T], use: Callable[[T], object]) -> None:
    """Use one after another, in a thread, and make the next one meanwhile: servers work while this process does."""
    with ThreadPoolExecutor(1, "watersmeet-batches") as thread:
        using: Future[object] | None = None
        for batch in batches:
            if using is not None:
                using.result()
            using = thread.submit(use, batch)
        if using is not None:
            using.result()
