"""Query classification: kind, length, type and suggested options. A hint for clients; of it, `ask` uses whether
documents are needed, search nothing."""

from __future__ import annotations

from dataclasses import dataclass

from watersmeet.core.identifiers import QueryIdentifiers, read
from watersmeet.core.ports import Words
from watersmeet.engine.components import build
from watersmeet.engine.query.question_type import CONVERSATION, question_type
from watersmeet.engine.settings.settings import Settings

FEW, SOME, MANY = 3, 7, 15
"""Suggested numbers of results: for a short identifier; for a few words or a question with an identifier; for a
question without one."""


@dataclass(frozen=True, slots=True)
class Classification:
    """The classification of a query; `weights` are those of ADR-003 for semantic and keyword search."""

    query: str
    kind: str  # conceptual, identifier or mixed
    length: str  # short or sentence
    anchors: list[str]  # its identifiers
    weights: dict[str, float]  # of semantic and keyword search
    suggested_mode: str
    suggested_top_n: int
    why: str  # why it is of this kind
    needs_retrieval: bool  # false for conversation, such as a greeting
    question_type: str  # conversation, procedural or factual
    complexity: str  # simple, moderate or complex
    confidence: float  # of the type, from 0 to 1


def classify(query: str, settings: Settings, words: Words | None = None, vectors: bool = True) -> Classification:
    reading = read(query, words)
    semantic, keyword = build("query", "adapt", settings.of("query", "adapt"), words=words).sides(query)
    type_, complexity, confidence = question_type(query)
    return Classification(
        query=query,
        kind=reading.kind,
        length=reading.length,
        anchors=list(reading.distinct),
        weights={"semantic": semantic, "keyword": keyword},
        suggested_mode="hybrid" if vectors and reading.kind != "identifier" else "lexical",
        suggested_top_n=_suggested_top_n(reading),
        why=_why(reading),
        needs_retrieval=type_ != CONVERSATION,
        question_type=type_,
        complexity=complexity,
        confidence=confidence,
    )


def _suggested_top_n(reading: QueryIdentifiers) -> int:
    if reading.kind == "identifier":
        return FEW if reading.length == "short" else SOME
    return MANY if reading.kind == "conceptual" and reading.length == "sentence" else SOME


def _why(reading: QueryIdentifiers) -> str:
    if not reading.content_tokens:
        return "it has no words to search for"
    if not reading.anchors:
        return "it has no identifiers"
    named = ", ".join(dict.fromkeys(reading.anchors))
    return f"{len(reading.anchors)} of its {len(reading.content_tokens)} significant words are identifiers: {named}"
