"""Interface of record formats: readers of external records into entities."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from watersmeet.core.entities import Entity, Refused, Tool
from watersmeet.core.entity_types import EntityType


@dataclass(frozen=True, slots=True)
class Origin:
    """Origin of a record, with defaults for what the record does not state."""

    where: str  # name of the record in messages
    name: str = ""  # of the file or folder, for a record without a name
    kind: str = ""  # for records without a kind
    location: str = ""  # where to open it
    types: Mapping[str, EntityType] = field(default_factory=dict)  # that the settings declare


class Format(Protocol):
    """A record format. `read` yields tools for records that do not name their server."""

    def knows(self, value: Any) -> bool: ...
    def read(self, value: Any, origin: Origin) -> Iterator[Entity | Tool | Refused]: ...
