"""Markdown notes and pages: front matter, headings, links and tags."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Any, ClassVar

from watersmeet.core.documents import Block, Document, Section
from watersmeet.core.indexing import Found, Skipped
from watersmeet.core.limits import MOST_ALIASES, MOST_LINKS, MOST_TAGS
from watersmeet.core.model import DocId
from watersmeet.core.place import Place
from watersmeet.parse._decode import decode
from watersmeet.parse._inline import distinct, limited, listed_tags, related
from watersmeet.parse._matter import front_matter
from watersmeet.parse._outline import outline
from watersmeet.parse._values import created, flat, modified


@dataclass(frozen=True, slots=True)
class Markdown:
    """One document a file. Text in code is text: never a heading, a link or a tag."""

    reads: ClassVar[tuple[str, ...]] = ("text/markdown", ".md", ".markdown", ".mdx")

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        text, warnings, refusal = decode(content)
        if refusal:
            yield Skipped(found.uri, refusal)
            return
        matter = front_matter(text)
        fields = matter.fields
        body = outline(text[matter.end :], 1 + text.count("\n", 0, matter.end))
        sections = _with_lost(matter.lost, body.sections)
        said = (*listed_tags(fields.get("tags")), *listed_tags(fields.get("tag")), *body.tags)
        tags, too_many_tags = limited(distinct(said), MOST_TAGS, "tags")
        names, too_many_names = limited(_aliases(fields), MOST_ALIASES, "aliases")
        edges = dict.fromkeys((*body.links, *related(fields.get("related"))))
        links, too_many_links = limited(edges, MOST_LINKS, "links")
        yield Document(
            id=DocId(found.name),
            kind="document",
            title=_title(fields.get("title"), sections, found.name),
            path=found.uri,
            sections=sections,
            modified=modified(fields),
            created=created(fields),
            aliases=names,
            tags=tags,
            fields=fields,
            links=links,
            warnings=(
                *(*warnings, *matter.warnings, *body.warnings),
                *(*too_many_tags, *too_many_names, *too_many_links),
            ),
        )


def _with_lost(lost: str, sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """Front matter that could not be read is still text that can be found."""
    if not lost.strip():
        return sections
    text = lost.rstrip()
    block = Block(text, Place((2, 2 + text.count("\n"))))
    if sections and sections[0].level == 0:
        return (replace(sections[0], place=block.place, blocks=(block, *sections[0].blocks)), *sections[1:])
    return (Section((), 0, block.place, (block,)), *sections)


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
