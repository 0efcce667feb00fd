"""Opening a local index for writing: made if there is none, repaired if need be, refused if it does not fit."""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress

from watersmeet.core.errors import IndexDamaged, IndexMismatch
from watersmeet.core.files import private
from watersmeet.core.index import CURRENT_TIERS, NEXT_TIERS, TIERS_BEFORE_REBUILD, WAITING_RECORDS
from watersmeet.core.locks import writable
from watersmeet.store.local._checksums import damage
from watersmeet.store.local._connect import FILE, guarded
from watersmeet.store.local._counts import stores
from watersmeet.store.local._file_checks import unmark
from watersmeet.store.local._private_words import PUBLIC_TEXT
from watersmeet.store.local._records import sound
from watersmeet.store.local._turns import WriterLock, busy_root, tighten_index, writer_lock
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.rebuild_text import next_folder, rebuild, registered
from watersmeet.store.local.repair import heal
from watersmeet.store.local.writer import LocalWriter, LocalWriterOptions

STORES = ("text-", "vectors-")
"""How the folders of the other stores are called."""


@contextmanager
def open_writer(folder: str, options: LocalWriterOptions, recreate: bool = False) -> Iterator[LocalWriter]:
    """`recreate`: everything is read again."""
    with writer_lock(folder, options.engine.lock_seconds) as lock, ExitStack() as stack:
        if recreate:
            _await_readers(folder, lock, options.engine.lock_seconds)
        tighten_index(folder)
        stack.callback(tighten_index, folder)
        writer = _open_catalogue(folder, lock, options, recreate)
        stack.callback(writer.close)
        writer.settle()
        writer.begin()
        _settle(writer, recreate)
        yield writer
        writer.finish()


@contextmanager
def bookkeeping(folder: str, wait: float) -> Iterator[Catalogue]:
    """The catalogue alone, to note something while nobody else writes."""
    with writer_lock(folder, wait):
        catalogue = Catalogue(folder)
        try:
            catalogue.begin()
            yield catalogue
        finally:
            catalogue.close()


def _await_readers(folder: str, lock: WriterLock, wait: float) -> None:
    """Nothing is begun anew while somebody brings a root up to date: it would go on with what it knew before."""
    while busy := busy_root(folder):
        lock.release()
        busy.take(wait)
        busy.release()
        lock.take(wait)


def _settle(writer: LocalWriter, recreate: bool) -> None:
    """Once it is certain that the index fits the settings: repair it, or begin it anew."""
    meta, opening = writer.meta(), writer.options
    if "fingerprint" not in meta or recreate:
        _begin_anew(writer, meta)
        return
    opening.engine.check(meta)
    meta |= heal(writer, meta)
    mended = rebuild(writer, opening.open_text, opening.text, meta, writer.renew)
    writer.mended = bool(mended)
    meta |= mended
    _sweep(writer, meta["text_folder"])
    if PUBLIC_TEXT not in meta:  # of an index that had no private row yet
        writer.set_meta({PUBLIC_TEXT: meta["text_folder"]})


def _begin_anew(writer: LocalWriter, meta: dict[str, str]) -> None:
    """With nothing in it; the stores of before are swept once no query can still read them."""
    folder, text = writer.folder, next_folder(writer.folder, meta.get("text_folder", "text-0"))
    _retire(folder)
    meta[TIERS_BEFORE_REBUILD] = json.dumps(_known_tiers(meta))
    built = json.dumps(writer.options.engine.fingerprint, sort_keys=True)
    meta |= {"fingerprint": built, "text_folder": text, CURRENT_TIERS: "{}", NEXT_TIERS: "{}"}
    meta[PUBLIC_TEXT] = text
    _sweep(writer, text, keep_vectors=False)
    writer.open_text(writer.options.text, text)
    writer.clear(meta | registered(writer, meta))  # only now: the catalogue never names a store that is not there
    unmark(folder)


def _known_tiers(meta: Mapping[str, str]) -> list[str]:
    """The tiers that the index has, or had before it was made anew."""
    return sorted({*json.loads(meta.get(CURRENT_TIERS, "{}")), *json.loads(meta.get(TIERS_BEFORE_REBUILD, "[]"))})


def _open_catalogue(folder: str, lock: WriterLock, options: LocalWriterOptions, recreate: bool) -> LocalWriter:
    """The catalogue, made again if it is damaged and may be."""
    ignore = os.path.join(folder, ".gitignore")
    if not os.path.exists(ignore):
        with writable(folder), open(ignore, "w", encoding="utf8", opener=private) as file:
            file.write("*\n")
    kept: dict[str, str] = {}
    former: dict[str, tuple[str, str]] = {}
    names: set[str] = set()
    covered: list[str] = []
    try:
        writer = LocalWriter(folder, lock, options)
        with ExitStack() as undo:
            undo.callback(writer.close)
            try:
                with guarded(writer.path):
                    covered = writer.covered = [root.path for root in writer.roots()]
            except IndexDamaged:
                if not recreate:
                    raise
            if recreate:
                options.engine.check_roots(covered)
            if not recreate or not damage(writer.db):
                undo.pop_all()
                return writer
            kept, former, names = _rescued(writer)
    except (IndexDamaged, IndexMismatch):
        if not recreate:
            raise
    there = os.listdir(folder)
    kept.setdefault(
        TIERS_BEFORE_REBUILD, json.dumps(sorted({name.split("-")[1] for name in there if name.startswith("vectors-")}))
    )
    for name in there:
        if name.startswith(FILE):
            os.unlink(os.path.join(folder, name))
    writer = LocalWriter(folder, lock, options)
    writer.set_meta(kept)
    writer.remember(former, names)
    writer.covered = covered
    return writer


def _rescued(catalogue: Catalogue) -> tuple[dict[str, str], dict[str, tuple[str, str]], set[str]]:
    """What is registered, where the next row and text store go, and the roots of now and before with their names and
    prefixes, and what their ids began with, as far as a damaged catalogue still says."""
    kept: dict[str, str] = {}
    former: dict[str, tuple[str, str]] = {}
    names: set[str] = set()
    with suppress(sqlite3.DatabaseError, TypeError, AttributeError):
        former |= catalogue.former_roots()
    with suppress(sqlite3.DatabaseError, TypeError, AttributeError):
        names |= catalogue.former_names()
    with suppress(sqlite3.DatabaseError, TypeError, AttributeError):
        for root in catalogue.roots():
            former[root.path] = (root.name, root.prefix)
            names |= catalogue.beginnings(root)
    with suppress(sqlite3.DatabaseError, ValueError):
        kept[WAITING_RECORDS] = json.dumps(sound(catalogue.db))
    with suppress(IndexDamaged):
        meta = catalogue.meta()
        kept |= {key: value for key, value in meta.items() if key in ("next_row", "text_folder")}
        with suppress(ValueError, TypeError):
            kept[TIERS_BEFORE_REBUILD] = json.dumps(_known_tiers(meta))
    return kept, former, names


def _retire(folder: str) -> None:
    """Queries of this moment may still have to open the stores that are about to be replaced."""
    for name in os.listdir(folder):
        if name.startswith(STORES):
            os.utime(os.path.join(folder, name))


def _sweep(writer: LocalWriter, text: str, keep_vectors: bool = True) -> None:
    """Remove the stores of before a rebuild, once no query can still read them."""
    current = {text, *(stores(writer.db) if keep_vectors else ())}
    for name in os.listdir(writer.folder):
        path = os.path.join(writer.folder, name)
        old = name.startswith(STORES) and name not in current
        if old and os.path.getmtime(path) < time.time() - writer.options.engine.grace_seconds:
            shutil.rmtree(path, ignore_errors=True)
