"""What a catalogue holds, read back as it was put: the other stores can be made again from it."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from watersmeet.core.documents import Chunk, Document
from watersmeet.core.entities import TOOL
from watersmeet.core.model import Row
from watersmeet.core.names import ALIAS
from watersmeet.store.local import _mentions, _private_words, _records
from watersmeet.store.local._checksums import HASH, fields_are_sound, seal_meta, unsound
from watersmeet.store.local._counts import recount
from watersmeet.store.local._place_columns import place_of
from watersmeet.store.local.catalogue import SAID, Catalogue


class StoredChunk(NamedTuple):
    """A live row, and what was indexed of it."""

    row: Row
    chunk: Chunk
    hash: bytes


def read_back(catalogue: Catalogue) -> Iterator[tuple[Document, list[StoredChunk]]]:
    """Each document with its live chunks; one that is in no file has its record. Of a catalogue from before they were
    kept as written, tags and aliases are in lower case, and in the order of the alphabet."""
    rows = catalogue.db.execute(
        "SELECT d.id, d.name, d.kind, d.title, d.path, d.file, d.fields,"
        " c.row, c.id, c.text, c.headings, substr(c.hash, 1, 16), c.first, c.last, c.place"
        " FROM documents d JOIN chunks c ON c.document = d.id ORDER BY d.id, c.ordinal"
    )
    for (key, name, kind, title, path, file, text), found in groupby(rows, key=lambda row: row[:7]):
        fields = json.loads(text)
        aliases, tags = fields.get(SAID) or (_aliases(catalogue, key), _tags(catalogue, key))
        record = {"record": fields["record"]} if file is None and "record" in fields else {}
        document = Document(name, kind, title, path, aliases=tuple(aliases), tags=tuple(tags), fields=record)
        yield (
            document,
            [
                StoredChunk(Row(row), Chunk(identity, name, text, tuple(json.loads(path)), place_of(file, *at)), hash)
                for row, identity, text, path, hash, *at in (one[7:] for one in found)
            ],
        )


def _aliases(catalogue: Catalogue, key: int) -> list[str]:
    rows = catalogue.db.execute("SELECT key FROM names WHERE document = ? AND rank = ?", (key, ALIAS))
    return [alias for (alias,) in rows]


def _tags(catalogue: Catalogue, key: int) -> list[str]:
    rows = catalogue.db.execute("SELECT value FROM facets WHERE document = ? AND key = 'tag'", (key,))
    return [tag for (tag,) in rows]


def correct(
    catalogue: Catalogue,
    hashes: Mapping[Row, bytes],
    meta: Mapping[str, str],
    words: Mapping[Row, _private_words.Words],
) -> None:
    """Note what rows now say in the text store, the words of those that are not in it, and what else is new; the files
    of the former are to be read again."""
    rows = json.dumps(list(hashes))
    with catalogue.transaction() as db:
        for row, hash in hashes.items():  # its sum stays: what is damaged is to be found so
            (old,) = db.execute("SELECT hash FROM chunks WHERE row = ?", (row,)).fetchone()
            db.execute("UPDATE chunks SET hash = ? WHERE row = ?", (hash + old[HASH:], row))
        documents = "SELECT c.document FROM json_each(?) j JOIN chunks c ON c.row = j.value"
        catalogue.read_again(db, f"id IN (SELECT file FROM documents WHERE id IN ({documents}))", [(rows,)])
        db.execute(f"UPDATE documents SET hash = x'' WHERE id IN ({documents})", (rows,))
        _private_words.put(db, words)
        if words:
            db.executemany("UPDATE unseen SET private = 1 WHERE row = ?", [(row,) for row in words])
            recount(db)
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())
        seal_meta(db)


def reread(catalogue: Catalogue) -> list[dict[str, Any]]:
    """See to it that damaged documents are written again: their files are to be read, the records of entities are
    returned. A record that is damaged in all places goes: it has to be registered again."""
    found = unsound(catalogue.db)
    again: dict[str, dict[str, Any]] = {}
    with catalogue.transaction() as db:
        _records.mend(db)
        for key in found:
            sql = "SELECT file, CAST(fields AS BLOB), hash FROM documents WHERE id = ?"
            row = db.execute(sql, (key,)).fetchone()
            if row is None:  # a chunk that says it belongs to nobody
                _forget(db, key)
                continue
            file, fields, hash = row
            db.execute("UPDATE documents SET hash = x'' WHERE id = ?", (key,))
            if file is not None:
                catalogue.read_again(db, "id = ?", [(file,)])
                continue
            record = _registered(db, fields) if fields_are_sound(hash, fields) else None
            if record:
                again[record["path"]] = record
            else:  # whose it was is not certain
                _forget(db, key)
                again |= {known["path"]: known for known in _records.sound(db)}
        recount(db)
    return list(again.values())


def _registered(db: sqlite3.Connection, fields: bytes) -> dict[str, Any] | None:
    """The record of the entity that this is, or that this is a tool of."""
    record = _records.record_of(fields) or {}
    owner = record.get("server" if record.get("kind") == TOOL else "path")
    known = _records.stored(db, owner) if owner else None
    return known.record if known else None


def _forget(db: sqlite3.Connection, key: int) -> None:
    now = time.time()
    rows = db.execute("SELECT row FROM chunks WHERE document = ?", (key,)).fetchall()
    db.executemany("INSERT OR IGNORE INTO dead VALUES (?, ?)", [(row, now) for (row,) in rows])
    db.executemany("DELETE FROM unseen WHERE row = ?", rows)
    _private_words.forget(db, [row for (row,) in rows])
    for table in ("chunks", "facets", "names", "links"):
        db.execute(f"DELETE FROM {table} WHERE document = ?", (key,))
    _mentions.forget(db, key)
    db.execute("DELETE FROM documents WHERE id = ?", (key,))
