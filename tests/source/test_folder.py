"""Real trees of files, good and bad: what is found, what is reported and why, and that nothing hangs."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from pathlib import Path

import pytest

from trees import Folder, names, scan, write
from watersmeet.core.indexing import Found, Skipped

# ---------------------------------------------------------------- what is found


def test_files_by_ending_in_a_repeatable_order(tmp_path: Path) -> None:
    write(
        tmp_path,
        "b.md",
        "a.txt",
        "z/a.rst",
        "a/z.jsonl",
        "a/b/c.mdx",
        "a/a.markdown",
        "picture.png",
        "Makefile",
    )
    expected = ["Makefile", "a.txt", "b.md", "a/a.markdown", "a/z.jsonl", "a/b/c.mdx", "z/a.rst"]
    assert names(tmp_path) == expected
    assert names(tmp_path) == expected


def test_case_of_the_ending_does_not_matter(tmp_path: Path) -> None:
    assert names(write(tmp_path, "README.MD", "Notes.Txt")) == ["Notes.Txt", "README.MD"]


def test_what_is_known_of_a_file(tmp_path: Path) -> None:
    write(tmp_path, "sub/note.md", text="twelve bytes")
    os.utime(tmp_path / "sub" / "note.md", ns=(5, 1_700_000_000_123_456_789))
    (item,) = scan(str(tmp_path))
    status = (tmp_path / "sub" / "note.md").stat()
    assert item == Found(
        "sub/note.md",
        str(tmp_path / "sub" / "note.md"),
        f"12 1700000000123456789 {status.st_ctime_ns} {status.st_ino}",
        datetime(2023, 11, 14, 22, 13, 20, 123457, UTC),
        ".md",
    )


def test_a_relative_root_gives_absolute_paths(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "docs/a.md")
    monkeypatch.chdir(tmp_path)
    for root in ("docs", "./docs/", "docs/../docs"):
        (item,) = scan(root)
        assert isinstance(item, Found)
        assert (item.name, item.uri) == ("a.md", str(tmp_path / "docs" / "a.md"))


def test_a_change_that_keeps_size_and_time_changes_the_stamp(tmp_path: Path) -> None:
    write(tmp_path, "a.md", text="one")
    (before,) = scan(str(tmp_path))
    write(tmp_path, "b.md", text="two")
    os.utime(tmp_path / "b.md", ns=(0, (tmp_path / "a.md").stat().st_mtime_ns))
    (tmp_path / "b.md").replace(tmp_path / "a.md")
    (after,) = scan(str(tmp_path))
    assert isinstance(before, Found)
    assert isinstance(after, Found)
    assert before.stamp.split()[:2] == after.stamp.split()[:2]
    assert before.stamp != after.stamp


def test_what_is_hidden_or_installed_is_passed_over(tmp_path: Path) -> None:
    write(tmp_path, "a.md", ".hidden.md", ".obsidian/b.md", "node_modules/x/README.md", "src/__pycache__/c.txt")
    write(tmp_path, "env/pyvenv.cfg", "env/lib/LICENSE.txt", ".watersmeet/catalogue.db", ".git/description.txt")
    write(tmp_path, "idx/catalogue.db", "idx/notes.txt")
    assert names(tmp_path) == ["a.md"]
    assert names(tmp_path, Folder(hidden=True)) == [".hidden.md", "a.md", ".obsidian/b.md"]


def test_a_root_is_read_whatever_it_is_called_or_holds(tmp_path: Path) -> None:
    write(tmp_path, ".vault/node_modules/a.md", ".vault/node_modules/catalogue.db")
    assert names(tmp_path / ".vault" / "node_modules") == ["a.md"]


@pytest.mark.parametrize(
    ("include", "expected"),
    [
        (["*.md"], ["a.md", "docs/b.md", "docs/deep/c.md"]),
        (["docs/**"], ["docs/b.md", "docs/e.txt", "docs/deep/c.md"]),
        (["docs/"], ["docs/b.md", "docs/e.txt", "docs/deep/c.md"]),
        (["./docs/*.md"], ["docs/b.md"]),
        (["**/deep/*"], ["docs/deep/c.md"]),
        (["b.*"], ["docs/b.md"]),
        (["*.xyz"], ["d.xyz"]),
        (["[ab].md", "*.TXT"], ["a.md", "docs/b.md", "docs/e.txt"]),
        ([], ["a.md", "docs/b.md", "docs/e.txt", "docs/deep/c.md"]),
    ],
)
def test_include(tmp_path: Path, include: list[str], expected: list[str]) -> None:
    write(tmp_path, "a.md", "d.xyz", "docs/b.md", "docs/e.txt", "docs/b.png", "docs/deep/c.md")
    assert names(tmp_path, Folder(include=include)) == expected


@pytest.mark.parametrize(
    ("exclude", "expected"),
    [
        (["docs"], ["a.md", "x/b.md"]),
        (["docs/"], ["a.md", "x/b.md"]),
        (["docs/**"], ["a.md", "x/b.md", "x/docs/a.md"]),
        (["/docs"], ["a.md", "x/b.md", "x/docs/a.md"]),
        (["DOCS", "A.md"], ["x/b.md"]),
        (["a.md"], ["docs/deep/c.md", "x/b.md"]),
        (["**/deep"], ["a.md", "docs/a.md", "x/b.md", "x/docs/a.md"]),
        (["!a.md"], ["a.md", "docs/a.md", "docs/deep/c.md", "x/b.md", "x/docs/a.md"]),
    ],
)
def test_exclude(tmp_path: Path, exclude: list[str], expected: list[str]) -> None:
    write(tmp_path, "a.md", "docs/a.md", "docs/deep/c.md", "x/b.md", "x/docs/a.md")
    assert names(tmp_path, Folder(exclude=exclude)) == expected


def test_a_tree_that_is_deep(tmp_path: Path) -> None:
    name = "/".join(["deeper"] * 60) + "/note.md"
    assert names(write(tmp_path, name)) == [name]


@pytest.mark.slow
def test_many_files_in_little_time(tmp_path: Path) -> None:
    for number in range(5_000):
        if number % 100 == 0:
            (tmp_path / f"{number // 100:02}").mkdir()
        (tmp_path / f"{number // 100:02}" / f"{number}.md").touch()
    (tmp_path / ".gitignore").write_text("*.log\nbuild/\ndocs/_build/**\n*.py[cod]\n[Tt]humbs.db\n" * 10)
    began = time.process_time()
    assert len(names(tmp_path)) == 5_000
    assert time.process_time() - began < 2.0


# ---------------------------------------------------------------- one file


def test_one_file(tmp_path: Path) -> None:
    write(tmp_path, "sub/a.md", "sub/b.md", "c.xyz", "LICENSE")
    assert names(tmp_path / "sub" / "a.md") == ["a.md"]
    assert names(tmp_path / "sub" / "a.md", Folder(include=["*.txt"], exclude=["*.md"])) == ["a.md"]
    for other in ("c.xyz", "LICENSE"):
        (item,) = scan(str(tmp_path / other))
        assert isinstance(item, Skipped)
        assert item.path == str(tmp_path / other)
        assert "not a kind of file" in item.reason


def test_one_file_that_is_hidden_ignored_or_too_large(tmp_path: Path) -> None:
    write(tmp_path, ".a.md", "b.md", text="long enough")
    (tmp_path / ".gitignore").write_text("*.md\n")
    assert names(tmp_path / ".a.md") == [".a.md"]
    assert names(tmp_path / "b.md") == ["b.md"]
    (item,) = scan(str(tmp_path / "b.md"), Folder(max_bytes=5))
    assert isinstance(item, Skipped)


# ---------------------------------------------------------------- what is reported
