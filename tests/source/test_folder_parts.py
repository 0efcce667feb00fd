"""A folder of a root is listed by the rules of the whole root, and changes are counted as a sync would find them."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from watersmeet.core.indexing import Found, SourceRoot, Whole
from watersmeet.source.folder import Folder

Write = Callable[[dict[str, str]], Path]
FILES = {
    "a.md": "1",
    ".gitignore": "*.txt\n/sub/no/\n",
    "sub/b.md": "2",
    "sub/b.txt": "ignored by the root",
    "sub/no/c.md": "ignored by the root",
    "sub/deep/d.md": "3",
    "sub/deep/.gitignore": "e*\n",
    "sub/deep/e.md": "ignored here",
    "sub/deep/er/f.md": "4",
    "sub/.hidden/g.md": "hidden",
    "sub/node_modules/h.md": "a package",
    "sub/index/catalogue.db": "an index",
    "sub/index/i.md": "in an index",
    "subway/j.md": "5",
    "out/k.md": "excluded",
}


def folder(**options: object) -> Folder:
    return Folder(endings=(".md", ".txt"), exclude=["out/"], **options)  # type: ignore[arg-type]


def names(source: Folder, root: Path, part: str = "") -> set[str]:
    offers = [*source.scan_part(SourceRoot("folder", str(root)), part, {})]
    assert isinstance(offers[-1], Whole)
    return {item.name for item in offers if isinstance(item, Found)}


def stamps(source: Folder, root: Path) -> dict[str, str]:
    return {
        item.name: item.stamp for item in source.scan(SourceRoot("folder", str(root)), {}) if isinstance(item, Found)
    }


@pytest.mark.parametrize(
    "part", ["sub/", "sub/deep/", "sub/no/", "sub/.hidden/", "sub/index/", "out/", "gone/", "subway/"]
)
@pytest.mark.parametrize("hidden", [False, True])
def test_a_part_is_what_the_whole_has_there(write: Write, part: str, hidden: bool) -> None:
    root, source = write(FILES), folder(hidden=hidden)
    assert names(source, root, part) == {name for name in names(source, root) if name.startswith(part)}
    assert names(source, root)


def test_a_part_with_symlinks_too(write: Write) -> None:
    root, source = write(FILES), folder()
    (root / "sub" / "again").symlink_to(root / "subway")
    (root / "sub" / "other.md").symlink_to(root / "sub" / ".hidden" / "g.md")
    (root / "link").symlink_to(root / "sub" / "deep")
    found = names(source, root)
    assert "sub/other.md" in found
    for part in ("sub/", "link/", "sub/again/"):
        assert names(source, root, part) == {name for name in found if name.startswith(part)}


def test_a_folder_that_cannot_be_entered_says_so(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    root, source = write(FILES), folder()
    real = os.lstat

    def refuse(path: str, *rest: object) -> os.stat_result:
        if str(path).endswith("deep"):
            raise PermissionError(13, "Permission denied", path)
        return real(path)

    monkeypatch.setattr(os, "lstat", refuse)
    first, *_ = source.scan_part(SourceRoot("folder", str(root)), "sub/deep/", {})
    assert getattr(first, "closed", False)


def test_which_events_matter(write: Write) -> None:
    root, source = write(FILES), folder()
    matter = [
        "a.md",
        "sub",
        "sub/b.md",
        "sub/deep/d.md",
        "sub/gone.md",
        "gone folder",
        "sub/.gitignore",
        "sub/deep/x/y.md",
    ]
    useless = [
        "sub/b.txt",
        "sub/no/c.md",
        "sub/no",
        "sub/deep/e.md",
        "sub/.hidden/g.md",
        "sub/node_modules/h.md",
        "sub/index/i.md",
        "sub/index/catalogue.db-wal",
        "sub/index/text-1/x",
        "out/k.md",
        ".git/HEAD",
        ".watersmeet/catalogue.db",
        "sub/b.md~",
        "sub/x.tmp",
    ]
    (root / "sub" / "deep" / "x").mkdir()
    (root / "data.bin").write_bytes(b"0")
    paths = [str(root / name) for name in [*matter, *useless, "data.bin"]]
    assert [os.path.relpath(path, root) for path in source.concerned(str(root), paths)] == matter
    assert source.concerned(str(root), [str(root)]) == [str(root)]


def test_changes_are_counted(write: Write) -> None:
    root, source = write(FILES), folder()
    known = stamps(source, root)

    def count(unread: tuple[str, ...] = (), others: tuple[str, ...] = (), seconds: float = 60.0) -> int | None:
        return source.count_changes(str(root), known, unread, others, seconds)

    assert count() == 0
    (root / "sub" / "no" / "new.md").write_text("ignored")
    (root / "sub" / "new.zip").write_text("not read")
    assert count() == 0
    (root / "sub" / "new.md").write_text("new")
    (root / "a.md").write_text("changed")
    (root / "subway" / "j.md").unlink()
    assert count() == 3
    assert count(unread=("sub/new.md",)) == 2
    (root / "nested").mkdir()
    (root / "nested" / "z.md").write_text("of another root")
    assert (count(), count(others=(str(root / "nested"),))) == (4, 3)
    for number in range(40):
        (root / f"folder{number}").mkdir()
    assert count(seconds=-1) is None
    assert source.count_changes(str(root / "missing"), known, (), (), 60) is None


def test_changes_of_one_file(write: Write) -> None:
    root, source = write({"a.md": "1"}), folder()
    file = str(root / "a.md")
    known = stamps(source, root)
    assert source.count_changes(file, known, (), (), 60) == 0
    (root / "a.md").write_text("changed")
    assert source.count_changes(file, known, (), (), 60) == 1
    assert source.concerned(file, [file, str(root / "b.md")]) == [file]


def test_what_a_symlink_leads_to_is_counted_if_it_was_read(write: Write) -> None:
    root, source = write({"a.md": "1", ".real/b.md": "2"}), folder()
    (root / "link").symlink_to(root / ".real")
    known = stamps(source, root)
    assert "link/b.md" in known
    assert source.count_changes(str(root), known, (), (), 60) == 0
    (root / ".real" / "b.md").write_text("changed")
    assert source.count_changes(str(root), known, (), (), 60) == 1
