"""Chunk ids: stable when other parts of the document are edited."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b

from watersmeet.core.model import ChunkId


def chunk_id(document: str, headings: Sequence[str], ordinal: int) -> ChunkId:
    """Public id of chunk number `ordinal` (from 0) among the chunks under these headings of a document."""
    name = "\0".join((document, *headings, str(ordinal)))
    return ChunkId(blake2b(name.encode("utf-8", "surrogatepass")).hexdigest()[:16])
