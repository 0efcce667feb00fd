"""Limits on one file or record, so that none takes too long, exhausts memory or makes a sync fail.

Limits are counts, not seconds, so that a file gives the same documents on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

MAX_DEPTH = 64
"""Nesting levels of values; deeper input is a mistake or an attack."""
MAX_YAML_VALUES = 100_000
"""Values of a YAML text, with every alias expanded."""
CHARS_PER_VALUE = 100
"""A YAML string counts as one value for each of so many characters."""
MAX_YAML_CHARS = 10_000_000
"""Size of a YAML text in characters; JSON is parsed many times faster."""
MAX_TAGS, MAX_LINKS, MAX_ALIASES = 1_000, 10_000, 1_000
"""Tags, links and aliases of one document; the others are read as plain text."""


class LimitExceeded(ValueError):
    """A limit was exceeded; the message continues a sentence that begins with the name of the input."""


def check_yaml(text: str, events: Iterable[Any], most: int = MAX_YAML_VALUES) -> None:
    """Raise `LimitExceeded` for a text that would be too large or too deep once loaded. `events` are PyYAML's.

    Loading recurses without a limit, and a few nested aliases can expand to millions of values.
    """
    if len(text) > MAX_YAML_CHARS:
        raise LimitExceeded(f"is larger than {MAX_YAML_CHARS / 1e6:g} MB")
    sizes: dict[str, int] = {}
    open_: list[tuple[str | None, int]] = []  # anchor, and number of values before it
    values = 0
    for event in events:
        kind = type(event).__name__
        if kind == "ScalarEvent":
            size = 1 + len(event.value) // CHARS_PER_VALUE
            values += size
            if event.anchor:
                sizes[event.anchor] = size
        elif kind == "AliasEvent":
            if any(anchor == event.anchor for anchor, _ in open_):
                raise LimitExceeded("refers to itself")
            values += sizes.get(event.anchor, 1)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            open_.append((event.anchor, values))
            values += 1
            if len(open_) > MAX_DEPTH:
                raise LimitExceeded(f"is nested too deeply, more than {MAX_DEPTH} levels")
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            anchor, before = open_.pop()
            if anchor:
                sizes[anchor] = values - before
        if values > most:
            raise LimitExceeded(f"has more than {most:,} values, aliases written out")
