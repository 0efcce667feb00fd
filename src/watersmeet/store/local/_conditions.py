"""Filter conditions as SQL; user input is only ever a bound value.

`where` tests one document at a time, by its key: filtering a few hundred candidates costs one lookup each, however many
documents there are. `drivers` lists the documents that satisfy one part of a condition through an SQL index, for
selective conditions.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from watersmeet.common.globs import Pattern, pattern
from watersmeet.core.facets import tag_names
from watersmeet.core.model import Condition

_SPECIAL = "*?[\\"
_MAX_GLOBS = 50
"""With more globs than this, SQL would become too long."""
_MAX_WIDE = 1000
"""Characters of a GLOB; SQLite refuses 50,000 bytes."""


class Sql(NamedTuple):
    text: str
    values: list[Any]


class FilterSchema(NamedTuple):
    """What can be filtered by: all document kinds, and the metadata keys inherited from collections."""

    kinds: Collection[str]
    inherited: frozenset[str]


def where(condition: Condition, schema: FilterSchema, document: str = "d") -> Sql:
    """The WHERE clause for table alias `document`; empty if every document passes."""
    parts: list[Sql] = []
    for key, values in (*condition.fields.items(), *condition.also):
        parts.append(_has_value(key.casefold(), values, schema, document))
    for key, excluded in condition.without:
        part = _has_value(key.casefold(), excluded, schema, document)
        parts.append(Sql(f"NOT ifnull({part.text}, false)", part.values))  # NULL if it has no collection
    parts += [_gate(key, allowed, document) for key, allowed in condition.gates.items()]
    if condition.since is not None:
        parts.append(Sql(f"{document}.modified >= ?", [condition.since.timestamp()]))
    if condition.before is not None:
        parts.append(Sql(f"{document}.modified < ?", [condition.before.timestamp()]))
    return Sql(" AND ".join(part.text for part in parts), [value for part in parts for value in part.values])


def _has_value(key: str, values: Sequence[str], schema: FilterSchema, d: str) -> Sql:
    """The clause that a document has one of these values."""
    folded = lowered(values)
    if key == "kind":
        return Sql(f"{d}.kind IN (SELECT value FROM json_each(?))", [json.dumps(_kinds(values, schema))])
    if key == "document":
        return Sql(f"{d}.name IN (SELECT value FROM json_each(?))", [json.dumps(values)])
    if key == "path":
        wide = list(map(_wide_glob, values)) if len(values) <= _MAX_GLOBS else ["*"]
        any_wide = " OR ".join([f"{d}.name GLOB ?"] * len(wide)) or "false"
        return Sql(f"(({any_wide}) AND path_matches({d}.name, ?))", [*wide, json.dumps(values)])
    if key == "collection":
        return Sql(f"{d}.collection IN ({_COLLECTIONS})", [folded])
    tagged = key in ("tag", "tags")
    folded = json.dumps(_tags(values)) if tagged else folded
    has = _TAGGED if tagged else _FACET
    own = Sql(has.format(d=d), [folded] if tagged else [key, folded])
    key = "tag" if tagged else key
    if key not in schema.inherited:
        return own
    inherited = _TAGGED_COLLECTIONS if tagged else _FACET_COLLECTIONS
    return Sql(
        f"({own.text} OR {d}.collection IN ({inherited}))", [*own.values, *([folded] if tagged else [key, folded])]
    )


_COLLECTIONS = "SELECT k.id FROM collections k JOIN json_each(?) j ON casefold(k.name) = j.value"
_FACET = (
    "EXISTS (SELECT 1 FROM facets f WHERE f.key = ? AND f.value IN (SELECT value FROM json_each(?))"
    " AND f.document = {d}.id)"
)
_FACET_COLLECTIONS = (
    "SELECT k.id FROM collections k, json_each(k.metadata) m"
    " WHERE casefold(m.key) = ? AND casefold(m.value) IN (SELECT value FROM json_each(?))"
)
_TAGGED = (
    "EXISTS (SELECT 1 FROM facets f INDEXED BY facets_of_document, json_each(?) j WHERE f.document = {d}.id"
    " AND f.key = 'tag' AND (f.value = j.value OR (f.value >= j.value || '/' AND f.value < j.value || '0')))"
)
"""A tag, or one nested below it: a/b lies below a. `0` is the character after `/`."""
_TAGGED_COLLECTIONS = (
    "SELECT k.id FROM collections k, json_each(k.metadata) m"
    " JOIN json_each(?) j ON instr(casefold(m.value) || '/', j.value || '/') = 1 WHERE casefold(m.key) = 'tag'"
)


def _gate(key: str, allowed: Sequence[str], d: str) -> Sql:
    """A gate: a document that has this facet must have an allowed value; one without the facet passes."""
    return Sql(
        "(EXISTS (SELECT 1 FROM facets f WHERE f.key = ? AND f.value IN (SELECT value FROM json_each(?))"
        f" AND f.document = {d}.id)"
        " OR NOT EXISTS (SELECT 1 FROM facets f INDEXED BY facets_of_document"
        f" WHERE f.document = {d}.id AND f.key = ?))",
        [key, lowered(allowed), key],
    )


# ---------------------------------------------------------------- documents that satisfy one part


def drivers(condition: Condition, schema: FilterSchema) -> Iterator[Sql]:
    """Queries that list the matching documents, one for each part of a condition that an SQL index covers."""
    for key, values in (*condition.fields.items(), *condition.also):
        found = _document_list(key.casefold(), values, schema)
        if found:
            yield found
    if condition.since is not None or condition.before is not None:
        since = condition.since.timestamp() if condition.since else float("-inf")
        before = condition.before.timestamp() if condition.before else float("inf")
        yield Sql("SELECT id FROM documents WHERE modified >= ? AND modified < ?", [since, before])


def _document_list(key: str, values: Sequence[str], schema: FilterSchema) -> Sql | None:
    folded = lowered(values)
    if key == "kind":
        return Sql(
            "SELECT d.id FROM json_each(?) j CROSS JOIN documents d ON d.kind = j.value",
            [json.dumps(_kinds(values, schema))],
        )
    if key == "document":
        return Sql("SELECT d.id FROM json_each(?) j CROSS JOIN documents d ON d.name = j.value", [json.dumps(values)])
    if key == "collection":
        return Sql(f"SELECT d.id FROM ({_COLLECTIONS}) n CROSS JOIN documents d ON d.collection = n.id", [folded])
    if key == "path":
        return _paths_list(values)
    if key in ("tag", "tags"):
        folded = json.dumps(_tags(values))
        if "tag" in schema.inherited:
            return None
        return Sql(
            "SELECT f.document FROM json_each(?) j CROSS JOIN facets f ON f.key = 'tag' AND f.value = j.value"
            " UNION ALL SELECT f.document FROM json_each(?) j CROSS JOIN facets f"
            " ON f.key = 'tag' AND f.value >= j.value || '/' AND f.value < j.value || '0'",
            [folded, folded],
        )
    if key in schema.inherited:
        return None
    return Sql(
        "SELECT f.document FROM json_each(?) j CROSS JOIN facets f ON f.key = ? AND f.value = j.value", [folded, key]
    )


def _paths_list(globs: Sequence[str]) -> Sql | None:
    """The documents that match one of these globs, found in the range of names that each can match."""
    parts = [(*_name_range(glob), _wide_glob(glob), json.dumps([glob])) for glob in globs]
    if not 0 < len(parts) <= _MAX_GLOBS or any((first, wide.strip("*")) == ("", "") for first, _, wide, _ in parts):
        return None
    one = "SELECT id FROM documents WHERE name >= ? AND name < ? AND name GLOB ? AND path_matches(name, ?)"
    return Sql(" UNION ".join(one for _ in parts), [value for part in parts for value in part])


def _name_range(glob: str) -> tuple[str, str]:
    """The range of names that a glob can match; that of all names if it has no literal prefix."""
    text = glob.removeprefix("/")
    start = text[: _first_special(text)] if "/" in glob.rstrip("/") else ""
    return start, start + "\U0010ffff"


def _wide_glob(glob: str) -> str:
    """A GLOB of SQLite that every matching name satisfies, and few others: to ask it costs a fiftieth.

    Its stars match slashes, too, so one stands for `**/`, which may match nothing. What follows a bracket or a
    backslash is not read, nor what is longer than a name.
    """
    text = glob.removeprefix("/")
    unread = min((at for at in (text.find("["), text.find("\\"), _MAX_WIDE) if 0 <= at < len(text)), default=len(text))
    wide = re.sub(r"\*\*+/?|\*", "*", text[:unread]) + "*" * (unread < len(text))
    return wide if "/" in glob.rstrip("/") else "*" + wide


def _first_special(text: str) -> int:
    return min((at for at in map(text.find, _SPECIAL) if at >= 0), default=len(text))


def path_matches(name: str, globs: str) -> bool:
    """SQLite function: whether any of these globs (a JSON list) matches a document's name."""
    last = name.rpartition("/")[2]
    return any(rule.matches(last, name, False) for rule in _patterns(globs))


@lru_cache(maxsize=32)  # times 20 globs, times what globs.MEMORY allows each
def _patterns(globs: str) -> tuple[Pattern, ...]:
    return tuple(rule for rule in (pattern(glob, may_negate=False) for glob in json.loads(globs)) if rule)


def _kinds(values: Sequence[str], schema: FilterSchema) -> list[str]:
    folded = {value.casefold() for value in values}
    return [kind for kind in schema.kinds if kind.casefold() in folded]


def _tags(tags: Sequence[str]) -> list[str]:
    return [name for tag in tags for name in tag_names(tag)]


def lowered(values: Sequence[str]) -> str:
    return json.dumps([value.casefold() for value in values])
