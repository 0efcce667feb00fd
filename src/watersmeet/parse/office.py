"""Office files, EPUB and RTF, by xberg: headings, lists, tables, links, slides and sheets.

The library is used in this file only. It is always given the type, which is found by the first bytes of the file.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.core.documents import Document, Link, Section
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.limits import MAX_LINKS
from watersmeet.core.model import DocId
from watersmeet.core.place import NOWHERE, Place
from watersmeet.parse._converted import SectionBuilder, first_heading
from watersmeet.parse._inline import limited, markdown_link
from watersmeet.parse._office_kind import KINDS, NotRead, office_kind
from watersmeet.parse._slides import Slide, picture_text, slides
from watersmeet.parse._tables import compact_table
from watersmeet.parse._values import clean, created, modified, plain

if TYPE_CHECKING:
    from xberg import ExtractedDocument

_MAX_CELLS = 1_000_000
_MAX_UNPACKED, _MAX_RATIO = 300_000_000, 500
"""Cells of a table, bytes of an archive when unpacked, and how many times its size that may be.

Larger files are not read: the library does not read a part of them.
"""
_MAX_DEPTH = 20
"""Levels of lists that are indented."""


@dataclass(frozen=True, slots=True)
class Office(ParserOptions):
    """A parser of Word, PowerPoint, Excel, OpenDocument, RTF, EPUB and Outlook files: one document a file."""

    reads: ClassVar[tuple[str, ...]] = (
        *(kind.media for kind in KINDS.values()),
        *(f".{ending}" for kind in KINDS.values() for ending in kind.endings),
    )
    isolated: ClassVar[bool] = True
    requires: ClassVar[tuple[str, ...]] = ("xberg",)
    extra: ClassVar[str] = "office"
    size: ClassVar[str] = "binary"

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        try:
            kind = office_kind(content, PurePosixPath(found.name).suffix.lower().removeprefix("."))
            read = slides(content, kind)
            extracted = _extract(content, kind, structure=not (read or KINDS[kind].sheets))
            reader = _Reader(extracted, kind)
            sections = reader.sections(read)
        except NotRead as problem:
            yield Skipped(found.uri, str(problem))
            return
        if not any(section.blocks or section.level for section in sections):
            yield Skipped(found.uri, "no text")
            return
        fields = _fields(extracted)
        links, too_many = limited(dict.fromkeys(reader.links), MAX_LINKS, "links")
        yield Document(
            id=DocId(found.name),
            kind="email" if kind == "msg" else "document",
            title=_title(extracted, kind, sections, found.name),
            path=found.uri,
            sections=sections,
            modified=modified(fields),
            created=created(fields),
            fields=fields,
            links=links,
            warnings=(*reader.builder.warnings, *too_many),
        )


def _extract(content: bytes, kind: str, structure: bool) -> ExtractedDocument:
    import asyncio

    from xberg import _xberg

    limits = _xberg.SecurityLimits(
        max_table_cells=_MAX_CELLS, max_archive_size=_MAX_UNPACKED, max_compression_ratio=_MAX_RATIO
    )
    config = _xberg.ExtractionConfig(
        disable_ocr=True,
        use_cache=False,
        enable_quality_processing=False,
        escape_markdown=False,
        include_document_structure=structure,
        output_format=_xberg.OutputFormat("markdown"),  # in others, slides have no titles, and notes of other slides
        pages=_xberg.PageConfig(extract_pages=True),
        security_limits=limits,
    )
    source = _xberg.ExtractInput.from_bytes(content, KINDS[kind].media, None)

    async def run() -> Any:
        return await _xberg.extract(source, config)

    try:
        result = asyncio.run(run())
    except (RuntimeError, ValueError, OSError) as problem:
        raise NotRead(_reason(kind, str(problem))) from problem
    if not result.results:
        raise NotRead(_reason(kind, "; ".join(error.message for error in result.errors)))
    return result.results[0]  # type: ignore[no-any-return]


def _reason(kind: str, message: str) -> str:
    message = " ".join(message.split())
    folded = message.lower()
    if "encrypt" in folded or "password" in folded:
        return "encrypted: it opens only with a password"
    if "cell limit" in folded:
        return f"too large: a table of more than {_MAX_CELLS:,} cells"
    if "zip bomb" in folded or "limit exceeded" in folded:
        return f"too large when unpacked ({message[:200]})"
    return f"damaged, or not {KINDS[kind].name} ({message[:200]})"


class _Reader:
    """Sections and links of an extracted document."""

    def __init__(self, extracted: ExtractedDocument, kind: str) -> None:
        self.builder = SectionBuilder()
        self.links: list[Link] = []
        self._extracted = extracted
        self._kind = KINDS[kind]
        self._slide = 0
        self._untitled = False  # the title of the current slide may still come
        self._nodes: list[Any] = []

    def sections(self, read: Sequence[Slide]) -> tuple[Section, ...]:
        """`read`: slides of a format for which the library is not used."""
        if read:
            self._slides(read)
        elif self._kind.sheets:
            self._sheets()
        elif self._extracted.document is not None:
            self._nodes = list(self._extracted.document.nodes)
            for node in self._nodes:
                if node.parent is None or self._nodes[node.parent].content.node_type == "group":
                    self._node(node)
        else:
            self.builder.block(self._extracted.content)
        return self.builder.sections()

    # ------------------------------------------------------------ sheets

    def _sheets(self) -> None:
        for page in self._extracted.pages or ():
            name = clean(page.sheet_name or f"Sheet {page.page_number}")
            place = Place(sheet=name)
            self.builder.heading(1, name, place)
            for table in page.tables:
                for part in _parts(table.cells):
                    self.builder.block(part, place)

    # ------------------------------------------------------------ text and slides

    def _slides(self, read: Sequence[Slide]) -> None:
        for number, slide in enumerate(read, 1):
            self._enter_slide(number, slide.title)
            for text in (*slide.blocks, *slide.notes):
                self._block(text)
            self.links += filter(None, (markdown_link(address, label) for address, label in slide.links))

    def _node(self, node: Any) -> None:
        if str(node.content_layer) in ("header", "footer"):
            return
        content = json.loads(str(node.content))
        kind = content["node_type"]
        if self._kind.slides:
            page = self._page(node) or content.get("number") or 0
            if page > self._slide:
                title = content.get("title") or ""
                self._enter_slide(page, "" if _is_made_up(title) else title)
        if kind in ("heading", "title"):
            self._heading(content)
        elif kind in ("list", "definition_list"):
            self._block("\n".join(self._items(node, 0)))
        elif kind == "table":
            self._block(_grid(content["grid"]))
        elif kind == "quote":
            self._block("\n>\n".join("> " + self._text(self._nodes[child]) for child in node.children))
        elif kind not in ("group", "slide", "page_break", "metadata_block"):
            self._block(self._text(node))

    def _heading(self, content: dict[str, Any]) -> None:
        level = 1 if self._kind.slides and self._untitled else content.get("level") or 1
        self._untitled = False
        self.builder.heading(level, content["text"].replace("**", ""), self._place())

    def _block(self, text: str) -> None:
        if text.strip():
            self._untitled = False
            self.builder.block(text, self._place())

    def _items(self, node: Any, depth: int) -> Iterator[str]:
        """Lines of a list; lists in it are further children."""
        content = json.loads(str(node.content))
        number = 0
        for child in node.children:
            inner = self._nodes[child]
            if inner.content.node_type in ("list", "definition_list"):
                yield from self._items(inner, depth + 1)
                continue
            number += 1
            mark = f"{number}." if content.get("ordered") else "-"
            indent = "  " * min(depth, _MAX_DEPTH)
            yield f"{indent}{mark} " + self._text(inner).replace("\n", f"\n{indent}  ")
            if inner.children and depth < _MAX_DEPTH:
                yield from self._items(inner, depth + 1)

    def _text(self, node: Any) -> str:
        content = json.loads(str(node.content))
        kind = content["node_type"]
        if kind == "code":
            return f"```{content.get('language') or ''}\n{content['text']}\n```"
        if kind == "image":
            return picture_text(content.get("description") or "")
        if kind == "definition_item":
            return f"{content['term']}: {content['definition']}"
        if kind == "raw_block":
            return "" if content["format"] == "odp-master-page" else str(content["content"])
        text = str(content.get("text") or "")
        if kind == "formula":
            return "" if text.startswith("//") else f"$${text}$$"  # a chart of OpenDocument, its cells run together
        return self._linked(text, node.annotations)

    def _linked(self, text: str, annotations: Sequence[Any]) -> str:
        """Text with its links in Markdown; positions are those of UTF-8."""
        spans = []
        for one in annotations:
            kind = json.loads(str(one.kind))
            if kind.get("annotation_type") == "link" and kind.get("url"):
                spans.append((one.start, one.end, str(kind["url"])))
        if not spans:
            return text
        source, parts, free = text.encode(), [], 0
        for start, end, url in sorted(spans):
            label = source[start:end].decode(errors="replace")
            if start < free or not label.strip():
                continue
            link = markdown_link(url, label)
            if link:
                self.links.append(link)
            parts.append(source[free:start].decode(errors="replace"))
            parts.append(label if url.startswith("#") or url == label.strip() else f"[{label}]({url})")
            free = end
        return "".join(parts) + source[free:].decode(errors="replace")

    def _place(self) -> Place:
        return Place(slides=(self._slide, self._slide)) if self._slide else NOWHERE

    def _page(self, node: Any) -> int:
        """Number of the slide; a list has that of its first item."""
        while node.page is None and node.children:
            node = self._nodes[node.children[0]]
        return node.page or 0

    def _enter_slide(self, number: int, title: str) -> None:
        self._slide = number
        self.builder.break_off()
        self._untitled = True
        if title:
            self._heading({"text": title})


def _is_made_up(title: str) -> bool:
    """Whether the name of a slide is one that programs give: `Slide1`, `page1`, `Folie 1`."""
    return title[-1:].isdigit() and title.rstrip("0123456789 ").isalpha()


def _parts(cells: Sequence[Sequence[str]]) -> Iterator[str]:
    """Tables of a sheet: blank rows are between them. A part of one cell is a text."""
    rows: list[Sequence[str]] = []
    for row in (*cells, ()):
        if any(cell.strip() for cell in row):
            rows.append(row)
        elif rows:
            texts = [cell for one in rows for cell in one if cell.strip()]
            yield texts[0] if len(texts) == 1 else compact_table(rows)
            rows = []


def _grid(grid: dict[str, Any]) -> str:
    rows: list[list[str]] = [[] for _ in range(grid["rows"])]
    for cell in grid["cells"]:
        row = rows[cell["row"]]
        row.extend([""] * (cell["col"] - len(row)))
        row.append(cell["content"].replace("**", ""))  # bold type
    if len(rows) == 1 and len(rows[0]) == 1:
        return rows[0][0]
    return compact_table(rows)


# ---------------------------------------------------------------- properties


def _title(extracted: ExtractedDocument, kind: str, sections: Sequence[Section], name: str) -> str:
    written = extracted.metadata.subject if kind == "msg" else extracted.metadata.title
    title = " ".join(clean(written or "").split())
    if title and title.casefold() not in ("powerpoint presentation", "word document", "untitled"):
        return title
    return ("" if KINDS[kind].sheets else first_heading(sections)) or PurePosixPath(name).stem


def _fields(extracted: ExtractedDocument) -> dict[str, Any]:
    about = extracted.metadata
    authors = [name for name in about.authors or () if name.strip()]
    fields: dict[str, Any] = {
        "author": authors[0] if len(authors) == 1 else authors,
        "subject": about.subject,
        "keywords": list(about.keywords or ()),
        "language": about.language,
        "category": about.category,
        "created": about.created_at,
        "modified": about.modified_at,
    }
    if about.format is not None:
        details = json.loads(str(about.format))
        if details.get("format_type") == "email":
            sender = (details.get("from_name"), details.get("from_email"))
            fields["from"] = " ".join(dict.fromkeys(filter(None, sender)))
            fields |= {"to": details.get("to_emails"), "cc": details.get("cc_emails")}
    return {name: plain(value) for name, value in fields.items() if value}
