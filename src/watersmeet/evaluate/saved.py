"""What was measured, kept, so that a later run can be held against it."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from watersmeet.core.errors import SourceProblem
from watersmeet.evaluate.compare import LEAST, Difference, compare
from watersmeet.evaluate.data import Question

VERSION = 1
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Gate:
    """How this run stands against a saved one, and the queries that lost."""

    file: str
    difference: Difference
    lost: list[dict[str, Any]]

    @property
    def passed(self) -> bool:
        """Unless this run is significantly worse, or by much where too few queries differ to say so."""
        return not self.difference.regressed

    @property
    def note(self) -> str:
        """What must be known of a gate that has little to go by."""
        d = self.difference
        if not d.few or not (d.lost or d.queries < LEAST):
            return ""
        changed = f"{d.won + d.lost} of {d.queries} queries changed"
        return f"{changed}: too few to tell a loss from chance, so the gate goes by its size"

    def to_json(self) -> dict[str, Any]:
        d = self.difference
        return {
            "file": self.file,
            "passed": self.passed,
            "delta": round(d.delta, 4),
            "low": round(d.low, 4),
            "high": round(d.high, 4),
            "p": round(d.p, 5),
            "won": d.won,
            "lost": d.lost,
            "queries": d.queries,
            "few": d.few,
            "note": self.note,
            "queries_lost": self.lost[:SHOWN],
        }


def save(
    place: str | os.PathLike[str],
    questions: Sequence[Question],
    quality: Sequence[float],
    metrics: Sequence[Mapping[str, float]],
    facts: Mapping[str, Any],
) -> None:
    """Every question's quality and metrics, with what they were measured on."""
    queries = {
        question.id: {"query": question.text, "quality": value, **row}
        for question, value, row in zip(questions, quality, metrics, strict=True)
    }
    text = json.dumps({"version": VERSION, **facts, "queries": queries}, ensure_ascii=False, indent=1)
    try:
        Path(place).write_text(text + "\n", "utf8")
    except OSError as error:
        raise SourceProblem(f"{place} cannot be written: {error}") from error


def gate(place: str | os.PathLike[str], questions: Sequence[Question], quality: Sequence[float], seed: int) -> Gate:
    """Hold this run against a saved one of the same questions."""
    before = read(place)
    if set(before) != {question.id for question in questions}:
        new = sorted({question.id for question in questions} - set(before))
        gone = sorted(set(before) - {question.id for question in questions})
        first = repr((new or gone)[0])
        raise SourceProblem(
            f"{place} is about other queries: {len(new)} are new and {len(gone)} are gone, such as {first}",
            "compare the same dataset with the same --limit and --seed, or --save it anew",
        )
    theirs = [before[question.id] for question in questions]
    difference = compare(quality, theirs, seed)
    lost = sorted(
        (
            {"id": q.id, "query": q.text, "before": round(old, 4), "now": round(new, 4), "delta": round(new - old, 4)}
            for q, old, new in zip(questions, theirs, quality, strict=True)
            if new < old - 1e-9
        ),
        key=lambda row: (row["delta"], row["id"]),
    )
    return Gate(os.fspath(place), difference, lost)


def read(place: str | os.PathLike[str]) -> dict[str, float]:
    """The quality of each query of a saved evaluation."""
    path = Path(place)
    hint = "make one with `watersmeet eval ... --save FILE`"
    try:
        saved = json.loads(path.read_text("utf8"))
        if saved["version"] != VERSION:
            raise SourceProblem(f"{path} was saved by another version", hint)
        return {key: float(row["quality"]) for key, row in saved["queries"].items()}
    except OSError as error:
        raise SourceProblem(f"{path} cannot be read: {error}", hint) from error
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise SourceProblem(f"{path} is not a saved evaluation", hint) from error
