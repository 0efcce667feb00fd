"""Markdown that says what was found and nothing that the text itself did not mean."""

from __future__ import annotations

from dataclasses import replace

from watersmeet.core.model import Answer, ChunkId, DocId, Evidence, Result
from watersmeet.core.place import Place
from watersmeet.present.markdown import markdown, table


def result(text: str, title: str = "Keys") -> Result:
    evidence = (Evidence("lexical", 1, 3.0, {"contribution": 1.0, "scaled": 1.0, "weight": 1.0}),)
    return Result(
        ChunkId("c"),
        DocId("k.md"),
        "document",
        title,
        (title,),
        "/v/k.md",
        Place((3, 9)),
        text,
        1.0,
        1.0,
        None,
        evidence,
    )


def answer(*results: Result) -> Answer:
    return Answer("rotate keys", "lexical", "default", results, (), 1.0)


def test_place_passage_and_shares() -> None:
    shown = markdown(answer(result("Rotate keys.\n")), explain=True)
    assert shown == (
        "### 1. Keys\n\n`/v/k.md:3-9`, score 1.000\n\n- lexical#1\n"
        "- lexical: score 3.0000, scaled 1.000 x weight 1.000 = 1.0000\n- fused 1.0000\n\n```text\nRotate keys.\n```"
    )


def test_a_page_stands_behind_the_path() -> None:
    assert "`/v/k.md p. 3`, score" in markdown(answer(replace(result("x"), place=Place((3, 9), pages=(3, 3)))))


def test_a_passage_cannot_end_its_own_block() -> None:
    shown = markdown(answer(result("`````\nrotate keys with ```` ticks ````\n`````")))
    assert "`````text\nrotate keys with ```` ticks ````\n`````" in shown


def test_a_title_is_text() -> None:
    assert "### 1. \\*a\\* \\_b\\_ \\[c\\] \\<d>" in markdown(answer(result("x", "*a* _b_ [c] <d>")))
    assert markdown(answer()) == ""


def test_a_cell_cannot_break_its_row() -> None:
    assert table(["a"], [["x | y\nz"]]) == "| a |\n| --- |\n| x \\| y z |"
