"""Opening a local index for writing: created if missing, repaired if damaged, refused if settings do not fit."""

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
from watersmeet.core.text_fields import FORM
from watersmeet.store.local import _audiences
from watersmeet.store.local._checksums import damage
from watersmeet.store.local._connect import FILE, RECREATE_HINT, sqlite_errors
from watersmeet.store.local._counts import stores
from watersmeet.store.local._file_checks import marked, unmark
from watersmeet.store.local._private_words import PUBLIC_TEXT
from watersmeet.store.local._records import sound_records
from watersmeet.store.local._turns import WriterLock, await_readers, tighten_index, writer_lock
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.compaction import progress_of
from watersmeet.store.local.read_back import TEXT_FORM, read_described_again, reread
from watersmeet.store.local.rebuild_text import next_folder, rebuild, registered
from watersmeet.store.local.writer import LocalWriter, LocalWriterOptions

STORES = ("text-", "vectors-")
"""Prefixes of the folders of the other stores."""
RESCUED = "rescued"
"""The collection of roots whose audience was lost with a damaged catalogue."""


@contextmanager
def open_writer(folder: str, options: LocalWriterOptions, recreate: bool = False) -> Iterator[LocalWriter]:
    """A writer that holds the writer lock. `recreate`: the index is emptied, and everything is read again."""
    with writer_lock(folder, options.engine.lock_seconds) as lock, ExitStack() as stack:
        if recreate:
            await_readers(folder, lock, options.engine.lock_seconds)
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
    """The catalogue alone, under the writer lock, for small notes."""
    with writer_lock(folder, wait):
        catalogue = Catalogue(folder)
        try:
            catalogue.begin()
            yield catalogue
        finally:
            catalogue.close()


def _settle(writer: LocalWriter, recreate: bool) -> None:
    """Empties the index, or checks that it fits the settings and repairs it."""
    meta, options = writer.meta(), writer.options
    if "fingerprint" not in meta or recreate:
        _begin_anew(writer, meta)
        return
    options.engine.check(meta)
    meta |= repair(writer, meta)
    if meta.get(TEXT_FORM) != FORM:
        read_described_again(writer)
        writer.set_meta({TEXT_FORM: FORM})
    rebuilt = rebuild(writer, options.open_text, options.text, meta, writer.renew)
    writer.mended = bool(rebuilt)
    meta |= rebuilt
    _sweep(writer, meta)
    if PUBLIC_TEXT not in meta:  # an index without private rows so far
        writer.set_meta({PUBLIC_TEXT: meta["text_folder"]})


def repair(catalogue: Catalogue, meta: Mapping[str, str]) -> dict[str, str]:
    """Repairs a catalogue marked as damaged by a search or `doctor`; returns changed entries of `meta`.

    Lost entries of SQL indexes are rebuilt from the tables. Damaged documents are read again at the next sync of their
    files; registry entities are put again from their records.
    """
    if not marked(catalogue.folder):
        return {}
    with sqlite_errors(catalogue.path):
        if not _is_consistent(catalogue):
            catalogue.db.execute("REINDEX")
            if not _is_consistent(catalogue):
                raise IndexDamaged(f"{catalogue.path}: {'; '.join(damage(catalogue.db)[:3])}", RECREATE_HINT)
        records = {record["path"]: record for record in json.loads(meta.get(WAITING_RECORDS, "[]"))}
        records |= {record["path"]: record for record in reread(catalogue)}
    changed_facts = {WAITING_RECORDS: json.dumps(list(records.values()))} if records else {}
    catalogue.set_meta(changed_facts)
    unmark(catalogue.folder)
    return changed_facts


def _is_consistent(catalogue: Catalogue) -> bool:
    return [text for (text,) in catalogue.db.execute("PRAGMA integrity_check(1)")] == ["ok"]


def _begin_anew(writer: LocalWriter, meta: dict[str, str]) -> None:
    """Empties the index; old stores are deleted once no query can still read them."""
    folder, text = writer.folder, next_folder(writer.folder, meta.get("text_folder", "text-0"))
    _retire(folder)
    meta[TIERS_BEFORE_REBUILD] = json.dumps(_tier_names(meta))
    built = json.dumps(writer.options.engine.fingerprint, sort_keys=True)
    meta |= {"fingerprint": built, "text_folder": text, CURRENT_TIERS: "{}", NEXT_TIERS: "{}"}
    meta[PUBLIC_TEXT], meta[TEXT_FORM] = text, FORM
    _sweep(writer, meta, keep_vectors=False)
    writer.open_text(writer.options.text, text)
    writer.clear(meta | registered(writer, meta))  # last: the catalogue must never name a store that does not exist
    unmark(folder)


def _tier_names(meta: Mapping[str, str]) -> list[str]:
    """The tiers that the index has, or had before it was emptied."""
    return sorted({*json.loads(meta.get(CURRENT_TIERS, "{}")), *json.loads(meta.get(TIERS_BEFORE_REBUILD, "[]"))})


def _open_catalogue(folder: str, lock: WriterLock, options: LocalWriterOptions, recreate: bool) -> LocalWriter:
    """The catalogue; a damaged one is created anew if `recreate`."""
    ignore = os.path.join(folder, ".gitignore")
    if not os.path.exists(ignore):
        with writable(folder), open(ignore, "w", encoding="utf8", opener=private) as file:
            file.write("*\n")
    facts: dict[str, str] = {}
    former_roots: dict[str, tuple[str, str]] = {}
    id_beginnings: set[str] = set()
    covered: list[str] = []
    try:
        writer = LocalWriter(folder, lock, options)
        with ExitStack() as undo:
            undo.callback(writer.close)
            try:
                with sqlite_errors(writer.path):
                    covered = writer.covered = [root.path for root in writer.roots()]
            except IndexDamaged:
                if not recreate:
                    raise
            if recreate:
                options.engine.check_roots(covered)
            if not recreate or not damage(writer.db):
                undo.pop_all()
                return writer
            facts, former_roots, id_beginnings = _rescued(writer)
    except (IndexDamaged, IndexMismatch):
        if not recreate:
            raise
    names_on_disk = os.listdir(folder)
    facts.setdefault(
        TIERS_BEFORE_REBUILD,
        json.dumps(sorted({name.split("-")[1] for name in names_on_disk if name.startswith("vectors-")})),
    )
    for name in names_on_disk:
        if name.startswith(FILE):
            os.unlink(os.path.join(folder, name))
    writer = LocalWriter(folder, lock, options)
    writer.set_meta(facts)
    writer.remember(former_roots, id_beginnings)
    for name in _audiences.audiences(facts):  # a restricted collection exists, even without documents
        writer.collection(name)
    writer.covered = covered
    return writer


def _rescued(catalogue: Catalogue) -> tuple[dict[str, str], dict[str, tuple[str, str]], set[str]]:
    """What can be read of a damaged catalogue: registry records, the next row and text store; present and former roots
    with names and prefixes; the beginnings of their ids."""
    facts: dict[str, str] = {}
    former_roots: dict[str, tuple[str, str]] = {}
    id_beginnings: set[str] = set()
    with suppress(sqlite3.DatabaseError, TypeError, AttributeError):
        former_roots |= catalogue.former_roots()
    with suppress(sqlite3.DatabaseError, TypeError, AttributeError):
        id_beginnings |= catalogue.former_names()
    with suppress(sqlite3.DatabaseError, TypeError, AttributeError):
        for root in catalogue.roots():
            former_roots[root.path] = (root.name, root.prefix)
            id_beginnings |= catalogue.beginnings(root)
    with suppress(sqlite3.DatabaseError, ValueError):
        facts[WAITING_RECORDS] = json.dumps(sound_records(catalogue.db))
    facts |= _rescued_audiences(catalogue, former_roots)
    with suppress(IndexDamaged):
        meta = catalogue.meta()
        facts |= {key: value for key, value in meta.items() if key in ("next_row", "text_folder")}
        with suppress(ValueError, TypeError):
            facts[TIERS_BEFORE_REBUILD] = json.dumps(_tier_names(meta))
    return facts, former_roots, id_beginnings


def _rescued_audiences(catalogue: Catalogue, former_roots: Mapping[str, tuple[str, str]]) -> dict[str, str]:
    """The audiences of a damaged catalogue. If they cannot be read, its documents are for nobody but the owner."""
    try:
        stored = _audiences.stored(catalogue.db)
        audiences, former = _audiences.audiences(stored), _audiences.former(stored)
        if audiences:
            names = catalogue.collections()
            present = {root.name: names[root.collection] for root in catalogue.roots()}
            former |= {root: name for root, name in present.items() if name in audiences}
    except (sqlite3.DatabaseError, ValueError, TypeError, AttributeError, KeyError):
        audiences, former = {RESCUED: ("private",)}, {name: RESCUED for name, _ in former_roots.values()}
    return {_audiences.AUDIENCES: json.dumps(audiences), _audiences.FORMER: json.dumps(former)} if audiences else {}


def _retire(folder: str) -> None:
    """Touches the stores that are about to be replaced: running queries may still open them."""
    for name in os.listdir(folder):
        if name.startswith(STORES):
            os.utime(os.path.join(folder, name))


def _sweep(writer: LocalWriter, meta: Mapping[str, str], keep_vectors: bool = True) -> None:
    """Deletes old stores once no query can still read them."""
    current = {meta["text_folder"], *(stores(writer.db) if keep_vectors else ())}
    if compaction := progress_of(meta):
        current.add(compaction.folder)
    for name in os.listdir(writer.folder):
        path = os.path.join(writer.folder, name)
        old = name.startswith(STORES) and name not in current
        if old and os.path.getmtime(path) < time.time() - writer.options.engine.grace_seconds:
            shutil.rmtree(path, ignore_errors=True)
