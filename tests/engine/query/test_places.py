"""Files with pages, slides, sheets and anchors, from the parser to the result."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from placed import Placed
from watersmeet import Engine
from watersmeet.parse.text import Text

FILES = {
    "report.txt": "@page 3\n# Harbour\nThe heron waits at the harbour.\n@page 4\nThe tide turns there.\n",
    "talk.txt": "@nolines\n@slide 4\n# Tern\nA tern dives.\n",
    "costs.txt": "@sheet Budget\n# Pelican\nA pelican eats fish.\n",
    "page.txt": "@anchor install\n# Gannet\nA gannet plunges.\n",
    "plain.txt": "A cormorant dries its wings.\n",
}


@pytest.fixture
def placed(engine: Engine, write: Callable[[dict[str, str]], Path], monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(Text, "parse", Placed.parse)
    root = write(FILES)
    assert engine.sync([root]).added == len(FILES)
    return root


def where(engine: Engine, query: str) -> tuple[str, tuple[int, int] | None]:
    best = engine.search(query).results[0]
    return best.where, best.lines


@pytest.mark.usefixtures("placed")
def test_a_result_says_where_it_is(engine: Engine) -> None:
    assert where(engine, "heron") == ("p. 3-4", (2, 5))
    assert where(engine, "tern") == ("slide 4", None)
    assert where(engine, "pelican") == ("sheet Budget", (2, 3))
    assert where(engine, "gannet") == ("#install", (2, 3))
    assert where(engine, "cormorant") == (":1", (1, 1))
    assert [passage.where for passage in engine.passages("report.txt")] == ["p. 3-4"]
    assert engine.get("report.txt")["chunks"][0]["where"] == "p. 3-4"
    assert engine.get("talk.txt")["chunks"][0]["lines"] is None


def test_a_place_follows_an_edit_that_changes_no_words(engine: Engine, placed: Path) -> None:
    before = engine.search("heron").results[0].id
    (placed / "report.txt").write_text(
        FILES["report.txt"].replace("@page 3", "@page 13").replace("@page 4", "@page 14")
    )
    report = engine.sync([placed])
    assert (report.changed, report.unchanged) == (0, len(FILES))
    assert where(engine, "heron") == ("p. 13-14", (2, 5))
    assert engine.search("heron").results[0].id == before
    assert all(check.ok for check in engine.doctor())


@pytest.mark.usefixtures("placed")
def test_a_line_of_the_text_is_found_as_ever(engine: Engine) -> None:
    found = engine.get("report.txt:4")
    assert found["text"].startswith("The heron")
    assert len(found["chunks"]) == 1
    assert engine.get("talk.txt:1")["document"] == "talk.txt"  # it has no lines: all of it


@pytest.mark.usefixtures("placed")
def test_places_outlive_a_rebuild(engine: Engine) -> None:
    engine.compact()
    assert where(engine, "tern") == ("slide 4", None)


def test_what_is_registered_has_no_lines(engine: Engine) -> None:
    engine.registry.register([{"kind": "mcp_server", "path": "/weather", "name": "weather", "description": "Rain"}])
    (found,) = engine.search("rain").results
    assert (found.where, found.lines) == ("", None)
    assert engine.get("/weather")["chunks"][0]["lines"] is None
    assert engine.get("/weather:1")["document"] == "/weather"
