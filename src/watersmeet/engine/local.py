"""The local store, found by its name: the engine imports none."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager
from importlib import import_module
from typing import TYPE_CHECKING, Any

from watersmeet.core.files import FOLDER_MODE
from watersmeet.engine.settings import cache_folder

if TYPE_CHECKING:
    from watersmeet.core.writing import Bookkeeping


def local(module: str) -> Any:
    """A module of it."""
    return import_module(f"watersmeet.store.local.{module}")


def bookkeeping(folder: str, wait: float) -> AbstractContextManager[Bookkeeping]:
    """The index opened to note what a model has read; `IndexBusy` if nobody gets on for so many seconds."""
    opened: AbstractContextManager[Bookkeeping] = local("opening").bookkeeping(folder, wait)
    return opened


def tighten_index(folder: str) -> None:
    """Nobody else reads an index."""
    local("_turns").tighten_index(folder)
    tighten_cache(folder)


def tighten_cache(folder: str) -> None:
    """... nor the cache, if it lies there."""
    cache = cache_folder()
    if os.path.abspath(folder).startswith(cache + "/") and os.stat(cache).st_uid == os.geteuid():
        os.chmod(cache, FOLDER_MODE)
