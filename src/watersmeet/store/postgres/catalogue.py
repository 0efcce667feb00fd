"""The tables of one generation, opened for writing: facts, roots, and what a sync compares files with."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import TYPE_CHECKING, Any

from watersmeet.core.entities import CONTENT, TOOL
from watersmeet.core.model import DocId, Row
from watersmeet.core.names import entity_path, is_text, link_key, same_path
from watersmeet.core.system import trimmed
from watersmeet.core.writing import FileState, Lease, Put, Root
from watersmeet.store.local._audiences import AUDIENCES, FORMER, audiences, former, stamped
from watersmeet.store.postgres import leases

if TYPE_CHECKING:
    from watersmeet.core.visibility import Audience
    from watersmeet.store.postgres.generations import Generation
    from watersmeet.store.postgres.pool import Db

ROOT_COLUMNS = "id, path, name, collection, prefix, kind, cursor"
_LIVE = "d.died IS NULL"


def roots_in(db: Db) -> list[Root]:
    return [Root(*row) for row in db.execute(f"SELECT {ROOT_COLUMNS} FROM roots ORDER BY id").fetchall()]


def files_in(db: Db, root: int, names: Collection[str] | None = None) -> dict[str, FileState]:
    """All files of a root, or those with these names."""
    sql, values = "SELECT id, name, stamp, hash, seen FROM files WHERE root = %s", [root]
    chosen = () if names is None else (list(names),)
    rows = db.execute(f"{sql} AND name = ANY(%s)" if chosen else sql, [*values, *chosen]).fetchall()
    return {name: FileState(id, name, stamp, bytes(hash), seen) for id, name, stamp, hash, seen in rows}


class Catalogue:
    """What a writer reads and notes. `db` is its own connection; with a lease it writes only under that."""

    lease: Lease | None = None
    away = ""
    """A cluster does not move."""

    def __init__(self, generation: Generation, db: Db, place: str) -> None:
        self.generation, self.db, self.place = generation, db, place
        self._fence_of_listing: dict[int, int] = {}

    @contextmanager
    def transaction(self) -> Iterator[Db]:
        with self.generation.writing.errors(), self.db.transaction():
            if self.lease is not None:
                leases.check(self.db, self.lease, self.place)
            yield self.db

    def _read(self, sql: str, values: Sequence[Any] = ()) -> list[Any]:
        with self.generation.writing.errors():
            return self.db.execute(sql, values).fetchall()

    def next_commit(self, db: Db) -> int:
        """The number of the commit that this transaction makes; others wait until it has ended."""
        ((commit,),) = db.execute("UPDATE head SET commit = commit + 1 RETURNING commit").fetchall()
        db.execute("INSERT INTO commits VALUES (%s, clock_timestamp())", [commit])
        return int(commit)

    # ------------------------------------------------------------ facts

    def meta(self) -> dict[str, str]:
        return dict(self._read("SELECT key, value FROM facts"))

    def set_meta(self, values: Mapping[str, str]) -> None:
        with self.transaction() as db:
            self.next_commit(db)  # first, as in every commit: else two of them may wait for each other
            write_facts(db, values)

    def counts(self) -> tuple[int, int]:
        ((documents, chunks),) = self._read("SELECT coalesce(sum(documents), 0), coalesce(sum(chunks), 0) FROM counts")
        return int(documents), int(chunks)

    def live(self, rows: Sequence[Row]) -> set[Row]:
        found = self._read("SELECT row FROM chunks WHERE died IS NULL AND row = ANY(%s)", [list(rows)])
        return {Row(row) for (row,) in found}

    def note_vectors(self, facts: Mapping[str, str], store: str, rows: Collection[Row]) -> None:
        """The rows were noted with their vectors; the facts make them count."""
        self.set_meta(facts)

    def expect_vectors(self, store: str, rows: Collection[Row]) -> None:
        """Nothing to be done: vectors are counted by the transaction that notes them."""

    # ------------------------------------------------------------ roots and collections

    def collection(self, name: str, metadata: Mapping[str, str] | None = None) -> int:
        with self.transaction() as db:
            ((identity,),) = db.execute(
                "INSERT INTO collections AS c (name, metadata) VALUES (%s, %s) ON CONFLICT (name) DO UPDATE"
                " SET metadata = c.metadata || excluded.metadata RETURNING id",
                [name, json.dumps(dict(metadata or {}))],
            ).fetchall()
            self.next_commit(db)
        return int(identity)

    def collections(self) -> dict[int, str]:
        return dict(self._read("SELECT id, name FROM collections"))

    def collection_audiences(self) -> dict[int, Audience]:
        named = audiences(self.meta())
        return {number: named[name] for number, name in self.collections().items() if name in named}

    def former_collections(self) -> dict[str, str]:
        named = former(self.meta())
        return {path: named[name] for path, (name, _) in self.former_roots().items() if name in named}

    def stamped(self, puts: Sequence[Put]) -> list[Put]:
        """Documents to put, with the audience that their collection has now."""
        named = self.collection_audiences()
        by_root = {root.id: root.collection for root in self.roots()} if named else {}
        return stamped(puts, by_root, named) if named else list(puts)

    def roots(self) -> list[Root]:
        with self.generation.writing.errors():
            return roots_in(self.db)

    def former_roots(self) -> dict[str, tuple[str, str]]:
        return {path: (name, prefix) for path, name, prefix in self._read("SELECT * FROM former_roots")}

    def former_names(self) -> set[str]:
        return {name for (name,) in self._read("SELECT name FROM former_names UNION SELECT name FROM former_roots")}

    def beginnings(self, root: Root) -> set[str]:
        sql = (
            "SELECT DISTINCT split_part(d.name, '/', 1) FROM documents d JOIN files f ON f.id = d.file"
            f" WHERE f.root = %s AND {_LIVE}"
        )
        return {root.name, *(name for (name,) in self._read(sql, [root.id]))}

    def begins(self, name: str) -> bool:
        sql = f"SELECT 1 FROM documents d WHERE {_LIVE} AND (d.name = %s OR starts_with(d.name, %s)) LIMIT 1"
        return bool(self._read(sql, [name, f"{name}/"]))

    def is_one_file(self, root: Root) -> bool | None:
        sql = f"SELECT d.path FROM documents d JOIN files f ON f.id = d.file WHERE f.root = %s AND {_LIVE} LIMIT 1"
        found = self._read(sql, [root.id])
        return found[0][0] == root.path if found else None

    def add_root(self, path: str, name: str, collection: int, prefix: str, kind: str = "folder") -> Root:
        with self.transaction() as db:
            db.execute("DELETE FROM former_roots WHERE path = %s", [path])
            write_former(db, {key: one for key, one in former(read_facts(db)).items() if key != name})
            ((identity,),) = db.execute(
                "INSERT INTO roots (path, name, collection, prefix, kind) VALUES (%s, %s, %s, %s, %s) RETURNING id",
                [path, name, collection, prefix, kind],
            ).fetchall()
        return Root(int(identity), path, name, collection, prefix, kind)

    def drop_root(self, root: Root, beginnings: Collection[str]) -> None:
        name = self.collections().get(root.collection, "")
        with self.transaction() as db:
            db.execute("DELETE FROM roots WHERE id = %s", [root.id])
            facts = read_facts(db)
            if name in audiences(facts):
                write_former(db, {**former(facts), root.name: name})
            else:
                drop_empty(db, name)
            db.execute(
                "INSERT INTO former_roots VALUES (%s, %s, %s) ON CONFLICT (path) DO UPDATE SET name = excluded.name,"
                " prefix = excluded.prefix",
                [root.path, root.name, root.prefix],
            )
            db.execute(
                "INSERT INTO former_names SELECT unnest(%s::text[]) ON CONFLICT DO NOTHING", [sorted(beginnings)]
            )
            start_afresh(db)
            self.next_commit(db)

    def relocate(self, moves: Sequence[tuple[Root, str]]) -> int:
        with self.transaction() as db:
            moved = sum(_relocate(db, root, path) for root, path in moves)
            self.next_commit(db)
        return moved

    def root_lease(self, root: Root) -> Any:
        return nullcontext()

    # ------------------------------------------------------------ files and documents

    def files(self, root: int) -> dict[str, FileState]:
        self._fence_of_listing[root] = self.fence
        with self.generation.writing.errors():
            return files_in(self.db, root)

    def listed_under(self, root: int) -> int:
        return self._fence_of_listing.get(root, self.fence)

    def count_of(self, file: int) -> int:
        return int(self._read(f"SELECT count(*) FROM documents d WHERE d.file = %s AND {_LIVE}", [file])[0][0])

    def documents_of(self, file: int) -> Iterator[tuple[DocId, bytes]]:
        found = self._read(
            f"SELECT d.name, d.hash FROM documents d WHERE d.file = %s AND {_LIVE} ORDER BY d.key", [file]
        )
        return ((DocId(name), bytes(hash)) for name, hash in found)

    def dated(self, file: int) -> Iterator[tuple[DocId, float | None, dict[str, Any]]]:
        sql = f"SELECT d.name, d.modified, d.fields FROM documents d WHERE d.file = %s AND {_LIVE} ORDER BY d.key"
        for name, modified, fields in self._read(sql, [file]):
            yield DocId(name), modified.timestamp() if modified else None, fields

    def owner(self, document: DocId) -> tuple[int, int | None, bytes] | None:
        if not is_text(document):
            return None
        found = self._read(f"SELECT d.key, d.file, d.hash FROM documents d WHERE d.name = %s AND {_LIVE}", [document])
        return (found[0][0], found[0][1], bytes(found[0][2])) if found else None

    def root_of(self, document: DocId) -> int | None:
        sql = f"SELECT f.root FROM documents d JOIN files f ON f.id = d.file WHERE d.name = %s AND {_LIVE}"
        found = self._read(sql, [document])
        return int(found[0][0]) if found else None

    @property
    def fence(self) -> int:
        return self.lease.fence if self.lease else 0

    # ------------------------------------------------------------ registry

    def spelled(self, path: str) -> str:
        if not is_text(path):
            return ""
        if self._read("SELECT 1 FROM records WHERE path = %s AND record IS NOT NULL", [path]):
            return path
        found = self._read(
            "SELECT d.name FROM names n JOIN documents d ON d.key = n.document WHERE n.key = %s AND n.rank = 0"
            f" AND d.kind <> %s AND d.file IS NULL AND {_LIVE} ORDER BY d.key",
            [link_key(DocId(""), entity_path(path), "wiki"), TOOL],
        )
        return next((name for (name,) in found if same_path(name) == same_path(path)), "")

    def claimed(self, identity: str) -> bool | str | None:
        if not is_text(identity):
            return None
        sql = (
            f"SELECT d.kind, d.file IS NULL AND d.record::text <> '{{}}' FROM documents d WHERE d.name = %s AND {_LIVE}"
        )
        found = self._read(sql, [identity])
        if not found:
            return None
        return found[0][0] == TOOL if found[0][1] else str(found[0][0])

    def tools_of(self, path: str) -> list[DocId]:
        sql = (
            "SELECT d.name FROM documents d WHERE starts_with(d.name, %s) AND d.kind = %s AND d.file IS NULL"
            f' AND {_LIVE} ORDER BY d.name COLLATE "C"'
        )
        return [DocId(name) for (name,) in self._read(sql, [f"{path}#", TOOL])]

    def contents(self) -> dict[str, str]:
        sql = (
            "SELECT d.name, f ->> 1 FROM documents d, jsonb_array_elements(d.facets) f"
            f' WHERE f ->> 0 = %s AND {_LIVE} ORDER BY d.name COLLATE "C"'
        )
        return dict(self._read(sql, [CONTENT]))

    def last_row(self) -> int:
        return int(self._read("SELECT next_row - 1 FROM head")[0][0])


def _relocate(db: Db, root: Root, path: str) -> int:
    """Paths are no part of a point, so rows stay. Pages elsewhere, as commits have, keep their address."""
    old, new = trimmed(root.path), trimmed(path)
    db.execute("UPDATE roots SET path = %s WHERE id = %s", [path, root.id])
    return db.execute(
        "UPDATE documents d SET path = CASE WHEN d.path = %s THEN %s ELSE %s || substr(d.path, %s) END"
        " FROM files f WHERE f.id = d.file AND f.root = %s AND d.died IS NULL AND starts_with(d.path, %s)",
        [old, path, new, len(old) + 1, root.id, old],
    ).rowcount


def read_facts(db: Db) -> dict[str, str]:
    """The facts on audiences: read with every commit, so without all others."""
    return dict(db.execute("SELECT key, value FROM facts WHERE key = ANY(%s)", [[AUDIENCES, FORMER]]).fetchall())


def write_former(db: Db, named: Mapping[str, str]) -> None:
    """Note the collection of each removed root, if not everyone may see it."""
    write_facts(db, {FORMER: json.dumps(dict(named), sort_keys=True)})


def write_audience(db: Db, collection: str, audience: Audience) -> None:
    """Note the audience of a collection. One that everyone may see is not remembered for removed roots."""
    facts = read_facts(db)
    named = {name: one for name, one in {**audiences(facts), collection: audience}.items() if one}
    write_facts(db, {AUDIENCES: json.dumps(named, sort_keys=True)})
    if not audience:
        write_former(db, {root: name for root, name in former(facts).items() if name != collection})
        drop_empty(db, collection)


def drop_empty(db: Db, collection: str) -> None:
    """Delete a collection that has neither roots nor documents."""
    db.execute(
        "DELETE FROM collections k WHERE k.name = %s AND NOT EXISTS (SELECT 1 FROM roots WHERE collection = k.id)"
        f" AND NOT EXISTS (SELECT 1 FROM documents d WHERE d.collection = k.name AND {_LIVE})",
        [collection],
    )


def start_afresh(db: Db) -> None:
    """Forget removed roots if there are no others, unless one has a collection that not everyone may see."""
    for table in () if former(read_facts(db)) else ("former_roots", "former_names"):
        db.execute(f"DELETE FROM {table} WHERE NOT EXISTS (SELECT 1 FROM roots)")


def write_facts(db: Db, values: Mapping[str, str]) -> None:
    for key, value in values.items():
        db.execute(
            "INSERT INTO facts VALUES (%s, %s) ON CONFLICT (key) DO UPDATE SET value = excluded.value", [key, value]
        )
