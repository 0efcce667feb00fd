"""Formats of a sync: for each, its parser, its chunker, and the files that the settings leave out."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import cached_property
from importlib.util import find_spec
from typing import Any

from watersmeet.core.indexing import Chunker, Found, Parser, ParserOptions, StreamParser
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.engine.components import build, default, find, options
from watersmeet.engine.settings.settings import Settings
from watersmeet.engine.sync.parser_process import IsolatedParser, ParserProcess
from watersmeet.engine.sync.parsers import reader_of, readers

_WITHOUT_EXTRA = " without extra"
UNRECORDED = {
    **dict.fromkeys(("text/markdown", ".md", ".markdown", ".mdx"), "markdown 1"),
    **dict.fromkeys(("text/plain", "text/x-rst", ".txt", ".rst"), "text 1"),
    **dict.fromkeys(("application/jsonl", "application/x-ndjson", ".jsonl"), "jsonl 1"),
}
"""What read each form of file in an index that has no record of it."""


@dataclass(frozen=True, eq=False)
class Format:
    """One format. `missing`: packages that it needs and that are not installed; `without_extra`: it reads files, but
    less well than with its extra."""

    name: str
    parser: Parser | IsolatedParser
    chunker: Chunker
    filter: GlobFilter
    extra: str = ""
    missing: tuple[str, ...] = ()
    without_extra: bool = False

    @cached_property
    def stream_parser(self) -> StreamParser | None:
        """Its parser, if it reads a stream. (Testing for a protocol costs as much as reading a small file.)"""
        return self.parser if isinstance(self.parser, StreamParser) else None


def install_hint(extra: str) -> str:
    return f"`pip install 'watersmeet[{extra}]'`"


class Formats:
    """The formats of the settings, each built when a file first needs it. Close it to end the child process."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process = ParserProcess()
        self._formats: dict[str, Format] = {}

    def __enter__(self) -> Formats:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.close()

    def of(self, item: Found) -> Format | None:
        """The format of an item; None if no parser reads it."""
        name = reader_of(readers(), item)
        if name is None:
            return None
        if name not in self._formats:
            self._formats[name] = self._build(name)
        return self._formats[name]

    def _build(self, name: str) -> Format:
        table = self._settings.of("parse", name)
        parser: Parser = build("parse", name, table)
        chosen = parser if isinstance(parser, ParserOptions) else ParserOptions()
        used = IsolatedParser(name, table, self._process) if chosen.isolated else parser
        missing, better = _not_installed(chosen.requires), _not_installed(chosen.improved_by)
        globs = GlobFilter(chosen.include, chosen.exclude)
        return Format(name, used, chunker(self._settings, chosen), globs, chosen.extra, missing, bool(better))


def _not_installed(packages: Sequence[str]) -> tuple[str, ...]:
    return tuple(package for package in packages if find_spec(package) is None)


def chunker(settings: Settings, format: ParserOptions | None = None) -> Chunker:
    """The chunker, with the size and overlap of a format where it has its own."""
    name = settings.section("index").chunk
    table = dict(settings.of("chunk", name))
    declared = options(find("chunk", name))
    own = {key: value for key in declared if (value := getattr(format, key, 0))}
    if "min_chars" in declared and not own.keys().isdisjoint(("max_chars", "min_chars")):
        largest, least = (own.get(key) or table.get(key, default(declared[key])) for key in ("max_chars", "min_chars"))
        own["min_chars"] = min(largest, least)
    made: Chunker = build("chunk", name, table | own)
    return made


@dataclass(frozen=True, slots=True)
class ParserVersions:
    """What reads each form of file, and what has read it before: the parser, its version and its own options, and
    whether it reads less well than with its extra."""

    now: Mapping[str, str]
    before: Mapping[str, str]

    @classmethod
    def of(cls, settings: Settings, recorded: str | None) -> ParserVersions:
        """`recorded`: `to_record` of the last sync."""
        parsers = {name: _version(name, settings.of("parse", name)) for name in {*readers().values()}}
        now = {form: parsers[name] for form, name in readers().items()}
        return cls(now, json.loads(recorded) if recorded else UNRECORDED)

    def outdated(self) -> frozenset[str]:
        """Forms of file to read again: they would be read otherwise now, and not less well."""
        changed = (form for form, version in self.now.items() if self.before.get(form, version) != version)
        return frozenset(form for form in changed if not self._was_better(form))

    def to_record(self) -> str:
        return json.dumps({form: self.before[form] if self._was_better(form) else self.now[form] for form in self.now})

    def _was_better(self, form: str) -> bool:
        return f"{self.before.get(form)}{_WITHOUT_EXTRA}" == self.now[form]


def _version(name: str, settings: Mapping[str, Any]) -> str:
    cls = find("parse", name)
    own = {key: value for key, value in sorted(settings.items()) if key not in options(ParserOptions)}
    without_extra = _WITHOUT_EXTRA if _not_installed(getattr(cls, "improved_by", ())) else ""
    return f"{name} {getattr(cls, 'version', 1)}{json.dumps(own) if own else ''}{without_extra}"


@dataclass(frozen=True, slots=True)
class GlobFilter:
    """The files of a format that are read, by the globs of its options; without globs, all."""

    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    _patterns: dict[str, Any] = field(default_factory=dict, compare=False)

    def takes(self, path: str) -> bool:
        if not self.include and not self.exclude:
            return True
        path = path.lower()
        return (not self.include or self._any(self.include, path)) and not self._any(self.exclude, path)

    def _any(self, globs: Sequence[str], path: str) -> bool:
        from watersmeet.common.globs import pattern

        for glob in globs:
            if glob not in self._patterns:
                self._patterns[glob] = pattern(glob.lower().removeprefix("./"), may_negate=False)
            rule = self._patterns[glob]
            if rule is not None and rule.matches(path.rpartition("/")[2], path, False):
                return True
        return False
