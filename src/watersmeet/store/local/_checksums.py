"""Check sums of what the catalogue holds: they stand behind the hash of a chunk and of a document.

A row of an older version has the hash alone, and is not checked.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Mapping
from typing import Any
from zlib import crc32

from watersmeet.core.errors import IndexDamaged
from watersmeet.store.local._place_columns import Columns

HASH = 16
"""How many bytes of a `hash` are the hash itself."""
META = "check"
"""The entry of `meta` that has the sum of the others."""
_PLACE = "(SELECT (SELECT place FROM chunks p WHERE p.row = {0}.row) FROM (SELECT '' AS place))"
"""Empty in formats 1 and 2, whose chunks have no such column: the name means the outer one then."""
CHUNK = (
    "CAST({0}.id AS BLOB), CAST({0}.headings AS BLOB), {0}.first, {0}.last, CAST({0}.text AS BLOB),"
    f" CAST({_PLACE} AS BLOB)"
)
HEAD = "CAST({0}name AS BLOB), CAST({0}kind AS BLOB), CAST({0}title AS BLOB), CAST({0}path AS BLOB), {0}modified"
"""What the sums of a chunk and of a document are of. Text that is no longer UTF-8 is read all the same, to be named."""


def said_sum(headings: bytes, text: bytes) -> int:
    return crc32(text, crc32(headings))


def place_sum(identity: bytes, first: object, last: object, place: bytes) -> int:
    """The share of what changes when a chunk moves within its document. Of lines alone it is as it always was."""
    return crc32(b"%b %a %a%b" % (identity, first, last, place and b" " + place))


def head_sum(name: bytes, kind: bytes, title: bytes, path: bytes, modified: object) -> int:
    return crc32(b"%b\0%b\0%b\0%b\0%a" % (name, kind, title, path, modified))


def packed(hash: bytes, *sums: int) -> bytes:
    return b"".join((hash[:HASH].ljust(HASH, b"\0"), *(one.to_bytes(4, "little") for one in sums)))


def has(hash: object, number: int, total: int) -> bool:
    """Whether sum `number` behind the hash is this one. What an older version wrote has none, and counts as sound."""
    if not isinstance(hash, bytes):
        return False
    start = HASH + 4 * number
    return hash[start : start + 4] == total.to_bytes(4, "little") or len(hash) in (0, HASH)


def chunk_is_sound(
    hash: object, identity: bytes, headings: bytes, first: object, last: object, text: bytes, place: bytes
) -> bool:
    try:
        return has(hash, 0, said_sum(headings, text) ^ place_sum(identity, first, last, place))
    except TypeError:  # there is nothing where there should be something
        return False


def head_is_sound(hash: object, name: bytes, kind: bytes, title: bytes, path: bytes, modified: object) -> bool:
    try:
        return has(hash, 0, head_sum(name, kind, title, path, modified))
    except TypeError:
        return False


def fields_are_sound(hash: object, fields: bytes | None) -> bool:
    return fields is not None and has(hash, 1, crc32(fields))


def moved(hash: bytes, identity: str, old: Columns, new: Columns) -> bytes:
    """The hash of a chunk that has another place: a damaged text stays damaged."""
    if len(hash) <= HASH:
        return hash
    before, after = (place_sum(identity.encode(), first, last, place.encode()) for first, last, place in (old, new))
    return packed(hash, int.from_bytes(hash[HASH:], "little") ^ before ^ after)


# ---------------------------------------------------------------- a document's rows in other tables


def other_rows(db: sqlite3.Connection, key: int) -> Iterator[str]:
    """Its facets, names, links and mentions, in an order that does not depend on when they were written."""
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
    """Note the sums of a document that was written just now; its chunks have theirs."""
    sql = f"SELECT {HEAD.format('')}, CAST(fields AS BLOB), hash FROM documents WHERE id = ?"
    *head, fields, hash = db.execute(sql, (key,)).fetchone()
    sealed = packed(hash, head_sum(*head), crc32(fields), rows_sum(db, key))
    db.execute("UPDATE documents SET hash = ? WHERE id = ?", (sealed, key))


# ---------------------------------------------------------------- what is registered


def record_sum(path: bytes, record: bytes | None, version: object, changed: object) -> int:
    return crc32(repr((path, record, version, changed)).encode())


def record_is_sound(path: bytes, record: bytes | None, version: object, changed: object, total: object) -> bool:
    return record_sum(path, record, version, changed) == total


def unsound_records(db: sqlite3.Connection) -> dict[int, str]:
    """The records that are not as they were written: key and path. A catalogue of an older version has none."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'records'").fetchone():
        return {}
    rows = db.execute("SELECT id, CAST(path AS BLOB), CAST(record AS BLOB), version, changed, sum FROM records")
    return {key: bytes(row[0]).decode("utf8", "replace") for key, *row in rows if not record_is_sound(*row)}


# ---------------------------------------------------------------- the index's own facts


def seal_meta(db: sqlite3.Connection) -> None:
    meta = dict(db.execute("SELECT key, value FROM meta"))
    db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (META, str(_meta_sum(meta))))


def checked_meta(meta: dict[str, str], folder: str) -> dict[str, str]:
    """Without their sum, if that is right."""
    known = meta.pop(META, None)
    if known is not None and known != str(_meta_sum(meta)):
        raise IndexDamaged(
            f"{folder}: the catalogue's own facts are damaged", "build it anew with `watersmeet sync PATH --recreate`"
        )
    return meta


def _meta_sum(meta: Mapping[str, Any]) -> int:
    return crc32(
        repr(sorted((key, value) for key, value in meta.items() if key != META)).encode("utf8", "surrogatepass")
    )


# ---------------------------------------------------------------- all of it


def unsound(db: sqlite3.Connection) -> dict[int, str]:
    """The documents of which something is not as it was written, each with what that is."""
    found: dict[int, str] = {}
    for key, fields, hash, *head in db.execute(
        f"SELECT id, CAST(fields AS BLOB), hash, {HEAD.format('')} FROM documents"
    ):
        if not has(hash, 0, head_sum(*head)):
            found[key] = "its name, title or path"
        elif not fields_are_sound(hash, fields):
            found[key] = "its fields"
    for key, hash, *chunk in db.execute(f"SELECT document, hash, {CHUNK.format('chunks')} FROM chunks"):
        if not chunk_is_sound(hash, *chunk):
            found[key] = "the text of a chunk"
    for key, hash in db.execute("SELECT id, hash FROM documents").fetchall():
        if key not in found and not has(hash, 2, rows_sum(db, key)):
            found[key] = "its tags, names or links"
    return found


def damage(db: sqlite3.Connection) -> list[str]:
    """What is wrong with the catalogue: what SQLite says, and else what is not as it was written."""
    try:
        said = [text for (text,) in db.execute("PRAGMA integrity_check(10)") if text != "ok"]
        if said:
            return said
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
    told = [f"{bytes((names[key] or [b'?'])[0]).decode('utf8', 'replace')}: {what}" for key, what in found.items()]
    told += [f"{path}: its record" for path in records.values()]
    return [f"{one} is not as it was written" for one in told]
