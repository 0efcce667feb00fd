"""Markdown notes and pages: front matter, headings, links and tags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any

from watersmeet.core.indexing import Found, Skipped
from watersmeet.core.model import DocId
from watersmeet.core.pages import Block, Document, Section
from watersmeet.parse._decode import decode
from watersmeet.parse._inline import distinct, listed_tags, related
from watersmeet.parse._matter import front_matter
from watersmeet.parse._outline import outline
from watersmeet.parse._values import flat, moment


@dataclass(frozen=True, slots=True)
class Markdown:
    """One document a file. Text in code is text: never a heading, a link or a tag."""

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        text, warnings, refusal = decode(content)
        if refusal:
            yield Skipped(found.path, refusal)
            return
        matter = front_matter(text)
        fields = matter.fields
        body = outline(text[matter.end :], 1 + text.count("\n", 0, matter.end))
        sections = _with_lost(matter.lost, body.sections)
        tags = (*listed_tags(fields.get("tags")), *listed_tags(fields.get("tag")), *body.tags)
        yield Document(
            id=DocId(found.name),
            kind="document",
            title=_title(fields.get("title"), sections, found.name),
            path=found.path,
            sections=sections,
            modified=moment(fields),
            aliases=_aliases(fields),
            tags=distinct(tags),
            fields=fields,
            links=tuple(dict.fromkeys((*body.links, *related(fields.get("related"))))),
            warnings=(*warnings, *matter.warnings, *body.warnings),
        )


def _with_lost(lost: str, sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """Front matter that could not be read is still text that can be found."""
    if not lost.strip():
        return sections
    text = lost.rstrip()
    block = Block(text, 2, 2 + text.count("\n"))
    if sections and sections[0].level == 0:
        return (replace(sections[0], line=2, blocks=(block, *sections[0].blocks)), *sections[1:])
    return (Section((), 0, 2, (block,)), *sections)


def _title(given: Any, sections: tuple[Section, ...], name: str) -> str:
    """Front matter, else the first heading if it is the highest kind, else the file's name."""
    title = " ".join(str(given).split()) if isinstance(given, str | int | float) else ""
    if title:
        return title
    first = next((section for section in sections if section.level), None)
    if first is not None and first.level == 1 and first.headings[0]:
        return first.headings[0]
    return PurePosixPath(name).stem


def _aliases(fields: dict[str, Any]) -> tuple[str, ...]:
    names: list[str] = []
    for value in (fields.get("aliases"), fields.get("alias")):
        names += value.split(",") if isinstance(value, str) else flat(value)
    return tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
