"""A project of IndexFoundry: `sources.jsonl`, and `data/chunks.jsonl` with the texts, as its documentation says."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from watersmeet.core.errors import SourceProblem
from watersmeet.engine.migration.docmancer_index import WEB
from watersmeet.engine.migration.indexfoundry import SOURCES, address_of, collection_of, read_sources, tags_of
from watersmeet.engine.migration.stored import StoredIndex, StoredSource, StoredText, first_existing

PROGRAM = "indexfoundry"
CHUNKS = os.path.join("data", "chunks.jsonl")


def read_index(folder: str, roots: Sequence[str]) -> StoredIndex:
    """The sources of a project, each with its stored texts. `roots`: where relative paths may begin."""
    path = os.path.join(folder, SOURCES)
    try:
        with open(path, encoding="utf8") as listed:
            records = read_sources(listed.read())
    except (OSError, UnicodeDecodeError) as error:
        raise SourceProblem(f"{path} cannot be read: {error}", "name the folder of the project") from error
    chunks = _chunks(os.path.join(folder, CHUNKS))
    found = []
    for record in records:
        address = address_of(record)
        if not address.startswith(WEB):
            address = first_existing(address, [folder, *roots]) if address else ""
        source = StoredSource(address, str(record.get("uri") or record.get("source_id")), collection_of(record))
        source.meta = dict(tags_of(record))
        for uri, text in chunks.items():
            if _belongs(uri, record):
                file = first_existing(uri, [folder, *roots]) if address and not uri.startswith(WEB) else ""
                source.texts.append(StoredText(uri, text, file))
        found.append(source)
    return StoredIndex(PROGRAM, folder, found)


def _belongs(uri: str, record: Mapping[str, Any]) -> bool:
    own = str(record.get("uri") or "")
    return uri == own or (bool(own) and uri.startswith(address_of(record) or own)) or uri == record.get("source_id")


def _chunks(path: str) -> dict[str, str]:
    """The texts by where they come from: chunks in order, without what they repeat of the one before."""
    parts: dict[str, list[tuple[int, int, str]]] = {}
    for number, chunk in enumerate(_records(path)):
        source, content, position = (chunk.get(key) for key in ("source", "content", "position"))
        uri = source.get("uri") if isinstance(source, Mapping) else chunk.get("source_id")
        text = content.get("text") if isinstance(content, Mapping) else chunk.get("text")
        if not isinstance(text, str) or not uri:
            continue
        start = position.get("byte_start") if isinstance(position, Mapping) else None
        at = chunk.get("chunk_index")
        order = at if isinstance(at, int) else number
        parts.setdefault(str(uri), []).append((order, start if isinstance(start, int) else -1, text))
    return {uri: _joined(sorted(found)) for uri, found in parts.items()}


def _joined(parts: list[tuple[int, int, str]]) -> str:
    text, end = "", -1
    for _, start, part in parts:
        content = part.encode()
        repeated = end - start if start >= 0 and end > start else 0
        fresh = content[repeated:].decode("utf8", "ignore")
        text += fresh if repeated else f"{chr(10) * 2 if text else ''}{fresh}"
        end = start + len(content) if start >= 0 else -1
    return text


def _records(path: str) -> Iterator[Mapping[str, Any]]:
    if not os.path.isfile(path):
        return
    with open(path, encoding="utf8", errors="replace") as file:
        for line in file:
            try:
                record = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(record, Mapping):
                yield record
