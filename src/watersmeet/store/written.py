"""What a catalogue holds, read back as it was put: the other stores can be made again from it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby

from watersmeet.core.model import Row
from watersmeet.core.names import ALIAS
from watersmeet.core.pages import Chunk, Document
from watersmeet.store.catalogue import Catalogue, StoredChunk


def written(catalogue: Catalogue) -> Iterator[tuple[Document, list[StoredChunk]]]:
    """Each document with its live chunks. Tags and aliases are in lower case here, and in the order of the alphabet."""
    rows = catalogue.db.execute(
        "SELECT d.id, d.name, d.kind, d.title, d.path, c.row, c.id, c.text, c.headings, c.first, c.last, c.hash"
        " FROM documents d JOIN chunks c ON c.document = d.id ORDER BY d.id, c.ordinal"
    )
    for (key, name, kind, title, path), found in groupby(rows, key=lambda row: row[:5]):
        aliases = catalogue.db.execute("SELECT key FROM names WHERE document = ? AND rank = ?", (key, ALIAS))
        tags = catalogue.db.execute("SELECT value FROM facets WHERE document = ? AND key = 'tag'", (key,))
        document = Document(
            name, kind, title, path, aliases=tuple(one for (one,) in aliases), tags=tuple(one for (one,) in tags)
        )
        yield (
            document,
            [
                StoredChunk(Row(row), Chunk(identity, name, text, tuple(json.loads(headings)), (first, last)), hash)
                for *_, row, identity, text, headings, first, last, hash in found
            ],
        )


def correct(catalogue: Catalogue, hashes: Mapping[Row, bytes], meta: Mapping[str, str]) -> None:
    """Note what rows now say in the text store, and what else is new; their files are to be read again."""
    rows = json.dumps(list(hashes))
    with catalogue.transaction() as db:
        db.executemany("UPDATE chunks SET hash = ? WHERE row = ?", [(hash, row) for row, hash in hashes.items()])
        documents = "SELECT c.document FROM json_each(?) j JOIN chunks c ON c.row = j.value"
        db.execute(
            "UPDATE files SET stamp = '', hash = x'' WHERE id IN"
            f" (SELECT file FROM documents WHERE id IN ({documents}))",
            (rows,),
        )
        db.execute(f"UPDATE documents SET hash = x'' WHERE id IN ({documents})", (rows,))
        db.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", meta.items())
