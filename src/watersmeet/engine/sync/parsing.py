"""Nothing that is written in a file or a record ends the reading of the others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from watersmeet.core.errors import WatersmeetError
from watersmeet.core.indexing import Found

T = TypeVar("T")


def ending(name: str) -> str:
    """How a name ends, with the dot, as parsers say what they read."""
    return "." + name.rsplit(".", 1)[-1].casefold()


def reader_of(parsers: Mapping[str, T], item: Found) -> T | None:
    """By what the source says that it is, else by the ending of its name."""
    return parsers.get(item.media) or parsers.get(ending(item.name))


def parse_safely(items: Iterable[T], failed: Callable[[str], T]) -> Iterator[T]:
    """The items as far as they come; whatever their maker raises then becomes `failed` with the reason.

    Parsers raise more than they promise: a RecursionError, a MemoryError, a panic of a library written in Rust.
    """
    try:
        yield from items
    except BaseException as error:
        panic = type(error).__name__ == "PanicException"  # no subclass of Exception, and no class to import
        if isinstance(error, WatersmeetError) or not (panic or isinstance(error, Exception)):
            raise
        yield failed(reason(error))


def reason(error: BaseException) -> str:
    """Why it cannot be read, in one line."""
    if isinstance(error, RecursionError):
        return "cannot be read: nested too deeply"
    if isinstance(error, MemoryError):
        return "cannot be read: it needs more memory than there is"
    said = str(error).partition("\n")[0][:200]
    return f"cannot be read: {type(error).__name__}" + (f": {said}" if said else "")
