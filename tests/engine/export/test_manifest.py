"""The manifest of an export: the commit point, and the guard against overwriting anything else."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from watersmeet.core.errors import ConfigError, IndexProblem, NoIndex, WatersmeetError
from watersmeet.engine.export.manifest import FILE, Manifest, claim, open_content, read_manifest, write_manifest


def test_it_is_read_as_it_was_written(tmp_path: Path) -> None:
    manifest = Manifest("content-3", "0.1.0", "3.11", "linux", "now", 2, 5, tiers={"static": "potion"})
    write_manifest(str(tmp_path), manifest)
    assert read_manifest(str(tmp_path)) == manifest
    assert manifest.number == 3


def test_a_new_and_an_empty_folder_become_unfinished_exports(tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for name in ("empty", "new/deep"):
        assert claim(str(tmp_path / name)) == Manifest()
        with pytest.raises(IndexProblem, match="not finished"):
            open_content(str(tmp_path / name))
        assert claim(str(tmp_path / name)) == Manifest()  # again, after it was killed


def test_any_other_folder_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "note.md").write_text("mine", "utf8")
    with pytest.raises(ConfigError, match="not empty and not an export"):
        claim(str(tmp_path))
    with pytest.raises(ConfigError, match="is a file"):
        claim(str(tmp_path / "note.md"))
    assert [path.name for path in tmp_path.iterdir() if path.name != "home"] == ["note.md"]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{}",
        b"[]",
        b"null",
        b"[" * 90_000,
        b"{" + b" " * 200_000,
        json.dumps({"watersmeet_export": 2}).encode(),
        json.dumps({"watersmeet_export": 1, "content": "../.."}).encode(),
        json.dumps({"watersmeet_export": 1, "content": "content-1/../.."}).encode(),
        json.dumps({"watersmeet_export": 1, "content": 7}).encode(),
        json.dumps({"watersmeet_export": 1, "content": "content-1", "tiers": []}).encode(),
        json.dumps({"watersmeet_export": 1, "other": 1}).encode(),
    ],
)
def test_what_is_no_manifest_is_an_error_and_is_not_replaced(tmp_path: Path, content: bytes) -> None:
    (tmp_path / FILE).write_bytes(content)
    for call in (read_manifest, claim, open_content):
        with pytest.raises(WatersmeetError):
            call(str(tmp_path))
    assert (tmp_path / FILE).read_bytes() == content


def test_links_and_pipes_are_refused(tmp_path: Path) -> None:
    write_manifest(str(tmp_path), Manifest("content-1"))
    (tmp_path / "real").mkdir()
    (tmp_path / "content-1").symlink_to(tmp_path / "real")
    with pytest.raises(IndexProblem, match="not a folder"):
        open_content(str(tmp_path))
    os.rename(tmp_path / FILE, tmp_path / "elsewhere")
    (tmp_path / FILE).symlink_to(tmp_path / "elsewhere")
    with pytest.raises(IndexProblem):
        read_manifest(str(tmp_path))
    (tmp_path / FILE).unlink()
    os.mkfifo(tmp_path / FILE)
    with pytest.raises(IndexProblem, match="regular file"):
        read_manifest(str(tmp_path))


def test_a_folder_without_one_is_not_an_export(tmp_path: Path) -> None:
    with pytest.raises(NoIndex, match="not an export"):
        read_manifest(str(tmp_path))
