"""Checksums of the files of a tantivy index.

tantivy lists its current files in `meta.json`. `sums.json` is ours, written when a writer is closed: files of a writer
that was killed are not in it, and are not checked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from watersmeet.core.errors import IndexDamaged
from watersmeet.core.files import replace_file
from watersmeet.store.local._file_checks import FileStamp, check_intact, sum_of
from watersmeet.store.local._text import REMAKE_HINT

META = "meta.json"
"""tantivy's commit point: replaced atomically by every commit and merge."""
SUMS = "sums.json"
_MAX_ATTEMPTS = 5
Sums = dict[str, list[int]]
"""Size, checksum and modification time (ns) of each file."""


def sizes(folder: str) -> list[int]:
    """The row count of each committed segment, dropped rows included."""
    return [segment["max_doc"] for segment in _meta(folder)["segments"]]


def note(folder: str) -> None:
    """Stores the checksums of all current files; unchanged files are not read again."""
    before, sums = _sums(folder), Sums()
    for name in _files(folder, _meta(folder)):
        path = os.path.join(folder, name)
        found = os.stat(path)
        size, total, changed = before.get(name, [0, 0, 0])
        if (size, changed) != (found.st_size, found.st_mtime_ns):
            total = sum_of(path, found.st_size)
        sums[name] = [found.st_size, total, found.st_mtime_ns]
    if sums != before:
        replace_file(os.path.join(folder, SUMS), json.dumps({"files": sums, "sum": _sum(sums)}).encode())


def verify(folder: str, *, always: bool = False) -> None:
    """Raises if a current file is damaged. Files are read if their time stamp changed, or `always`."""
    for _ in range(_MAX_ATTEMPTS):
        meta = _meta(folder)
        try:
            _verify(folder, meta, always)
        except (IndexDamaged, FileNotFoundError):
            if _meta(folder) == meta:  # else a writer has replaced files meanwhile: check again
                raise
        else:
            return


def _verify(folder: str, meta: Mapping[str, Any], always: bool) -> None:
    sums, segments = _sums(folder), _segments(meta)
    names = _files(folder, meta)
    gone = sorted(name for name in sums.keys() - set(names) if name.partition(".")[0] in segments)
    if gone:
        raise IndexDamaged(f"{os.path.join(folder, gone[0])} is gone", REMAKE_HINT)
    if set(names) - sums.keys():  # committed since by a writer that was killed
        names = [name for name in names if name in sums and name != META]
    elif any(name.partition(".")[0] not in segments for name in sums if name != META):
        names.remove(META)  # or merged
    for name in names:
        size, total, changed = sums[name]
        path = os.path.join(folder, name)
        check_intact(path, size, FileStamp(total, changed), REMAKE_HINT, always=always)
        if os.path.getsize(path) != size:
            raise IndexDamaged(f"{path} is longer than was written", REMAKE_HINT)


def _meta(folder: str) -> dict[str, Any]:
    path = os.path.join(folder, META)
    try:
        with open(path, "rb") as file:
            meta: dict[str, Any] = json.loads(file.read())
        _segments(meta)
        return meta
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise IndexDamaged(f"{path} cannot be read: {error}", REMAKE_HINT) from error


def _segments(meta: Mapping[str, Any]) -> set[str]:
    return {str(segment["segment_id"]).replace("-", "") for segment in meta["segments"]}


def _files(folder: str, meta: Mapping[str, Any]) -> list[str]:
    """The current files, `meta.json` first. Raises if a segment has no file."""
    segments = _segments(meta)
    found = sorted(name for name in os.listdir(folder) if name.partition(".")[0] in segments)
    lost = segments - {name.partition(".")[0] for name in found}
    if lost:
        raise IndexDamaged(f"{folder}: the files of a segment are gone", REMAKE_HINT)
    return [META, *found]


def _sums(folder: str) -> Sums:
    """The stored checksums; empty for an older version."""
    path = os.path.join(folder, SUMS)
    try:
        with open(path, "rb") as file:
            stored = json.loads(file.read())
        if stored["sum"] != _sum(stored["files"]):
            raise ValueError("its own checksum differs")
        return dict(stored["files"])
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, KeyError) as error:
        raise IndexDamaged(f"{path} cannot be read: {error}", REMAKE_HINT) from error


def _sum(sums: Sums) -> int:
    return crc32(json.dumps(sums, sort_keys=True).encode())
