"""A backup is one whole state of the index, whatever happens meanwhile; a restored index answers as it did."""

from __future__ import annotations

import hashlib
import io
import json
import re
import signal
import sqlite3
import subprocess
import sys
import tarfile
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from damage import Index, answers, shown
from watersmeet import Engine
from watersmeet.core.errors import ConfigError, IndexDamaged, IndexMismatch, WatersmeetError
from watersmeet.core.visibility import Viewer
from watersmeet.engine.backup.archive import HEADER, MANIFEST
from watersmeet.engine.backup.backup import back_up, restore
from watersmeet.engine.settings.settings import load
from watersmeet.face.cli.main import run

pytestmark = pytest.mark.slow

DOCUMENTS = 20 + 2 * 3 + 2
"""Pages, servers with a tool each, and two that not everyone may see."""
PRIVATE = {
    "kind": "mcp_server",
    "path": "/hidden",
    "name": "Hidden",
    "description": "otter vault",
    "owner": "ann",
    "visibility": "private",
}


def _index(folder: Path, text: str) -> Index:
    made = Index(folder, text)
    with made.opened(made.whole) as engine:
        engine.registry.register([PRIVATE])
        (folder / "secret").mkdir()
        (folder / "secret" / "plan.md").write_text("# Plan\n\nThe zeppelin leaves at noon.\n")
        engine.sync([folder / "secret"], collection="secret", audience="group:staff")
        engine.calibration.judge([("rotate keys", {"page3.md": 1.0}), ("badger sett", {"page1.md": 1.0})])
        made.right = answers(engine)
    return made


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Index:
    return _index(tmp_path_factory.mktemp("whole"), "tantivy")


def _saved(index: Index, file: Path) -> Path:
    with index.opened(index.whole) as engine:
        report = back_up(engine.index, engine.settings, str(file))
    assert (report.size_bytes, report.documents) == (file.stat().st_size, DOCUMENTS)
    return file


@pytest.fixture(scope="module")
def saved(index: Index, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _saved(index, tmp_path_factory.mktemp("saved") / "index.tar")


@pytest.mark.parametrize("text", ["tantivy", "fts5"])
def test_a_restored_index_answers_the_same(text: str, index: Index, saved: Path, tmp_path: Path) -> None:
    if text != "tantivy":
        (tmp_path / "other").mkdir()
        index = _index(tmp_path / "other", text)
        saved = _saved(index, tmp_path / "other.tar")
    place = tmp_path / "elsewhere" / "restored"
    with index.opened(place) as engine:
        report = restore(engine.index, engine.settings, str(saved))
        assert report.documents == DOCUMENTS
        assert {key: shown(answer) for key, answer in answers(engine).items()} == {
            key: shown(answer) for key, answer in index.right.items()
        }
        assert [one.name for one in engine.doctor() if not one.ok] == []
        with index.opened(index.whole) as before:
            assert engine.calibration.show() == before.calibration.show()
        found = {
            name: [one["path"] for one in engine.registry.search("otter vault", viewer=viewer).to_json()["servers"]]
            for name, viewer in (("ann", Viewer("ann")), ("eve", Viewer("eve")))
        }
        assert ("/hidden" in found["ann"], "/hidden" in found["eve"]) == (True, False)
        for viewer, seen in ((Viewer("eve"), 0), (Viewer(groups=("staff",)), 1), (Viewer(all=True), 1)):
            assert len(engine.search("zeppelin", mode="lexical", viewer=viewer).results) == seen
        synced = engine.sync([index.vault])  # its folders are still its folders
        assert (synced.added, synced.changed, synced.unchanged) == (0, 0, 20)
        engine.registry.register([{**PRIVATE, "path": "/new"}])
    assert oct(place.stat().st_mode & 0o777) == "0o700"
    assert oct((place / "catalogue.db").stat().st_mode & 0o777) == "0o600"
    assert [one.name for one in place.parent.iterdir()] == ["restored"]


def test_an_index_is_replaced_only_on_demand_and_a_server_goes_on_with_the_new_one(
    index: Index, saved: Path, tmp_path: Path
) -> None:
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "walrus.md").write_text("# Walrus\n\nAlone.\n")
    with index.opened(tmp_path / "index") as engine, index.opened(tmp_path / "index") as server:
        engine.sync([tmp_path / "vault"])
        assert server.search("walrus").results
        with pytest.raises(ConfigError, match="there is an index") as refused:
            restore(engine.index, engine.settings, str(saved))
        assert "--replace" in refused.value.hint
        restore(engine.index, engine.settings, str(saved), replace=True)
        assert not server.search("walrus", mode="lexical").results
        assert shown(server.search("badger sett", mode="lexical", top_n=8)) == shown(
            index.right["badger sett", "lexical"]
        )
    assert sorted(one.name for one in tmp_path.iterdir() if one.name != "home") == ["index", "vault"]


def test_a_folder_of_others_and_a_file_of_others_stay(index: Index, saved: Path, tmp_path: Path) -> None:
    folder, file = tmp_path / "photos", tmp_path / "letter.txt"
    folder.mkdir()
    (folder / "cat.jpg").write_bytes(b"cat")
    file.write_text("Dear Ann,")
    with index.opened(folder) as engine, pytest.raises(ConfigError, match="not empty"):
        restore(engine.index, engine.settings, str(saved), replace=True)
    assert [one.name for one in folder.iterdir()] == ["cat.jpg"]
    with index.opened(index.whole) as engine, pytest.raises(ConfigError, match="is not a backup"):
        back_up(engine.index, engine.settings, str(file))
    assert file.read_text() == "Dear Ann,"


# ---------------------------------------------------------------- hostile and damaged files

Members = list[tuple[tarfile.TarInfo, bytes]]


def _read(file: Path) -> Members:
    with tarfile.open(file) as archive:
        return [(one, archive.extractfile(one).read()) for one in archive]  # type: ignore[union-attr] # all are files


def _write(file: Path, members: Members) -> None:
    with tarfile.open(file, "w") as archive:
        for info, content in members:
            info.size = len(content) if info.isreg() else 0
            archive.addfile(info, io.BytesIO(content))


def _resealed(members: Members) -> Members:
    """With checksums that are right, as whoever forges a backup would make them."""
    plain = [(info, content) for info, content in members if info.name != MANIFEST]
    sums = {i.name: [len(c), hashlib.sha256(c).hexdigest()] for i, c in plain if i.isreg() and i.name != HEADER}
    return [*plain, (tarfile.TarInfo(MANIFEST), json.dumps(sums).encode())]


def _with_part(name: str, kind: bytes = tarfile.REGTYPE, target: str = "") -> Callable[[Members], Members]:
    def change(members: Members) -> Members:
        info = tarfile.TarInfo(name)
        info.type, info.linkname = kind, target
        return _resealed([members[0], (info, b"x"), *members[1:]])

    return change


def _with_sql(statement: str) -> Callable[[Members], Members]:
    """With a catalogue in which a statement was run."""

    def change(members: Members) -> Members:
        at = next(number for number, (info, _) in enumerate(members) if info.name == "catalogue.db")
        path = Path("forged.db")
        path.write_bytes(members[at][1])
        with closing(sqlite3.connect(path)) as db, db:
            db.executescript(statement)
        members[at] = (members[at][0], path.read_bytes())
        path.unlink()
        return _resealed(members)

    return change


HOSTILE: dict[str, Callable[[Members], Members]] = {
    "leads out": _with_part("../evil"),
    "absolute": _with_part("/tmp/evil"),  # noqa: S108 - nothing is written there
    "leads out of a store": _with_part("text-1/../../evil"),
    "hidden below a store": _with_part("text-1/a/b"),
    "symbolic link": _with_part("text-1/link", tarfile.SYMTYPE, "/etc/passwd"),
    "hard link": _with_part("text-1/link", tarfile.LNKTYPE, "catalogue.db"),
    "pipe": _with_part("text-1/pipe", tarfile.FIFOTYPE),
    "folder": _with_part("text-1", tarfile.DIRTYPE),
    "lock": _with_part("writer.lock"),
    "mark": _with_part("frozen"),
    "unknown state": _with_part("state/tokens.json"),
    "settings": _with_part("watersmeet.toml"),
    "twice": lambda members: [*members[:2], *members[1:]],
    "no checksums": lambda members: members[:-1],
    "a part less": lambda members: [*members[:3], *members[4:]],
    "no catalogue": lambda members: _resealed([one for one in members if one[0].name != "catalogue.db"]),
    "a trigger": _with_sql("CREATE TRIGGER evil AFTER INSERT ON chunks BEGIN DELETE FROM documents; END"),
    "a view": _with_sql("CREATE VIEW evil AS SELECT 1"),
    "a foreign table": _with_sql("CREATE TABLE evil (x)"),
    "a store elsewhere": _with_sql("UPDATE meta SET value = '../../home' WHERE key = 'text_folder'"),
    "a document changed": _with_sql("UPDATE chunks SET text = 'forged'"),
    "a foreign format": _with_sql("PRAGMA user_version = 99"),
    "header": lambda members: [(members[0][0], b'{"watersmeet_backup": 99}'), *members[1:]],
    "another store": lambda members: [(members[0][0], b'{"watersmeet_backup": 1, "store": "x"}'), *members[1:]],
    "no header": lambda members: members[1:],
    "deep header": lambda members: [(members[0][0], b"[" * 100_000), *members[1:]],
}


@pytest.mark.parametrize("what", HOSTILE)
def test_a_hostile_backup_is_refused_and_nothing_is_left_of_it(
    what: str, index: Index, saved: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "hostile.tar"
    _write(file, HOSTILE[what](_read(saved)))
    _refused(index, file, tmp_path)


def _refused(index: Index, file: Path, folder: Path) -> None:
    before = {one.name for one in folder.iterdir()}
    with index.opened(folder / "restored") as engine, pytest.raises((IndexDamaged, IndexMismatch)) as refused:
        restore(engine.index, engine.settings, str(file))
    assert refused.value.hint
    assert {one.name for one in folder.iterdir()} == before


def test_a_file_that_is_cut_off_or_has_a_wrong_bit_is_refused(index: Index, saved: Path, tmp_path: Path) -> None:
    content, file = saved.read_bytes(), tmp_path / "damaged.tar"
    for size in (0, 100, 512, len(content) // 2, content.rindex(MANIFEST.encode()) + 600):
        file.write_bytes(content[:size])
        _refused(index, file, tmp_path)
    places = [one.start() for one in re.finditer(rb"page|otter|commit", content)]
    for at in places[:: len(places) // 12]:
        flipped = bytearray(content)
        flipped[at] ^= 1
        file.write_bytes(flipped)
        _refused(index, file, tmp_path)


def test_a_damaged_index_is_not_backed_up(index: Index, tmp_path: Path) -> None:
    file = next(one for one in index.files() if "vectors-dense" in str(one) and one.name.endswith(".exact"))
    index.fresh()
    index.flip(file, 5, 1)
    with index.opened(index.copy) as engine, pytest.raises(IndexDamaged) as refused:
        back_up(engine.index, engine.settings, str(tmp_path / "b.tar"))
    assert "sync" in refused.value.hint
    assert not (tmp_path / "b.tar").exists()


# ---------------------------------------------------------------- while others write, and kills

WRITER = """
import sys
from pathlib import Path
from watersmeet import Engine
from watersmeet.engine.settings.settings import load
vault, index, settings = Path(sys.argv[1]), sys.argv[2], load(start=sys.argv[1], environ={
    "WATERSMEET__INDEX__DENSE": "hashed", "WATERSMEET__WRITER__BATCH_CHUNKS": "7",
    "WATERSMEET__WRITER__GRACE_SECONDS": "0"})
with Engine(index, settings) as engine:
    for round in range(10_000):
        for page in range(12):
            said = f"V{round} of page {page} and otter{round % 5}"
            text = "".join(f"## Part {part}\\n\\n{said} {part}.\\n\\n" * 3 for part in range(4))
            (vault / f"{page}.md").write_text(f"# Page {page}\\n\\n{text}")
        engine.sync([vault])
        if round % 3 == 2:
            engine.compact(grace=0)
        print(round, flush=True)
"""


@pytest.mark.kill
def test_a_backup_is_whole_while_writers_write_and_are_killed(tmp_path: Path) -> None:
    """Every document of it is one version, `doctor` finds it sound, and the next sync completes it."""
    vault, index = tmp_path / "vault", tmp_path / "index"
    vault.mkdir()
    settings = load(start=str(tmp_path), environ={"WATERSMEET__INDEX__DENSE": "hashed"})
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(vault), str(index)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        assert writer.stdout is not None
        writer.stdout.readline()
        for number in range(6):
            time.sleep(0.09 * number)
            assert writer.poll() is None, writer.stderr
            if number == 5:
                writer.kill()
            with Engine(index, settings) as engine:
                back_up(engine.index, settings, str(tmp_path / f"{number}.tar"))
    finally:
        writer.kill()
        writer.communicate()
    for number in range(6):
        with Engine(tmp_path / f"restored-{number}", settings) as engine:
            restore(engine.index, settings, str(tmp_path / f"{number}.tar"))
            assert [one for one in engine.doctor() if not one.ok] == []
            for document in engine.documents():
                text = " ".join(one.text for one in engine.passages(document["document"]))
                assert len(set(re.findall(r"V(\d+) of", text))) == 1
            engine.sync([vault])
            assert [one for one in engine.doctor() if not one.ok] == []
            assert len(engine.search("otter1 otter2 otter3", mode="lexical", top_n=50).results) > 0
            rows = engine.status()["chunks"]
            assert engine.status()["signals"]["dense"]["coverage"] == 1.0
            with engine.snapshot() as snapshot:
                assert snapshot.statistics().chunks == rows


@pytest.mark.kill
def test_a_backup_that_is_killed_leaves_the_one_before(index: Index, saved: Path, tmp_path: Path) -> None:
    file = tmp_path / "b.tar"
    file.write_bytes(saved.read_bytes())
    slow = (
        "import sys, time\nfrom watersmeet import Engine\nfrom watersmeet.engine.backup.backup import back_up\n"
        "with Engine(sys.argv[1]) as e:\n"
        "    back_up(e.index, e.settings, sys.argv[2], lambda step: (print(step, flush=True), time.sleep(60)))\n"
    )
    killed = subprocess.Popen([sys.executable, "-c", slow, str(index.whole), str(file)], stdout=subprocess.PIPE)
    assert killed.stdout is not None
    killed.stdout.readline()
    killed.send_signal(signal.SIGKILL)
    killed.communicate()
    assert file.read_bytes() == saved.read_bytes()
    with index.opened(index.whole) as engine:
        back_up(engine.index, engine.settings, str(file))
    with index.opened(tmp_path / "restored") as engine:
        assert restore(engine.index, engine.settings, str(file)).documents == DOCUMENTS
    assert not list(tmp_path.glob("*.partial*"))


# ---------------------------------------------------------------- the commands


@pytest.fixture
def asked(capsys: pytest.CaptureFixture[str]) -> Callable[..., list[Any]]:
    def ask(*arguments: str, code: int = 0) -> list[Any]:
        assert run([*arguments, "--json"]) == code
        return [json.loads(line) for line in capsys.readouterr().out.splitlines()]

    return ask


def test_the_commands_print_progress_and_a_report(
    engine: Engine, vault: Path, tmp_path: Path, asked: Callable[..., list[Any]]
) -> None:
    engine.sync([vault])
    file = tmp_path / "b.tar"
    *steps, report = asked("backup", str(file), "--index", engine.folder)
    assert all(set(step) == {"part", "done", "unit"} for step in steps)
    assert [step["done"] for step in steps] == sorted(step["done"] for step in steps)
    assert report["file"] == str(file)
    assert (report["size_bytes"], report["documents"]) == (file.stat().st_size, 4)
    *steps, report = asked("restore", str(file), "--index", str(tmp_path / "restored"))
    assert steps
    assert (report["documents"], report["took_ms"] > 0) == (4, True)
    assert asked("restore", str(file), "--index", str(tmp_path / "restored"), code=2) == []
    assert asked("restore", str(tmp_path / "none.tar"), "--index", str(tmp_path / "other"), code=2) == []


def test_a_place_that_cannot_be_written_is_an_error(engine: Engine, vault: Path, tmp_path: Path) -> None:
    engine.sync([vault])
    with pytest.raises(WatersmeetError) as refused:
        back_up(engine.index, engine.settings, str(tmp_path / "nowhere" / "b.tar"))
    assert refused.value.hint
