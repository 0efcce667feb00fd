"""Checksums of catalogue rows, stored after the hash of each chunk and document.

A row of an older version has only the hash, and is not checked.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

from watersmeet.core.errors import IndexDamaged
from watersmeet.store.local._place_columns import Columns

HASH = 16
"""Bytes of a `hash` column that are the hash itself; checksums follow."""
META = "check"
"""The key in `meta` of the checksum of all other entries."""
_PLACE = "(SELECT (SELECT place FROM chunks p WHERE p.row = {0}.row) FROM (SELECT '' AS place))"
"""The `place` column; empty in formats 1 and 2, which lack it: the name then resolves to the outer query."""
CHUNK = (
    "CAST({0}.id AS BLOB), CAST({0}.headings AS BLOB), {0}.first, {0}.last, plain_text(CAST({0}.text AS BLOB)),"
    f" CAST({_PLACE} AS BLOB)"
)
HEAD = "CAST({0}name AS BLOB), CAST({0}kind AS BLOB), CAST({0}title AS BLOB), CAST({0}path AS BLOB), {0}modified"
"""Columns that the checksums of a chunk and of a document cover. As BLOBs, so that damaged UTF-8 can be reported."""


def text_sum(headings: bytes, text: bytes) -> int:
    return crc32(text, crc32(headings))


def place_sum(identity: bytes, first: object, last: object, place: bytes) -> int:
    """The checksum of a chunk's place, kept apart because places change alone. Without `place` it is as in format 2."""
    return crc32(b"%b %a %a%b" % (identity, first, last, place and b" " + place))


def head_sum(name: bytes, kind: bytes, title: bytes, path: bytes, modified: object) -> int:
    return crc32(b"%b\0%b\0%b\0%b\0%a" % (name, kind, title, path, modified))


def packed(hash: bytes, *sums: int) -> bytes:
    return b"".join((hash[:HASH].ljust(HASH, b"\0"), *(one.to_bytes(4, "little") for one in sums)))


def has_sum(hash: object, number: int, total: int) -> bool:
    """Whether checksum `number` after the hash equals `total`. Rows of older versions have none and count as sound."""
    if not isinstance(hash, bytes):
        return False
    start = HASH + 4 * number
    return hash[start : start + 4] == total.to_bytes(4, "little") or len(hash) in (0, HASH)


def chunk_is_sound(
    hash: object, identity: bytes, headings: bytes, first: object, last: object, text: bytes, place: bytes
) -> bool:
    try:
        return has_sum(hash, 0, text_sum(headings, text) ^ place_sum(identity, first, last, place))
    except TypeError:  # a column is NULL
        return False


def head_is_sound(hash: object, name: bytes, kind: bytes, title: bytes, path: bytes, modified: object) -> bool:
    try:
        return has_sum(hash, 0, head_sum(name, kind, title, path, modified))
    except TypeError:
        return False


def fields_are_sound(hash: object, fields: bytes | None) -> bool:
    return fields is not None and has_sum(hash, 1, crc32(fields))


def moved(hash: bytes, identity: str, old: Columns, new: Columns) -> bytes:
    """The hash of a chunk after its place changed. Only the place's share changes: damaged text stays detectable."""
    if len(hash) <= HASH:
        return hash
    before, after = (place_sum(identity.encode(), first, last, place.encode()) for first, last, place in (old, new))
    return packed(hash, int.from_bytes(hash[HASH:], "little") ^ before ^ after)


# ---------------------------------------------------------------- a document's rows in other tables


def other_rows(db: sqlite3.Connection, key: int) -> Iterator[str]:
    """A document's facets, names, links and mentions, in an order independent of when they were written."""
    tables = ["facets (key, value)", "names (key, rank)", "links (key, target, type, heading, alias)"]
    if db.execute("SELECT 1 FROM sqlite_master WHERE name = 'mentions'").fetchone():
        tables.append("mentions (word, kind, places)")
    for table in tables:
        name, _, columns = table.rstrip(")").partition(" (")
        for row in db.execute(f"SELECT {columns} FROM {name} WHERE document = ? ORDER BY {columns}", (key,)):
            yield repr(row)


def rows_sum(db: sqlite3.Connection, key: int) -> int:
    total = 0
    for row in other_rows(db, key):
        total = crc32(row.encode("utf8", "surrogatepass"), total)
    return total


def seal(db: sqlite3.Connection, key: int) -> None:
    """Store the checksums of a document just written; its chunks have theirs already."""
    sql = f"SELECT {HEAD.format('')}, CAST(fields AS BLOB), hash FROM documents WHERE id = ?"
    *head, fields, hash = db.execute(sql, (key,)).fetchone()
    sealed = packed(hash, head_sum(*head), crc32(fields), rows_sum(db, key))
    db.execute("UPDATE documents SET hash = ? WHERE id = ?", (sealed, key))


# ---------------------------------------------------------------- registry records


def record_sum(path: bytes, record: bytes | None, version: object, changed: object) -> int:
    return crc32(repr((path, record, version, changed)).encode())


def record_is_sound(path: bytes, record: bytes | None, version: object, changed: object, total: object) -> bool:
    return record_sum(path, record, version, changed) == total


def unsound_records(db: sqlite3.Connection) -> dict[int, str]:
    """Damaged registry records, as key and path. A catalogue of an older version has no records."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'records'").fetchone():
        return {}
    rows = db.execute("SELECT id, CAST(path AS BLOB), CAST(record AS BLOB), version, changed, sum FROM records")
    return {key: bytes(row[0]).decode("utf8", "replace") for key, *row in rows if not record_is_sound(*row)}


# ---------------------------------------------------------------- the `meta` table


def seal_meta(db: sqlite3.Connection) -> None:
    meta = dict(db.execute("SELECT key, value FROM meta"))
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (META, str(_meta_sum(meta))))


def checked_meta(meta: dict[str, str], folder: str) -> dict[str, str]:
    """The entries of `meta` without their checksum; raises if that does not match."""
    stored_sum = meta.pop(META, None)
    if stored_sum is not None and stored_sum != str(_meta_sum(meta)):
        raise IndexDamaged(
            f"{folder}: the catalogue's `meta` table is damaged", "build it anew with `watersmeet sync PATH --recreate`"
        )
    return meta


def _meta_sum(meta: Mapping[str, Any]) -> int:
    return crc32(
        repr(sorted((key, value) for key, value in meta.items() if key != META)).encode("utf8", "surrogatepass")
    )


# ---------------------------------------------------------------- the whole catalogue


def unsound(db: sqlite3.Connection) -> dict[int, str]:
    """Damaged documents by key, each with what part of it is damaged."""
    found: dict[int, str] = {}
    for key, fields, hash, *head in db.execute(
        f"SELECT id, CAST(fields AS BLOB), hash, {HEAD.format('')} FROM documents"
    ):
        if not has_sum(hash, 0, head_sum(*head)):
            found[key] = "its name, title or path"
        elif not fields_are_sound(hash, fields):
            found[key] = "its fields"
    for key, hash, *chunk in db.execute(f"SELECT document, hash, {CHUNK.format('chunks')} FROM chunks"):
        if not chunk_is_sound(hash, *chunk):
            found[key] = "the text of a chunk"
    for key, hash in db.execute("SELECT id, hash FROM documents").fetchall():
        if key not in found and not has_sum(hash, 2, rows_sum(db, key)):
            found[key] = "its tags, names or links"
    return found


def damage(db: sqlite3.Connection) -> list[str]:
    """Damage found in the catalogue: SQLite's integrity check first, then the checksums."""
    try:
        problems = [text for (text,) in db.execute("PRAGMA integrity_check(10)") if text != "ok"]
        if problems:
            return problems
        found = unsound(db)
        names = {
            key: db.execute("SELECT CAST(name AS BLOB) FROM documents WHERE id = ?", (key,)).fetchone() for key in found
        }
        records = unsound_records(db)
        checked_meta(dict(db.execute("SELECT key, value FROM meta")), "the index")
    except sqlite3.DatabaseError as error:
        return [str(error)]
    except IndexDamaged as error:
        return [str(error)]
    damaged = [f"{bytes((names[key] or [b'?'])[0]).decode('utf8', 'replace')}: {what}" for key, what in found.items()]
    damaged += [f"{path}: its record" for path in records.values()]
    return [f"{what_is_damaged} is not as it was written" for what_is_damaged in damaged]
