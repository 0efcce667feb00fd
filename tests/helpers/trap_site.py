"""A site of 300 pages full of traps: loops, a calendar, a gzip bomb, a slow drip, redirects to private addresses."""

from __future__ import annotations

import gzip
import re
from functools import cache
from typing import Any

from pages import Answer, Website, moved, page

CHAPTERS = 20
SECTIONS = 14
REAL = 1 + CHAPTERS + CHAPTERS * SECTIONS - 1
PRIVATE = ("http://169.254.169.254/latest/meta-data/", "http://10.0.0.1/", "http://[::1]/", "http://2130706433/")
_CALENDAR = re.compile(r"/docs/calendar/(\d{4})/(\d{2})$")
_MAZE = re.compile(r"/docs/maze/(?:deeper/)*(?:\?n=\d+)?$")
_WORDS = "auk bee cod doe elk fox gnu hen ibis jay kite lark mole newt owl pike quail rook swan tern".split()


def build(site: Website) -> dict[str, str]:
    """Fill a site; the title of each real page by its path."""
    titles = {"/docs/": "Home"}
    for number in range(CHAPTERS):
        chapter = f"/docs/{_WORDS[number]}/"
        titles[chapter] = f"Chapter {_WORDS[number]}"
        for section in range(SECTIONS):
            titles[f"{chapter}{_WORDS[section]}-{section}"] = f"Section {_WORDS[number]} {section}"
    titles.popitem()  # so that there are 300
    chapters = [path for path in titles if path.endswith("/") and path != "/docs/"]
    for path, title in titles.items():
        inner = [other for other in titles if other.startswith(path)][: SECTIONS + 1] if path in chapters else []
        spellings = [*_spellings(path), *(_spellings(other)[len(other) % 3] for other in inner)]
        traps = _traps(path) if path in ("/docs/", *chapters) else ["/docs/", "../"]
        links = [*(chapters if path == "/docs/" else []), *spellings, *traps]
        site.pages[path] = page(title, *links, text=f"All about {title.lower()}: {path.strip('/')} and its habits.")
    site.pages |= {f"{path}index.html": site.pages[path] for path in chapters}
    site.pages |= {path.rstrip("/"): moved(path) for path in chapters}
    site.pages["/robots.txt"] = Answer(b"User-agent: *\nDisallow: /docs/secret/\n", type="text/plain")
    site.pages["/docs/bomb"] = Answer(_bomb(), headers={"Content-Encoding": "gzip"})
    site.pages["/docs/drip"] = Answer(act=_drip)
    site.pages |= {f"/docs/out/{number}": moved(place) for number, place in enumerate(PRIVATE)}
    site.pages |= {"/docs/round": moved("/docs/and/round"), "/docs/and/round": moved("/docs/round")}
    site.pages |= {f"/docs/broken/{status}": Answer(b"down", status) for status in (500, 502, 503)}
    site.pages["/docs/secret/page"] = page("Secret", "/docs/")
    site.otherwise = _endless
    return titles


def _spellings(path: str) -> list[str]:
    """One page in several spellings."""
    index = f"{path}index.html" if path.count("/") == 3 and path.endswith("/") else path
    return [f"{path}#top", f"{path}?utm_source=news", index, path.replace("/docs/", "/docs/./x/../", 1)]


def _traps(path: str) -> list[str]:
    return [
        *("/docs/calendar/2026/11", "/docs/maze/", f"/docs/maze/?n={len(path)}", "/docs/bomb", "/docs/drip"),
        *(f"/docs/out/{number}" for number in range(len(PRIVATE))),
        *("/docs/round", "/docs/secret/page", "/docs/gone", *PRIVATE),
        *(f"/docs/broken/{status}" for status in (500, 502, 503)),
        f"/docs/owl/?session={'x' * 400}",
    ]


def _endless(path: str) -> Answer | None:
    """Pages without end: a calendar, and a maze that only gets deeper."""
    if match := _CALENDAR.match(path):
        month = int(match[1]) * 12 + int(match[2])
        further = f"/docs/calendar/{month // 12:04}/{month % 12 + 1:02}"
        return page(f"Month {match[1]} {match[2]}", further, "/docs/")
    if _MAZE.match(path):
        return page("Maze", "deeper/", "?n=1", *(f"/docs/maze/?n={len(path) * 7 + n}" for n in range(5)), text=path)
    return None


@cache
def _bomb() -> bytes:
    return gzip.compress(bytes(100 << 20), 9)


def _drip(handler: Any) -> None:
    handler.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<html><body>")
    while not handler.server.over.wait(0.1):
        handler.wfile.write(b"x")
