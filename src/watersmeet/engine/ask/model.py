"""Data classes of an answer: its text, its statements, and the passages that it cites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from watersmeet.core.model import Result
from watersmeet.core.options import REQUIRED, option
from watersmeet.core.place import Place

MAX_TURNS = 10
"""Turns of a conversation that are kept and read."""
MAX_TURN_LENGTH = 4000
"""Characters of a turn's answer that are kept."""


@dataclass(frozen=True, slots=True)
class Turn:
    """One question of a conversation with its answer."""

    question: str
    answer: str = ""
    query: str = ""  # the question as it was searched for

    @property
    def standalone(self) -> str:
        return self.query or self.question

    def to_json(self) -> dict[str, str]:
        return {"question": self.question, "answer": self.answer[:MAX_TURN_LENGTH], "query": self.query}


def last_turns(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    return tuple(turns[-MAX_TURNS:])


@dataclass(frozen=True, slots=True)
class CitedPassage:
    """A citation of an answer."""

    n: int = option(REQUIRED, "its number in the answer")
    id: str = option(REQUIRED, "the chunk; empty if the answer cites a number that was not among the passages")
    document: str = option(REQUIRED, "the document's id")
    place: Place = option(REQUIRED, "where the passage is in it")
    quote: str = option(REQUIRED, "the sentences of the passage that are nearest to what the answer says")
    checked: bool = option(REQUIRED, "whether the passage supports every statement that cites it")

    def to_json(self) -> dict[str, Any]:
        return {
            "n": self.n,
            "id": self.id,
            "document": self.document,
            **self.place.to_json(),
            "quote": self.quote,
            "checked": self.checked,
        }


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement of an answer with the numbers that it cites."""

    text: str = option(REQUIRED, "the statement without its citations")
    citations: tuple[int, ...] = option((), "the numbers that it cites")
    checked: bool = option(False, "whether a passage that it cites supports it")
    reason: str = option("", "why not")

    def to_json(self) -> dict[str, Any]:
        return {"text": self.text, "citations": list(self.citations), "checked": self.checked, "reason": self.reason}


@dataclass(frozen=True, slots=True)
class NearPassage:
    """A passage that is near to a question without answering it."""

    id: str
    document: str
    title: str
    place: Place

    @classmethod
    def of(cls, result: Result) -> NearPassage:
        return cls(result.id, result.document, result.title, result.place)

    def to_json(self) -> dict[str, Any]:
        return {"id": self.id, "document": self.document, "title": self.title, **self.place.to_json()}


@dataclass(frozen=True, slots=True)
class AnswerText:
    """An answer with citations; a citation that the checker did not confirm is `[n?]` in the text."""

    question: str = option(REQUIRED, "the question")
    answer: str = option(REQUIRED, "the text; [n] is a citation, [n?] one that is not supported by its passage")
    citations: tuple[CitedPassage, ...] = option((), "the passages that the text cites")
    supported: bool = option(False, "whether every statement has a citation that supports it")
    model: str = option("", "the model; `extractive`: sentences quoted from the passages; empty: no model was needed")
    no_good_match: bool = option(False, "whether the documents do not answer the question")
    confidence: float | None = option(None, "the confidence of the search; none: nothing was searched")
    took_ms: float = option(0.0, "milliseconds")
    query: str = option("", "the question as it was searched for: a follow-up is made understandable on its own")
    statements: tuple[Statement, ...] = option((), "the statements of the text")
    nearest: tuple[NearPassage, ...] = option((), "the nearest passages, if none answers the question")
    tokens: int = option(0, "tokens of what the model was sent, estimated; 0: no model was called")

    def to_json(self) -> dict[str, Any]:
        return {
            "question": self.question,
            "answer": self.answer,
            "citations": [one.to_json() for one in self.citations],
            "supported": self.supported,
            "model": self.model,
            "no_good_match": self.no_good_match,
            "confidence": self.confidence,
            "took_ms": round(self.took_ms, 3),
            "query": self.query,
            "statements": [one.to_json() for one in self.statements],
            "nearest": [one.to_json() for one in self.nearest],
            "tokens": self.tokens,
        }

    @property
    def turn(self) -> Turn:
        return Turn(self.question, self.answer, self.query)
