"""What a predecessor's index has: the sources it lists, and the texts that it stored."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import dataclass, field

from watersmeet.core.errors import SourceProblem
from watersmeet.core.system import is_within

MAX_TEXTS = 1_000_000


@dataclass(frozen=True, slots=True)
class StoredText:
    """A document as the predecessor stored it."""

    name: str  # below its source, or its address
    text: str
    file: str = ""  # where it was read from, if that was a file


@dataclass(slots=True)
class StoredSource:
    """A folder, file or address that the predecessor indexed."""

    address: str  # as it is to be synced; empty: only texts are left
    name: str  # as the predecessor calls it
    collection: str = ""
    meta: dict[str, str] = field(default_factory=dict)
    texts: list[StoredText] = field(default_factory=list)

    def gone(self) -> list[StoredText]:
        """The texts whose file is not there any more."""
        return [one for one in self.texts if not (one.file and os.path.isfile(one.file))]


@dataclass(frozen=True, slots=True)
class StoredIndex:
    """An index of a predecessor."""

    program: str
    place: str
    sources: list[StoredSource]


def first_existing(name: str, folders: Iterable[str]) -> str:
    """A relative path in the first of these folders that has it; empty: none has."""
    if os.path.isabs(name):
        return name if os.path.exists(name) else ""
    return next((path for folder in folders if os.path.exists(path := os.path.join(folder, name))), "")


def refuse_home(path: str) -> str:
    """Raise for a folder that nobody means to index because a file of a stranger lists it."""
    if is_within(os.path.realpath(os.path.expanduser("~")), os.path.realpath(path)):
        raise SourceProblem(f"{path} is listed, which is all of your files", "`watersmeet sync` takes what you mean")
    return path
