"""ragdocs-mcp's index: `index.manifest.json` with the indexed files, and `vector/docstore.json` with their chunks."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from watersmeet.core.errors import SourceProblem
from watersmeet.engine.migration.stored import StoredIndex, StoredSource, StoredText, first_existing

PROGRAM = "ragdocs"
MANIFEST = "index.manifest.json"
CHUNKS = os.path.join("vector", "docstore.json")
MAX_BYTES = 2_000_000_000
HINT = "`watersmeet sync` reads the folders that [[projects]] and documents_path of its config.toml name"


def read_index(folder: str, roots: Sequence[str]) -> StoredIndex:
    """The files of the manifest below the folder that has the most of them, and the stored chunks of each.

    `roots`: where the files may be; the manifest names them relative to a folder that it does not name."""
    files = _files(folder)
    texts = _texts(folder)
    folders = list(dict.fromkeys([*roots, os.path.dirname(os.path.abspath(folder))]))
    counts = {root: sum(os.path.isfile(os.path.join(root, name)) for name in files.values()) for root in folders}
    root = max(folders, key=lambda one: counts[one])  # the first of equal ones
    address = root if counts[root] else ""
    if not address and not texts:
        raise SourceProblem(
            f"none of the {len(files)} files that {folder} lists are in {', '.join(folders)}",
            f"--root names the folder that they are in; {HINT}",
        )
    source = StoredSource(address, os.path.basename(os.path.abspath(root)))
    for document, name in files.items():
        stored = texts.get(document) or texts.get(name, "")
        source.texts.append(StoredText(name, stored, first_existing(name, [root])))
    return StoredIndex(PROGRAM, folder, [source])


def _files(folder: str) -> dict[str, str]:
    found = _json(os.path.join(folder, MANIFEST)).get("indexed_files")
    if not isinstance(found, Mapping) or not found:
        raise SourceProblem(f"{folder} does not list the files that it has", HINT)
    return {str(document): str(name) for document, name in found.items()}


def _texts(folder: str) -> dict[str, str]:
    """The text of each document, by its id and its path: its chunks in order."""
    path = os.path.join(folder, CHUNKS)
    if not os.path.isfile(path):
        return {}
    chunks: dict[str, list[tuple[float, int, str]]] = {}
    for number, (metadata, text) in enumerate(_nodes(_json(path))):
        at = metadata.get("chunk_index")
        place = (float(at) if isinstance(at, int | float) else float(number), number, text)
        for key in {str(metadata.get("doc_id") or ""), str(metadata.get("file_path") or "")} - {""}:
            chunks.setdefault(key, []).append(place)
    return {key: "\n\n".join(text for _, _, text in sorted(parts)) for key, parts in chunks.items()}


def _nodes(store: Mapping[str, Any]) -> Iterator[tuple[Mapping[str, Any], str]]:
    """Metadata and text of the nodes of a LlamaIndex document store."""
    nodes = store.get("docstore/data")
    for node in nodes.values() if isinstance(nodes, Mapping) else ():
        content = node.get("__data__") if isinstance(node, Mapping) else None
        if isinstance(content, str):
            content = _loads(content, CHUNKS)
        if isinstance(content, Mapping) and isinstance(content.get("text"), str):
            metadata = content.get("metadata")
            yield metadata if isinstance(metadata, Mapping) else {}, content["text"]


def _json(path: str) -> Mapping[str, Any]:
    try:
        if os.path.getsize(path) > MAX_BYTES:
            raise SourceProblem(f"{path} is too large to be read", HINT)
        with open(path, encoding="utf8") as file:
            return _loads(file.read(), path)
    except (OSError, UnicodeDecodeError) as error:
        raise SourceProblem(f"{path} cannot be read: {error}", HINT) from error


def _loads(text: str, path: str) -> Mapping[str, Any]:
    try:
        found = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise SourceProblem(f"{path} is not valid JSON: {error}", HINT) from error
    return found if isinstance(found, Mapping) else {}
