from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

from registries import opened
from watersmeet.store.local._connect import FORMAT
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.roots import committed_roots


def test_roots_with_the_state_of_their_files(tmp_path: Path, vault: Path) -> None:
    with opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.sync([vault])
    index = str(tmp_path / "index")
    (root_state,) = committed_roots(index, lambda root: True).values()
    assert (root_state.root.path, root_state.root.kind, root_state.root.prefix) == (str(vault), "folder", "")
    assert sorted(root_state.files) == ["guides/keys.md", "guides/setup.md", "index.md", "notes/ideas.txt"]
    assert all(state.stamp and state.hash for state in root_state.files.values())
    assert root_state.facts["text_folder"]
    with closing(Catalogue(index)) as catalogue:
        assert catalogue.roots() == [root_state.root]


def test_only_those_that_are_wanted_by_their_addresses(tmp_path: Path) -> None:
    index = str(tmp_path / "index")
    with closing(Catalogue(index)) as catalogue:
        for name in "ab":
            catalogue.add_root(str(tmp_path / name), name, catalogue.collection("main"), f"{name}/")
    assert list(committed_roots(index, lambda root: True)) == [str(tmp_path / "a"), str(tmp_path / "b")]
    assert list(committed_roots(index, lambda root: root.name == "b")) == [str(tmp_path / "b")]
    assert committed_roots(index, lambda root: False) == {}


def test_no_index_a_damaged_one_and_one_of_another_format_have_none(tmp_path: Path) -> None:
    assert committed_roots(str(tmp_path / "none"), lambda root: True) == {}
    index = tmp_path / "index"
    with closing(Catalogue(str(index))) as catalogue:
        catalogue.add_root(str(tmp_path), "a", catalogue.collection("main"), "")
    assert committed_roots(str(index), lambda root: True)
    for version in (FORMAT - 1, FORMAT + 1):
        with closing(sqlite3.connect(index / "catalogue.db")) as db:
            db.execute(f"PRAGMA user_version = {version}")
        assert committed_roots(str(index), lambda root: True) == {}
    (index / "catalogue.db").write_bytes(b"garbage " * 1000)
    assert committed_roots(str(index), lambda root: True) == {}
