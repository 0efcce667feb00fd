"""What an index takes on disk, part by part."""

from __future__ import annotations

from pathlib import Path

from watersmeet.store.local.sizes import size_of, sizes_of


def test_the_size_is_that_of_all_files_below(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"x" * 10)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "c").write_bytes(b"x" * 5)
    assert size_of(str(tmp_path)) == 15
    assert size_of(str(tmp_path / "none")) == 0


def test_parts_are_told_apart_by_their_names(tmp_path: Path) -> None:
    (tmp_path / "catalogue.db").write_bytes(b"x" * 7)
    (tmp_path / "catalogue.db-wal").write_bytes(b"x")
    for folder, size in (("text-1", 3), ("vectors-dense-2-granite", 5), ("other", 1)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "part").write_bytes(b"x" * size)
    assert sizes_of(str(tmp_path)) == {"catalogue": 8, "dense": 5, "words": 3, "other": 1}
