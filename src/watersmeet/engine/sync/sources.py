"""Which source reads an address."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from watersmeet.core.errors import UnknownComponent
from watersmeet.core.indexing import Located, Source
from watersmeet.engine.components import available, build, find
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.parsers import endings

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


@dataclass(slots=True)
class Sources:
    """The sources of the settings, each made when it is first needed."""

    settings: Settings
    _made: dict[str, Source] = field(default_factory=dict)

    @property
    def of_paths(self) -> str:
        """The kind that reads what is no address of another."""
        kind: str = self.settings.section("index").source
        return kind

    def kind_of(self, uri: str) -> str:
        if _SCHEME.match(uri):
            for name in available("source"):
                if uri.startswith(find("source", name).schemes):
                    return name
        return self.of_paths

    def of(self, kind: str) -> Source:
        if kind not in self._made:
            self._made[kind] = build("source", kind, self.settings.of("source", kind), endings=endings())
        return self._made[kind]

    def is_slow(self, kind: str) -> bool:
        """One that is no longer installed is none: whoever needs it says so."""
        try:
            return find("source", kind).slow is True
        except UnknownComponent:
            return False

    def locate(self, uri: str, kind: str = "") -> tuple[str, Located]:
        """What an address is, and the kind that reads it: that which it has in an index, else by how it begins."""
        kind = kind or self.kind_of(uri)
        return kind, self.of(kind).locate(uri)

    def gone(self, uris: Sequence[str]) -> list[str]:
        """Those of which their source says that there is nothing any more."""
        return [uri for uri in uris if not self.locate(uri)[1].exists]
