"""Where settings come from: recipe, user's file, project's file, environment, flags; later ones win.

Nothing else reads the environment or looks for settings files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import ConfigError, UnknownComponent, nearest
from watersmeet.core.options import option
from watersmeet.engine.components import KINDS, available, checked, exists, find, suggestion
from watersmeet.engine.settings.file import Table, parse, read

if TYPE_CHECKING:
    from watersmeet.engine.settings.trust import Ignored

FILE = "watersmeet.toml"
PREFIX = "WATERSMEET__"
RECIPES = os.path.join(os.path.dirname(__file__), "recipes")


def _at_least(section: str, least: int, **values: float) -> None:
    for name, value in values.items():
        if not value >= least:
            raise ConfigError(f"{section}.{name} cannot be {value}", f"use {least} or more")


# Nobody compares or prints the sections; to compile for each how that is done costs a search's start 3 ms.


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PipelineSettings:
    """Which components answer a query, in which order."""

    understand: list[str] = option([], "steps that read the query, in order")
    signals: list[str] = option([], "what votes")
    follow: dict[str, str] = option(
        {}, "signals that only rank what the others found, each as long as another one votes; '': it searches itself"
    )
    fusion: str = option("rrf", "how the votes become one ranking")
    stages: list[str] = option([], "what happens to the ranking afterwards, in order")
    pool: int = option(100, "how many candidates each signal gives, at least")
    pool_times: int = option(0, "... and at least this many times the results asked for")
    deadline_ms: int = option(10_000, "a signal that takes longer is left out and named in the answer")

    def __post_init__(self) -> None:
        _at_least("pipeline", 1, pool=self.pool, deadline_ms=self.deadline_ms)
        _at_least("pipeline", 0, pool_times=self.pool_times)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IndexSettings:
    """How documents become an index. Another text store, chunker or embedder needs `sync --recreate`."""

    store: str = option(
        "local", "where an index is kept that is no address; `SCHEME://...` names its store itself", outside=True
    )
    text: str = option("tantivy", "text store: tantivy or fts5")
    chunk: str = option("headings", "chunker")
    source: str = option("folder", "the source that reads paths; an address is read by the one that takes it")
    vectors: bool = option(True, "embed what is indexed")
    static: str = option("static", "embedder of the quick vectors; empty: none")
    sparse: str = option("terms", "encoder of the weighted terms: terms or splade; empty: none")
    dense: str = option("onnx", "embedder of the deep vectors; empty: none")
    dates: list[str] = option(
        ["matter", "git", "mtime"],
        "what says when a document was last changed, in this order: its front matter (`modified`, `updated`), "
        "the commit that it is as it was left by, its file; `name`, the date in its name, is known too",
    )
    min_coverage: float = option(0.9, "a vector signal votes once it has seen this share of the chunks", least=0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WriterSettings:
    """How an index is written."""

    batch_chunks: int = option(4000, "commit after so many chunks")
    batch_seconds: float = option(3.0, "... or after so many seconds")
    lock_seconds: float = option(5.0, "how long to wait for another writer while it does not get on")
    grace_seconds: float = option(60.0, "how long replaced rows are kept for queries that still read them", least=0)
    compact_share: float = option(0.2, "compact when more than this share of the rows is dead", least=0)

    def __post_init__(self) -> None:
        _at_least("writer", 1, batch_chunks=self.batch_chunks)
        _at_least("writer", 0, batch_seconds=self.batch_seconds, lock_seconds=self.lock_seconds)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TwoStageSettings:
    """A wide net over all documents, then a second look into the best of them."""

    enabled: bool = option(False, "always look twice")
    auto: bool = option(False, "look twice from `auto_min_documents` documents on")
    auto_min_documents: int = option(10, "how many documents make a second look worthwhile")
    pool: int = option(200, "how many candidates each signal gives at the first look")
    documents: int = option(5, "how many documents are looked into")
    sections: int = option(10, "how many sections of each document may be in the result")

    def __post_init__(self) -> None:
        _at_least("two_stage", 1, pool=self.pool, documents=self.documents, sections=self.sections)

    def active(self, documents: int) -> bool:
        return self.enabled or (self.auto and documents >= self.auto_min_documents)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ServeSettings:
    """What one server takes on at a time: `watersmeet serve` and `watersmeet mcp`."""

    workers: int = option(4, "how many questions are worked on at once")
    waiting: int = option(256, "how many more may wait; the next is told to come back later")
    seconds: float = option(30.0, "how long a question may take, waiting included")
    body_bytes: int = option(1_000_000, "how long the body of a request may be")
    rate: float = option(1000.0, "requests a second for each token, or each address without one")
    failures: int = option(10, "wrong tokens a minute from one address before more of them are put off")
    fresh_seconds: float = option(2.0, "with --in: a question after so long has the folder looked at again")
    deepen: bool = option(True, "embed in the background what no model has read yet, while nobody asks")

    def __post_init__(self) -> None:
        _at_least("serve", 1, workers=self.workers, body_bytes=self.body_bytes, rate=self.rate, failures=self.failures)
        _at_least("serve", 0, waiting=self.waiting, seconds=self.seconds, fresh_seconds=self.fresh_seconds)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RegistrySettings:
    """How servers, tools, agents and skills are searched."""

    signals: list[str] = option([], "what votes on entities; none given: what votes on documents")
    stages: list[str] = option(
        ["entity", "unit", "tools", "distribute", "floor"], "what happens to the ranking of entities, in order"
    )
    lexical_signals: list[str] = option(["boost"], "what votes on entities where no model can")
    lexical_stages: list[str] = option(
        ["entity", "full_match", "tools", "distribute", "floor"], "... and what happens to the ranking then"
    )
    search_tools: bool = option(True, "tools are searched too, and hand their score on to their server")
    pinned: list[str] = option([], "tools that find-tools always offers: their names, or SERVER_PATH#NAME")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibrationSettings:
    """Whether an index learns from use. What it learns stays in its folder; `calibrate --reset` forgets it."""

    learn: bool = option(False, "learn from which results are opened; searches are then kept for half an hour")


SECTIONS: dict[str, type[Any]] = {
    "pipeline": PipelineSettings,
    "two_stage": TwoStageSettings,
    "index": IndexSettings,
    "writer": WriterSettings,
    "calibration": CalibrationSettings,
    "serve": ServeSettings,
    "registry": RegistrySettings,
}

NAMED = {
    "pipeline.understand": "query",
    "pipeline.signals": "signal",
    "pipeline.fusion": "fusion",
    "pipeline.stages": "stage",
    "registry.signals": "signal",
    "registry.stages": "stage",
    "registry.lexical_signals": "signal",
    "registry.lexical_stages": "stage",
    "index.text": "store",
    "index.chunk": "chunk",
    "index.source": "source",
    "index.static": "embed",
    "index.sparse": "embed",
    "index.dense": "embed",
}
"""The settings that name components, and of which kind."""
OFF = frozenset({"index.static", "index.sparse", "index.dense"})
"""Those that may be empty."""
_CALLED = {"store": "text store"}


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that was set, and where each value came from."""

    recipe: str
    tables: Table
    origins: Mapping[str, str] = field(default_factory=dict)
    layers: tuple[tuple[str, Table], ...] = ()  # what was set beside the recipe, and where
    ignored: tuple[Ignored, ...] = ()  # what a folder's file set and may not
    _sections: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def section(self, name: str) -> Any:
        if name not in self._sections:  # asked for with every query
            cls = SECTIONS[name]
            self._sections[name] = cls(**checked(cls, self.tables.get(name, {}), name))
        return self._sections[name]

    def under(self, recipe: str) -> Settings:
        """The same files, environment and flags over another recipe."""
        return replace(settled(recipe, self.layers), ignored=self.ignored)

    def of(self, kind: str, name: str) -> Table:
        """The table of a component."""
        table: Table = self.tables.get(kind, {}).get(name, {})
        return table


def load(
    *,
    recipe: str = "",
    start: str = ".",
    environ: Mapping[str, str] | None = None,
    flags: Mapping[str, Any] | None = None,
    config: str = "",
) -> Settings:
    """Settings for a command that runs in the folder `start`. `config`: a file that the user has named, which is
    trusted and stands in the place of those in folders."""
    environ = os.environ if environ is None else environ
    user = os.path.join(config_folder(environ), FILE)
    layers = [(user, read(user)[0])] if os.path.isfile(user) else []
    ignored: tuple[Ignored, ...] = ()
    if config:
        layers.append((config, _named(config)))
    elif files := _files(start, user):
        from watersmeet.engine.settings.trust import load_trusted

        project, ignored = load_trusted(files, start, environ)
        layers += project
    layers += [("environment", from_environ(environ)), ("flag", dict(flags or {}))]
    for origin, table in layers:
        check(table, origin)
    chosen = recipe or next((t["recipe"] for _, t in reversed(layers) if "recipe" in t), "default")
    made = replace(settled(chosen, tuple(layers)), ignored=ignored)
    _check_stores(made)
    return made


def _named(config: str) -> Table:
    if not os.path.isfile(config):
        raise ConfigError(f"there is no file {config}", "--config names a file of settings such as watersmeet.toml")
    return read(config)[0]


def settled(recipe: str, layers: tuple[tuple[str, Table], ...]) -> Settings:
    """A recipe, and over it the layers in their order."""
    tables: Table = {}
    origins: dict[str, str] = {}
    for origin, table in ((f"recipe {recipe}", _recipe(recipe)), *layers):
        tables = merge(tables, table)
        origins.update({path: origin for path, _ in leaves(table)})
    return Settings(recipe, tables, origins, layers)


def recipes() -> list[str]:
    return sorted(name.removesuffix(".toml") for name in os.listdir(RECIPES) if name.endswith(".toml"))


def _recipe(name: str) -> Table:
    if name not in recipes():
        raise ConfigError(f"no recipe called {name!r}", nearest(name, recipes()))
    return read(os.path.join(RECIPES, f"{name}.toml"))[0]


def config_folder(environ: Mapping[str, str] | None = None) -> str:
    """Where the user's settings and tokens are kept."""
    return os.path.join(_place("XDG_CONFIG_HOME", ".config", environ), "watersmeet")


def _place(variable: str, below_home: str, environ: Mapping[str, str] | None) -> str:
    """A folder of the user's. Never one below the working folder, which may be anybody's."""
    environ = os.environ if environ is None else environ
    named, home = environ.get(variable, ""), environ.get("HOME", "")
    if os.path.isabs(named):
        return named
    if not os.path.isabs(home):
        home = os.path.expanduser("~") if environ is os.environ else os.sep
    return os.path.join(home if os.path.isabs(home) else os.sep, below_home)


def _files(start: str, user: str) -> list[str]:
    """The files upwards from where we are, the nearest first; the user's own is none of them."""
    found = [path for folder in upwards(start) if os.path.isfile(path := os.path.join(folder, FILE))]
    return [path for path in found if os.path.realpath(path) != os.path.realpath(user)]


def upwards(start: str) -> Iterator[str]:
    """A folder and all that it lies in."""
    folder = os.path.realpath(start)
    yield folder
    while (parent := os.path.dirname(folder)) != folder:
        folder = parent
        yield folder


def cache_folder(environ: Mapping[str, str] | None = None) -> str:
    """Where indexes of `--in` and other things that can be made again are kept."""
    return os.path.join(_place("XDG_CACHE_HOME", ".cache", environ), "watersmeet")


def secret(name: str) -> str:
    """What the environment keeps under a name, such as a key; never shown and never stored."""
    return os.environ.get(name, "")


def from_environ(environ: Mapping[str, str]) -> Table:
    """`WATERSMEET__FUSION__RRF__K=20` is `[fusion.rrf] k = 20`; a value is TOML, else JSON, else text."""
    tables: Table = {}
    for name, raw in sorted(environ.items()):
        if not name.startswith(PREFIX):
            continue
        *path, leaf = name.removeprefix(PREFIX).lower().split("__")
        try:
            parsed = parse(f"value = {raw}", name)
        except ConfigError:
            parsed = {}
        value: Any = parsed["value"] if len(parsed) == 1 else _json_or_text(raw)
        table = tables
        for part in path:
            table = table.setdefault(part, {})
            if not isinstance(table, dict):
                raise ConfigError(f"{name}: {part!r} is set to a value elsewhere and cannot be a table")
        table[leaf] = value
    return tables


def _json_or_text(raw: str) -> Any:
    try:
        return json.loads(raw) if raw.lstrip().startswith(("[", "{")) else raw
    except (ValueError, RecursionError):
        return raw


def check(tables: Mapping[str, Any], origin: str) -> None:
    """Every name in the tables must be known: a typo is never silently ignored."""
    for top, table in tables.items():
        if top == "recipe":
            if not isinstance(table, str):
                raise ConfigError(f"{origin}: recipe must be text, not {table!r}", 'for example recipe = "default"')
            continue
        if top not in SECTIONS and top not in KINDS:
            from watersmeet.engine.settings import former_names  # only ever needed on the way out

            hint = former_names.table_hint(top, table) or nearest(top, ["recipe", *SECTIONS, *KINDS])
            raise ConfigError(f"{origin}: no setting called {top!r}", hint)
        if not isinstance(table, dict):
            raise ConfigError(f"{origin}: {top!r} is a table, not a value", f"write [{top}] and settings below it")
        if top in SECTIONS:
            checked(SECTIONS[top], table, top, origin)
            _check_named(top, table, origin)
            continue
        for name, inner in table.items():
            if not isinstance(inner, dict):
                raise ConfigError(f"{origin}: {top}.{name} is a table, not a value", f"write [{top}.{name}]")
            values = checked(find(top, name), inner, f"{top}.{name}", origin)
            if top == "query":  # a step needs nothing but its settings, and says itself what is wrong with them
                _try(find(top, name), values, origin)


def _try(cls: type[Any], values: Table, origin: str) -> None:
    try:
        cls(**values)
    except ConfigError as error:
        raise ConfigError(f"{origin}: {error}", error.hint) from None


def _check_stores(settings: Settings) -> None:
    """What a store says of its settings, of all files together: how much memory is enough depends on the threads."""
    for name, table in settings.tables.get("store", {}).items():
        cls = find("store", name)
        ports = {each.name: "" for each in fields(cls) if each.init and "meaning" not in each.metadata}
        origins = {settings.origins[f"store.{name}.{key}"] for key in table}
        _try(cls, {**ports, **table}, " and ".join(sorted(origins)))


def _check_named(section: str, table: Mapping[str, Any], origin: str) -> None:
    """Components that are chosen must be there, also those that only some modes use."""
    for key, kind in NAMED.items():
        of, _, setting = key.partition(".")
        chosen = table.get(setting, []) if of == section else []
        for name in [chosen] if isinstance(chosen, str) else chosen:
            if not name and key in OFF:
                continue
            if not exists(kind, name) or not _fits(kind, name):
                known = [one for one in available(kind) if _fits(kind, one)]
                said = f"{origin}: {key} names {name!r}, no {_CALLED.get(kind, kind)}"
                raise UnknownComponent(said, suggestion(kind, name, known))


def _fits(kind: str, name: str) -> bool:
    """There are other stores than those of words, and nobody chooses these."""
    return kind != "store" or hasattr(find(kind, name), "of_words")


def merge(low: Mapping[str, Any], high: Mapping[str, Any]) -> Table:
    """`high` over `low`, table by table."""
    merged = dict(low)
    for key, value in high.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def leaves(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """(dotted path, value) of everything that is set."""
    for key, value in tables.items():
        path = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict):
            yield from leaves(value, path)
        else:
            yield path, value
