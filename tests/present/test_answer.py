"""From a ranking to what its reader gets."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from watersmeet.core.model import Answer, ChunkId, DocId, Evidence, Failure, Hit, Passage, Ranking, Result
from watersmeet.core.place import Place
from watersmeet.present.answer import breadcrumb, breakdown, explain_line, location, results, to_json


def passage(name: str, title: str = "Keys", headings: tuple[str, ...] = ("Keys", "Errors")) -> Passage:
    return Passage(
        ChunkId(name), DocId(f"{name}.md"), "document", title, f"/v/{name}.md", None, headings, Place((3, 5)), "text"
    )


def result(**more: Any) -> Result:
    ranking = Ranking("rrf", (Hit(ChunkId("a"), 1.0, more.pop("evidence", ())),))
    (made,) = results(ranking, ranking, {ChunkId("a"): passage("a", **more)})
    return made


def test_results_keep_order_and_carry_both_scores() -> None:
    fused = Ranking("rrf", (Hit(ChunkId("a"), 0.04), Hit(ChunkId("b"), 0.02), Hit(ChunkId("c"), 0.01)))
    final = Ranking("top", (Hit(ChunkId("b"), 1.0), Hit(ChunkId("a"), 0.5)))
    made = results(final, fused, {ChunkId(name): passage(name) for name in "ab"})
    assert [(r.id, r.score, r.fusion_score) for r in made] == [("b", 1.0, 0.02), ("a", 0.5, 0.04)]
    assert made[0].document == "b.md"
    assert made[0].lines == (3, 5)


def test_the_order_of_signals_in_an_explanation_is_fixed() -> None:
    found = tuple(Evidence(by, rank, 1.0) for by, rank in (("exact", 2), ("graph", 4), ("dense", 3), ("lexical", 1)))
    assert explain_line(result(evidence=found)) == "[lexical#1, dense#3, exact#2, graph#4] Keys > Errors"
    assert explain_line(result(evidence=found[:1])) == "[exact#2] Keys > Errors"


def test_a_contribution_that_was_clamped_says_from_what() -> None:
    found = (Evidence("boost", 1, 12.5, {"contribution": 0.051, "unclamped": 1.25}),)
    assert breakdown(result(evidence=found))[0] == "boost: score 12.5000 = 1.2500, clamped to 0.0510"


@pytest.mark.parametrize(
    ("title", "headings", "shown"),
    [
        ("Keys", ("Keys", "Errors"), "Keys > Errors"),
        ("Keys", ("Errors",), "Keys > Errors"),
        ("Keys", ("Keys",), "Keys"),
        ("Keys", (), "Keys"),
        ("Keys", ("Errors", "Keys"), "Keys > Errors > Keys"),
    ],
)
def test_a_breadcrumb_says_nothing_twice(title: str, headings: tuple[str, ...], shown: str) -> None:
    assert breadcrumb(result(title=title, headings=headings)) == shown


def test_json_has_the_fields_of_the_contract_in_order() -> None:
    evidence = (Evidence("lexical", 1, 7.5, {"contribution": 0.1}),)
    answer = Answer(
        "q", "lexical", "default", (result(evidence=evidence),), (Failure("dense", "no model", "get it"),), 1.23456
    )
    made = to_json(answer)
    assert list(made)[:6] == ["query", "mode", "recipe", "results", "failures", "took_ms"]
    assert list(made["results"][0]) == [
        *("id", "document", "kind", "title", "headings", "path", "where", "lines"),
        *("text", "score", "fusion_score", "similarity", "evidence"),
    ]
    assert made["results"][0]["evidence"] == [{"by": "lexical", "rank": 1, "score": 7.5, "contribution": 0.1}]
    assert made["results"][0]["lines"] == [3, 5]
    assert made["results"][0]["where"] == ":3"
    assert made["failures"] == [{"by": "dense", "reason": "no model", "hint": "get it"}]
    assert json.loads(json.dumps(made)) == made


def test_where_a_result_is() -> None:
    assert location(result()) == "/v/a.md:3"
    assert location(result(), str.upper) == "/V/A.MD:3"
    assert location(replace(result(), place=Place((3, 5), pages=(2, 2)))) == "/v/a.md p. 2"
    assert location(replace(result(), place=Place())) == "/v/a.md"
    assert location(replace(result(), kind="mcp_server", document=DocId("/context7"))) == "/context7"
    assert location(replace(result(), kind="recipe")) == "/v/a.md:3"
