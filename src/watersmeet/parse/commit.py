"""Commits of a git repository: the message, and a section for each file with the lines that changed.

The content is what `source/history.py` reads: seven fields that end with NULs, then the differences as git writes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, ClassVar

from watersmeet.core.documents import Block, Document, Section
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import DocId
from watersmeet.core.options import option
from watersmeet.parse._blocks import paragraphs
from watersmeet.parse._values import clean

KIND = "commit"
SHORT = 7
"""Length of a short hash."""
MAX_SUBJECT, MAX_MESSAGE = 500, 20_000
MAX_FILES = 200
MAX_LINE = 500
MAX_TOTAL_LINES = 1_000
_FIELDS = 7
_FILE = re.compile(r"^diff --git ", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Commit(ParserOptions):
    """One commit."""

    reads: ClassVar[tuple[str, ...]] = ("application/x-git-commit",)

    max_chars: int = option(4000, "longest chunk of this format, in characters; 0: that of the chunker", least=0)
    min_chars: int = option(2000, "the lines of a file with fewer characters join the chunk of the message", least=0)
    diff_lines: int = option(200, "lines of the differences of one file that are indexed", least=0)

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        parts = content.split(b"\0", _FIELDS)
        if len(parts) <= _FIELDS:
            yield Skipped(found.uri, "not a commit")
            return
        texts = [clean(part.decode("utf-8", "replace")) for part in parts]
        commit, author, email, written, committed, parents, message, patch = texts
        subject, _, body = message.strip().partition("\n")
        files, sections, cut = self._differences(patch)
        fields: dict[str, Any] = {"author": author, "email": email, "commit": commit, "files": files}
        if " " in parents.strip():
            fields["merge"] = True
        text = body.strip()[:MAX_MESSAGE] or subject[:MAX_MESSAGE]
        text += f"\n\n{cut:,} more files changed; their lines are not indexed." if cut else ""
        yield Document(
            id=DocId(found.name),
            kind=KIND,
            title=subject.strip()[:MAX_SUBJECT] or commit[:SHORT],
            path=found.uri,
            sections=(Section((), 0, blocks=tuple(paragraphs(text))), *sections),
            modified=_moment(committed),
            created=_moment(written),
            aliases=(commit[:SHORT],),
            fields=fields,
        )

    def _differences(self, patch: str) -> tuple[list[str], list[Section], int]:
        """Names of the files, a section for each, and of how many files no line was taken."""
        names: list[str] = []
        sections: list[Section] = []
        room = MAX_TOTAL_LINES
        cut = 0
        for part in _FILE.split(patch)[1:]:
            name, text, lines = _difference(part, min(self.diff_lines, room))
            if len(names) < MAX_FILES:
                names.append(name)
            room -= lines
            if len(sections) == MAX_FILES or (not room and not text):
                cut += 1
                continue
            sections.append(Section((name,), 1, blocks=(Block(text),) if text else ()))
        return names, sections, cut


def _difference(part: str, most: int) -> tuple[str, str, int]:
    """The name of a file, its changed lines, and how many these are."""
    lines = part.split("\n", most + 20)
    if len(lines) > most + 20:
        lines.pop()  # the rest
    name = lines[0].rpartition(" b/")[2].strip('"')
    kept: list[str] = []
    in_hunk = False
    for line in lines[1:]:
        if line.startswith("@@"):
            in_hunk = True
            context = line[2:].partition("@@")[2].strip()
            line = f"@@ {context}" if context else "@@"
        elif not in_hunk:
            if line.startswith("+++ b/"):
                name = line[6:].strip("\t")
            if not line.startswith(("rename from ", "Binary files ")):
                continue
        if len(kept) >= most:
            break
        if line and not line.startswith("\\"):
            kept.append(line[:MAX_LINE])
    return name, "\n".join(kept), len(kept)


def _moment(seconds: str) -> datetime | None:
    try:
        return datetime.fromtimestamp(int(seconds), UTC)
    except (ValueError, OverflowError, OSError):
        return None
