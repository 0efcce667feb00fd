"""Audiences of collections: kept in `meta`, and as a field and facets of each document.

So every read applies one gate, whether a registry entity, a note or a collection restricts who may see a document.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from watersmeet.core.facets import audience_labels
from watersmeet.core.visibility import AUDIENCE_GATE, NOBODY, Audience, is_restricted, restricted_to
from watersmeet.core.writing import Put
from watersmeet.store.local import _private_words
from watersmeet.store.local._checksums import HEAD, fields_are_sound, has_sum, head_is_sound, rows_sum, seal, seal_meta

AUDIENCES, FORMER = "audiences", "former_collections"
"""Entries of `meta`: the audience of each restricted collection by name; the collection of each removed root by the
root's name, if that is restricted."""


def audiences(meta: Mapping[str, str]) -> dict[str, Audience]:
    return {name: tuple(audience) for name, audience in json.loads(meta.get(AUDIENCES, "{}")).items()}


def former(meta: Mapping[str, str]) -> dict[str, str]:
    found: dict[str, str] = json.loads(meta.get(FORMER, "{}"))
    return found


def stored(db: sqlite3.Connection) -> dict[str, str]:
    """The entries of `meta` on audiences: read with every commit, so without all others."""
    sql = "SELECT key, value FROM meta WHERE key IN (?, ?)"
    return dict(db.execute(sql, (AUDIENCES, FORMER)).fetchall())


def store(db: sqlite3.Connection, collection: str, audience: Audience) -> None:
    """Notes the audience of a collection. One that everyone may see is no longer remembered for removed roots."""
    meta = stored(db)
    named, removed = audiences(meta), former(meta)
    named.pop(collection, None)
    if audience:
        named[collection] = audience
    else:
        removed = {root: name for root, name in removed.items() if name != collection}
        db.execute(
            "DELETE FROM collections WHERE name = ?"
            " AND NOT EXISTS (SELECT 1 FROM roots WHERE collection = collections.id)"
            " AND NOT EXISTS (SELECT 1 FROM documents WHERE collection = collections.id)",
            (collection,),
        )
    _write(db, named, removed)


def remember(db: sqlite3.Connection, root: str, collection: str) -> None:
    """Notes the collection of a root that is removed, if not everyone may see it."""
    meta = stored(db)
    if collection in audiences(meta):
        _write(db, audiences(meta), {**former(meta), root: collection})


def forget(db: sqlite3.Connection, root: str) -> None:
    meta = stored(db)
    if root in former(meta):
        _write(db, audiences(meta), {name: one for name, one in former(meta).items() if name != root})


def _write(db: sqlite3.Connection, named: Mapping[str, Audience], removed: Mapping[str, str]) -> None:
    values = [(AUDIENCES, json.dumps(named, sort_keys=True)), (FORMER, json.dumps(removed, sort_keys=True))]
    db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", values)
    seal_meta(db)


def stamped(puts: Sequence[Put], by_root: Mapping[int, int], by_collection: Mapping[int, Audience]) -> list[Put]:
    """Documents to put, with the audience of their collection."""
    found = []
    for put in puts:
        audience = by_collection.get(by_root.get(put.file[0], -1) if put.file else put.collection, ())
        fields = restricted_to(put.document.fields, audience) if audience else put.document.fields
        found.append(replace(put, document=replace(put.document, fields=fields)) if audience else put)
    return found


def restamp(db: sqlite3.Connection, which: str, values: Sequence[object], audience: Audience) -> bool:
    """Gives stored documents another audience; returns whether words of any have to move to or from the text store."""
    opened: list[int] = []
    moves = False
    rows = db.execute(
        f"SELECT id, hash, {HEAD.format('')}, CAST(fields AS BLOB) FROM documents WHERE {which}", values
    ).fetchall()
    for key, hash, *head, text in rows:
        fields = _fields(text)
        after = restricted_to(fields, audience) if fields is not None else {AUDIENCE_GATE: [NOBODY]}
        if after == fields:
            continue
        sound = head_is_sound(hash, *head) and fields_are_sound(hash, text) and has_sum(hash, 2, rows_sum(db, key))
        _set_fields(db, key, after)
        if sound:  # a damaged document must not get a valid checksum
            seal(db, key)
        was, now = fields is not None and is_restricted(fields), is_restricted(after)
        moves = moves or was != now
        if was and not now:
            opened.append(key)
    _open(db, opened)
    return moves


def _fields(text: bytes) -> dict[str, Any] | None:
    """None if they are damaged."""
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _set_fields(db: sqlite3.Connection, key: int, fields: Mapping[str, Any]) -> None:
    db.execute("UPDATE documents SET fields = ? WHERE id = ?", (json.dumps(fields, ensure_ascii=False), key))
    db.execute("DELETE FROM facets WHERE document = ? AND key = ?", (key, AUDIENCE_GATE))
    stated = [value for name, value in fields.items() if name.casefold() == AUDIENCE_GATE]
    facets = [(AUDIENCE_GATE, label, key) for value in stated for label in audience_labels(value)]
    db.executemany("INSERT OR IGNORE INTO facets VALUES (?, ?, ?)", facets)


def _open(db: sqlite3.Connection, documents: Collection[int]) -> None:
    """Forgets the private words of documents that everyone may see now."""
    sql = "SELECT c.row FROM json_each(?) j JOIN chunks c ON c.document = j.value"
    rows = [row for (row,) in db.execute(sql, (json.dumps(list(documents)),))]
    _private_words.forget(db, rows)
    db.executemany("UPDATE unseen SET private = 0 WHERE row = ?", [(row,) for row in rows])
