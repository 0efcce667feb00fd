"""What names one thing, and what is only asked with."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.core.identifiers import read
from watersmeet.core.model import ChunkId, Condition
from watersmeet.core.ports import Term


class Counted:
    """An index of which only the frequencies matter."""

    def __init__(self, size: int, **often: int) -> None:
        self.size = size
        self._often = often

    def frequency(self, field: str, text: str) -> int:
        return self._often.get(text.replace("-", "_"), 0)

    def match(self, terms: Sequence[Term], condition: Condition, limit: int) -> list[tuple[ChunkId, float]]:
        raise AssertionError("understanding searches for nothing")

    def score(self, terms: Sequence[Term], ids: Collection[ChunkId]) -> dict[ChunkId, float]:
        raise AssertionError("understanding searches for nothing")


@pytest.mark.parametrize(
    "text",
    [
        *("D40", "Aboleth", "30 CFR 75.1725", "PII-2024-0042", "MSHA 30 CFR 75"),  # as ADR-003 writes them
        *("d40", "pii-2024-0042", "30 cfr 75.1725"),  # whatever the case
        *("D4", "S3", "C#", "C++", "Go", "42"),  # however short
        *(
            "--no-vectors",
            "getUserById",
            "get_user",
            "v1.2.3",
            "std::vector",
            "X-Forwarded-For",
            "kube-proxy",
        ),
    ],
)
def test_an_identifier_alone(text: str) -> None:
    assert read(text).kind == "identifier"
    assert read(text).share == 1


@pytest.mark.parametrize(
    "text",
    [
        *(
            "What are the safety requirements?",
            "Tell me about fire hazards",
            "WHAT ARE THE SAFETY REQUIREMENTS",
        ),
        *(
            "two-stage retrieval",
            "top 3 safety rules",
            "e.g. how to begin",
            "between 5 and 10 steps",
            "",
            "?!",
            "#",
        ),
    ],
)
def test_nothing_is_named(text: str) -> None:
    assert (read(text).kind, read(text).anchors) == ("conceptual", ())


@pytest.mark.parametrize(
    ("text", "anchors"),
    [
        ("Tell me about Room D40", ["D40"]),
        ("Explain regulation 75.1725", ["75.1725"]),
        ("how do I use --no-vectors with v2.0?", ["--no-vectors", "v2.0"]),
        ("TELL ME ABOUT D40", ["D40"]),
        ("Tell me about Aboleth", ["Aboleth"]),
        ("what does 30 CFR 75 say?", ["30", "CFR", "75"]),
        ("error 404", ["404"]),
    ],
)
def test_something_is_named_in_what_is_asked(text: str, anchors: list[str]) -> None:
    assert (read(text).kind, list(read(text).anchors)) == ("mixed", anchors)


@pytest.mark.parametrize(("count", "length"), [(1, "short"), (4, "short"), (5, "sentence")])
def test_four_words_are_short(count: int, length: str) -> None:
    assert read(" ".join(["tide"] * count)).length == length


def test_a_name_is_rare_where_there_is_an_index() -> None:
    corpus = Counted(10_000, aboleth=3, safety=900, kube_proxy=4, well_known=800, estuary=2, water=500)
    assert read("Aboleth", corpus).kind == "identifier"
    assert read("Safety", corpus).kind == "conceptual"
    assert read("Unheard", corpus).kind == "identifier"
    assert read("where does Aboleth sleep", corpus).anchors == ("Aboleth",)
    assert read("where does Safety begin", corpus).kind == "conceptual"
    assert read("where does Unheard begin", corpus).kind == "conceptual"
    assert read("how does kube-proxy begin", corpus).anchors == ("kube-proxy",)
    assert read("how does well-known advice begin", corpus).kind == "conceptual"
    assert read("estuary", corpus).kind == "identifier"
    assert read("water", corpus).kind == "conceptual"


def test_beside_a_code_a_capitalised_word_is_no_name() -> None:
    assert read("Tell me about Room D40", Counted(60, room=1)).share == 0.5


@given(st.text(max_size=80))
def test_whatever_is_asked_is_read(text: str) -> None:
    found = read(text)
    assert 0 <= found.share <= 1
    assert set(found.anchors) <= set(found.content_tokens) <= set(found.surfaces)
    assert (found.kind == "conceptual") == (not found.anchors)
