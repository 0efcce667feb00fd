from __future__ import annotations

from typing import Any

import pytest

from published import BEIR, OFFICIAL, TOOL, all_of, read
from watersmeet.engine.registry.record_files import Listed
from watersmeet.record.toolset import Toolset


@pytest.mark.parametrize(
    "value", [TOOL, {"tools": [TOOL]}, {"type": "function", "function": {"name": "add", "parameters": {}}}]
)
def test_it_knows_its_own(value: Any) -> None:
    assert Toolset().knows(value)


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, OFFICIAL, BEIR, {"name": "x"}])
def test_it_knows_no_other(value: Any) -> None:
    assert not Toolset().knows(value)


def test_tools_of_nobody_belong_to_their_file() -> None:
    (listed,) = all_of({"tools": [TOOL, {"name": "sub", "arguments": [{"name": "b", "desc": "two"}]}]})
    assert isinstance(listed, Listed)
    assert (listed.name, [tool.name for tool in listed.tools]) == ("file", ["add", "sub"])
    assert listed.tools[1].schema == {"type": "object", "properties": {"b": {"description": "two"}}}
    (listed,) = all_of([TOOL, {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}])
    assert [tool.schema.get("type") for tool in listed.tools] == [None, "object"]


def test_tools_of_a_server_that_says_its_name() -> None:
    (server,) = read({"serverInfo": {"name": "Calc", "version": "1"}, "instructions": "Counts", "tools": [TOOL]})
    assert (server.path, server.description, server.tools[0].name) == ("/calc", "Counts", "add")
