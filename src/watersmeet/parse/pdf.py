"""PDF files: text, headings and tables of every page, by liteparse. Scanned pages hold no text and are reported."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any, ClassVar

from watersmeet.core.documents import Document, Section
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import DocId
from watersmeet.core.options import option
from watersmeet.core.place import Place
from watersmeet.parse._converted import SectionBuilder, first_heading
from watersmeet.parse._pdf_lines import Part, parts, searchable
from watersmeet.parse._tables import compact_table
from watersmeet.parse._values import clean, created, modified

if TYPE_CHECKING:
    from liteparse import LayoutBlock, ParsedPage, ParseResult

    from watersmeet.parse._pdfium import Bookmark

_MARK = b"%PDF-"
_MARK_WITHIN = 1 << 16
"""Bytes in which a PDF file must begin; other programs' messages may come first."""
_BATCH = 200
"""Pages that are read at once."""
_MAX_CHECKED = 300
"""Pages without text for which it is found out whether they are scanned."""
_LARGE = 0.3
"""Share of a page without text that pictures cover if it is scanned; less is a blank page with an ornament."""
_FEW_PAGES, _MAX_RUNNING = 5, 120
"""Repeated lines are looked for in documents of more pages, among lines of at most so many characters."""
_MAX_LEVEL, _SMALLER = 6, 0.87
"""Levels of headings, and the share of its size below which a heading is of a further level."""
_EDGE = 2
"""Blocks at the top and bottom of a page that may be running headers and footers."""
_DATE = re.compile(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?(\d\d)?(\d\d)?(\d\d)?([+-]\d\d)?'?(\d\d)?")
_NUMBERS = re.compile(r"\d+")
_WORDS = re.compile(r"\w+")
_ESCAPE = re.compile(r"\\([^\sA-Za-z0-9])")
_STARS = re.compile(r"(?<!\\)\*{1,3}")
_ENUMERATOR = re.compile(r"(?:\d{1,4}|[IVXLC]{1,8}|[A-Z])(?:[.-](?:\d{1,4}|[A-Z])){0,8}[.):]?\s")
_MADE_UP = re.compile(
    r"microsoft \w+ - |untitled|\(?anonymous|\(?unspecified|powerpoint pres|slide 1$|document\d*$|print$"
)
_FILE_NAME = re.compile(r"\S*\.[a-z]{2,5}$")


@dataclass(frozen=True, slots=True)
class Pdf(ParserOptions):
    """A PDF parser: one document a file. Headings are the bookmarks and what is set as a heading."""

    reads: ClassVar[tuple[str, ...]] = ("application/pdf", ".pdf")
    isolated: ClassVar[bool] = True
    requires: ClassVar[tuple[str, ...]] = ("liteparse",)
    extra: ClassVar[str] = "pdf"
    size: ClassVar[str] = "binary"

    max_pages: int = option(2000, "pages to read of a PDF file; the others are left out, with a warning", least=1)

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        start = content.find(_MARK, 0, _MARK_WITHIN)
        if start < 0:
            yield Skipped(found.uri, "not a PDF file" if content else "empty")
            return
        content = content[start:]

        import liteparse

        from watersmeet.parse._pdfium import has_pictures, pdf_info

        folder = Path(liteparse.__file__).parent
        info = pdf_info(content, folder)
        if info.problem:
            yield Skipped(found.uri, info.problem)
            return
        try:
            result = _pages(content, self.max_pages)
        except liteparse.ParseError as problem:
            yield Skipped(found.uri, _reason(problem))
            return
        scanned, blank = _without_text(content, result.pages)
        if len(scanned) + blank >= len(result.pages):
            pictures = scanned or has_pictures(content, folder, self.max_pages)
            why = "scanned: its pages hold no text, and text recognition is not part of this" if pictures else "no text"
            yield Skipped(found.uri, why)
            return
        builder = SectionBuilder()
        _fill(builder, result.pages, info.bookmarks)
        sections = builder.sections()
        fields = _fields(info.values)
        yield Document(
            id=DocId(found.name),
            kind="document",
            title=_title(info.values.get("Title", ""), sections, found.name),
            path=found.uri,
            sections=sections,
            modified=modified(fields),
            created=created(fields),
            fields=fields,
            warnings=(*_warnings(result, scanned), *builder.warnings),
        )


@dataclass(slots=True)
class _Page:
    """What is kept of a page: its positions of words take most of the memory."""

    number: int
    blocks: list[LayoutBlock]
    text: str  # only if no block has text
    sizes: dict[int, float]  # of headings, by the identity of the block
    cut: dict[int, list[Part]]  # paragraphs with headings in them, likewise


@dataclass(slots=True)
class _Result:
    pages: list[_Page]
    total: int
    damaged: list[int]


def _pages(content: bytes, max_pages: int) -> _Result:
    """Pages in batches, because a thousand pages at once take a gigabyte."""
    result = _Result([], max_pages, [])
    first = 1
    while first <= min(result.total, max_pages):
        last = min(first + _BATCH - 1, max_pages)
        read = _read(content, last - first + 1, target_pages=f"{first}-{last}", extract_blocks=True)
        result.pages += map(_page, read.pages)
        result.damaged += [error.page_num for error in read.page_errors]
        result.total = read.total_pages
        first = last + 1
    return result


def _page(read: ParsedPage) -> _Page:
    blocks = list(read.blocks or ())
    sizes = {id(block): _size(read, block) for block in blocks if block.kind == "heading"}
    cut = {}
    for block in blocks if searchable(read) else ():
        found = parts(read, block, _text(block)) if block.kind == "paragraph" else []
        if len(found) > 1:
            cut[id(block)] = found
    return _Page(read.page_num, blocks, "" if any(map(_text, blocks)) else read.text.strip(), sizes, cut)


def _read(content: bytes, max_pages: int, **options: Any) -> ParseResult:
    """`continue_on_page_error`: a damaged page does not hide the others."""
    from liteparse import LiteParse

    parser = LiteParse(
        ocr_enabled=False, quiet=True, max_pages=max_pages, continue_on_page_error=True, num_workers=1, **options
    )
    return parser.parse(content)


def _reason(problem: Exception) -> str:
    message = " ".join(str(problem).split())
    if "password" in message.lower():
        return "encrypted: it opens only with a password"
    return f"damaged, or not a PDF file ({message[:200]})"


def _warnings(result: _Result, scanned: Sequence[int]) -> Iterator[str]:
    if result.total > len(result.pages) + len(result.damaged):
        yield f"{result.total} pages, of which the first {len(result.pages)} were read (max_pages)"
    if scanned:
        one = len(scanned) == 1
        yield f"scanned, without text: page{'' if one else 's'} {_ranges(scanned)}"
    if result.damaged:
        yield f"damaged pages were left out: {_ranges(result.damaged)}"


def _ranges(numbers: Sequence[int]) -> str:
    """Numbers in order, such as `1-3, 7`."""
    spans: list[list[int]] = []
    for number in sorted(numbers):
        if spans and spans[-1][1] == number - 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    return ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in spans)


def _without_text(content: bytes, pages: Sequence[_Page]) -> tuple[list[int], int]:
    """Numbers of the pages that are pictures of text, and how many others are blank."""
    empty = [page.number for page in pages if not page.text and not any(map(_text, page.blocks))]
    if not empty:
        return [], 0
    looked = empty[:_MAX_CHECKED]
    checked = _read(content, len(looked), target_pages=",".join(map(str, looked)), include_complexity=True)
    blank = {page.page_num for page in checked.pages if not _is_picture(page)}
    scanned = [number for number in empty if number not in blank]
    return scanned, len(empty) - len(scanned)


def _is_picture(page: ParsedPage) -> bool:
    seen = page.complexity
    return seen is None or seen.full_page_image or seen.image_coverage >= _LARGE


# ---------------------------------------------------------------- text


def _fill(builder: SectionBuilder, pages: Sequence[_Page], bookmarks: Sequence[Bookmark]) -> None:
    running = _running(pages)
    kept = [(page, [block for block in page.blocks if not _runs(block, running)]) for page in pages]
    depth = max((mark.level for mark in bookmarks), default=0)
    levels = _levels(kept)
    deepest = depth + max(levels.values(), default=0) + 1
    of_page: dict[int, list[Bookmark]] = {}
    for mark in bookmarks:
        if not mark.title.lower().endswith(".pdf"):  # of a file that was merged into this one
            of_page.setdefault(mark.page, []).append(mark)
    for page, blocks in kept:
        place = Place(pages=(page.number, page.number))
        marks = _marked(blocks, of_page.get(page.number, ()))
        items: list[str] = []
        for number, block in enumerate(blocks):
            heading = id(block) in levels
            if items and (heading or number in marks or block.kind != "list_item"):
                builder.block("\n".join(items), place)
                items = []
            for mark in marks.get(number, ()):
                builder.heading(mark.level, mark.title, place)
            if number in marks and _same(block, marks[number][-1]):
                continue
            if heading:
                builder.heading(depth + levels[id(block)], _plain(block.text or ""), place)
            elif block.kind == "list_item":
                items.append(_item(block))
            elif id(block) in page.cut:
                for part in page.cut[id(block)]:
                    if part.is_heading:
                        builder.heading(deepest, part.text, place)
                    else:
                        builder.block(part.text, place)
            else:
                builder.block(_text(block), place)
        builder.block("\n".join(items), place)
        for mark in marks.get(len(blocks), ()):
            builder.heading(mark.level, mark.title, place)
        builder.block(page.text, place)


def _levels(pages: Sequence[tuple[_Page, list[LayoutBlock]]]) -> dict[int, int]:
    """Levels of headings by the identity of the block, without gaps.

    By size of type if the library has only one level, or ranked each batch of pages for itself.
    """
    headings = [
        (page, block)
        for page, blocks in pages
        for block in blocks
        if block.kind == "heading" and _WORDS.search(block.text or "")
    ]
    order = {id(block): float(block.level or 1) for _, block in headings}
    if len(set(order.values())) == 1 or len(pages) > _BATCH:
        order = _by_size({id(block): page.sizes[id(block)] for page, block in headings})
    ranks = {value: min(rank, _MAX_LEVEL) for rank, value in enumerate(sorted(set(order.values())), 1)}
    return {block: ranks[value] for block, value in order.items()}


def _by_size(sizes: dict[int, float]) -> dict[int, float]:
    """Classes of sizes, the largest first: a little smaller is the same class."""
    classes: dict[int, float] = {}
    largest = 0.0
    for block, size in sorted(sizes.items(), key=lambda one: -one[1]):
        if size < largest * _SMALLER or not classes:
            largest = size
        classes[block] = -largest
    return classes


def _size(page: ParsedPage, block: LayoutBlock) -> float:
    """Height of the first line of a block, in points."""
    box = block.bbox
    if box is None:
        return 0.0
    inside = (
        item.height
        for item in page.text_items
        if box.y - 1 <= item.y + item.height / 2 <= box.y + box.height + 1 and box.x - 1 <= item.x <= box.x + box.width
    )
    return next(inside, 0.0)


def _marked(blocks: Sequence[LayoutBlock], marks: Sequence[Bookmark]) -> dict[int, list[Bookmark]]:
    """Bookmarks of a page by the number of the block that they precede or are.

    A bookmark that no block begins with comes directly after the one before it, or first.
    """
    found: dict[int, list[Bookmark]] = {}
    free = after = 0
    keys = [_key(block.text or "") for block in blocks] if marks else []
    for mark in marks:
        title = _key(mark.title)
        here = next((number for number in range(free, len(keys)) if title and keys[number].startswith(title)), None)
        if here is not None:
            free, after = here + 1, here + _same(blocks[here], mark)
        found.setdefault(after if here is None else here, []).append(mark)
    return found


def _same(block: LayoutBlock, mark: Bookmark) -> bool:
    return _key(block.text or "") == _key(mark.title)


def _text(block: LayoutBlock) -> str:
    if block.kind == "table":
        header = [[cell.text for cell in block.header]] if block.header else []
        return compact_table([*header, *([cell.text for cell in row] for row in block.rows or ())])
    if block.lines is not None:
        text = "\n".join(block.lines)
        return f"```\n{text}\n```" if block.kind == "code" and text.strip() and "```" not in text else text
    return _plain(block.text or "")


def _item(block: LayoutBlock) -> str:
    marker = block.marker if block.ordered and block.marker else "-"
    return "  " * min(block.level or 0, 10) + f"{marker} {_plain(block.text or '')}"


def _plain(text: str) -> str:
    """Text without escapes, and without the marks of bold and italic type, which are guesses from the font."""
    if "*" in text and len(_STARS.findall(text)) % 2 == 0:
        text = _STARS.sub("", text)
    return _ESCAPE.sub(r"\1", text) if "\\" in text else text


def _key(text: str) -> str:
    """Words for comparison, without a number such as `2.1`, `IV.` or `A.` before them."""
    text = text.lstrip("* ")
    number = _ENUMERATOR.match(text)
    return "".join(_WORDS.findall(text[number.end() if number else 0 :].casefold()))


def _running(pages: Sequence[_Page]) -> set[str]:
    """Lines at the top and bottom that are on most pages; numbers in them may differ."""
    if len(pages) <= _FEW_PAGES:
        return set()
    count: Counter[str] = Counter()
    for page in pages:
        edges = [*page.blocks[:_EDGE], *page.blocks[-_EDGE:]]
        count.update({_shape(block) for block in edges})
    return {shape for shape, often in count.items() if shape and often * 2 > len(pages)}


def _shape(block: LayoutBlock) -> str:
    """A line for comparison: `Page 3` and `Page 4` are alike, but headings `Part 3` and `Part 4` are not."""
    text = block.text if block.kind in ("heading", "paragraph") else None
    if not text or len(text) > _MAX_RUNNING:
        return ""
    text = " ".join(text.split())
    return text if block.kind == "heading" else _NUMBERS.sub("0", text)


def _runs(block: LayoutBlock, running: set[str]) -> bool:
    return bool(running) and _shape(block) in running


# ---------------------------------------------------------------- document information


def _title(written: str, sections: Sequence[Section], name: str) -> str:
    title = clean(written)
    folded = title.casefold()
    if _WORDS.search(title) and not _MADE_UP.match(folded) and not _FILE_NAME.match(folded):
        return title
    return first_heading(sections) or PurePosixPath(name).stem


def _fields(values: dict[str, str]) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    for name, key in (("author", "Author"), ("subject", "Subject"), ("keywords", "Keywords")):
        value = clean(values.get(key, ""))
        if value and not _MADE_UP.match(value.casefold()):
            fields[name] = value
    for name, key in (("created", "CreationDate"), ("modified", "ModDate")):
        moment = _moment(values.get(key, ""))
        if moment:
            fields[name] = moment
    return fields


def _moment(written: str) -> str:
    """A date as in `D:20240822125427+02'00'`, in ISO form; empty if it is none."""
    match = _DATE.match(written.strip())
    if match is None:
        return ""
    from datetime import datetime

    year, month, day, hour, minute, second, zone, zone_minutes = match.groups()
    offset = f"{zone}:{zone_minutes or '00'}" if zone else "+00:00"
    text = f"{year}-{month or '01'}-{day or '01'}T{hour or '00'}:{minute or '00'}:{second or '00'}{offset}"
    try:
        return datetime.fromisoformat(text).isoformat()
    except ValueError:
        return ""
