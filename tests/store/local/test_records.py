"""Registry records as a table of the catalogue."""

from __future__ import annotations

import json
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from watersmeet import Engine
from watersmeet.core.entities import ORIGIN, Entity, Tool
from watersmeet.core.errors import IndexDamaged, VersionConflict
from watersmeet.core.registry_records import RecordChange
from watersmeet.core.writing import Changes, Put
from watersmeet.engine.settings.settings import load
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.records import LocalRecords
from watersmeet.testing.contracts.records import RecordsContract, changes, record

COUNT = """
import sys
from watersmeet.core.errors import VersionConflict
from watersmeet.store.local._turns import writer_lock
from watersmeet.store.local.catalogue import Catalogue
from watersmeet.store.local.records import LocalRecords

folder, times = sys.argv[1], int(sys.argv[2])
with writer_lock(folder, 60):
    catalogue = Catalogue(folder)
records, conflicts = LocalRecords(catalogue), 0
for _ in range(times):
    while True:
        found = records.get("/a")  # without the lock: another writer may be first
        said = {"path": "/a", "n": (found.record["n"] if found else 0) + 1}
        try:
            with writer_lock(folder, 60):
                records.put(said, found.version if found else None)
            break
        except VersionConflict:
            conflicts += 1
catalogue.close()
print(conflicts)
"""
TIDES = Entity("mcp_server", "/tides", "Tides", "When the sea comes", tools=(Tool("next", "The next tide"),))
PDF = Entity("skill", "/pdf", "PDF", "Fill forms")


@pytest.fixture
def catalogue(tmp_path: Path) -> Iterator[Catalogue]:
    with closing(Catalogue(str(tmp_path / "index"))) as made:
        yield made


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    settings = load(start=str(tmp_path), environ={"WATERSMEET__INDEX__VECTORS": "false"})
    with Engine(tmp_path / "index", settings) as made:
        yield made


def kept(engine: Engine) -> dict[str, Any]:
    with closing(Catalogue(engine.folder)) as catalogue:
        return {found.record["path"]: found for found in LocalRecords(catalogue)}


class TestLocalRecords(RecordsContract):
    @pytest.fixture
    def records(self, catalogue: Catalogue) -> LocalRecords:
        return LocalRecords(catalogue)

    def test_another_process_sees_them(self, records: LocalRecords, catalogue: Catalogue) -> None:
        version = records.put(record("/a"), None)
        with closing(Catalogue(catalogue.folder)) as other:
            found = LocalRecords(other).get("/a")
            assert found is not None
            assert found.version == version
            later = LocalRecords(other).put(record("/a", n=2), version)
        with pytest.raises(VersionConflict):
            records.put(record("/a", n=3), version)
        records.delete("/a", later)


class TestStaged:
    def test_nothing_is_seen_before_it_is_committed(self, catalogue: Catalogue) -> None:
        staged = Changes()
        records = LocalRecords(catalogue, staged.records.append)
        first, second = records.put(record("/a"), None), records.put(record("/b"), None)
        assert first < second
        assert (records.get("/a"), changes(records)) == (None, ({}, ""))
        catalogue.apply(staged)
        assert [found.version for found in records] == [first, second]

    def test_of_a_commit_with_a_conflict_nothing_is_seen(self, catalogue: Catalogue) -> None:
        staged = Changes()
        records = LocalRecords(catalogue, staged.records.append)
        records.put(record("/a"), None)
        records.put(record("/b"), None)
        version = LocalRecords(catalogue).put(record("/b", n=1), None)
        with pytest.raises(VersionConflict):
            catalogue.apply(staged)
        assert [(found.record["path"], found.version) for found in records] == [("/b", version)]

    def test_a_version_that_followers_have_passed_is_refused(self, catalogue: Catalogue) -> None:
        """Else a reader with a later cursor would miss it."""
        staged = Changes()
        LocalRecords(catalogue, staged.records.append).put(record("/a"), None)
        late = staged.records[0].version
        catalogue.apply(Changes(records=[RecordChange("/b", record("/b"), None, late + 10)]))
        with pytest.raises(VersionConflict):
            catalogue.apply(staged)


@pytest.mark.slow
def test_many_writers_lose_nothing(tmp_path: Path) -> None:
    folder = str(tmp_path / "index")
    Catalogue(folder).close()
    command = [sys.executable, "-c", COUNT, folder, "15"]
    running = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(4)]
    assert [one.communicate(timeout=240)[0].strip().isdigit() and one.returncode for one in running] == [0] * 4
    with closing(Catalogue(folder)) as catalogue:
        found = LocalRecords(catalogue).get("/a")
    assert found is not None
    assert found.record["n"] == 60


class TestInAnIndex:
    def test_a_record_changes_with_its_documents(self, engine: Engine) -> None:
        engine.registry.put(TIDES, PDF)
        before = kept(engine)
        stored = {path: dict(found.record) for path, found in before.items()}
        assert all(record.pop(ORIGIN)["at"] for record in stored.values())
        assert stored == {path: engine.registry.get(path) for path in ("/tides", "/pdf")}
        engine.registry.put(TIDES, PDF)
        assert kept(engine) == before  # what says the same is not another version
        engine.registry.disable("/tides")
        after = kept(engine)
        assert after["/tides"].version > before["/tides"].version
        assert after["/tides"].record["enabled"] is False
        assert after["/pdf"] == before["/pdf"]

    @pytest.mark.slow
    @pytest.mark.parametrize("remove", ["unregister", "remove"])
    def test_it_goes_with_them(self, engine: Engine, remove: str) -> None:
        engine.registry.put(TIDES, PDF)
        (engine.registry.unregister if remove == "unregister" else engine.remove)("/tides")
        assert set(kept(engine)) == {"/pdf"}
        with closing(Catalogue(engine.folder)) as catalogue:
            assert changes(LocalRecords(catalogue))[0] == {"/pdf": False, "/tides": True}
        assert [one["document"] for one in engine.documents()] == ["/pdf"]
        assert engine.registry.put(TIDES).registered == 1

    def test_two_spellings_are_one(self, engine: Engine) -> None:
        engine.registry.put(TIDES)
        assert engine.registry.disable(["/tides", "/Tides/"]) == 1
        assert engine.registry.unregister(["/tides", "/TIDES"]) == 1

    def test_versions_stay_when_the_index_begins_anew(self, engine: Engine, vault: Path) -> None:
        engine.sync([vault])
        engine.registry.put(TIDES, PDF)
        engine.registry.set_status("/pdf", "beta")
        before = kept(engine)
        engine.sync([vault], recreate=True)
        assert kept(engine) == before
        assert engine.registry.get("/pdf")["status"] == "beta"

    def test_whoever_was_overtaken_commits_neither_record_nor_documents(
        self, engine: Engine, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        engine.registry.put(PDF)
        real = Catalogue.apply

        def overtaken(catalogue: Catalogue, staged: Changes, *placed: Any) -> list[Put]:
            monkeypatch.setattr(Catalogue, "apply", real)
            found = LocalRecords(catalogue).get("/pdf")
            assert found is not None
            LocalRecords(catalogue).put({**found.record, "description": "theirs"}, found.version)
            return real(catalogue, staged, *placed)

        monkeypatch.setattr(Catalogue, "apply", overtaken)
        with pytest.raises(VersionConflict, match="/pdf") as problem:
            engine.registry.disable("/pdf")
        assert problem.value.hint
        assert kept(engine)["/pdf"].record["description"] == "theirs"
        assert engine.registry.get("/pdf")["enabled"] is True


class TestDamage:
    @pytest.fixture
    def damaged(self, engine: Engine) -> Engine:
        engine.registry.put(TIDES, PDF)
        self.spoil(engine, "UPDATE records SET record = replace(record, 'sea', 'tea') WHERE path = '/tides'")
        return engine

    def spoil(self, engine: Engine, sql: str) -> None:
        with closing(sqlite3.connect(Path(engine.folder, "catalogue.db"))) as db, db:
            assert db.execute(sql).rowcount == 1

    def test_it_is_not_taken_for_a_record(self, damaged: Engine) -> None:
        with pytest.raises(IndexDamaged, match="/tides") as problem:
            damaged.registry.disable("/tides")
        assert "doctor" in problem.value.hint

    def test_it_comes_back_from_its_documents(self, damaged: Engine) -> None:
        (ill,) = [check for check in damaged.doctor() if not check.ok]
        assert "/tides: its record" in ill.detail
        damaged.compact()  # whoever writes next
        assert all(check.ok for check in damaged.doctor())
        assert kept(damaged)["/tides"].record["description"] == "When the sea comes"
        assert damaged.registry.disable("/tides") == 1

    def test_documents_come_back_from_it(self, engine: Engine) -> None:
        """Also where the document does not say any more whose it was."""
        engine.registry.put(TIDES, PDF)
        self.spoil(engine, "UPDATE documents SET fields = replace(fields, 'sea', 'tea') WHERE name = '/tides'")
        self.spoil(engine, "UPDATE documents SET fields = '{}' WHERE name = '/tides#next'")
        assert not all(check.ok for check in engine.doctor())
        engine.compact()
        assert all(check.ok for check in engine.doctor())
        assert engine.registry.get("/tides")["description"] == "When the sea comes"
        assert engine.registry.get("/tides#next")["description"] == "The next tide"

    def test_what_is_damaged_in_both_places_has_to_be_registered_again(self, damaged: Engine) -> None:
        self.spoil(damaged, "UPDATE documents SET fields = '{}' WHERE name = '/tides'")
        damaged.doctor()
        damaged.compact()  # whoever writes next
        assert set(kept(damaged)) == {"/pdf"}
        assert damaged.registry.put(TIDES).registered == 1
        assert all(check.ok for check in damaged.doctor())

    def test_beginning_anew_keeps_what_either_says(self, damaged: Engine, vault: Path) -> None:
        self.spoil(damaged, "UPDATE documents SET fields = '{}' WHERE name = '/pdf'")
        before = kept_version(damaged, "/pdf")
        damaged.sync([vault], recreate=True)
        assert {path: found.record["description"] for path, found in kept(damaged).items()} == {
            "/pdf": "Fill forms",
            "/tides": "When the sea comes",
        }
        assert kept_version(damaged, "/pdf") > before  # followers receive it once more


def kept_version(engine: Engine, path: str) -> int:
    with closing(sqlite3.connect(Path(engine.folder, "catalogue.db"))) as db:
        return int(db.execute("SELECT version FROM records WHERE path = ?", (path,)).fetchone()[0])


def test_an_index_of_before_has_its_records_after_the_first_write(engine: Engine) -> None:
    engine.registry.put(TIDES, PDF)
    engine.registry.set_status("/pdf", "beta")
    before = kept(engine)
    with closing(sqlite3.connect(Path(engine.folder, "catalogue.db"))) as db, db:
        db.execute("DELETE FROM records")
        from watersmeet.store.local._records import adopt

        adopt(db)
    after = kept(engine)
    assert {path: found.record for path, found in after.items()} == {p: found.record for p, found in before.items()}
    assert json.dumps(after["/pdf"].record["@source"]) == json.dumps({"status": "active", "enabled": True})
