"""`watersmeet export` and `serve --export` as a person starts them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from watersmeet.engine.export import export as exporting
from watersmeet.engine.export.requirements import Requirements
from watersmeet.face.cli.main import run


@pytest.fixture(autouse=True)
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "make_requirements", lambda *_: Requirements("", (), True))


def test_the_json_of_an_export(synced: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = str(synced / ".watersmeet")
    assert run(["export", str(tmp_path / "out"), "--json", "--index", index]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    assert (found["folder"], found["documents"]) == (str(tmp_path / "out"), 9)
    assert found["size_bytes"] > 10_000
    assert found["took_ms"] > 0
    assert run(["export", str(tmp_path / "out"), "--quiet", "--index", index]) == 0
    assert capsys.readouterr() == ("", "")


def test_errors_say_what_to_do(synced: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    index = str(synced / ".watersmeet")
    assert run(["export", str(synced), "--index", index]) == 2
    assert "not empty and not an export" in capsys.readouterr().err
    assert run(["serve", "--export", str(tmp_path)]) == 2
    assert "hint: make it with `watersmeet export DIR`" in capsys.readouterr().err
    assert run(["serve", "--export", str(tmp_path), "--allow-write"]) == 2
    assert "cannot be combined" in capsys.readouterr().err
