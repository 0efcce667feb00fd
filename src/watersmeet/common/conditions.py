"""What a filter condition means, decided for one document; every store must agree with it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import NamedTuple

from watersmeet.common.globs import pattern
from watersmeet.core.facets import tag_names
from watersmeet.core.model import Condition


class Facts(NamedTuple):
    """The properties of a document that a condition tests. `metadata` is that of its collection."""

    name: str
    kind: str
    collection: str
    metadata: Mapping[str, str]
    facets: frozenset[tuple[str, str]]
    modified: datetime | None


def satisfies(document: Facts, condition: Condition) -> bool:
    when = document.modified
    if condition.since is not None and (when is None or when < condition.since):
        return False
    if condition.before is not None and (when is None or when >= condition.before):
        return False
    required = (*condition.fields.items(), *condition.also)
    return (
        all(_has(document, key.casefold(), values) for key, values in required)
        and not any(_has(document, key.casefold(), values) for key, values in condition.without)
        and all(_passes(document, key, allowed) for key, allowed in condition.gates.items())
    )


def _has(document: Facts, key: str, values: Sequence[str]) -> bool:
    folded = {value.casefold() for value in values}
    metadata = {name.casefold(): value.casefold() for name, value in document.metadata.items()}
    if key == "kind":
        return document.kind.casefold() in folded
    if key == "document":
        return document.name in values
    if key == "collection":
        return document.collection.casefold() in folded
    if key == "path":
        return in_path(document.name, values)
    if key in ("tag", "tags"):
        tags = [value for name, value in document.facets if name == "tag"] + [metadata.get("tag", "")]
        names = [name for tag in values for name in tag_names(tag)]
        return any(f"{tag}/".startswith(f"{name}/") for tag in tags for name in names)
    return any((key, value) in document.facets for value in folded) or metadata.get(key) in folded


def in_path(name: str, globs: Sequence[str]) -> bool:
    rules = [rule for glob in globs if (rule := pattern(glob, may_negate=False))]
    return any(rule.matches(name.rpartition("/")[2], name, False) for rule in rules)


def _passes(document: Facts, gate: str, allowed: Sequence[str]) -> bool:
    values = {value for key, value in document.facets if key == gate}
    return not values or not values.isdisjoint(value.casefold() for value in allowed)
