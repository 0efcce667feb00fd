"""Nothing needs what only POSIX has: neither to be imported, nor to sync, search and take turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import elsewhere
from watersmeet.core import system
from watersmeet.core.locks import FileLock
from watersmeet.store.local._paths import Paths

pytestmark = pytest.mark.slow  # each starts processes
IMPORT_ALL = """
import importlib, pkgutil, sys
import watersmeet

names = [module.name for module in pkgutil.walk_packages(watersmeet.__path__, "watersmeet.")]
for name in names:
    if not name.endswith("__main__"):
        importlib.import_module(name)
print(len(names), watersmeet.core.system.POSIX)
"""
COMMAND = "from watersmeet.face.cli.main import main; main()"
NOTES = {
    "keys.md": "# Keys\n\nKeys are rotated every quarter.\n",
    "deep/birds.md": "# Birds\n\nHerons stand in the reeds.\n",
    "deep/er/bread.md": "# Bread\n\nSourdough needs a day.\n",
}


def run(code: str, *words: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(elsewhere.__file__), code, *words]
    environ = {**os.environ, "WATERSMEET__INDEX__DENSE": "hashed", "WATERSMEET__WRITER__LOCK_SECONDS": "0.2"}
    return subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    for name, text in NOTES.items():
        (tmp_path / "notes" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "notes" / name).write_text(text)
    return tmp_path


def test_every_module_is_imported_without_posix() -> None:
    done = run(IMPORT_ALL)
    assert done.returncode == 0, done.stderr
    count, posix = done.stdout.split()
    assert (int(count) > 250, posix) == (True, "False")


@pytest.mark.parametrize("code", ["import fcntl", "import os; os.getuid()", "import os; os.open('.', os.O_RDONLY)"])
def test_whoever_needs_posix_fails_there(code: str) -> None:
    """The tests above and below can fail."""
    assert run(code).returncode == 1


def test_a_folder_is_synced_searched_and_edited_without_posix(notes: Path) -> None:
    done = run(COMMAND, "sync", "notes", "--json", folder=notes)
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["added"], report["embedded"], report["warnings"]) == (3, 3, [])
    (notes / "notes" / "deep" / "birds.md").write_text("# Birds\n\nHerons and egrets stand in the reeds.\n")
    (notes / "notes" / "keys.md").unlink()
    done = run(COMMAND, "sync", "--json", folder=notes)
    report = json.loads(done.stdout)
    assert (done.returncode, report["changed"], report["removed"]) == (0, 1, 1)
    done = run(COMMAND, "search", "egrets", "--json", folder=notes)
    answer = json.loads(done.stdout)
    assert (done.returncode, answer["failures"]) == (0, [])
    assert answer["results"][0]["document"] == "deep/birds.md"
    (notes / "judged.jsonl").write_text('{"query": "egrets", "document": "deep/birds.md"}\n')
    done = run(COMMAND, "calibrate", "--judgements", "judged.jsonl", "--json", folder=notes)
    assert (done.returncode, json.loads(done.stdout)["learnt"]) == (0, 1), done.stderr
    done = run(COMMAND, "doctor", "--json", folder=notes)
    assert done.returncode == 0, done.stdout


def test_the_index_is_the_same_for_a_process_with_posix(notes: Path) -> None:
    assert run(COMMAND, "sync", "notes", folder=notes).returncode == 0
    here = [sys.executable, "-c", COMMAND, "search", "sourdough", "--json"]
    done = subprocess.run(here, cwd=notes, capture_output=True, text=True, check=False)
    assert json.loads(done.stdout)["results"][0]["document"] == "deep/er/bread.md"


def test_a_writer_without_posix_waits_for_the_one_that_holds_the_lock(notes: Path) -> None:
    assert run(COMMAND, "sync", "notes", folder=notes).returncode == 0
    lock = FileLock(str(notes / ".watersmeet"), "writer.lock")
    assert lock.attempt()
    lock.write_holder()
    done = run(COMMAND, "sync", folder=notes)
    assert done.returncode == 2
    assert f"process {os.getpid()} on" in done.stderr
    lock.release()
    assert run(COMMAND, "sync", folder=notes).returncode == 0


# ------------------------------------------------------------ paths with another separator


@pytest.fixture
def backslashes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sep", "\\")


@pytest.mark.usefixtures("backslashes")
def test_paths_are_kept_with_slashes_on_every_system() -> None:
    paths = Paths("C:\\Users\\ann")
    assert paths.stored("C:\\Users\\ann\\notes\\a.md") == "@/notes/a.md"
    assert paths.on_disk("@/notes/a.md") == "C:\\Users\\ann\\notes\\a.md"
    assert (paths.stored("C:\\Users\\ann"), paths.on_disk("@/")) == ("@/", "C:\\Users\\ann")
    assert paths.stored("C:\\Users\\anna\\b.md") == "C:\\Users\\anna\\b.md"


@pytest.mark.usefixtures("backslashes")
def test_a_drive_holds_what_is_on_it() -> None:
    paths = Paths("D:\\")
    assert (paths.stored("D:\\"), paths.stored("D:\\a.md")) == ("@/", "@/a.md")
    assert (paths.on_disk("@/"), paths.on_disk("@/a.md")) == ("D:\\", "D:\\a.md")
    assert system.is_within("D:\\notes", "D:\\")
    assert not system.is_within("D:\\notes2\\a.md", "D:\\notes")
    assert system.slashed("notes\\a.md") == "notes/a.md"


def test_here_a_backslash_is_part_of_a_name() -> None:
    assert system.slashed("notes\\a.md") == "notes\\a.md"
    assert system.is_within("/", "/")
    assert system.is_within("/notes/a.md", "/")
