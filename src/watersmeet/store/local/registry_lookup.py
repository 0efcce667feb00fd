"""What an import into a registry looks up in the index besides records: ids, spellings, what else says the same."""

from __future__ import annotations

from watersmeet.core.entities import CONTENT, TOOL
from watersmeet.core.model import DocId
from watersmeet.core.names import entity_path, is_text, link_key, same_path
from watersmeet.store.local._records import stored
from watersmeet.store.local.catalogue import Catalogue


def spelled(catalogue: Catalogue, path: str) -> str:
    """The path of the entity that is registered under this path, however it is written; empty if none is."""
    if not is_text(path):
        return ""
    if stored(catalogue.db, path) is not None:
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
