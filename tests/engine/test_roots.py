"""Several folders in one index: read again together, let go of one by one, each with its own collection."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.errors import ConfigError, IndexProblem, NotFound, SourceProblem


def put(folder: Path, **pages: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in pages.items():
        (folder / f"{name}.md").write_text(f"# {name}\n\n{text}\n")
    return folder


@pytest.fixture
def a(tmp_path: Path) -> Path:
    return put(tmp_path / "a", x="about a quagga")


@pytest.fixture
def b(tmp_path: Path) -> Path:
    return put(tmp_path / "b", y="about a heron")


def listed(engine: Engine) -> set[str]:
    return {document["document"] for document in engine.documents()}


def found(engine: Engine, query: str, **filters: str) -> set[str]:
    return {result.document for result in engine.search(query, filters=filters).results}


class TestWithoutPaths:
    def test_everything_is_brought_up_to_date(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a, b])
        put(a, new="a tern")
        (b / "y.md").unlink()
        report = engine.sync()
        assert (report.added, report.removed, report.unchanged) == (1, 1, 1)
        assert listed(engine) == {"a/x.md", "a/new.md"}

    def test_what_is_gone_is_said_and_kept(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a, b])
        b.rename(b.parent / "elsewhere")
        report = engine.sync()
        assert (report.unchanged, [item.path for item in report.warnings]) == (1, [str(b)])
        assert f"watersmeet remove {b}" in report.warnings[0].reason
        assert listed(engine) == {"a/x.md", "b/y.md"}

    def test_an_index_that_knows_nothing_wants_a_path(self, engine: Engine) -> None:
        with pytest.raises(ConfigError, match="no path was named"):
            engine.sync()
        assert not Path(engine.folder).exists()

    def test_a_collection_is_given_to_something(self, engine: Engine, a: Path) -> None:
        engine.sync([a])
        with pytest.raises(ConfigError, match="no path was named"):
            engine.sync(collection="C")


class TestRecreate:
    @pytest.mark.parametrize("named", [True, False])
    def test_all_folders_stay_with_their_collections(self, engine: Engine, a: Path, b: Path, named: bool) -> None:
        engine.sync([a], collection="C", meta={"k": "v"})
        engine.sync([b])
        report = engine.sync([b] if named else [], recreate=True)
        assert report.added == 2
        assert listed(engine) == {"a/x.md", "b/y.md"}
        assert found(engine, "quagga heron", k="v") == {"a/x.md"}

    def test_a_part_of_a_folder_means_the_whole(self, engine: Engine, a: Path) -> None:
        sub = put(a / "sub", z="a tern")
        engine.sync([a])
        assert engine.sync([sub], recreate=True).added == 2

    def test_a_folder_that_comes_with_it_is_added(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a])
        assert engine.sync([b], recreate=True, collection="D").added == 2
        assert listed(engine) == {"a/x.md", "b/y.md"}

    def test_nothing_is_dropped_that_cannot_be_read_again(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a, b])
        away = b.rename(b.parent / "away")
        for named in ([], [a]):
            with pytest.raises(SourceProblem, match="b is gone"):
                engine.sync(named, recreate=True)
        assert listed(engine) == {"a/x.md", "b/y.md"}
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
            with pytest.raises(IndexProblem, match="which folders it held cannot be read") as error:
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
    @pytest.mark.parametrize("name", ["b", "b/", "{path}"])
    def test_a_folder_is_let_go_of(self, engine: Engine, a: Path, b: Path, name: str) -> None:
        engine.sync([a, b])
        assert engine.remove([name.format(path=b)]) == 1
        assert listed(engine) == {"x.md"}  # alone again, and called as if it had always been
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
        with pytest.raises(NotFound, match="no document or folder called 'b'"):
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
        assert found(engine, "quagga heron", lang="js") == {"a/x.md"}

    def test_metadata_leaves_a_folder_where_it_is(self, engine: Engine, a: Path, b: Path) -> None:
        engine.sync([a], collection="Py")
        engine.sync([b])
        engine.sync([a], meta={"sdk": "python"})
        assert engine.status()["collections"]["Py"] == 1
        assert found(engine, "quagga heron", sdk="python") == {"a/x.md"}

    def test_a_folder_with_a_collection_is_not_swallowed(self, engine: Engine, a: Path) -> None:
        sub = put(a / "sub", z="a tern")
        engine.sync([sub], collection="S", meta={"k": "v"})
        with pytest.raises(ConfigError, match="a collection of its own, 'S'"):
            engine.sync([a])
        assert found(engine, "tern", k="v") == {"z.md"}
        engine.sync([a], collection="All")
        assert listed(engine) == {"x.md", "sub/z.md"}


class TestGone:
    """What lay behind something odd, and is gone, goes."""

    def test_in_a_folder_named_like_a_file(self, engine: Engine, a: Path) -> None:
        put(a / "notes.md", inside="a tern")
        engine.sync([a])
        assert "notes.md/inside.md" in listed(engine)
        (a / "notes.md" / "inside.md").unlink()
        assert engine.sync([a]).removed == 1
        assert listed(engine) == {"x.md"}

    def test_behind_a_link_to_what_is_read_already(self, engine: Engine, a: Path, tmp_path: Path) -> None:
        outside = put(tmp_path / "outside", z="a tern")
        (a / "link").symlink_to(outside)
        engine.sync([a])
        assert "link/z.md" in listed(engine)
        outside.rename(a / "within")
        (a / "link").unlink()
        (a / "link").symlink_to("within")
        assert engine.sync([a]).moved == 1
        assert listed(engine) == {"x.md", "within/z.md"}

    def test_behind_a_link_that_leads_nowhere_it_may_come_back(self, engine: Engine, a: Path, tmp_path: Path) -> None:
        outside = put(tmp_path / "outside", z="a tern")
        (a / "link").symlink_to(outside)
        engine.sync([a])
        outside.rename(tmp_path / "unmounted")
        assert engine.sync([a]).removed == 0
        assert "link/z.md" in listed(engine)

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
