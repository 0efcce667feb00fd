"""Pages of a source as Markdown files, without an index."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from watersmeet.core.documents import Document, Section
from watersmeet.core.errors import ConfigError, SourceProblem
from watersmeet.core.files import replace_file
from watersmeet.core.indexing import Cut, Found, Note, Pending, Same, Skipped, SourceRoot
from watersmeet.core.names import CODE
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.formats import Formats, install_hint
from watersmeet.engine.sync.parsers import parse_safely
from watersmeet.engine.sync.report import Progress, ProgressCallback
from watersmeet.engine.sync.sources import Sources

MAX_PART = 150
"""Bytes of a part of a path: file systems allow 255, with a number, the ending, and what a temporary name adds."""
_FATAL = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EIO)
"""Errors that other pages would meet too."""
_UNSAFE = re.compile(r"[^\w.,()@=+ -]+")


@dataclass(slots=True)
class SavedPages:
    """What was written, and what was not."""

    files: list[str] = field(default_factory=list)
    skipped: list[Skipped] = field(default_factory=list)
    warnings: list[Skipped] = field(default_factory=list)
    notes: list[Skipped] = field(default_factory=list)
    _taken: dict[str, int] = field(default_factory=dict)  # how many pages were called so, whatever the case

    def free(self, path: str) -> str:
        """A path that no other page has: with a number if there is one of this name."""
        stem, ending = os.path.splitext(path)
        while (key := path.casefold()) in self._taken:
            self._taken[key] += 1
            path = f"{stem}-{self._taken[key]}{ending}"
        self._taken[key] = 1
        return path


def save_pages(settings: Settings, uri: str, folder: str, limit: int, progress: ProgressCallback) -> SavedPages:
    """Write the pages at an address into a folder. Files in it are replaced, and none is deleted."""
    sources = Sources(settings)
    kind, place = sources.locate(uri)
    if not sources.is_slow(kind):
        raise ConfigError(f"{uri} is not an address", "give one that begins with https://")
    saved, source, left = SavedPages(), sources.of(kind), 0
    with Formats(settings) as formats:
        try:
            for item in source.scan(SourceRoot(kind, place.uri, limit=limit), {}):
                if isinstance(item, Found):
                    content = source.read(item)
                    parsed = [content] if isinstance(content, Skipped) else _parsed(formats, item, content)
                    _write(item, parsed, folder, saved)
                elif isinstance(item, Skipped):
                    saved.skipped.append(item)
                elif isinstance(item, Cut):
                    saved.warnings.append(Skipped(place.uri, item.reason))
                elif isinstance(item, Note):
                    saved.notes.append(Skipped(place.uri, item.text))
                left = item.count if isinstance(item, Pending) else left
                if isinstance(item, Found | Same | Pending):
                    progress(Progress("fetching", len(saved.files), len(saved.files) + left if left else 0, "pages"))
        except SourceProblem as problem:
            if not saved.files:
                raise
            saved.warnings.append(Skipped(place.uri, str(problem)))
    return saved


def _parsed(formats: Formats, item: Found, content: bytes) -> Iterator[Document | Skipped]:
    format = formats.of(item)
    if format is None:
        yield Skipped(item.uri, "no parser reads it")
    elif format.missing:
        yield Skipped(item.uri, f"{format.name} needs {install_hint(format.extra)}")
    else:
        yield from parse_safely(format.parser.parse(item, content), lambda reason: Skipped(item.uri, reason))


def _write(item: Found, parsed: list[Skipped] | Iterator[Document | Skipped], folder: str, saved: SavedPages) -> None:
    for number, document in enumerate(parsed):
        if isinstance(document, Skipped):
            saved.skipped.append(document)
            continue
        path = os.path.join(folder, saved.free(file_name(item.name, number)))
        os.makedirs(folder, exist_ok=True)
        try:
            os.makedirs(os.path.dirname(path), exist_ok=True)
            replace_file(path, as_markdown(document).encode("utf-8", "replace"), 0o644)
        except OSError as error:
            if error.errno in _FATAL:
                raise
            saved.skipped.append(Skipped(item.uri, f"cannot be written: {error.strerror}"))
        else:
            saved.files.append(path)


def file_name(name: str, number: int = 0) -> str:
    """A relative path for a page, whatever its name is: no part of it leads out of the folder."""
    parts = [part for one in name.split("/") if (part := _cut(_UNSAFE.sub("-", one).strip(" .")))] or ["page"]
    folders = [f"{part[:-3]}-md" if part.lower().endswith(".md") else part for part in parts[:-1]]  # no page's file
    last = parts[-1].removesuffix(".md").removesuffix(".html").removesuffix(".htm")
    return "/".join((*folders, f"{last}-{number + 1}.md" if number else f"{last}.md"))


def _cut(part: str) -> str:
    """A part of a path in as many bytes as are allowed."""
    return part.encode("utf-8", "replace")[:MAX_PART].decode("utf-8", "ignore").strip(" .")


def as_markdown(document: Document) -> str:
    """The text of a document with its headings, and where it comes from."""
    parts = [f"---\nsource: {document.path}\n---"]
    if document.kind != CODE and not any(section.level == 1 for section in document.sections):
        parts.append(f"# {document.title}")
    for section in document.sections:
        parts += _section(section)
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> list[str]:
    heading = [f"{'#' * min(section.level, 6)} {section.headings[-1]}"] if section.level and section.headings else []
    return [*heading, *(block.text for block in section.blocks)]
