"""Fingerprint of an index: the settings it was built with, and their comparison with the present ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from watersmeet.core import tokens
from watersmeet.core.errors import IndexMismatch
from watersmeet.engine.components import find, options
from watersmeet.engine.settings.settings import Settings

OWN = frozenset({"format", "tokenizer"})
"""Parts that depend on the version, not on settings."""
LATER = frozenset({"overlap"})
"""Options that indexes of earlier versions do not record; left out if they are 0."""
REBUILD_HINT = "rebuild it with `watersmeet sync --recreate`; vectors come from the cache"


def fingerprint(settings: Settings, form: int) -> dict[str, Any]:
    """Settings that must be equal for all parts of an index. `form`: the format of the store."""
    index = settings.section("index")
    chunker = find("chunk", index.chunk)
    built = chunker(**settings.of("chunk", index.chunk))
    return {
        "format": form,
        "tokenizer": tokens.VERSION,
        "text": index.text,
        "chunk": f"{index.chunk} {getattr(chunker, 'form', 1)}",
        **{
            f"chunk.{index.chunk}.{name}": value
            for name in options(chunker)
            if (value := getattr(built, name)) or name not in LATER
        },
        **_of_formats(settings),
    }


def _of_formats(settings: Settings) -> dict[str, int]:
    """Chunk sizes of formats that have their own."""
    return {
        f"parse.{name}.{key}": value
        for name in sorted(settings.tables.get("parse", {}))
        for key in ("max_chars", "overlap")
        if (value := settings.of("parse", name).get(key))
    }


def check_fingerprint(built: dict[str, Any], current: dict[str, Any], keys: Sequence[str] = ()) -> None:
    """Raise if an index was built with other settings; `keys` limits the comparison."""
    different = {
        key: f"{key} was {built.get(key)!r} and is {current.get(key)!r}"
        for key in (keys or sorted({*built, *current}))
        if built.get(key) != current.get(key)
    }
    if not different:
        return
    what = "; ".join(different.values())
    if different.keys() <= OWN:
        raise IndexMismatch(f"the index was built by another version of watersmeet: {what}", REBUILD_HINT)
    raise IndexMismatch(f"the index was built with other settings: {what}", f"set them back, or {REBUILD_HINT}")
