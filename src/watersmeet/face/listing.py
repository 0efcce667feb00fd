"""Parameters of lists of documents and tags, declared once: flags and REST parameters are made from them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from watersmeet.core.options import option
from watersmeet.engine.query.documents import ORDERS


@dataclass(frozen=True, slots=True)
class DocumentFilter:
    """Which documents: filters as in search."""

    filter: tuple[str, ...] = option(
        (), "only documents with this value, as in search, such as status=done or path!=drafts/**", metavar="K=V"
    )
    kind: tuple[str, ...] = option((), "only documents of this kind", metavar="KIND")
    tag: tuple[str, ...] = option((), "only documents with this tag or one below it", metavar="TAG")
    collection: tuple[str, ...] = option((), "only documents of this collection", metavar="NAME")
    since: str = option("", "only documents changed since this date: 2026-01-31, or 7d, 2w, 3m, 1y ago", metavar="DATE")
    before: str = option("", "only documents changed before this date", metavar="DATE")

    def options(self) -> dict[str, Any]:
        """The filters as options of the engine; none if all documents are meant."""
        keys = {"kind": self.kind, "tag": self.tag, "collection": self.collection}
        filters = [*self.filter, *(f"{key}={value}" for key, values in keys.items() for value in values)]
        found = {"filters": filters, "since": self.since, "before": self.before}
        return {name: value for name, value in found.items() if value}


@dataclass(frozen=True, slots=True)
class ListParams(DocumentFilter):
    """A list of documents."""

    path: str = option(
        "",
        "only documents whose id matches this glob, such as guides/**; without a slash, whose file name does",
        longest=1000,
        metavar="GLOB",
    )
    sort: str = option("path", "the order: by id, by title, or the last changed first", choices=lambda: ORDERS)

    def options(self) -> dict[str, Any]:
        found = DocumentFilter.options(self)
        return found | ({"filters": [*found.get("filters", ()), f"path={self.path}"]} if self.path else {})


@dataclass(frozen=True, slots=True)
class TagParams(DocumentFilter):
    """A list of tags."""

    prefix: str = option("", "only tags that begin with this", metavar="PREFIX")
