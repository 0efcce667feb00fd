"""Plain text of a Markdown passage, in units: sentences, list items, table rows and lines of code.

Markdown is read by pyromark, so that code keeps its characters and marks go only where they are marks. A unit has its
source too. It never begins or ends inside bold text, a link or a code span, so any run of units can be rendered.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from itertools import groupby, pairwise, takewhile
from typing import Any, NamedTuple

from watersmeet.common.markdown import markdown
from watersmeet.present.sentences import sentences

MAX_READ = 100_000
"""Characters of a passage that are read: a whole page may be a passage."""
CELL = " · "
"""Separator of the cells of a table row."""
_TAGS = frozenset(
    (
        "a abbr article aside audio b blockquote body br button caption center cite code col colgroup dd del "
        "details dfn div dl dt em embed figcaption figure font footer form h1 h2 h3 h4 h5 h6 head header hr html i "
        "iframe img input ins kbd label li link main mark meta nav object ol option p picture pre q s samp script "
        "section select small source span strike strong style sub summary sup svg table tbody td template textarea "
        "tfoot th thead time title tr tt u ul var video wbr "
    ).split()
)
"""Elements of HTML. Other names in angle brackets, as in `Vec<T>`, are text."""
_TAG = r"<!--.*?(?:-->|$)|</?([A-Za-z][A-Za-z0-9]{0,20})(?=[\s/>])[^<>]{0,2000}>"
_CALLOUT = r"\[![\w-]{1,40}\][+-]?[ \t]*"
_OBSIDIAN = r"%%[^%\n]{0,1000}%%|==(?=[^\s=])([^=\n]{1,1000})(?<=\S)==|(?:(?<=\s)|^)\^[A-Za-z0-9-]{1,60}$"
"""Comments, highlights and block ids. Patterns are compiled where they are needed: most passages need none."""
_ESCAPES = str.maketrans({character: f"\\{character}" for character in "\\`*_[]<>#|~=$&!"})
_INLINE = frozenset({"Emphasis", "Strong", "Strikethrough", "Superscript", "Subscript", "Link", "Image"})
VERBATIM = frozenset({"code", "commit"})
"""Kinds of documents whose text is no Markdown."""
TEXT, ITEM, HEADING, CODE, ROW, HEAD = "text", "item", "heading", "code", "row", "head"


Span = tuple[int, int]
"""Start and end in the source, in bytes."""


class Unit(NamedTuple):
    """A sentence, heading, row or line of code. `block`: the number of its paragraph, list item, table or listing."""

    plain: str
    source: str
    kind: str
    block: int
    before: str = ""
    """What its block needs in front: the head of a table, the language of code."""


class _Run(NamedTuple):
    """Characters of a paragraph: where they begin in its plain text, and in the source."""

    at: int
    start: int
    literal: bool  # the source has the same bytes
    outer: int | None  # start of the outermost inline element around it
    opens: bool  # it is the first run of that element


def units(text: str, kind: str = "") -> list[Unit]:
    """The units of a passage, in order. `kind`: that of its document; of source code and commits, units are lines."""
    text = text[:MAX_READ]
    if kind in VERBATIM:
        return [Unit(line, line, CODE, 0) for line in _code_lines(text)]
    found = _Reader(text).read()
    if any(map(has_words, found)):
        return [unit for unit in found if has_words(unit)]
    lines = (" ".join(line.split()) for line in text.splitlines())  # only comments or tags: better than nothing
    return [Unit(line, escaped(line), TEXT, n) for n, line in enumerate(lines) if any(map(str.isalnum, line))]


def plain(text: str, kind: str = "") -> str:
    """The plain text of a whole passage, a line for each paragraph, item, row and line of code."""
    return "\n".join(" ".join(unit.plain for unit in same) for _, same in groupby(units(text, kind), key=own_line))


def own_line(unit: Unit) -> object:
    """The line of a unit: sentences of a paragraph or item share one."""
    return unit.block if unit.kind in (TEXT, ITEM) else unit


def has_words(unit: Unit) -> bool:
    return any(map(str.isalnum, unit.plain))


def escaped(text: str) -> str:
    """Plain text as Markdown source."""
    return text.translate(_ESCAPES)


def _code_lines(text: str) -> list[str]:
    return [line.expandtabs(4).rstrip() for line in text.splitlines() if line.strip()]


class _Reader:
    """Collects units from the parser's events of one passage."""

    def __init__(self, text: str, in_html: bool = False) -> None:
        self._source = text.encode("utf8", "replace")
        self._text = self._source.decode()
        self._in_html = in_html
        self._units: list[Unit] = []
        self._block = 0
        self._lists: list[int | None] = []  # the next number of each list around; None: bullets
        self._marker = ""  # of the list item whose text is about to come
        self._level = 0  # of a heading
        self._code: str | None = None  # language of the code around
        self._cells: list[str] | None = None
        self._table = self._head_end = self._columns = 0
        self._wiki = False
        self._parts: list[str] = []  # of a paragraph, as its runs
        self._runs: list[_Run] = []
        self._length = self._last = 0  # its characters, and its end in the source
        self._depth = 0  # of inline elements
        self._outer: int | None = None  # start of the outermost of them
        self._opens = self._html = False

    def read(self) -> list[Unit]:
        for event, bounds in markdown().events_with_range(self._text):
            span = bounds["start"], bounds["end"]
            if isinstance(event, str):
                self._put("\n" if event in ("SoftBreak", "HardBreak") else "", span)
                continue
            ((name, value),) = event.items()
            if name in ("Start", "End"):
                tag, detail = _tag(value)
                if tag in _INLINE:
                    self._inline(name, tag, detail, span)
                else:
                    self._flush()
                    (self._start if name == "Start" else self._end)(tag, detail, span)
            else:
                self._leaf(name, value, span)
        self._flush()
        return self._units

    # ------------------------------------------------------------ blocks

    def _start(self, tag: str, detail: Any, span: Span) -> None:
        if tag == "List":
            self._lists.append(detail)
        elif tag == "Item" and self._lists:
            number = self._lists[-1]
            self._marker = "- " if number is None else f"{number}. "
            if number is not None:
                self._lists[-1] = number + 1
        elif tag == "Heading":
            level = detail["level"] if isinstance(detail, dict) else detail
            self._level = int(str(level).lstrip("H") or 1)
        elif tag == "CodeBlock":
            language = detail.get("Fenced", "") if isinstance(detail, dict) else ""
            self._code = (*language.split(), "")[0]
            self._block += 1
        elif tag == "Table":
            self._table, self._columns = span[0], len(detail)
            self._block += 1
        elif tag in ("TableHead", "TableRow"):
            self._cells = []

    def _end(self, tag: str, detail: Any, span: Span) -> None:
        if tag == "List" and self._lists:
            self._lists.pop()
        elif tag == "Item":
            self._marker = ""
        elif tag == "Heading":
            self._level = 0
        elif tag == "CodeBlock":
            self._code = None
        elif tag in ("TableHead", "TableRow") and self._cells is not None:
            self._row(tag == "TableHead", span)

    def _row(self, head: bool, span: Span) -> None:
        cells, self._cells = [cell for cell in self._cells or () if cell], None
        row = self._slice(span[0], span[1])
        if head:
            self._head_end = span[1]
        before = f"{self._slice(self._table, self._head_end)}\n{'|---' * self._columns}|"
        self._units.append(Unit(CELL.join(cells), row, HEAD if head else ROW, self._block, before))

    # ------------------------------------------------------------ text inside blocks

    def _inline(self, name: str, tag: str, detail: Any, span: Span) -> None:
        if name == "Start":
            if self._depth == 0:
                self._outer, self._opens = span[0], True
            self._depth += 1
            kind = (detail or {}).get("link_type") if tag in ("Link", "Image") else None
            self._wiki = isinstance(kind, dict) and not kind.get("WikiLink", {}).get("has_pothole", True)
        else:
            self._depth = max(0, self._depth - 1)
            self._last = max(self._last, span[1])
            self._wiki = False
            self._outer = None if self._depth == 0 else self._outer

    def _leaf(self, name: str, value: Any, span: Span) -> None:
        if self._code is not None:
            if name == "Text":
                self._code_text(value)
        elif name == "Text":
            self._put(value.lstrip("#").replace("#", " > ") if self._wiki else value, span)
        elif name == "Code":
            self._put(value, span, code=True)
        elif name in ("InlineHtml", "Html"):
            self._put(_without_tags(value), span)
            self._html |= name == "Html"
        elif name in ("InlineMath", "DisplayMath"):
            self._put(f"${value}$", span)
        elif name == "TaskListMarker":
            self._marker += "[x] " if value else "[ ] "

    def _code_text(self, value: str) -> None:
        self._units += [Unit(line, line, CODE, self._block, self._code or "") for line in _code_lines(value)]

    def _put(self, text: str, span: Span, code: bool = False) -> None:
        if not text:
            return
        alone = code and self._depth == 0  # a code span is an element of its own
        outer = span[0] if alone else self._outer
        literal = outer is None and self._source.startswith(text.encode(), span[0])
        self._runs.append(_Run(self._length, span[0], literal, outer, alone or self._opens))
        self._opens = False
        self._parts.append(text)
        self._length += len(text)
        self._last = max(self._last, span[1])

    def _begin_paragraph(self) -> None:
        self._parts, self._runs = [], []
        self._length = self._last = self._depth = 0
        self._outer = None
        self._opens = self._html = False

    def _flush(self) -> None:
        """End the paragraph: its sentences become units."""
        text = "".join(self._parts)
        if self._cells is not None:
            if text.strip():
                self._cells.append(_clean(text))
        elif text.strip():
            self._block += 1
            if self._html and not self._in_html:
                self._markdown_in_html(text)
            else:
                self._paragraph(text)
        self._begin_paragraph()

    def _markdown_in_html(self, text: str) -> None:
        """HTML without its tags: what remains may be Markdown."""
        found = _Reader(text, in_html=True).read()
        self._units += [unit._replace(block=self._block + unit.block) for unit in found]
        self._block += max((unit.block for unit in found), default=0)

    def _paragraph(self, text: str) -> None:
        first = self._runs[0]
        begin = first.start if first.outer is None else first.outer
        if self._level:
            self._add(_clean(text), f"{'#' * self._level} {self._slice(begin, self._last)}", HEADING)
            return
        title = re.match(_CALLOUT, text) if text.startswith("[!") else None
        skipped = title.end() if title else 0
        cuts = {skipped}
        if title and "\n" in text[skipped:]:
            cuts.add(text.index("\n", skipped) + 1)
        cuts |= {skipped + start for start, _ in sentences(text[skipped:])}
        found = {cut: self._boundary(text, cut) for cut in sorted(cuts)}
        starts = [(cut, begin if at is None else at) for cut, at in found.items() if at is not None or cut == skipped]
        for (cut, start), (after, end) in pairwise([*starts, (len(text), self._last)]):
            self._add(_clean(text[cut:after]), self._slice(start, end))
            if title and cut == skipped:
                self._block += 1  # the title of a callout is a line of its own

    def _add(self, text: str, source: str, kind: str = "") -> None:
        if not text:
            return
        marker, self._marker = self._marker, ""
        source = escaped(text) if self._html else source
        kind = kind or (ITEM if marker else TEXT)
        self._units.append(Unit(f"{marker}{text}", f"{marker}{source}", kind, self._block))

    def _boundary(self, text: str, cut: int) -> int | None:
        """Where a sentence begins in the source; None if that is inside an element, such as bold text."""
        cut += sum(1 for _ in takewhile(str.isspace, text[cut : cut + 100]))
        run = self._runs[max(0, bisect_right(self._runs, cut, key=lambda one: one.at) - 1)]
        if run.outer is None:
            return run.start + len(text[run.at : cut].encode()) if run.literal else None
        return run.outer if run.at == cut and run.opens else None

    def _slice(self, start: int, end: int) -> str:
        """A part of the source, without the margins of quotes and lists."""
        part = self._source[start:end].decode("utf8", "replace")
        return "\n".join(line.lstrip(" \t>") for line in part.split("\n")).strip() if "\n" in part else part.strip()


def _tag(value: Any) -> tuple[str, Any]:
    """Name and details of an element."""
    return next(iter(value.items())) if isinstance(value, dict) else (value, None)


def _without_tags(html: str) -> str:
    text = re.sub(_TAG, lambda tag: tag[0] if tag[1] and tag[1].lower() not in _TAGS else " ", html, flags=re.DOTALL)
    if "&" in text:
        from html import unescape  # lazy: slow to import

        return unescape(text)
    return text


def _clean(text: str) -> str:
    """Text on one line, without the marks that only Obsidian knows."""
    line = " ".join(text.split())
    if "==" in line or "%%" in line or "^" in line:
        line = " ".join(re.sub(_OBSIDIAN, lambda found: found[1] or "", line).split())
    return line
