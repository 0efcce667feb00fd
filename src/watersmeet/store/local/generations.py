"""Generations of a local index: a new one is built beside the old one, which answers until both change places.

The new one is a folder beside the index, with a copy of its catalogue, so that roots, ids and records are the same. The
change of places is one step where the system has it (Linux), else two. The old one stays beside the index, so it can be
taken back.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import partial

from watersmeet.core.errors import IndexBusy, NotFound, WatersmeetError
from watersmeet.core.files import can_write
from watersmeet.core.index import CatchUp, ChangedRecords, NextGeneration
from watersmeet.core.locks import passing_lock, writable
from watersmeet.core.system import sync_folder
from watersmeet.store.local._connect import FILE, FORMAT, is_read_only
from watersmeet.store.local._frozen import is_frozen
from watersmeet.store.local._turns import await_readers, writer_lock
from watersmeet.store.local.backup import copy_database, forget_writers, is_database
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.documents import DocumentsView
from watersmeet.store.local.records import LocalRecords

_AT_WORKING_FOLDER, _EXCHANGE = -100, 2
"""AT_FDCWD and RENAME_EXCHANGE of Linux."""
TEXT, STORES = "text-", ("text-", "vectors-")
TRY_AGAIN = "the old index goes on; run the same command again"


def beside(folder: str, what: str) -> str:
    """A hidden folder beside an index."""
    above, name = os.path.split(os.path.abspath(folder))
    return os.path.join(above, f".{name.lstrip('.')}.{what}")


def previous_of(folder: str) -> str:
    return beside(folder, "previous")


def can_be_beside(folder: str) -> bool:
    """Whether a new generation can be built beside an index, and change places with it."""
    above = os.path.dirname(os.path.abspath(folder))
    if not os.path.exists(os.path.join(folder, FILE)) or os.path.islink(folder) or os.path.ismount(folder):
        return False
    if is_frozen(folder) or is_read_only(folder) or not can_write(above):
        return False
    try:
        with closing(DocumentsView(folder)) as view, view.transaction():
            return view.format == FORMAT and bool(view.statistics().documents)
    except WatersmeetError:  # damaged: it is built anew in its place
        return False


@contextmanager
def next_generation(folder: str) -> Iterator[NextGeneration]:
    """A folder with a copy of the catalogue; it is deleted at the end, unless it has changed places with the index."""
    place = beside(folder, "next")
    with writable(os.path.dirname(place)), passing_lock(f"{place}.lock", 0):
        shutil.rmtree(place, ignore_errors=True)  # of a process that was killed
        os.mkdir(place, 0o700)
        try:
            with closing(DocumentsView(folder)) as view, view.transaction():
                view.with_connection(partial(copy_database, to=os.path.join(place, FILE)))
                roots = view.roots()
            forget_writers(os.path.join(place, FILE))
            _reserve_names(place, folder)
            yield NextGeneration(place, partial(_adopt, folder, place, roots))
        finally:
            shutil.rmtree(place, ignore_errors=True)


def _reserve_names(place: str, folder: str) -> None:
    """Make empty folders, so that no store of the new generation has the name of one of the others: a process that was
    busy with theirs must not take it for its own."""
    for other in (folder, previous_of(folder)):
        for name in os.listdir(other) if os.path.isdir(other) else ():
            if name.startswith(TEXT):
                os.makedirs(os.path.join(place, name), 0o700, exist_ok=True)


def _adopt(folder: str, place: str, roots: list[str], catch_up: CatchUp, wait: float) -> None:
    """Put a finished generation in the place of the index, which becomes the previous one."""
    with _replacing(folder, place, catch_up, wait) as catalogue:
        if sorted(root.path for root in catalogue.roots()) != sorted(roots):
            raise IndexBusy("folders were added or removed meanwhile", TRY_AGAIN)
    previous = previous_of(folder)
    shutil.rmtree(previous, ignore_errors=True)
    os.rename(place, previous)
    sync_folder(os.path.dirname(place))


def roll_back(folder: str, catch_up: CatchUp, wait: float) -> str:
    """Change places with the previous generation; returns where the one that was current is now."""
    previous = previous_of(folder)
    if not os.path.exists(os.path.join(previous, FILE)):
        raise NotFound("there is no previous generation", "`watersmeet sync --recreate` leaves one")
    with _replacing(folder, previous, catch_up, wait):
        pass
    return previous


@contextmanager
def _replacing(folder: str, other: str, catch_up: CatchUp, wait: float) -> Iterator[Catalogue]:
    """Let another generation take the place of the index at the end of the block, in which nobody else writes."""
    with writer_lock(folder, wait) as lock:
        await_readers(folder, lock, wait)
        with closing(Catalogue(folder)) as catalogue:
            yield catalogue
            catch_up(other, _differences(catalogue, other))
            catalogue.begin()  # whoever goes on with the old one is refused from here on
        _link_stores(folder, other)
        _exchange(other, folder)
        sync_folder(os.path.dirname(other))


def _differences(catalogue: Catalogue, other: str) -> ChangedRecords:
    """Records that another generation lacks or has otherwise, and those that only it has."""
    with closing(Catalogue(other)) as opened:
        theirs = {one.record["path"]: one.record for one in LocalRecords(opened)}
    ours = {one.record["path"]: one.record for one in LocalRecords(catalogue)}
    changed = [record for path, record in ours.items() if theirs.get(path) != record]
    return ChangedRecords(changed, sorted(theirs.keys() - ours.keys()))


def forget_previous(folder: str) -> int:
    """Delete the previous generation; returns the bytes that this freed."""
    from watersmeet.store.local.sizes import size_of

    previous = previous_of(folder)
    size = size_of(previous) if os.path.isdir(previous) else 0
    shutil.rmtree(previous, ignore_errors=True)
    return size


def _link_stores(source: str, target: str) -> None:
    """Link the files of an index's stores into the one that takes its place: queries that began before go on with them,
    under the same paths. The next writer deletes them like all old stores, once no query can still read them."""
    for name in os.listdir(source):
        place = os.path.join(source, name)
        if not name.startswith(STORES) or not os.path.isdir(place):
            continue
        os.makedirs(os.path.join(target, name), 0o700, exist_ok=True)
        os.utime(os.path.join(target, name))
        for file in os.listdir(place):
            with suppress(OSError):  # it is there, or the file system has no links: such a query says what it lacks
                if not is_database(os.path.join(place, file)):  # SQLite finds its log by the path
                    os.link(os.path.join(place, file), os.path.join(target, name, file))


def _exchange(one: str, other: str) -> None:
    """Let two folders change places."""
    if sys.platform == "linux":
        rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
        paths = (_AT_WORKING_FOLDER, os.fsencode(one), _AT_WORKING_FOLDER, os.fsencode(other))
        if rename is not None and rename(*paths, _EXCHANGE) == 0:
            return
    aside = f"{one}.aside"
    with suppress(FileNotFoundError):
        shutil.rmtree(aside)
    os.rename(other, aside)
    os.rename(one, other)
    os.rename(aside, one)
