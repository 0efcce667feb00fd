"""Settings from recipe, user's file, project's file, environment and flags; later ones win.

No other module reads the environment or settings files.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from dataclasses import field, fields, replace
from typing import TYPE_CHECKING, Any, NamedTuple

from watersmeet.core.errors import ConfigError, UnknownComponent, nearest
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.options import option
from watersmeet.engine.components import KINDS, available, checked, exists, find, suggestion
from watersmeet.engine.settings.file import Table, parse, read

if TYPE_CHECKING:
    from watersmeet.engine.settings.trust import Ignored

FILE = "watersmeet.toml"
PREFIX = "WATERSMEET__"
OTHER_VARIABLES = ("DOCMANCER_AUTO_VECTORS", "SEARCH_FUSION_METHOD", "VECTOR_SEARCH_EF_SEARCH")
"""Variables of predecessors that are honoured; everything else that sets the same wins over them, but files and
recipes."""
PREDECESSORS = ("docmancer", "ragdocs", "registry", "indexfoundry")
"""Programs whose users move here: `serve.tools_of`, `config import` and `import` know them."""
RARE_TOOLS = ("classify_query", "project_query", "find_entities", "list_entities", "project_export")
"""MCP tools that are listed only on request: most agents never need them, and pay for each that is listed."""
RECIPES = os.path.join(os.path.dirname(__file__), "recipes")
LOCAL_RECORDS = "local"
"""The choice of `registry.records`: the index has the records, and nothing is shared."""


def _at_least(section: str, least: int, **values: float) -> None:
    for name, value in values.items():
        if not value >= least:
            raise ConfigError(f"{section}.{name} cannot be {value}", f"use {least} or more")


# Without eq and repr: compiling those methods for all sections costs a search 3 ms at start.


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PipelineSettings:
    """Components of the query path, in order."""

    understand: list[str] = option([], "steps that read the query, in order")
    signals: list[str] = option([], "signals that rank candidates")
    follow: dict[str, str] = option(
        {}, "signals that only rank candidates of the others, each while the named signal has hits; '': search normally"
    )
    fusion: str = option("rrf", "how the rankings become one")
    stages: list[str] = option([], "steps that change the fused ranking, in order")
    query_classification: bool = option(
        True, "use those steps of `understand` that weigh signals by the kind of query: identifier, mixed, conceptual"
    )
    pool: int = option(100, "minimum number of candidates of each signal")
    pool_times: int = option(0, "... and at least this many times the requested results")
    deadline_ms: int = option(10_000, "a slower signal is left out and named in the answer")

    def __post_init__(self) -> None:
        _at_least("pipeline", 1, pool=self.pool, deadline_ms=self.deadline_ms)
        _at_least("pipeline", 0, pool_times=self.pool_times)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class IndexSettings:
    """How documents are indexed. Another text store, chunker or embedder needs `sync --recreate`."""

    store: str = option(
        "local", "store of an index in a folder; an address `SCHEME://...` names its store itself", outside=True
    )
    text: str = option("tantivy", "text store: tantivy or fts5")
    chunk: str = option("headings", "chunker")
    source: str = option("folder", "source that reads paths; an address is read by the source of its scheme")
    vectors: bool = option(True, "make vectors")
    static: str = option("static", "embedder of the static (quick) vectors; empty: none")
    sparse: str = option("terms", "encoder of the sparse vectors: terms or splade; empty: none")
    dense: str = option("onnx", "embedder of the dense vectors; empty: none")
    dates: list[str] = option(
        ["matter", "git", "mtime"],
        "where the date of the last change comes from, first match first: front matter (`modified`, `updated`), "
        "the last git commit with this content, the file's time; also possible: `name`, a date in the file name",
    )
    refresh: str = option(
        "1d",
        "sync without paths reads a network root again once its last reading is older than this: 12h, 7d, 2w; "
        "always: each time. `sync --now` reads all",
    )
    first_seconds: float = option(
        2.0,
        "with --in: how long a search waits for new or changed files to be indexed, before it answers from what is "
        "indexed so far",
        least=0,
    )
    confirm_above: float = option(
        1.0,
        "ask before embedding with a model on another machine costs more than this, in US dollars; without a price, a "
        "million tokens count as one dollar",
        least=0,
    )
    min_coverage: float = option(0.9, "a vector signal is used once this share of the chunks has vectors", least=0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WriterSettings:
    """Commits, locks and compaction of an index."""

    batch_chunks: int = option(4000, "commit after this many chunks")
    batch_seconds: float = option(3.0, "... or after this many seconds")
    lock_seconds: float = option(5.0, "how long to wait for another writer that makes no progress")
    grace_seconds: float = option(60.0, "how long replaced rows are kept for running queries", least=0)
    compact_share: float = option(0.2, "compact when more than this share of the rows is dead", least=0)

    def __post_init__(self) -> None:
        _at_least("writer", 1, batch_chunks=self.batch_chunks)
        _at_least("writer", 0, batch_seconds=self.batch_seconds, lock_seconds=self.lock_seconds)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TwoStageSettings:
    """Two-stage search: first the best documents, then the best sections in them."""

    enabled: bool = option(False, "always search in two stages")
    auto: bool = option(False, "search in two stages from `auto_min_documents` documents on")
    auto_min_documents: int = option(10, "number of documents from which `auto` uses two stages")
    pool: int = option(200, "candidates of each signal in the first stage")
    documents: int = option(5, "documents that the second stage searches")
    sections: int = option(10, "maximum number of sections of one document in the result")

    def __post_init__(self) -> None:
        _at_least("two_stage", 1, pool=self.pool, documents=self.documents, sections=self.sections)

    def active(self, documents: int) -> bool:
        return self.enabled or (self.auto and documents >= self.auto_min_documents)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ServeSettings:
    """Limits of a server: `watersmeet serve` and `watersmeet mcp`."""

    workers: int = option(4, "requests handled at the same time")
    waiting: int = option(256, "requests that may wait; further ones are refused with a retry time")
    seconds: float = option(30.0, "timeout of a request, waiting included")
    body_bytes: int = option(1_000_000, "maximum size of a request body")
    rate: float = option(1000.0, "requests per second for each token, or each address without one")
    failures: int = option(10, "wrong tokens per minute from one address before further ones get status 429")
    fresh_seconds: float = option(2.0, "with --in: check the folder for changes after this many seconds")
    deepen: bool = option(True, "make missing vectors in the background while there are no requests")
    watch: bool = option(True, "keep up with changes of the indexed folders")
    tools: list[str] = option([], f"MCP tools to list besides the usual ones: {', '.join(RARE_TOOLS)}")
    tools_of: list[str] = option(
        [], f"offer the MCP tools of another program too, by their names and parameters: {', '.join(PREDECESSORS)}"
    )
    export_folder: str = option(
        "", "folder below which clients with --allow-write may export the index; empty: nowhere", outside=True
    )

    def __post_init__(self) -> None:
        _at_least("serve", 1, workers=self.workers, body_bytes=self.body_bytes, rate=self.rate, failures=self.failures)
        for name in self.tools:
            if name not in RARE_TOOLS:
                raise ConfigError(f"serve.tools: no tool called {name!r}", nearest(name, RARE_TOOLS))
        for name in self.tools_of:
            if name not in PREDECESSORS:
                raise ConfigError(f"serve.tools_of: no program called {name!r}", nearest(name, PREDECESSORS))
        _at_least("serve", 0, waiting=self.waiting, seconds=self.seconds, fresh_seconds=self.fresh_seconds)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WatchSettings:
    """Keeping up with changes of indexed folders: `watersmeet watch`, servers, and the look that a search takes."""

    quiet_seconds: float = option(0.5, "sync after this long without a further change", least=0)
    max_seconds: float = option(5.0, "... and at the latest after this long", least=0)
    reconcile_seconds: float = option(3600.0, "check all folders as a whole this often; 0: never", least=0)
    poll_seconds: float = option(5.0, "where the system reports no changes: check the folders this often", least=0.1)
    stale: bool = option(True, "let a search count the files that changed since the last sync")
    stale_ms: float = option(50.0, "processor time that this may take; a search then does not say it", least=0)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RegistrySettings:
    """Search of servers, tools, agents and skills."""

    signals: list[str] = option([], "signals for entities; empty: those for documents")
    stages: list[str] = option(["entity", "unit", "tools", "distribute", "floor"], "stages for entities, in order")
    lexical_signals: list[str] = option(["boost"], "signals for entities if no vectors can be used")
    lexical_stages: list[str] = option(
        ["entity", "full_match", "tools", "distribute", "floor"], "... and the stages then"
    )
    search_tools: bool = option(True, "search tools too; their score counts for their server")
    tool_stages: list[str] = option(["top", "unit"], "stages of find-tools, in order")
    toolless_servers: bool = option(False, "find-tools also names servers that fit and list no tools")
    pinned: list[str] = option([], "tools that find-tools always includes: NAME or SERVER_PATH#NAME")
    types: dict[str, Any] = option(
        {},
        "entity types of your own by name, each with `label`, `title` and `description` (the fields with the name and"
        " description of an entity) and `fields`, a table of semantic, keyword or shown by field",
    )
    records: str = option(LOCAL_RECORDS, "where registered records are: local (the index), or mongodb", outside=True)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CalibrationSettings:
    """Learning from use. The learned weights stay in the index; `calibrate --reset` deletes them."""

    learn: bool = option(False, "learn from opened results; searches are then stored for half an hour")
    keep_opened: bool = option(False, "... and store queries with the opened documents, for `tune --encoder`")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class AskSettings:
    """Answers to questions: `watersmeet ask`."""

    chat: str = option(
        "extractive", "chat provider; extractive: no model, sentences are quoted from the documents", outside=True
    )
    budget: int = option(2000, "tokens of the passages that an answer is made from", outside=True, least=1)
    max_tokens: int = option(500, "maximum length of a model's reply, in tokens", outside=True, least=1)
    seconds: float = option(120.0, "timeout of a model's reply", outside=True, least=0)
    quotes: int = option(3, "quotes of an answer without a model, at most", least=1)
    min_confidence: float = option(
        0.5, "below this confidence of the search, the answer is that the documents do not say", least=0
    )


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OpenSettings:
    """Opening results: `search --open` and `get --open`."""

    program: str = option(
        "auto",
        "editor: that of $VISUAL or $EDITOR; obsidian: for notes in a vault, else the editor; auto: the editor, or if "
        "none is set, obsidian; or a command such as `code -g {file}:{line}`",
        outside=True,
    )


SECTIONS: dict[str, type[Any]] = {
    "pipeline": PipelineSettings,
    "two_stage": TwoStageSettings,
    "index": IndexSettings,
    "writer": WriterSettings,
    "calibration": CalibrationSettings,
    "serve": ServeSettings,
    "watch": WatchSettings,
    "registry": RegistrySettings,
    "ask": AskSettings,
    "open": OpenSettings,
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
    "registry.tool_stages": "stage",
    "index.text": "store",
    "index.chunk": "chunk",
    "index.source": "source",
    "index.static": "embed",
    "index.sparse": "embed",
    "index.dense": "embed",
    "ask.chat": "chat",
    "registry.records": "records",
}
"""Settings that name components, with the kind."""
OFF = frozenset({"index.static", "index.sparse", "index.dense"})
"""Settings of components that may be empty."""
_KIND_NAMES = {"store": "text store", "embed": "embedder", "chat": "chat model"}


class Layer(NamedTuple):
    """Values from one origin, over a recipe."""

    origin: str
    tables: Table
    recipe: str = ""  # the only recipe that it is for; empty: all


@dataclass(frozen=True, slots=True)
class Settings:
    """All values that were set, with their origins."""

    recipe: str
    tables: Table
    origins: Mapping[str, str] = field(default_factory=dict)
    layers: tuple[Layer, ...] = ()
    ignored: tuple[Ignored, ...] = ()  # untrusted values of a folder's file
    notices: tuple[str, ...] = ()  # what variables of predecessors have set
    _sections: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def section(self, name: str) -> Any:
        if name not in self._sections:  # cached: every query reads it
            cls = SECTIONS[name]
            self._sections[name] = cls(**checked(cls, self.tables.get(name, {}), name))
        return self._sections[name]

    def under(self, recipe: str) -> Settings:
        """The same layers over another recipe."""
        return replace(from_layers(recipe, self.layers), ignored=self.ignored, notices=self.notices)

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
    """Settings for a command in the folder `start`. `config`: a file named by the user, which is trusted and replaces
    those in folders."""
    environ = os.environ if environ is None else environ
    user = os.path.join(config_folder(environ), FILE)
    layers = [Layer(user, read(user)[0])] if os.path.isfile(user) else []
    ignored: tuple[Ignored, ...] = ()
    if config:
        layers.append(Layer(config, _config_file(config)))
    elif files := _files(start, user):
        from watersmeet.engine.settings.trust import load_trusted

        project, ignored = load_trusted(files, start, environ)
        layers += [Layer(*each) for each in project]
    others, notices = other_variables(environ)
    layers += [*others, Layer("environment", from_environ(environ)), Layer("flag", dict(flags or {}))]
    for layer in layers:
        check(layer.tables, layer.origin)
    chosen = recipe or next(
        (layer.tables["recipe"] for layer in reversed(layers) if "recipe" in layer.tables), "default"
    )
    settings = replace(from_layers(chosen, tuple(layers)), ignored=ignored, notices=notices)
    _check_stores(settings)
    return settings


def _config_file(config: str) -> Table:
    if not os.path.isfile(config):
        raise ConfigError(
            f"there is no file {config}", "--config takes the path of a settings file such as watersmeet.toml"
        )
    return read(config)[0]


def from_layers(recipe: str, layers: tuple[Layer, ...]) -> Settings:
    """Settings of a recipe with those layers over it, in order, that are for it."""
    tables: Table = {}
    origins: dict[str, str] = {}
    for layer in (Layer(f"recipe {recipe}", _recipe(recipe)), *layers):
        if layer.recipe in ("", recipe):
            tables = merge(tables, layer.tables)
            origins.update({path: layer.origin for path, _ in leaves(layer.tables)})
    return Settings(recipe, tables, origins, layers)


def recipes() -> list[str]:
    return sorted(name.removesuffix(".toml") for name in os.listdir(RECIPES) if name.endswith(".toml"))


def _recipe(name: str) -> Table:
    if name not in recipes():
        raise ConfigError(f"no recipe called {name!r}", nearest(name, recipes()))
    return read(os.path.join(RECIPES, f"{name}.toml"))[0]


def editor(environ: Mapping[str, str] | None = None) -> str:
    """The user's editor as other programs know it; empty: none."""
    environ = os.environ if environ is None else environ
    return environ.get("VISUAL") or environ.get("EDITOR") or ""


def config_folder(environ: Mapping[str, str] | None = None) -> str:
    """The folder of the user's settings and tokens."""
    return os.path.join(_user_folder("XDG_CONFIG_HOME", ".config", environ), "watersmeet")


def _user_folder(variable: str, below_home: str, environ: Mapping[str, str] | None) -> str:
    """A folder of the user. Never one below the working folder, whose content may be a stranger's."""
    environ = os.environ if environ is None else environ
    named, home = environ.get(variable, ""), environ.get("HOME", "")
    if os.path.isabs(named):
        return named
    if not os.path.isabs(home):
        home = os.path.expanduser("~") if environ is os.environ else os.sep
    return os.path.join(home if os.path.isabs(home) else os.sep, below_home)


def _files(start: str, user: str) -> list[str]:
    """Settings files in a folder and above it, nearest first, without the user's own."""
    found = [path for folder in upwards(start) if os.path.isfile(path := os.path.join(folder, FILE))]
    return [path for path in found if os.path.realpath(path) != os.path.realpath(user)]


def upwards(start: str) -> Iterator[str]:
    """A folder and its parents."""
    folder = os.path.realpath(start)
    yield folder
    while (parent := os.path.dirname(folder)) != folder:
        folder = parent
        yield folder


def cache_folder(environ: Mapping[str, str] | None = None) -> str:
    """The cache folder: indexes of `--in` and other data that can be made again."""
    return os.path.join(_user_folder("XDG_CACHE_HOME", ".cache", environ), "watersmeet")


def secret(name: str) -> str:
    """A secret from an environment variable; never shown and never stored."""
    return os.environ.get(name, "")


def other_variables(environ: Mapping[str, str]) -> tuple[list[Layer], tuple[str, ...]]:
    """The layers of variables of predecessors, with a notice for each. Few have any."""
    if not any(name in environ for name in OTHER_VARIABLES):
        return [], ()
    from watersmeet.engine.settings.other_variables import read_variables

    found = read_variables(environ)
    return [Layer(one.name, one.tables, one.recipe) for one in found], tuple(one.notice for one in found)


def from_environ(environ: Mapping[str, str]) -> Table:
    """Settings of environment variables: `WATERSMEET__FUSION__RRF__K=20` is `[fusion.rrf] k = 20`.

    A value is TOML, else JSON, else text.
    """
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
    """Raise for an unknown name in the tables, so that a typo is not ignored."""
    for top, table in tables.items():
        if top == "recipe":
            if not isinstance(table, str):
                raise ConfigError(f"{origin}: recipe must be text, not {table!r}", 'for example recipe = "default"')
            continue
        if top not in SECTIONS and top not in KINDS:
            from watersmeet.engine.settings import former_names  # lazy: for error messages only

            hint = former_names.table_hint(top, table) or nearest(top, ["recipe", *SECTIONS, *KINDS])
            raise ConfigError(f"{origin}: no setting called {top!r}", hint)
        if not isinstance(table, dict):
            raise ConfigError(f"{origin}: {top!r} is a table, not a value", f"write [{top}] and settings below it")
        if top in SECTIONS:
            checked(SECTIONS[top], table, top, origin)
            _check_types(top, table, origin)
            _check_components(top, table, origin)
            continue
        for name, inner in table.items():
            if not isinstance(inner, dict):
                raise ConfigError(f"{origin}: {top}.{name} is a table, not a value", f"write [{top}.{name}]")
            values = checked(find(_kind_of(top, name), name), inner, f"{top}.{name}", origin)
            if top == "query":  # query steps have no ports, and validate their settings themselves
                _try(find(top, name), values, origin)


def _kind_of(kind: str, name: str) -> str:
    """The kind of a component named in a table: `[store.NAME]` configures whole indexes too."""
    return "index" if kind == "store" and not exists(kind, name) and exists("index", name) else kind


def _try(cls: type[Any], values: Table, origin: str) -> None:
    try:
        cls(**values)
    except ConfigError as error:
        raise ConfigError(f"{origin}: {error}", error.hint) from None


def _check_stores(settings: Settings) -> None:
    """Let stores validate their merged settings: the memory that is enough depends on the threads."""
    for name, table in settings.tables.get("store", {}).items():
        cls = find(_kind_of("store", name), name)
        ports = {each.name: "" for each in fields(cls) if each.init and "meaning" not in each.metadata}
        origins = {settings.origins[f"store.{name}.{key}"] for key in table}
        _try(cls, {**ports, **table}, " and ".join(sorted(origins)))


def _check_types(section: str, table: Mapping[str, Any], origin: str) -> None:
    """Raise for a wrong declaration of an entity type."""
    if section == "registry" and table.get("types"):
        from watersmeet.core.entity_types import declared  # lazy: few settings have any

        try:
            declared(table["types"])
        except ConfigError as error:
            raise ConfigError(f"{origin}: {error}", error.hint) from None


def _check_components(section: str, table: Mapping[str, Any], origin: str) -> None:
    """Raise for a component that does not exist, also if only some modes use it."""
    for key, kind in NAMED.items():
        of, _, setting = key.partition(".")
        chosen = table.get(setting, []) if of == section else []
        for name in [chosen] if isinstance(chosen, str) else chosen:
            if not name and key in OFF:
                continue
            if not exists(kind, name) or not _fits(kind, name):
                valid = [one for one in available(kind) if _fits(kind, one)]
                message = f"{origin}: {key} names {name!r}, which is no {_KIND_NAMES.get(kind, kind)}"
                raise UnknownComponent(message, suggestion(kind, name, valid))


def _fits(kind: str, name: str) -> bool:
    """Whether a component can be chosen: of stores, only text stores."""
    return kind != "store" or hasattr(find(kind, name), "of_words")


def merge(low: Mapping[str, Any], high: Mapping[str, Any]) -> Table:
    """`high` over `low`, table by table."""
    merged = dict(low)
    for key, value in high.items():
        old = merged.get(key)
        merged[key] = merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def leaves(tables: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """All values, as (dotted path, value)."""
    for key, value in tables.items():
        path = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict):
            yield from leaves(value, path)
        else:
            yield path, value
