"""A frozen copy of an index: the rows of one snapshot, and nothing that belongs to this machine or to its users.

The copy is made table by table into a new catalogue, so what is not listed here does not come along: no lease, no stamp
of a file, no dead row, no record of a registry. Paths of this machine become the ids of the documents. The text store
is written anew, so its statistics cover the copied rows only; vectors are copied bit by bit.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
from collections.abc import Collection, Iterator, Mapping
from contextlib import closing
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from watersmeet.common.redaction import shown
from watersmeet.core.errors import IndexProblem
from watersmeet.core.files import make_private, private
from watersmeet.core.index import CURRENT_TIERS, FROZEN, NEXT_TIERS, CopiedIndex, Tier
from watersmeet.core.model import ANY, Condition
from watersmeet.core.text_fields import FORM
from watersmeet.core.visibility import EVERYONE, audience_gates, is_restricted
from watersmeet.store.local import _counts
from watersmeet.store.local._checksums import seal, seal_meta, unsound
from watersmeet.store.local._connect import sqlite_errors
from watersmeet.store.local._private_words import PUBLIC_TEXT
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.read_back import TEXT_FORM
from watersmeet.store.local.rebuild_text import rewrite
from watersmeet.store.local.snapshot import Make, store_of

if TYPE_CHECKING:
    from watersmeet.store.local.snapshot import LocalSnapshot

BLOCK = 2_000
"""Rows inserted at a time."""
_ADDRESS = re.compile(r"(?:git\+)?(?:https?|ssh)://|(?:pypi|npm):", re.IGNORECASE)
"""How the path of a document begins that means the same on every machine."""
_COLUMNS = {
    "documents": "id, name, file, collection, kind, title, path, modified, hash, fields",
    "chunks": "row, id, document, ordinal, headings, first, last, hash, text, place",
    "facets": "key, value, document",
    "names": "key, document, rank",
    "links": "document, key, target, type, heading, alias",
}


def copy_index(
    snapshot: LocalSnapshot, folder: str, make: Make, tiers: Collection[str], private_too: bool
) -> CopiedIndex:
    """Copy the documents of a snapshot into a new folder. `tiers`: the vectors that come along."""
    if snapshot.outdated:
        raise IndexProblem(
            "the index has the format of an earlier version", "run `watersmeet sync`, which upgrades it, and try again"
        )
    built = json.loads(snapshot.facts().get("fingerprint", "{}"))
    if not built:
        raise IndexProblem("the index is empty", "fill it with `watersmeet sync PATH`")
    kept = {name: tier for name, tier in snapshot.tiers().items() if name in tiers}
    readers = {name: _opened(snapshot, tier, make) for name, tier in kept.items()}  # first: dead rows are dropped later
    make_private(folder)
    with closing(Catalogue(folder)) as catalogue:
        copied = _copy_rows(snapshot, catalogue, private_too)
        facts = _facts(snapshot.facts(), kept)
        catalogue.set_meta(facts)
        rewrite(catalogue, lambda kind, place: make(kind)(folder=place), built["text"], facts, lambda: None)
        rows = [row for (row,) in catalogue.db.execute("SELECT row FROM chunks ORDER BY row")]
        counted = {name: _copy_vectors(readers[name], tier, folder, make, rows) for name, tier in kept.items()}
        _settle(snapshot, catalogue, {name: _as_public(kept[name], counted[name], private_too) for name in kept})
    return copied


def freeze(folder: str) -> None:
    """Make a copy one that is never written again: one file of the catalogue, no locks, the mark."""
    with closing(Catalogue(folder)) as catalogue, sqlite_errors(catalogue.path):
        for pragma in ("PRAGMA wal_checkpoint(TRUNCATE)", "PRAGMA journal_mode = DELETE", "VACUUM"):
            catalogue.db.execute(pragma).fetchall()
    _remove_locks(folder)
    with open(os.path.join(folder, FROZEN), "x", encoding="utf8", opener=private) as file:
        file.write("This index is a copy and is never written again.\n")


def _copy_rows(snapshot: LocalSnapshot, catalogue: Catalogue, private_too: bool) -> CopiedIndex:
    """Copy the documents that belong into the copy, with all that hangs on them."""
    damaged, public = snapshot.with_connection(unsound), _public_documents(snapshot)
    count = hidden = entities = 0
    kept: set[int] = set()
    files: set[int] = set()
    with catalogue.transaction() as db:
        for row in snapshot.query(f"SELECT {_COLUMNS['documents']} FROM documents ORDER BY id"):
            key, name, file, _, _, _, path, _, _, fields = row
            if file is None:
                entities += 1
                continue
            if key in damaged:  # a copy would give it a valid checksum
                continue
            if not private_too and (key not in public or is_restricted(json.loads(fields))):
                hidden += 1
                continue
            kept.add(key)
            files.add(file)
            count += 1
            db.execute(_insert("documents"), (*row[:6], public_path(path, name), *row[7:]))
        for table in ("facets", "names", "links", "chunks"):
            _copy_table(snapshot, db, table, kept)
        _copy_sources(snapshot, db, files)
        for key in sorted(kept):
            seal(db, key)
    return CopiedIndex(count, hidden, len(damaged), entities)


def _public_documents(snapshot: LocalSnapshot) -> set[int]:
    """Documents that every viewer finds, by the gate of every search."""
    must, values = snapshot.where(Condition(gates=audience_gates(EVERYONE)))
    return {key for (key,) in snapshot.query(f"SELECT d.id FROM documents d WHERE {must}", values)}


def _copy_table(snapshot: LocalSnapshot, db: sqlite3.Connection, table: str, documents: Collection[int]) -> None:
    """Copy the rows of these documents, some at a time."""
    at = _COLUMNS[table].split(", ").index("document")
    for rows in snapshot.pages(f"SELECT {_COLUMNS[table]} FROM {table}", BLOCK):
        db.executemany(_insert(table), [row for row in rows if row[at] in documents])


def _insert(table: str) -> str:
    columns = _COLUMNS[table]
    return f"INSERT INTO {table} ({columns}) VALUES ({', '.join('?' * len(columns.split(', ')))})"


def _copy_sources(snapshot: LocalSnapshot, db: sqlite3.Connection, files: Collection[int]) -> None:
    """Copy the roots, collections and files of the documents: names, without stamps, cursors and places of this
    machine."""
    roots = set()
    for key, root, name in snapshot.query("SELECT id, root, name FROM files"):
        if key in files:
            roots.add(root)
            db.execute("INSERT INTO files VALUES (?, ?, ?, '', x'', 0)", (key, root, name))
    used = {collection for (collection,) in db.execute("SELECT DISTINCT collection FROM documents")}
    columns = "id, path, name, collection, prefix, kind"
    for key, path, name, collection, prefix, kind in snapshot.query(f"SELECT {columns} FROM roots"):
        if key in roots:
            used.add(collection)
            values = (key, public_path(path, name), name, collection, prefix, kind)
            db.execute(f"INSERT INTO roots ({columns}) VALUES (?, ?, ?, ?, ?, ?)", values)
    for key, name, metadata in snapshot.query("SELECT id, name, metadata FROM collections"):
        if key in used:
            db.execute("INSERT INTO collections VALUES (?, ?, ?)", (key, name, metadata))


def public_path(path: str, name: str) -> str:
    """The path of a document or root for other machines: an address without user and password, else its name."""
    if not _ADDRESS.match(path) or "\\" in path:
        return name
    return shown(path) if "@" in path.partition("://")[2].partition("/")[0] else path


def _facts(facts: Mapping[str, str], tiers: Mapping[str, Tier]) -> dict[str, str]:
    """The entries of `meta` that a copy has."""
    return {
        "fingerprint": facts["fingerprint"],
        "text_folder": "text-0",  # `rewrite` makes the next
        TEXT_FORM: FORM,
        CURRENT_TIERS: json.dumps({name: asdict(tier) for name, tier in tiers.items()}, sort_keys=True),
        NEXT_TIERS: "{}",
    }


def _as_public(tier: Tier, rows: int, private_too: bool) -> Tier:
    """The facts of a tier in the copy: without private rows, levels are those of the public ones."""
    if private_too:
        return replace(tier, rows=rows)
    return replace(tier, rows=rows, level=tier.public_level, level_rows=tier.public_level_rows)


def _opened(snapshot: LocalSnapshot, tier: Tier, make: Make) -> Any:
    """The reader of a tier, after all its files were compared with their checksums: a copy gets new ones."""
    with closing(store_of(tier, snapshot.folder, make)) as source:
        source.verify()
    return snapshot.reader(tier, ANY)


def _copy_vectors(reader: Any, tier: Tier, folder: str, make: Make, rows: list[int]) -> int:
    """Copy the vectors of these rows; returns how many have one."""
    with closing(store_of(tier, folder, make)) as store:
        make_private(store.folder)
        writer = store.writer()
        writer.copy(reader, rows)
        writer.commit()
        return int(store.reader().size)


def _settle(snapshot: LocalSnapshot, catalogue: Catalogue, tiers: Mapping[str, Tier]) -> None:
    """The last facts: vectors that are still missing, counts, the next row."""
    names = {tier.folder for tier in tiers.values()}
    with catalogue.transaction() as db:
        live = {row for (row,) in db.execute("SELECT row FROM chunks")}
        missing = snapshot.query("SELECT store, row, private FROM unseen")
        db.executemany(
            "INSERT INTO unseen VALUES (?, ?, ?)", [one for one in missing if one[0] in names and one[1] in live]
        )
        facts = {
            CURRENT_TIERS: json.dumps({name: asdict(tier) for name, tier in tiers.items()}, sort_keys=True),
            "next_row": str(max(live, default=0) + 1),
        }
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", facts.items())
        db.execute("DELETE FROM meta WHERE key NOT IN (SELECT value FROM json_each(?))", (json.dumps(_KEYS),))
        for table in ("leases", "reserved", "dead", "former_roots"):
            db.execute(f"DELETE FROM {table}")
        seal_meta(db)
        _counts.recount(db)


_KEYS = ("fingerprint", "text_folder", PUBLIC_TEXT, TEXT_FORM, CURRENT_TIERS, NEXT_TIERS, "next_row")


def _remove_locks(folder: str) -> None:
    for path in _lock_files(folder):
        os.unlink(path)


def _lock_files(folder: str) -> Iterator[str]:
    for place, _, names in os.walk(folder):
        yield from (os.path.join(place, name) for name in names if name == "lock" or name.endswith(".lock"))
