"""Trees of files for the tests of the folder source: made, and what is found in them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from watersmeet.core.indexing import Found, Skipped, SourceRoot, Whole
from watersmeet.engine.sync.parsers import endings, sizes, whole_names
from watersmeet.source import folder as source

Folder = partial(source.Folder, endings=endings(), names=whole_names(), sizes=sizes())
"""The source, with what the engine hands to it."""


def put(folder: Path, **pages: str) -> Path:
    """A folder of Markdown files, each with its name for a title."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(f"# {name}\n\n{text}\n")
    return folder


def write(top: Path, *names: str, text: str = "x") -> Path:
    for name in names:
        path = top / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return top


def scan(top: Path | str, folder: source.Folder | None = None) -> list[Found | Skipped]:
    """What is found and reported; a folder is always looked through to its end."""
    *items, end = (folder or Folder()).scan(SourceRoot("folder", str(top)), {})
    assert end == Whole()
    return [item for item in items if isinstance(item, Found | Skipped)]


def names(top: Path, folder: source.Folder | None = None) -> list[str]:
    """What is found, in order; nothing may be reported."""
    items = scan(top, folder)
    assert [item for item in items if isinstance(item, Skipped)] == []
    return [item.name for item in items if isinstance(item, Found)]


def report(top: Path, folder: source.Folder | None = None) -> tuple[set[str], dict[str, str]]:
    """What is found, and what is reported, by path below the root."""
    items = scan(top, folder)
    skipped = {item.path.removeprefix(f"{top}/"): item.reason for item in items if isinstance(item, Skipped)}
    return {item.name for item in items if isinstance(item, Found)}, skipped


@contextlib.contextmanager
def nobody() -> Iterator[None]:
    """Without the rights of the superuser, if the tests run with them."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)
