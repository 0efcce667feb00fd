"""A backup of an index in a cluster is one whole state of it; restored anywhere in a cluster, it answers as it did."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from cluster_indexes import cluster_address, cluster_environment, cluster_settings
from clusters import NOT_RUN, missing, running
from watersmeet import Engine
from watersmeet.core.errors import ConfigError, IndexBusy, IndexDamaged, IndexMismatch
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.backup.backup import back_up, restore
from watersmeet.engine.index.generations import recreate, roll_back
from watersmeet.engine.settings.settings import Settings
from watersmeet.face.cli.main import run
from watersmeet.store.postgres import backup
from watersmeet.store.postgres.index import Postgres

pytestmark = [pytest.mark.server, pytest.mark.skipif(bool(missing()), reason=NOT_RUN)]
ENVIRON = {"WATERSMEET__INDEX__DENSE": "hashed", "WATERSMEET__INDEX__STATIC": ""}
SERVER = {"kind": "mcp_server", "path": "/clock", "name": "clock", "description": "Tells the time of otters"}
PRIVATE = {**SERVER, "path": "/hidden", "name": "hidden", "owner": "ann", "visibility": "private"}
QUERIES = [(query, mode) for query in ("the otter", "river word3", "badger time") for mode in ("lexical", "dense", "")]
VIEWERS = (EVERYONE, Viewer("ann"), Viewer(groups=("staff",)), Viewer(all=True))


@pytest.fixture(scope="module")
def settings() -> Settings:
    return cluster_settings(ENVIRON)


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("vault")
    for n in range(12):
        (folder / f"{n}.md").write_text(f"# Page {n}\n\nThe otter and the badger, word{n}.\n\n## More\n\nRiver {n}.\n")
    return folder


@pytest.fixture(scope="module")
def whole(vault: Path, settings: Settings) -> Iterator[Engine]:
    """An index with a folder, a restricted one, entities, and rows that have died."""
    secret = vault.parent / "secret"
    secret.mkdir()
    (secret / "plan.md").write_text("# Plan\n\nThe otter leaves at noon.\n")
    with index_at(cluster_address("backed_up"), settings) as engine:
        engine.registry.register([SERVER, PRIVATE])
        engine.sync([vault], collection="notes")
        engine.sync([secret], collection="secret", audience="group:staff")
        (vault / "3.md").write_text("# Page 3\n\nA heron by the river, word3.\n")
        engine.sync()
        engine.calibration.judge([("otter", {"3.md": 1.0})])
        yield engine


@pytest.fixture(scope="module")
def saved(whole: Engine, tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("saved") / "index.tar"
    report = back_up(whole.index, whole.settings, str(file))
    assert (report.documents, report.size_bytes) == (whole.status()["documents"], file.stat().st_size)
    assert oct(file.stat().st_mode & 0o777) == "0o600"
    return file


@contextmanager
def index_at(place: str, settings: Settings) -> Iterator[Engine]:
    """An index that is removed afterwards."""
    with Engine(place, settings) as engine:
        assert isinstance(engine.index, Postgres)
        try:
            yield engine
        finally:
            engine.index.drop()


def answers(engine: Engine) -> list[Any]:
    found = []
    for query, mode in QUERIES:
        for viewer in VIEWERS:
            answer = engine.search(query, top_n=8, viewer=viewer, **({"mode": mode} if mode else {}))
            assert answer.failures == ()
            found.append([(result.id, round(result.score, 6)) for result in answer.results])
    return found


def another_database() -> str:
    """The address of a database of its own on the same server."""
    import psycopg

    address = running().postgres
    with psycopg.connect(address, autocommit=True) as db:
        db.execute("DROP DATABASE IF EXISTS elsewhere")
        db.execute("CREATE DATABASE elsewhere")
    before, mark, rest = address.partition("?")
    return f"{before.rpartition('/')[0]}/elsewhere{mark}{rest}{'&' if mark else '?'}index=restored"


def test_a_restored_index_answers_the_same_in_another_database(
    whole: Engine, saved: Path, settings: Settings, vault: Path
) -> None:
    with index_at(another_database(), settings) as engine:
        assert restore(engine.index, settings, str(saved)).documents == whole.status()["documents"]
        assert answers(engine) == answers(whole)
        assert [one for one in engine.doctor() if not one.ok] == []
        assert engine.calibration.show() == whole.calibration.show()
        assert engine.status()["signals"] == whole.status()["signals"]
        assert engine.registry.get("/hidden", viewer=Viewer("ann")) is not None
        synced = engine.sync()  # its folders are still its folders, and no file is read again
        assert (synced.added, synced.changed, synced.removed, synced.unchanged) == (0, 0, 0, 13)
        engine.registry.register([{**PRIVATE, "path": "/new"}])
        (vault / "late.md").write_text("# Late\n\nA walrus.\n")
        assert engine.sync().added == 1
        (vault / "late.md").unlink()
        assert engine.search("walrus", mode="lexical").results
        assert not whole.search("walrus", mode="lexical").results


def test_an_index_is_replaced_only_on_demand_and_can_be_taken_back(
    whole: Engine, saved: Path, settings: Settings, tmp_path: Path
) -> None:
    (tmp_path / "walrus.md").write_text("# Walrus\n\nAlone.\n")
    place = cluster_address("replaced")
    with index_at(place, settings) as engine, Engine(place, settings) as server:
        engine.sync([tmp_path])
        engine.registry.register([{**SERVER, "path": "/own", "name": "own"}])
        assert server.search("walrus").results
        with pytest.raises(ConfigError, match="there is an index") as refused:
            restore(engine.index, settings, str(saved))
        assert "--replace" in refused.value.hint
        restore(engine.index, settings, str(saved), replace=True)
        assert answers(server) == answers(whole)
        assert {one["document"] for one in server.documents()} == {one["document"] for one in whole.documents()}
        roll_back(engine)
        assert server.search("walrus", mode="lexical").results
        assert "/own" not in {one["document"] for one in server.documents()}  # what is registered stays as it is


# ---------------------------------------------------------------- hostile and damaged files


def left_of(engine: Engine) -> tuple[list[str], list[str]]:
    """Schemas of generations and collections of an index."""
    index = engine.index
    assert isinstance(index, Postgres)
    sql = "SELECT nspname FROM pg_namespace WHERE starts_with(nspname, %s)"
    found = [name for (name,) in index.lasting.ask(sql, [f"wm_{index._o.name}__"])]
    return found, [name for name in index._o.qdrant.names() if name.startswith(f"wm-{index._o.name}-")]


def refused(file: Path, settings: Settings, reason: str = ".") -> None:
    with index_at(cluster_address("hostile"), settings) as engine:
        with pytest.raises((IndexDamaged, IndexMismatch), match=reason) as raised:
            restore(engine.index, settings, str(file))
        assert raised.value.hint
        assert not engine.index.exists()  # type: ignore[attr-defined] # of an index that can be made
        assert left_of(engine) == ([], [])


def test_a_damaged_backup_is_refused_and_nothing_is_left_of_it(saved: Path, settings: Settings, tmp_path: Path) -> None:
    content, file = saved.read_bytes(), tmp_path / "damaged.tar"
    for size in (100, len(content) // 2, content.rindex(b"checksums.json") + 600):
        file.write_bytes(content[:size])
        refused(file, settings)
    for what in (b"badger", b"PGCOPY", b"/clock"):
        flipped = bytearray(content)
        flipped[content.rindex(what)] ^= 1
        file.write_bytes(flipped)
        refused(file, settings)


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("leases/000000", b"x", "none of an index"),
        ("../facts/000000", b"x", "none of an index"),
        ("state/tokens.json", b"{}", "none of an index"),
        ("facts/000001", b"x", "refuses what is in the backup"),
        ("index.json", b'{"format": 99}', "has format 99"),
    ],
)
def test_parts_of_strangers_are_refused(
    name: str, content: bytes, reason: str, saved: Path, settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "hostile.tar"
    at = "index.json" if name == "index.json" else "facts/000000"
    with tarfile.open(saved) as archive, tarfile.open(file, "w") as forged:
        for one in archive:
            if one.name != name:
                forged.addfile(one, archive.extractfile(one))
            if one.name == at:
                info = tarfile.TarInfo(name)
                info.size = len(content)
                forged.addfile(info, io.BytesIO(content))
    refused(file, settings, reason)


def test_a_name_in_a_backup_does_not_lead_to_other_collections(
    whole: Engine, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    columns, where = backup.TABLES["stores"]
    forged = columns.replace("name", "'../' || name")
    with monkeypatch.context() as patch:
        patch.setitem(backup.TABLES, "stores", (forged, where))
        patch.setitem(backup.TABLES, "vectors", ("'../' || store, row, vector, born", ""))
        back_up(whole.index, settings, str(tmp_path / "b.tar"))
    refused(tmp_path / "b.tar", settings, "names a store")


# ---------------------------------------------------------------- while others write


def test_a_backup_is_one_commit_while_others_write(
    whole: Engine, vault: Path, settings: Settings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A writer commits between the parts, and waits for nobody."""
    monkeypatch.setattr(backup, "PART_BYTES", 500)
    before, versions, parts = answers(whole), [], []

    def write(step: dict[str, Any]) -> None:
        parts.append(step["part"])
        if step["part"] == "chunks/000001":  # what is read is dropped later
            recreate(whole)
            with pytest.raises(IndexBusy, match="is being read"):
                whole.index.forget_previous()  # type: ignore[attr-defined] # of an index with generations
        if step["part"] in ("facts/000000", "documents/000002"):
            for n in range(12):
                (vault / f"{n}.md").write_text(f"# Page {n}\n\nAnother otter {len(parts)}.\n")
            versions.append(whole.sync().changed)

    kept = {file: file.read_text() for file in vault.iterdir()}
    try:
        back_up(whole.index, settings, str(tmp_path / "b.tar"), write)
    finally:
        for file, text in kept.items():
            file.write_text(text)
        whole.sync()
    assert len(left_of(whole)[0]) == 1
    assert versions == [12, 12]
    assert {"documents/000003", "chunks/000002"} <= {*parts}
    with index_at(cluster_address("whole_state"), settings) as engine:
        restore(engine.index, settings, str(tmp_path / "b.tar"))
        assert [[one for one, _ in found] for found in answers(engine)] == [[one for one, _ in b] for b in before]
        assert [one for one in engine.doctor() if not one.ok] == []


@pytest.mark.kill
def test_a_restoration_that_is_killed_leaves_what_was_there(saved: Path, settings: Settings, tmp_path: Path) -> None:
    code = (
        "import sys, time\n"
        "from watersmeet import Engine\n"
        "from watersmeet.engine.backup.backup import restore\n"
        "def stop(step):\n"
        "    if step['part'].startswith('chunks'):\n"
        "        print('chunks', flush=True)\n"
        "        time.sleep(60)\n"
        "with Engine(sys.argv[1]) as engine:\n"
        "    restore(engine.index, engine.settings, sys.argv[2], replace=True, progress=stop)\n"
    )
    (tmp_path / "walrus.md").write_text("# Walrus\n\nAlone.\n")
    place = cluster_address("killed")
    with index_at(place, settings) as engine:
        engine.sync([tmp_path])
        environ = {**os.environ, **cluster_environment(), **ENVIRON}
        command = [sys.executable, "-c", code, place, str(saved)]
        with subprocess.Popen(command, env=environ, stdout=subprocess.PIPE, text=True) as killed:
            assert killed.stdout is not None
            assert killed.stdout.readline() == "chunks\n"
            assert len(left_of(engine)[0]) == 2
            killed.kill()
        assert engine.search("walrus", mode="lexical").results
        engine.sync(now=True)
        assert len(left_of(engine)[0]) == 1
        assert restore(engine.index, settings, str(saved), replace=True).documents > 10


# ---------------------------------------------------------------- the commands


def test_the_commands(
    whole: Engine, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {**cluster_environment(), **ENVIRON}.items():
        monkeypatch.setenv(name, value)
    file, documents = str(tmp_path / "b.tar"), whole.status()["documents"]
    assert run(["backup", file, "--index", cluster_address("backed_up"), "--json"]) == 0
    *steps, report = map(json.loads, capsys.readouterr().out.splitlines())
    assert ({step["part"] for step in steps} >= {"index.json", "chunks/000000"}, report["documents"]) == (
        True,
        documents,
    )
    place = cluster_address("by_command")
    with index_at(place, whole.settings) as engine:
        assert run(["restore", file, "--index", place]) == 0
        assert f"{documents} documents in postgresql://" in capsys.readouterr().out
        assert answers(engine) == answers(whole)
        assert run(["restore", file, "--index", place]) == 2
    assert run(["restore", file, "--index", str(tmp_path / "folder")]) == 2
    assert "--index postgresql://" in capsys.readouterr().err


def test_the_backup_of_a_folder_is_restored_into_the_cluster(whole: Engine, vault: Path, tmp_path: Path) -> None:
    with Engine(tmp_path / "index", whole.settings) as local:
        local.registry.register([SERVER, PRIVATE])
        local.sync([vault], collection="notes")
        local.calibration.judge([("otter", {"3.md": 1.0})])
        back_up(local.index, local.settings, str(tmp_path / "b.tar"))
        with index_at(cluster_address("from_folder"), whole.settings) as engine:
            restore(engine.index, engine.settings, str(tmp_path / "b.tar"))
            wanted, found = ([{one for one, _ in found} for found in answers(each)] for each in (local, engine))
            assert found[:: len(VIEWERS)] == wanted[:: len(VIEWERS)]
            assert len(engine.search("otter", viewer=Viewer("ann"), top_n=50).results) == len(
                local.search("otter", viewer=Viewer("ann"), top_n=50).results
            )
            assert engine.calibration.show() == local.calibration.show()
            with pytest.raises(ConfigError, match="there is an index"):
                restore(engine.index, engine.settings, str(tmp_path / "b.tar"))
