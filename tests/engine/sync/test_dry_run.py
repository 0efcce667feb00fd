"""A dry run reports what a sync would do, by the same way, and writes nothing."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registries import opened
from watersmeet import Engine
from watersmeet.core.errors import ConfigError, SourceProblem
from watersmeet.engine.sync.report import ACTIONS, Progress

COUNTED = (*ACTIONS, "unchanged")


def contents(folder: Path) -> dict[str, str]:
    """All files below a folder, with a digest of each. SQLite's shared memory is not content."""
    return {
        str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.name.endswith("-shm")
    }


def counts(report: dict[str, Any]) -> dict[str, int]:
    return {name: report[name] for name in COUNTED}


def test_it_reports_what_the_sync_then_does(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    (vault / "new.md").write_text("# New\n")
    (vault / "records.jsonl").write_text('{"_id": "r1", "text": "one"}\n{"_id": "r2", "text": "two"}\n')
    (vault / "index.md").write_text("# Home\n\nChanged.\n")
    (vault / "guides/setup.md").rename(vault / "start.md")
    (vault / "guides/keys.md").unlink()
    (vault / "notes/ideas.txt").write_bytes(b"\xff\xfe\x00" * 9)
    steps: list[Progress] = []
    before = contents(Path(engine.folder))
    tried = engine.sync(dry_run=True, progress=steps.append).to_json()
    assert contents(Path(engine.folder)) == before
    assert tried["dry_run"]
    assert tried["planned"] == {
        "added": ["new.md", "r1", "r2"],
        "changed": ["index.md"],
        "moved": ["start.md"],
        "removed": ["guides/keys.md"],
    } or sorted(tried["planned"]["added"]) == ["new.md", "r1", "r2"]
    assert "committed" not in {step.doing for step in steps}
    done = engine.sync().to_json()
    assert counts(tried) == counts(done)
    assert tried["skipped"] == done["skipped"]
    assert "dry_run" not in done
    assert counts(engine.sync(dry_run=True).to_json()) == {**dict.fromkeys(ACTIONS, 0), "unchanged": done["documents"]}


def test_without_an_index_none_is_made(engine: Engine, vault: Path) -> None:
    report = engine.sync([vault], dry_run=True)
    assert (report.added, report.documents) == (4, 0)
    assert not os.path.exists(engine.folder)


def test_another_root_gets_its_prefix(engine: Engine, vault: Path, tmp_path: Path) -> None:
    engine.sync([vault])
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("# A\n")
    assert engine.sync([other], dry_run=True, collection="more").to_json()["planned"]["added"] == ["other/a.md"]
    assert [one["name"] for one in engine.status()["sources"]] == ["vault"]
    engine.sync([other])
    assert "other/a.md" in [one["document"] for one in engine.documents()]


def test_what_a_sync_refuses_a_dry_run_refuses(engine: Engine, vault: Path) -> None:
    with pytest.raises(SourceProblem):
        engine.sync([vault / "none"], dry_run=True)
    engine.sync([vault])
    with pytest.raises(ConfigError, match="dry run"):
        engine.sync([vault], dry_run=True, recreate=True)


def test_it_needs_no_lock(engine: Engine, vault: Path) -> None:
    """While another writer is at it, a dry run answers from what is committed."""
    from watersmeet.engine.index.writer import open_for_writing

    engine.sync([vault])
    (vault / "new.md").write_text("# New\n")
    with open_for_writing(engine.index, engine.settings):
        assert engine.sync(dry_run=True).added == 1


NAMES = st.sampled_from(["a.md", "b.md", "c/d.md", "c/e.md"])
TEXTS = st.sampled_from(["# One\n", "# Two\n\ntext\n", "# Three\n\n## Part\n\nmore\n"])
FILES = st.dictionaries(NAMES, TEXTS, max_size=4)


@pytest.mark.slow
@given(FILES, FILES)
def test_any_change_is_reported_as_it_is_made(
    tmp_path_factory: pytest.TempPathFactory, before: dict[str, str], after: dict[str, str]
) -> None:
    place = tmp_path_factory.mktemp("any")
    vault = place / "vault"

    def fill(files: dict[str, str]) -> None:
        for path in sorted(vault.rglob("*.md")):
            path.unlink()
        for name, text in files.items():
            (vault / name).parent.mkdir(parents=True, exist_ok=True)
            (vault / name).write_text(text)

    vault.mkdir()
    fill({"kept.md": "# Kept\n", **before})
    with opened(place, INDEX__VECTORS="false") as engine:
        engine.sync([vault])
        fill({"kept.md": "# Kept\n", **after})
        tried = engine.sync(dry_run=True).to_json()
        assert counts(tried) == counts(engine.sync().to_json())
        assert {action: len(found) for action, found in tried["planned"].items()} == {
            action: tried[action] for action in ACTIONS
        }


def test_the_command_line_says_what_it_would_do(
    vault: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from watersmeet.face.cli.main import run

    monkeypatch.chdir(vault)
    assert run(["sync", ".", "--dry-run"]) == 0
    shown = capsys.readouterr().out
    assert "4 added" in shown
    assert "added: guides/keys.md" in shown
    assert shown.endswith("nothing was written: this was a dry run\n")
    assert not (vault / ".watersmeet").exists()


Write = Callable[[dict[str, str]], Path]
