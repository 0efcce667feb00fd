"""The files of a tantivy index, and what is remembered of them to tell whether one is damaged.

tantivy writes them, and names those that count in `meta.json`. `sums.json` is ours, written when a writer is closed: a
writer that was killed leaves files that it does not know, and those are not checked.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any
from zlib import crc32

from watersmeet.core.errors import IndexDamaged
from watersmeet.core.files import replace_file
from watersmeet.store.local._file_checks import FileStamp, is_intact, sum_of
from watersmeet.store.local._text import AGAIN

META = "meta.json"
"""tantivy's commit point: replaced in one step by every commit and every merge."""
SUMS = "sums.json"
_ATTEMPTS = 5
Sums = dict[str, list[int]]
"""Of each file its size, its sum, and when it was last changed, in ns."""


def sizes(folder: str) -> list[int]:
    """How many rows each segment has that is committed, dropped ones included."""
    return [segment["max_doc"] for segment in _meta(folder)["segments"]]


def note(folder: str) -> None:
    """Remember all files that count; what is known of one that has not changed is kept."""
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
    """Raise if a file that counts is not what was written. Files are read if they were touched, or `always`."""
    for _ in range(_ATTEMPTS):
        meta = _meta(folder)
        try:
            _verify(folder, meta, always)
        except (IndexDamaged, FileNotFoundError):
            if _meta(folder) == meta:  # or a writer is at work, and has replaced files meanwhile: look again
                raise
        else:
            return


def _verify(folder: str, meta: Mapping[str, Any], always: bool) -> None:
    sums, segments = _sums(folder), _segments(meta)
    names = _files(folder, meta)
    gone = sorted(name for name in sums.keys() - set(names) if name.partition(".")[0] in segments)
    if gone:
        raise IndexDamaged(f"{os.path.join(folder, gone[0])} is gone", AGAIN)
    if set(names) - sums.keys():  # something was committed since, by a writer that was killed
        names = [name for name in names if name in sums and name != META]
    elif any(name.partition(".")[0] not in segments for name in sums if name != META):
        names.remove(META)  # or joined
    for name in names:
        size, total, changed = sums[name]
        path = os.path.join(folder, name)
        is_intact(path, size, FileStamp(total, changed), AGAIN, always=always)
        if os.path.getsize(path) != size:
            raise IndexDamaged(f"{path} is longer than was written", AGAIN)


def _meta(folder: str) -> dict[str, Any]:
    path = os.path.join(folder, META)
    try:
        with open(path, "rb") as file:
            meta: dict[str, Any] = json.loads(file.read())
        _segments(meta)
        return meta
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise IndexDamaged(f"{path} cannot be read: {error}", AGAIN) from error


def _segments(meta: Mapping[str, Any]) -> set[str]:
    return {str(segment["segment_id"]).replace("-", "") for segment in meta["segments"]}


def _files(folder: str, meta: Mapping[str, Any]) -> list[str]:
    """Those that count, with the one that says so; all of a segment must be there."""
    segments = _segments(meta)
    found = sorted(name for name in os.listdir(folder) if name.partition(".")[0] in segments)
    lost = segments - {name.partition(".")[0] for name in found}
    if lost:
        raise IndexDamaged(f"{folder}: the files of a segment are gone", AGAIN)
    return [META, *found]


def _sums(folder: str) -> Sums:
    """What is remembered; nothing by an older version."""
    path = os.path.join(folder, SUMS)
    try:
        with open(path, "rb") as file:
            held = json.loads(file.read())
        if held["sum"] != _sum(held["files"]):
            raise ValueError("its own sum is another")
        return dict(held["files"])
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, KeyError) as error:
        raise IndexDamaged(f"{path} cannot be read: {error}", AGAIN) from error


def _sum(sums: Sums) -> int:
    return crc32(json.dumps(sums, sort_keys=True).encode())
