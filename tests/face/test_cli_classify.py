"""`watersmeet classify`: a hint that needs no index."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Ask = Callable[..., Any]


@pytest.mark.parametrize(
    ("query", "kind", "length", "weights", "mode", "top_n"),
    [
        ("D40", "identifier", "short", (0.3, 0.7), "lexical", 3),
        ("Tell me about Room D40", "mixed", "sentence", (0.5, 0.5), "hybrid", 7),
        ("fire hazards", "conceptual", "short", (0.7, 0.3), "hybrid", 7),
        ("What are the safety requirements?", "conceptual", "sentence", (0.7, 0.3), "hybrid", 15),
    ],
)
def test_without_an_index(
    ask: Ask,
    tmp_path: Path,
    query: str,
    kind: str,
    length: str,
    weights: tuple[float, float],
    mode: str,
    top_n: int,
) -> None:
    found = ask("classify", query, cwd=tmp_path)
    assert (found["kind"], found["length"]) == (kind, length)
    assert found["weights"] == {"semantic": weights[0], "keyword": weights[1]}
    assert (found["suggested_mode"], found["suggested_top_n"]) == (mode, top_n)
    assert found["anchors"] == (["D40"] if "D40" in query else [])
    assert found["why"]
    assert not list(tmp_path.glob(".watersmeet"))


def test_an_index_knows_what_is_rare_and_whether_there_are_vectors(ask: Ask) -> None:
    found = ask("classify", "where does Flamingo stand in there")
    assert (found["kind"], found["anchors"]) == ("mixed", ["Flamingo"])
    assert found["suggested_mode"] == "lexical"  # the vault of these tests has no vectors


def test_for_people(run: Callable[..., Any], tmp_path: Path) -> None:
    done = run("classify", "tell", "me", "about", "D40", cwd=tmp_path)
    assert done.returncode == 0
    assert done.stdout == (
        "mixed, short: 1 of its 1 significant words are identifiers: D40\n"
        "   factual, simple (confidence 0.5)\n"
        "   --mode hybrid --top-n 7; semantic 0.3, keyword 0.7\n"
    )


def test_an_index_that_is_named_must_be_there(run: Callable[..., Any], tmp_path: Path) -> None:
    done = run("classify", "D40", "--index", "nowhere", cwd=tmp_path)
    assert done.returncode == 2
    assert "nowhere" in done.stderr
