"""What a chunk is called: a name that later edits elsewhere in the document do not change."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from watersmeet.core.model import ChunkId


def chunk_id(document: str, headings: Sequence[str], ordinal: int) -> ChunkId:
    """The public id of a document's chunk number `ordinal` (from 0) among those under these headings."""
    name = "\0".join((document, *headings, str(ordinal)))
    return ChunkId(blake2b(name.encode("utf-8", "surrogatepass")).hexdigest()[:16])
