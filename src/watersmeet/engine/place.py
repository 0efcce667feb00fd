"""Where is the index?"""

from __future__ import annotations

import importlib
import os
from functools import partial

from watersmeet.core.errors import IndexProblem, NoIndex, SourceProblem
from watersmeet.core.index import Index
from watersmeet.core.names import is_text, printable
from watersmeet.engine.settings import cache_folder, upwards
from watersmeet.store.local._connect import FILE
from watersmeet.store.local._paths import NAME


def open_index(place: str) -> Index:
    """The index at a place: a folder."""
    from watersmeet.engine.components import find

    store = importlib.import_module("watersmeet.store.local.index").Local
    index: Index = store(place, partial(find, "store"))
    return index


def find_index(named: str = "", start: str = ".") -> str:
    """The index that was named, else the nearest `.watersmeet` upwards from `start`."""
    if named:
        if not os.path.exists(os.path.join(named, FILE)):
            raise NoIndex(f"there is no index in {named}", "make one with `watersmeet sync PATH --index DIR`")
        return _usable(named)
    for folder in upwards(start):
        index = os.path.join(folder, NAME)
        if os.path.exists(os.path.join(index, FILE)):
            return _usable(index)
    raise NoIndex(
        f"there is no index in {os.path.realpath(start)} or above", "make one with `watersmeet sync PATH` first"
    )


def index_to_make(named: str = "", start: str = ".") -> str:
    """The index to write to: the one that there is, else a new one in `start`."""
    if named:
        return _usable(named)
    try:
        return find_index(start=start)
    except NoIndex:
        return _usable(os.path.join(os.path.abspath(start), NAME))


def _usable(index: str) -> str:
    """The text store takes no other paths."""
    if not is_text(index):
        raise IndexProblem(
            f"{printable(index)}: name is not valid UTF-8", "rename the folder, or choose another with --index"
        )
    return index


def index_in(path: str) -> str:
    """The index of `--in PATH`: in the user's cache folder, by the real path."""
    import hashlib

    real = os.path.realpath(path)
    name = hashlib.blake2b(real.encode("utf8", "surrogateescape"), digest_size=8).hexdigest()
    if not is_text(real):
        raise SourceProblem(f"{printable(real)}: name is not valid UTF-8", "rename it")
    return os.path.join(cache_folder(), "indexes", f"{os.path.basename(real) or 'root'}-{name}")
