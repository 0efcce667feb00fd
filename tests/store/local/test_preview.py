"""A preview of a catalogue: it answers as the catalogue does, and nothing that is written to it is kept."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from registries import opened
from watersmeet.core.errors import IndexMismatch
from watersmeet.core.writing import Changes
from watersmeet.store.local._connect import FORMAT
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.preview import open_preview


@pytest.fixture
def index(tmp_path: Path, vault: Path) -> str:
    with opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.sync([vault])
    return str(tmp_path / "index")


def test_it_reads_what_the_catalogue_has(index: str) -> None:
    with open_preview(index) as preview, closing(Catalogue(index)) as catalogue:
        assert preview.roots() == catalogue.roots()
        (root,) = preview.roots()
        assert preview.covered == [root.path]
        assert preview.files(root.id) == catalogue.files(root.id)
        assert preview.counts() == catalogue.counts()
        assert preview.meta() == catalogue.meta()
        assert preview.owner("index.md") == catalogue.owner("index.md")


def test_what_is_written_is_seen_by_the_run_and_then_gone(index: str) -> None:
    with open_preview(index) as preview:
        (root,) = preview.roots()
        chosen = preview.collection("new")
        assert preview.collections()[chosen] == "new"
        assert preview.collection("new") == chosen
        other = preview.add_root("/elsewhere", "elsewhere", chosen, "elsewhere/")
        preview.relocate([(root, "/moved")])
        preview.set_meta({"a": "b"})
        assert [one.path for one in preview.roots()] == ["/moved", "/elsewhere"]
        assert preview.files(other.id) == {}
        assert preview.meta()["a"] == "b"
        assert preview.commit(Changes(removed=["index.md"])) == []
        assert [(one.action, one.document) for one in preview.planned] == [("removed", "index.md")]
        assert preview.owner("index.md")
    with open_preview(index) as preview:
        assert preview.roots() == [root]
        assert "a" not in preview.meta()


def test_sqlite_refuses_to_write(index: str) -> None:
    with open_preview(index) as preview, pytest.raises(sqlite3.OperationalError, match="readonly"):
        preview.db.execute("DELETE FROM documents")


def test_without_an_index_there_is_an_empty_one_and_no_folder(tmp_path: Path) -> None:
    with open_preview(str(tmp_path / "none")) as preview:
        assert (preview.roots(), preview.counts()) == ([], (0, 0))
    assert not os.path.exists(tmp_path / "none")


def test_an_older_format_is_not_upgraded(index: str) -> None:
    with closing(sqlite3.connect(os.path.join(index, "catalogue.db"))) as db:
        db.execute(f"PRAGMA user_version = {FORMAT - 1}")
    with pytest.raises(IndexMismatch, match="older format"), open_preview(index):
        pass
    with closing(sqlite3.connect(os.path.join(index, "catalogue.db"))) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (FORMAT - 1,)
