from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from watersmeet.core.files import make_private, replace_file, tighten


@pytest.mark.parametrize("umask", [0o077, 0o002, 0o022])
def test_a_new_file_is_its_owners_alone_unless_said_otherwise(tmp_path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        replace_file(str(tmp_path / "a"), b"new")
        replace_file(str(tmp_path / "b"), b"new", 0o640)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(tmp_path / "a").st_mode) == 0o600
    assert stat.S_IMODE(os.stat(tmp_path / "b").st_mode) == 0o640


def test_what_cannot_be_put_in_place_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError, match="a"):
        replace_file(str(tmp_path / "a"), b"new")
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]


def modes(top: Path) -> dict[str, int]:
    return {
        path.relative_to(top.parent).as_posix(): stat.S_IMODE(path.lstat().st_mode)
        for path in (top, *top.rglob("*"))
        if not path.is_symlink()
    }


def test_what_is_ours_is_taken_from_others_and_nothing_else(tmp_path: Path) -> None:
    top, other = tmp_path / "top", tmp_path / "other"
    (top / "text-1").mkdir(parents=True)
    other.write_text("another's")
    for name in ("text-1/a", "catalogue.db", "theirs.md"):
        (top / name).write_text("x")
        (top / name).chmod(0o644)
    (top / "text-link").symlink_to(other)
    for path in (top, top / "text-1"):
        path.chmod(0o755)
    other.chmod(0o644)
    ours = ("text-", "catalogue.db")
    tighten(str(top), lambda name: name.startswith(ours))
    kept = {"top": 0o755, "top/theirs.md": 0o644}
    assert modes(top) == {**kept, "top/text-1": 0o700, "top/text-1/a": 0o600, "top/catalogue.db": 0o600}
    assert stat.S_IMODE(other.stat().st_mode) == 0o644
    (top / "theirs.md").unlink()
    tighten(str(top), lambda name: name.startswith(ours))
    assert modes(top)["top"] == 0o700


def test_what_was_stricter_stays_so(tmp_path: Path) -> None:
    (tmp_path / "top").mkdir(mode=0o500)
    tighten(str(tmp_path / "top"))
    assert modes(tmp_path / "top") == {"top": 0o500}


def test_a_folder_is_made_with_those_above_it(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    make_private(str(tmp_path / "a" / "b"))
    assert modes(tmp_path / "a") == {"a": 0o700, "a/b": 0o700}
    assert stat.S_IMODE(tmp_path.stat().st_mode) == 0o755
