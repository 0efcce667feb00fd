"""Slides of PowerPoint and OpenDocument presentations.

The library that reads Office files puts a blank between any two runs of text of a PowerPoint slide, also in words,
gives notes to other slides, and leaves out shapes and titles of OpenDocument. So slides are read here, from the XML.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field
from itertools import islice
from posixpath import dirname, normpath
from typing import TYPE_CHECKING

from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.parse._office_kind import archive_problems
from watersmeet.parse._tables import compact_table

if TYPE_CHECKING:
    from xml.etree.ElementTree import Element
    from zipfile import ZipFile

_MAX_PART = 50_000_000
"""Bytes of a part; what follows makes it unreadable."""
_MAX_SLIDES = 10_000
_MAX_DEPTH = 60
"""Levels of elements that are read; deeper ones are left out."""
_MAX_BLANKS = 100
_PICTURES = (".jpg", ".jpeg", ".png", ".gif", ".svg", ".emf", ".wmf", ".bmp", ".tif", ".tiff", ".webp")
_LEFT_OUT = ("dt", "ftr", "sldNum", "hdr")
"""Placeholders of a slide for date, footer and number."""


@dataclass(slots=True)
class Slide:
    title: str = ""
    blocks: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    links: list[tuple[str, str]] = field(default_factory=list)
    """Addresses and texts of links to other files."""


def slides(content: bytes, kind: str) -> list[Slide]:
    """Slides in order; empty for other kinds, and if the file cannot be read so."""
    import io
    import zipfile

    if kind not in ("pptx", "odp"):
        return []
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return _power_point(archive) if kind == "pptx" else _open_document(archive)
    except archive_problems():
        return []


def _part(archive: ZipFile, name: str) -> Element:
    from xml.etree.ElementTree import fromstring

    with archive.open(name) as stream:
        return fromstring(stream.read(_MAX_PART))  # noqa: S314 - in the child process, and expat limits entities


def picture_text(described: str) -> str:
    """Text that stands for a picture; empty if it is only the name of its file. Programs add a second paragraph."""
    text = described.strip().partition("\n")[0].strip()
    return "" if text == "image" or text.lower().endswith(_PICTURES) else text


def _name(element: Element) -> str:
    """Name of an element without its namespace: there are two for each, by the edition of the format."""
    return element.tag.rpartition("}")[2]


def _value(element: Element, name: str) -> str:
    """Value of an attribute, whatever its namespace."""
    return next((value for key, value in element.attrib.items() if key.rpartition("}")[2] == name), "")


def _inner(element: Element, *names: str) -> Iterator[Element]:
    return (one for one in element.iter() if _name(one) in names)


# ---------------------------------------------------------------- PowerPoint


def _power_point(archive: ZipFile) -> list[Slide]:
    main = "ppt/presentation.xml"
    targets = _targets(archive, main)
    found: list[Slide] = []
    for one in _inner(_part(archive, main), "sldId"):
        ids = [value for key, value in one.attrib.items() if key.endswith("}id")]
        place = targets.get(ids[0], ("", ""))[1] if ids else ""
        if place and len(found) < _MAX_SLIDES:
            found.append(_power_point_slide(archive, place))
    return found


def _targets(archive: ZipFile, part: str) -> dict[str, tuple[str, str]]:
    """Kinds and places of what a part refers to, by id; addresses outside of the file as they are."""
    folder, _, name = part.rpartition("/")
    found: dict[str, tuple[str, str]] = {}
    try:
        relations = _part(archive, f"{folder}/_rels/{name}.rels")
    except KeyError:
        return found
    for one in relations:
        target = one.get("Target", "")
        if one.get("TargetMode") != "External":
            target = normpath(target[1:] if target.startswith("/") else f"{dirname(part)}/{target}")
        found[one.get("Id", "")] = (one.get("Type", "").rpartition("/")[2], target)
    return found


def _power_point_slide(archive: ZipFile, place: str) -> Slide:
    slide = Slide()
    targets = _targets(archive, place)
    _shapes(_part(archive, place), targets, slide, 0)
    for kind, target in targets.values():
        if kind == "chart":
            chart = _part(archive, target)
            slide.blocks += [_cell(one) for one in islice(_inner(chart, "title"), 1)]
            slide.blocks.append(_chart(chart))
        elif kind == "diagramData":
            lines = (
                "".join(one.text or "" for one in _inner(line, "t")) for line in _inner(_part(archive, target), "p")
            )
            slide.blocks.append("\n".join(line for line in lines if line.strip()))
        elif kind == "notesSlide":
            for shape in _inner(_part(archive, target), "sp"):
                if _placeholder(shape) == "body":
                    slide.notes += [text for text, _ in _paragraphs(shape, {}, slide)]
    return slide


def _shapes(element: Element, targets: Mapping[str, tuple[str, str]], slide: Slide, depth: int) -> None:
    for child in element:
        name = _name(child)
        if name == "sp":
            _shape(child, targets, slide)
        elif name == "pic":
            slide.blocks += [picture_text(one.get("descr", "")) for one in _inner(child, "cNvPr")]
        elif name == "tbl":
            rows = [[_cell(cell) for cell in row if _name(cell) == "tc"] for row in child if _name(row) == "tr"]
            slide.blocks.append(compact_table(rows))
        elif name != "Fallback" and depth < _MAX_DEPTH:  # an older form of what is beside it
            _shapes(child, targets, slide, depth + 1)


def _shape(shape: Element, targets: Mapping[str, tuple[str, str]], slide: Slide) -> None:
    """Text of a shape: the title, or paragraphs, of which those with a mark before them are one list."""
    kind = _placeholder(shape)
    if kind in _LEFT_OUT:
        return
    lines = list(_paragraphs(shape, targets, slide))
    if kind in ("title", "ctrTitle") and not slide.title:
        slide.title = " ".join(" ".join(text for text, _ in lines).split())
        return
    items: list[str] = []
    for text, level in (*lines, ("", -1)):
        if level >= 0:
            items.append(f"{'  ' * level}- " + text.replace("\n", " "))
            continue
        slide.blocks += ["\n".join(items), text]
        items = []


def _placeholder(shape: Element) -> str:
    """What a shape is for: `title`, `body`, `sldNum`; `obj` for content; empty if it is no placeholder."""
    holder = next(_inner(shape, "ph"), None)
    return "" if holder is None else holder.get("type", "obj")


def _paragraphs(shape: Element, targets: Mapping[str, tuple[str, str]], slide: Slide) -> Iterator[tuple[str, int]]:
    """Paragraphs with their level in a list; -1 outside of lists."""
    for paragraph in _inner(shape, "p"):
        text = _runs(paragraph, targets, slide)
        if not text.strip():
            continue
        layout = next((one for one in paragraph if _name(one) == "pPr"), None)
        marks = {_name(one) for one in layout} if layout is not None else set()
        level = layout.get("lvl", "0") if layout is not None else "0"
        listed = "buNone" not in marks and (bool(marks & {"buChar", "buAutoNum", "buBlip"}) or level != "0")
        yield text.strip(), min(int(level), 9) if listed and level.isdecimal() else -1


def _runs(paragraph: Element, targets: Mapping[str, tuple[str, str]], slide: Slide) -> str:
    parts = []
    for run in paragraph:
        if _name(run) == "br":
            parts.append("\n")
        elif _name(run) in ("r", "fld"):
            text = "".join(one.text or "" for one in _inner(run, "t"))
            link = next((_value(one, "id") for one in _inner(run, "hlinkClick")), "")
            kind, address = targets.get(link, ("", ""))
            if kind == "hyperlink" and text.strip():
                slide.links.append((address, text))
                text = f"[{text}]({address})" if address != text.strip() else text
            parts.append(text)
        elif _name(run) == "m" or _name(run).startswith("oMath"):
            parts.append("".join(one.text or "" for one in _inner(run, "t")))
    return "".join(parts)


def _chart(chart: Element) -> str:
    """Table of the values that a chart shows: a row for each category, a column for each series."""
    header, rows = [""], dict[str, list[str]]()
    for series in _inner(chart, "ser"):
        title = next((_points(one) for one in series if _name(one) == "tx"), [])
        names = next((_points(one) for one in series if _name(one) in ("cat", "xVal")), [])
        values = next((_points(one) for one in series if _name(one) in ("val", "yVal")), [])
        header.append(" ".join(title))
        for number, value in enumerate(values):
            row = rows.setdefault(names[number] if number < len(names) else str(number + 1), [])
            row += [""] * (len(header) - 2 - len(row)) + [value]
    return compact_table([header, *([name, *values] for name, values in rows.items())]) if rows else ""


def _points(element: Element) -> list[str]:
    return [one.text or "" for one in _inner(element, "v")]


def _cell(cell: Element) -> str:
    return " ".join("".join(one.text or "" for one in _inner(line, "t")) for line in _inner(cell, "p"))


# ---------------------------------------------------------------- OpenDocument


def _open_document(archive: ZipFile) -> list[Slide]:
    charts = {name: _part(archive, name) for name in archive.namelist() if _is_chart(name)}
    found: list[Slide] = []
    for page in _inner(_part(archive, "content.xml"), "page"):
        if len(found) < _MAX_SLIDES:
            found.append(_open_document_slide(page, charts))
    return found


def _is_chart(name: str) -> bool:
    return name.startswith("Object ") and name.endswith("/content.xml") and name.count("/") == 1


def _open_document_slide(page: Element, charts: Mapping[str, Element]) -> Slide:
    slide = Slide()
    for child in page:
        if _name(child) == "notes":
            slide.notes += _blocks(child, charts, 0)
        elif _value(child, "class") == "title" and not slide.title:
            slide.title = " ".join(" ".join(_blocks(child, charts, 0)).split())
        else:
            slide.blocks += _blocks(child, charts, 0)
    return slide


def _blocks(element: Element, charts: Mapping[str, Element], depth: int) -> Iterator[str]:
    """Paragraphs, lists and tables of a shape, in order."""
    name = _name(element)
    if name in ("p", "h"):
        yield _line(element)
    elif name == "list":
        yield "\n".join(_items(element, 0))
    elif name == "table":
        yield _table(element)
    elif name == "object":
        chart = charts.get(_value(element, "href").removeprefix("./") + "/content.xml")
        if chart is not None:
            yield from map(_table, _inner(chart, "table"))
    elif depth < _MAX_DEPTH:
        for child in element:
            yield from _blocks(child, charts, depth + 1)


def _items(element: Element, depth: int) -> Iterator[str]:
    for item in element:
        for child in item:
            if _name(child) == "list":
                if depth < _MAX_DEPTH:
                    yield from _items(child, depth + 1)
            elif _line(child):
                yield f"{'  ' * depth}- {_line(child)}"


def _table(element: Element) -> str:
    rows: list[Iterable[str]] = []
    for row in _inner(element, "table-row"):
        cells = [cell for cell in row if _name(cell) in ("table-cell", "covered-table-cell")]
        rows.append([" ".join(map(_line, _inner(cell, "p"))) for cell in cells])
    return compact_table([list(row) for row in rows])


def _line(element: Element) -> str:
    """Text of a paragraph; several blanks, tabs and line breaks are elements."""
    parts = []
    for one in element.iter():
        name = _name(one)
        if name == "s":
            count = _value(one, "c")
            parts.append(" " * (min(int(count), _MAX_BLANKS) if count.isdecimal() else 1))
        elif name in ("tab", "line-break"):
            parts.append("\t" if name == "tab" else "\n")
        parts.append(one.text or "")
        if one is not element:
            parts.append(one.tail or "")
    return "".join(parts).strip()
