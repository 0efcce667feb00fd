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
        **{f"chunk.{index.chunk}.{name}": getattr(built, name) for name in options(chunker)},
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
