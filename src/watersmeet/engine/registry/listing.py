"""Lists of registered records, by text match without models."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from watersmeet.core.entities import SKILL, TOOL, Entity, entity_kinds, entity_of, metadata_text, stored_kind
from watersmeet.core.errors import ConfigError
from watersmeet.core.facets import with_parents
from watersmeet.core.model import Condition
from watersmeet.core.visibility import Viewer, gates
from watersmeet.engine.query.visibility import visible_to
from watersmeet.engine.registry.types import check_types, known_types
from watersmeet.engine.registry.visibility import visible_record
from watersmeet.present.registry import projected

if TYPE_CHECKING:
    from watersmeet.engine.engine import Engine

EVERYTHING: dict[str, Any] = dict.fromkeys(("include_deprecated", "include_draft", "include_disabled"), True)
"""The options of a list without gates of lifecycle."""
NAME, DESCRIPTION, TAGS, METADATA = 0.5, 0.25, 0.15, 0.1
"""Score in a skill search for a match in each field."""


def listing(
    engine: Engine,
    kind: str = "",
    query: str = "",
    viewer: Viewer | None = None,
    include_deprecated: bool = False,
    include_draft: bool = False,
    include_disabled: bool = False,
    metadata_fields: Sequence[str] = (),
) -> list[dict[str, Any]]:
    """Records of one kind or all that contain the query, ignoring case, sorted by path."""
    allowed = gates(viewer, include_deprecated, include_draft, include_disabled)
    with engine.snapshot() as snapshot:
        stored = snapshot.kinds(visible_to(viewer))
        check_types([kind] if kind else [], known_types(engine.settings, stored))
        condition = Condition({"kind": (stored_kind(kind),) if kind else entity_kinds(stored)}, gates=allowed)
        found = [one.fields["record"] for one in snapshot.records(condition) if "record" in one.fields]
        records = [visible_record(snapshot, record, viewer) for record in found]
    low = query.casefold().strip()
    found = [record for record in records if not low or low in _text(record)]
    if not metadata_fields:
        return found
    return [
        {**one, "metadata": projected(one["metadata"], metadata_fields)} if "metadata" in one else one for one in found
    ]


def _text(record: dict[str, Any]) -> str:
    """The searchable text of a record, without schemas."""
    if record["kind"] == TOOL:
        parts = [record["name"], record.get("description", ""), record.get("server", ""), record.get("server_name", "")]
        return "\n".join(parts).casefold()
    entity = entity_of(record)
    parts = [entity.path, entity.name, entity.description, *entity.tags, metadata_text(entity), *entity.capabilities]
    parts += [text for tool in entity.tools for text in (tool.name, tool.description)]
    parts += [text for ability in entity.skills for text in (ability.name, ability.description)]
    return "\n".join(parts).casefold()


def skills_search(engine: Engine, q: str, viewer: Viewer | None = None) -> list[dict[str, Any]]:
    """Skills with the query in their name, description, tags or metadata, best first."""
    low = q.casefold().strip()
    if not low:
        raise ConfigError("there is no query", "describe the skill")
    scored = []
    for record in listing(engine, SKILL, "", viewer):
        score = _score(entity_of(record), low)
        if score > 0:
            scored.append({**record, "relevance_score": score})
    return sorted(scored, key=lambda record: (-record["relevance_score"], record["path"]))


def _score(entity: Entity, low: str) -> float:
    places = {
        NAME: entity.name,
        DESCRIPTION: entity.description,
        TAGS: "\n".join(entity.tags),
        METADATA: metadata_text(entity),
    }
    return round(sum(weight for weight, text in places.items() if low in text.casefold()), 4)


def tags(engine: Engine, viewer: Viewer | None = None) -> list[dict[str, Any]]:
    """Tags of all entities and documents that the viewer may see, most frequent first; food/bread counts for food."""
    count = Counter(
        tag for record in listing(engine, "", "", viewer) for tag in set().union(*map(with_parents, record["tags"]))
    )
    with engine.snapshot() as snapshot:
        count.update(snapshot.tags(Condition(gates=gates(viewer)), without=(*entity_kinds(snapshot.kinds()), TOOL)))
    return [{"tag": tag, "count": number} for tag, number in sorted(count.items(), key=lambda i: (-i[1], i[0]))]
