"""Every documented setting takes effect: its value reaches what it configures, and something reads it there."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import Field
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any, get_args, get_origin, get_type_hints

import pytest

from registries import ENTITIES
from serving import served
from watersmeet import Engine
from watersmeet.core.errors import ConfigError, ModelProblem, NotFound
from watersmeet.core.indexing import Found, ParserOptions
from watersmeet.core.model import Request
from watersmeet.core.place import Place
from watersmeet.engine.components import KINDS, default, find, names, options
from watersmeet.engine.index.tiers import model_of
from watersmeet.engine.models import PairScorers, chat
from watersmeet.engine.registry.requests import EntityRequest
from watersmeet.engine.registry.shared_records import close_shared, shared_records
from watersmeet.engine.settings.settings import SECTIONS, Settings, load
from watersmeet.engine.sync.formats import Formats
from watersmeet.engine.sync.sources import Sources
from watersmeet.face.cli.open_with import Target, open_target
from watersmeet.face.mcp.server import listed_tools
from watersmeet.face.mcp.tools.export import folder_of
from watersmeet.face.service import Service
from watersmeet.face.tokens import Caller, Tokens
from watersmeet.testing import ScriptedChat

OTHER: dict[str, Any] = {
    "chunk.headings.max_chars": 900,
    "embed.onnx.pooling": "mean",
    "embed.openai.base_url": "http://localhost:9/v1",
    "embed.ollama.base_url": "http://localhost:9",
    "embed.bedrock.endpoint_url": "http://127.0.0.1:9",
    "embed.bedrock.family": "cohere",
    "embed.fastembed.pooling": "mean",
    "fusion.convex.scale": "raw",
    "fusion.convex.scales": {"exact": "raw"},
    "query.adapt.if_many": [0.1, 0.9],
    "signal.neighbours.below": 0.5,
    "query.adapt.if_some": [0.2, 0.8],
    "query.adapt.if_few": [0.8, 0.2],
    "query.route.rules": [{"match": "python", "filters": {"sdk": "python"}}],
    "source.folder.include": ["**/*.md"],
    "source.site.strategy": "links",
    "store.tantivy.heap_bytes": 100_000_000,
    "chat.bedrock.endpoint_url": "http://127.0.0.1:9",
    "records.mongodb.uri": "mongodb://127.0.0.1:9",
    "records.mongodb.vector_search": "cosine",
}
"""A value that is not the default, where not just any will do."""

COMPONENTS = [(kind, name) for kind in KINDS for name in names(kind) if options(find(kind, name))]
Made = list[Any]


def another(where: str, hint: Any, field: Field[Any]) -> Any:
    """A value other than the default, as it is written in TOML."""
    if where in OTHER:
        return OTHER[where]
    if where.startswith("parse.") and where.endswith(".max_chars"):
        return 900
    value, kind = default(field), get_origin(hint) or hint
    if type(None) in get_args(hint):
        return 1.5
    if kind in (list, tuple):
        return ["lexical"]
    if kind is bool:
        return not value
    if kind is str:
        return f"{value}other"
    return value + kind(1.5) if kind in (int, float) else {"lexical": get_args(hint)[1](2)}


def others(kind: str, name: str) -> dict[str, Any]:
    cls = find(kind, name)
    hints = get_type_hints(cls)
    return {key: another(f"{kind}.{name}.{key}", hints[key], field) for key, field in options(cls).items()}


def settings_with(folder: Path, tables: dict[str, Any]) -> Settings:
    return load(start=str(folder), environ={}, flags=tables)


# ------------------------------------------------------------ the ways in which the engine makes its components


def indexing(folder: Path, vault: Path, kind: str, name: str, tables: dict[str, Any]) -> None:
    """A sync with vectors of every sort, an edit, and a compaction."""
    chosen = {"dense": "", "text": name if name in ("tantivy", "fts5") else "tantivy"}
    with Engine(folder / "index", settings_with(folder, tables | {"index": chosen})) as engine:
        engine.sync([vault])
        engine.deepen(tiers=("sparse",))
        page = vault / "guides" / "keys.md"
        page.write_text(page.read_text("utf8") + "\n## More\n\nAnother passage altogether.\n", "utf8")
        engine.sync([vault])
        engine.compact(grace=0)


def embedding(folder: Path, vault: Path, kind: str, name: str, tables: dict[str, Any]) -> None:
    """The model of a tier, or what a stage reads pairs with; nothing is loaded for it."""
    settings = settings_with(folder, tables)
    if hasattr(find("embed", name), "embed"):
        model_of(settings, "dense", name)
    elif hasattr(find("embed", name), "encode"):
        model_of(settings, "sparse", name)
    else:
        with pytest.raises(ModelProblem):
            PairScorers(settings).score("/nowhere", "query", ["text"])


def asking(folder: Path, vault: Path, kind: str, name: str, tables: dict[str, Any]) -> None:
    """The query path with this component in it."""
    signals = ["lexical", "static", *([name] if kind == "signal" and name not in ("lexical", "static") else [])]
    steps = ["words", *([name] if kind == "query" and name != "words" else [])]
    chosen = {
        "understand": [*steps, "anchors"] if name == "anchor" else steps,
        "signals": signals,
        "fusion": name if kind == "fusion" else "rrf",
        "stages": [name] if kind == "stage" else [],
    }
    with Engine(folder / "index", settings_with(folder, {"index": {"dense": ""}})) as engine:
        engine.sync([vault], deepen=False)
    settings = settings_with(folder, tables | {"pipeline": chosen, "index": {"dense": ""}})
    with Engine(folder / "index", settings) as engine, engine.snapshot() as snapshot:
        engine.visible_index(snapshot, None).pipeline(settings, tuple(signals))


def parsing(folder: Path, vault: Path, kind: str, name: str, tables: dict[str, Any]) -> None:
    """The parser of a file of its format; nothing is read."""
    media = find("parse", name).reads[0]
    with Formats(settings_with(folder, tables)) as formats:
        assert formats.of(Found("x", "/x", "1", media=media)) is not None


def locating(folder: Path, vault: Path, kind: str, name: str, tables: dict[str, Any]) -> None:
    """The source of an address; nothing is read from it. The source of paths reads a folder."""
    if find("source", name).schemes:
        Sources(settings_with(folder, tables)).of(name)
    else:
        indexing(folder, vault, kind, name, tables)


def chatting(folder: Path, vault: Path, kind: str, name: str, tables: dict[str, Any]) -> None:
    """The chat model of that name; it is sent nothing."""
    chat(settings_with(folder, tables), name)


def recording(folder: Path, vault: Path, kind: str, name: str, tables: dict[str, Any]) -> None:
    """The store of records of that name; it is sent nothing."""
    assert shared_records(settings_with(folder, tables | {"registry": {"records": name}})) is not None
    close_shared()


WAYS: dict[str, Callable[..., None]] = {
    "source": locating,
    "parse": parsing,
    "chunk": indexing,
    "store": indexing,
    "embed": embedding,
    "chat": chatting,
    "records": recording,
} | dict.fromkeys(("query", "signal", "fusion", "stage"), asking)


@pytest.mark.model
@pytest.mark.parametrize(("kind", "name"), COMPONENTS, ids=lambda part: part)
def test_the_setting_of_a_component_reaches_it(
    kind: str, name: str, tmp_path: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cls, made = find(kind, name), Made()
    point = "writer" if hasattr(cls, "writer") else "__init__"  # whoever only reads a store needs no settings of it
    real = getattr(cls, point)

    def noted(self: Any, *args: Any, **given: Any) -> Any:
        result = real(self, *args, **given)
        made.append(self)
        return result

    wanted = others(kind, name)
    monkeypatch.setattr(cls, point, noted)
    WAYS[kind](tmp_path, vault, kind, name, {kind: {name: wanted}})
    held = [{key: _of(getattr(one, key), wanted[key]) for key in wanted} for one in made]
    assert held
    assert [one for one in held if one != wanted] == []


def _of(value: Any, wanted: Any) -> Any:
    """A value as it is written; of a table that a recipe fills too, what was asked for."""
    if isinstance(wanted, dict):
        return {key: value.get(key) for key in wanted}
    return list(value) if isinstance(value, tuple) else value


# ------------------------------------------------------------ nothing is declared that nothing reads


@pytest.mark.parametrize(("kind", "name"), COMPONENTS, ids=lambda part: part)
def test_the_setting_of_a_component_is_read_in_its_file(kind: str, name: str) -> None:
    cls = find(kind, name)
    read: set[str] = set()
    for base in (one for one in cls.__mro__ if one.__module__.startswith("watersmeet.")):
        read |= _read_in(ast.parse(Path(inspect.getfile(base)).read_text("utf8")), checks=kind == "query")
    of_all = set(options(ParserOptions)) if kind == "parse" else set()  # tests/engine/sync/test_formats.py
    assert sorted(set(options(cls)) - read - of_all) == []


def _read_in(tree: ast.Module, checks: bool) -> set[str]:
    """The attributes that this code reads. What only checks a value does not use it, but where it is made ready."""
    found: set[str] = set()
    rest: list[ast.AST] = [tree]
    while rest:
        node = rest.pop()
        if isinstance(node, ast.FunctionDef) and node.name == "__post_init__" and not checks:
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            found.add(node.attr)
        rest += ast.iter_child_nodes(node)
    return found


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The settings of the engine's own sections that running code reads."""
    found: set[str] = set()

    def noted(section: str, declared: frozenset[str], self: Any, key: str) -> Any:
        code = sys._getframe(2).f_code
        if key in declared and code.co_name != "__post_init__" and code.co_filename != __file__:
            found.add(f"{section}.{key}")
        return object.__getattribute__(self, key)

    for section, cls in SECTIONS.items():
        declared = frozenset(options(cls))
        reader = partial(noted, section, declared)
        monkeypatch.setattr(cls, "__getattribute__", lambda self, key, reader=reader: reader(self, key))
    return found


@pytest.mark.model
def test_the_settings_of_the_engine_are_read_where_it_works(
    reads: set[str], tmp_path: Path, vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = {
        "index": {"dense": "hashed"},
        "two_stage": {"auto": True},
        "calibration": {"learn": True, "keep_opened": True},
    }
    with ExitStack() as stack:
        engine = stack.enter_context(Engine(tmp_path / "index", settings_with(tmp_path, tables)))
        engine.sync([vault])
        engine.sync()
        remote = settings_with(tmp_path, {"index": {"dense": "ollama"}})
        stack.enter_context(Engine(tmp_path / "remote", remote)).sync([vault], dry_run=True)
        engine.registry.put(*ENTITIES)
        found = engine.search(Request("rotate keys"))
        assert engine.calibration.opened(found.results[0].document, "rotate keys")
        engine.search("rotate keys", mode="sparse")
        engine.registry.search(EntityRequest("weather", mode="hybrid"))
        engine.registry.find_tools("query the docs")
        engine.ask("how do I rotate keys?")
        engine.ask("how do I rotate keys?", chat=ScriptedChat(always="Rotate keys every quarter [1]."))
        engine.compact()
        site = stack.enter_context(served(engine, host="0.0.0.0", tokens=Tokens()))  # noqa: S104 # not listened on
        site.ask("/api/search", {"query": "rotate keys"})
        site.ask("/api/search", {"query": "rotate keys"}, token="wm_wrong")  # noqa: S106 # nobody has it
        beside = Service(Engine(tmp_path / "beside", engine.settings), inside=str(vault))
        stack.callback(beside.close)
        beside.start()
        beside.folder.wait_for_sync(Event())
        listed_tools(beside, Caller())
        with suppress(ConfigError):  # it is not set
            folder_of(beside, "export")
        with suppress(NotFound):  # it does not exist
            open_target(Target("/nowhere/a.md", Place()), engine.settings)
    documented = {f"{section}.{key}" for section, cls in SECTIONS.items() for key in options(cls)}
    assert sorted(documented - reads) == []
