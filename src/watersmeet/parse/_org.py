"""Org files by a line scanner: headings with tags, keywords, blocks, tables and links.

The text that is kept is close to the source, so that its lines are those of the file: source blocks become code
fences, tables Markdown tables, links their text; comments, drawers and settings are left out.
"""

from __future__ import annotations

import re

from watersmeet.core.documents import Link
from watersmeet.parse._markup import Page, Scanner, dedented, described, fence, words
from watersmeet.parse._tables import table

_HEADING = re.compile(r"(\*{1,40}) +(\S.*)")
_STATE = re.compile(r"(?:(?:TODO|DONE|NEXT|WAITING|CANCELLED|CANCELED|STARTED|HOLD) )?(?:\[#[A-Z0-9]\] )?(.*)")
_TAGS = re.compile(r":(?:[\w@#%]{1,100}:)+$")
_KEYWORD = re.compile(r"#\+([A-Za-z_\-]{1,40}):[ \t]*(.*)")
_BLOCK = re.compile(r"#\+begin_([a-z]{1,30})(?:[ \t]+([\w+#.\-]{1,40}))?", re.IGNORECASE)
_LINK = re.compile(r"\[\[([^\[\]]{1,1000})\](?:\[([^\[\]]{0,1000})\])?\]")
_DATE = re.compile(r"[<\[]?(\d{4}-\d{2}-\d{2})")
_PROPERTY = re.compile(r"\s*:([\w\-]{1,60}):[ \t]*(.*)")
_MAX_VALUE = 2_000
_MAX_DRAWER = 500
"""Lines of a drawer; a longer one is text."""
_VERBATIM = frozenset(("src", "example", "export", "latex", "html", "ascii"))
_DESCRIPTIONS = frozenset("title author email date language description keywords subtitle category options".split())


class OrgScanner(Scanner):
    """Each method handles what begins at line `at` and returns the line after it."""

    def __init__(self, text: str, page: Page) -> None:
        super().__init__(text, page)
        self.keywords: dict[str, str] = {}

    def run(self) -> None:
        super().run()
        self._describe()

    def read(self, at: int, line: str) -> int:
        if line[0] == "*" and (heading := _HEADING.match(line)):
            self._heading(at, len(heading[1]), heading[2])
            return at + 1
        text = line.strip()
        first = text[0]
        if first == "#":
            if text.startswith("#+"):
                return self._keyword(at, text)
            if text[1:2] in ("", " "):
                return at + 1  # a comment
        elif first == "|":
            return self._table(at)
        elif first == ":" and text.endswith(":") and " " not in text:
            return self._drawer(at, text)
        elif first == ":" and text[1:2] in ("", " "):
            return self._fixed_width(at)
        return self._paragraph(at)

    # ------------------------------------------------------------ headings and metadata

    def _heading(self, at: int, level: int, text: str) -> None:
        text = text.rstrip()
        written = text.rpartition(" ")[2]
        if _TAGS.match(written):
            self.page.tags += written.strip(":").split(":")
            text = text[: -len(written)].rstrip()
        state = _STATE.match(text)
        self.page.heading(level, self._inline(state[1] if state else text).strip(), at + 1)

    def _keyword(self, at: int, text: str) -> int:
        """`#+TITLE: text`, or the begin of a block."""
        block = _BLOCK.match(text)
        if block:
            return self._block(at, block[1].casefold(), block[2] or "")
        match = _KEYWORD.match(text)
        name, value = (match[1].casefold(), match[2].strip()) if match else ("", "")
        if name == "filetags":
            self.page.tags += filter(None, value.replace(":", " ").split())
        elif name == "include":
            self.page.link(value.split('"')[1] if value.startswith('"') and value.count('"') > 1 else value)
        elif name in ("caption", "name") and value:
            self.page.block(self._inline(value), at + 1, at + 1)
        elif name in _DESCRIPTIONS and value:
            before = self.keywords.get(name, "")
            self.keywords[name] = f"{before} {value}" if before and len(before) < _MAX_VALUE else before or value
        return at + 1

    def _describe(self) -> None:
        fields = described(self.keywords)
        fields.pop("options", None)
        if "date" in fields and (date := _DATE.match(fields["date"])):
            fields["date"] = date[1]
        self.page.fields |= fields
        self.page.title = self._inline(fields.get("title", ""))
        self.page.tags += words(fields.get("keywords", ""))

    def _drawer(self, at: int, text: str) -> int:
        """A drawer: the properties of a heading or of the file. Its ID is a name that links use."""
        name = text.strip(":").casefold()
        most = min(len(self.lines), at + _MAX_DRAWER)
        end = next((n for n in range(at + 1, most) if self.lines[n].strip().lower() == ":end:"), None)
        if end is None:
            return self._paragraph(at)
        if name == "properties":
            for line in self.lines[at + 1 : end]:
                match = _PROPERTY.match(line)
                if match:
                    self._property(match[1].casefold(), match[2].strip())
        elif name != "logbook":
            return at + 1  # its content is text
        return end + 1

    def _property(self, name: str, value: str) -> None:
        if name in ("id", "custom_id") and value:
            self.page.aliases.append(value)
        elif name == "roam_aliases":
            self.page.aliases += filter(str.strip, value.split('"')) if '"' in value else value.split()
        elif name == "roam_tags":
            self.page.tags += value.split()

    # ------------------------------------------------------------ blocks

    def _block(self, at: int, kind: str, language: str) -> int:
        begin = at + 1
        end = self.closing(f"#+end_{kind}", begin)
        if end is None:
            return begin  # never closed: its content is text
        if kind == "comment":
            return end + 1
        if kind not in _VERBATIM:
            return begin  # a quote, a verse, a note: its content is text
        body = [line.replace(",*", "*", 1) if line.startswith(",*") else line for line in self.lines[begin:end]]
        shown = dedented(body)
        if shown:
            self.page.block(fence(shown, language if kind == "src" else ""), begin, end)
        return end + 1

    def _fixed_width(self, at: int) -> int:
        begin = at
        while at < len(self.lines) and self.lines[at].lstrip().startswith((": ", ":\n")):
            at += 1
        at = max(at, begin + 1)
        self.page.block(fence([line.lstrip()[2:].rstrip() for line in self.lines[begin:at]]), begin + 1, at)
        return at

    def _table(self, at: int) -> int:
        begin = at
        rows: list[list[str]] = []
        header = False
        while at < len(self.lines) and (line := self.lines[at].strip()).startswith("|"):
            if line.startswith("|-"):
                header = header or len(rows) == 1
            else:
                rows.append([self._inline(text.strip()) for text in line.strip("|").split("|")])
            at += 1
        if rows:
            self.page.block(table(rows, header), begin + 1, at)
        return at

    def _paragraph(self, at: int) -> int:
        begin, lines = at, self.lines
        at += 1
        while at < len(lines) and (text := lines[at].strip()):
            if lines[at].startswith("*") and _HEADING.match(lines[at]):
                break
            if text.startswith(("#+", "|", "# ")):
                break
            at += 1
        shown = lines[begin:at]
        if shown[0].startswith(" ") and shown[0].lstrip()[0] not in "-+":
            shown = dedented(shown)
        text = "\n".join(shown)
        if not text.strip().casefold().startswith("#+end_"):
            self.page.block(self._inline(text), begin + 1, at)
        return at

    # ------------------------------------------------------------ text

    def _inline(self, text: str) -> str:
        return _LINK.sub(self._replace, text) if "[[" in text else text

    def _replace(self, match: re.Match[str]) -> str:
        target, text = match[1].strip(), (match[2] or "").strip()
        scheme, _, rest = target.partition(":")
        if scheme == "file" or target.startswith(("./", "../", "/")):
            path, _, heading = (rest if scheme == "file" else target).partition("::")
            self.page.link(f"{path}#{heading.lstrip('*#')}" if heading else path, text)
            return text or path
        if scheme == "id":
            self.page.name_link(Link(rest.partition("::")[0], "wiki", "", text[:200]))
            return text or rest
        if scheme in ("http", "https", "mailto"):
            return f"[{text}]({target})" if text else target
        if scheme in ("attachment", "denote", "roam") and rest:
            self.page.name_link(Link(rest, "wiki", "", text[:200]))
        return text or target.lstrip("*#")
