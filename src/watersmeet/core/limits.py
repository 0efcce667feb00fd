"""How much of one file or record is read, so that none of them takes long, fills the memory or ends the others.

Limits are counts and not seconds: a file gives the same documents on every machine.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

DEEPEST = 64
"""How deep values may be nested; deeper is a mistake or an attack."""
MOST_VALUES = 100_000
"""How many values a YAML text may come to, with every alias written out."""
LONG_TEXT = 100
"""A text in YAML counts as one value for each of so many characters."""
MOST_YAML = 10_000_000
"""The largest YAML text, in characters; JSON is read many times faster."""
MOST_TAGS, MOST_LINKS, MOST_ALIASES = 1_000, 10_000, 1_000
"""How many of these one document has; the rest is text and nothing else."""


class TooMuch(ValueError):
    """More than is read; the message goes on after its name."""


def check_yaml(text: str, events: Iterable[Any]) -> None:
    """Refuse what would be large or deep once it is loaded. `events` are PyYAML's of the text.

    Loading recurses without a limit, and a few aliases of aliases stand for millions of values.
    """
    if len(text) > MOST_YAML:
        raise TooMuch(f"is larger than {MOST_YAML / 1e6:g} MB")
    sizes: dict[str, int] = {}
    open_: list[tuple[str | None, int]] = []  # anchor, and how many values there were before
    values = 0
    for event in events:
        kind = type(event).__name__
        if kind == "ScalarEvent":
            size = 1 + len(event.value) // LONG_TEXT
            values += size
            if event.anchor:
                sizes[event.anchor] = size
        elif kind == "AliasEvent":
            if any(anchor == event.anchor for anchor, _ in open_):
                raise TooMuch("refers to itself")
            values += sizes.get(event.anchor, 1)
        elif kind in ("MappingStartEvent", "SequenceStartEvent"):
            open_.append((event.anchor, values))
            values += 1
            if len(open_) > DEEPEST:
                raise TooMuch(f"is nested too deeply, more than {DEEPEST} levels")
        elif kind in ("MappingEndEvent", "SequenceEndEvent"):
            anchor, before = open_.pop()
            if anchor:
                sizes[anchor] = values - before
        if values > MOST_VALUES:
            raise TooMuch(f"has more than {MOST_VALUES:,} values, aliases written out")
