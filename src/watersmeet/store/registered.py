"""The registered entities of a catalogue, as whoever holds the writer lock needs them."""

from __future__ import annotations

import json
from typing import Any

from watersmeet.core.entities import TOOL
from watersmeet.core.model import DocId
from watersmeet.store.catalogue import Catalogue

CONTENT = "@content"
"""The facet that says what an entity says, wherever it is registered."""


def stored(catalogue: Catalogue, path: str) -> dict[str, Any] | None:
    """The record that is registered under a path."""
    found = catalogue.db.execute(
        "SELECT fields FROM documents WHERE name = ? AND kind <> ? AND file IS NULL", (path, TOOL)
    ).fetchone()
    record: dict[str, Any] | None = json.loads(found[0]).get("record") if found else None
    return record


def claimed(catalogue: Catalogue, identity: str) -> bool | str | None:
    """Who has an id: an entity (False), a tool (True), a document of a file (its kind), or nobody."""
    sql = "SELECT kind, file IS NULL AND json_type(fields, '$.record') IS NOT NULL FROM documents WHERE name = ?"
    found = catalogue.db.execute(sql, (identity,)).fetchone()
    if found is None:
        return None
    return found[0] == TOOL if found[1] else str(found[0])


def tools_of(catalogue: Catalogue, path: str) -> list[DocId]:
    """The documents of an entity's tools."""
    rows = catalogue.db.execute(
        "SELECT name FROM documents WHERE name > ? AND name < ? AND kind = ? AND +file IS NULL",  # by its name
        (path + "#", path + "$", TOOL),  # $ comes after #
    )
    return [name for (name,) in rows]


def contents(catalogue: Catalogue) -> dict[str, str]:
    """What is registered, by its content: the path that comes first in the alphabet."""
    rows = catalogue.db.execute(
        "SELECT f.value, min(d.name) FROM facets f JOIN documents d ON d.id = f.document WHERE f.key = ?"
        " GROUP BY f.value",
        (CONTENT,),
    )
    return dict(rows.fetchall())


def everything(catalogue: Catalogue) -> list[dict[str, Any]]:
    """All records."""
    rows = catalogue.db.execute(
        "SELECT d.fields FROM facets f JOIN documents d ON d.id = f.document WHERE f.key = ? ORDER BY d.name",
        (CONTENT,),
    )
    return [json.loads(fields)["record"] for (fields,) in rows]
