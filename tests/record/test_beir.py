from __future__ import annotations

from typing import Any

import pytest

from published import BEIR, CARD, CONTEXT7, OFFICIAL, TOOL, all_of, read
from watersmeet.record.beir import Beir


@pytest.mark.parametrize("value", [BEIR, {"_id": "x", "text": ""}])
def test_it_knows_its_own(value: Any) -> None:
    assert Beir().knows(value)


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, CONTEXT7, CARD, OFFICIAL, TOOL])
def test_it_knows_no_other(value: Any) -> None:
    assert not Beir().knows(value)


def test_a_record_of_a_corpus() -> None:
    (server,) = read(BEIR)
    assert (server.kind, server.path, server.name) == ("mcp_server", "https://github.com/a/b", "a/b")
    (skill,) = read({**BEIR, "metadata": {"kind": "skill", "body": "How", "author": "Ada"}})
    assert (skill.kind, skill.body, skill.metadata) == ("skill", "How", {"author": "Ada"})


@pytest.mark.parametrize(
    ("text", "description", "tools"),
    [
        ("Does it. Tools: ", "Does it.", {}),
        ("Does it. Tools: a_b: One; c-d: Two; three", "Does it.", {"a_b": "One", "c-d": "Two; three"}),
        ("Nothing here", "Nothing here", {}),
        ("We have Tools: many of them", "We have Tools: many of them", {}),
        ("Says x: y. Tools: get: Gets it; e.g. all", "Says x: y.", {"get": "Gets it; e.g. all"}),
    ],
)
def test_tools_that_a_text_names(text: str, description: str, tools: dict[str, str]) -> None:
    (server,) = read({"_id": "x", "title": "X", "text": text})
    assert server.description == description
    assert {tool.name: tool.description for tool in server.tools} == tools


def test_a_corpus_of_tools() -> None:
    (listed,) = all_of([{"_id": "t1", "title": "T1", "text": "Does"}, {"_id": "t2", "text": "Too"}], kind="tool")
    assert [(tool.name, tool.description) for tool in listed.tools] == [("t1", "Does"), ("t2", "Too")]
