"""Saved evaluations, and the gate that compares a later run with one."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from watersmeet.core.errors import SourceProblem
from watersmeet.evaluate.compare import MIN_DIFFERENCES, Difference, compare
from watersmeet.evaluate.data import Question

VERSION = 1
MAX_LISTED = 20


@dataclass(frozen=True, slots=True)
class Gate:
    """Gate result: the difference from a saved run, and the queries that lost."""

    file: str
    difference: Difference
    lost: list[dict[str, Any]]

    @property
    def passed(self) -> bool:
        """Whether this run is not significantly worse; where too few queries differ for a test, not much worse."""
        return not self.difference.regressed

    @property
    def note(self) -> str:
        """A remark if too few queries changed for a test."""
        d = self.difference
        if not d.few or not (d.lost or d.queries < MIN_DIFFERENCES):
            return ""
        changed = f"{d.won + d.lost} of {d.queries} queries changed"
        return f"{changed}: too few for a test, so the gate fails only on a large loss"

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
            "queries_lost": self.lost[:MAX_LISTED],
        }


def save(
    place: str | os.PathLike[str],
    questions: Sequence[Question],
    quality: Sequence[float],
    metrics: Sequence[Mapping[str, float]],
    facts: Mapping[str, Any],
) -> None:
    """Write the quality and metrics of every question, with facts on the evaluation."""
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
    """Compare this run with a saved one of the same questions."""
    before = read(place)
    if set(before) != {question.id for question in questions}:
        new = sorted({question.id for question in questions} - set(before))
        gone = sorted(set(before) - {question.id for question in questions})
        first = repr((new or gone)[0])
        raise SourceProblem(
            f"{place} has other queries: {len(new)} are new and {len(gone)} are gone, such as {first}",
            "compare the same dataset with the same --limit and --seed, or save it again with --save",
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
