"""What documents are called, by their files, names and titles, and which values their fields have."""

from __future__ import annotations

import json
from collections.abc import Collection

from watersmeet.core.model import Condition, DocId
from watersmeet.store.local.view import SqliteView


def at(view: SqliteView, paths: Collection[str], seen: Condition) -> list[DocId]:
    """The documents that are read from one of these files."""
    where, values = view._where(seen)
    found = view._ask(
        "SELECT d.name FROM documents d WHERE (d.path IN (SELECT value FROM json_each(?))"
        " OR (d.file IS NOT NULL AND d.path IN (SELECT value FROM json_each(?))))"
        f" AND {where or 'true'} ORDER BY d.name",
        [json.dumps(list(paths)), json.dumps([view.paths.kept(path) for path in paths]), *values],
    )
    return [name for (name,) in found]


def named(view: SqliteView, key: str, seen: Condition) -> dict[DocId, int]:
    """The documents that a link with this key may mean; a low rank is a closer name."""
    where, values = view._where(seen)
    found = view._ask(
        "SELECT d.name, n.rank FROM names n JOIN documents d ON d.id = n.document"
        f" WHERE n.key IN (SELECT value FROM json_each(?)) AND {where or 'true'} ORDER BY n.rank, d.name",
        [json.dumps([key]), *values],
    )
    return dict(found)


def titles(view: SqliteView, seen: Condition) -> list[tuple[DocId, str]]:
    """Every document with its title."""
    where, values = view._where(seen)
    return view._ask(f"SELECT d.name, d.title FROM documents d WHERE {where or 'true'} ORDER BY d.name", values)


def values_of(view: SqliteView, key: str, seen: Condition) -> list[str]:
    """What documents have in a field, the commonest first."""
    where, values = view._where(seen)
    where = where or "true"
    if key == "kind":
        sql = f"SELECT d.kind FROM documents d WHERE {where} GROUP BY d.kind ORDER BY count(*) DESC, d.kind"
    elif key == "collection":
        sql = (
            "SELECT k.name FROM documents d JOIN collections k ON k.id = d.collection"
            f" WHERE {where} GROUP BY k.name ORDER BY count(*) DESC, k.name"
        )
    else:
        sql = (
            "SELECT value FROM (SELECT f.value FROM documents d JOIN facets f ON f.document = d.id"
            f" WHERE {where} AND f.key = ? UNION ALL SELECT casefold(m.value) AS value FROM documents d"
            " JOIN collections k ON k.id = d.collection, json_each(k.metadata) m"
            f" WHERE {where} AND casefold(m.key) = ?) GROUP BY value ORDER BY count(*) DESC, value"
        )
        values = [*values, key, *values, key]
    return [value for (value,) in view._ask(sql, values)]
