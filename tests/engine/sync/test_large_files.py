"""Files of many documents: read as they come, whatever happens to them meanwhile."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from watersmeet import Engine
from watersmeet.core import spill
from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found, Skipped
from watersmeet.engine.sync.report import MAX_WARNINGS, SyncReport
from watersmeet.parse.jsonl import Jsonl

pytestmark = pytest.mark.slow


def lines(*numbers: int, said: str = "") -> str:
    return "".join(json.dumps({"_id": f"r{n}", "text": f"record {n} {said}"}) + "\n" for n in numbers)


def counts(report: SyncReport) -> dict[str, int]:
    names = ("added", "changed", "moved", "removed", "unchanged")
    return {name: getattr(report, name) for name in names if getattr(report, name)}


def listed(engine: Engine) -> set[str]:
    return {document["document"] for document in engine.documents()}


@pytest.fixture(autouse=True, params=[3, spill.MAX_IN_MEMORY])
def most(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """With next to nothing in memory, and as usual."""
    made = spill.Spill.__init__
    monkeypatch.setattr(spill.Spill, "__init__", lambda self, items=(): made(self, items, request.param))
    return int(request.param)


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "a.jsonl").write_text(lines(*range(50)))
    return tmp_path / "corpus"


def test_what_changed_in_it(engine: Engine, corpus: Path) -> None:
    assert counts(engine.sync([corpus])) == {"added": 50}
    edited = lines(*range(5, 10), said="edited") + lines(*range(10, 60))
    (corpus / "a.jsonl").write_text(edited)
    assert counts(engine.sync([corpus])) == {"added": 10, "changed": 5, "removed": 5, "unchanged": 40}
    assert listed(engine) == {f"r{n}" for n in range(5, 60)}
    (corpus / "a.jsonl").rename(corpus / "b.jsonl")
    assert counts(engine.sync([corpus])) == {"moved": 55}
    (corpus / "b.jsonl").unlink()
    assert counts(engine.sync([corpus])) == {"removed": 55}


def test_an_id_that_comes_twice(engine: Engine, corpus: Path) -> None:
    (corpus / "a.jsonl").write_text(lines(*range(20), 7))
    (reason,) = [item.reason for item in engine.sync([corpus]).skipped]
    assert reason == "the id 'r7' is already used in line 8"


def test_a_copy_is_refused_in_few_words_and_read_once_the_other_is_gone(engine: Engine, corpus: Path) -> None:
    (corpus / "a.jsonl").write_text(lines(*range(MAX_WARNINGS + 20)))
    (corpus / "b.jsonl").write_text(lines(*range(MAX_WARNINGS + 20)) + lines(1000))
    report = engine.sync([corpus])
    assert counts(report) == {"added": MAX_WARNINGS + 21}
    assert len(report.skipped) == MAX_WARNINGS + 1
    assert report.skipped[-1].reason == "20 more have ids that belong to other documents"
    (corpus / "a.jsonl").write_text(lines(0))
    report = engine.sync([corpus])
    assert len(listed(engine)) == MAX_WARNINGS + 21
    assert [item.reason for item in report.skipped] == ["the id 'r0' belongs to another document"]


@pytest.mark.parametrize("broken", [False, True])
def test_a_file_that_changes_while_it_is_read_loses_nothing(
    engine: Engine, corpus: Path, monkeypatch: pytest.MonkeyPatch, broken: bool
) -> None:
    engine.sync([corpus])
    file = corpus / "a.jsonl"
    file.write_text(lines(*range(50)) + lines(77))
    parse = Jsonl.parse_stream

    def cut(self: Jsonl, found: Found, stream: BinaryIO) -> Iterator[Document | Skipped]:
        for number, item in enumerate(parse(self, found, stream)):
            if number == 10:
                file.write_text(lines(*range(10)))
                if broken:
                    raise OSError("input/output error")
                return
            yield item

    monkeypatch.setattr(Jsonl, "parse_stream", cut)
    report = engine.sync([corpus])
    assert "removed" not in counts(report)
    assert [item.reason for item in report.warnings] == ["changed while it was read; the next sync reads it again"]
    assert len(listed(engine)) == 50
    monkeypatch.undo()
    assert counts(engine.sync([corpus])) == {"removed": 40, "unchanged": 10}


def test_warnings_of_one_file_are_few(engine: Engine, corpus: Path) -> None:
    records: list[dict[str, Any]] = [{"_id": f"x{n}", "text": f"caf\xe9 {n}"} for n in range(MAX_WARNINGS + 5)]
    text = "".join(json.dumps(record, ensure_ascii=False) + "\n" for record in records)
    (corpus / "a.jsonl").write_text(text, "latin-1")
    report = engine.sync([corpus])
    assert len(report.warnings) == MAX_WARNINGS + 1
    assert report.warnings[-1].reason == "5 more warnings"
