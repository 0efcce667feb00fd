"""`Engine.search` by name: the words of the other faces, and what is said of others."""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Condition, Request


@pytest.mark.slow
@pytest.mark.parametrize(
    "filters",
    [{"tag": "security"}, {"tag": ["security"]}, ["tag=security"], "tag=security", {"tag": ("security", "none")}],
)
def test_filters_as_the_other_faces_have_them(engine: Engine, vault: Path, filters: Any) -> None:
    engine.sync([vault])
    assert {r.document for r in engine.search("keys", filters=filters).results} == {"guides/keys.md"}
    assert {r.document for r in engine.search(Request("keys"), filters=filters).results} == {"guides/keys.md"}


@pytest.mark.parametrize("since", ["2026-01-06", datetime(2026, 1, 6, tzinfo=UTC), "7d"])
def test_spans_of_time(engine: Engine, vault: Path, since: Any) -> None:
    written = datetime(2026, 1, 2, tzinfo=UTC).timestamp()
    os.utime(vault / "guides" / "setup.md", (written, written))
    engine.sync([vault])
    assert engine.search("archive").results
    assert not [r for r in engine.search("archive", since=since).results if r.document == "guides/setup.md"]
    assert engine.search("archive", before="2026-01-06").results[0].document == "guides/setup.md"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"filter": {"tag": "a"}}, "filters"),
        ({"tag": "a"}, "known: before"),
        ({"filters": {"tag": "a"}, "condition": Condition()}, "one of them"),
        ({"filters": 5}, "filters="),
        ({"filters": {"a=b": "c"}}, "remove the ="),
        ({"since": 5}, "2026-01-31"),
        ({"top_n": "three"}, ""),
        ({"top_n": 0}, ""),
    ],
)
def test_what_is_wrong_is_said(engine: Engine, vault: Path, options: dict[str, Any], said: str) -> None:
    engine.sync([vault])
    with pytest.raises(ConfigError) as caught:
        engine.search("keys", **options)
    assert said in caught.value.hint


@pytest.mark.parametrize("query", [None, 5, ["keys"]])
def test_a_query_is_a_text(engine: Engine, vault: Path, query: Any) -> None:
    engine.sync([vault])
    with pytest.raises(ConfigError, match="a query is a text"):
        engine.search(query)


def test_a_closed_engine_says_so(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    engine.search("keys")
    engine.close()
    for ask in (lambda: engine.search("keys"), engine.status, engine.documents, lambda: engine.get("index.md")):
        with pytest.raises(ConfigError, match="closed"):
            ask()
