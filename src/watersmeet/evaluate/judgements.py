"""Judgements from a file, in any of the supported formats."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path

from watersmeet.core.errors import SourceProblem
from watersmeet.evaluate.data import FORMS, is_toml, load

HINT = (
    'each line is {"query": "...", "document": "a.md", "relevance": 1} or `query<TAB>document<TAB>relevance`; '
    f"fixtures ({FORMS}) and a folder in BEIR format work too"
)

Judgements = dict[str, dict[str, float]]
"""Grades by query and document; 0 or less: not relevant."""


def read_judgements(place: str | os.PathLike[str]) -> list[tuple[str, Mapping[str, float]]]:
    """Read judgements: lines of query, document and grade as JSON or separated by tabs, or a dataset as for `eval`.

    The format is recognized by content; the file's ending does not matter.
    """
    path = Path(place)
    if not path.exists():
        raise SourceProblem(f"{path} does not exist", HINT)
    found = None if path.is_dir() else _lines(path)
    if found is None:
        return [(q.text, {d: float(g) for d, g in q.relevant.items()}) for q in load(path).questions]
    if not found:
        raise SourceProblem(f"{path} has no judgements", HINT)
    return list(found.items())


def _lines(path: Path) -> Judgements | None:
    """The judgements; none if it is a file of fixtures."""
    found: Judgements = {}
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceProblem(f"{path} cannot be read: {error}", "it must be a text file in UTF-8") from error
    if is_toml(path, text):
        return None
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip() or (number == 1 and line.lower().startswith("query\t")):
            continue
        try:
            query, document, grade = _json(line) if line.lstrip().startswith("{") else _tabs(line)
        except _Fixture:
            return None
        except (ValueError, KeyError, TypeError):
            raise SourceProblem(f"{path}, line {number} is not a judgement: {line[:60]!r}", HINT) from None
        if not math.isfinite(grade):
            raise SourceProblem(f"{path}, line {number} has no finite relevance: {line[:60]!r}", HINT)
        found.setdefault(query, {})[document] = grade
    return found


class _Fixture(Exception):
    """A line of a file of fixtures."""


def _tabs(line: str) -> tuple[str, str, float]:
    query, document, *grade = line.split("\t")
    return query, document, float(grade[0]) if grade else 1.0


def _json(line: str) -> tuple[str, str, float]:
    record = json.loads(line)
    if "expect" in record:
        raise _Fixture
    query, document = record["query"], record["document"]
    if not isinstance(query, str) or not isinstance(document, str):
        raise TypeError
    return query, document, float(record.get("relevance", 1))
