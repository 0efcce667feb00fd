"""The registered entities of a catalogue, as whoever holds the writer lock needs them."""

from __future__ import annotations

import json
from typing import Any

from watersmeet.core.entities import CONTENT, SOURCE, TOOL
from watersmeet.core.model import DocId
from watersmeet.core.names import entity_path, is_text, link_key, same_path
from watersmeet.store.local.catalogue import Catalogue


def stored(catalogue: Catalogue, path: str) -> dict[str, Any] | None:
    """The record that is registered under a path, with what its source says otherwise."""
    if not is_text(path):
        return None
    found = catalogue.db.execute(
        "SELECT fields FROM documents WHERE name = ? AND kind <> ? AND file IS NULL", (path, TOOL)
    ).fetchone()
    return record_of(found[0]) if found else None


def spelled(catalogue: Catalogue, path: str) -> str:
    """The path of the entity that is registered under this path, however it is written; empty if none is."""
    if not is_text(path):
        return ""
    if stored(catalogue, path) is not None:
        return path
    found = catalogue.db.execute(
        "SELECT d.name FROM names n JOIN documents d ON d.id = n.document"
        " WHERE n.key = ? AND n.rank = 0 AND d.kind <> ? AND d.file IS NULL ORDER BY d.id",
        (link_key(DocId(""), entity_path(path), "wiki"), TOOL),
    )
    return next((name for (name,) in found if same_path(name) == same_path(path)), "")


def claimed(catalogue: Catalogue, identity: str) -> bool | str | None:
    """Who has an id: an entity (False), a tool (True), a document of a file (its kind), or nobody."""
    if not is_text(identity):
        return None
    sql = "SELECT kind, file IS NULL AND json_type(fields, '$.record') IS NOT NULL FROM documents WHERE name = ?"
    found = catalogue.db.execute(sql, (identity,)).fetchone()
    if found is None:
        return None
    return found[0] == TOOL if found[1] else str(found[0])


def last_row(catalogue: Catalogue) -> int:
    """The highest row there is; whatever is written next comes behind it."""
    return int(catalogue.db.execute("SELECT coalesce(max(row), 0) FROM chunks").fetchone()[0])


def tools_of(catalogue: Catalogue, path: str) -> list[DocId]:
    """The documents of an entity's tools."""
    rows = catalogue.db.execute(
        "SELECT name FROM documents WHERE name > ? AND name < ? AND kind = ? AND +file IS NULL",  # by its name
        (path + "#", path + "$", TOOL),  # $ comes after #
    )
    return [name for (name,) in rows]


def contents(catalogue: Catalogue) -> dict[str, str]:
    """What the entity of each path says, in the order of the alphabet."""
    rows = catalogue.db.execute(
        "SELECT d.name, f.value FROM facets f JOIN documents d ON d.id = f.document WHERE f.key = ? ORDER BY d.name",
        (CONTENT,),
    )
    return dict(rows.fetchall())


def everything(catalogue: Catalogue) -> list[dict[str, Any]]:
    """All records, as `stored` gives them."""
    rows = catalogue.db.execute(
        "SELECT d.fields FROM facets f JOIN documents d ON d.id = f.document WHERE f.key = ? ORDER BY d.name",
        (CONTENT,),
    )
    return [record for (fields,) in rows if (record := record_of(fields))]


def record_of(fields: str | bytes) -> dict[str, Any] | None:
    found = json.loads(fields)
    record: dict[str, Any] | None = found.get("record")
    return {**record, SOURCE: found[SOURCE]} if record and SOURCE in found else record
