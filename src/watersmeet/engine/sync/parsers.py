"""Which parser reads what: each says itself which media types and endings."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TypeVar

from watersmeet.core.errors import WatersmeetError
from watersmeet.core.indexing import Found, Parser
from watersmeet.engine import plugins
from watersmeet.engine.components import build, find, names
from watersmeet.engine.settings.settings import Settings

T = TypeVar("T")


@cache
def readers() -> Mapping[str, str]:
    """From a media type or an ending such as `.md` to the parser that reads it: one of ours if there is one."""
    found: dict[str, str] = {}
    for name in (*names("parse"), *plugins.usable("parse")):
        for form in find("parse", name).reads:
            found.setdefault(form.casefold(), name)
    return found


@cache
def endings() -> tuple[str, ...]:
    """The endings of files that some parser reads."""
    return tuple(sorted(form for form in readers() if form.startswith(".")))


def parsers(settings: Settings) -> dict[str, Parser]:
    """A parser for each media type and ending."""
    made = {name: build("parse", name, settings.of("parse", name)) for name in dict.fromkeys(readers().values())}
    return {form: made[name] for form, name in readers().items()}


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
