"""Rebuilding the text store from the catalogue: if it is lost or damaged, or has too many dead rows.

The new store has live rows only, so it scores as a fresh index does.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import replace

from watersmeet.core.documents import Document
from watersmeet.core.entities import TOOL, entity_of, not_embedded
from watersmeet.core.errors import IndexDamaged, NoIndex
from watersmeet.core.index import WAITING_RECORDS
from watersmeet.core.indexing import Entry
from watersmeet.core.model import Row
from watersmeet.core.ports import TextStore
from watersmeet.core.text_fields import Prepared, prepare
from watersmeet.store.local._counts import shared
from watersmeet.store.local._private_words import PUBLIC_TEXT, analysed, create, has_table, private, put
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.read_back import StoredChunk, correct, read_back
from watersmeet.store.local.records import LocalRecords

OpenText = Callable[[str, str], TextStore]
"""Opens a text store, by kind and folder."""
DOCUMENTS_PER_RENEWAL = 256
"""Documents written between two renewals of the lock."""


def rebuild(
    catalogue: Catalogue, open_text: OpenText, kind: str, meta: Mapping[str, str], renew: Callable[[], None]
) -> dict[str, str]:
    """Rebuilds the text store if it lacks live rows or ever had private ones; returns changed entries of `meta`."""
    live, public = shared(catalogue.db), meta.get(PUBLIC_TEXT)
    exposed = bool(private(catalogue.db)) if public is None else public != meta["text_folder"]
    folder = os.path.join(catalogue.folder, meta["text_folder"])
    if not exposed and not (live and _lacks_rows(open_text(kind, folder), live)):
        return {}
    return rewrite(catalogue, open_text, kind, meta, renew)


def rewrite(
    catalogue: Catalogue, open_text: OpenText, kind: str, meta: Mapping[str, str], renew: Callable[[], None]
) -> dict[str, str]:
    """Writes the live rows to a text store of a new name; returns changed entries of `meta`."""
    with catalogue.transaction() as db:
        return write_anew(db, catalogue, open_text, kind, meta, renew)


def write_anew(
    db: sqlite3.Connection,
    catalogue: Catalogue,
    open_text: OpenText,
    kind: str,
    meta: Mapping[str, str],
    renew: Callable[[], None],
) -> dict[str, str]:
    """Writes the live rows to a text store of a new name, which is complete before the catalogue names it: at the end
    of the open transaction.

    A catalogue of an older version does not preserve every word: such files are to be read again, and such entities are
    put again by the next writer. `renew` is called regularly, to show progress.
    """
    name = next_folder(catalogue.folder, meta["text_folder"])
    new_facts = {"text_folder": name, PUBLIC_TEXT: name}
    hashes: dict[Row, bytes] = {}
    changed_entities: set[str] = set()
    folder = os.path.join(catalogue.folder, name)
    with closing(open_text(kind, folder)) as store, closing(store.writer()) as text:
        text.add(_entries(db, catalogue, hashes, changed_entities, text.analyse, renew))
        text.commit()
    if changed_entities:
        new_facts |= registered(catalogue, meta)
    with suppress(FileNotFoundError):  # running queries may still open it
        os.utime(os.path.join(catalogue.folder, meta["text_folder"]))
    correct(db, catalogue, hashes, new_facts)
    return new_facts


def registered(catalogue: Catalogue, meta: Mapping[str, str]) -> dict[str, str]:
    """A `meta` entry with all registry records, which are in no folder and must be put again."""
    records = [*json.loads(meta.get(WAITING_RECORDS, "[]")), *(record.record for record in LocalRecords(catalogue))]
    return {WAITING_RECORDS: json.dumps(list({record["path"]: record for record in records}.values()))}


def next_folder(folder: str, text_folder: str) -> str:
    """A folder name for a text store, never used before."""
    number = 1 + int(text_folder.removeprefix("text-"))
    while os.path.exists(os.path.join(folder, f"text-{number}")):
        number += 1
    return f"text-{number}"


def _lacks_rows(opened: TextStore, live: int) -> bool:
    with closing(opened) as store:
        try:
            return store.reader().size < live
        except (NoIndex, IndexDamaged):
            return True


def _entries(
    db: sqlite3.Connection,
    catalogue: Catalogue,
    hashes: dict[Row, bytes],
    registered: set[str],
    analyse: Callable[[str, str], str],
    renew: Callable[[], None],
) -> Iterator[Entry]:
    """All live public rows; the words of private ones go into the catalogue. Rows whose text differs from the stored
    hash go into `hashes`, and their documents, if they are entities, into `registered`."""
    withheld = private(db)
    if withheld and not has_table(db):
        create(db)  # first: a table cannot be made while rows are read
    for number, (document, chunks) in enumerate(read_back(catalogue)):
        if number % DOCUMENTS_PER_RENEWAL == 0:
            renew()
        for stored, prepared in prepared_again(document, chunks):
            if prepared.hash != stored.hash:
                hashes[stored.row] = prepared.hash
                registered |= {document.id} if "record" in document.fields else set()
            if document.id in withheld:
                put(db, {stored.row: analysed(prepared.fields, analyse)})
            else:
                yield Entry(stored.row, prepared.fields)


def prepared_again(document: Document, chunks: Sequence[StoredChunk]) -> Iterator[tuple[StoredChunk, Prepared]]:
    """Stored chunks of a document with the words that they had when they were written. Those that a registry entity is
    found by besides its text, and those of descriptive fields, belong to the first one."""
    also = ""
    if chunks[0].ordinal:
        document = replace(document, fields={})
    elif (record := document.fields.get("record")) and document.kind != TOOL:
        also = not_embedded(entity_of(record))
    return zip(chunks, prepare(document, [stored.chunk for stored in chunks], also), strict=True)
