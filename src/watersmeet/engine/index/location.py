"""Location of the index: by flag, by search upwards, or in the cache."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ConfigError, IndexProblem, NoIndex, SourceProblem
from watersmeet.core.index import FOLDER, Index
from watersmeet.core.names import is_text, printable
from watersmeet.engine.components import build, find
from watersmeet.engine.settings.settings import cache_folder, upwards

if TYPE_CHECKING:
    from watersmeet.engine.settings.settings import Settings

LOCAL = "local"
SCHEMES = {"postgresql": "postgres"}
"""Schemes of addresses whose store has another name."""
MAX_LINE = 5_000
"""Characters of a file of git that are read."""


def open_index(place: str, settings: Settings) -> Index:
    """Open the index at a place. The scheme of an address names its store; for a folder, `index.store` does."""
    scheme, sign, _ = place.partition("://")
    name: str = SCHEMES.get(scheme, scheme) if sign else settings.section("index").store

    def make(kind: str) -> Callable[..., Any]:
        return partial(build, "store", kind, settings.of("store", kind))

    if sign and scheme not in getattr(find("index", name), "schemes", (scheme,)):
        raise ConfigError(
            f"{place} is not the address of an index", f"name a folder, such as {place.partition('://')[2]}"
        )
    table = settings.of("store", name) if name != LOCAL else {}
    index: Index = build("index", name, table, place=place, make=make, cache=cache_folder())
    return index


def is_address(place: str) -> bool:
    """Whether a place is an address, not a folder."""
    return "://" in place


def absolute(place: str) -> str:
    """A place as absolute path or address."""
    return place if is_address(place) else os.path.abspath(place)


def _holds_index(folder: str) -> bool:
    if find("index", LOCAL)(folder, make=None).exists():
        return True
    from watersmeet.engine.settings.settings import load

    settings = load()  # whoever asks reports what of it is ignored, once
    return settings.section("index").store != LOCAL and open_index(folder, settings).exists()


def find_index(named: str = "", start: str = ".") -> str:
    """The place of the index: the given one, else the nearest `.watersmeet` in `start` or above."""
    if named:
        if is_address(named):
            return named
        if not _holds_index(named):
            raise NoIndex(f"there is no index in {named}", "make one with `watersmeet sync PATH --index DIR`")
        return _usable(named)
    for folder in upwards(start):
        index = os.path.join(folder, FOLDER)
        if _holds_index(index):
            return _usable(index)
    if main := main_work_tree(start):  # one repository, one index
        with suppress(NoIndex):
            return find_index(start=main)
    raise NoIndex(
        f"there is no index in {os.path.realpath(start)} or above", "make one with `watersmeet sync PATH` first"
    )


def index_to_make(named: str = "", start: str = ".") -> str:
    """The place to write to: an existing index in `start` or above, else a new one in `start`.

    A linked work tree of git gets an index of its own: its files are other ones than those of the main work tree."""
    if named:
        return _usable(named)
    for folder in upwards(start):
        if _holds_index(index := os.path.join(folder, FOLDER)):
            return _usable(index)
    return _usable(os.path.join(os.path.abspath(start), FOLDER))


def main_work_tree(start: str) -> str:
    """The folder in the main work tree of git that a folder in a linked one stands for; empty: it is in none.

    The repository has to name the linked work tree as well: a `.git` file of a stranger cannot lead elsewhere."""
    real = os.path.realpath(start)
    for folder in upwards(real):
        link = os.path.join(folder, ".git")
        if os.path.isdir(link):
            return ""
        if not os.path.isfile(link):
            continue
        private = _said(link).removeprefix("gitdir:").strip()
        private = os.path.realpath(os.path.join(folder, private))
        back = _said(os.path.join(private, "gitdir"))
        common = os.path.realpath(os.path.join(private, _said(os.path.join(private, "commondir")) or "."))
        ours = os.path.basename(common) == ".git" and os.path.dirname(private) == os.path.join(common, "worktrees")
        if not (ours and back) or os.path.realpath(os.path.join(private, back)) != link:
            return ""
        main = os.path.join(os.path.dirname(common), os.path.relpath(real, folder))
        return main if os.path.isdir(main) else os.path.dirname(common)
    return ""


def _said(file: str) -> str:
    """The line of a small file of git; empty if it cannot be read."""
    if not os.path.isfile(file):  # a pipe would be waited for
        return ""
    try:
        with open(file, encoding="utf8") as opened:
            return opened.read(MAX_LINE).strip()
    except (OSError, UnicodeDecodeError):
        return ""


def _usable(index: str) -> str:
    """Raise for a path that is not valid UTF-8, which the text store cannot open."""
    if not is_text(index):
        raise IndexProblem(
            f"{printable(index)}: name is not valid UTF-8", "rename the folder, or choose another with --index"
        )
    return index


def index_in(path: str) -> str:
    """The place of the index for `--in PATH`: in the cache folder, by the real path."""
    import hashlib

    if not os.path.exists(path):
        from watersmeet.engine.sync.sources import is_address as is_source

        if is_source(path):
            raise ConfigError(
                f"--in takes a folder, and {path} is an address",
                f"index it with `watersmeet sync {path}`, then search without --in",
            )
    real = os.path.realpath(path)
    name = hashlib.blake2b(real.encode("utf8", "surrogateescape"), digest_size=8).hexdigest()
    if not is_text(real):
        raise SourceProblem(f"{printable(real)}: name is not valid UTF-8", "rename it")
    return os.path.join(cache_folder(), "indexes", f"{os.path.basename(real) or 'root'}-{name}")
