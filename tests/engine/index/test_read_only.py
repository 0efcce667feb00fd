"""An index that cannot be written, in an image or on a share, answers as it did; what would change it is refused."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from trees import nobody
from watersmeet import Engine
from watersmeet.core.errors import IndexProblem
from watersmeet.engine.settings.settings import load

pytestmark = pytest.mark.model

NOTES = {f"{n}.md": f"# Page {n}\n\nbird number{n} of the reeds, [[{n - 1}]]\n" for n in range(12)}


def frozen(folder: Path) -> None:
    for path in (*folder.rglob("*"), folder):
        path.chmod(0o555 if path.is_dir() else 0o444)


def thawed(folder: Path) -> None:
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


def state(folder: Path) -> dict[str, tuple[int, int]]:
    return {str(p): (p.stat().st_size, p.stat().st_mtime_ns) for p in (folder, *folder.rglob("*"))}


@pytest.fixture(params=["tantivy", "fts5"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Path, Callable[[], Engine]]]:
    """An index of twelve notes, and how it is opened; the folder above lets everyone in."""
    for folder in (tmp_path, *list(tmp_path.parents)[:3]):
        folder.chmod(folder.stat().st_mode | 0o055)
    vault = tmp_path / "vault"
    vault.mkdir()
    for name, text in NOTES.items():
        (vault / name).write_text(text)
    environ = {"WATERSMEET__INDEX__TEXT": request.param, "WATERSMEET__INDEX__DENSE": ""}
    environ["WATERSMEET__CALIBRATION__LEARN"] = "true"
    settings = load(start=str(tmp_path), environ=environ)
    index = tmp_path / "index"
    yield index, lambda: Engine(index, settings)
    thawed(index)


def answers(engine: Engine) -> list[Any]:
    found = [engine.search(q, mode=m) for q in ("number7", "birds in reeds") for m in ("hybrid", "lexical", "static")]
    return [[(r.document, round(r.score, 6), r.lines) for r in answer.results] for answer in found]


def test_the_same_answers_and_nothing_written(place: tuple[Path, Callable[[], Engine]], tmp_path: Path) -> None:
    index, opened = place
    with opened() as engine:
        engine.sync([tmp_path / "vault"])
        before = answers(engine)
    frozen(index)
    was = state(index)
    with nobody(), opened() as engine:
        assert answers(engine) == before
        assert engine.get("7.md")["document"] == "7.md"
        assert engine.related("7.md").results
        assert engine.status()["documents"] == len(NOTES)
        assert [check for check in engine.doctor() if not check.ok] == []
        with pytest.raises(IndexProblem, match="is read-only"):
            engine.sync([tmp_path / "vault"])
        with pytest.raises(IndexProblem, match="is read-only"):
            engine.sync()
        with pytest.raises(IndexProblem, match="is read-only"):
            engine.remove("7.md")
        with pytest.raises(IndexProblem, match="is read-only"):
            engine.registry.register([{"path": "/a", "server_name": "a", "description": "b"}])
        with pytest.raises(IndexProblem, match="is read-only"):
            engine.compact()
    assert state(index) == was


def test_what_its_owner_changes_is_seen(place: tuple[Path, Callable[[], Engine]], tmp_path: Path) -> None:
    """A share that one user writes and others read: the reader has no right to write, and looks again."""
    index, opened = place
    with opened() as writer:
        writer.sync([tmp_path / "vault"])
    thawed(index)
    index.chmod(0o555)
    if os.geteuid() != 0:
        pytest.skip("needs another user")
    with opened() as reader, nobody():
        assert reader.search("number7").results[0].document == "7.md"
    index.chmod(0o755)
    (tmp_path / "vault" / "new.md").write_text("# New\n\na sandpiper\n")
    with opened() as writer:
        writer.sync([tmp_path / "vault"])
    thawed(index)
    with nobody(), opened() as late:
        assert late.search("sandpiper", mode="lexical").results[0].document == "new.md"


def test_a_log_that_was_copied_with_it_is_read(place: tuple[Path, Callable[[], Engine]], tmp_path: Path) -> None:
    index, opened = place
    copy = tmp_path / "copy"
    with opened() as engine:
        engine.sync([tmp_path / "vault"])
        (tmp_path / "vault" / "new.md").write_text("# New\n\na sandpiper\n")
        engine.search("number7")
        engine.sync([tmp_path / "vault"])
        assert (index / "catalogue.db-wal").stat().st_size
        shutil.copytree(index, copy)
        settings = engine.settings
    frozen(copy)
    try:
        with nobody(), Engine(copy, settings) as engine:
            assert engine.search("sandpiper", mode="lexical").results[0].document == "new.md"
    finally:
        thawed(copy)


@pytest.mark.skipif(os.geteuid() != 0, reason="only the superuser can mount")
def test_on_a_disk_for_reading_only_also_for_the_superuser(
    place: tuple[Path, Callable[[], Engine]], tmp_path: Path
) -> None:
    index, opened = place
    with opened() as engine:
        engine.sync([tmp_path / "vault"])
    ask = (
        "import json, sys; from watersmeet import Engine; from watersmeet.core.errors import IndexProblem\n"
        "engine = Engine(sys.argv[1])\n"
        "found = [r.document for r in engine.search('number7', mode='lexical').results]\n"
        "try: engine.remove('7.md')\n"
        "except IndexProblem as error: found.append(str(error))\n"
        "print(json.dumps(found))"
    )
    script = 'mount --bind "$1" "$1" && mount -o remount,ro,bind "$1" || exit 77; exec "$2" -c "$3" "$1"'
    argv = ["unshare", "--mount", "sh", "-c", script, "-", str(index), sys.executable, ask]
    try:
        done = subprocess.run(argv, capture_output=True, text=True, check=False, cwd=tmp_path)
    except FileNotFoundError:
        pytest.skip("no unshare here")
    if done.returncode in (1, 77) and "Traceback" not in done.stderr:
        pytest.skip(f"nothing can be mounted here: {done.stderr}")
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found[0] == "7.md"
    assert "is read-only" in found[-1]
