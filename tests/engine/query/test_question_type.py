"""The type of a question, by rule."""

from __future__ import annotations

import pytest

from watersmeet.engine.query.question_type import question_type


@pytest.mark.parametrize(
    "query", ["hello, thanks", "Thank you very much!", "hi there", "How are you today?", "ok great", "Good morning!"]
)
def test_conversation(query: str) -> None:
    found = question_type(query)
    assert (found.name, found.complexity) == ("conversation", "simple")
    assert found.confidence > 0.9


@pytest.mark.parametrize(
    ("query", "name"),
    [
        ("hello, how do I install it?", "procedural"),
        ("how to rotate keys", "procedural"),
        ("steps for a backup", "procedural"),
        ("rotate keys", "procedural"),
        ("what is TRN-1042?", "factual"),
        ("how long does a token last?", "factual"),
        ("hello world program", "factual"),
        ("TRN-1042", "factual"),
        ("", "factual"),
    ],
)
def test_procedural_and_factual(query: str, name: str) -> None:
    assert question_type(query).name == name


def test_complexity() -> None:
    assert question_type("what is a vault?").complexity == "simple"
    assert question_type("what is the difference between a vault and a folder").complexity != "simple"
    long = "how do I move a vault and its history to another server, and then keep old links and tokens working?"
    assert question_type(long).complexity == "complex"


def test_where_no_rule_speaks_it_is_not_sure() -> None:
    assert question_type("TRN-1042").confidence == 0.5
