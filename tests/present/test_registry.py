from __future__ import annotations

import json

import pytest

from registries import ENTITIES
from watersmeet.core.entities import Entity, Tool
from watersmeet.core.model import Evidence, Failure
from watersmeet.present.registry import (
    ANSWER_GROUPS,
    MIN_SHOWN_SCORE,
    EntityAnswer,
    Found,
    OfferedTool,
    ToolAnswer,
    grouped,
)

BY_PATH = {entity.path: entity for entity in ENTITIES}


def found(path: str, score: float = 0.5, *evidence: Evidence, tool: Tool | None = None) -> Found:
    return Found(BY_PATH[path], score, evidence, tool)


def test_each_kind_has_its_group_and_the_order_stays() -> None:
    server = BY_PATH["/context7"]
    groups = grouped(
        [
            found("/skills/pdf", 0.9),
            found("/context7", 0.8),
            found("/context7", 0.7, tool=server.tools[0]),
            found("/strava", 0.6),
            found("/agents/travel", 0.5),
            found("/virtual/dev-tools", 0.4),
        ],
        "anything",
        3,
    )
    assert list(groups) == list(ANSWER_GROUPS)
    assert [item.path for item in groups["servers"]] == ["/context7", "/strava"]
    assert [(item.server_path, item.tool_name) for item in groups["tools"]] == [("/context7", "query-docs")]
    assert [item.agent_name for item in groups["agents"]] == ["Travel agent"]
    assert [item.skill_name for item in groups["skills"]] == ["pdf"]
    assert [item.server_name for item in groups["virtual_servers"]] == ["Dev Tools"]


def test_nothing_found_is_every_group_empty() -> None:
    assert grouped([], "anything", 3) == dict.fromkeys(ANSWER_GROUPS, ())


@pytest.mark.parametrize(
    ("score", "shown"), [(0.123456, 0.1235), (0.0, MIN_SHOWN_SCORE), (-1.0, MIN_SHOWN_SCORE), (1.0, 1.0)]
)
def test_a_score_is_rounded_and_never_nothing(score: float, shown: float) -> None:
    (skill,) = grouped([found("/skills/pdf", score)], "pdf", 3)["skills"]
    assert skill.relevance_score == shown


def test_the_cosine_is_that_of_the_best_model_that_has_seen_it() -> None:
    dense, static = Evidence("dense", 1, 0.71234567), Evidence("static", 1, 0.4)
    guess = Evidence("dense", 1, 0.7, {"estimated": True})
    for evidence, cosine in (((dense, static), 0.7123), ((guess, static), 0.4), ((), None)):
        (skill,) = grouped([found("/skills/pdf", 0.5, *evidence)], "pdf", 3)["skills"]
        assert skill.similarity_score == cosine


def test_where_it_mentions_the_words_and_which_tools_do() -> None:
    (server,) = grouped([found("/context7")], "docs of a library", 1)["servers"]
    assert server.matched == ("description", "tags")
    assert [tool.tool_name for tool in server.matching_tools] == ["query-docs"]
    assert server.num_tools == 2
    (none,) = grouped([found("/context7")], "zyzzyva", 3)["servers"]
    assert (none.matched, none.matching_tools) == ((), ())


def test_of_a_long_description_the_part_that_was_asked_for_is_shown() -> None:
    long = Entity("skill", "/s", "s", "word " * 200 + "the tides of the estuary " + "word " * 200)
    (skill,) = grouped([Found(long, 0.5, ())], "estuary tides", 3)["skills"]
    assert "tides of the estuary" in skill.match_context
    assert len(skill.match_context) < 200
    assert skill.description == long.description


def test_what_only_some_kinds_have() -> None:
    (virtual,) = grouped([found("/virtual/dev-tools")], "x", 3)["virtual_servers"]
    assert (virtual.backend_paths, virtual.tool_count) == (("/github", "/jira"), 1)
    (agent,) = grouped([found("/agents/travel")], "x", 3)["agents"]
    assert [(skill.name, skill.description) for skill in agent.skills] == [("hotels", "Finds beds")]
    (skill,) = grouped([found("/skills/pdf")], "x", 3)["skills"]
    assert (skill.author, skill.version) == ("marguerite", "2")
    (bare,) = grouped([found("/flags/one")], "x", 3)["skills"]
    assert (bare.author, bare.version) == ("", "")
    (tool,) = grouped([found("/context7", tool=BY_PATH["/context7"].tools[0])], "x", 3)["tools"]
    assert tool.inputSchema["properties"] == {"libraryId": {"type": "string"}}


def test_an_answer_counts_its_groups_and_orders_all_of_them() -> None:
    groups = grouped([found("/skills/pdf", 0.3), found("/context7", 0.9), found("/strava", 0.2)], "x", 3)
    answer = EntityAnswer(query="x", took_ms=1.23456, failures=(Failure("dense", "no model"),), **groups)
    assert [item.relevance_score for item in answer.entities] == [0.9, 0.3, 0.2]
    made = answer.to_json()
    assert json.loads(json.dumps(made)) == made
    assert {name: made[f"total_{name}"] for name in ("servers", "skills", "tools")} == {
        "servers": 2,
        "skills": 1,
        "tools": 0,
    }
    assert made["took_ms"] == 1.235
    assert made["failures"][0]["by"] == "dense"
    assert "notes" not in made
    assert EntityAnswer(query="x", notes=("two are hidden",)).to_json()["notes"] == ["two are hidden"]


def test_tools_for_a_task_are_plain_json() -> None:
    tool = OfferedTool("query-docs", "/context7", "Context7", "Query the docs", {"type": "object"}, 0.9, "name")
    made = ToolAnswer(task="read docs", tools=(tool,)).to_json()
    assert made["tools"][0]["inputSchema"] == {"type": "object"}
    assert made["task"] == "read docs"
