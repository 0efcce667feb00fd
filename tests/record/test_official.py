from __future__ import annotations

from typing import Any

import pytest

from published import BEIR, CARD, CONTEXT7, OFFICIAL, read
from watersmeet.record.official import Official


@pytest.mark.parametrize("value", [OFFICIAL, {"server": OFFICIAL}, {"servers": [{"server": OFFICIAL}]}])
def test_it_knows_its_own(value: Any) -> None:
    assert Official().knows(value)


@pytest.mark.parametrize("value", [None, 3, "text", [], {}, CONTEXT7, CARD, BEIR, {"servers": {}}])
def test_it_knows_no_other(value: Any) -> None:
    assert not Official().knows(value)


def test_the_official_registry() -> None:
    (server,) = read(OFFICIAL)
    assert (server.path, server.name) == ("/io.github.ada/weather", "io.github.ada/weather")
    assert server.extra["location"] == "https://github.com/ada/weather"
    meta = "io.modelcontextprotocol.registry/official"
    old = {"server": {**OFFICIAL, "description": "Old"}, "_meta": {meta: {"isLatest": False}}}
    new = {"server": OFFICIAL, "_meta": {meta: {"isLatest": True, "status": "deprecated", "updatedAt": "2026-01-02"}}}
    gone = {"server": {**OFFICIAL, "name": "x/y"}, "_meta": {meta: {"status": "deleted"}}}
    first, second, refused = read({"servers": [old, new, gone]})
    assert (first.description, first.extra["isLatest"]) == ("Old", False)
    assert (second.description, second.status, second.extra["isLatest"]) == ("Weather", "deprecated", True)
    assert "deleted" in refused.reason
