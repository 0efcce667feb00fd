"""Training examples of an index: queries, the chunks that answer them, and those that do not."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import SourceProblem
from watersmeet.core.model import ANY, ChunkId, DocId, Request
from watersmeet.engine.engine import Engine
from watersmeet.engine.sync.report import Progress, ProgressCallback
from watersmeet.evaluate.data import Question

if TYPE_CHECKING:
    from watersmeet.core.index import Snapshot, Tier
    from watersmeet.core.vectors import Matrix

MIN_QUESTIONS = 20
"""Fewer questions than this are too few to train on one half and measure on the other."""
MAX_CHUNKS = 20_000
"""A larger index gives a random sample of so many chunks, and the first results of each query."""
MINED = 30
"""First results of a query that are taken."""
CHECKED_SHARE = 0.2
"""Share of the training questions that decide when training ends."""
MIN_CHECKED = 5


@dataclass(frozen=True, slots=True)
class Split:
    """Questions to train on, to choose the best epoch by, and to report."""

    train: list[Question]
    check: list[Question]
    report: list[Question]


@dataclass(frozen=True, slots=True)
class Examples:
    """Chunks with their vectors, and for each question which of them are relevant, by place."""

    vectors: Matrix
    train: list[tuple[str, list[int]]]
    check: list[tuple[str, list[int]]]


def split(questions: Sequence[Question], seed: int) -> Split:
    """Halves in a random order. Questions with the same text are in the same half."""
    by_text: dict[str, list[Question]] = {}
    for question in questions:
        if question.relevant and question.text.strip():
            by_text.setdefault(question.text.strip().casefold(), []).append(question)
    judged = sum(map(len, by_text.values()))
    if len(by_text) < MIN_QUESTIONS:
        raise SourceProblem(
            f"there are {len(by_text)} different questions with an answer ({judged} in all)",
            f"tuning the encoder needs at least {MIN_QUESTIONS}, and some hundreds to gain much",
        )
    groups = list(by_text.values())
    random.Random(seed).shuffle(groups)  # noqa: S311 - a sample
    half = len(groups) // 2
    checked = max(MIN_CHECKED, round(CHECKED_SHARE * half))
    parts = groups[:checked], groups[checked:half], groups[half:]
    check, train, report = ([question for group in part for question in group] for part in parts)
    return Split(train, check, report)


def examples(engine: Engine, parts: Split, progress: ProgressCallback) -> Examples:
    """Examples from the dense vectors of an index."""
    questions = [*parts.train, *parts.check]
    mined = _mined(engine, questions, progress)
    with engine.snapshot() as snapshot:
        relevant = _chunks_of(snapshot, questions)
        chunks = list(
            dict.fromkeys(
                [*snapshot.sample(MAX_CHUNKS), *mined, *(chunk for found in relevant.values() for chunk in found)]
            )
        )
        vectors = snapshot.vectors(dense_tier(engine), ANY).read(chunks)
    if len(vectors) != len(chunks):
        raise SourceProblem("chunks have no dense vector yet", "run `watersmeet deepen` first")
    places = {chunk: place for place, chunk in enumerate(chunks)}

    def listed(part: Sequence[Question]) -> list[tuple[str, list[int]]]:
        found = [
            (question.text, sorted({places[chunk] for name in question.relevant for chunk in relevant.get(name, ())}))
            for question in part
        ]
        return [(text, answers) for text, answers in found if answers]

    return Examples(vectors, listed(parts.train), listed(parts.check))


def dense_tier(engine: Engine) -> Tier:
    with engine.snapshot() as snapshot:
        tier = snapshot.tiers().get("dense")
        if tier is None or snapshot.left(tier):
            raise SourceProblem("the index has chunks without dense vectors", "run `watersmeet deepen` first")
        return tier


def _chunks_of(snapshot: Snapshot, questions: Sequence[Question]) -> dict[str, list[ChunkId]]:
    """Chunks of each relevant document."""
    wanted = {document for question in questions for document in question.relevant}
    return {document: [one.id for one in snapshot.passages_of(DocId(document))] for document in sorted(wanted)}


def _mined(engine: Engine, questions: Sequence[Question], progress: ProgressCallback) -> list[ChunkId]:
    """First results of the queries, if not all chunks fit: most of them are wrong, and hard to tell from right ones."""
    with engine.snapshot() as snapshot:
        if snapshot.statistics().chunks <= MAX_CHUNKS:
            return []
    found: dict[Any, None] = {}
    for number, question in enumerate(questions, 1):
        with engine.open_search(Request(question.text, top_n=MINED), explain=False) as search_run:
            rankings = [search_run.outcome.ranking, *search_run.outcome.rankings]
            found |= dict.fromkeys(hit.chunk for ranking in rankings for hit in ranking.hits[:MINED])
        progress(Progress("mining", number, len(questions), "queries"))
    return list(found)
