"""Markdown notes and pages: front matter, headings, links and tags."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import PurePosixPath
from typing import Any, ClassVar, NamedTuple

from watersmeet.common.safe_yaml import SHORT, NotYaml, read_yaml, safe_loader
from watersmeet.core.documents import Block, Document, Section
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.limits import MAX_ALIASES, MAX_LINKS, MAX_TAGS, LimitExceeded
from watersmeet.core.model import DocId
from watersmeet.core.place import Place
from watersmeet.parse._decode import decode
from watersmeet.parse._inline import distinct, limited, listed_tags, related
from watersmeet.parse._outline import outline
from watersmeet.parse._values import created, flat, modified, plain

_YAML = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_TOML = re.compile(r"\+\+\+[ \t]*\n(.*?)^\+\+\+[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_MAX_DOTS = 2000
"""Dots in TOML: a dotted key costs memory quadratic in its parts."""


@dataclass(frozen=True, slots=True)
class Markdown(ParserOptions):
    """A Markdown parser: one document a file. Code has no headings, links or tags."""

    reads: ClassVar[tuple[str, ...]] = ("text/markdown", ".md", ".markdown", ".mdx")

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        text, warnings, refusal = decode(content)
        if refusal:
            yield Skipped(found.uri, refusal)
            return
        matter = _front_matter(text)
        fields = matter.fields
        body = outline(text[matter.end :], 1 + text.count("\n", 0, matter.end))
        sections = _with_unparsed(matter.unparsed, body.sections)
        listed = (*listed_tags(fields.get("tags")), *listed_tags(fields.get("tag")), *body.tags)
        tags, too_many_tags = limited(distinct(listed), MAX_TAGS, "tags")
        names, too_many_names = limited(_aliases(fields), MAX_ALIASES, "aliases")
        edges = dict.fromkeys((*body.links, *related(fields.get("related"))))
        links, too_many_links = limited(edges, MAX_LINKS, "links")
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


def _with_unparsed(unparsed: str, sections: tuple[Section, ...]) -> tuple[Section, ...]:
    """Sections with unreadable front matter as text, so that it can still be found."""
    if not unparsed.strip():
        return sections
    text = unparsed.rstrip()
    block = Block(text, Place((2, 2 + text.count("\n"))))
    if sections and sections[0].level == 0:
        return (replace(sections[0], place=block.place, blocks=(block, *sections[0].blocks)), *sections[1:])
    return (Section((), 0, block.place, (block,)), *sections)


def _title(value: Any, sections: tuple[Section, ...], name: str) -> str:
    """Title from front matter, else the first heading if it has level 1, else the file's name."""
    title = " ".join(str(value).split()) if isinstance(value, str | int | float) else ""
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


# ---------------------------------------------------------------- front matter


class _FrontMatter(NamedTuple):
    """Front matter: its fields, and where the body begins. `unparsed` is its text if it could not be read."""

    fields: dict[str, Any]
    end: int = 0
    unparsed: str = ""
    warnings: tuple[str, ...] = ()


class _Unreadable(ValueError):
    """Front matter that cannot be read; the message says why."""


def _front_matter(text: str) -> _FrontMatter:
    """Front matter of a text, if any. `---` followed by a blank line may also be just a rule."""
    reader: Callable[[str], Any]
    if text.startswith("---"):
        match, reader = _YAML.match(text), _read_yaml
    elif text.startswith("+++"):
        match, reader = _TOML.match(text), _read_toml
    else:
        return _FrontMatter({})
    if match is None:
        return _FrontMatter({})
    source = match[1]
    try:
        if len(source) > SHORT:
            raise _Unreadable(f"front matter is larger than {SHORT // 1024} KiB")
        value = reader(source)
        if value is not None and not isinstance(value, dict):
            raise _Unreadable("front matter is not a mapping of names to values")
        return _FrontMatter(plain(value) if value else {}, match.end())
    except RecursionError:
        reason = "front matter is nested too deeply"
    except _Unreadable as problem:
        reason = str(problem)
    if source.partition("\n")[0].strip():
        return _FrontMatter({}, match.end(), source, (reason,))
    return _FrontMatter({})


def _read_toml(source: str) -> Any:
    import tomllib

    if source.count(".") > _MAX_DOTS:
        raise _Unreadable(f"front matter has more than {_MAX_DOTS:,} dots")
    try:
        return tomllib.loads(source)
    except (tomllib.TOMLDecodeError, RecursionError) as problem:
        raise _Unreadable(f"front matter is not valid TOML: {problem}") from problem
    except (ValueError, OverflowError) as problem:
        raise _Unreadable("front matter is not valid TOML: a number or date is out of range") from problem


def _read_yaml(source: str) -> Any:
    try:
        return read_yaml(source, _loader())
    except LimitExceeded as problem:
        raise _Unreadable(f"front matter {problem}") from problem
    except NotYaml as problem:
        where = f"line {problem.line + 1}: " if problem.line else ""
        raise _Unreadable(f"front matter is not valid YAML: {where}{problem}") from problem


@cache
def _loader() -> Any:
    """A safe YAML loader that keeps impossible dates and numbers as text.

    So does it with a number that would be written differently: 1.10 is a version, 007 a name, and 12:30 is not 750.
    """
    import yaml

    loader: Any = type("Loader", (safe_loader(),), {})

    def lenient(build: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
        def construct(self: Any, node: Any) -> Any:
            written = str(node.value)
            try:
                value = build(self, node)
            except (ValueError, AttributeError, LookupError):
                return written
            return written if isinstance(value, int | float) and str(value) != written else value

        return construct

    for name in ("timestamp", "int", "float"):
        build = getattr(yaml.constructor.SafeConstructor, f"construct_yaml_{name}")
        loader.add_constructor(f"tag:yaml.org,2002:{name}", lenient(build))
    return loader
