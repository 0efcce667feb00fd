"""Embeds such as `![[note#part]]`: a document is shown with the text that they stand for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from watersmeet.core.index import Snapshot
from watersmeet.core.model import Condition, DocId
from watersmeet.core.names import link_key
from watersmeet.present.reassemble import LEVELS, OVERLAP, reassemble

NOTES = (".md", ".markdown", ".mdx")
MAX_DEPTH = 3
"""Embeds in embedded text that are expanded, too."""
MAX_EMBEDS = 50
MAX_CHARS = 100_000
"""Embeds of one document that are expanded, and the length of their text together."""
_EMBED = re.compile(r" {0,3}!\[\[([^\[\]|\n]+)(?:\|[^\[\]\n]*)?\]\][ \t]*")
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")


@dataclass(slots=True)
class Embeds:
    """Expands the embeds of a Markdown note, within what the viewer may see. One that leads nowhere stays."""

    snapshot: Snapshot
    visible: Condition
    _left: int = MAX_EMBEDS
    _room: int = MAX_CHARS
    _open: set[tuple[DocId, str]] = field(default_factory=set)

    def expand(self, document: DocId, text: str) -> str:
        """The text of a document with each line that is only an embed replaced by a quotation of what it names."""
        if not document.casefold().endswith(NOTES):
            return text  # mail, pages and code of others must not pull in notes
        self._open = {(document, "")}
        return self._inside(document, text)

    def _inside(self, document: DocId, text: str) -> str:
        if "![[" not in text:
            return text
        lines = (self._expanded(document, line) if is_text else line for line, is_text in _lines(text))
        return "\n".join(lines)

    def _expanded(self, document: DocId, line: str) -> str:
        match = _EMBED.fullmatch(line)
        if match is None or not self._left or len(self._open) > MAX_DEPTH:
            return line
        name, _, part = match[1].partition("#")
        target = self._resolve(document, name.strip())
        if target is None or (target, part) in self._open:
            return line
        self._left -= 1
        self._open.add((target, part))
        text = self._quoted(target, part.strip())
        self._open.discard((target, part))
        return text or line

    def _resolve(self, document: DocId, name: str) -> DocId | None:
        if not name:
            return document
        found = self.snapshot.named(link_key(document, name, "embed"), self.visible)
        return min(found, key=lambda one: (found[one], one)) if found else None

    def _quoted(self, document: DocId, part: str) -> str:
        record = self.snapshot.record(document)
        if record is None or "record" in record.fields:  # an entity of a registry is not a text to quote
            return ""
        passages = self.snapshot.passages_of(document)
        levels, overlap = record.fields.get(LEVELS), record.fields.get(OVERLAP, 0)
        text = _part(reassemble(record.title, passages, levels, overlap), part)
        if not text or len(text) > self._room:
            return ""
        self._room -= len(text)
        return "\n".join(f"> {line}".rstrip() for line in self._inside(document, text).split("\n"))


def _lines(text: str) -> Iterator[tuple[str, bool]]:
    """Lines of a text, each with whether it is outside of code fences."""
    fence = ""
    for line in text.split("\n"):
        start = line.lstrip()
        mark = start[: len(start) - len(start.lstrip(start[:1]))] if start[:1] in ("`", "~") else ""
        if fence:
            if mark.startswith(fence) and not start.rstrip()[len(mark) :]:
                fence = ""
            yield line, False
        else:
            fence = mark if len(mark) >= 3 else ""
            yield line, not fence


def _part(text: str, name: str) -> str:
    """The section of that heading, or the paragraph of that `^block` id; without a name, all of the text."""
    if not name:
        return text
    if name.startswith("^"):
        return next((block for block in text.split("\n\n") if block.rstrip().endswith(name)), "")
    wanted, level, lines = name.rpartition("#")[2].strip().casefold(), 0, list[str]()
    for line, is_text in _lines(text):
        heading = _HEADING.fullmatch(line) if is_text else None
        if level and heading and len(heading[1]) <= level:
            break
        if not level and heading and heading[2].strip().casefold() == wanted:
            level = len(heading[1])
        if level:
            lines.append(line)
    return "\n".join(lines).strip()
