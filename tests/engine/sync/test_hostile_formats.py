"""Hostile files of all formats in one folder: a sync ends, says why each was skipped, and finds the good ones.

`scripts/hostile.py` reads them with the real limits; here a reader has little time.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from hostile_files import HOSTILE
from watersmeet import Engine
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync import parser_process

pytestmark = pytest.mark.slow
LARGE = {"bomb.docx", "stream-bomb.pdf"}  # take seconds to make


def test_hostile_files_do_not_end_a_sync(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parser_process, "SECONDS", 0.5)
    monkeypatch.setattr(parser_process, "SECONDS_PER_MB", 0.1)
    monkeypatch.setattr(parser_process, "BUSY_FACTOR", 40)  # on a busy machine, good files must not be late
    folder = tmp_path / "files"
    folder.mkdir()
    for name, content in HOSTILE.items():
        if name not in LARGE:
            (folder / name).write_bytes(content())
    (folder / "first.md").write_text("The kingfisher is here.")
    (folder / "zebra.html").write_text("<h1>Birds</h1><p>The bittern is there.</p>")
    settings = load(start=str(tmp_path), environ={}, flags={"index": {"vectors": False}})
    with Engine(tmp_path / "index", settings) as engine:
        report = engine.sync([folder])
        assert report.added + len({item.path.partition(":")[0] for item in report.skipped}) >= len(HOSTILE) - len(LARGE)
        assert engine.search("kingfisher").results[0].document == "first.md"
        assert engine.search("bittern").results[0].document == "zebra.html"
        assert all(item.reason for item in report.skipped)
        again = engine.sync([folder])
        assert again.added == again.changed == 0


def test_there_are_enough_of_them() -> None:
    assert len(HOSTILE) >= 24
