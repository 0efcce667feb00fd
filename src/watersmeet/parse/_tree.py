"""Values of a JSON or YAML file as sections: API descriptions by operation, schemas by definition, others by key."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import PurePosixPath
from typing import Any, NamedTuple

from watersmeet.core.documents import Document, Section
from watersmeet.core.indexing import Found, Skipped
from watersmeet.core.limits import MAX_DEPTH, MAX_TAGS
from watersmeet.core.model import DocId
from watersmeet.parse._blocks import paragraphs
from watersmeet.parse._decode import Decoded, decode
from watersmeet.parse._inline import distinct, limited
from watersmeet.parse._json_schema import is_json_schema, json_schema
from watersmeet.parse._key_lines import FIRST_LINE, KeyLines, section
from watersmeet.parse._openapi import is_openapi, openapi
from watersmeet.parse._values import clean, created, modified, plain

LOCK_FILES = frozenset(
    "package-lock.json npm-shrinkwrap.json pnpm-lock.yaml yarn.lock.json composer.lock.json packages.lock.json"
    " project.assets.json deno.lock.json pubspec.lock.yaml conda-lock.yml".split()
)
"""Files that list versions for a program: nobody searches them."""
_LOCK_ENDINGS = ("-lock.json", ".lock.json", "-lock.yaml", "-lock.yml", ".min.json", ".geo.json", ".ipynb_checkpoints")
_MAX_NUMBERS = 20
_MAX_LIST = 2_000
_MAX_STRING = 10_000
_MAX_BLOB = 300
"""A text without blanks that is longer than this is encoded data; its beginning is kept."""
_MAX_TEXT = 200_000
_MAX_FIELDS = 50
_NAMES = ("name", "title", "id", "key", "path", "slug", "label", "_id")
_TITLES = ("title", "name")


class Tree(NamedTuple):
    """What was read of one value."""

    title: str
    sections: list[Section]
    fields: dict[str, Any]
    tags: list[str]
    warnings: list[str]


def decoded(found: Found, content: bytes) -> Decoded:
    """Text of a file; one that is not worth reading is refused."""
    if is_lock_file(found.name):
        return Decoded("", refusal="a lock file or generated data")
    return decode(content)


def is_lock_file(name: str) -> bool:
    base = PurePosixPath(name).name.lower()
    return base in LOCK_FILES or base.endswith(_LOCK_ENDINGS)


def document(found: Found, text: str, values: Iterable[Any], most: int, warnings: Iterable[str]) -> Document:
    """A document of one value, or of several if the file holds several YAML documents."""
    lines = KeyLines(text)
    trees = [read_tree(value, most, lines) for value in values]
    sections = [section for tree in trees for section in tree.sections]
    fields = trees[0].fields if trees else {}
    tags, too_many_tags = limited(distinct(tag for tree in trees for tag in tree.tags), MAX_TAGS, "tags")
    noted = dict.fromkeys(warning for tree in trees for warning in tree.warnings)
    title = trees[0].title if len(trees) == 1 else ""
    return Document(
        id=DocId(found.name),
        kind="document",
        title=title or PurePosixPath(found.name).stem,
        path=found.uri,
        sections=tuple(sections),
        modified=modified(fields),
        created=created(fields),
        tags=tags,
        fields=fields,
        warnings=(*warnings, *noted, *too_many_tags),
    )


def as_text(found: Found, text: str, reason: str, warnings: Iterable[str]) -> Document | Skipped:
    """A file that cannot be parsed, as plain text: a template, or JSON with comments. A large one is left out.

    A template is not expected to be valid, so there is no warning.
    """
    if len(text) > _MAX_TEXT:
        return Skipped(found.uri, reason)
    blocks = tuple(paragraphs(text))
    is_template = "{{" in text or "{%" in text
    return Document(
        id=DocId(found.name),
        kind="document",
        title=PurePosixPath(found.name).stem,
        path=found.uri,
        sections=(Section((), 0, blocks[0].place, blocks),) if blocks else (),
        warnings=(*warnings, f"{reason}; read as plain text") if blocks and not is_template else tuple(warnings),
    )


def read_tree(value: Any, most: int, lines: KeyLines) -> Tree:
    """Sections of a value: of an API description, of a schema, or of plain data."""
    if is_openapi(value):
        return Tree(*openapi(value, most, lines))
    if is_json_schema(value):
        return Tree(*json_schema(value, most, lines))
    return _plain_tree(value, most, lines)


# ---------------------------------------------------------------- plain data


def _plain_tree(value: Any, most: int, lines: KeyLines) -> Tree:
    """A section for each key of an object that holds more than one value, and for each object of a list by its name."""
    writer = _Writer(most, lines)
    title = ""
    fields: dict[str, Any] = {}
    sections: list[Section] = []
    if isinstance(value, dict):
        simple = {key: item for key, item in value.items() if not isinstance(item, dict | list)}
        short = ((key, item) for key, item in simple.items() if _is_short(item))
        fields = {clean(str(key)): plain(item) for key, item in islice(short, _MAX_FIELDS)}
        title = next((str(value[name]) for name in _TITLES if isinstance(value.get(name), str)), "")
        top = "\n".join(writer.lines(simple, ""))
        if top:
            sections.append(section((), 0, lines.key(str(next(iter(simple)))), [top]))
        for key, item in value.items():
            if isinstance(item, dict | list) and item:
                sections += _sections(writer, str(key), item)
    elif isinstance(value, list):
        sections += _sections(writer, "", value)
    elif value is not None:
        sections.append(section((), 0, FIRST_LINE, [_shown(value)]))
    return Tree(" ".join(clean(title).split())[:200], sections, fields, [], writer.warnings())


def _sections(writer: _Writer, key: str, value: Any) -> Iterator[Section]:
    """The section of one key, and those of the named objects in its list."""
    path = (clean(key),) if key else ()
    place = writer.at.key(key) if key else FIRST_LINE
    named = _named(value) if isinstance(value, list) else []
    if named:
        if key:
            yield Section(path, 1, place)
        for name, item in named:
            at = writer.at.value(name)
            yield section((*path, name), len(path) + 1, at if at.lines else place, _texts(writer, item, ""))
        return
    yield section(path, len(path), place, _texts(writer, value, key))


def _named(values: list[Any]) -> list[tuple[str, Any]]:
    """Objects of a list with their names, if all of them are objects with one."""
    found = []
    for value in values:
        name = next((value[key] for key in _NAMES if value.get(key)), None) if isinstance(value, dict) else None
        if not isinstance(name, str | int):
            return []
        found.append((" ".join(clean(str(name)).split())[:200], value))
    return found


def _texts(writer: _Writer, value: Any, path: str) -> Iterator[str]:
    """A text for the simple values of an object, and one for each of the others; a list of simple values is one."""
    parts: list[tuple[Any, str]] = [(value, path)]
    if isinstance(value, dict):
        simple = {key: item for key, item in value.items() if not isinstance(item, dict | list)}
        parts = [(simple, path), *(({key: item}, path) for key, item in value.items() if key not in simple)]
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        parts = [(item, f"{path}[{at}]") for at, item in enumerate(value)]
    for part, name in parts:
        yield "\n".join(writer.lines(part, name))


class _Writer:
    """Values as lines `path.to.key: value`, up to a number of values for the whole file."""

    def __init__(self, most: int, at: KeyLines) -> None:
        self.left = self.most = most
        self.at = at
        self.cut_numbers = self.cut_depth = False

    def lines(self, value: Any, path: str, depth: int = 0) -> Iterator[str]:
        if self.left <= 0:
            return
        if isinstance(value, dict | list) and depth > MAX_DEPTH:
            self.cut_depth = True
            return
        if isinstance(value, dict):
            for key, item in value.items():
                name = clean(str(key))
                yield from self.lines(item, f"{path}.{name}" if path else name, depth + 1)
        elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value[:_MAX_LIST]):
            for at, item in enumerate(value):
                yield from self.lines(item, f"{path}[{at}]", depth + 1)
        else:
            text = self._list(value) if isinstance(value, list) else _shown(value)
            self.left -= 1
            if text:
                yield f"{path}: {text}" if path else text

    def _list(self, values: list[Any]) -> str:
        """Simple values in one line; of many numbers the first ones."""
        if len(values) > _MAX_NUMBERS and all(map(_is_number, values[:_MAX_NUMBERS])):
            self.cut_numbers = True
            return ", ".join(map(_shown, values[:5])) + f", … ({len(values):,} values)"
        self.left -= min(len(values), _MAX_LIST)
        return ", ".join(map(_shown, values[:_MAX_LIST]))

    def warnings(self) -> list[str]:
        found = []
        if self.left <= 0:
            found.append(f"more than {self.most:,} values; the others are left out")
        if self.cut_numbers:
            found.append("long lists of numbers are cut")
        if self.cut_depth:
            found.append(f"values nested more than {MAX_DEPTH} deep are left out")
        return found


def _shown(value: Any) -> str:
    """A simple value in text: as it is written, without quotes."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if value is None:
        return ""
    text = str(plain(value)) if not isinstance(value, str) else clean(value).strip()
    if len(text) > _MAX_BLOB and not any(blank in text[:_MAX_BLOB] for blank in " \n\t"):
        return text[:_MAX_BLOB] + "…"
    return text if len(text) <= _MAX_STRING else text[:_MAX_STRING] + "…"


def _is_number(value: Any) -> bool:
    """Whether a value is a number, as JSON reads it or as YAML has it written."""
    if isinstance(value, str):
        return value.lstrip("+-")[:1].isdigit() and not value.strip("0123456789.+-eE_")
    return isinstance(value, int | float)


def _is_short(value: Any) -> bool:
    return value is not None and len(str(value)) <= _MAX_BLOB
