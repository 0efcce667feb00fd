"""reStructuredText by a line scanner: headings, directives by their indentation, literal blocks, tables, links.

The text that is kept is close to the source, so that its lines are those of the file: roles give their text, literal
blocks become code fences, simple tables Markdown tables; comments and settings of directives are left out.
"""

from __future__ import annotations

import re

from watersmeet.core.documents import Link
from watersmeet.parse._markup import Page, Scanner, dedented, described, fence, indent_of, words
from watersmeet.parse._rst_tables import csv_table, grid_table, list_table, simple_table

_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_DIRECTIVE = re.compile(r"([A-Za-z][\w:+.\-]{0,60}) ?::(?:\s+(\S.*))?$")
_FIELD = re.compile(r":([^:\s][^:]{0,80}):(?:\s+(\S.*))?$")
_BULLET = re.compile(r"(?:[-*+•]|[0-9#A-Za-z]{1,3}[.)]|\([0-9#A-Za-z]{1,3}\))\s+")
_INLINE = re.compile(r"``(.+?)``|(:[\w:.+\-]{1,60}:)?`([^`]+)`(__?(?!\w))?", re.DOTALL)
_LINK = re.compile(r"\[([^\[\]]{0,300})\]\([^()\s]{0,500}\)")
_PROSE_ROLES = frozenset("ref doc term dfn abbr numref emphasis strong guilabel menuselection title any sup".split())
_CODE = frozenset(
    "code code-block sourcecode parsed-literal doctest testcode testoutput testsetup productionlist graphviz digraph"
    " graph math prompt ipython console mermaid jinja".split()
)
_WITH_LANGUAGE = frozenset(("code", "code-block", "sourcecode"))
_LEFT_OUT = frozenset(
    "index meta contents sectnum raw highlight tabularcolumns default-role role currentmodule sectionauthor"
    " moduleauthor codeauthor testcleanup autosummary class-option target-notes replace unicode".split()
)
_FILES = frozenset(("include", "literalinclude", "image", "figure", "video"))
_NOTES = {
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
    "deprecated-removed": "Deprecated since version, removed in version",
    "versionremoved": "Removed in version",
    "seealso": "See also",
}
_ADMONITIONS = frozenset("note warning tip hint important caution danger attention error todo impl-detail".split())
_TITLED = frozenset(
    "rubric centered topic sidebar admonition table container only tab tabs glossary highlights epigraph line-block"
    " compound hlist tab-set tab-item grid grid-item-card card dropdown".split()
)
_TAGS = ("tags", "keywords")


class RstScanner(Scanner):
    """Each method handles what begins at line `at` and returns the line after it."""

    def __init__(self, text: str, page: Page) -> None:
        super().__init__(text, page)
        self.styles: list[tuple[str, bool]] = []
        self.labels: list[str] = []
        self.indent = 0  # of what is being read
        self.before: tuple[int, int, str] | None = None  # line, indentation and text of a directive without its body

    def run(self) -> None:
        super().run()
        self._flush()

    def read(self, at: int, line: str) -> int:
        self.indent = indent = indent_of(line)
        first = line[indent]
        if first not in _PUNCTUATION:
            return (not indent and self._title(at)) or self._paragraph(at, indent)
        if first == "." and line.startswith("..", indent) and line[indent + 2 : indent + 3] in ("", " "):
            return self._explicit(at, indent)
        if first == "_" and line.startswith("__ ", indent):
            return at + 1
        if first == "+" and line[indent + 1 : indent + 2] in ("-", "="):
            return self._table(at, indent, grid=True)
        if first == "=" and " " in line.strip() and set(line) <= {"=", " "}:
            return self._table(at, indent, grid=False)
        if not indent:
            if _is_rule(line):
                return self._overlined(at)
            docinfo = first == ":" and (self.page.empty or self._after_title())
            return self._title(at) or (docinfo and self._docinfo(at)) or self._paragraph(at, indent)
        return self._paragraph(at, indent)

    # ------------------------------------------------------------ headings and metadata

    def _title(self, at: int) -> int:
        """The line after a title with a rule below it, or 0."""
        if at + 1 >= len(self.lines):
            return 0
        rule = self.lines[at + 1].rstrip()
        if not _is_rule(rule) or (len(rule) < 4 and len(rule) < len(self.lines[at].rstrip())):
            return 0
        self._heading(self.lines[at], (rule[0], False), at)
        return at + 2

    def _overlined(self, at: int) -> int:
        """A title between two rules, or a rule that is just a line."""
        lines, rule = self.lines, self.lines[at].rstrip()
        if at + 2 < len(lines) and lines[at + 1].strip() and lines[at + 2].rstrip() == rule:
            self._heading(lines[at + 1], (rule[0], True), at + 1)
            return at + 3
        return self._title(at) or at + 1

    def _heading(self, text: str, style: tuple[str, bool], at: int) -> None:
        self._flush()
        if style not in self.styles:
            self.styles.append(style)
        title = _LINK.sub(r"\1", self._inline(text.strip()).replace("`", ""))
        self.page.heading(self.styles.index(style) + 1, title, at + 1)
        self.page.aliases += self.labels
        self.labels = []

    def _after_title(self) -> bool:
        return self.page.headings == 1 and not self.page.fields and not self.page.has_blocks

    def _docinfo(self, at: int) -> int:
        """Fields at the top of a page: `:Author: name`."""
        found: dict[str, str] = {}
        name = ""
        while at < len(self.lines) and self.lines[at].strip():
            line = self.lines[at]
            match = _FIELD.match(line)
            if match:
                name = match[1]
                found[name] = match[2] or ""
            elif name and line.startswith(" "):
                found[name] += "\n" + line.strip()
            else:
                return 0
            at += 1
        fields = described(found)
        self.page.fields |= fields
        for key in _TAGS:
            self.page.tags += words(fields.get(key, ""))
        self.page.title = fields.get("title", "") or self.page.title
        return at

    # ------------------------------------------------------------ paragraphs and literal blocks

    def _paragraph(self, at: int, indent: int) -> int:
        lines, begin, end = self.lines, at, len(self.lines)
        while at < end and lines[at] and not lines[at].isspace():
            at += 1
        text = "\n".join(dedented(lines[begin:at]) if indent else lines[begin:at])
        last = lines[at - 1].rstrip()
        if not last.endswith("::"):
            self._put(self._inline(text), begin, at - 1)
            return at
        text = text.rstrip()[:-1]
        if text.strip() != ":":
            self._put(self._inline(text), begin, at - 1)
        margin = indent_of(last)
        bullet = _BULLET.match(last, margin)
        return self._literal(at, bullet.end() if bullet else margin, "")

    def _literal(self, at: int, margin: int, language: str) -> int:
        """The block that is indented by more than `margin`, as a fence."""
        begin, at = self._body(at, margin)
        if begin < at:
            body = dedented(self.lines[begin:at])
            self._put(fence(body, language), max(begin - 1, 0), begin + len(body) - 1)
        return at

    def _body(self, at: int, margin: int) -> tuple[int, int]:
        """First and last line (exclusive) of what is indented by more than `margin`, without blank lines around it."""
        lines, end = self.lines, len(self.lines)
        while at < end and not lines[at].strip():
            at += 1
        begin = after = at
        while at < end:
            line = lines[at]
            if line and not line.isspace():
                if indent_of(line) <= margin:
                    break
                after = at + 1
            at += 1
        return begin, after

    def _table(self, at: int, indent: int, grid: bool) -> int:
        """A table in one block: a Markdown table if it is simple, else as it is."""
        begin = at
        if grid:
            while at < len(self.lines) and self.lines[at].strip():
                at += 1
        else:
            at = _simple_table_end(self.lines, at)
        if at == begin + 1:
            return self._paragraph(begin, indent)
        table = [line[indent:].rstrip() for line in self.lines[begin:at]]
        text = grid_table(table) if grid else simple_table(table)
        self._put(self._inline(text) if text else "\n".join(self.lines[begin:at]), begin, at - 1)
        return at

    # ------------------------------------------------------------ explicit markup

    def _explicit(self, at: int, indent: int) -> int:
        """What begins with two dots: a directive, a label, a footnote or a comment."""
        rest = self.lines[at][indent + 2 :].strip()
        directive = _DIRECTIVE.match(rest)
        if directive:
            return self._directive(at, indent, directive[1].casefold(), directive[2] or "")
        if rest.startswith("_"):
            name, _, target = rest[1:].partition(":")
            if not target.strip() and not self._continues(at, indent):
                self.labels.append(name.strip("` "))
                return at + 1
            self.page.link(target.strip(), name.strip("` "))
        elif rest.startswith("["):
            return self._footnote(at, indent, rest)
        elif not rest and not self._continues(at, indent):
            return at + 1  # an empty comment has no body
        return max(at + 1, self._body(at + 1, indent)[1])

    def _continues(self, at: int, indent: int) -> bool:
        """Whether the next line belongs to this one: it is indented by more."""
        line = self.lines[at + 1] if at + 1 < len(self.lines) else ""
        return bool(line.strip()) and indent_of(line) > indent

    def _footnote(self, at: int, indent: int, rest: str) -> int:
        begin = at
        while self._continues(at, indent):
            at += 1
        self._put(self._inline("\n".join((rest, *dedented(self.lines[begin + 1 : at + 1])))), begin, at)
        return at + 1

    def _directive(self, at: int, indent: int, name: str, argument: str) -> int:
        name = name.rpartition(":")[2]
        more, settings, after = self._header(at, indent)
        if name in _LEFT_OUT:
            return max(after, self._body(at + 1, indent)[1])
        if name in _CODE:
            return self._code(at, indent, name, argument, more, after)
        if name == "toctree":
            return self._toctree(after, indent)
        if name in ("list-table", "csv-table"):
            return self._table_directive(at, indent, name, argument, settings)
        if name in _FILES:
            if name in ("include", "literalinclude"):
                self.page.link(argument)
            shown = settings.get("alt") or settings.get("caption")
            if shown:
                self._put(self._inline(shown), at, after - 1)
            return after
        self._flush()
        label = _label(name, argument) + (f": {settings['synopsis']}" if settings.get("synopsis") else "")
        self.before = (at, indent, self._inline("\n".join((label, *more))))
        return after

    def _header(self, at: int, indent: int) -> tuple[list[str], dict[str, str], int]:
        """Lines that continue a directive's first line, its settings, and the line after them."""
        more: list[str] = []
        settings: dict[str, str] = {}
        name = ""
        while self._continues(at, indent):
            at += 1
            line = self.lines[at].strip()
            match = _FIELD.match(line)
            if match and not (more and _is_text_field(match[1])):
                name = match[1]
                settings[name] = match[2] or ""
            elif name:
                settings[name] += " " + line
            else:
                more.append(line)
        return more, settings, at + 1

    def _code(self, at: int, indent: int, name: str, argument: str, more: list[str], after: int) -> int:
        language = argument.split()[0] if argument and name in _WITH_LANGUAGE else ""
        if name not in _WITH_LANGUAGE and (argument or more):
            self._put(fence([*filter(None, (argument,)), *more]), at, after - 1)
        if name in _WITH_LANGUAGE and more:
            after = at + 1
        return max(after, self._literal(after, indent, language))

    def _toctree(self, at: int, indent: int) -> int:
        """Pages listed by a table of contents: links."""
        begin, end = self._body(at, indent)
        for line in self.lines[begin:end]:
            text, target = _target(line.strip())
            if target and "*" not in target and target != "self":
                self.page.link(target, text if text != target else "")
        return max(at, end)

    def _table_directive(self, at: int, indent: int, name: str, argument: str, settings: dict[str, str]) -> int:
        after = self._header(at, indent)[2]
        begin, end = self._body(after, indent)
        body = self.lines[begin:end]
        text = list_table(body, settings) if name == "list-table" else csv_table(body, settings)
        text = text or "\n".join(dedented(body))
        self._put(self._inline(f"{argument}\n\n{text}" if argument else text), at, max(at, end - 1))
        return max(after, end)

    # ------------------------------------------------------------ text

    def _put(self, text: str, first: int, last: int) -> None:
        """Add a block. The first block of a directive's body follows the line that names it."""
        before = self.before
        if before:
            self.before = None
            if self.indent > before[1]:
                gap = "\n\n" if first > before[0] + 1 else "\n"
                self.page.block(before[2] + gap + text, before[0] + 1, last + 1)
                return
            self._put_label(*before)
        self.page.block(text, first + 1, last + 1)

    def _flush(self) -> None:
        if self.before:
            self._put_label(*self.before)
            self.before = None

    def _put_label(self, line: int, indent: int, text: str) -> None:
        """The first line of a directive that has no body."""
        self.page.block(text.removesuffix(":"), line + 1, line + 1 + text.count("\n"))

    def _inline(self, text: str) -> str:
        """Text without roles; links as Markdown, literals in single backquotes."""
        if "`" in text:
            text = _INLINE.sub(self._replace, text)
        return text.replace("\\ ", "") if "\\ " in text else text

    def _replace(self, match: re.Match[str]) -> str:
        literal, role, text, reference = match.groups()
        if literal:
            return f"`{literal}`"
        name = role.strip(":").rpartition(":")[2] if role else ""
        shown, target = _target(text)
        if name in ("doc", "download"):
            self.page.link(target, shown if shown != target else "")
        elif name in ("ref", "numref"):
            self.page.name_link(Link(target, "wiki", "", shown if shown != target else ""))
        elif reference and target != shown:
            self.page.link(target, shown)
            return f"[{shown}]({target})"
        if name in ("pep", "rfc"):
            return f"{name.upper()} {shown}"
        if reference or name in _PROSE_ROLES:
            return shown
        return f"`{shown.lstrip('~!')}`" if role else match[0]


def _target(written: str) -> tuple[str, str]:
    """Text and target of `text <target>`; both are the same where there is only one."""
    if written.endswith(">"):
        text, mark, target = written[:-1].rpartition("<")
        if mark and text.strip():
            return text.rstrip(), "".join(target.split())
        written = target
    return written, " ".join(written.split())


def _label(name: str, argument: str) -> str:
    """What the first line of a directive says."""
    if name in _NOTES:
        return f"{_NOTES[name]} {argument}".rstrip() + ":"
    if name in _TITLED:
        return argument
    if name in _ADMONITIONS:
        return f"{name.capitalize()}: {argument}".rstrip()
    return f"{name} {argument}".rstrip()


def _is_text_field(name: str) -> bool:
    return name.split()[0] in ("param", "type", "return", "returns", "rtype", "raises", "arg", "keyword")


def _is_rule(line: str) -> bool:
    """Whether a line is one mark of punctuation repeated."""
    line = line.rstrip()
    return len(line) > 1 and line[0] in _PUNCTUATION and line[0] == line[1] and line == line[0] * len(line)


def _simple_table_end(lines: list[str], at: int) -> int:
    """The line after a simple table: after its third rule, or after the second if a blank line follows it."""
    rules = 0
    begin = at
    while at < len(lines):
        line = lines[at].strip()
        if line.startswith("=") and set(line) <= {"=", " "}:
            rules += 1
            blank = at + 1 >= len(lines) or not lines[at + 1].strip()
            if rules == 3 or (rules == 2 and blank):
                return at + 1
        elif rules == 1 and not line and at == begin + 1:
            return at
        at += 1
    return begin + 1
