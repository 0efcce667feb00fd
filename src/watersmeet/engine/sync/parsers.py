"""Parsers by media type and file ending, as each declares in `reads`; and safe parsing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TypeVar

from watersmeet.core.errors import ConfigError, WatersmeetError
from watersmeet.core.indexing import Found
from watersmeet.engine import plugins
from watersmeet.engine.components import find, names

T = TypeVar("T")
NO_MEMORY = "cannot be read: not enough memory"


@cache
def readers() -> Mapping[str, str]:
    """Parser names by media type or ending such as `.md`; built-in parsers before plug-ins."""
    found: dict[str, str] = {}
    for name in (*names("parse"), *plugins.usable("parse")):
        for form in find("parse", name).reads:
            found.setdefault(form.casefold(), name)
    return found


@cache
def endings() -> tuple[str, ...]:
    """File endings that a parser reads."""
    return tuple(sorted(form for form in readers() if form.startswith(".")))


@cache
def whole_names() -> frozenset[str]:
    """Names of files that a parser reads whatever they end in, such as `makefile`."""
    return frozenset(form for form in readers() if not form.startswith(".") and "/" not in form)


@cache
def media_types() -> frozenset[str]:
    """Media types that a parser reads."""
    return frozenset(form for form in readers() if "/" in form)


@cache
def sizes() -> Mapping[str, str]:
    """Which size limit applies to files of each ending or name."""
    limits = {name: getattr(find("parse", name), "size", "text") for name in {*readers().values()}}
    return {form: limits[name] for form, name in readers().items() if "/" not in form}


def formats_hint() -> str:
    """Names of the formats, for error messages: their endings are too many."""
    formats = {name for form, name in readers().items() if "/" not in form}  # others are not for files
    return f"formats that can be read: {', '.join(sorted(formats))}"


def globs_of_formats(formats: Iterable[str]) -> list[str]:
    """Globs of the files of these formats, each the name of a parser such as `office`, or an ending such as `docx`."""
    globs: list[str] = []
    names = (name.strip().lstrip(".").casefold() for given in formats for name in given.split(","))
    for format in filter(None, names):
        forms = [form for form, name in readers().items() if name == format and "/" not in form]
        forms = forms or [f".{format}"] * (f".{format}" in readers())
        if not forms:
            raise ConfigError(f"no format called {format!r}", f"{formats_hint()}, or an ending such as docx")
        globs += [f"*{form}" if form.startswith(".") else form for form in forms]
    return globs


def ending(name: str) -> str:
    """The ending of a name, with the dot."""
    return "." + name.rsplit(".", 1)[-1].casefold()


def reader_of(parsers: Mapping[str, T], item: Found) -> T | None:
    """The parser of an item."""
    form = form_of(parsers, item)
    return parsers.get(form) if form else None


def form_of(parsers: Mapping[str, T], item: Found) -> str:
    """By what an item is recognised: its media type, else the ending of its name, else its whole name; or empty."""
    if item.media in parsers:
        return item.media
    name = item.name.rpartition("/")[2].casefold()
    return next((form for form in (ending(name), name) if form in parsers), "")


def parse_safely(items: Iterable[T], failed: Callable[[str], T]) -> Iterator[T]:
    """The items of a parser; an exception becomes a last item made by `failed` with the reason.

    Parsers may raise anything: a RecursionError, a MemoryError, a panic of a library written in Rust.
    """
    try:
        yield from items
    except BaseException as error:
        panic = type(error).__name__ == "PanicException"  # not a subclass of Exception, and cannot be imported
        if isinstance(error, WatersmeetError) or not (panic or isinstance(error, Exception)):
            raise
        yield failed(reason(error))


def reason(error: BaseException) -> str:
    """The reason of an error, in one line."""
    if isinstance(error, RecursionError):
        return "cannot be read: nested too deeply"
    if isinstance(error, MemoryError):
        return NO_MEMORY
    text = str(error).partition("\n")[0][:200]
    return f"cannot be read: {type(error).__name__}" + (f": {text}" if text else "")
