"""TREC run files: `query Q0 document rank score name`, one line for each result."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from watersmeet.core.errors import SourceProblem
from watersmeet.evaluate.data import Question
from watersmeet.evaluate.run import WHOLE, Run


def read_run(place: str | os.PathLike[str], questions: Sequence[Question]) -> tuple[Run, tuple[str, ...]]:
    """Read the run of another system for these questions; returns it and warnings."""
    path = Path(place)
    found: dict[str, list[tuple[float, int, str]]] = {}
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            query, _, rest = line.strip().split(None, 2)
            document, rank, score, _ = rest.rsplit(None, 3)  # a document's name may contain spaces
            found.setdefault(query, []).append((-float(score), int(rank), document))
        except ValueError:
            raise SourceProblem(
                f"{path}, line {number} is not in TREC run format: {line[:60]!r}",
                "each line is `query Q0 document rank score name`",
            ) from None
    missing = [question.id for question in questions if key(question) not in found]
    if len(missing) == len(questions):
        raise SourceProblem(f"{path} has none of the dataset's queries", "is it a run of another dataset?")
    rankings = [tuple(dict.fromkeys(d for _, _, d in sorted(found.get(key(q), [])))) for q in questions]
    warnings = (f"{path.name} lacks {len(missing)} queries; they count as nothing found",) if missing else ()
    return Run(path.name, rankings={WHOLE: rankings}), warnings


def write_run(place: str | os.PathLike[str], questions: Sequence[Question], run: Run) -> None:
    name = "-".join(("watersmeet", run.recipe, run.mode))
    with open(place, "w", encoding="utf8") as file:
        for question, documents, scores in zip(questions, run.rankings[WHOLE], run.scores, strict=True):
            for rank, (document, score) in enumerate(zip(documents, scores, strict=True), 1):
                file.write(f"{key(question)} Q0 {document} {rank} {score:.6f} {name}\n")


def key(question: Question) -> str:
    """A query's id without spaces, which the format does not allow."""
    return "_".join(question.id.split())


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceProblem(f"{path} cannot be read: {error}", "name a run file") from error
