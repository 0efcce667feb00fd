"""Datasets: queries with their relevant documents, from a folder in BEIR format or a file of fixtures."""

from __future__ import annotations

import json
import math
import os
import random
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from watersmeet.core.errors import SourceProblem
from watersmeet.core.model import Passage
from watersmeet.core.passages import in_section, section_name
from watersmeet.evaluate.classes import classes_of

QRELS = ("qrels.tsv", "qrels/test.tsv")
MAX_NAMED = 3
"""How many names an error lists."""
FORMS = "[[query]] tables in TOML, or JSON lines, with `query` and `expect`"
_TOML = re.compile(r"(?:\s++|#.*\n)*+(\[\[\s*query\s*\]\]|query\s*=\s*\[)")


@dataclass(frozen=True, slots=True)
class Question:
    """A query with its judgements, document or section (`document#heading`) to grade; without any, nothing should be
    found.

    `withheld` are chunks that are removed from its results, because the query was taken from them.
    """

    id: str
    text: str
    relevant: Mapping[str, int]
    classes: tuple[str, ...] = ()
    withheld: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Dataset:
    """A dataset: questions and their corpus; without a corpus, they are for an existing index."""

    name: str
    questions: Sequence[Question]
    corpus: Path | None = None
    ids: frozenset[str] = frozenset()
    note: str = ""
    warnings: tuple[str, ...] = field(default=())

    def limited(self, limit: int, seed: int) -> Dataset:
        """A random sample of at most `limit` questions, the same for the same seed, in their order."""
        if limit <= 0 or limit >= len(self.questions):
            return self
        drawn = sorted(random.Random(seed).sample(range(len(self.questions)), limit))  # noqa: S311 - a sample
        return replace(self, questions=[self.questions[i] for i in drawn])


def load(place: str | os.PathLike[str]) -> Dataset:
    """Load the dataset at a path; an error says what is wrong with it."""
    path = Path(place)
    if path.is_dir():
        return _beir(path)
    if path.is_file():
        return _fixtures(path)
    raise SourceProblem(
        f"{path} does not exist",
        f"name a folder with corpus.jsonl, queries.jsonl and qrels.tsv, or a file of fixtures: {FORMS}",
    )


# ---------------------------------------------------------------- BEIR


def _beir(folder: Path) -> Dataset:
    corpus, queries = folder / "corpus.jsonl", folder / "queries.jsonl"
    judged = next((folder / name for name in QRELS if (folder / name).is_file()), folder / QRELS[0])
    missing = [path.name for path in (corpus, queries, judged) if not path.is_file()]
    if missing:
        raise SourceProblem(
            f"{folder} lacks {', '.join(missing)}",
            "a dataset has corpus.jsonl and queries.jsonl (one JSON record a line) and qrels.tsv",
        )
    ids = frozenset(str(record["_id"]) for _, record in _records(corpus, "_id"))
    queries_by_id, duplicates = _read_queries(queries)
    for path, found in ((corpus, ids), (queries, queries_by_id)):
        if not found:
            raise SourceProblem(f"{path} is empty", "it needs at least one record")
    grades = _qrels(judged)
    _check_ids(judged, "query", grades, queries_by_id)
    _check_ids(judged, "document", {d for found in grades.values() for d in found}, ids)
    questions = [
        Question(key, record["text"], relevant, classes_of(record["text"], record.get("metadata")))
        for key, record in queries_by_id.items()
        if (relevant := {d: g for d, g in grades.get(key, {}).items() if g > 0})
    ]
    if not questions:
        raise SourceProblem(f"{judged} has no relevant documents", "at least one query needs a score above 0")
    left = len(queries_by_id) - len(questions)
    warnings = (
        [f"{len(duplicates)} records of {queries.name} are left out, the first: {duplicates[0]}"] if duplicates else []
    )
    warnings += [f"{left} queries without a relevant document are left out"] if left else []
    return Dataset(folder.resolve().name, questions, corpus, ids, warnings=tuple(warnings))


def _read_queries(path: Path) -> tuple[dict[str, dict[str, Any]], list[str]]:
    """Queries by id, and a message for each whose id an earlier one has."""
    queries_by_id: dict[str, dict[str, Any]] = {}
    lines: dict[str, int] = {}
    duplicates = []
    for number, record in _records(path, "_id", "text"):
        key = str(record["_id"])
        if key in queries_by_id:
            duplicates.append(f"{path}:{number}: the id {key!r} is already used in line {lines[key]}")
        else:
            queries_by_id[key], lines[key] = record, number
    return queries_by_id, duplicates


def _records(path: Path, *needed: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Records with their line numbers."""
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except json.JSONDecodeError as error:
            raise SourceProblem(f"{path}, line {number} is not JSON: {error.msg}", "fix or remove it") from None
        if not isinstance(record, dict) or any(record.get(name) is None for name in needed):
            raise SourceProblem(
                f"{path}, line {number} has no {' and '.join(needed)}", f"each line needs {', '.join(needed)}"
            )
        yield number, record


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text("utf-8-sig").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise SourceProblem(f"{path} cannot be read: {error}", "it must be a text file in UTF-8") from error


def _qrels(path: Path) -> dict[str, dict[str, int]]:
    """Judgements from lines `query<TAB>document<TAB>score`, with or without a header, or TREC's four columns."""
    grades: dict[str, dict[str, int]] = {}
    for number, line in enumerate(_lines(path), 1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in (line.split("\t") if "\t" in line else line.split())]
        if len(cells) == 4:
            del cells[1]
        try:
            query, document, score = cells
            grade = float(score)
        except ValueError:
            if number == 1:
                continue
            grade = math.nan
        if not grade.is_integer():
            raise SourceProblem(
                f"{path}, line {number} is not `query, document, score`: {line[:60]!r}",
                "columns are separated by tabs, and the score is a whole number",
            )
        grades.setdefault(query, {})[document] = int(grade)
    if not grades:
        raise SourceProblem(f"{path} is empty", "it needs a line `query, document, score` for each judgement")
    return grades


def _check_ids(path: Path, what: str, named: Iterable[str], existing: Iterable[str]) -> None:
    unknown = sorted(set(named).difference(existing))
    if unknown:
        shown = ", ".join(repr(name) for name in unknown[:MAX_NAMED]) + (", ..." if len(unknown) > MAX_NAMED else "")
        raise SourceProblem(
            f"{path} names {len(unknown)} unknown {'queries' if what == 'query' else 'documents'}: {shown}",
            "remove these lines, or add the missing records",
        )


# ---------------------------------------------------------------- fixtures


def is_toml(path: Path, text: str) -> bool:
    """Whether a file is TOML, by its ending or by its first line that is not a comment."""
    return path.suffix == ".toml" or bool(_TOML.match(text))


def _fixtures(path: Path) -> Dataset:
    text = "\n".join(_lines(path))
    if is_toml(path, text):
        try:
            table = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise SourceProblem(f"{path} is not valid TOML: {error}", "fix that line") from error
        records = table.get("query", [])
        if not isinstance(records, list):
            records = []
    elif not text.strip() or text.lstrip().startswith("{"):
        records = [record for _, record in _records(path)]
    else:
        raise SourceProblem(f"{path} is neither TOML nor JSON lines", f"fixtures are {FORMS}")
    if not records:
        raise SourceProblem(f"{path} has no queries", 'write [[query]], query = "...", expect = ["a.md"]')
    questions = [_fixture(path, number, record) for number, record in enumerate(records, 1)]
    duplicates = {q.id for q in questions if sum(other.id == q.id for other in questions) > 1}
    if duplicates:
        raise SourceProblem(f"{path} has two queries called {sorted(duplicates)[0]!r}", "give each an `id` of its own")
    return Dataset(path.stem, questions)


def _fixture(path: Path, number: int, record: Any) -> Question:
    hint = 'a query needs `query = "..."` and `expect = [...]`; an empty list means that nothing should be found'
    if not isinstance(record, dict) or not str(record.get("query") or "").strip():
        raise SourceProblem(f"{path}: query {number} has no `query`", hint)
    expect = record.get("expect")
    expect = [expect] if isinstance(expect, str) else expect
    if not isinstance(expect, list) or not all(isinstance(name, str) and name for name in expect):
        raise SourceProblem(f"{path}: query {number} has no list `expect`", hint)
    unknown = sorted(record.keys() - {"query", "expect", "id", "class"})
    if unknown:
        raise SourceProblem(f"{path}: query {number} has an unknown key {unknown[0]!r}", hint)
    text = str(record["query"])
    named = {"class": record["class"]} if "class" in record else None
    return Question(str(record.get("id", text)), text, dict.fromkeys(expect, 1), classes_of(text, named))


# ---------------------------------------------------------------- against an index


def check_indexed(
    dataset: Dataset, documents: Iterable[str], passages_of: Callable[[str], Sequence[Passage]] | None = None
) -> list[str]:
    """Check that an index contains the expected documents; returns a warning if a few of a corpus are missing.

    `passages_of` is given where sections may be expected: `document#heading`.
    """
    indexed = set(documents)
    if dataset.corpus is None:
        _check_expected(dataset, indexed, passages_of)
        return []
    missing = len(dataset.ids - indexed)
    if 2 * missing > len(dataset.ids):
        raise SourceProblem(
            f"the index has only {len(dataset.ids) - missing} of the {len(dataset.ids)} documents of {dataset.name}",
            f"leave out --index, since a dataset gets its own index; or sync {dataset.corpus} into that index first",
        )
    return [f"{missing} documents of the dataset are not in the index"] if missing else []


def _check_expected(
    dataset: Dataset, indexed: set[str], passages_of: Callable[[str], Sequence[Passage]] | None
) -> None:
    for question in dataset.questions:
        for name in question.relevant:
            if name in indexed:
                continue
            document = next((one for one in _before_marks(name) if one in indexed), "")
            if not document:
                raise SourceProblem(
                    f"{name!r}, expected for {question.text!r}, is not in the index", _alike(name, indexed)
                )
            if passages_of is None:
                raise SourceProblem(
                    f"{name!r}, expected for {question.text!r}, is a section",
                    f"documents count here: name {document!r}",
                )
            passages = passages_of(document)
            if not any(in_section(passage, name) for passage in passages):
                hint = f"write it as `watersmeet get {document}` shows the headings: {document}#Heading > Subheading"
                close = _close(name, {section_name(passage) for passage in passages})
                raise SourceProblem(
                    f"{name!r}, expected for {question.text!r}, is no section of that document",
                    _did_you_mean(close) or hint,
                )


def _before_marks(name: str) -> list[str]:
    """What may be the document of a section: the text before each `#`."""
    return [name[:place] for place, sign in enumerate(name) if sign == "#"]


def _alike(document: str, indexed: set[str]) -> str:
    """A hint with the few most similar names."""
    below = sorted(name for name in indexed if name.endswith(f"/{document}"))
    return _did_you_mean([*below, *_close(document, indexed)]) or (
        f"none of the {len(indexed)} documents has a similar name; `watersmeet list` shows them all"
    )


def _close(name: str, names: Iterable[str]) -> list[str]:
    import difflib  # only needed for an error

    return difflib.get_close_matches(name, sorted(names), MAX_NAMED)


def _did_you_mean(names: Iterable[str]) -> str:
    close = list(dict.fromkeys(names))[:MAX_NAMED]
    return f"did you mean {' or '.join(map(repr, close))}?" if close else ""
