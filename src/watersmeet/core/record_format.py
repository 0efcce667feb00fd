"""The seam between a record as somebody else wrote it and an entity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from watersmeet.core.entities import Entity, Refused, Tool


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a record stands, and what goes without saying there."""

    where: str  # how to say which record it is
    name: str = ""  # of the file or folder, for a record that has none
    kind: str = ""  # of records that do not say what they are
    location: str = ""  # where to open it


class Format(Protocol):
    """A form that records come in. `read` gives tools where it does not say whose they are."""

    def knows(self, value: Any) -> bool: ...
    def read(self, value: Any, origin: Origin) -> Iterator[Entity | Tool | Refused]: ...
