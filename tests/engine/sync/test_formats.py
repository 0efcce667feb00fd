"""Options that every format has, extras that are not installed, and parsers that changed since a file was read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.errors import ConfigError, ReaderFailed, SourceProblem
from watersmeet.core.indexing import Found
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync import formats
from watersmeet.engine.sync.formats import Formats, GlobFilter, ParserVersions
from watersmeet.engine.sync.inspect import inspect
from watersmeet.engine.sync.parsers import globs_of_formats
from watersmeet.parse.markdown import Markdown
from watersmeet.parse.text import Text

PAGE = "# Guide\n\n" + "\n\n".join(f"Paragraph number {n} of the guide to the harbour." for n in range(40))


def engine_over(folder: Path, **tables: dict[str, Any]) -> Engine:
    settings = load(start=str(folder), environ={}, flags={**tables, "index": {"vectors": False}})
    return Engine(folder / "index", settings)


def files(tmp_path: Path, *names: str, text: str = "Some text.") -> Path:
    folder = tmp_path / "files"
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        os.utime(path, (1_000_000_000, 1_000_000_000))  # long ago: an unchanged file is not read again
    return folder


def documents(engine: Engine) -> set[str]:
    return {document["document"] for document in engine.documents()}


def test_globs_of_a_format_leave_other_formats_alone(tmp_path: Path) -> None:
    folder = files(tmp_path, "a.txt", "drafts/b.txt", "drafts/c.md", "d.txt")
    with engine_over(tmp_path, parse={"text": {"include": ["a.*", "drafts/**"], "exclude": ["B.txt"]}}) as engine:
        engine.sync([folder])
        assert documents(engine) == {"a.txt", "drafts/c.md"}


def test_a_format_has_its_own_chunk_size_and_overlap(tmp_path: Path) -> None:
    folder = files(tmp_path, "a.txt", "b.md", text=PAGE)
    with engine_over(tmp_path, parse={"text": {"max_chars": 400, "overlap": 60}}) as engine:
        engine.sync([folder])
        small = [passage.text for passage in engine.passages("a.txt")]
        assert max(map(len, small)) <= 400 < max(len(passage.text) for passage in engine.passages("b.md"))
        repeated = [after.split("\n\n")[0] for after in small[1:]]
        assert all(before.endswith(start) for before, start in zip(small, repeated, strict=False))
        assert engine.get("a.txt")["text"] == PAGE  # what chunks repeat is shown once


def test_the_sizes_of_formats_belong_to_the_index(tmp_path: Path) -> None:
    folder = files(tmp_path, "a.txt")
    with engine_over(tmp_path) as engine:
        engine.sync([folder])
    with (
        engine_over(tmp_path, parse={"text": {"max_chars": 400}}) as engine,
        pytest.raises(Exception, match=r"parse\.text\.max_chars was None and is 400"),
    ):
        engine.sync([folder])


def test_a_missing_extra_is_one_line_for_all_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = files(tmp_path, "a.txt", "b.txt", "c.md")
    monkeypatch.setattr(Text, "requires", ("no_such_package",))
    monkeypatch.setattr(Text, "extra", "plain")
    with engine_over(tmp_path) as engine:
        report = engine.sync([folder])
        assert [skipped.reason for skipped in report.skipped] == [
            "2 files were not read: text (.txt) needs `pip install 'watersmeet[plain]'`"
        ]
        assert report.added == 1
        assert documents(engine) == {"c.md"}
    with pytest.raises(SourceProblem) as problem:
        inspect(str(folder / "a.txt"), load(start=str(tmp_path), environ={}))
    assert problem.value.hint == "`pip install 'watersmeet[plain]'`"


def test_documents_read_before_stay_if_the_extra_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = files(tmp_path, "a.txt", "c.md")
    with engine_over(tmp_path) as engine:
        engine.sync([folder])
        monkeypatch.setattr(Text, "requires", ("no_such_package",))
    with engine_over(tmp_path) as engine:
        assert engine.sync([folder]).removed == 0
        assert documents(engine) == {"a.txt", "c.md"}


def test_files_are_read_again_if_their_parser_changed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = files(tmp_path, "a.txt", "c.md", text="# Title\n\nSome text.")
    with engine_over(tmp_path) as engine:
        engine.sync([folder])
        monkeypatch.setattr(Text, "version", 2)
        monkeypatch.setattr(Text, "parse", Markdown.parse)
        assert engine.sync([folder]).changed == 1
        assert engine.get("a.txt")["title"] == "Title"
        assert engine.sync([folder]).unchanged == 2


def test_files_read_without_an_extra_are_read_again_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = files(tmp_path, "a.txt", "b.txt", "c.md")
    monkeypatch.setattr(Text, "extra", "plain")
    with engine_over(tmp_path) as engine:
        with monkeypatch.context() as without:
            without.setattr(Text, "improved_by", ("no_such_package",))
            assert [warning.reason for warning in engine.sync([folder]).warnings] == [
                "2 files were read as plain lines; `pip install 'watersmeet[plain]'` reads text by its structure"
            ]
            assert engine.sync([folder]).warnings == []
        assert engine.sync([folder]).warnings == []


def test_an_index_without_a_record_of_parsers_was_made_by_the_first_ones() -> None:
    settings = load(start="/", environ={})
    assert not {".md", ".txt", ".jsonl"} & ParserVersions.of(settings, None).outdated()
    assert ".rst" in ParserVersions.of(settings, None).outdated()
    now = json.loads(ParserVersions.of(settings, None).to_record())
    assert ParserVersions.of(settings, json.dumps(now)).outdated() == frozenset()
    assert ParserVersions.of(settings, json.dumps({**now, ".md": "markdown 0"})).outdated() == {".md"}


def test_files_are_not_read_again_less_well(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = load(start="/", environ={})
    before = ParserVersions.of(settings, None).to_record()
    monkeypatch.setattr(Text, "improved_by", ("no_such_package",))
    without = ParserVersions.of(settings, before)
    assert without.outdated() == frozenset()
    assert json.loads(without.to_record())[".txt"] == "text 1"
    monkeypatch.undo()
    assert ".txt" in ParserVersions.of(settings, json.dumps({".txt": "text 1 without extra"})).outdated()


def test_files_are_read_again_if_an_option_of_their_format_changed(tmp_path: Path) -> None:
    folder = files(tmp_path, "a.csv", "b.md", text="n\n1\n2\n3\n")
    with engine_over(tmp_path) as engine:
        engine.sync([folder])
    with engine_over(tmp_path, parse={"csv": {"max_rows": 1}}) as engine:
        assert engine.sync([folder]).changed == 1
        assert engine.sync([folder]).unchanged == 2


@pytest.mark.parametrize("lasting", [False, True])
def test_what_was_read_before_stays_if_the_reader_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lasting: bool
) -> None:
    folder = files(tmp_path, "a.txt", "b.txt", text="The bittern booms.")
    with engine_over(tmp_path) as engine:
        engine.sync([folder])
        files(tmp_path, "a.txt", "c.txt", text="The heron waits.")
        with monkeypatch.context() as failing:
            failing.setattr(Text, "parse", lambda *_: (_ for _ in ()).throw(ReaderFailed("it crashed", lasting)))
            report = engine.sync([folder])
        assert report.removed == 0
        assert {item.reason for item in report.skipped} == {
            "it crashed; the version indexed before is kept",
            "it crashed",
        }
        assert documents(engine) == {"a.txt", "b.txt"}
        again = engine.sync([folder])
        assert (again.changed, again.added) == ((0, 0) if lasting else (1, 1))


def test_mailboxes_of_one_name_in_two_folders(tmp_path: Path) -> None:
    mail = "From a\nFrom: a@b\nMessage-ID: <1@x>\nSubject: Tides\n\nThe tide is high.\n"
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "mail.mbox").write_text(mail)
    with engine_over(tmp_path) as engine:
        report = engine.sync([tmp_path / "one", tmp_path / "two"])
        assert report.skipped == []
        assert documents(engine) == {"mail.mbox#1@x", "two/mail.mbox#1@x"}


def test_a_small_chunk_of_a_format_needs_no_other_setting(tmp_path: Path) -> None:
    folder = files(tmp_path, "a.txt", text=PAGE)
    with engine_over(tmp_path, parse={"text": {"max_chars": 100}}) as engine:
        engine.sync([folder])
        assert max(len(passage.text) for passage in engine.passages("a.txt")) <= 100


def test_other_files_are_found_by_their_name(tmp_path: Path) -> None:
    folder = files(tmp_path, "a.md", "harbour at low tide.xyz", "pictures/gull.blob")
    with engine_over(tmp_path, source={"folder": {"other_files": True}}) as engine:
        engine.sync([folder])
        assert documents(engine) == {"a.md", "harbour at low tide.xyz", "pictures/gull.blob"}
        assert engine.search("gull").results[0].document == "pictures/gull.blob"
        assert engine.sync([folder]).unchanged == 3
        (folder / "pictures/gull.blob").rename(folder / "pictures/tern.blob")
        engine.sync([folder])
        assert engine.search("tern").results[0].document == "pictures/tern.blob"


def test_formats_become_globs() -> None:
    assert globs_of_formats(["md,TXT"]) == globs_of_formats([".md,,.txt"]) == ["*.md", "*.txt"]
    assert set(globs_of_formats(["markdown"])) == {"*.md", "*.markdown", "*.mdx"}
    for unknown in ("exe", "filename"):
        with pytest.raises(ConfigError, match=f"no format called '{unknown}'"):
            globs_of_formats([unknown])


def test_a_format_is_found_by_media_type_ending_or_name(tmp_path: Path) -> None:
    with Formats(load(start=str(tmp_path), environ={})) as found:
        assert [
            (format := found.of(Found(name, name, "1", media=media))) and format.name
            for name, media in (("a", "text/markdown"), ("a.MD", ""), ("a.unknown", ".md"), ("a.unknown", ""))
        ] == ["markdown", "markdown", "markdown", None]


def test_a_filter_without_globs_takes_everything() -> None:
    assert GlobFilter().takes("any/file")
    assert formats.install_hint("pdf") == "`pip install 'watersmeet[pdf]'`"
