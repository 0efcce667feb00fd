"""An index says what its folders say, however they came to say it."""

from __future__ import annotations

import json
import os
import shutil
import time
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.errors import ConfigError, IndexBusy, IndexMismatch, SourceProblem
from watersmeet.core.model import Condition, Request
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync.report import SyncReport
from watersmeet.store.local._turns import writer_lock


def counts(report: SyncReport) -> dict[str, int]:
    names = ("added", "changed", "moved", "removed", "unchanged")
    return {name: getattr(report, name) for name in names if getattr(report, name)}


def rows(engine: Engine) -> dict[str, list[int]]:
    with engine.snapshot() as snapshot:
        found: dict[str, list[int]] = {}
        for name, row in snapshot.query("SELECT d.name, c.row FROM chunks c JOIN documents d ON d.id = c.document"):
            found.setdefault(name, []).append(row)
        return found


def best(engine: Engine, query: str) -> str:
    return engine.search(query).results[0].document


def test_first_sync_adds_everything(engine: Engine, vault: Path) -> None:
    report = engine.sync([vault])
    assert counts(report) == {"added": 4}
    assert report.documents == 4
    assert best(engine, "rotate keys") == "guides/keys.md"
    assert best(engine, "TRN-1042") == "guides/keys.md"


def test_unchanged_sync_touches_nothing(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    before = rows(engine)
    assert counts(engine.sync([vault])) == {"unchanged": 4}
    assert rows(engine) == before


def test_an_edit_replaces_only_what_it_changes(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    before = rows(engine)
    page = vault / "guides/setup.md"
    page.write_text(page.read_text("utf8").replace("port 7878", "port 9999") + "\nMore about ports. " * 40, "utf8")
    assert counts(engine.sync([vault])) == {"changed": 1, "unchanged": 3}
    after = rows(engine)
    assert {name for name in before if before[name] != after[name]} == {"guides/setup.md"}
    assert not engine.search("7878").results
    assert best(engine, "9999") == "guides/setup.md"


def test_an_edit_within_the_same_clock_tick_is_seen(engine: Engine, vault: Path) -> None:
    page = vault / "guides/keys.md"
    text = page.read_text("utf8")
    engine.sync([vault])
    stat = page.stat()
    page.write_text(text.replace("quarter", "morning"), "utf8")  # the same length
    os.utime(page, ns=(stat.st_atime_ns, stat.st_mtime_ns))
    assert counts(engine.sync([vault]))["changed"] == 1
    assert best(engine, "morning") == "guides/keys.md"


def test_a_touched_file_is_compared_by_content(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    os.utime(vault / "index.md", (time.time() + 100, time.time() + 100))
    assert counts(engine.sync([vault])) == {"unchanged": 4}


def test_a_moved_file_keeps_its_rows(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    before = rows(engine)["guides/keys.md"]
    (vault / "archive").mkdir()
    shutil.move(vault / "guides/keys.md", vault / "archive/keys.md")
    assert counts(engine.sync([vault])) == {"moved": 1, "unchanged": 3}
    assert rows(engine)["archive/keys.md"] == before
    assert best(engine, "TRN-1042") == "archive/keys.md"
    result = engine.search("TRN-1042").results[0]
    assert result.path == str(vault / "archive/keys.md")
    assert engine.get(result.id)["document"] == "archive/keys.md"


@pytest.mark.slow
def test_a_deleted_file_disappears_everywhere(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    (vault / "guides/keys.md").unlink()
    assert counts(engine.sync([vault])) == {"removed": 1, "unchanged": 3}
    assert not engine.search("TRN-1042").results
    engine.compact(grace=0)
    with engine.snapshot() as snapshot:
        assert engine.visible_index(snapshot, None).words.size == engine.status()["chunks"]


@pytest.mark.slow
def test_rows_are_never_used_again(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    used = {row for found in rows(engine).values() for row in found}
    (vault / "guides/keys.md").unlink()
    engine.sync([vault])
    engine.compact(grace=0)
    (vault / "new.md").write_text("# New\n\nSomething new.\n")
    engine.sync([vault])
    assert min(rows(engine)["new.md"]) > max(used)


def test_recreate_builds_anew(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    used = {row for found in rows(engine).values() for row in found}
    assert counts(engine.sync([vault], recreate=True)) == {"added": 4}
    assert not used & {row for found in rows(engine).values() for row in found}
    assert best(engine, "rotate keys") == "guides/keys.md"


def test_a_part_of_a_folder_can_be_synced(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    (vault / "index.md").unlink()
    (vault / "guides/setup.md").unlink()
    assert counts(engine.sync([vault / "guides"])) == {"removed": 1, "unchanged": 1}
    assert counts(engine.sync([vault / "guides/keys.md"])) == {"unchanged": 1}
    assert "index.md" in rows(engine)


def test_a_second_folder_has_its_name_in_front(engine: Engine, vault: Path, tmp_path: Path) -> None:
    engine.sync([vault])
    before = sorted(row for found in rows(engine).values() for row in found)
    other = tmp_path / "other"
    other.mkdir()
    (other / "index.md").write_text("# Elsewhere\n\nAnother home.\n")
    assert counts(engine.sync([other])) == {"added": 1}
    documents = {d["document"] for d in engine.documents()}
    assert documents == {"index.md", "guides/setup.md", "guides/keys.md", "notes/ideas.txt", "other/index.md"}
    assert counts(engine.sync([vault])) == {"unchanged": 4}
    assert set(before) < {row for found in rows(engine).values() for row in found}
    related = [r.document for r in engine.related("index.md").results]
    assert set(related) == {"guides/setup.md", "guides/keys.md"}
    result = engine.search("rotate keys").results[0]
    assert engine.get(result.id)["document"] == result.document == "guides/keys.md"


def test_two_folders_of_one_name(engine: Engine, tmp_path: Path) -> None:
    for parent in ("a", "b"):
        (tmp_path / parent / "docs").mkdir(parents=True)
        (tmp_path / parent / "docs" / "x.md").write_text(f"# X\n\nThe {parent} page.\n")
    engine.sync([tmp_path / "a/docs", tmp_path / "b/docs"])
    assert {d["document"] for d in engine.documents()} == {"x.md", "docs-2/x.md"}


def test_a_folder_that_holds_an_earlier_one(engine: Engine, vault: Path) -> None:
    engine.sync([vault / "guides"])
    assert {d["document"] for d in engine.documents()} == {"setup.md", "keys.md"}
    engine.sync([vault])
    names = {"setup.md", "keys.md", "vault/index.md", "vault/notes/ideas.txt"}
    assert {d["document"] for d in engine.documents()} == names


@pytest.mark.slow
def test_records(engine: Engine, tmp_path: Path) -> None:
    records = [{"_id": f"r{i}", "title": f"Record {i}", "text": f"alpha-{i:03}x beta"} for i in range(30)]
    path = tmp_path / "corpus.jsonl"
    path.write_text("\n".join(map(json.dumps, records)) + "\nnot json\n")
    report = engine.sync([path])
    assert counts(report) == {"added": 30}
    assert [s.reason for s in report.skipped]
    assert best(engine, "007x") == "r7"
    records[7]["text"] = "gamma"
    path.write_text("\n".join(map(json.dumps, records[:-1])))
    assert counts(engine.sync([path])) == {"changed": 1, "removed": 1, "unchanged": 28}
    assert engine.remove(["r3"]) == 1
    assert not engine.search("003x").results
    assert counts(engine.sync([path]))["added"] == 1


def test_the_same_id_twice_is_reported(engine: Engine, tmp_path: Path) -> None:
    path = tmp_path / "corpus.jsonl"
    path.write_text('{"_id": "a", "text": "one"}\n{"_id": "a", "text": "two"}\n')
    report = engine.sync([path])
    assert report.added == 1
    assert "already used" in report.skipped[0].reason
    other = tmp_path / "more.jsonl"
    other.write_text('{"_id": "a", "text": "three"}\n')
    reason = engine.sync([other]).skipped[0].reason
    assert "its id 'a' is taken" in reason
    assert str(path) in reason
    assert str(other) in reason
    assert engine.get("a")["text"] == "one"


def test_collections_and_their_metadata(engine: Engine, vault: Path, tmp_path: Path) -> None:
    engine.sync([vault], collection="handbook", meta={"sdk": "Python"})
    other = tmp_path / "other"
    other.mkdir()
    (other / "keys.md").write_text("# Keys\n\nRotate keys here too.\n")
    engine.sync([other], collection="elsewhere")
    assert engine.status()["collections"] == {"elsewhere": 1, "handbook": 4}
    for fields, expected in (
        ({"collection": ("elsewhere",)}, {"other/keys.md"}),
        ({"sdk": ("python",)}, {"guides/keys.md", "index.md"}),
        ({"sdk": ("rust",)}, set()),
    ):
        answer = engine.search(Request("rotate keys", condition=Condition(fields)))
        assert {r.document for r in answer.results} == expected


@pytest.mark.slow
def test_filters_hold_before_ranking(engine: Engine, write, tmp_path: Path) -> None:
    vault = write({f"many/{i}.md": f"# Page {i}\n\nkeys keys keys keys\n" for i in range(300)})
    write({"one/page.md": "---\ntags: [Rare]\nstatus: beta\n---\n# Rare\n\nLong text that mentions keys once.\n"})
    engine.sync([vault])
    for fields in ({"tag": ("rare",)}, {"path": ("one/**",)}, {"path": ("*/page.md",)}, {"status": ("beta",)}):
        answer = engine.search(Request("keys", top_n=3, condition=Condition(fields)))
        assert [r.document for r in answer.results] == ["one/page.md"], fields
    both = Condition({"tag": ("rare", "common"), "status": ("alpha",)})
    assert not engine.search(Request("keys", condition=both)).results


@pytest.mark.slow
def test_another_chunk_size_is_refused(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    with Engine(
        engine.folder,
        load(environ={"WATERSMEET__CHUNK__HEADINGS__MAX_CHARS": "500", "WATERSMEET__INDEX__VECTORS": "false"}),
    ) as other:
        with pytest.raises(IndexMismatch, match=r"max_chars was 1600 and is 500") as error:
            other.sync([vault])
        assert "--recreate" in error.value.hint
        other.sync([vault], recreate=True)
        assert other.search("rotate keys").results


@pytest.mark.slow
def test_two_writers_do_not_meet(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    impatient = Engine(engine.folder, load(environ={"WATERSMEET__WRITER__LOCK_SECONDS": "0.1"}))
    with writer_lock(engine.folder, 0), impatient, pytest.raises(IndexBusy, match=str(os.getpid())):
        impatient.sync([vault])
    with writer_lock(engine.folder, 0):
        assert engine.search("rotate keys").results


@pytest.mark.model
def test_a_damaged_catalogue_can_be_rebuilt(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    engine.close()
    for name in ("catalogue.db-wal", "catalogue.db-shm"):
        Path(engine.folder, name).unlink(missing_ok=True)
    Path(engine.folder, "catalogue.db").write_bytes(b"this is not a database" * 100)
    with Engine(engine.folder) as other:
        with pytest.raises(Exception, match="not a database"):
            other.search("keys")
        other.sync([vault], recreate=True)
        assert best(other, "rotate keys") == "guides/keys.md"


def test_wrong_places(engine: Engine, tmp_path: Path) -> None:
    with pytest.raises(SourceProblem, match="does not exist"):
        engine.sync([tmp_path / "nowhere"])
    with pytest.raises(ConfigError):
        engine.sync([])


@pytest.mark.slow
def test_a_place_counts_once_however_often_it_is_named(engine: Engine, vault: Path) -> None:
    places = [vault, f"{vault}/", vault / "guides" / "..", str(vault)]
    assert engine.sync(places).added == 4
    again = engine.sync(places)
    assert (again.unchanged, again.documents) == (4, 4)


def test_fts5_gives_the_same_answers(tmp_path: Path, vault: Path) -> None:
    with Engine(
        tmp_path / "fts", load(environ={"WATERSMEET__INDEX__TEXT": "fts5", "WATERSMEET__INDEX__VECTORS": "false"})
    ) as engine:
        engine.sync([vault])
        assert best(engine, "rotate keys") == "guides/keys.md"
        assert best(engine, "tell me about TRN-1042") == "guides/keys.md"
        assert engine.status()["signals"]["lexical"]["model"] == "BM25 (fts5)"


@pytest.mark.slow
def test_a_first_sync_leaves_the_words_in_one_piece(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    folder.mkdir()
    for number in range(40):
        (folder / f"{number}.md").write_text(f"# Page {number}\n\nA word{number} of its own.\n")
    small = {"WATERSMEET__WRITER__BATCH_CHUNKS": "9", "WATERSMEET__INDEX__VECTORS": "false"}
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=small)) as engine:
        engine.sync([folder])
        meta = json.loads((tmp_path / "index" / "text-1" / "meta.json").read_text())
        assert [segment["max_doc"] for segment in meta["segments"]] == [40]
        assert {best(engine, f"word{number}") for number in range(40)} == {f"{number}.md" for number in range(40)}
