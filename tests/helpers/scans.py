"""Scans of a website on this machine, with what they offer by kind."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pages import Website, page
from watersmeet.core.errors import SourceProblem
from watersmeet.core.indexing import Cut, Found, Gone, Note, Offer, Same, Skipped, SourceRoot, Whole
from watersmeet.source.site import Site


class Scan:
    """The offers of a scan, by kind."""

    def __init__(self, offers: Iterator[Offer]) -> None:
        self.offers: list[Offer] = []
        self.problem = ""
        try:
            for offer in offers:
                self.offers.append(offer)
                self.problem = offer.reason if isinstance(offer, Cut) else ""
        except SourceProblem as problem:
            self.problem = str(problem)
        self.found = {one.name: one for one in self.offers if isinstance(one, Found)}
        self.same = {one.name: one.stamp for one in self.offers if isinstance(one, Same)}
        self.gone = {one.name for one in self.offers if isinstance(one, Gone)}
        self.skipped = {one.path: one.reason for one in self.offers if isinstance(one, Skipped)}
        self.notes = " | ".join(one.text for one in self.offers if isinstance(one, Note))
        self.whole = next((one for one in self.offers if isinstance(one, Whole)), None)

    @property
    def stamps(self) -> dict[str, str]:
        return {name: one.stamp for name, one in self.found.items()}

    @property
    def cursor(self) -> str:
        assert self.whole is not None
        return self.whole.cursor


def source(web: Website, **options: Any) -> Site:
    return Site(allowed=[web.host], **{"rate": 0.0, "timeout": 5.0, **options})


def scan(
    web: Website, path: str = "/docs/", known: dict[str, str] | None = None, cursor: str = "", **options: Any
) -> Scan:
    limit = options.pop("limit", 0)
    return Scan(source(web, **options).scan(SourceRoot("site", web.url + path, cursor, limit), known or {}))


def texts(web: Website, path: str = "/docs/", **options: Any) -> dict[str, str]:
    """Contents, read as they are offered, by name."""
    site = source(web, **options)
    found = {}
    for one in site.scan(SourceRoot("site", web.url + path), {}):
        if isinstance(one, Found):
            content = site.read(one)
            assert isinstance(content, bytes)
            found[one.name] = content.decode("utf-8-sig")
    return found


def small(web: Website) -> None:
    web.pages |= {
        "/docs/": page("Home", "a", "b/", "/elsewhere", "https://example.org/docs/c"),
        "/docs/a": page("A", "/docs/", "b/#part", "mailto:me@example.org"),
        "/docs/b/": page("B", "../a?utm_source=x", "deep/c"),
        "/docs/b/deep/c": page("C"),
        "/elsewhere": page("Elsewhere"),
    }
