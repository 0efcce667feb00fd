"""Jupyter notebooks: Markdown cells with their headings, code cells as fences, the beginning of text outputs.

A block's place is the anchor of its cell, `#cell-3`: the lines of the JSON file are of no use to a reader.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from pathlib import PurePosixPath
from typing import Any, ClassVar

from watersmeet.core.documents import Block, Document, Link, Section
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.limits import MAX_LINKS, MAX_TAGS
from watersmeet.core.model import DocId
from watersmeet.core.options import option
from watersmeet.core.place import Place
from watersmeet.parse._decode import decode
from watersmeet.parse._inline import distinct, limited, listed_tags
from watersmeet.parse._outline import outline
from watersmeet.parse._values import clean, created, modified, plain

_ESCAPES = re.compile(r"\x1b\[[0-9;]{0,20}[A-Za-z]")
_PICTURE = re.compile(r"!\[([^\]]{0,200})\]\((?:data:|attachment:)[^)]*\)")
_MAX_CELLS = 20_000
_MAX_OUTPUTS = 20
"""Outputs of one cell that are read."""


@dataclass(frozen=True, slots=True)
class Notebook(ParserOptions):
    """A parser of Jupyter notebooks, one document a file."""

    reads: ClassVar[tuple[str, ...]] = ("application/x-ipynb+json", ".ipynb")

    max_output: int = option(500, "characters kept of each output of a cell; 0: no outputs", least=0)

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        text, warnings, refusal = decode(content)
        if refusal:
            yield Skipped(found.uri, refusal)
            return
        try:
            notebook = json.loads(text)
        except (ValueError, RecursionError) as problem:
            deep = isinstance(problem, RecursionError)
            yield Skipped(found.uri, "nested too deeply" if deep else f"not a notebook: {problem}")
            return
        cells = _cells(notebook)
        if cells is None:
            yield Skipped(found.uri, "not a notebook: it has no cells")
            return
        yield _document(found, notebook, cells, self.max_output, warnings)


class _Sections:
    """Sections of a notebook: a heading holds for the cells after it."""

    def __init__(self) -> None:
        self.done: list[Section] = []
        self.path: list[tuple[int, str]] = []
        self.place = Place()
        self.blocks: list[Block] = []

    def heading(self, level: int, text: str, place: Place) -> None:
        self.close()
        while self.path and self.path[-1][0] >= level:
            self.path.pop()
        self.path.append((level, text))
        self.place = place

    def add(self, text: str, place: Place) -> None:
        if text.strip():
            self.blocks.append(Block(text, place))

    def close(self) -> None:
        level = self.path[-1][0] if self.path else 0
        if level or self.blocks:
            place = self.place if level else self.blocks[0].place
            self.done.append(Section(tuple(text for _, text in self.path), level, place, tuple(self.blocks)))
        self.blocks = []


def _document(found: Found, notebook: Any, cells: list[Any], max_output: int, warnings: Iterable[str]) -> Document:
    from watersmeet.parse._markup import fence

    metadata = notebook.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    language = _language(metadata)
    sections, links, tags, noted = _Sections(), dict[Link, None](), list[str](), list(warnings)
    for number, cell in enumerate(cells[:_MAX_CELLS], 1):
        if not isinstance(cell, dict):
            continue
        place = Place(anchor=f"cell-{number}")
        source = _text(cell.get("source", cell.get("input")))
        kind = cell.get("cell_type")
        if kind == "code":
            if source.strip():
                sections.add(fence(source.strip("\n").split("\n"), language), place)
            for shown in _outputs(cell.get("outputs"), max_output):
                sections.add(fence(shown.split("\n"), "text"), place)
        elif kind == "heading":
            level = cell.get("level")
            sections.heading(
                level if isinstance(level, int) and 1 <= level <= 6 else 1, " ".join(source.split()), place
            )
        else:
            if kind == "markdown":
                source = _PICTURE.sub(r"\1", source)
            read = outline(source)
            for section in read.sections:
                if section.level:
                    sections.heading(section.level, section.headings[-1], place)
                for block in section.blocks:
                    sections.add(block.text, place)
            links |= dict.fromkeys(read.links)
            tags += read.tags
            noted += (f"cell {number}: {warning}" for warning in read.warnings)
    sections.close()
    if len(cells) > _MAX_CELLS:
        noted.append(f"more than {_MAX_CELLS:,} cells; the others are left out")
    return _finish(found, metadata, language, sections.done, links, tags, noted)


def _finish(
    found: Found,
    metadata: dict[str, Any],
    language: str,
    sections: list[Section],
    links: dict[Link, None],
    tags: list[str],
    warnings: list[str],
) -> Document:
    fields: dict[str, Any] = {}
    for name in ("title", "authors", "author", "description", "date", "keywords", "tags"):
        if name in metadata:
            fields[name] = plain(metadata[name])
    if language:
        fields["language"] = language
    listed, too_many_tags = limited(distinct((*listed_tags(fields.get("tags")), *tags)), MAX_TAGS, "tags")
    kept, too_many_links = limited(links, MAX_LINKS, "links")
    title = fields.get("title")
    first = next((section for section in sections if section.level), None)
    heading = first.headings[0] if first and first.level == 1 else ""
    return Document(
        id=DocId(found.name),
        kind="document",
        title=(" ".join(title.split()) if isinstance(title, str) else "") or heading or PurePosixPath(found.name).stem,
        path=found.uri,
        sections=tuple(sections),
        modified=modified(fields),
        created=created(fields),
        tags=listed,
        fields=fields,
        links=kept,
        warnings=(*warnings, *too_many_tags, *too_many_links),
    )


def _cells(notebook: Any) -> list[Any] | None:
    """The cells of a notebook, also of format 3, which has them in worksheets; None if it has none."""
    if not isinstance(notebook, dict):
        return None
    cells = notebook.get("cells")
    if isinstance(cells, list):
        return cells
    sheets = notebook.get("worksheets")
    if not isinstance(sheets, list):
        return None
    found: list[Any] = []
    for sheet in sheets:
        if isinstance(sheet, dict) and isinstance(sheet.get("cells"), list):
            found += sheet["cells"]
    return found


def _language(metadata: dict[str, Any]) -> str:
    """The language of the kernel, as a fence names it."""
    for section, key in (("kernelspec", "language"), ("language_info", "name")):
        values = metadata.get(section)
        name = values.get(key) if isinstance(values, dict) else None
        if isinstance(name, str) and name.strip():
            return "".join(name.split())[:40].lower()
    return ""


def _text(value: Any) -> str:
    """Text that is stored as one string or as a list of lines."""
    if isinstance(value, list):
        value = "".join(line for line in value if isinstance(line, str))
    return clean(value).replace("\r\n", "\n").replace("\r", "\n") if isinstance(value, str) else ""


def _outputs(outputs: Any, most: int) -> Iterator[str]:
    """Text outputs and the last line of errors, cut. Pictures and HTML are left out."""
    if not isinstance(outputs, list) or not most:
        return
    for output in outputs[:_MAX_OUTPUTS]:
        if not isinstance(output, dict):
            continue
        data = output.get("data")
        text = _text(output.get("text") or (data.get("text/plain") if isinstance(data, dict) else None))
        if output.get("output_type") in ("error", "pyerr"):
            text = f"{_text(output.get('ename'))}: {_text(output.get('evalue'))}"
        text = _ESCAPES.sub("", text[: 4 * most]).strip("\n").rstrip()
        if text and not _names_an_object(text):
            yield text if len(text) <= most else text[:most].rstrip() + " …"


def _names_an_object(text: str) -> bool:
    """Whether an output is only the address of an object, such as `<matplotlib.figure.Figure at 0x7f…>`."""
    return "\n" not in text and text.strip("[]").startswith("<") and text.strip("[]").endswith(">") and " at 0x" in text
