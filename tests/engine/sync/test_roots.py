"""Several folders in one index: read again together, let go of one by one, each with its own collection."""

from __future__ import annotations

import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from trees import put
from watersmeet import Engine
from watersmeet.core.errors import ConfigError, IndexProblem, NotFound, SourceProblem
from watersmeet.engine.index.writer import open_for_writing
from watersmeet.engine.settings.settings import load


@pytest.fixture
def a(tmp_path: Path) -> Path:
    return put(tmp_path / "a", x="about a quagga")


@pytest.fixture
def b(tmp_path: Path) -> Path:
    return put(tmp_path / "b", y="about a heron")


@pytest.fixture
def linking(tmp_path: Path) -> Iterator[Engine]:
    """Of someone who lets links lead out of a folder."""
    environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__SOURCE__FOLDER__OUTSIDE_LINKS": "true"}
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ)) as made:
        yield made


def listed(engine: Engine) -> set[str]:
    return {document["document"] for document in engine.documents()}


def found(engine: Engine, query: str, **filters: str) -> set[str]:
    return {result.document for result in engine.search(query, filters=filters).results}


class TestWithoutPaths:
    @pytest.mark.slow
    def test_everything_is_brought_up_to_date(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a, b])
        put(a, new="a tern")
        (b / "y.md").unlink()
        report = engine.sync()
        assert (report.added, report.removed, report.unchanged) == (1, 1, 1)
        assert listed(engine) == {"x.md", "new.md"}

    @pytest.mark.slow
    def test_what_is_gone_is_said_and_kept(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a, b])
        b.rename(b.parent / "elsewhere")
        report = engine.sync()
        assert (report.unchanged, [item.path for item in report.warnings]) == (1, [str(b)])
        assert f"watersmeet remove {b}" in report.warnings[0].reason
        assert listed(engine) == {"x.md", "b/y.md"}

    def test_an_index_that_knows_nothing_wants_a_path(self, engine: Engine) -> None:
        with pytest.raises(ConfigError, match="no path was given"):
            engine.sync()
        assert not Path(engine.folder).exists()

    def test_a_collection_is_given_to_something(self, engine: Engine, a: Path) -> None:
        engine.sync([a])
        with pytest.raises(ConfigError, match="no path was given"):
            engine.sync(collection="C")


class TestRecreate:
    @pytest.mark.slow
    @pytest.mark.parametrize("named", [True, False])
    def test_all_folders_stay_with_their_collections(self, engine: Engine, a: Path, b: Path, named: bool) -> None:
        engine.sync([a], collection="C", meta={"k": "v"})
        engine.sync([b])
        report = engine.sync([b] if named else [], recreate=True)
        assert report.added == 2
        assert listed(engine) == {"x.md", "b/y.md"}
        assert found(engine, "quagga heron", k="v") == {"x.md"}

    @pytest.mark.slow
    def test_a_part_of_a_folder_means_the_whole(self, engine: Engine, a: Path) -> None:
        sub = put(a / "sub", z="a tern")
        engine.sync([a])
        assert engine.sync([sub], recreate=True).added == 2

    @pytest.mark.slow
    def test_a_folder_that_comes_with_it_is_added(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a])
        assert engine.sync([b], recreate=True, collection="D").added == 2
        assert listed(engine) == {"x.md", "b/y.md"}

    def test_nothing_is_dropped_that_cannot_be_read_again(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a, b])
        away = b.rename(b.parent / "away")
        for named in ([], [a]):
            with pytest.raises(SourceProblem, match="b does not exist"):
                engine.sync(named, recreate=True)
        assert listed(engine) == {"x.md", "b/y.md"}
        a.rename(a.parent / "away too")
        assert len(engine.sync().warnings) == 2
        away.rename(b)
        engine.remove(str(a))
        assert engine.sync(recreate=True).added == 1

    def test_a_catalogue_that_is_lost_needs_the_folders_named(self, engine: Engine, a: Path) -> None:
        engine.sync([a])
        Path(engine.folder, "catalogue.db").write_bytes(b"no database" * 1000)
        engine.close()
        with Engine(engine.folder, engine.settings) as other:
            with pytest.raises(IndexProblem, match="the list of its folders cannot be read") as error:
                other.sync(recreate=True)
            assert "sync PATH... --recreate" in error.value.hint
            assert other.sync([a], recreate=True).added == 1

    def test_one_that_cannot_be_read_does_not_hold_up_the_others(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a, b])
        shutil.rmtree(a)
        os.mkfifo(a)
        put(b, new="a tern")
        report = engine.sync()
        assert (report.added, [item.path for item in report.warnings]) == (1, [str(a)])


class TestRemove:
    @pytest.mark.slow
    @pytest.mark.parametrize("name", ["b", "b/", "{path}"])
    def test_a_folder_is_let_go_of(self, engine: Engine, a: Path, b: Path, name: str) -> None:
        engine.sync([a, b])
        assert engine.remove([name.format(path=b)]) == 1
        assert listed(engine) == {"x.md"}
        assert engine.sync().to_json()["unchanged"] == 1
        assert engine.status()["roots"] == [str(a)]
        assert found(engine, "quagga") == {"x.md"}
        assert engine.get("x.md")["chunks"]

    def test_a_folder_that_is_gone_can_be_let_go_of(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a, b])
        shutil.rmtree(b)
        assert not all(check.ok for check in engine.doctor())
        engine.remove(str(b))
        assert all(check.ok for check in engine.doctor())
        engine.sync([a])
        assert listed(engine) == {"x.md"}

    def test_one_name_is_one_document(self, engine: Engine, a: Path) -> None:
        put(a, **{"1": "one", "2": "two", "12": "twelve"})
        engine.sync([a])
        assert engine.remove("12.md") == 1
        assert engine.remove(["1.md", "1.md"]) == 1
        assert listed(engine) == {"x.md", "2.md"}

    def test_what_there_is_not_is_said(self, engine: Engine, a: Path) -> None:
        engine.sync([a])
        with pytest.raises(NotFound, match="no document, folder or address called 'b'"):
            engine.remove(["b"])

    def test_nothing_is_meant_by_nothing(self, engine: Engine, a: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        engine.sync([a])
        monkeypatch.chdir(a)
        with pytest.raises(ConfigError, match="empty"):
            engine.remove("")
        assert listed(engine) == {"x.md"}

    def test_a_path_goes_before_a_name(self, engine: Engine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        other, here = put(tmp_path / "other" / "notes", x="a heron"), put(tmp_path / "notes", y="a tern")
        engine.sync([other])
        engine.sync([here])
        monkeypatch.chdir(tmp_path)
        engine.remove("notes/")
        assert engine.status()["roots"] == [str(other)]

    def test_a_name_that_another_has_is_left_to_it(self, engine: Engine, a: Path, b: Path) -> None:
        (a / "r.jsonl").write_text('{"_id": "x.md", "title": "t", "text": "about a pelican"}\n')
        engine.sync([b])
        engine.sync([a])
        assert engine.remove("b") == 1
        assert engine.status()["roots"] == [str(a)]
        assert {"x.md"} <= listed(engine)


class TestCollections:
    def test_nobody_else_is_in_it(self, engine: Engine, a: Path, b: Path, tmp_path: Path) -> None:
        engine.sync([a])
        engine.sync([put(tmp_path / "default", z="a tern")], meta={"team": "x"})
        assert found(engine, "quagga tern", team="x") == {"default/z.md"}
        engine.sync([b], collection="team")
        engine.sync([put(tmp_path / "y" / "team", t="a gull")], meta={"owner": "y"})
        assert found(engine, "gull heron", owner="y") == {"team/t.md"}

    @pytest.mark.slow
    def test_what_was_said_goes_with_the_folder(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a, b])
        engine.sync([b], meta={"old": "1"})
        engine.remove("b")
        engine.sync([b], meta={"new": "2"})
        assert found(engine, "heron", new="2") == {"b/y.md"}
        assert found(engine, "heron", old="1") == set()

    def test_what_is_said_of_one_folder_is_not_said_of_another(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a])
        engine.sync([b], meta={"lang": "py"})
        assert found(engine, "quagga heron", lang="py") == {"b/y.md"}
        engine.sync([a], meta={"lang": "js"})
        assert found(engine, "quagga heron", lang="py") == {"b/y.md"}
        assert found(engine, "quagga heron", lang="js") == {"x.md"}

    def test_metadata_leaves_a_folder_where_it_is(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a], collection="Py")
        engine.sync([b])
        engine.sync([a], meta={"sdk": "python"})
        assert engine.status()["collections"]["Py"] == 1
        assert found(engine, "quagga heron", sdk="python") == {"x.md"}

    def test_a_folder_with_a_collection_is_not_swallowed(self, engine: Engine, a: Path) -> None:
        sub = put(a / "sub", z="a tern")
        engine.sync([sub], collection="S", meta={"k": "v"})
        engine.sync([a], collection="All", meta={"k": "w"})
        assert found(engine, "tern quagga", k="v") == {"z.md"}
        assert found(engine, "tern quagga", k="w") == {"a/x.md"}
        assert engine.status()["collections"] == {"S": 1, "All": 1}


def ids(engine: Engine) -> dict[str, list[str]]:
    return {name: [passage.id for passage in engine.passages(name)] for name in sorted(listed(engine))}


class TestIds:
    """A document is called as it was when it came, whatever else comes and goes."""

    def test_a_second_folder_renames_nothing(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a])
        before = ids(engine)
        assert engine.sync([b]).added == 1
        assert listed(engine) == {"x.md", "b/y.md"}
        assert before.items() <= ids(engine).items()
        assert found(engine, "heron", path="b/*") == {"b/y.md"}
        assert engine.sync().unchanged == 2

    def test_letting_go_of_a_folder_renames_nothing(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a, b])
        before = ids(engine)
        engine.remove("a")
        assert ids(engine) == {"b/y.md": before["b/y.md"]}
        put(b, new="a tern")
        engine.sync()
        assert listed(engine) == {"b/y.md", "b/new.md"}

    @pytest.mark.slow
    def test_an_id_never_means_another_document(self, engine: Engine, a: Path, b: Path, tmp_path: Path) -> None:
        """Neither a folder without prefix nor one of the same name takes the place of one that was let go of."""
        engine.sync([a, b])
        engine.remove("a")
        engine.sync([put(tmp_path / "c", x="about a stork")])
        assert listed(engine) == {"b/y.md", "c/x.md"}
        engine.remove("b")
        engine.sync([put(tmp_path / "elsewhere" / "b", y="about an egret")])
        assert listed(engine) == {"b-2/y.md", "c/x.md"}

    @pytest.mark.slow
    def test_nor_does_what_its_ids_began_with(self, engine: Engine, a: Path, b: Path, tmp_path: Path) -> None:
        put(a / "c", x="about a wren")
        (a / "r.jsonl").write_text('{"_id": "d", "title": "t", "text": "about a pelican"}\n')
        engine.sync([a, b])
        before = ids(engine)
        engine.remove("a")
        engine.sync([put(tmp_path / "other" / "c", x="about a stork"), put(tmp_path / "other" / "d", x="a crane")])
        assert listed(engine) == {"b/y.md", "c-2/x.md", "d-2/x.md"}
        engine.sync([a])
        assert before.items() <= ids(engine).items()

    @pytest.mark.slow
    def test_a_folder_that_another_took_the_place_of_keeps_its_name(
        self, engine: Engine, a: Path, b: Path, tmp_path: Path
    ) -> None:
        q = put(tmp_path / "q", y="about a crane")
        engine.sync([a, b, q])
        engine.remove("b")
        shutil.rmtree(b)
        q.rename(b)
        engine.relocate(q, b)
        engine.sync([put(tmp_path / "elsewhere" / "b", y="about an egret")])
        assert listed(engine) == {"x.md", "q/y.md", "b-2/y.md"}
        engine.remove("q")
        engine.sync([put(tmp_path / "farther" / "b", y="about an owl")])
        assert listed(engine) == {"x.md", "b-2/y.md", "b-3/y.md"}

    def test_a_folder_that_comes_back_has_the_ids_that_it_had(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a, b])
        before = ids(engine)
        engine.remove("a")
        engine.sync([a])
        engine.remove("b")
        engine.sync([b])
        assert ids(engine) == before

    def test_an_index_without_folders_begins_anew(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a])
        engine.remove("a")
        engine.sync([b])
        assert listed(engine) == {"y.md"}

    def test_a_prefix_is_no_folder_of_the_first(self, engine: Engine, a: Path, b: Path, tmp_path: Path) -> None:
        put(a / "b", y="about a wren")
        (a / "empty").mkdir()
        (a / "r.jsonl").write_text('{"_id": "c", "title": "t", "text": "about a pelican"}\n')
        engine.sync([a])
        engine.sync([b, put(tmp_path / "empty", z="a tern"), put(tmp_path / "c", z="a gull")])
        assert listed(engine) == {"x.md", "b/y.md", "c", "b-2/y.md", "empty-2/z.md", "c-2/z.md"}

    def test_links_lead_where_they_led(self, engine: Engine, a: Path, b: Path) -> None:
        put(a, from_here="See [x](x.md) and [[y]].")
        put(b, there="See [y](y.md) and [[x]].")
        engine.sync([a])
        engine.sync([b])
        for linking, linked in (("from_here.md", {"x.md", "b/y.md"}), ("b/there.md", {"x.md", "b/y.md"})):
            assert {result.document for result in engine.related(linking).results} == linked

    def test_a_catalogue_that_is_damaged_is_made_again_with_the_same_ids(
        self, engine: Engine, a: Path, b: Path, tmp_path: Path
    ) -> None:
        engine.sync([a, b])
        engine.remove("a")
        before = ids(engine)
        with closing(sqlite3.connect(Path(engine.folder, "catalogue.db"))) as db, db:
            db.execute("UPDATE chunks SET text = 'something else'")
        engine.sync([put(tmp_path / "c", z="a tern")], recreate=True)
        assert ids(engine) == {**before, "c/z.md": ids(engine)["c/z.md"]}

    @pytest.mark.slow
    def test_and_so_are_those_of_folders_that_were_let_go_of(
        self, engine: Engine, a: Path, b: Path, tmp_path: Path
    ) -> None:
        put(a / "c", x="about a wren")
        engine.sync([a, b])
        before = ids(engine)
        engine.remove("a")
        with closing(sqlite3.connect(Path(engine.folder, "catalogue.db"))) as db, db:
            db.execute("UPDATE chunks SET text = 'something else'")
        engine.sync(recreate=True)
        engine.sync([put(tmp_path / "other" / "c", x="about a stork")])
        engine.sync([a])
        assert ids(engine) == {**before, "c-2/x.md": ids(engine)["c-2/x.md"]}


class TestMeanwhile:
    """Another writer changes the folders of an index while a sync waits for it."""

    @pytest.mark.slow
    @pytest.mark.parametrize("recreate", [True, False])
    def test_the_folders_are_those_of_its_turn(self, engine: Engine, a: Path, b: Path, recreate: bool) -> None:
        engine.sync([a, b])
        moved = b.parent / "moved"
        shutil.copytree(b, moved)
        waiting = threading.Thread(target=lambda: engine.sync(recreate=recreate))
        with open_for_writing(engine.index, engine.settings) as index:
            waiting.start()
            time.sleep(0.5)
            root = next(root for root in index.catalogue.roots() if root.path == str(b))
            index.catalogue.relocate([(root, str(moved))])
        waiting.join()
        assert engine.status()["roots"] == [str(a), str(moved)]
        assert listed(engine) == {"x.md", "b/y.md"}


class TestCollision:
    """Two files that would have one id: the first keeps it."""

    def test_a_file_of_the_first_folder(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a, b])
        before = ids(engine)
        put(a / "b", y="about a wren", other="about a robin")
        report = engine.sync()
        assert report.added == 1
        assert [item.path for item in report.skipped] == [str(a / "b" / "y.md")]
        assert all(part in report.skipped[0].reason for part in ("'b/y.md'", str(a), str(b)))
        assert before.items() <= ids(engine).items()
        assert found(engine, "wren") == set()
        assert listed(engine) == {"x.md", "b/y.md", "b/other.md"}

    def test_a_file_of_a_later_folder(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a, b])
        put(a / "b", new="about a wren")
        engine.sync([a])
        put(b, new="about a robin")
        report = engine.sync()
        assert [item.path for item in report.skipped] == [str(b / "new.md")]
        assert all(part in report.skipped[0].reason for part in ("'b/new.md'", str(a), str(b)))
        assert (found(engine, "wren"), found(engine, "robin")) == ({"b/new.md"}, set())

    def test_it_is_indexed_once_the_other_is_gone(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a, b])
        put(a / "b", y="about a wren")
        engine.sync()
        (b / "y.md").unlink()
        engine.sync([b])
        report = engine.sync()
        assert (report.added, report.skipped) == (1, [])
        assert found(engine, "wren") == {"b/y.md"}


class TestOneInAnother:
    def test_a_folder_around_another_leaves_it_alone(self, engine: Engine, a: Path) -> None:
        sub = put(a / "sub", z="a tern")
        engine.sync([sub])
        before = ids(engine)
        report = engine.sync([a])
        assert (report.added, [item.path for item in report.warnings]) == (1, [str(sub)])
        assert listed(engine) == {"z.md", "a/x.md"}
        assert before.items() <= ids(engine).items()
        put(sub, new="a gull")
        report = engine.sync()
        assert (report.added, report.warnings) == (1, [])
        assert listed(engine) == {"z.md", "new.md", "a/x.md"}

    def test_a_part_of_it_is_a_part_of_the_inner_one(self, engine: Engine, a: Path) -> None:
        put(a / "sub" / "deep", z="a tern")
        engine.sync([a / "sub"])
        engine.sync([a])
        put(a / "sub" / "deep", new="a gull")
        assert engine.sync([a / "sub" / "deep"]).added == 1
        assert listed(engine) == {"deep/z.md", "deep/new.md", "a/x.md"}

    def test_a_file_of_it_stays_its_own(self, engine: Engine, a: Path) -> None:
        engine.sync([a / "x.md"])
        put(a, y="a tern")
        engine.sync([a])
        assert listed(engine) == {"x.md", "a/y.md"}

    def test_once_it_is_let_go_of_it_is_a_part_of_the_other(self, engine: Engine, a: Path) -> None:
        engine.sync([put(a / "sub", z="a tern")])
        engine.sync([a])
        engine.remove(str(a / "sub"))
        engine.sync()
        assert listed(engine) == {"a/x.md", "a/sub/z.md"}

    @pytest.mark.slow
    @pytest.mark.parametrize("synced", [True, False])
    def test_one_that_comes_back_has_the_ids_that_it_had(self, engine: Engine, a: Path, synced: bool) -> None:
        """Whether or not it was a part of the other meanwhile."""
        sub = put(a / "sub", z="a tern")
        engine.sync([sub])
        engine.sync([a])
        before = ids(engine)
        engine.remove(str(sub))
        if synced:
            engine.sync()
        engine.sync([sub])
        assert ids(engine) == before
        assert engine.status()["roots"] == [str(a), str(sub)]
        assert engine.sync().unchanged == 2

    @pytest.mark.slow
    def test_one_that_comes_back_where_the_ids_are_the_same(self, engine: Engine, a: Path, tmp_path: Path) -> None:
        team = put(tmp_path / "team", t="a tern")
        engine.sync([a])
        engine.sync([team])
        engine.relocate(team, team.rename(a / "team"))
        engine.remove("team")
        engine.sync()
        assert listed(engine) == {"x.md", "team/t.md"}
        report = engine.sync([a / "team"])
        assert (listed(engine), report.skipped) == ({"x.md", "team/t.md"}, [])
        assert engine.sync().unchanged == 2

    def test_a_damaged_catalogue_has_them_apart_again(self, engine: Engine, a: Path, tmp_path: Path) -> None:
        team = put(tmp_path / "team", t="a tern")
        engine.sync([a])
        engine.sync([team])
        engine.relocate(team, team.rename(a / "crew"))
        before = ids(engine)
        with closing(sqlite3.connect(Path(engine.folder, "catalogue.db"))) as db, db:
            db.execute("UPDATE chunks SET text = 'something else'")
        engine.sync(recreate=True)
        assert ids(engine) == before

    def test_a_folder_in_another_is_a_part_of_it(self, engine: Engine, a: Path) -> None:
        sub = put(a / "sub", z="a tern")
        engine.sync([a])
        put(sub, new="a gull")
        put(a, too="a heron")
        assert engine.sync([sub]).added == 1
        assert listed(engine) == {"x.md", "sub/z.md", "sub/new.md"}
        assert engine.status()["roots"] == [str(a)]

    def test_what_cannot_be_read_is_said_once(self, engine: Engine, a: Path) -> None:
        sub = put(a / "sub", z="a tern")
        (sub / "odd.md").symlink_to("nowhere")
        engine.sync([sub])
        engine.sync([a])
        assert [item.path for item in engine.sync().skipped] == [str(sub / "odd.md")]


class TestGone:
    """What lay behind something odd, and is gone, goes."""

    def test_in_a_folder_named_like_a_file(self, engine: Engine, a: Path) -> None:
        put(a / "notes.md", inside="a tern")
        engine.sync([a])
        assert "notes.md/inside.md" in listed(engine)
        (a / "notes.md" / "inside.md").unlink()
        assert engine.sync([a]).removed == 1
        assert listed(engine) == {"x.md"}

    def test_behind_a_link_to_what_is_read_already(self, linking: Engine, a: Path, tmp_path: Path) -> None:
        engine = linking
        outside = put(tmp_path / "outside", z="a tern")
        (a / "link").symlink_to(outside)
        engine.sync([a])
        assert "link/z.md" in listed(engine)
        outside.rename(a / "within")
        (a / "link").unlink()
        (a / "link").symlink_to("within")
        assert engine.sync([a]).moved == 1
        assert listed(engine) == {"x.md", "within/z.md"}

    def test_behind_a_link_that_leads_nowhere_it_may_come_back(self, linking: Engine, a: Path, tmp_path: Path) -> None:
        engine = linking
        outside = put(tmp_path / "outside", z="a tern")
        (a / "link").symlink_to(outside)
        engine.sync([a])
        outside.rename(tmp_path / "unmounted")
        assert engine.sync([a]).removed == 0
        assert "link/z.md" in listed(engine)

    @pytest.mark.slow
    @pytest.mark.parametrize(("giver", "taker"), [("z", "a"), ("a", "z")])
    def test_a_record_that_moves_to_another_file(self, engine: Engine, a: Path, giver: str, taker: str) -> None:
        record = '{"_id": "%s", "title": "t", "text": "about a pelican %s"}\n'
        (a / f"{taker}.jsonl").write_text(record % ("1", "1"))
        (a / f"{giver}.jsonl").write_text(record % ("2", "2"))
        engine.sync([a])
        (a / f"{taker}.jsonl").write_text(record % ("1", "1") + record % ("2", "2"))
        (a / f"{giver}.jsonl").write_text(record % ("3", "3"))
        report = engine.sync([a])
        assert (report.unchanged, report.skipped) == (2, [])
        assert listed(engine) == {"x.md", "1", "2", "3"}
        assert found(engine, "pelican") == {"1", "2", "3"}

    def test_a_record_that_another_file_has_too(self, engine: Engine, a: Path) -> None:
        record = '{"_id": "%s", "title": "t", "text": "about a pelican"}\n'
        (a / "one.jsonl").write_text(record % "1" + record % "2")
        (a / "two.jsonl").write_text(record % "2")
        engine.sync([a])
        (a / "one.jsonl").write_text(record % "1")
        report = engine.sync([a])
        assert (report.removed, report.added) == (1, 1)
        assert listed(engine) == {"x.md", "1", "2"}
        assert found(engine, "pelican") == {"1", "2"}
