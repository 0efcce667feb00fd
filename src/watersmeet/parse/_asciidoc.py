"""AsciiDoc by a line scanner: headings, attributes, delimited blocks, tables and cross references.

The text that is kept is close to the source, so that its lines are those of the file: listings become code fences,
simple tables Markdown tables, cross references their text; comments and block attributes are left out.
"""

from __future__ import annotations

import re

from watersmeet.parse._markup import Page, Scanner, described, fence, words
from watersmeet.parse._tables import table

_HEADING = re.compile(r"(={1,6}|#{1,6})\s+(\S.*)")
_UNDERLINES = "=-~^+"
_ATTRIBUTE = re.compile(r":(!?[\w][\w\-]{0,80}!?):(?:\s+(.*))?$")
_AUTHOR = re.compile(r"[\w][\w.\- ]{0,80}<[^<>]{1,200}>")
_REVISION = re.compile(r"(?:v?([\w.]{1,40}),\s*)?(\d{4}-\d{2}-\d{2})")
_BLOCK_MACRO = re.compile(r"(include|image|video|audio|toc|ifdef|ifndef|ifeval|endif)::([^\[\s]{0,500})\[(.*)\]$")
_SOURCE = re.compile(r"\[(?:source|,)[^,\]]{0,60},?\s*([\w+#.\-]{1,40})?")
_MACRO = re.compile(
    r"<<([^<>,]{1,300})(?:,([^<>]{0,500}))?>>"
    r"|\b(?:xref|link):([^\s\[\]]{1,500})\[([^\[\]]{0,500})\]"
    r"|(https?://[^\s\[\]<>]{1,500})\[([^\[\]]{0,500})\]"
    r"|\b(?:kbd|btn|menu|footnote|pass|stem):[\w\-]{0,60}\[([^\[\]]{0,500})\]"
)
_CELL = re.compile(r"(?:(?:\d{1,4}(?:\.\d{1,4})?[*+])?[<^>.]{0,4}[a-z]?)?\|")
_PLAIN_TABLE = re.compile(r"\||\s*$")
_VERBATIM = {"-": "----", ".": "....", "+": "++++", "/": "////", "`": "```"}
_LEFT_OUT = ("////", "++++")
_MAX_CELLS = 100_000
_MAX_VALUE_LINES = 100


class AsciidocScanner(Scanner):
    """Each method handles what begins at line `at` and returns the line after it."""

    def __init__(self, text: str, page: Page) -> None:
        super().__init__(text, page)
        self.attributes: dict[str, str] = {}
        self.language: str | None = None  # of the listing that follows
        self.header = False  # whether the table that follows has a header row

    def run(self) -> None:
        super().run()
        self._describe()

    def read(self, at: int, line: str) -> int:
        first = line[0]
        if first in "=#" and (heading := _HEADING.match(line)):
            return self._heading(at, len(heading[1]), heading[2])
        if first in _VERBATIM and line.startswith(_VERBATIM[first]):
            return self._verbatim(at, line.rstrip() if first != "`" else "```")
        if first in "|,:!" and line.rstrip()[1:] in ("===", "====="):
            return self._table(at, line.rstrip())
        if first == "/" and line.startswith("//"):
            return at + 1
        if first == ":" and (attribute := _ATTRIBUTE.match(line)):
            return self._attribute(at, attribute)
        if first == "[" and line.rstrip().endswith("]"):
            return self._block_attributes(at, line)
        if "::" in line and (macro := _BLOCK_MACRO.match(line)):
            return self._block_macro(at, macro)
        if _is_delimiter(line) or line.strip() == "+":
            return at + 1  # an example, a quote, a sidebar: its content is read as text
        return self._underlined(at, line) or self._paragraph(at)

    # ------------------------------------------------------------ headings and metadata

    def _heading(self, at: int, level: int, text: str, line: int = 0) -> int:
        text = text.rstrip().rstrip("=#").rstrip() if text.rstrip().endswith(("=", "#")) else text.rstrip()
        first = self.page.empty and level == 1
        self.page.heading(level, self._inline(text, plain=True), line or at + 1)
        self.language = None
        return self._author_lines(at + 1) if first else at + 1

    def _author_lines(self, at: int) -> int:
        """The lines right below the title: author and revision."""
        line = self.lines[at] if at < len(self.lines) else ""
        if not _AUTHOR.match(line):
            return at
        self.attributes.setdefault("author", line.strip())
        after = self.lines[at + 1] if at + 1 < len(self.lines) else ""
        revision = _REVISION.match(after)
        if not revision:
            return at + 1
        self.attributes.setdefault("date", revision[2])
        if revision[1]:
            self.attributes.setdefault("version", revision[1])
        return at + 2

    def _underlined(self, at: int, line: str) -> int:
        """The line after a title with a rule of about its length below it, or 0."""
        rule = self.lines[at + 1].rstrip() if at + 1 < len(self.lines) else ""
        if len(rule) < 2 or rule[0] not in _UNDERLINES or rule != rule[0] * len(rule):
            return 0
        title = line.rstrip()
        if abs(len(rule) - len(title)) > 2 or not any(map(str.isalnum, title)) or line[0] == " ":
            return 0
        return self._heading(at + 1, _UNDERLINES.index(rule[0]) + 1, title, at + 1)

    def _attribute(self, at: int, match: re.Match[str]) -> int:
        name, value = match[1].casefold(), (match[2] or "").strip()
        parts = [value]
        while parts[-1].endswith("\\") and at + 1 < len(self.lines) and self.lines[at + 1].strip():
            at += 1
            parts.append(self.lines[at].strip())
        value = " ".join(part.rstrip("\\").rstrip(" +") for part in parts[:_MAX_VALUE_LINES])
        if "!" not in name and self.page.headings <= 1:
            self.attributes.setdefault(name, value)
        return at + 1

    def _describe(self) -> None:
        """Attributes as fields; those that only set the layout are among them, and harm nobody."""
        fields = described(self.attributes)
        for name, other in (("revdate", "date"), ("revnumber", "version"), ("doctitle", "title")):
            if name in fields:
                fields.setdefault(other, fields[name])
        self.page.fields |= fields
        self.page.title = fields.get("title", "")
        for name in ("tags", "keywords", "page-tags"):
            self.page.tags += words(fields.get(name, ""))
        for name in ("aliases", "page-aliases"):
            self.page.aliases += words(fields.get(name, ""))

    # ------------------------------------------------------------ blocks

    def _block_attributes(self, at: int, line: str) -> int:
        """`[source,ruby]`, `[%header,cols=2*]`, `[[anchor]]`: what follows is a listing, or a table with a header."""
        source = _SOURCE.match(line)
        if source:
            self.language = source[1] or ""
        self.header = "header" in line
        return at + 1

    def _block_macro(self, at: int, match: re.Match[str]) -> int:
        name, target, text = match.groups()
        if name == "include":
            self.page.link(target)
        elif name == "image" and text:
            alt = text.split(",")[0].strip('" ')
            if alt and "=" not in alt:
                self.page.block(alt, at + 1, at + 1)
        return at + 1

    def _verbatim(self, at: int, mark: str) -> int:
        """A listing, literal or comment up to the same mark."""
        begin = at + 1
        language = self.language or (self.lines[at].strip("` \n") if mark == "```" else "")
        end = self.closing(mark, begin)
        if end is None or mark.strip(mark[0]):
            return self._paragraph(at)
        self.language = None
        if not mark.startswith(_LEFT_OUT):
            body = [line.rstrip() for line in self.lines[begin:end]]
            if any(body):
                self.page.block(fence(body, language), begin, end)
        return end + 1

    def _table(self, at: int, mark: str) -> int:
        begin = at
        end = self.closing(mark, at + 1)
        end = len(self.lines) if end is None else end
        body = [line.rstrip() for line in self.lines[begin + 1 : end]]
        text = _simple_table(body, self.header) if mark[0] == "|" else ""
        self.page.block(self._inline(text or "\n".join(body)), begin + 1, min(end + 1, len(self.lines)))
        self.header = False
        return end + 1

    def _paragraph(self, at: int) -> int:
        begin, lines = at, self.lines
        at += 1
        while at < len(lines) and lines[at].strip() and not self._interrupts(lines[at]):
            at += 1
        shown = ["" if line.strip() == "+" else line for line in lines[begin:at] if not line.startswith("//")]
        text = "\n".join(shown)
        if self.language is not None:
            self.page.block(fence([line.rstrip() for line in shown], self.language), begin + 1, at)
            self.language = None
        else:
            if text.startswith(".") and text[1:2].isalnum():
                text = text[1:]  # the title of a block
            self.page.block(self._inline(text), begin + 1, at)
        return at

    def _interrupts(self, line: str) -> bool:
        """Whether a line ends a paragraph without a blank line before it."""
        if line[0] in "-.|=*_+/" and (line.rstrip() == "|===" or _is_delimiter(line) or line.startswith("////")):
            return True
        verbatim = line[0] in "-.`" and line.startswith(("----", "....", "```")) and not line.rstrip().strip(line[0])
        return verbatim or (line[0] == "[" and bool(_SOURCE.match(line))) or line.startswith(("include::", "== "))

    # ------------------------------------------------------------ text

    def _inline(self, text: str, plain: bool = False) -> str:
        """Text without macros; links as Markdown, in a heading only their text."""
        if "[" in text or "<<" in text:
            return _MACRO.sub(self._plain if plain else self._replace, text)
        return text

    def _plain(self, match: re.Match[str]) -> str:
        return (match[6] or "").rstrip("^") or self._replace(match)

    def _replace(self, match: re.Match[str]) -> str:
        anchor, anchor_text, target, target_text, url, url_text, other = match.groups()
        if url:
            return f"[{url_text.rstrip('^')}]({url})" if url_text.strip("^ ") else url
        if anchor:
            if "#" in anchor or anchor.endswith((".adoc", ".asciidoc")):
                self._file_link(anchor, anchor_text or "")
            return (anchor_text or anchor).strip()
        if target:
            shown = target_text.partition(",")[0] if "=" in target_text else target_text
            self._file_link(target, shown.strip('"^ '))
            return shown.strip('"^ ') or target
        return other or ""

    def _file_link(self, target: str, text: str) -> None:
        """A link to another file: Antora's `module:page.adoc` is its page."""
        if not target.startswith(("http:", "https:", "mailto:", "#")):
            self.page.link(target.rpartition(":")[2].removeprefix("page$"), text)


def _is_delimiter(line: str) -> bool:
    """Whether a line begins or ends an example, a quote, a sidebar or an open block."""
    line = line.rstrip()
    return line == "--" or (len(line) >= 4 and line[0] in "=_*" and line == line[0] * len(line))


def _simple_table(lines: list[str], header: bool) -> str:
    """A Markdown table, if each row is one line, or each group of lines is a row; empty if cells span others."""
    rows: list[list[str]] = []
    for at, line in enumerate(lines):
        if not line:
            header = header or (at > 0 and len(rows) == 1)
            continue
        if not _PLAIN_TABLE.match(line):
            return ""
        cells = [part.strip() for part in line.replace("\\|", "\0").split("|")[1:]]
        rows.append([text.replace("\0", "|") for text in cells])
    width = len(rows[0]) if rows else 0
    if not rows or width < 2 or sum(map(len, rows)) > _MAX_CELLS:
        return ""
    body = rows[1:]
    if any(len(row) != width for row in body):  # a cell a line
        cells = [text for row in body for text in row]
        if len(cells) % width or any(len(row) > width for row in body):
            return ""
        body = [cells[n : n + width] for n in range(0, len(cells), width)]
    return table([rows[0], *body], header)
