"""Age of roots: when each was read, what is read again, and what an outage leaves."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from boxes import BOX, box, made
from watersmeet import Engine
from watersmeet.core.errors import ConfigError, NotFound, SourceProblem
from watersmeet.core.writing import Root
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync.readings import MAX_PROBLEM, Reading, reading_of, refresh_seconds

__all__ = ["box", "made"]  # fixtures

DAY = 86_400.0
OUTAGE = SourceProblem("the line is dead")


def source(engine: Engine, root: str = BOX) -> dict[str, Any]:
    return next(one for one in engine.status()["sources"] if one["root"] == root)


def backdate(engine: Engine, seconds: float) -> None:
    """Every reading was so long ago."""
    with engine.index.bookkeeping(5) as catalogue:
        readings = {key: json.loads(value) for key, value in catalogue.meta().items() if key.startswith("reading.")}
        catalogue.set_meta({key: json.dumps(one | {"at": one["at"] - seconds}) for key, one in readings.items()})


class TestStatus:
    def test_every_root_with_its_kind_and_age(self, engine: Engine, vault: Path, box: Any) -> None:
        engine.sync([vault])
        engine.sync([BOX], collection="pages")
        folder, other = engine.status()["sources"]
        assert {key: other[key] for key in other if key != "synced"} == {
            "root": BOX,
            "kind": "made",
            "name": "box",
            "prefix": "box/",
            "collection": "pages",
            "documents": 2,
            "overdue": False,
            "problem": None,
        }
        assert (folder["root"], folder["kind"], folder["documents"], folder["overdue"]) == (
            str(vault),
            "folder",
            4,
            False,
        )
        assert other["synced"]
        assert folder["synced"]
        assert engine.status()["roots"] == [str(vault), BOX]

    def test_a_root_that_was_never_read_as_a_whole_has_no_date(self, engine: Engine, vault: Path) -> None:
        report = engine.sync([vault], seconds=0)
        assert report.left == 3
        assert source(engine, str(vault))["synced"] is None
        engine.sync([vault])
        assert source(engine, str(vault))["synced"]

    def test_the_number_of_a_removed_root_tells_nothing_about_the_next(self, engine: Engine, made: Any) -> None:
        made.BOXES["made:new"] = made.Box({"c": "# C\n\ntern\n"}, failure=OUTAGE)
        engine.sync([BOX])
        engine.remove([BOX])
        engine.sync(["made:new"])
        assert source(engine, "made:new")["synced"] is None


class TestRefresh:
    def test_a_root_that_was_read_recently_is_left_alone(self, engine: Engine, vault: Path, box: Any) -> None:
        engine.sync([vault, BOX])
        box.things["c"] = "# C\n\nabout a tern\n"
        report = engine.sync()
        assert (report.fresh, report.added, report.unchanged, report.warnings) == ([BOX], 0, 6, [])
        assert len(box.scans) == 1
        assert report.to_json()["fresh"] == [BOX]

    def test_an_old_one_is_read_again(self, engine: Engine, vault: Path, box: Any) -> None:
        engine.sync([vault, BOX])
        box.things["c"] = "# C\n\nabout a tern\n"
        backdate(engine, DAY + 1)
        assert source(engine)["overdue"]
        report = engine.sync()
        assert (report.fresh, report.added, report.unchanged) == ([], 1, 6)
        assert "fresh" not in report.to_json()
        assert not source(engine)["overdue"]

    @pytest.mark.parametrize("how", [{"paths": [BOX]}, {"now": True}, {"recreate": True}])
    def test_one_that_is_named_is_always_read(self, engine: Engine, box: Any, how: dict[str, Any]) -> None:
        engine.sync([BOX])
        assert engine.sync(**how).fresh == []
        assert len(box.scans) == 2

    def test_zero_means_always(self, tmp_path: Path, box: Any) -> None:
        environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__INDEX__REFRESH": "always"}
        with Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ)) as engine:
            engine.sync([BOX])
            engine.sync()
        assert len(box.scans) == 2

    @pytest.mark.parametrize(
        ("text", "seconds"), [('"0"', 0.0), ("always", 0.0), ("12h", DAY / 2), ("1d", DAY), ("2w", 14 * DAY)]
    )
    def test_ages(self, tmp_path: Path, text: str, seconds: float) -> None:
        settings = load(start=str(tmp_path), environ={"WATERSMEET__INDEX__REFRESH": text})
        assert refresh_seconds(settings) == seconds

    def test_what_is_no_age(self, tmp_path: Path) -> None:
        with pytest.raises(ConfigError, match=r"index\.refresh cannot be 'soon'"):
            refresh_seconds(load(start=str(tmp_path), environ={"WATERSMEET__INDEX__REFRESH": "soon"}))


class TestOutage:
    @pytest.mark.parametrize("failure", [OUTAGE, OSError("the line is dead")])
    def test_it_deletes_nothing_and_is_shown_until_a_reading_succeeds(
        self, engine: Engine, vault: Path, box: Any, failure: Exception
    ) -> None:
        engine.sync([vault, BOX])
        before = source(engine)
        box.failure, things = failure, box.things
        box.things = {}
        report = engine.sync(now=True)
        assert (report.removed, [one.path for one in report.warnings]) == (0, [BOX])
        after = source(engine)
        assert "the line is dead" in after["problem"]
        assert (after["synced"], after["documents"]) == (before["synced"], 2)
        assert source(engine, str(vault))["problem"] is None
        engine.sync()  # it is fresh, and nobody tries again before its time
        assert source(engine)["problem"]
        box.failure, box.things = None, things
        engine.sync([BOX])
        assert source(engine)["problem"] is None

    def test_one_that_is_named_is_recorded_too(self, engine: Engine, box: Any) -> None:
        engine.sync([BOX])
        box.failure, box.things = OUTAGE, {}
        with pytest.raises(SourceProblem, match="the line is dead"):
            engine.sync([BOX])
        assert (source(engine)["problem"], source(engine)["documents"]) == ("the line is dead", 2)

    def test_a_scan_that_ended_early_is_a_reading_with_a_problem(self, engine: Engine, box: Any) -> None:
        engine.sync([BOX])
        box.things["c"] = "# C\n\ntern\n"
        box.most = 1
        engine.sync([BOX])
        found = source(engine)
        assert "ended early" in found["problem"]
        assert (found["documents"], found["overdue"]) == (2, False)

    @pytest.mark.parametrize("most", [None, 1])
    def test_the_index_is_not_built_anew_without_it(self, engine: Engine, vault: Path, box: Any, most: Any) -> None:
        engine.sync([vault, BOX])
        box.failure, box.things = OUTAGE, {} if most is None else {"a": "# A\n\nquagga\n"}
        with pytest.raises(SourceProblem, match="would lose its documents: the line is dead"):
            engine.sync(recreate=True)
        assert source(engine)["documents"] == 2


class TestRemove:
    @pytest.mark.parametrize("name", [BOX, f"{BOX}/", "box", "box/"])
    def test_by_address_name_or_prefix(self, engine: Engine, vault: Path, box: Any, name: str) -> None:
        engine.sync([vault, BOX])
        assert engine.remove([name]) == 2
        assert engine.status()["roots"] == [str(vault)]

    @pytest.mark.parametrize("name", ["made:bix", "/"])
    def test_what_there_is_not(self, engine: Engine, vault: Path, box: Any, name: str) -> None:
        engine.sync([vault, BOX])
        with pytest.raises(NotFound, match="no document, folder or address called") as error:
            engine.remove([name])
        assert BOX in error.value.hint

    def test_one_whose_source_is_not_installed(self, engine: Engine, vault: Path, box: Any) -> None:
        engine.sync([vault, BOX])
        with engine.index.bookkeeping(5) as catalogue:
            catalogue.db.execute("UPDATE roots SET kind = 'undone' WHERE kind = 'made'")  # type: ignore[attr-defined]
        assert engine.remove([BOX]) == 2


ROOT = Root(7, BOX, "box", 1, "")


@pytest.mark.parametrize("stored", ["", "null", "[]", "{", '"x"'])
def test_a_fact_that_cannot_be_read_is_no_reading(stored: str) -> None:
    assert reading_of({"reading.7": stored}, ROOT) == Reading()


def test_a_problem_of_any_length_is_cut() -> None:
    assert len(Reading().after("x" * 10_000, failed=True).problem) == MAX_PROBLEM


def test_a_time_in_the_future_is_not_fresh() -> None:
    assert not Reading(time.time() + DAY).is_fresh(10 * DAY)
