from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from watersmeet.core.files import replace_file


@pytest.mark.parametrize(("umask", "mode"), [(0o077, 0o600), (0o002, 0o664), (0o022, 0o644)])
def test_a_new_file_is_as_open_as_the_user_lets_files_be(tmp_path: Path, umask: int, mode: int) -> None:
    before = os.umask(umask)
    try:
        replace_file(str(tmp_path / "a"), b"new")
        replace_file(str(tmp_path / "b"), b"new", 0o640)
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat(tmp_path / "a").st_mode) == mode
    assert stat.S_IMODE(os.stat(tmp_path / "b").st_mode) == 0o640


def test_what_cannot_be_put_in_place_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(OSError, match="a"):
        replace_file(str(tmp_path / "a"), b"new")
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith(".")]
