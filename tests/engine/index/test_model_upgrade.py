"""A new file of the same model: the old vectors answer until the new ones are made, and then are gone."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import watersmeet_granite_30m

from watersmeet import Engine
from watersmeet.core.errors import IndexMismatch
from watersmeet.embed.onnx import Onnx
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync import deepen as deepening

HANDBOOK = Path(__file__).parents[3] / "examples" / "handbook"
QUESTION = "why are my changes slow to arrive?"
FIRST = "operations/troubleshooting.md"


def model(folder: Path, **config: object) -> Path:
    """The shipped model in a folder of its own; what its configuration says beside makes it another file."""
    shutil.copytree(watersmeet_granite_30m.PATH, folder, ignore=shutil.ignore_patterns("__*", "*.py"))
    known = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(known | config))
    (folder / "replaces.json").unlink(missing_ok=True)
    return folder


def opened(index: Path, folder: Path) -> Engine:
    environ = {"WATERSMEET__EMBED__ONNX__MODEL": str(folder), "WATERSMEET__WRITER__GRACE_SECONDS": "0"}
    return Engine(index, load(start=str(index.parent), environ=environ))


def dense_folders(index: Path) -> list[str]:
    return sorted(path.name for path in index.glob("vectors-dense-*"))


@pytest.fixture
def old_and_new(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path, Path]:
    """An index made with the old file, the old file's folder and the new one's."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    old, new = model(tmp_path / "old" / "granite-30m", made="before"), model(tmp_path / "new" / "granite-30m")
    (new / "replaces.json").write_text(json.dumps([Onnx(model=str(old)).fingerprint]))
    index = tmp_path / "index"
    with opened(index, old) as engine:
        engine.sync([HANDBOOK])
    return index, old, new


@pytest.mark.model
def test_old_vectors_answer_until_the_new_ones_are_made(
    old_and_new: tuple[Path, Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    index, _, new = old_and_new
    (before,) = dense_folders(index)
    with opened(index, new) as engine:
        answer = engine.search(QUESTION)
        assert not answer.failures
        assert answer.results[0].document == FIRST
        assert "dense" in {evidence.by for evidence in answer.results[0].evidence}
        assert any("earlier file" in check.detail for check in engine.doctor())

        monkeypatch.setattr(deepening, "SHORT_WINDOW", 4)
        engine.deepen(seconds=0.001)  # a few of them
        assert len(dense_folders(index)) == 2
        half = engine.search(QUESTION)
        assert not half.failures
        assert half.results[0].document == FIRST
        assert engine.status()["signals"]["dense"]["coverage"] == 1.0

        report = engine.sync([HANDBOOK])
        assert not report.warnings
        after = engine.search(QUESTION)
        assert not after.failures
        assert after.results[0].document == FIRST
        assert not any("earlier file" in check.detail for check in engine.doctor())
        engine.sync([HANDBOOK])  # the next writer removes what nobody can still read
    (left,) = dense_folders(index)
    assert left != before
    assert Onnx(model=str(new)).fingerprint[:8] in left


@pytest.mark.model
def test_what_was_written_meanwhile_is_in_the_new_vectors(
    old_and_new: tuple[Path, Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index, _, new = old_and_new
    monkeypatch.setattr(deepening, "SHORT_WINDOW", 4)
    notes = tmp_path / "notes"
    notes.mkdir()
    (notes / "leeks.md").write_text("# Leeks\n\nPlant them in rows, a hand apart.\n")
    with opened(index, new) as engine:
        engine.deepen(seconds=0.001)
        engine.sync([notes])
        assert engine.status()["signals"]["dense"]["coverage"] == 1.0
        assert engine.search("how far apart do leeks stand?").results[0].document.endswith("leeks.md")
        assert len({check.name for check in engine.doctor() if not check.ok}) == 0


@pytest.mark.model
def test_a_file_that_replaces_nothing_is_refused(old_and_new: tuple[Path, Path, Path]) -> None:
    index, _, new = old_and_new
    (new / "replaces.json").unlink()
    with opened(index, new) as engine:
        assert [failure.by for failure in engine.search(QUESTION).failures] == ["dense"]
        with pytest.raises(IndexMismatch, match="embedded with"):
            engine.sync([HANDBOOK])


def test_the_shipped_file_replaces_the_one_of_0_1() -> None:
    assert "76bd4d5b633a6bf325b222e6" in Onnx().replaces
    assert Onnx().fingerprint not in Onnx().replaces
