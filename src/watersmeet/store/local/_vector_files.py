"""The files of a vector store.

A generation is five files that only grow: row numbers, codes, scales, exact vectors, drops. The commit file names
the generation and the length of each. What lies beyond those lengths was never committed and is cut off by the next
writer.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO

from watersmeet.core.errors import IndexDamaged
from watersmeet.core.files import private
from watersmeet.store.local import _file_commits as commits
from watersmeet.store.local._file_checks import FileStamp, sum_of

PARTS = ("rows", "codes", "scales", "exact", "drops")


@dataclass(frozen=True, slots=True)
class Commit:
    """How much of which generation counts. `rows` and `drops` are numbers of entries."""

    dimension: int
    generation: int = 0
    rows: int = 0
    drops: int = 0
    sums: Mapping[str, Sequence[int]] = field(default_factory=dict)
    """Of each part, what is remembered to tell whether it is damaged; an older version has none."""

    def verify(self, folder: Path, *, always: bool = False) -> None:
        for part in PARTS:
            kept = FileStamp(*self.sums[part]) if part in self.sums else None
            commits.verify(self.file(folder, part), self.size(part), kept, always=always)

    def sum(self, folder: Path, part: str) -> int:
        """The sum of what counts of this part; of an older version it is made now."""
        if part in self.sums:
            return self.sums[part][0]
        return sum_of(str(self.file(folder, part)), self.size(part)) if self.size(part) else 0

    def size(self, part: str) -> int:
        """How many bytes of this part count."""
        each = {"rows": 8, "codes": self.dimension, "scales": 8, "exact": 2 * self.dimension, "drops": 16}
        return each[part] * (self.drops if part == "drops" else self.rows)

    def file(self, folder: Path, part: str) -> Path:
        return folder / f"{self.generation:06d}.{part}"

    def is_old(self, name: str, part: str) -> bool:
        """Whether a file belongs to another generation."""
        return part in PARTS and int(name) != self.generation


def open_tail(folder: Path, commit: Commit) -> dict[str, IO[bytes]]:
    """Every part of this generation, cut to what counts and open at its end."""
    files: dict[str, IO[bytes]] = {}
    try:
        for part in PARTS:
            path, size = commit.file(folder, part), commit.size(part)
            file = files[part] = open(path, "r+b" if size else "w+b", opener=private)  # noqa: SIM115
            commits.verify(path, size, None)
            if file.seek(0, os.SEEK_END) > size:  # a file that is mapped cannot be cut everywhere
                file.truncate(size)
            file.seek(size)
    except OSError as error:
        close_all(files)
        raise commits.problem(folder, error) from error
    except IndexDamaged:
        close_all(files)
        raise
    return files


def close_all(files: dict[str, IO[bytes]]) -> None:
    """Close without minding what could not be written: it was not committed."""
    for file in files.values():
        try:
            file.close()
        except OSError:
            continue
    files.clear()


def retire(folder: Path, commit: Commit) -> None:
    """Note in a generation's files when it stopped counting."""
    for part in PARTS:
        if commit.file(folder, part).exists():
            os.utime(commit.file(folder, part))
