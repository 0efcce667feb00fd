"""Slides of an OpenDocument presentation. The library that reads Office files leaves out shapes and titles."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from watersmeet.parse._converted import markdown_table
from watersmeet.parse._office_kind import archive_problems

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element

_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
_TEXT, _TABLE = f"{{{_ODF}text:1.0}}", f"{{{_ODF}table:1.0}}"
_DRAW, _SHOW = f"{{{_ODF}drawing:1.0}}", f"{{{_ODF}presentation:1.0}}"
_LINK = "{http://www.w3.org/1999/xlink}href"
_MAX_PART = 50_000_000
_MAX_DEPTH = 60
"""Levels of elements that are read; deeper ones are left out."""
_MAX_BLANKS = 100


@dataclass(slots=True)
class Slide:
    title: str = ""
    blocks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def odp_slides(content: bytes) -> list[Slide]:
    """Slides in order; empty if the file cannot be read so."""
    import io
    import zipfile
    from xml.etree.ElementTree import fromstring

    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:

            def part(name: str) -> Element:
                with archive.open(name) as stream:
                    return fromstring(stream.read(_MAX_PART))  # noqa: S314 - in the child, and expat limits entities

            root = part("content.xml")
            charts = {name: part(name) for name in archive.namelist() if _is_chart(name)}
    except archive_problems():
        return []
    return [_slide(page, charts) for page in root.iter(f"{_DRAW}page")]


def _is_chart(name: str) -> bool:
    return name.startswith("Object ") and name.endswith("/content.xml") and name.count("/") == 1


def _slide(page: Element, charts: dict[str, Element]) -> Slide:
    slide = Slide()
    for child in page:
        if child.tag == f"{_SHOW}notes":
            slide.notes += _blocks(child, charts, 0)
        elif child.get(f"{_SHOW}class") == "title" and not slide.title:
            slide.title = " ".join(" ".join(_blocks(child, charts, 0)).split())
        else:
            slide.blocks += _blocks(child, charts, 0)
    return slide


def _blocks(element: Element, charts: dict[str, Element], depth: int) -> Iterator[str]:
    """Paragraphs, lists and tables of a shape, in order."""
    if depth > _MAX_DEPTH:
        return
    if element.tag in (f"{_TEXT}p", f"{_TEXT}h"):
        yield _line(element)
    elif element.tag == f"{_TEXT}list":
        yield "\n".join(_items(element, 0))
    elif element.tag == f"{_TABLE}table":
        yield _table(element)
    elif element.tag == f"{_DRAW}object":
        chart = charts.get(element.get(_LINK, "").removeprefix("./") + "/content.xml")
        if chart is not None:
            yield from map(_table, chart.iter(f"{_TABLE}table"))
    else:
        for child in element:
            yield from _blocks(child, charts, depth + 1)


def _items(element: Element, depth: int) -> Iterator[str]:
    if depth > _MAX_DEPTH:
        return
    for item in element:
        for child in item:
            if child.tag == f"{_TEXT}list":
                yield from _items(child, depth + 1)
            elif _line(child):
                yield f"{'  ' * depth}- {_line(child)}"


def _table(element: Element) -> str:
    rows = []
    for row in element.iter(f"{_TABLE}table-row"):
        cells = [cell for cell in row if cell.tag.endswith("table-cell")]
        rows.append([" ".join(map(_line, cell.iter(f"{_TEXT}p"))) for cell in cells])
    return markdown_table(rows)


def _line(element: Element) -> str:
    """Text of a paragraph; several blanks, tabs and line breaks are elements."""
    parts = []
    for one in element.iter():
        if one.tag == f"{_TEXT}s":
            count = one.get(f"{_TEXT}c", "1")
            parts.append(" " * (min(int(count), _MAX_BLANKS) if count.isdecimal() else 1))
        elif one.tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
            parts.append("\t" if one.tag.endswith("tab") else "\n")
        parts.append(one.text or "")
        if one is not element:
            parts.append(one.tail or "")
    return "".join(parts).strip()
