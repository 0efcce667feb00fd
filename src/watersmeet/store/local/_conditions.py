"""A condition as SQL over documents `d`; what the user wrote only ever becomes a value."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from typing import Any

from watersmeet.core.facets import tag_names
from watersmeet.core.model import Condition


def where(
    condition: Condition,
    at: Callable[[Sequence[str]], list[int]],
    kept_out: Callable[[str, Sequence[str]], list[int]],
    kinds: Callable[[], Collection[str]],
) -> tuple[str, list[Any]]:
    """`at` gives the documents whose path one of some globs matches, `kept_out` those that a gate keeps out, `kinds`
    all kinds that there are."""
    parts: list[str] = []
    values: list[Any] = []
    for key, wanted in (*condition.fields.items(), *condition.also):
        sql, given = _having(key.casefold(), wanted, at, kinds)
        parts.append(sql)
        values += given
    for key, unwanted in condition.without:
        sql, given = _having(key.casefold(), unwanted, at, kinds)
        parts.append(f"NOT ifnull({sql}, false)")  # a document without a collection is in none
        values += given
    for key, allowed in condition.gates.items():
        out = kept_out(key, allowed)
        if out:
            parts.append("d.id NOT IN (SELECT value FROM json_each(?))")
            values.append(json.dumps(out))
    if condition.since is not None:
        parts.append("d.modified >= ?")
        values.append(condition.since.timestamp())
    if condition.before is not None:
        parts.append("d.modified < ?")
        values.append(condition.before.timestamp())
    return " AND ".join(parts), values


def _having(
    facet: str,
    wanted: Sequence[str],
    at: Callable[[Sequence[str]], list[int]],
    kinds: Callable[[], Collection[str]],
) -> tuple[str, list[Any]]:
    """The documents that have one of some values."""
    low = lowered(wanted)
    if facet == "kind":
        alike = {value.casefold() for value in wanted}
        there = json.dumps([kind for kind in kinds() if kind.casefold() in alike])
        return "d.kind IN (SELECT value FROM json_each(?))", [there]
    if facet == "document":
        return "d.name IN (SELECT value FROM json_each(?))", [json.dumps(wanted)]
    if facet == "path":
        return "d.id IN (SELECT value FROM json_each(?))", [json.dumps(at(wanted))]
    if facet == "collection":
        named = "SELECT k.id FROM collections k JOIN json_each(?) j ON casefold(k.name) = j.value"
        return f"d.collection IN ({named})", [low]
    if facet in ("tag", "tags"):
        low = json.dumps([name for tag in wanted for name in tag_names(tag)])
        return TAGGED, [low, low, low]
    return (
        "(d.id IN (SELECT f.document FROM facets f JOIN json_each(?) j ON f.value = j.value"
        " WHERE f.key = ?) OR d.collection IN (SELECT k.id FROM collections k, json_each(k.metadata) m"
        " WHERE casefold(m.key) = ? AND casefold(m.value) IN (SELECT value FROM json_each(?))))",
        [low, facet, facet, low],
    )


TAGGED = (
    "(d.id IN (SELECT f.document FROM json_each(?) j CROSS JOIN facets f ON f.key = 'tag' AND f.value = j.value"
    " UNION ALL SELECT f.document FROM json_each(?) j CROSS JOIN facets f"
    " ON f.key = 'tag' AND f.value >= j.value || '/' AND f.value < j.value || '0')"
    " OR d.collection IN (SELECT k.id FROM collections k, json_each(k.metadata) m"
    " JOIN json_each(?) j ON instr(casefold(m.value) || '/', j.value || '/') = 1 WHERE casefold(m.key) = 'tag'))"
)
"""The documents with one of the tags or of the tags below it: a/b lies below a, and 0 comes next after the slash."""

KEPT_OUT = (
    "SELECT DISTINCT f.document FROM facets f WHERE f.key = ? AND f.value NOT IN (SELECT value FROM json_each(?))"
    " AND NOT EXISTS (SELECT 1 FROM json_each(?) j JOIN facets g"
    " ON g.key = f.key AND g.value = j.value AND g.document = f.document)"
)
"""The documents that a gate keeps out: key, allowed values, and those again."""


def lowered(values: Sequence[str]) -> str:
    return json.dumps([value.casefold() for value in values])
