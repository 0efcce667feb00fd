"""An export is opened as a stranger's: whatever is in it, it is served or refused, and nothing is followed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.errors import ConfigError, IndexProblem, WatersmeetError
from watersmeet.engine.export import export as exporting
from watersmeet.engine.export.export import export
from watersmeet.engine.export.opening import open_export
from watersmeet.engine.export.requirements import Requirements


@pytest.fixture
def exported(engine: Engine, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(exporting, "make_requirements", lambda *_: Requirements("", (), True))
    engine.sync([vault])
    export(engine, str(tmp_path / "out"))
    return tmp_path / "out"


def test_it_is_opened_read_only_with_its_own_settings(exported: Path) -> None:
    opened, manifest = open_export(str(exported))
    with opened:
        assert (manifest.documents, manifest.tiers) == (4, {})
        assert opened.search("rotate keys").results[0].document == "guides/keys.md"
        settings = opened.settings
        assert (settings.section("serve").deepen, settings.section("calibration").learn) == (False, False)


@pytest.mark.parametrize("name", ["watersmeet.toml", "index/catalogue.db", "index/text-1/meta.json", "extra"])
def test_links_are_refused(exported: Path, name: str, tmp_path: Path) -> None:
    path = exported / "content-1" / name
    path.unlink(missing_ok=True)
    (tmp_path / "target").write_text("secret", "utf8")
    os.symlink(tmp_path / "target", path)
    with pytest.raises(IndexProblem, match="link"):
        open_export(str(exported))


def test_pipes_and_too_many_files_are_refused(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(exported / "content-1" / "index" / "pipe")
    with pytest.raises(IndexProblem, match="special file"):
        open_export(str(exported))
    monkeypatch.setattr("watersmeet.core.files.MAX_TREE_FILES", 3)
    with pytest.raises(IndexProblem, match="more than 3 files"):
        open_export(str(exported))


def test_missing_parts_are_errors_with_a_hint(exported: Path) -> None:
    (exported / "content-1" / "watersmeet.toml").rename(exported / "away")
    with pytest.raises(ConfigError):
        open_export(str(exported))
    (exported / "away").rename(exported / "content-1" / "watersmeet.toml")
    (exported / "content-1" / "index" / "frozen").unlink()
    with pytest.raises(WatersmeetError) as caught:
        open_export(str(exported))
    assert caught.value.hint
