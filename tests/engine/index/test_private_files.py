"""What watersmeet writes is its owner's alone: in the index, in the cache, whoever made the file."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

COMMAND = [sys.executable, "-c", "from watersmeet.face.cli.main import main; main()"]
Run = Callable[..., str]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """A command under the usual umask, which lets others read."""
    home = tmp_path / "home"
    home.mkdir(exist_ok=True)
    env = {
        **os.environ,
        "HOME": str(home),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "conf"),
    }
    env["WATERSMEET__INDEX__DENSE"] = ""

    def call(*words: str, **more: str) -> str:
        done = subprocess.run(
            [*COMMAND, *words],
            cwd=tmp_path,
            env={**env, **more},
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: os.umask(0o022) and None,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def loose(*tops: Path) -> dict[str, str]:
    """What anyone but the owner may do something with."""
    every = [path for top in tops for path in (top, *top.rglob("*"))]
    assert every
    modes = {str(path): stat.S_IMODE(path.lstat().st_mode) for path in every}
    return {path: oct(mode) for path, mode in modes.items() if mode & 0o077}


def fill(tmp_path: Path) -> Path:
    vault = tmp_path / "vault"
    vault.mkdir()
    for number in range(60):
        (vault / f"{number}.md").write_text(f"# Page {number}\n\nword{number} and others\n")
    return vault


@pytest.mark.model
@pytest.mark.parametrize("store", ["tantivy", "fts5"])
def test_index_cache_and_tokens_are_private(tmp_path: Path, run: Run, store: str) -> None:
    vault = fill(tmp_path)
    learn = {"WATERSMEET__INDEX__TEXT": store, "WATERSMEET__CALIBRATION__LEARN": "true"}
    run("sync", str(vault), "--index", "index", **learn)
    (vault / "1.md").write_text("# Page 1\n\nchanged\n")
    run("sync", str(vault), "--index", "index", **learn)
    run("search", "changed", "--index", "index", **learn)
    run("get", "1.md", "--index", "index", **learn)
    run("search", "changed", "--in", str(vault), **learn)
    run("token", "create", "--scope", "read")
    assert (tmp_path / "index" / "searched.jsonl").exists()
    assert (tmp_path / "home" / "cache" / "watersmeet" / "indexes").is_dir()
    assert not loose(tmp_path / "index", tmp_path / "home" / "cache", tmp_path / "home" / "conf")


def test_files_beside_an_open_catalogue_are_private(tmp_path: Path, run: Run) -> None:
    from watersmeet import Engine
    from watersmeet.engine.settings.settings import load

    vault = fill(tmp_path)
    before = os.umask(0o022)
    try:
        settings = load(start=str(tmp_path), environ={"WATERSMEET__INDEX__VECTORS": "false"})
        with Engine(tmp_path / "index", settings) as engine:
            engine.sync([vault])
            engine.search("word7")
            (vault / "new.md").write_text("# New\n")
            engine.sync([vault])
            assert (tmp_path / "index" / "catalogue.db-wal").exists()
            assert not loose(tmp_path / "index")
    finally:
        os.umask(before)


@pytest.mark.model
def test_an_index_that_others_could_read_is_taken_from_them(tmp_path: Path, run: Run) -> None:
    vault = fill(tmp_path)
    run("sync", str(vault), "--index", "index")
    for path in (tmp_path / "index", *(tmp_path / "index").rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)
    run("search", "word7", "--index", "index")
    assert loose(tmp_path / "index")  # who only reads changes nothing
    run("sync", str(vault), "--index", "index")
    assert not loose(tmp_path / "index")


@pytest.mark.model
def test_a_folder_with_other_things_in_it_stays_as_it_is(tmp_path: Path, run: Run) -> None:
    vault = fill(tmp_path)
    place = tmp_path / "project"
    place.mkdir(mode=0o755)
    (place / "page.html").write_text("for all")
    (place / "page.html").chmod(0o644)
    run("sync", str(vault), "--index", "project")
    assert set(loose(place)) == {str(place), str(place / "page.html")}
