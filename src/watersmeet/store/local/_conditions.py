"""A condition as SQL; what the user wrote only ever becomes a value.

`where` decides for one document at a time, by its key: so that of a few hundred candidates each costs a look, however
many documents there are. `drivers` lists the documents of one part of a condition through an index, so that a condition
which few satisfy can be read from its own end.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from watersmeet.common.globs import Pattern, pattern
from watersmeet.core.facets import tag_names
from watersmeet.core.model import Condition

_SPECIAL = "*?[\\"


class Sql(NamedTuple):
    text: str
    values: list[Any]


class Known(NamedTuple):
    """What there is to ask for: all kinds, and metadata that documents have from their collections."""

    kinds: Collection[str]
    inherited: frozenset[str]


def where(condition: Condition, known: Known, document: str = "d") -> Sql:
    """What must hold for the documents of this name in the statement; empty if anything may."""
    parts: list[Sql] = []
    for key, wanted in (*condition.fields.items(), *condition.also):
        parts.append(_having(key.casefold(), wanted, known, document))
    for key, unwanted in condition.without:
        found = _having(key.casefold(), unwanted, known, document)
        parts.append(Sql(f"NOT ifnull({found.text}, false)", found.values))  # one without a collection is in none
    parts += [_gate(key, allowed, document) for key, allowed in condition.gates.items()]
    if condition.since is not None:
        parts.append(Sql(f"{document}.modified >= ?", [condition.since.timestamp()]))
    if condition.before is not None:
        parts.append(Sql(f"{document}.modified < ?", [condition.before.timestamp()]))
    return Sql(" AND ".join(part.text for part in parts), [value for part in parts for value in part.values])


def _having(key: str, wanted: Sequence[str], known: Known, d: str) -> Sql:
    """The document has one of some values."""
    low = lowered(wanted)
    if key == "kind":
        return Sql(f"{d}.kind IN (SELECT value FROM json_each(?))", [json.dumps(_kinds(wanted, known))])
    if key == "document":
        return Sql(f"{d}.name IN (SELECT value FROM json_each(?))", [json.dumps(wanted)])
    if key == "path":
        return Sql(f"path_matches({d}.name, ?)", [json.dumps(wanted)])
    if key == "collection":
        return Sql(f"{d}.collection IN ({_COLLECTIONS})", [low])
    tagged = key in ("tag", "tags")
    low = json.dumps(_tags(wanted)) if tagged else low
    has = _TAGGED if tagged else _FACET
    own = Sql(has.format(d=d), [low] if tagged else [key, low])
    key = "tag" if tagged else key
    if key not in known.inherited:
        return own
    inherited = _TAGGED_COLLECTIONS if tagged else _FACET_COLLECTIONS
    return Sql(f"({own.text} OR {d}.collection IN ({inherited}))", [*own.values, *([low] if tagged else [key, low])])


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
"""One of the tags, or a tag below it: a/b lies below a, and 0 comes next after the slash."""
_TAGGED_COLLECTIONS = (
    "SELECT k.id FROM collections k, json_each(k.metadata) m"
    " JOIN json_each(?) j ON instr(casefold(m.value) || '/', j.value || '/') = 1 WHERE casefold(m.key) = 'tag'"
)


def _gate(key: str, allowed: Sequence[str], d: str) -> Sql:
    """A document that has such a facet must have one of these values; one without it passes."""
    return Sql(
        "(EXISTS (SELECT 1 FROM facets f WHERE f.key = ? AND f.value IN (SELECT value FROM json_each(?))"
        f" AND f.document = {d}.id)"
        " OR NOT EXISTS (SELECT 1 FROM facets f INDEXED BY facets_of_document"
        f" WHERE f.document = {d}.id AND f.key = ?))",
        [key, lowered(allowed), key],
    )


# ---------------------------------------------------------------- from the other end


def drivers(condition: Condition, known: Known) -> Iterator[Sql]:
    """For each part of a condition that an index can list: the documents that satisfy it."""
    for key, wanted in (*condition.fields.items(), *condition.also):
        found = _listing(key.casefold(), wanted, known)
        if found:
            yield found
    if condition.since is not None or condition.before is not None:
        since = condition.since.timestamp() if condition.since else float("-inf")
        before = condition.before.timestamp() if condition.before else float("inf")
        yield Sql("SELECT id FROM documents WHERE modified >= ? AND modified < ?", [since, before])


def _listing(key: str, wanted: Sequence[str], known: Known) -> Sql | None:
    low = lowered(wanted)
    if key == "kind":
        return Sql(
            "SELECT d.id FROM json_each(?) j CROSS JOIN documents d ON d.kind = j.value",
            [json.dumps(_kinds(wanted, known))],
        )
    if key == "document":
        return Sql("SELECT d.id FROM json_each(?) j CROSS JOIN documents d ON d.name = j.value", [json.dumps(wanted)])
    if key == "collection":
        return Sql(f"SELECT d.id FROM ({_COLLECTIONS}) n CROSS JOIN documents d ON d.collection = n.id", [low])
    if key == "path":
        spans = [_span(glob) for glob in wanted]
        if not all(spans):
            return None
        return Sql(
            "SELECT d.id FROM json_each(?) j CROSS JOIN documents d"
            " ON d.name >= j.value ->> 0 AND d.name < j.value ->> 1",
            [json.dumps(spans)],
        )
    if key in ("tag", "tags"):
        low = json.dumps(_tags(wanted))
        if "tag" in known.inherited:
            return None
        return Sql(
            "SELECT f.document FROM json_each(?) j CROSS JOIN facets f ON f.key = 'tag' AND f.value = j.value"
            " UNION ALL SELECT f.document FROM json_each(?) j CROSS JOIN facets f"
            " ON f.key = 'tag' AND f.value >= j.value || '/' AND f.value < j.value || '0'",
            [low, low],
        )
    if key in known.inherited:
        return None
    return Sql(
        "SELECT f.document FROM json_each(?) j CROSS JOIN facets f ON f.key = ? AND f.value = j.value", [low, key]
    )


def _span(glob: str) -> tuple[str, str] | None:
    """From which name to which the paths lie that a glob can match; None if that may be anywhere."""
    text = glob.removeprefix("/")
    start = text[: min((at for at in map(text.find, _SPECIAL) if at >= 0), default=len(text))]
    if "/" not in glob.rstrip("/") or not start:
        return None
    return start, start + "\U0010ffff"


def path_matches(name: str, globs: str) -> bool:
    """For SQLite: whether one of some globs, as JSON, matches a document's name."""
    last = name.rpartition("/")[2]
    return any(rule.matches(last, name, False) for rule in _patterns(globs))


@lru_cache(maxsize=32)  # times 20 globs, times what globs.MEMORY allows each
def _patterns(globs: str) -> tuple[Pattern, ...]:
    return tuple(rule for rule in (pattern(glob, may_negate=False) for glob in json.loads(globs)) if rule)


def _kinds(wanted: Sequence[str], known: Known) -> list[str]:
    alike = {value.casefold() for value in wanted}
    return [kind for kind in known.kinds if kind.casefold() in alike]


def _tags(wanted: Sequence[str]) -> list[str]:
    return [name for tag in wanted for name in tag_names(tag)]


def lowered(values: Sequence[str]) -> str:
    return json.dumps([value.casefold() for value in values])
