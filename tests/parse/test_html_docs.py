"""Real pages: Debian's documentation of Python and PostgreSQL, where it is on the machine.

`.ci/run` unpacks the packages python3-doc and postgresql-doc below build/debian-docs; installed ones are used as well.
The gold of Python's pages is their reStructuredText source, which the package has, without its markup. PostgreSQL's
package has no source: its gold is the text between the navigation bars, collected with the standard library's parser.
That is weaker, since it comes from the same page; benchmarks/html_gold.py makes a better one from the DocBook source.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found
from watersmeet.parse.html import Html

pytestmark = pytest.mark.slow
pytest.importorskip("selectolax")

ROOTS = (Path(__file__).parents[2] / "build/debian-docs/usr/share/doc", Path("/usr/share/doc"))
SAMPLE = 60
WORD = re.compile(r"\w+")
ADDRESS = re.compile(r"\]\([^()\s]*\)")
ROLE = re.compile(r":[a-z:+-]+:`[!~]?([^`<]*?)(?: ?<[^`]*>)?`")
RULE = re.compile(r"([=*\-~^\"'#+.])\1+")


def folder(pattern: str) -> Path:
    for root in ROOTS:
        for found in sorted(root.glob(pattern), reverse=True):
            if found.is_dir():
                return found
    pytest.skip(
        f"no {pattern} below {' or '.join(map(str, ROOTS))}: install python3-doc and postgresql-doc, or see .ci/run"
    )


def sample(pages: list[Path]) -> list[Path]:
    return pages[:: max(1, len(pages) // SAMPLE)][:SAMPLE]


def words(text: str) -> Counter[str]:
    return Counter(word.casefold() for word in WORD.findall(ADDRESS.sub("]", text)))


def f1(found: Counter[str], gold: Counter[str]) -> float:
    return 2 * (found & gold).total() / (found.total() + gold.total())


def heading(text: str) -> str:
    """Words of a heading without its number, which no source has."""
    found = WORD.findall(text.casefold())
    while len(found) > 1 and found[0].isdecimal():
        del found[0]
    return " ".join(found)


def read(page: Path) -> Document:
    (document,) = Html().parse(Found(page.name, str(page), "0"), page.read_bytes())
    assert isinstance(document, Document), document
    return document


def headings(document: Document) -> Counter[str]:
    return Counter(heading(section.headings[-1]) for section in document.sections if section.level)


def text(document: Document) -> str:
    parts = (
        [section.headings[-1]] * bool(section.level) + [b.text for b in section.blocks] for section in document.sections
    )
    return "\n".join(line for part in parts for line in part)


def titles(source: str) -> Iterator[str]:
    """Titles of a reStructuredText: lines above a rule that is as long."""
    lines = source.split("\n")
    for line, rule in pairwise(lines):
        if line and not line[0].isspace() and RULE.fullmatch(rule) and not RULE.fullmatch(line):
            plain = ROLE.sub(r"\1", line).replace("`", "")
            if len(rule) >= len(line) and not line.startswith(".. "):
                yield heading(plain)


def test_python_docs():
    root = folder("python3.*/html/_sources").parent
    pages = [page for page in sorted(root.rglob("*.html")) if (root / "_sources" / source_of(page, root)).is_file()]
    wanted = matched = 0
    scores = []
    for page in sample(pages):
        source = (root / "_sources" / source_of(page, root)).read_text("utf8")
        document = read(page)
        gold = Counter(titles(source))
        wanted += gold.total()
        matched += (gold & headings(document)).total()
        scores.append(f1(words(text(document)), words(ROLE.sub(r"\1", source))))
        assert all(section.place.anchor for section in document.sections if section.level), page
        assert "¶" not in text(document), page
    assert wanted > 200
    assert matched >= 0.98 * wanted
    assert sorted(scores)[len(scores) // 2] > 0.9


def source_of(page: Path, root: Path) -> str:
    return page.relative_to(root).with_suffix(".rst.txt").as_posix()


INLINE = ("a", "code", "em", "span", "strong", "sub", "sup", "wbr")


class Plain(HTMLParser):
    """Text and headings of a page between the navigation bars."""

    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self.headings: list[str] = []
        self._bars = 0
        self._title: list[str] | None = None

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        kind = dict(attributes).get("class") or ""
        if tag not in INLINE:
            self.parts.append(" ")
        if tag == "div":
            self._bars += bool(self._bars) or kind in ("navheader", "navfooter")
        if tag in ("h1", "h2", "h3", "h4", "h5"):
            self._title = []

    def handle_endtag(self, tag: str) -> None:
        if tag == "div" and self._bars:
            self._bars -= 1
        if self._title is not None and tag in ("h1", "h2", "h3", "h4", "h5"):
            self.headings.append(heading("".join(self._title)))
            self._title = None

    def handle_data(self, data: str) -> None:
        if not self._bars:
            self.parts.append(data.replace("\u200b", ""))
            if self._title is not None:
                self._title.append(data.replace("\u200b", ""))


def test_postgresql_docs():
    pages = sorted(folder("postgresql-doc-*/html").glob("*.html"))
    wanted = matched = linked = 0
    for page in sample(pages):
        source = page.read_text("utf8")
        plain = Plain()
        plain.feed("<body" + source.partition("<body")[2])
        document = read(page)
        gold = Counter(one for one in plain.headings if one not in ("note", "tip", "warning", "caution", "important"))
        wanted += gold.total()
        matched += (gold & headings(document)).total()
        linked += any((page.parent / link.target).is_file() for link in document.links)
        assert f1(words(text(document)), words("".join(plain.parts))) > 0.95, page
    assert wanted > 100
    assert matched >= 0.98 * wanted
    assert linked > SAMPLE // 2
