"""The contract of `Records`: versioned registry records by path. Subclass it with a fixture `records`."""

from __future__ import annotations

from typing import Any

import pytest

from watersmeet.core.errors import ConfigError, VersionConflict
from watersmeet.core.registry_records import ChangedRecord, Records


def record(path: str, **more: Any) -> dict[str, Any]:
    return {"kind": "skill", "path": path, "name": path.strip("/"), **more}


def changes(records: Records, cursor: str = "") -> tuple[dict[str, bool], str]:
    found, cursor = records.changed_since(cursor)
    return {one.path: one.deleted for one in found}, cursor


class RecordsContract:
    def test_a_record_is_read_as_it_was_put(self, records: Records) -> None:
        stored = record("/a", metadata={"ü": [1, 2.5, None, True]}, body="x\ny\u2028")
        version = records.put(stored, None)
        found = records.get("/a")
        assert found is not None
        assert (found.record, found.version) == (stored, version)
        assert found.changed > 0
        assert records.get("/b") is None
        assert records.get("\ud800") is None

    def test_all_of_them_by_path(self, records: Records) -> None:
        for path in ("/c", "/a", "/b"):
            records.put(record(path), None)
        found = records.get("/b")
        assert found is not None
        records.delete("/b", found.version)
        assert [one.record["path"] for one in records] == ["/a", "/c"]

    def test_only_the_version_that_was_read_is_replaced(self, records: Records) -> None:
        first = records.put(record("/a", n=1), None)
        second = records.put(record("/a", n=2), first)
        assert second > first
        for stale in (None, first, second + 1):
            with pytest.raises(VersionConflict, match="/a") as problem:
                records.put(record("/a", n=3), stale)
            assert problem.value.hint
        with pytest.raises(VersionConflict):
            records.delete("/a", first)
        found = records.get("/a")
        assert found is not None
        assert (found.record["n"], found.version) == (2, second)

    def test_a_missing_record_has_no_version(self, records: Records) -> None:
        with pytest.raises(VersionConflict):
            records.put(record("/a"), 1)
        with pytest.raises(VersionConflict):
            records.delete("/a", 1)
        version = records.put(record("/a"), None)
        records.delete("/a", version)
        assert records.get("/a") is None
        for stale in (version, version + 1):
            with pytest.raises(VersionConflict):
                records.put(record("/a"), stale)

    def test_a_version_never_comes_back(self, records: Records) -> None:
        versions = []
        for _ in range(3):
            version = records.put(record("/a"), None)
            other = records.put(record(f"/b{version}"), None)
            records.delete("/a", version)
            versions += [version, other]
        assert versions == sorted(set(versions))

    def test_changes_since_a_cursor(self, records: Records) -> None:
        assert records.changed_since("") == ([], "")
        first = records.put(record("/a"), None)
        records.put(record("/b"), None)
        found, cursor = changes(records)
        assert found == {"/a": False, "/b": False}
        assert changes(records, cursor) == ({}, cursor)
        second = records.put(record("/a", n=2), first)
        found, later = changes(records, cursor)
        assert found == {"/a": False}
        records.delete("/a", second)
        records.put(record("/c"), None)
        assert changes(records, later)[0] == {"/a": True, "/c": False}
        assert changes(records, cursor)[0] == {"/a": True, "/c": False}  # each path once, with its last state
        assert changes(records)[0] == {"/b": False, "/a": True, "/c": False}
        records.put(record("/a"), None)
        assert list(changes(records, later)[0].items()) == [("/c", False), ("/a", False)]

    def test_changes_come_in_parts(self, records: Records) -> None:
        paths = [f"/{number:02}" for number in range(7)]
        for path in paths:
            records.put(record(path), None)
        received: list[ChangedRecord] = []
        cursor = ""
        while True:
            found, cursor = records.changed_since(cursor, 3)
            if not found:
                break
            assert len(found) <= 3
            received += found
        assert received == [ChangedRecord(path, False) for path in paths]

    def test_a_cursor_of_something_else_is_refused(self, records: Records) -> None:
        with pytest.raises(ConfigError):
            records.changed_since("yesterday")
