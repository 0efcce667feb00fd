from __future__ import annotations

from collections.abc import Sequence

import pytest

from watersmeet.core.model import Condition, Plan
from watersmeet.core.vector_signal import nearest, score
from watersmeet.core.vectors import ScoredChunk
from watersmeet.query.sentences import Sentences


@pytest.mark.parametrize(
    ("query", "sentences"),
    [
        ("how do I rotate keys?", ()),
        (
            "Rotate the keys of all users. Then send each a mail.",
            ("Rotate the keys of all users.", "Then send each a mail."),
        ),
        ("Rotate the keys of all users. Thanks!", ()),
        ("first thing to do here\nsecond thing to do here", ("first thing to do here", "second thing to do here")),
        (
            "Write a report on the harbour, and then send it to the crew",
            ("Write a report on the harbour", "send it to the crew"),
        ),
        (
            "book the flight to Oslo, also find me a hotel as well as a car",
            ("book the flight to Oslo", "find me a hotel as well as a car"),
        ),
        ("compare the tides of Oslo and the tides of Bergen", ()),
        (" ".join("A sentence of five words." for _ in range(8)), ("A sentence of five words.",) * 8),
        (" ".join("A sentence of five words." for _ in range(9)), ()),
        ("", ()),
    ],
)
def test_sentences_that_ask_for_something_are_parts(query: str, sentences: tuple[str, ...]) -> None:
    assert Sentences().apply(Plan(query)).sentences == sentences


class Table:
    """Meanings as a table: how near each chunk is to each text."""

    def __init__(self, cosines: dict[str, dict[str, float]]) -> None:
        self.cosines = cosines

    def nearest(self, texts: Sequence[str], condition: Condition, limit: int) -> list[list[ScoredChunk]]:
        ranked = [sorted(self.cosines[text], key=lambda chunk: -self.cosines[text][chunk])[:limit] for text in texts]
        return self.score(texts, dict.fromkeys(chunk for one in ranked for chunk in one))

    def score(self, texts: Sequence[str], ids) -> list[list[ScoredChunk]]:
        return [[ScoredChunk(chunk, self.cosines[text][chunk]) for chunk in ids] for text in texts]


def test_what_is_near_to_one_part_is_found_though_it_is_far_from_the_whole() -> None:
    table = Table(
        {
            "both": {"blur": 0.6, "one": 0.4, "two": 0.3},
            "first": {"blur": 0.5, "one": 0.9, "two": 0.1},
            "second": {"blur": 0.5, "one": 0.1, "two": 0.9},
        }
    )
    plan = Plan("both", words=("both",), sentences=("first", "second"), pool=1)
    assert [(hit.chunk, round(hit.score, 9)) for hit in nearest("dense", table, plan).hits] == [("one", 0.65)]
    assert score(table, plan, ["two"]) == {"two": pytest.approx(0.6)}
    assert nearest("dense", table, Plan("both", words=("both",), pool=1)).hits[0].chunk == "blur"
