"""An export is a folder that runs alone; writing it again replaces it as a whole, and nothing else is ever replaced."""

from __future__ import annotations

import compileall
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.errors import ConfigError, IndexBusy, IndexProblem
from watersmeet.core.locks import passing_lock
from watersmeet.engine.export import export as exporting
from watersmeet.engine.export.export import export
from watersmeet.engine.export.manifest import LOCK, read_manifest
from watersmeet.engine.export.opening import open_export
from watersmeet.engine.export.requirements import Requirements
from watersmeet.engine.settings.settings import load


@pytest.fixture(autouse=True)
def light(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without wheels: they are packed in tests of their own."""
    monkeypatch.setattr(exporting, "make_requirements", lambda *_: Requirements("", (), True))


@pytest.fixture
def parent(engine: Engine, vault: Path) -> Engine:
    engine.sync([vault])
    return engine


def found(folder: Path, query: str) -> list[str]:
    opened, _ = open_export(str(folder))
    with opened:
        return [one.document for one in opened.search(query).results]


def tree(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_folder_has_all_that_a_server_needs(parent: Engine, tmp_path: Path) -> None:
    report = export(parent, str(tmp_path / "out"))
    names = set(tree(tmp_path / "out"))
    for name in ("run.py", "README.md", "Containerfile", "test_export.py", "export.json"):
        assert name in names
    for name in ("watersmeet.toml", "requirements.txt", "index/catalogue.db", "licenses/watersmeet/LICENSE"):
        assert f"content-1/{name}" in names
    assert "content-1/licenses/potion-base-8M/NOTICE" in names
    assert not {name for name in names if "searched" in name or "opened" in name or "token" in name}
    assert (report.documents, report.replaced, report.warnings) == (4, False, [])
    assert report.size_bytes == sum(map(len, tree(tmp_path / "out").values()))
    assert compileall.compile_dir(tmp_path / "out", quiet=1)
    assert os.access(tmp_path / "out" / "run.py", os.X_OK)
    version = ".".join(map(str, sys.version_info[:2]))
    assert f"ARG PYTHON={version}\n" in (tmp_path / "out" / "Containerfile").read_text("utf8")


def test_an_export_inside_of_an_indexed_folder_is_warned_about(parent: Engine, vault: Path) -> None:
    assert "next sync" in export(parent, str(vault / "out")).warnings[0]


def test_nothing_of_this_machine_is_in_it(parent: Engine, tmp_path: Path) -> None:
    export(parent, str(tmp_path / "out"))
    for name, content in tree(tmp_path / "out").items():
        assert str(tmp_path).encode() not in content, name


def test_later_changes_of_the_parent_do_not_reach_it_until_it_is_exported_again(
    parent: Engine, vault: Path, tmp_path: Path
) -> None:
    export(parent, str(tmp_path / "out"))
    (vault / "new.md").write_text("# Walrus\n\nA walrus.\n", "utf8")
    (vault / "guides" / "keys.md").unlink()
    parent.sync([vault])
    assert found(tmp_path / "out", "walrus") == []
    assert "guides/keys.md" in found(tmp_path / "out", "rotate keys")
    report = export(parent, str(tmp_path / "out"))
    assert report.replaced
    assert found(tmp_path / "out", "walrus") == ["new.md"]
    assert "guides/keys.md" not in found(tmp_path / "out", "rotate keys")
    assert not (tmp_path / "out" / "content-1").exists()
    assert b"expired" not in b"".join(tree(tmp_path / "out").values())


def test_a_folder_that_is_no_export_stays_as_it_is(parent: Engine, vault: Path, tmp_path: Path) -> None:
    before = tree(vault)
    for place in (vault, tmp_path / "index", tmp_path / "index" / "new"):
        with pytest.raises(ConfigError):
            export(parent, str(place))
    assert tree(vault) == before
    assert not (tmp_path / "index" / "new").exists()


def test_a_failed_export_leaves_the_one_before(
    parent: Engine, vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(parent, str(tmp_path / "out"))
    before = tree(tmp_path / "out")

    def fail(*_: object) -> Requirements:
        raise ConfigError("no network", "")

    monkeypatch.setattr(exporting, "make_requirements", fail)
    with pytest.raises(ConfigError, match="no network"):
        export(parent, str(tmp_path / "out"))
    assert tree(tmp_path / "out") == before


def test_two_at_a_time_take_turns(parent: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exporting, "LOCK_SECONDS", 0.05)
    export(parent, str(tmp_path / "out"))
    with passing_lock(str(tmp_path / "out" / LOCK), 1), pytest.raises(IndexBusy):
        export(parent, str(tmp_path / "out"))
    export(parent, str(tmp_path / "out"))


def test_an_index_that_is_no_folder_is_refused(tmp_path: Path) -> None:
    from memory_index import MemoryIndex

    with Engine(MemoryIndex(), load(start=str(tmp_path))) as engine, pytest.raises(IndexProblem, match="copied"):
        export(engine, str(tmp_path / "out"))


def test_query_classification_changes_the_weights_in_the_trace(parent: Engine, tmp_path: Path) -> None:
    export(parent, str(tmp_path / "out"))
    weights = []
    for value in ("true", "false"):
        environ = {"WATERSMEET__PIPELINE__QUERY_CLASSIFICATION": value}
        opened, _ = open_export(str(tmp_path / "out"), environ=environ)
        with opened:
            evidence = opened.search("what does TRN-1042 mean for keys").results[0].evidence
            weights.append({one.by: one.detail["weight"] for one in evidence if "weight" in one.detail})
    assert weights[0].keys() == weights[1].keys() >= {"lexical", "exact"}
    assert weights[0]["exact"] < weights[1]["exact"]


KILLED = """
import sys, time
from watersmeet import Engine
from watersmeet.engine.export import export as exporting
from watersmeet.engine.export.requirements import Requirements
from watersmeet.engine.settings.settings import load
exporting.make_requirements = lambda *_: Requirements("", (), True)
settings = load(environ={"WATERSMEET__INDEX__VECTORS": "false"})
while True:
    with Engine(sys.argv[1], settings) as engine:
        exporting.export(engine, sys.argv[2])
    print("done", flush=True)
"""


@pytest.mark.kill
def test_a_killed_export_leaves_the_old_one_or_the_new_one(parent: Engine, vault: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    for attempt in range(4):
        command = [sys.executable, "-c", KILLED, str(tmp_path / "index"), str(out)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=tmp_path) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == b"done\n"
            time.sleep(0.02 + 0.03 * attempt)
            process.send_signal(signal.SIGKILL)
        manifest = read_manifest(str(out))
        assert found(out, "rotate keys")[0] == "guides/keys.md"
        assert json.loads((out / "export.json").read_text("utf8"))["content"] == manifest.content
    export(parent, str(out))
    kept = {path.name for path in out.iterdir() if not path.name.startswith("__")}
    manifest = read_manifest(str(out))
    assert kept == {
        ".dockerignore",
        "run.py",
        "README.md",
        "Containerfile",
        "test_export.py",
        "export.json",
        manifest.content,
    }
