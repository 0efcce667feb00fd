"""What an index was built with, and whether that is what the settings say."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from watersmeet.core import tokens
from watersmeet.core.errors import IndexMismatch
from watersmeet.engine.components import find, options
from watersmeet.engine.settings.settings import Settings

OWN = frozenset({"format", "tokenizer"})
"""What nobody sets: it comes with the version."""
REBUILD_HINT = "build it anew with `watersmeet sync --recreate`; vectors come from the cache"


def fingerprint(settings: Settings, form: int) -> dict[str, Any]:
    """What must be equal for two parts of an index to be comparable. `form`: the format of what is kept."""
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


def check_fingerprint(built: dict[str, Any], wanted: dict[str, Any], keys: Sequence[str] = ()) -> None:
    """Refuse an index that was built otherwise; `keys` limits what must be equal."""
    different = {
        key: f"{key} was {built.get(key)!r} and is {wanted.get(key)!r}"
        for key in (keys or sorted({*built, *wanted}))
        if built.get(key) != wanted.get(key)
    }
    if not different:
        return
    what = "; ".join(different.values())
    if different.keys() <= OWN:
        raise IndexMismatch(f"the index was built by another version of watersmeet: {what}", REBUILD_HINT)
    raise IndexMismatch(f"the index was built with other settings: {what}", f"set them back, or {REBUILD_HINT}")
