"""A context pack never costs more than it may, and says where everything is from."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.model import ChunkId, DocId, Result
from watersmeet.present.pack import estimate, pack

PROSE = "The harbour opens at six. Boats wait outside until the light turns green. Fees are paid at the gate. "


COUNTED = {
    "The harbour opens at six. Boats wait outside until the light turns green, and then enter one after the other "
    "while the pilot watches from the tower above the gate.": 34,
    "def read_lines(path, limit=10):\n    with open(path) as file:\n        lines = file.readlines()\n"
    "    for number, line in enumerate(lines):\n        if number > limit:\n            break\n"
    "        print(line.strip())\n": 93,
    "| option | default | meaning |\n|---|---|---|\n| `--port` | 7878 | where the server listens |\n"
    "| `--quiet` | false | print the result and nothing else |\n": 47,
    "# Setup\n\nUnpack the archive, then run `tern serve --no-telemetry`. See [the guide](guides/keys.md) for keys."
    "\n\n- one\n- two\n- three\n": 46,
}


def result(number: int, text: str, lines: tuple[int, int] = (1, 1), title: str = "Harbour") -> Result:
    return Result(
        id=ChunkId(f"c{number}"),
        document=DocId(f"guides/page{number}.md"),
        kind="note",
        title=title,
        headings=("Rules",),
        path=f"/vault/guides/page{number}.md",
        lines=lines,
        text=text,
        score=1.0,
        fusion_score=1.0,
        similarity=None,
        evidence=(),
    )


@given(st.lists(st.text(max_size=600), max_size=6), st.integers(1, 400), st.text(max_size=300))
def test_never_over_budget(texts: list[str], budget: int, title: str) -> None:
    made = pack([result(i, text, title=title) for i, text in enumerate(texts)], budget)
    assert made.tokens <= budget
    assert made.tokens == estimate(made.text)
    assert [c.id for c in made.citations] == [f"c{i}" for i in range(len(made.citations))]


@given(
    st.lists(st.sampled_from([PROSE, PROSE * 4, "x = 1\n  y = 2\n" * 8, "好的。" * 30]), min_size=1),
    st.integers(1, 900),
)
def test_a_larger_budget_holds_at_least_as_much(texts: list[str], budget: int) -> None:
    results = [result(i, text) for i, text in enumerate(texts)]
    small, large = pack(results, budget), pack(results, budget + 100)
    assert len(small.citations) <= len(large.citations)
    assert sum(c.cut for c in large.citations) <= 1


def test_whole_passages_with_citations_in_rank_order() -> None:
    made = pack([result(1, PROSE, (4, 9)), result(2, "Second passage.", (1, 2))], 500)
    assert made.text.startswith("### [1] Harbour > Rules (guides/page1.md:4-9)\n\nThe harbour opens at six.")
    assert "### [2] Harbour > Rules (guides/page2.md:1-2)\n\nSecond passage." in made.text
    assert [c.cut for c in made.citations] == [False, False]
    assert made.to_json()["citations"][0]["lines"] == [4, 9]


def test_the_last_one_is_cut_after_a_sentence() -> None:
    made = pack([result(1, PROSE), result(2, PROSE * 10)], 150)
    assert [c.cut for c in made.citations] == [False, True]
    assert made.text.endswith(".")
    assert 100 < made.tokens <= 150


def test_a_scrap_is_not_worth_a_citation() -> None:
    whole = pack([result(1, PROSE)], 500).tokens
    assert len(pack([result(1, PROSE), result(2, PROSE * 10)], whole + 30).citations) == 1


def test_one_long_sentence_is_cut_between_words_rather_than_left_out() -> None:
    made = pack([result(1, "word " * 500)], 60)
    assert made.text.endswith("word")
    assert made.citations[0].cut


def test_a_cut_passage_names_its_own_lines_and_closes_its_fence() -> None:
    code = "```python\n" + "\n".join(f"value_{i} = compute({i})" for i in range(60)) + "\n```"
    made = pack([result(1, code, (10, 71))], 200)
    shown = made.text.split("\n\n", 1)[1].splitlines()
    assert shown[-1] == "```"
    assert made.citations[0].lines == (10, 10 + len(shown) - 1)
    assert made.citations[0].lines[1] < 71


def test_nothing_fits_into_nothing() -> None:
    made = pack([result(1, PROSE)], 3)
    assert (made.text, made.tokens, made.citations) == ("", 0, ())


def test_the_estimate_is_near_byte_pair_counts() -> None:
    """Counts by a byte-pair tokenizer of 50,000 entries."""
    for text, count in COUNTED.items():
        assert abs(estimate(text) - count) <= 0.15 * count, (text, estimate(text), count)
