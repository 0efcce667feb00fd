"""Sources of several kinds in one index: what is read, when, and what may be taken for gone."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from boxes import BOX, box, made
from watersmeet import Engine
from watersmeet.core.errors import SourceProblem
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync.report import SyncReport
from watersmeet.engine.sync.sources import Sources
from watersmeet.face.index_writes import SyncParams, sync
from watersmeet.face.service import Service
from watersmeet.store.local._turns import writer_lock

__all__ = ["box", "made"]  # fixtures


def listed(engine: Engine) -> set[str]:
    return {document["document"] for document in engine.documents()}


def counts(report: SyncReport) -> dict[str, int]:
    names = ("added", "changed", "moved", "removed", "unchanged")
    return {name: getattr(report, name) for name in names if getattr(report, name)}


def asked(engine: Engine, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(os.path.join(engine.folder, "catalogue.db"))) as db:
        return db.execute(sql).fetchall()


def text_of(engine: Engine, document: str) -> str:
    return str(engine.get(document)["text"])


class TestKindsMix:
    def test_a_folder_and_a_box(self, engine: Engine, vault: Path, box: Any) -> None:
        assert counts(engine.sync([vault, BOX])) == {"added": 6}
        assert {"index.md", "box/a", "box/b"} <= listed(engine)
        assert {r.document for r in engine.search("quagga rotate").results} == {"box/a", "guides/keys.md"}
        assert engine.search("quagga").results[0].path == f"{BOX}/a"
        assert asked(engine, "SELECT kind, name, prefix FROM roots ORDER BY id") == [
            ("folder", "vault", ""),
            ("made", "box", "box/"),
        ]

    def test_all_are_brought_up_to_date(self, engine: Engine, vault: Path, box: Any) -> None:
        engine.sync([vault, BOX])
        box.things["c"] = "# C\n\nabout a tern\n"
        (vault / "index.md").unlink()
        assert counts(engine.sync(now=True)) == {"added": 1, "removed": 1, "unchanged": 5}
        assert counts(engine.sync([BOX])) == {"unchanged": 3}

    @pytest.mark.slow
    def test_all_are_read_again(self, engine: Engine, vault: Path, box: Any) -> None:
        box.cursor = "1"
        engine.sync([vault, BOX])
        report = engine.sync(recreate=True)
        assert (counts(report), report.warnings) == ({"added": 6}, [])
        assert box.scans == [("", {}), ("", {})]
        assert box.reads == ["a", "b", "a", "b"]

    @pytest.mark.slow
    def test_one_is_let_go_of(self, engine: Engine, vault: Path, box: Any) -> None:
        engine.sync([vault, BOX])
        assert engine.remove([BOX]) == 2
        assert len(listed(engine)) == 4
        assert counts(engine.sync([BOX])) == {"added": 2}
        assert "box/a" in listed(engine)

    def test_nothing_is_said_to_be_missing(self, engine: Engine, vault: Path, box: Any) -> None:
        engine.sync([vault, BOX])
        (check,) = [check for check in engine.doctor() if check.name == "sources"]
        assert check.ok

    def test_one_that_is_not_installed_any_more(self, engine: Engine, vault: Path, box: Any) -> None:
        engine.sync([vault, BOX])
        with closing(sqlite3.connect(os.path.join(engine.folder, "catalogue.db"))) as db, db:
            db.execute("UPDATE roots SET kind = 'undone' WHERE kind = 'made'")
        report = engine.sync()
        assert (counts(report), [item.path for item in report.warnings]) == ({"unchanged": 6}, [BOX])
        assert "undone" in report.warnings[0].reason
        assert "box/a" in listed(engine)

    def test_its_settings(self, tmp_path: Path, box: Any) -> None:
        environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__SOURCE__MADE__SIGNATURE": "yours, Q"}
        with Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ)) as engine:
            engine.sync([BOX])
            assert text_of(engine, "a").endswith("yours, Q")

    def test_a_file_whose_name_looks_like_an_address(
        self, engine: Engine, tmp_path: Path, made: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "odd:name").mkdir()
        (tmp_path / "odd:name" / "x.md").write_text("# X\n\nquagga\n")
        monkeypatch.chdir(tmp_path)
        assert counts(engine.sync(["odd:name"])) == {"added": 1}

    @pytest.mark.slow
    def test_what_it_dates(self, engine: Engine, box: Any) -> None:
        engine.sync([BOX])
        assert {document["modified"][:10] for document in engine.documents()} == {"2020-02-02"}


class TestWhatIsGone:
    def test_nothing_is_after_a_scan_that_was_cut_short(self, engine: Engine, box: Any) -> None:
        engine.sync([BOX])
        box.things = {"c": "# C\n\nabout a tern\n", "d": "# D\n\nabout a gull\n"}
        box.most = 1
        report = engine.sync([BOX])
        assert counts(report) == {"added": 1}
        assert [item.path for item in report.warnings] == [BOX]
        assert "ended early" in report.warnings[0].reason
        assert listed(engine) == {"a", "b", "c"}
        box.most = None
        report = engine.sync([BOX])
        assert (counts(report), report.warnings) == ({"added": 1, "removed": 2, "unchanged": 1}, [])
        assert listed(engine) == {"c", "d"}

    @pytest.mark.slow
    @pytest.mark.parametrize("failure", [OSError("the line is dead"), SourceProblem("the line is dead")])
    def test_nor_after_one_that_failed(self, engine: Engine, box: Any, failure: Exception) -> None:
        engine.sync([BOX])
        box.things = {"c": "# C\n\nabout a tern\n"}
        box.failure = failure
        report = engine.sync([BOX])
        assert counts(report) == {"added": 1}
        assert "the line is dead" in report.warnings[0].reason
        assert listed(engine) == {"a", "b", "c"}

    def test_one_that_never_began_is_an_error(self, engine: Engine, vault: Path, box: Any) -> None:
        engine.sync([vault])
        box.things, box.failure = {}, OSError("no route to host")
        with pytest.raises(SourceProblem, match="no route to host"):
            engine.sync([BOX])
        assert asked(engine, "SELECT kind FROM roots") == [("folder",)]

    def test_what_is_said_to_be(self, engine: Engine, box: Any) -> None:
        engine.sync([BOX])
        box.things, box.gone, box.most = {"c": "x"}, ["a", "never there"], 0
        assert counts(engine.sync([BOX])) == {"removed": 1}
        assert listed(engine) == {"b"}

    def test_what_has_another_name_has_moved_only_if_the_old_one_is_gone(self, engine: Engine, box: Any) -> None:
        engine.sync([BOX])
        box.things = {"new": box.things["a"]}
        box.most = 1
        assert counts(engine.sync([BOX])) == {"added": 1}
        box.things = {"newer": box.things["new"]}
        box.most = None
        assert counts(engine.sync([BOX])) == {"moved": 1, "removed": 2}


class TestReadingBeforeTheLock:
    @pytest.mark.slow
    def test_the_index_is_free_meanwhile(self, engine: Engine, vault: Path, box: Any) -> None:
        engine.sync([vault])
        held: list[str] = []

        def try_lock() -> None:
            with writer_lock(engine.folder, 0):
                held.append(engine.folder)

        box.on_read = try_lock
        engine.sync([vault, BOX])
        assert len(held) == 2

    def test_only_what_changed_is_read(self, engine: Engine, box: Any) -> None:
        engine.sync([BOX])
        box.reads.clear()
        box.things["b"] = "# B\n\nabout a grebe\n"
        assert counts(engine.sync([BOX])) == {"changed": 1, "unchanged": 1}
        assert box.reads == ["b"]
        assert "grebe" in text_of(engine, "b")

    def test_what_changed_while_it_was_read_is_read_again(
        self, engine: Engine, box: Any, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A stamp that is not sure proves nothing of what was changed after the reading began."""
        monkeypatch.setattr("watersmeet.engine.sync.scan.TICK_NS", 0)
        box.sure = False
        box.on_read = lambda: setattr(box, "when", datetime.now(UTC))
        engine.sync([BOX])
        box.on_read = lambda: None
        box.reads.clear()
        assert counts(engine.sync([BOX])) == {"unchanged": 2}
        assert box.reads == ["a", "b"]

    def test_what_another_writer_reads_meanwhile_is_left_to_it(self, engine: Engine, box: Any) -> None:
        engine.sync([BOX])

        def another() -> None:
            box.on_read = lambda: None
            box.things |= {"a": "# A\n\nthe newest\n", "c": "# C\n\nabout a tern\n"}
            with Engine(engine.folder, engine.settings) as other:
                assert counts(other.sync([BOX])) == {"added": 1, "changed": 1, "unchanged": 1}

        box.things["a"] = "# A\n\nno longer the newest\n"
        box.on_read = another
        report = engine.sync([BOX])
        assert "changed" not in counts(report)
        assert "another process" in report.warnings[0].reason
        assert "the newest" in text_of(engine, "a")
        assert listed(engine) == {"a", "b", "c"}
        assert counts(engine.sync([BOX])) == {"unchanged": 3}

    def test_what_cannot_be_read_is_said_and_kept(self, engine: Engine, box: Any) -> None:
        engine.sync([BOX])
        box.things["a"] += "more"
        box.unreadable = ("a",)
        report = engine.sync([BOX])
        assert [(item.path, item.reason) for item in report.skipped] == [
            (f"{BOX}/a", "not today; the version indexed before is kept")
        ]
        assert listed(engine) == {"a", "b"}

    def test_nothing_is_left_behind(
        self, engine: Engine, box: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        spool = tmp_path / "spool"
        spool.mkdir()
        monkeypatch.setattr("tempfile.tempdir", str(spool))
        seen: list[int] = []
        box.on_read = lambda: seen.append(len(list(spool.iterdir())))
        engine.sync([BOX])
        assert seen == [1, 1]
        assert list(spool.iterdir()) == []


class TestRootsThatChangeMeanwhile:
    def test_one_that_was_removed_while_it_was_read_stays_removed(self, engine: Engine, box: Any) -> None:
        engine.sync([BOX])
        box.things["c"] = "# C\n\nabout an otter\n"
        box.on_read = lambda: (setattr(box, "on_read", lambda: None), engine.remove(BOX))
        report = engine.sync([BOX])
        assert "removed by another process" in report.warnings[-1].reason
        assert (report.documents, engine.status()["roots"]) == (0, [])
        assert engine.sync([BOX]).added == 3

    def test_nothing_is_made_for_an_address_that_cannot_be_read(self, engine: Engine, box: Any) -> None:
        box.things, box.failure = {}, SourceProblem("no answer", "try again later")
        with pytest.raises(SourceProblem, match="no answer"):
            engine.sync([BOX])
        assert not engine.index.exists()

    def test_a_refusal_of_a_caller_is_no_problem_of_the_root(self, engine: Engine, box: Any) -> None:
        engine.sync([BOX])
        box.failure = SourceProblem("not a public address", "")
        box.things = {}
        report = engine.sync(now=True, public_only=True)
        assert "not a public address" in report.warnings[0].reason
        assert engine.status()["sources"][0]["problem"] is None
        assert engine.sync(now=True).unchanged == 2  # kept
        assert "not a public address" in engine.status()["sources"][0]["problem"]
        box.failure, box.things = None, {"a": "# A\n"}
        engine.sync()  # one with a problem is not fresh
        assert engine.status()["sources"][0]["problem"] is None


class TestCursors:
    def test_it_is_kept_and_given_back(self, engine: Engine, box: Any) -> None:
        box.cursor = "tip 1"
        engine.sync([BOX])
        assert asked(engine, "SELECT cursor FROM roots") == [("tip 1",)]
        box.cursor = "tip 2"
        engine.sync([BOX])
        engine.sync([BOX])
        assert [cursor for cursor, _ in box.scans] == ["", "tip 1", "tip 2"]
        assert set(box.scans[1][1]) == {"a", "b"}

    def test_not_if_something_was_not_read(self, engine: Engine, box: Any) -> None:
        box.cursor = "tip 1"
        box.unreadable = ("b",)
        engine.sync([BOX])
        assert asked(engine, "SELECT cursor FROM roots") == [("",)]
        box.unreadable = ()
        assert counts(engine.sync([BOX])) == {"added": 1, "unchanged": 1}
        assert asked(engine, "SELECT cursor FROM roots") == [("tip 1",)]

    def test_not_if_it_was_cut_short(self, engine: Engine, box: Any) -> None:
        box.cursor = "tip 1"
        engine.sync([BOX])
        box.cursor, box.most = "tip 2", 1
        engine.sync([BOX])
        assert asked(engine, "SELECT cursor FROM roots") == [("tip 1",)]


def test_stamps_of_a_folder_are_those_of_earlier_versions(engine: Engine, write: Any) -> None:
    vault = write({"a.md": "# A\n\nx\n"})
    engine.sync([vault])
    status = (vault / "a.md").stat()
    stamp = f"{status.st_size} {status.st_mtime_ns} {status.st_ctime_ns} {status.st_ino}"
    assert asked(engine, "SELECT stamp FROM files") == [(stamp,)]


def test_whoever_is_not_at_the_machine_names_no_new_address(
    engine: Engine, vault: Path, box: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where the address, taken for a path, would lie in a folder of the index."""
    engine.sync([vault])
    monkeypatch.chdir(vault)
    service = Service(engine)
    with pytest.raises(SourceProblem, match="does not exist"):
        sync(service.engine, SyncParams((BOX,)), False, lambda _: None)
    assert box.scans == []
    engine.sync([BOX])
    assert (
        sync(
            service.engine,
            SyncParams(
                (
                    BOX,
                    "guides",
                )
            ),
            False,
            lambda _: None,
        )["unchanged"]
        == 4
    )
    service.close()


@pytest.mark.parametrize("address", ["ftp://x/", "file:///etc/passwd", "S3://bucket/x", "htps://example.org/"])
def test_an_address_that_no_source_reads_is_no_path(engine: Engine, address: str) -> None:
    with pytest.raises(SourceProblem, match=f"begin with {address.partition(':')[0]}://") as caught:
        engine.sync([address])
    for beginning in ("https:", "git+", "history+", "pypi:", "npm:", "./"):
        assert beginning in caught.value.hint


def test_a_path_may_look_like_an_address(engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "ftp:/x").mkdir(parents=True)
    (tmp_path / "ftp:/x/a.md").write_text("# A\n")
    monkeypatch.chdir(tmp_path)
    assert counts(engine.sync(["ftp://x"])) == {"added": 1}
    assert counts(engine.sync(["./ftp:/x"])) == {"unchanged": 1}


def test_the_case_of_a_scheme_does_not_matter(engine: Engine, box: Any) -> None:
    assert counts(engine.sync([BOX.replace("made:", "Made:")])) == {"added": 2}
    assert counts(engine.sync([BOX])) == {"unchanged": 2}
    sources = Sources(engine.settings)
    assert sources.locate("HTTPS://EXAMPLE.INVALID/")[1].uri == "https://example.invalid/"
    assert sources.locate("Git+HTTPS://example.invalid/x")[1].uri == "git+https://example.invalid/x"
