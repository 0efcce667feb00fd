"""All that a local index has, in a fixed order, to move it into another store."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import blake2b
from typing import Any

from watersmeet.core.documents import Chunk, Document, Link
from watersmeet.core.entities import TOOL, entity_of, not_embedded
from watersmeet.core.index import Tier
from watersmeet.core.model import ANY, ChunkId, DocId
from watersmeet.core.moving import Moved
from watersmeet.core.names import ALIAS, CREATED
from watersmeet.core.registry_records import Stored
from watersmeet.core.text_fields import prepare
from watersmeet.core.writing import FileState, Put, Root
from watersmeet.store.local._checksums import HASH
from watersmeet.store.local._place_columns import place_of
from watersmeet.store.local._records import COLUMNS, read_back
from watersmeet.store.local._stored_text import PLAIN
from watersmeet.store.local.catalogue import AS_WRITTEN
from watersmeet.store.local.roots import files_in, roots_in
from watersmeet.store.local.snapshot import SPARSE, LocalSnapshot

BLOCK = 500


class LocalContents:
    """In one transaction of a snapshot."""

    def __init__(self, snapshot: LocalSnapshot) -> None:
        self._snapshot = snapshot

    @property
    def identity(self) -> str:
        found = blake2b(digest_size=16)
        for rows in self._snapshot.pages("SELECT id, name, hash FROM documents ORDER BY id", BLOCK):
            for row in rows:
                found.update(repr(row).encode("utf8", "surrogatepass"))
        return found.hexdigest()

    def facts(self) -> Mapping[str, str]:
        return self._snapshot.facts()

    def tiers(self) -> Mapping[str, Tier]:
        return {name: tier for name, tier in self._snapshot.tiers().items() if name != SPARSE}

    def collections(self) -> Mapping[str, Mapping[str, str]]:
        found = self._snapshot.query("SELECT name, metadata FROM collections ORDER BY id")
        return {name: json.loads(metadata) for name, metadata in found}

    def roots(self) -> Sequence[tuple[Root, str, Mapping[str, FileState]]]:
        names = dict(self._snapshot.query("SELECT id, name FROM collections"))
        paths = self._snapshot.paths
        return self._snapshot.with_connection(
            lambda db: [(root, names.get(root.collection, ""), files_in(db, root.id)) for root in roots_in(db, paths)]
        )

    def records(self) -> Iterator[Stored]:
        sql = f"SELECT {COLUMNS} FROM records WHERE record IS NOT NULL ORDER BY version"
        return map(read_back, self._snapshot.query(sql))

    def documents(self, after: int) -> Iterator[Moved]:
        while keys := [
            key
            for (key,) in self._snapshot.query(
                "SELECT id FROM documents WHERE id > ? ORDER BY id LIMIT ?", [after, BLOCK]
            )
        ]:
            for key in keys:
                yield self._document(key)
            after = keys[-1]

    def _document(self, key: int) -> Moved:
        query = self._snapshot.query
        ((name, kind, title, path, modified, hash, text, file, root, file_name, collection),) = query(
            "SELECT d.name, d.kind, d.title, d.path, d.modified, substr(d.hash, 1, ?), d.fields, d.file, f.root,"
            " f.name, k.name FROM documents d LEFT JOIN files f ON f.id = d.file"
            " JOIN collections k ON k.id = d.collection WHERE d.id = ?",
            [HASH, key],
        )
        fields: dict[str, Any] = json.loads(text)
        aliases = [alias for (alias,) in query("SELECT key FROM names WHERE document = ? AND rank = ?", [key, ALIAS])]
        tags = [tag for (tag,) in query("SELECT value FROM facets WHERE document = ? AND key = 'tag'", [key])]
        aliases, tags = fields.get(AS_WRITTEN) or (aliases, tags)
        created = fields.get(CREATED)
        links = query("SELECT target, type, heading, alias FROM links WHERE document = ? ORDER BY rowid", [key])
        document = Document(
            DocId(name),
            kind,
            title,
            self._snapshot.paths.on_disk(path) if file is not None else path,
            modified=None if modified is None else datetime.fromtimestamp(modified, UTC),
            created=datetime.fromisoformat(created) if created else None,
            aliases=tuple(aliases),
            tags=tuple(tags),
            fields={key: value for key, value in fields.items() if key not in (CREATED, AS_WRITTEN)},
            links=tuple(Link(*link) for link in links),
        )
        chunks = [
            Chunk(identity, document.id, chunk_text, tuple(json.loads(headings)), place_of(file, *at))
            for identity, chunk_text, headings, *at in query(
                f"SELECT id, {PLAIN.format('')}, headings, first, last, place FROM chunks"
                " WHERE document = ? ORDER BY ordinal",
                [key],
            )
        ]
        record = document.fields.get("record")
        also = not_embedded(entity_of(record)) if isinstance(record, dict) and kind != TOOL else ""
        put = Put(
            document,
            tuple(prepare(document, chunks, also)),
            bytes(hash),
            0,
            (root, file_name) if root is not None else None,
        )
        return Moved(key, put, collection)

    def vectors(self, tier: Tier, ids: Sequence[ChunkId]) -> Mapping[ChunkId, Any]:
        rows = self._snapshot.rows(ids)
        reader = self._snapshot.reader(tier, ANY)
        known = [chunk for chunk in ids if chunk in rows]
        has = reader.has([rows[chunk] for chunk in known])
        embedded = [chunk for chunk, one in zip(known, has.tolist(), strict=True) if one]
        return dict(zip(embedded, reader.vectors([rows[chunk] for chunk in embedded]), strict=True))
