"""What `clear` deletes: an index, the user's cache, and the user's settings."""

from __future__ import annotations

import os
import shutil
from typing import NamedTuple

from watersmeet.core.system import is_ours
from watersmeet.engine.components import find
from watersmeet.engine.index.location import LOCAL
from watersmeet.engine.settings.settings import cache_folder, config_folder

INDEX, CACHE, CONFIG = "index", "cache", "config"
WAIT_SECONDS = 5.0
"""How long to wait for another writer of the index."""


class Place(NamedTuple):
    """Something that is deleted as a whole, or of an index, its own files."""

    kind: str
    path: str
    size: int


def places_to_clear(index: str, *, cache: bool, config: bool) -> list[Place]:
    """What there is of these. `index`: its folder, or empty."""
    found = [(INDEX, os.path.abspath(index))] if index else []
    found += [(CACHE, cache_folder())] if cache else []
    found += [(CONFIG, config_folder())] if config else []
    return [Place(kind, path, _size(path)) for kind, path in found if _may_delete(path)]


def _may_delete(path: str) -> bool:
    """Whether a folder is there, is no link, and is ours."""
    return os.path.isdir(path) and not os.path.islink(path) and is_ours(os.lstat(path))


def delete(place: Place) -> None:
    """Delete a place; of an index its own files, unless another process is writing it."""
    if place.kind == INDEX:
        find("index", LOCAL)(place.path, make=None).delete(WAIT_SECONDS)
    else:
        shutil.rmtree(place.path)


def _size(folder: str) -> int:
    total = 0
    for above, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(above, name)).st_size
            except OSError:  # deleted just now
                continue
    return total
