"""What the capabilities say of Markdown (F1 to F6), seen through the command."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Ask = Callable[..., Any]


def test_inspect_has_the_shape_of_the_contract(ask: Ask) -> None:
    found = ask("inspect", "guides/setup.md")
    assert list(found) == ["title", "headings", "links", "tags", "front_matter", "chunks", "warnings"]
    assert found["headings"] == [
        {"level": 1, "text": "Setup", "where": ":6", "line": 6},
        {"level": 2, "text": "Ports", "where": ":15", "line": 15},
        {"level": 3, "text": "Behind a proxy", "where": ":19", "line": 19},
    ]
    for chunk in found["chunks"]:
        assert list(chunk) == ["id", "headings", "where", "lines", "text"]
        assert chunk["lines"][0] <= chunk["lines"][1]
    assert found["front_matter"]["created"] == "2026-01-05"
    assert found["warnings"] == []
    links = ask("inspect", "links/heading.md")["links"]
    assert links == [{"target": "Keys", "heading": "Errors", "alias": "", "type": "wiki"}]


def test_f1_nothing_inside_a_fence_is_a_heading_a_link_or_a_tag(ask: Ask) -> None:
    found = ask("inspect", "guides/setup.md")
    assert "not a heading" not in [heading["text"] for heading in found["headings"]]
    assert found["links"] == []
    assert "not-a-tag" not in found["tags"]


def test_f2_each_way_to_write_a_link_is_one_edge(ask: Ask) -> None:
    results = {result["document"]: result for result in ask("related", "guides/keys.md")["results"]}
    for name in ("plain", "alias", "heading", "all"):
        paths = results[f"links/{name}.md"]["evidence"][0]["paths"]
        assert paths == [f"links/{name}.md -> guides/keys.md (wiki)"], name


def test_f3_tags_of_the_body_and_of_the_front_matter(ask: Ask) -> None:
    assert sorted(ask("inspect", "guides/setup.md")["tags"]) == ["alpha", "beta"]
    assert ask("inspect", "guides/keys.md")["tags"] == ["security"]  # neither #123 nor #ff8800
    for tag in ("alpha", "beta"):
        assert ask("search", "archive", "--filter", f"tag={tag}")["results"][0]["document"] == "guides/setup.md"


def test_f4_a_chunk_carries_its_heading_path(ask: Ask) -> None:
    best = ask("search", "TRN-1042", "-n", "1")["results"][0]
    assert best["headings"] == ["Setup", "Ports", "Behind a proxy"]
    assert best["lines"] == [19, 21]


def test_f5_code_is_indexed(ask: Ask) -> None:
    for query in ("zephyrctl", "--no-telemetry"):
        assert ask("search", "--mode", "lexical", "--", query)["results"][0]["document"] == "guides/setup.md"


def test_f6_front_matter_gives_aliases_and_dates_and_may_be_broken(ask: Ask, synced: Path) -> None:
    assert ask("search", "Foo Bar")["results"][0]["document"] == "guides/setup.md"
    assert ask("get", "guides/setup.md")["fields"]["created"] == "2026-01-05"
    assert ask("search", "flamingo")["results"][0]["document"] == "broken.md"
    (warning,) = ask("inspect", "broken.md")["warnings"]
    assert warning
    assert ask("list")["documents"][0]["document"] == "broken.md"


def test_inspect_in_words(run: Callable[..., Any]) -> None:
    done = run("inspect", "guides/setup.md", "--quiet", "--index", "unused")
    assert done.returncode == 0
    title, _, *rest = done.stdout.splitlines()
    assert title == "Setup"
    assert rest[:4] == ["headings", "      :6  Setup", "     :15    Ports", "     :19      Behind a proxy"]
    assert "  aliases: Foo Bar" in rest
    assert "links" not in rest  # there are none
