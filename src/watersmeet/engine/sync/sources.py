"""Sources by address."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from dataclasses import field

from watersmeet.core.errors import SourceProblem, UnknownComponent
from watersmeet.core.indexing import Located, Source
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.engine.components import available, build, find
from watersmeet.engine.settings.settings import Settings, cache_folder
from watersmeet.engine.sync.parsers import endings, media_types, sizes, whole_names

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:|(?:git|history)\+", re.IGNORECASE)
_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://")


def is_address(uri: str) -> bool:
    """Whether this is the address of something, not a path."""
    return _SCHEME.match(uri) is not None and not os.path.isabs(uri)  # C:\\ is a path


@dataclass(slots=True)
class Sources:
    """The sources of the settings, created when first needed."""

    settings: Settings
    public_only: bool = False
    """Whether no private address is opened, even one that the settings allow."""
    _sources: dict[str, Source] = field(default_factory=dict)

    @property
    def of_paths(self) -> str:
        """The source of paths and of addresses without a source of their own."""
        kind: str = self.settings.section("index").source
        return kind

    def kind_of(self, uri: str) -> str:
        return self._match(uri)[0] or self.of_paths

    def _match(self, uri: str) -> tuple[str, str]:
        """The kind of source by the scheme of an address, and the scheme; empty if there is none."""
        if is_address(uri):
            for name in available("source"):
                for scheme in find("source", name).schemes:
                    if uri[: len(scheme)].lower() == scheme.lower():
                        return name, scheme
        return "", ""

    def of(self, kind: str) -> Source:
        if kind not in self._sources:
            table = self.settings.of("source", kind)
            self._sources[kind] = build(
                "source",
                kind,
                table,
                endings=endings(),
                names=whole_names(),
                sizes=sizes(),
                media_types=media_types(),
                cache=cache_folder(),
                public_only=self.public_only,
            )
        return self._sources[kind]

    def is_slow(self, kind: str) -> bool:
        """Whether a source is slow. False for one that is not installed, which raises when it is used."""
        try:
            return find("source", kind).slow is True
        except UnknownComponent:
            return False

    def is_remote(self, kind: str, uri: str) -> bool:
        """Whether a network is needed to read an address. False if its source is not installed, or refuses it."""
        try:
            return self.of(kind).is_remote(uri)
        except (UnknownComponent, SourceProblem):
            return False

    def locate(self, uri: str, kind: str = "") -> tuple[str, Located]:
        """Locate an address, with the kind of its source: the given one, else by its scheme, in whatever case."""
        if kind:
            return kind, self.of(kind).locate(uri)
        kind, scheme = self._match(uri)
        if not kind:
            self._refuse_unknown_scheme(uri)
        kind = kind or self.of_paths
        return kind, self.of(kind).locate(scheme + uri[len(scheme) :])

    def _refuse_unknown_scheme(self, uri: str) -> None:
        """Raise if this can only be an address: as a path it would be one that does not exist."""
        url = _URL.match(uri)
        if url is None or self.of_paths != "folder" or os.path.exists(uri):
            return
        beginnings = sorted({scheme for name in available("source") for scheme in find("source", name).schemes})
        raise SourceProblem(
            f"no source reads addresses that begin with {url[1]}://",
            f"those that are read begin with {', '.join(beginnings)}; "
            "a file or folder is named by its path, with ./ before one that looks like an address",
        )

    def gone(self, uris: Sequence[str]) -> list[str]:
        """Addresses that no longer exist."""
        return [uri for uri in uris if not self.of(self.kind_of(uri)).locate(uri).exists]
