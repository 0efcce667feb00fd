"""Folders that are moved: together with their index, or without it."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from trees import put
from watersmeet import Engine
from watersmeet.core.errors import ConfigError, SourceProblem
from watersmeet.engine.settings.settings import Settings, load

Move = Callable[[Path, Path], object]


def copy(old: Path, new: Path) -> None:
    shutil.copytree(old, new)
    shutil.rmtree(old)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    environ = {"STATIC": "", "SPARSE": "", "DENSE": "hashed"}
    return load(start=str(tmp_path), environ={f"WATERSMEET__INDEX__{name}": value for name, value in environ.items()})


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    put(tmp_path / "vault" / "guides", keys="about a quagga", doors="about a heron")
    return put(tmp_path / "vault", home="See [[keys]].")


def listed(engine: Engine) -> set[str]:
    return {document["document"] for document in engine.documents()}


def paths(engine: Engine, query: str) -> set[str]:
    return {result.path for result in engine.search(query, mode="lexical").results}


class TestTogether:
    """A folder and the index in it."""

    @pytest.mark.slow
    @pytest.mark.parametrize("move", [os.rename, copy])
    @pytest.mark.parametrize("named", [True, False])
    def test_nothing_changes(self, vault: Path, tmp_path: Path, settings: Settings, move: Move, named: bool) -> None:
        with Engine(vault / ".watersmeet", settings) as engine:
            engine.sync([vault])
            before = {name: [one.id for one in engine.passages(name)] for name in listed(engine)}
        new = tmp_path / "deeper" / "place"
        new.parent.mkdir()
        move(vault, new)
        with Engine(new / ".watersmeet", settings) as engine:
            assert engine.status()["roots"] == [str(new)]
            assert paths(engine, "quagga") == {str(new / "guides" / "keys.md")}
            assert engine.get(str(new / "guides" / "keys.md"))["document"] == "guides/keys.md"
            report = engine.sync([new] if named else [])
            counts = report.to_json()
            assert [counts[name] for name in ("added", "changed", "moved", "removed", "unchanged")] == [0, 0, 0, 0, 3]
            assert (report.embedded, report.cached, report.skipped, report.warnings) == (0, 0, [], [])
            assert {name: [one.id for one in engine.passages(name)] for name in listed(engine)} == before
            assert paths(engine, "heron") == {str(new / "guides" / "doors.md")}
            assert all(check.ok for check in engine.doctor())

    def test_what_lies_below_is_moved_and_what_lies_elsewhere_stays(
        self, vault: Path, tmp_path: Path, settings: Settings
    ) -> None:
        other = put(tmp_path / "other", z="about a tern")
        with Engine(vault / ".watersmeet", settings) as engine:
            engine.sync([vault / "guides", other])
        new = vault.rename(tmp_path / "new")
        with Engine(new / ".watersmeet", settings) as engine:
            assert engine.status()["roots"] == [str(new / "guides"), str(other)]
            assert engine.sync().unchanged == 3
            assert listed(engine) == {"keys.md", "doors.md", "other/z.md"}
            assert paths(engine, "tern quagga") == {str(new / "guides" / "keys.md"), str(other / "z.md")}

    def test_a_copy_answers_for_itself(self, vault: Path, tmp_path: Path, settings: Settings) -> None:
        with Engine(vault / ".watersmeet", settings) as engine:
            engine.sync([vault])
        shutil.copytree(vault, tmp_path / "copy")
        put(tmp_path / "copy", new="about a tern")
        with Engine(tmp_path / "copy" / ".watersmeet", settings) as second, Engine(engine.folder, settings) as first:
            assert second.sync().added == 1
            assert first.sync().added == 0
            assert paths(second, "tern") == {str(tmp_path / "copy" / "new.md")}

    def test_damage_is_still_noticed(self, vault: Path, tmp_path: Path, settings: Settings) -> None:
        """The check sums are of what is kept, wherever that is."""
        with Engine(vault / ".watersmeet", settings) as engine:
            engine.sync([vault])
            with closing(sqlite3.connect(vault / ".watersmeet" / "catalogue.db")) as db, db:
                db.execute("UPDATE documents SET path = '@/elsewhere.md' WHERE name = 'home.md'")
            assert not all(check.ok for check in engine.doctor())

    def test_a_folder_without_its_index_is_missed(self, vault: Path, tmp_path: Path, settings: Settings) -> None:
        with Engine(tmp_path / "index", settings) as engine:
            engine.sync([vault])
            vault.rename(tmp_path / "new")
            report = engine.sync()
            assert [item.path for item in report.warnings] == [str(vault)]
            assert f"watersmeet relocate {vault}" in report.warnings[0].reason
            assert len(listed(engine)) == 3


class TestAlone:
    """An index that is moved, copied or renamed without the folder that it belongs to."""

    @pytest.fixture
    def index(self, vault: Path, settings: Settings) -> Path:
        with Engine(vault / ".watersmeet", settings) as engine:
            engine.sync([vault])
        return vault / ".watersmeet"

    def test_a_copy_under_another_name_covers_what_it_covered(
        self, index: Path, vault: Path, tmp_path: Path, settings: Settings
    ) -> None:
        far = put(tmp_path / "far", foreign="about a tern")
        shutil.copytree(index, far / "backup")
        with Engine(far / "backup", settings) as engine:
            assert engine.status()["roots"] == [str(vault)]
            assert paths(engine, "quagga") == {str(vault / "guides" / "keys.md")}
            report = engine.sync()
            assert (report.added, report.removed, report.unchanged, report.warnings) == (0, 0, 3, [])
            assert engine.get(str(vault / "home.md"))["document"] == "home.md"

    def test_renamed_and_its_folder_moved(self, index: Path, vault: Path, tmp_path: Path, settings: Settings) -> None:
        index.rename(vault / "backup")
        new = vault.rename(tmp_path / "new")
        with Engine(new / "backup", settings) as engine:
            report = engine.sync()
            assert (report.removed, report.added, len(listed(engine))) == (0, 0, 3)
            assert f"watersmeet relocate {vault} NEW" in report.warnings[0].reason
            engine.relocate(vault, new)
            report = engine.sync()
            assert (report.unchanged, report.warnings) == (3, [])

    @pytest.mark.slow
    def test_it_does_not_take_what_lies_around_it(
        self, index: Path, vault: Path, tmp_path: Path, settings: Settings
    ) -> None:
        put(tmp_path / "private", diary="about a tern")
        put(tmp_path, home="Not the one that was indexed.")
        index.rename(tmp_path / ".watersmeet")
        with Engine(tmp_path / ".watersmeet", settings) as engine:
            assert paths(engine, "quagga") == {str(vault / "guides" / "keys.md")}
            put(vault, more="about a gull")
            report = engine.sync()
            assert (report.added, report.removed, report.unchanged) == (1, 0, 3)
            assert [item.path for item in report.warnings] == [str(tmp_path / ".watersmeet")]
            assert f"still covers {vault}" in report.warnings[0].reason
        (tmp_path / ".watersmeet").rename(index)
        with Engine(index, settings) as engine:
            report = engine.sync()
            assert (report.unchanged, report.warnings) == (4, [])

    def test_what_is_gone_is_kept_and_said_with_what_to_run(
        self, index: Path, vault: Path, tmp_path: Path, settings: Settings
    ) -> None:
        other = put(tmp_path / "other", foreign="about a tern")
        index.rename(other / ".watersmeet")
        new = vault.rename(tmp_path / "new")
        with Engine(other / ".watersmeet", settings) as engine:
            report = engine.sync()
            assert (report.added, report.removed, len(listed(engine))) == (0, 0, 3)
            assert all(f"`watersmeet relocate {vault} NEW`" in item.reason for item in report.warnings)
            assert paths(engine, "quagga") == {str(vault / "guides" / "keys.md")}
            engine.relocate(vault, new)
            report = engine.sync()
            assert (report.unchanged, report.warnings) == (3, [])
            assert paths(engine, "quagga") == {str(new / "guides" / "keys.md")}

    def test_files_that_came_along_are_enough(
        self, index: Path, vault: Path, tmp_path: Path, settings: Settings
    ) -> None:
        """Moved together, then sorted anew and edited before the next sync."""
        new = vault.rename(tmp_path / "new")
        (new / "guides").rename(new / "handbook")
        with Engine(new / ".watersmeet", settings) as engine:
            report = engine.sync()
            assert (report.moved, report.unchanged, report.warnings) == (2, 1, [])

    def test_an_index_that_comes_to_belong_to_a_folder(self, vault: Path, tmp_path: Path, settings: Settings) -> None:
        with Engine(tmp_path / "index", settings) as engine:
            engine.sync([vault])
        (tmp_path / "index").rename(vault / ".watersmeet")
        with Engine(vault / ".watersmeet", settings) as engine:
            engine.sync()
        new = vault.rename(tmp_path / "new")
        with Engine(new / ".watersmeet", settings) as engine:
            report = engine.sync()
            assert (report.unchanged, report.warnings) == (3, [])
            assert all(check.ok for check in engine.doctor())

    def test_whoever_reads_meanwhile_goes_on(
        self, index: Path, vault: Path, tmp_path: Path, settings: Settings
    ) -> None:
        """What paths are relative to may change under an open index."""
        index.rename(tmp_path / ".watersmeet")
        with Engine(tmp_path / ".watersmeet", settings) as reader, Engine(reader.folder, settings) as writer:
            assert paths(reader, "quagga") == {str(vault / "guides" / "keys.md")}
            new = vault.rename(tmp_path / "new")
            writer.relocate(vault, new)
            writer.sync()
            assert paths(reader, "quagga") == {str(new / "guides" / "keys.md")}


class TestRelocate:
    def test_what_was_indexed_lies_elsewhere(self, vault: Path, tmp_path: Path, settings: Settings) -> None:
        with Engine(tmp_path / "index", settings) as engine:
            engine.sync([vault])
            new = vault.rename(tmp_path / "new")
            assert engine.relocate(vault, new) == 3
            assert engine.status()["roots"] == [str(new)]
            assert paths(engine, "quagga") == {str(new / "guides" / "keys.md")}
            report = engine.sync()
            assert (report.unchanged, report.added, report.embedded) == (3, 0, 0)
            assert all(check.ok for check in engine.doctor())

    def test_from_beside_the_index_to_elsewhere_and_back(self, vault: Path, tmp_path: Path, settings: Settings) -> None:
        with Engine(vault / ".watersmeet", settings) as engine:
            engine.sync([vault / "guides"])
            new = (vault / "guides").rename(tmp_path / "new")
            engine.relocate(vault / "guides", new)
            assert paths(engine, "quagga") == {str(new / "keys.md")}
            new.rename(vault / "guides")
            engine.relocate(new, vault / "guides")
            assert paths(engine, "quagga") == {str(vault / "guides" / "keys.md")}
            assert engine.sync().unchanged == 2
        moved = vault.rename(tmp_path / "moved")
        with Engine(moved / ".watersmeet", settings) as engine:
            assert paths(engine, "quagga") == {str(moved / "guides" / "keys.md")}

    def test_one_file(self, vault: Path, tmp_path: Path, settings: Settings) -> None:
        with Engine(tmp_path / "index", settings) as engine:
            engine.sync([vault / "home.md"])
            new = (vault / "home.md").rename(tmp_path / "home.md")
            with pytest.raises(SourceProblem, match="was a file"):
                engine.relocate(vault / "home.md", tmp_path / "vault")
            assert engine.relocate(vault / "home.md", new) == 1
            assert engine.sync().unchanged == 1
            assert paths(engine, "keys") == {str(new)}

    def test_what_is_refused(self, vault: Path, tmp_path: Path, settings: Settings) -> None:
        other = put(tmp_path / "other", z="about a tern")
        with Engine(tmp_path / "index", settings) as engine:
            engine.sync([vault, other])
            new = vault.rename(tmp_path / "new")
            with pytest.raises(ConfigError, match="is not a folder of this index") as problem:
                engine.relocate(tmp_path / "never", new)
            assert str(vault) in problem.value.hint
            with pytest.raises(SourceProblem, match="does not exist"):
                engine.relocate(vault, tmp_path / "nowhere")
            with pytest.raises(ConfigError, match=f"{other} is in this index already"):
                engine.relocate(vault, other)
            with pytest.raises(SourceProblem, match="was a folder"):
                engine.relocate(vault, new / "home.md")
            with pytest.raises(ConfigError, match="empty"):
                engine.relocate("", new)
            assert engine.status()["roots"] == [str(vault), str(other)]


class TestNested:
    """A root in another."""

    @pytest.fixture
    def outer(self, tmp_path: Path) -> Path:
        put(tmp_path / "out" / "in", a="about a quagga", b="about a heron", c="about a gull")
        return put(tmp_path / "out", o="about a tern")

    @pytest.fixture
    def engine(self, outer: Path, tmp_path: Path, settings: Settings) -> Iterator[Engine]:
        with Engine(tmp_path / "index", settings) as made:
            made.sync([outer / "in"])
            made.sync([outer])
            assert listed(made) == {"a.md", "b.md", "c.md", "out/o.md"}
            yield made

    @pytest.mark.slow
    @pytest.mark.parametrize("inner_first", [True, False])
    def test_moved_together(self, engine: Engine, outer: Path, tmp_path: Path, inner_first: bool) -> None:
        (tmp_path / "new").mkdir()
        new = outer.rename(tmp_path / "new" / "out")
        if inner_first:
            assert engine.relocate(outer / "in", new / "in") == 3
        assert engine.relocate(outer, new) == (1 if inner_first else 4)
        assert engine.status()["roots"] == [str(new / "in"), str(new)]
        assert paths(engine, "quagga") == {str(new / "in" / "a.md")}
        report = engine.sync()
        assert (report.unchanged, report.added, report.warnings) == (4, 0, [])
        assert all(check.ok for check in engine.doctor())

    def test_an_inner_one_that_stayed_is_left_alone(self, engine: Engine, outer: Path, tmp_path: Path) -> None:
        new = tmp_path / "new"
        shutil.copytree(outer, new)
        (outer / "o.md").unlink()
        assert engine.relocate(outer, new) == 1
        assert engine.status()["roots"] == [str(outer / "in"), str(new)]

    @pytest.mark.slow
    def test_moved_into_another_and_back(self, vault: Path, tmp_path: Path, settings: Settings) -> None:
        team = put(tmp_path / "team", t="about a tern", u="about a gull")
        with Engine(tmp_path / "index", settings) as engine:
            engine.sync([vault])
            engine.sync([team])
            new = team.rename(vault / "crew")
            engine.sync([vault])  # as files of the vault, for it was not said that they have moved
            assert engine.relocate(team, new) == 2
            engine.sync()
            assert listed(engine) == {"home.md", "guides/keys.md", "guides/doors.md", "team/t.md", "team/u.md"}
            new.rename(team)
            engine.relocate(new, team)
            assert engine.sync().unchanged == 5


class TestOffered:
    """`sync` of a place that holds what was read from a folder that is gone."""

    @pytest.mark.slow
    @pytest.mark.parametrize("move", [os.rename, copy])
    def test_it_is_not_indexed_twice(self, vault: Path, tmp_path: Path, settings: Settings, move: Move) -> None:
        with Engine(tmp_path / "index", settings) as engine:
            engine.sync([vault])
            new = tmp_path / "the new"
            move(vault, new)
            for page in new.rglob("*.md"):
                os.utime(page, (1e9, 1e9))  # they have another time, and say what they said
            put(new, more="about a tern")
            with pytest.raises(SourceProblem, match=f"{new} has the files of {vault}, which is gone") as problem:
                engine.sync([new])
            assert f"`watersmeet relocate {vault} '{new}'`" in problem.value.hint
            assert len(listed(engine)) == 3
            engine.relocate(vault, new)
            assert engine.sync([new]).added == 1

    def test_another_folder_is_just_added(self, vault: Path, tmp_path: Path, settings: Settings) -> None:
        with Engine(tmp_path / "index", settings) as engine:
            engine.sync([vault])
            shutil.rmtree(vault)
            other = put(tmp_path / "other", home="about a tern", z="about a gull")
            put(other / "guides", keys="about something else")
            assert engine.sync([other]).added == 3
            assert len(listed(engine)) == 6

    @pytest.mark.slow
    def test_as_long_as_the_old_one_is_there_it_is_a_copy(
        self, vault: Path, tmp_path: Path, settings: Settings
    ) -> None:
        with Engine(tmp_path / "index", settings) as engine:
            engine.sync([vault])
            shutil.copytree(vault, tmp_path / "copy")
            assert engine.sync([tmp_path / "copy"]).added == 3

    @pytest.mark.slow
    def test_what_belongs_to_other_folders_does_not_count(
        self, vault: Path, tmp_path: Path, settings: Settings
    ) -> None:
        """One that is in the new place already, and one that came along."""
        new = tmp_path / "new"
        put(new / "old hand", a="about a crane", b="about a stork", c="about an owl", d="about a wren")
        inner = put(vault / "inner", e="about a tern", f="about a gull", g="about an egret", h="about a robin")
        with Engine(tmp_path / "index", settings) as engine:
            for folder in (new / "old hand", inner, vault):
                engine.sync([folder])
            before = listed(engine)
            shutil.copytree(vault, new, dirs_exist_ok=True)
            shutil.rmtree(vault)
            with pytest.raises(SourceProblem, match="which is gone") as problem:
                engine.sync([new])
            assert f"`watersmeet relocate {vault} {new}`" in problem.value.hint
            assert engine.relocate(vault, new) == 7
            report = engine.sync()
            assert (listed(engine), report.added, report.warnings) == (before, 0, [])

    @pytest.mark.slow
    def test_nothing_is_offered_that_would_be_refused(self, vault: Path, tmp_path: Path, settings: Settings) -> None:
        with Engine(tmp_path / "index", settings) as engine:
            engine.sync([vault / "home.md"])
            folder = put(tmp_path / "folder")
            (vault / "home.md").rename(folder / "home.md")
            with pytest.raises(SourceProblem, match="was a file"):
                engine.relocate(vault / "home.md", folder)
            assert engine.sync([folder]).added == 1

    @pytest.mark.slow
    def test_other_folders_of_the_same_command_are_read(self, vault: Path, tmp_path: Path, settings: Settings) -> None:
        other = put(tmp_path / "other", z="about a tern")
        with Engine(tmp_path / "index", settings) as engine:
            engine.sync([vault])
            new = vault.rename(tmp_path / "new")
            report = engine.sync([new, other])
            assert (report.added, [item.path for item in report.warnings]) == (1, [str(new)])
            assert f"`watersmeet relocate {vault} {new}`" in report.warnings[0].reason
            assert len(listed(engine)) == 4
