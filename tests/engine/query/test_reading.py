"""A document for reading: links lead to documents that the reader may see, and the passage is marked."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pdf_files import pdf
from watersmeet import Engine
from watersmeet.core.errors import NotFound
from watersmeet.core.visibility import EVERYONE
from watersmeet.engine.settings.settings import load

NOTES = {
    "start.md": "# Start\n\nSee [[Setup]], [[deep/other#Part two|other]], [here](guides/setup.md#first%20steps),"
    " [[Hidden]], [[Nothing]] and [out](https://x.org).\n\n## Again\n\n" + "Many more words about herons. " * 60,
    "guides/setup.md": "# Setup\n\nTo [start](../start.md), [away](../../etc/passwd).\n\n## First steps\n\nWalk.\n",
    "deep/other.md": "# Other\n\n## Part two\n\nText.\n",
    "deep/setup.md": "# Setup down there\n\n[[setup]] is another one; see [[start]].\n",
    "hidden.md": "---\n'@audience': ['user:ada']\n---\n# Hidden\n\nSecret.\n",
    "code.py": "def heron():\n    return 1\n",
    "page.html": "<html><body><main><h1>Page</h1><p>" + "Words of a page, enough of them. " * 40 + "</p>"
    "<h2 id='how-to'>How to do it</h2><p>" + "A flamingo stands here on one leg. " * 40 + "</p></main></body></html>",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("reading")
    for name, text in NOTES.items():
        (folder / "docs" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "docs" / name).write_text(text, "utf8")
    (folder / "docs" / "report.pdf").write_bytes(
        pdf([[(12, "The first page is about rivers.")], [(12, "The second page is about a flamingo.")]])
    )
    with Engine(folder / "index", load(start=str(folder))) as made:
        made.sync([folder / "docs"], vectors=False)
        yield made


def links(nodes: list[Any]) -> dict[str, Any]:
    """Text and target of each link; a dead one has none."""
    found: dict[str, Any] = {}
    for node in nodes:
        if isinstance(node, list):
            if node[0] == "a" or node[1].get("class") == "dead":
                found["".join(one for one in node[2:] if isinstance(one, str))] = node[1] if node[0] == "a" else None
            found |= links(node[2:])
    return found


def test_links_are_resolved_as_for_ranking(engine: Engine) -> None:
    assert links(engine.read("start.md")["content"]) == {
        "Setup": {"document": "deep/setup.md"},
        "other": {"document": "deep/other.md", "anchor": "part-two"},
        "here": {"document": "guides/setup.md", "anchor": "first-steps"},
        "Hidden": {"document": "hidden.md"},
        "Nothing": None,
        "out": {"href": "https://x.org"},
    }
    assert links(engine.read("deep/setup.md")["content"]) == {
        "setup": {"document": "guides/setup.md"},  # not itself
        "start": {"document": "start.md"},
    }
    assert links(engine.read("guides/setup.md")["content"]) == {"start": {"document": "start.md"}, "away": None}


def test_what_one_may_not_see_is_not_there(engine: Engine) -> None:
    assert links(engine.read("start.md", EVERYONE)["content"])["Hidden"] is None
    with pytest.raises(NotFound):
        engine.read("hidden.md", EVERYONE)


def test_the_passage_is_marked(engine: Engine) -> None:
    result = engine.search("herons").results[0]
    found = engine.read(result.document, chunk=result.id)
    (passage,) = [node for node in found["content"] if node[1].get("class") == "passage"]
    assert "herons" in str(passage)
    assert found["chunk"] == result.id
    assert not [node for node in engine.read("start.md")["content"] if node[1].get("class") == "passage"]
    other = engine.read("guides/setup.md", chunk=result.id)  # a chunk of another document
    assert other["chunk"] == ""


def test_formats(engine: Engine) -> None:
    assert engine.read("code.py")["content"] == [["pre", {"class": "code"}, "def heron():\n    return 1"]]
    page = engine.read("page.html")
    assert (page["form"], page["anchors"].get("how-to")) == ("markdown", "how-to-do-it")
    report = engine.read("report.pdf")
    assert (report["form"], report["file"], report["page"]) == ("plain", "application/pdf", 0)
    result = next(one for one in engine.search("flamingo page").results if one.document == "report.pdf")
    assert engine.read("report.pdf", chunk=result.id)["page"] == (result.place.pages or (0,))[0] > 0


def test_a_file_that_is_gone_is_said(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n")
    with Engine(tmp_path / "index", load(start=str(tmp_path))) as made:
        made.sync([tmp_path / "docs"], vectors=False)
        (tmp_path / "docs" / "a.md").unlink()
        found = made.read("a.md")
        assert (found["file_missing"], found["file"]) == (True, "")
