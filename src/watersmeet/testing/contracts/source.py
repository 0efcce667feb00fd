"""The contract of `Source`: found, changed and deleted items of a place.

Subclass it with the fixtures `source` and `place`: an empty place, which tests may change.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

import pytest

from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import Found, Gone, Note, Offer, Pending, Same, Skipped, Source, SourceRoot, Whole

FILES = {"a.md": b"# A\n\nA tern.\n", "notes/b.md": b"# B\n\nAn auk.\n", "notes/deep/c.md": "Möwen\n".encode()}


class Place(Protocol):
    """A place that a source scans, with write access for tests."""

    @property
    def root(self) -> SourceRoot: ...
    @property
    def missing(self) -> SourceRoot:
        """An address of the same kind where nothing exists."""
        ...

    def write(self, name: str, content: bytes) -> None: ...
    def remove(self, name: str) -> None: ...


def scanned(source: Source, root: SourceRoot, known: Mapping[str, str] | None = None) -> list[Offer]:
    """What a scan says of its items, without remarks and progress."""
    return [one for one in source.scan(root, known or {}) if not isinstance(one, Note | Pending)]


class SourceContract:
    @pytest.fixture
    def source(self) -> Source:
        raise NotImplementedError("the contract of a source needs the fixture `source`")

    @pytest.fixture
    def place(self) -> Place:
        raise NotImplementedError("the contract of a source needs the fixture `place`")

    def _filled(self, place: Place) -> None:
        for name, content in FILES.items():
            place.write(name, content)

    def _found(self, source: Source, place: Place) -> dict[str, Found]:
        offers = scanned(source, place.root)
        assert isinstance(offers[-1], Whole)
        assert [one for one in offers if isinstance(one, Skipped)] == []
        found = [one for one in offers if isinstance(one, Found)]
        assert len({one.name for one in found}) == len(found) == len(offers) - 1
        return {one.name: one for one in found}

    def _stamps(self, source: Source, place: Place) -> dict[str, str]:
        return {name: one.stamp for name, one in self._found(source, place).items()}

    def test_all_items_are_found(self, source: Source, place: Place) -> None:
        assert self._found(source, place) == {}
        self._filled(place)
        found = self._found(source, place)
        assert found.keys() == FILES.keys()
        assert all(one.stamp and one.uri for one in found.values())
        assert all(one.modified is None or one.modified.tzinfo for one in found.values())

    def test_found_items_can_be_read(self, source: Source, place: Place) -> None:
        self._filled(place)
        for name, found in self._found(source, place).items():
            assert source.read(found) == FILES[name]
            stream = source.open(found)
            assert not isinstance(stream, Skipped)
            with stream:
                assert stream.read() == FILES[name]
                stream.seek(0)
                assert stream.read() == FILES[name]

    def test_unchanged_items_keep_their_stamps(self, source: Source, place: Place) -> None:
        self._filled(place)
        stamps = self._stamps(source, place)
        again = scanned(source, place.root, stamps)
        same = {one.name for one in again if isinstance(one, Same)}
        same |= {one.name for one in again if isinstance(one, Found) and stamps.get(one.name) == one.stamp}
        assert same == FILES.keys()
        assert isinstance(again[-1], Whole)

    def test_changed_items_have_other_stamps(self, source: Source, place: Place) -> None:
        self._filled(place)
        stamps = self._stamps(source, place)
        place.write("a.md", b"# A\n\nA tern and an auk.\n")
        place.write("new.md", b"new\n")
        offers = scanned(source, place.root, stamps)
        changed = {one.name for one in offers if isinstance(one, Found) and stamps.get(one.name) != one.stamp}
        assert changed == {"a.md", "new.md"}
        (found,) = [one for one in offers if isinstance(one, Found) and one.name == "a.md"]
        assert source.read(found) == b"# A\n\nA tern and an auk.\n"

    def test_deleted_items_are_left_out_or_reported(self, source: Source, place: Place) -> None:
        self._filled(place)
        stamps = self._stamps(source, place)
        place.remove("notes/b.md")
        offers = scanned(source, place.root, stamps)
        present = {one.name for one in offers if isinstance(one, Found | Same)}
        gone = {one.name for one in offers if isinstance(one, Gone)}
        assert present == FILES.keys() - {"notes/b.md"}
        assert isinstance(offers[-1], Whole) or gone == {"notes/b.md"}

    def test_items_deleted_after_the_scan_are_skipped(self, source: Source, place: Place) -> None:
        self._filled(place)
        found = self._found(source, place)["notes/b.md"]
        place.remove("notes/b.md")
        for skipped in (source.read(found), source.open(found)):
            assert isinstance(skipped, Skipped)
            assert skipped.reason

    def test_a_missing_place_is_never_whole(self, source: Source, place: Place) -> None:
        """Else all documents found there before would be deleted."""
        try:
            offers = scanned(source, place.missing)
        except SourceProblem:
            return
        assert not any(isinstance(one, Whole) for one in offers)

    def test_an_address_has_one_spelling(self, source: Source, place: Place) -> None:
        self._filled(place)
        located = source.locate(place.root.uri)
        assert located.exists
        assert located.name
        assert source.locate(located.uri).uri == located.uri
        assert source.within(located.uri, located.uri)
