"""Every form that records come in: known by its content, and read for what it says."""

from __future__ import annotations

from typing import Any

import pytest

from published import AGENT, BACKENDS, BEIR, CARD, CATALOG, CONTEXT7, ENTRY, OFFICIAL, SKILL, TOOL, VIRTUAL, read
from watersmeet.core.entities import Entity, Refused, record
from watersmeet.engine.components import build
from watersmeet.engine.registry.record_files import FORMATS
from watersmeet.present.registry import Found, grouped, json_value


@pytest.mark.parametrize(
    ("value", "format"),
    [
        (CONTEXT7, "gateway"),
        (AGENT, "gateway"),
        (SKILL, "gateway"),
        (VIRTUAL, "gateway"),
        (OFFICIAL, "official"),
        ({"server": OFFICIAL, "_meta": {}}, "official"),
        ({"servers": [{"server": OFFICIAL}], "metadata": {"count": 1}}, "official"),
        (CARD, "card"),
        (CATALOG, "catalogue"),
        (ENTRY, "catalogue"),
        ({"front_matter": {"name": "x"}, "body": ""}, "skill"),
        (BEIR, "beir"),
        (TOOL, "toolset"),
        ({"tools": [TOOL]}, "toolset"),
        ({"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL]}}, "toolset"),
        ({"type": "function", "function": {"name": "add", "parameters": {}}}, "toolset"),
    ],
)
def test_who_knows_it(value: Any, format: str) -> None:
    """One knows it; nobody asked before that one does."""
    assert next(name for name in FORMATS if build("record", name, {}).knows(value)) == format


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, {"name": "x"}, {"servers": {}}, {"path": 3}])
def test_nobody_knows_what_is_no_record(value: Any) -> None:
    assert not any(build("record", name, {}).knows(value) for name in FORMATS)


@pytest.mark.parametrize(
    "value", [CONTEXT7, AGENT, SKILL, VIRTUAL, BACKENDS, OFFICIAL, CARD, BEIR, CATALOG["registry"]]
)
def test_what_the_registry_gives_out_can_be_registered(value: Any) -> None:
    for entity in read({"registry": value} if value is CATALOG["registry"] else value):
        if isinstance(entity, Entity):
            assert read(record(entity)) == [entity]


@pytest.mark.parametrize("value", [AGENT, SKILL])
def test_what_an_answer_shows_can_be_registered(value: Any) -> None:
    (entity,) = read(value)
    (group,) = (found for found in grouped([Found(entity, 0.5, ())], "forms", 3).values() if found)
    (again,) = read(json_value(group[0]))
    assert (again.kind, again.path, again.name, again.metadata) == (
        entity.kind,
        entity.path,
        entity.name,
        entity.metadata,
    )
    assert again.extra == {}


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        ({"path": "/x"}, "no `server_name`"),
        ({"path": "/x", "server_name": ["x"]}, "`server_name` is not a text"),
        ({**CONTEXT7, "status": "depricated"}, "unknown status 'depricated'; did you mean 'deprecated'?"),
        ({**CONTEXT7, "visibility": "secret"}, "unknown visibility 'secret'"),
        ({**CONTEXT7, "is_enabled": "maybe"}, "`is_enabled` is neither true nor false"),
        ({**CONTEXT7, "tool_list": [{"description": "nameless"}]}, "tool 1 has no name"),
        ({**CONTEXT7, "tool_list": {}}, "`tools` is not a list"),
        ({**CONTEXT7, "metadata": "x"}, "`metadata` is not an object"),
        ({**CONTEXT7, "entity_type": "robot"}, "unknown kind 'robot'"),
        ({**CARD, "skills": [3]}, "skill 1 is not an object"),
        ({**CARD, "name": "!!!"}, "no path can be made"),
        ({**BEIR, "metadata": []}, "`metadata` is not an object"),
        ({"front_matter": {"name": "x"}, "body": ""}, "no `description`"),
        ({"what": "ever"}, "not a record in a known format"),
        (3, "not a record in a known format"),
    ],
)
def test_a_bad_record_is_named(value: Any, reason: str) -> None:
    (refused,) = read(value)
    assert isinstance(refused, Refused)
    assert refused.record.startswith("here")
    assert reason in refused.reason


def test_what_no_catalogue_can_hold_is_made_to_fit() -> None:
    (server,) = read({"path": "/x", "server_name": "a\ud800b\0", "metadata": {"nan": float("nan"), "set": {1: "x"}}})
    assert server.name == "a?b"
    assert server.metadata == {"set": {"1": "x"}}
