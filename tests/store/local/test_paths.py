"""Paths in the catalogue: relative beside the index, and unchanged when read back."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet.store.local._paths import BASE, Paths, home, paths_of
from watersmeet.store.local._schema import TABLES

PARTS = st.lists(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1), max_size=4)


@pytest.mark.parametrize(
    ("index", "path", "stored"),
    [
        ("/v/.watersmeet", "/v", "@/"),
        ("/v/.watersmeet", "/v/notes/a.md", "@/notes/a.md"),
        ("/v/.watersmeet", "/vault/a.md", "/vault/a.md"),
        ("/v/.watersmeet", "/", "/"),
        ("/.watersmeet", "/", "@/"),
        ("/.watersmeet", "/notes", "@/notes"),
        ("/v/index", "/v/notes", "/v/notes"),
    ],
)
def test_how_a_path_is_kept(index: str, path: str, stored: str) -> None:
    paths = Paths(home(index))
    assert paths.stored(path) == stored
    assert paths.on_disk(stored) == path


@given(base=PARTS, path=PARTS)
def test_it_is_the_same_again(base: list[str], path: list[str]) -> None:
    folder, place = "/none".join(["", *base]) or "/", "/" + "/".join(path)
    for name in (".watersmeet", "index"):
        paths = Paths(home(f"{folder}/{name}"))
        for one in (place, (folder.rstrip("/") + place).rstrip("/") or "/"):
            assert paths.on_disk(paths.stored(one)) == one


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    """Of an index that belonged to /v, with a file of three bytes in each of four folders."""
    with closing(sqlite3.connect(":memory:")) as made:
        made.executescript(TABLES)
        made.execute("INSERT INTO meta VALUES (?, '/v')", (BASE,))
        made.execute("INSERT INTO roots (id, path, name, collection) VALUES (1, '@/', 'v', 1)")
        for number in range(4):
            made.execute("INSERT INTO files VALUES (?, 1, ?, '3 1 1 1', x'', 1)", (number, f"{number}/README.md"))
        yield made


def test_an_index_that_gets_another_name_still_knows_where_things_are(db: sqlite3.Connection) -> None:
    renamed = paths_of("/elsewhere/old", db)
    assert (renamed.on_disk("@/a.md"), renamed.stored("/v/a.md"), renamed.away) == ("/v/a.md", "@/a.md", False)


@pytest.mark.parametrize(
    ("here", "before", "came_along"),
    [
        ("", "", False),  # no file exists
        ("3333", "", True),
        ("3333", "3333", True),  # a copy
        ("9999", "", True),  # edited since
        ("9399", "3333", True),  # a copy, edited since
        ("9999", "3333", False),  # others of the same names
        ("3", "", True),  # most have been deleted since
        ("9", "", False),  # another README.md
        ("3", "3333", False),  # the same licence, and the files are where they were
    ],
)
def test_whether_an_index_was_moved_with_its_files(
    db: sqlite3.Connection, tmp_path: Path, here: str, before: str, came_along: bool
) -> None:
    for folder, sizes in (("here", here), ("before", before)):
        for number, size in enumerate(sizes):
            (tmp_path / folder / str(number)).mkdir(parents=True)
            (tmp_path / folder / str(number) / "README.md").write_text("x" * int(size))
    db.execute("UPDATE meta SET value = ?", (str(tmp_path / "before"),))
    paths = paths_of(str(tmp_path / "here" / ".watersmeet"), db)
    assert paths.base == str(tmp_path / ("here" if came_along else "before"))
    assert paths.away is not came_along
