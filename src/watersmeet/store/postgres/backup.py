"""Backup of an index in the cluster, and its restoration.

PostgreSQL is the truth, so a backup is its tables as of one commit, in PostgreSQL's binary form, without rows that have
died. Nobody waits for it. Qdrant's points are made again from them. A restored index is filled as a generation of its
own, which nothing names before all checksums are right and Qdrant has every row.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Collection, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from io import BytesIO
from itertools import groupby
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ConfigError, IndexBusy, IndexDamaged, IndexMismatch
from watersmeet.core.index import CURRENT_TIERS, NEXT_TIERS, BackupPart, BackupSource
from watersmeet.core.registry_records import Stored
from watersmeet.store.postgres import records
from watersmeet.store.postgres.beside import building
from watersmeet.store.postgres.catalogue import ROOT_COLUMNS
from watersmeet.store.postgres.generations import Generation, name_generation, schema_of
from watersmeet.store.postgres.leases import WRITER, check
from watersmeet.store.postgres.open_writer import MOVING, go_on_counting
from watersmeet.store.postgres.points import make_vectors, make_words
from watersmeet.store.postgres.versions import CHUNK, DOCUMENT
from watersmeet.store.qdrant.bm25 import FIELDS

if TYPE_CHECKING:
    from watersmeet.core.writing import Lease
    from watersmeet.store.postgres.index import Opened
    from watersmeet.store.postgres.pool import Db

ABOUT, STATE = "index.json", "state/"
FORMAT = 1
PART_BYTES = 32 << 20
BLOCK = 1 << 20
MAX_STATE = 256 << 20
OTHER = "restore another backup"
_OF_LIVE = "document IN (SELECT key FROM documents WHERE died IS NULL)"
_OF_EPOCH = "epoch = (SELECT epoch FROM head)"
TABLES = {
    "facts": ("key, value", ""),
    "collections": ("id, name, metadata", ""),
    "roots": (ROOT_COLUMNS, ""),
    "former_roots": ("path, name, prefix", ""),
    "former_names": ("name", ""),
    "files": ("id, root, name, stamp, hash, seen", ""),
    "audiences": ("number, labels", ""),
    "terms": ("number, field, text", ""),
    "documents": (DOCUMENT, "died IS NULL"),
    "chunks": (CHUNK, "died IS NULL"),
    "links": ("document, ordinal, key, target, type, heading, alias", _OF_LIVE),
    "names": ("document, key, rank", _OF_LIVE),
    "mentions": ("document, kind, word, places", _OF_LIVE),
    "counts": ("audience, kind, collection, documents, chunks, bytes", ""),
    "gates": ("key, value, documents", ""),
    "epochs": ("epoch, audience, size", _OF_EPOCH),
    "frequencies": ("epoch, term, audience, count", _OF_EPOCH),
    "stores": ("name, dimension", ""),
    "vectors": ("store, row, vector, born", "row IN (SELECT row FROM chunks WHERE died IS NULL)"),
    "embedded": ("store, audience, rows", ""),
    "weighted": ("store, term, audience, rows", ""),
    "records": ("path, record, version, changed", ""),
}
"""Tables of a backup in the order in which they are restored: columns, and which rows."""
COUNTED = {"collections": "id", "roots": "id", "files": "id", "audiences": "number", "terms": "number"} | {
    "documents": "key"
}
"""Columns that PostgreSQL counts up."""
HEAD = ("commit", "epoch", "averages", "next_row", "changed")
_STRANGE_WORDS = (
    "SELECT count(*) FROM chunks WHERE cardinality(fields) <> cardinality(terms)"
    " OR cardinality(counts) <> cardinality(terms) OR cardinality(lengths) <> %s OR NOT fields <@ %s::smallint[]"
)
_STORE = re.compile(r"vectors-[a-z0-9-]{1,60}")


# ---------------------------------------------------------------- backing up


@contextmanager
def back_up(opened: Opened) -> Iterator[BackupSource]:
    generation = opened.generation()
    with generation.writing.transaction() as db:
        db.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
        db.execute("SET LOCAL statement_timeout = 0")
        db.execute(f"LOCK TABLE {', '.join(TABLES)} IN ACCESS SHARE MODE")  # none is dropped before it is read
        ((head,),) = db.execute("SELECT to_jsonb(head) FROM head").fetchall()
        ((documents, chunks),) = db.execute("SELECT sum(documents)::bigint, sum(chunks)::bigint FROM counts").fetchall()
        if opened.pin is None and opened.current() != generation.number:
            raise IndexBusy(f"{opened.place} was built anew at this moment", "try again")
        about = {"format": FORMAT, "documents": documents or 0, "chunks": chunks or 0}
        with closing(_parts(db, {**about, **{key: head[key] for key in HEAD}})) as parts:
            yield BackupSource(documents or 0, parts)


def _parts(db: Db, about: Mapping[str, Any]) -> Generator[BackupPart]:
    content = json.dumps(about).encode()
    yield BackupPart(ABOUT, len(content), BytesIO(content))
    for table, (columns, where) in TABLES.items():
        sql = f"SELECT {columns} FROM {table}" + (f" WHERE {where}" if where else "")
        for number, block in enumerate(_blocks(db, f"COPY ({sql}) TO STDOUT (FORMAT binary)")):
            yield BackupPart(f"{table}/{number:06}", len(block), BytesIO(block))


def _blocks(db: Db, sql: str) -> Iterator[bytes]:
    block = bytearray()
    with db.cursor() as cursor, cursor.copy(sql) as copying:
        for row in copying:
            block += row
            if len(block) >= PART_BYTES:
                yield bytes(block)
                block.clear()
    yield bytes(block)


# ---------------------------------------------------------------- restoring


def restore(opened: Opened, parts: Iterator[BackupPart], states: Collection[str], replace: bool, wait: float) -> int:
    _check_place(opened, replace)
    with building(opened) as number:
        generation = opened.generation(number)
        about = _filled(generation, parts, states)
        with generation.writing.connection() as db:
            documents = _check_restored(db, about)
            _make_points(opened, generation, db)
        with opened.leases.held(WRITER, wait) as lease:
            _check_place(opened, replace)
            _name(opened, lease, number)
    return documents


def _check_place(opened: Opened, replace: bool) -> None:
    if not replace and opened.current() is not None:
        raise ConfigError(
            f"there is an index in {opened.place}",
            "restore it under another name with --index 'postgresql://HOST/DATABASE?index=NAME', or add --replace",
        )


def _filled(generation: Generation, parts: Iterator[BackupPart], states: Collection[str]) -> dict[str, Any]:
    """The tables, filled in one transaction; returns what the backup says of itself."""
    with generation.writing.transaction() as db:
        db.execute("SET LOCAL statement_timeout = 0")
        db.execute("DELETE FROM records; DELETE FROM states")
        with _refused():
            about = _put_all(db, parts, states)
            _put_head(db, about)
    return about


def _put_all(db: Db, parts: Iterator[BackupPart], states: Collection[str]) -> dict[str, Any]:
    about: dict[str, Any] = {}
    for table, of_table in groupby(parts, lambda part: part.name.rpartition("/")[0]):
        if table == STATE.rstrip("/"):
            for part in of_table:
                _put_state(db, part, states)
        elif about:
            _put_table(db, table, of_table)
        else:
            about = _about(next(of_table))
    return about


@contextmanager
def _refused() -> Iterator[None]:
    """What PostgreSQL does not accept is damage of the backup."""
    import psycopg

    try:
        yield
    except (psycopg.DataError, psycopg.IntegrityError, psycopg.InternalError) as error:
        said = error.diag.message_primary or error
        raise IndexDamaged(f"PostgreSQL refuses what is in the backup: {said}", OTHER) from None


def _about(part: BackupPart) -> dict[str, Any]:
    try:
        found = json.loads(part.content.read(BLOCK)) if part.name == ABOUT else None
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise IndexDamaged("the backup does not say what it has", OTHER)
    if found.get("format") != FORMAT:
        form = str(found.get("format"))[:20]
        raise IndexMismatch(f"the backup has format {form}, and this version reads {FORMAT}", "upgrade watersmeet")
    numbers = [found.get(key) for key in ("documents", "chunks", "commit", "epoch", "next_row", "changed")]
    lengths: Any = found.get("averages")
    sound = isinstance(lengths, list) and len(lengths) in (0, len(FIELDS))
    sound = sound and all(type(one) in (int, float) and 0 <= one < math.inf for one in lengths)
    if not sound or not all(type(one) is int and one >= 0 for one in numbers):
        raise IndexDamaged("the backup does not say what it has", OTHER)
    return {**found, "averages": list(map(float, lengths))}


def _put_table(db: Db, table: str, parts: Iterator[BackupPart]) -> None:
    """All parts of a table. Its name comes from a stranger: only ours are accepted."""
    if table not in TABLES:
        raise IndexDamaged(f"the backup has a part called {table[:100]!r}, which is none of an index", OTHER)
    sql = f"COPY {table} ({TABLES[table][0]}) FROM STDIN (FORMAT binary)"
    with db.cursor() as cursor, cursor.copy(sql) as copying:
        for part in parts:
            while block := part.content.read(BLOCK):
                copying.write(block)
    if table in COUNTED:
        go_on_counting(db, table, COUNTED[table])


def _put_state(db: Db, part: BackupPart, states: Collection[str]) -> None:
    name = part.name.removeprefix(STATE)
    if name not in states or part.size > MAX_STATE:
        raise IndexDamaged(f"the backup has a part called {part.name[:100]!r}, which is none of an index", OTHER)
    db.execute("INSERT INTO states VALUES (%s, 1, %s)", [name, part.content.read(part.size)])


def _put_head(db: Db, about: Mapping[str, Any]) -> None:
    """Where it goes on. Names of collections are those of this place."""
    if not about:
        raise IndexDamaged("the backup has no catalogue", OTHER)
    db.execute(
        "UPDATE head SET commit = %s, epoch = %s, averages = %s, changed = %s, next_row = greatest(%s,"
        " (SELECT coalesce(max(row), 0) + 1 FROM chunks))",
        [about["commit"], about["epoch"], about["averages"], about["changed"], about["next_row"]],
    )
    db.execute("INSERT INTO commits VALUES (%s, clock_timestamp()) ON CONFLICT DO NOTHING", [about["commit"]])
    db.execute("UPDATE files SET seen = 0 WHERE seen < 0")  # by the fence of a writer of the original
    db.execute("DELETE FROM facts WHERE key = %s", [MOVING])


def _check_restored(db: Db, about: Mapping[str, Any]) -> int:
    """Check that all is there that the backup says, and that no name leads to collections of others."""
    counts = "SELECT coalesce(sum(documents), 0)::bigint, coalesce(sum(chunks), 0)::bigint FROM counts"
    rows = "SELECT (SELECT count(*) FROM documents), (SELECT count(*) FROM chunks)"
    said = (about["documents"], about["chunks"])
    if not db.execute(counts).fetchall() == db.execute(rows).fetchall() == [said]:
        raise IndexDamaged("the backup lacks documents, or has others than it says", OTHER)
    if db.execute(_STRANGE_WORDS, [len(FIELDS), list(range(len(FIELDS)))]).fetchall() != [(0,)]:
        raise IndexDamaged("the backup has words that do not belong together", OTHER)
    facts = dict(db.execute("SELECT key, value FROM facts").fetchall())
    try:
        json.loads(facts["fingerprint"])
        tiers = [tier for key in (CURRENT_TIERS, NEXT_TIERS) for tier in json.loads(facts.get(key, "{}")).values()]
        stores = [tier["folder"] for tier in tiers]
    except (KeyError, ValueError, TypeError, AttributeError):
        raise IndexDamaged("the backup does not say how its index was made", OTHER) from None
    stores += [name for (name,) in db.execute("SELECT name FROM stores")]
    for store in stores:
        if not _STORE.fullmatch(str(store)):
            raise IndexDamaged(f"the backup names a store {str(store)[:100]!r}, which is none of an index", OTHER)
    return int(about["documents"])


def _make_points(opened: Opened, generation: Generation, db: Db) -> None:
    """Words and vectors in Qdrant, counted afterwards."""
    ((points, words, averages),) = db.execute("SELECT points, words, averages FROM head").fetchall()
    ((rows,),) = db.execute("SELECT count(*) FROM chunks").fetchall()
    wanted = {f"{points}-{words}": rows}
    if rows:
        make_words(generation, db, f"{points}-{words}", averages, lambda: None)
    for store, dimension in db.execute("SELECT name, dimension FROM stores").fetchall():
        name = f"{points}-{store}"
        wanted[name] = make_vectors(generation, db, name, store, dimension, lambda: None)
    for name, count in wanted.items():
        found = opened.qdrant.count(name) or 0
        if found != count:
            raise IndexDamaged(
                f"Qdrant has {found} points of {count} in {name}", "look at its log, then restore the backup again"
            )


def _name(opened: Opened, lease: Lease, number: int) -> None:
    """Name it, and let what was registered there be what is registered."""
    restored = f"{schema_of(opened.name, number)}.records"
    with opened.lasting.transaction() as db:
        check(db, lease, opened.place)
        sql = f"SELECT record::text, version, changed FROM {restored} WHERE record IS NOT NULL"
        found = [Stored(json.loads(text), *rest) for text, *rest in db.execute(sql).fetchall()]
        name_generation(db, opened.name, number)
        records.take_over(db, found)  # after that, so that the generation before has its own still
