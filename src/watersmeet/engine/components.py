"""Component lookup by name: the file name is the name in settings. Plug-ins add those that are not built in."""

from __future__ import annotations

import dataclasses
import importlib
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.util import find_spec
from typing import Any, TypeGuard, Union, get_args, get_origin, get_type_hints

from watersmeet.core.errors import ConfigError, UnknownComponent, nearest

KINDS = ("source", "parse", "chunk", "embed", "store", "query", "signal", "fusion", "stage", "chat", "records")
"""Kinds of components in settings: a folder for each kind, a file for each component."""
PLUGIN_KINDS = (*KINDS, "record", "index")
"""The kinds that other packages can add to."""
MODULES = {
    "store": "watersmeet.store.local.{}",
    "index": "watersmeet.store.{}.index",
    "records": "watersmeet.store.{}.records",
}
"""Modules of kinds whose components are not in the folder of the kind's name. An index is a folder of its own."""
MAX_SHOWN = 100
MAX_NUMBER = 1e8
"""Largest number for weights, shares and seconds, so that scores computed with them stay finite."""
_TYPE_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def names(kind: str) -> list[str]:
    """Names of built-in components of a kind. Imports every module of the folder: only for lists and error hints."""
    from pkgutil import iter_modules

    folder = _module(kind, "*").partition(".*")[0]
    found = iter_modules(importlib.import_module(folder).__path__)
    return sorted(module.name for module in found if _built_in(kind, module.name))


def configured() -> dict[str, type[Any]]:
    """All built-in components by the name of their settings table; a store for whole indexes has one of `store` too."""
    found = {f"{kind}.{name}": find(kind, name) for kind in KINDS for name in names(kind)}
    return found | {f"store.{name}": cls for name in names("index") if options(cls := find("index", name))}


def available(kind: str) -> list[str]:
    """Names of all components of a kind, built in or from plug-ins."""
    from watersmeet.engine import plugins

    return sorted([*names(kind), *plugins.usable(kind)])


def is_built_in(kind: str, name: str) -> bool:
    """Whether a component is built in, by its module's name; imported only where helpers lie beside components."""
    if kind in MODULES:
        return _built_in(kind, name) is not None
    return _is_plain(name) and find_spec(_module(kind, name)) is not None


def exists(kind: str, name: str) -> bool:
    """Whether a component of this name exists; it is not loaded."""
    if is_built_in(kind, name):
        return True
    from watersmeet.engine import plugins  # lazy: most searches use built-in components only

    return name in plugins.of(kind)


def find(kind: str, name: str) -> type[Any]:
    """The class of a component: the public dataclass of `<name>.py` with that name (without underscores), or that of a
    plug-in."""
    cls = _built_in(kind, name)
    if cls is None:
        from watersmeet.engine import plugins  # lazy: most searches use built-in components only

        plugin = plugins.of(kind).get(name)
        if plugin is None:
            raise UnknownComponent(f"no {kind} called {name!r}", suggestion(kind, name))
        cls = plugin.load()
    return cls


def _built_in(kind: str, name: str) -> type[Any] | None:
    if not _is_plain(name):
        return None
    path = _module(kind, name)
    try:
        module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{path}.".startswith(f"{error.name}."):
            raise
        return None
    for value in vars(module).values():
        if is_component(value) and value.__name__.lower() == name.replace("_", ""):
            return value
    return None


def is_component(value: object) -> TypeGuard[type[Any]]:
    return isinstance(value, type) and dataclasses.is_dataclass(value)


def _is_plain(name: str) -> bool:
    return name.isidentifier() and not name.startswith("_")


def _module(kind: str, name: str) -> str:
    return MODULES.get(kind, f"watersmeet.{kind}.{{}}").format(name)


def suggestion(kind: str, name: str, of: Sequence[str] = ()) -> str:
    """Hint for an unknown component: the present name of a former one, or the nearest name."""
    from watersmeet.engine.settings import former_names  # lazy: for error messages only

    return former_names.component_hint(kind, name) or nearest(name, of or available(kind))


def options(cls: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    """Settings of a component: its fields declared with `option`."""
    return {field.name: field for field in dataclasses.fields(cls) if "meaning" in field.metadata}


def default(field: dataclasses.Field[Any]) -> Any:
    return field.default_factory() if callable(field.default_factory) else field.default


def checked(cls: type[Any], table: Mapping[str, Any], where: str, origin: str = "") -> dict[str, Any]:
    """A settings table with checked names and types; `origin` is the file or variable, for errors."""
    written = f"{origin}: " if origin else ""
    valid = options(cls)
    for key in table:
        if key not in valid:
            raise ConfigError(f"{written}[{where}] has no setting {key!r}", _setting_hint(where, key, valid))
    hints = get_type_hints(cls) if table else {}
    values = {key: convert(hints[key], value, f"{written}{where}.{key}") for key, value in table.items()}
    for key, value in values.items():
        least = valid[key].metadata.get("least")
        if least is not None and not value >= least:
            raise ConfigError(f"{written}{where}.{key} cannot be {value}", f"use {least} or more")
    return values


def _setting_hint(where: str, key: str, valid: Iterable[str]) -> str:
    from watersmeet.engine.settings import former_names  # lazy: for error messages only

    name = f"{where}.{key}"
    hint = nearest(key, valid) if valid else "this component has no settings"
    if name not in former_names.RENAMED and hint.startswith("did you mean"):
        return hint
    return former_names.setting_hint(name) or hint


class LazyPort:
    """A port created when a component first needs it; otherwise its code is not even imported."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def build(kind: str, name: str, table: Mapping[str, Any], **ports: object) -> Any:
    """Create a component from its settings table; the engine passes the ports that its class declares."""
    cls = find(kind, name)
    declared = {field.name for field in dataclasses.fields(cls) if "meaning" not in field.metadata}
    used = {port: value for port, value in ports.items() if port in declared}
    values = checked(cls, table, f"{kind}.{name}")
    values |= {port: value.make() if isinstance(value, LazyPort) else value for port, value in used.items()}
    missing = [field.name for field in dataclasses.fields(cls) if _is_needed(field) and field.name not in values]
    if missing:
        raise ConfigError(
            f"{kind} {name!r} needs {', '.join(missing)}", f"the engine passes to a {kind}: {', '.join(sorted(ports))}"
        )
    return cls(**values)


def _is_needed(field: dataclasses.Field[Any]) -> bool:
    return field.init and field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING


def convert(hint: Any, value: Any, where: str) -> Any:
    """A value from TOML or the environment as the type that a setting declares, or an error."""
    origin = get_origin(hint)
    if origin in (Union, types.UnionType):
        if value is None:
            return None
        return convert(next(arg for arg in get_args(hint) if arg is not type(None)), value, where)
    if origin in (list, tuple):
        if not isinstance(value, list):
            raise _wrong(where, "a list", value)
        inner = get_args(hint)[0]
        items = [convert(inner, item, f"{where}[{i}]") for i, item in enumerate(value)]
        return tuple(items) if origin is tuple else items
    if origin in (dict, Mapping) or hint is dict:
        if not isinstance(value, dict):
            raise _wrong(where, "a table", value)
        inner = get_args(hint)[1] if get_args(hint) else Any
        return {key: convert(inner, item, f"{where}.{key}") for key, item in value.items()}
    if hint is Any:
        return value
    if hint is float and isinstance(value, int | float) and not isinstance(value, bool):
        if not abs(value) <= MAX_NUMBER:  # also refuses NaN
            raise _wrong(where, f"a number of at most {MAX_NUMBER:,.0f}", value)
        return float(value)
    if hint is bool and type(value) is int and value in (0, 1):
        return value == 1
    if type(value) is not hint:
        raise _wrong(where, _TYPE_NAMES.get(hint, str(hint)), value)
    return value


def _wrong(where: str, expected: str, value: Any) -> ConfigError:
    shown = repr(value)
    shown = shown if len(shown) <= MAX_SHOWN else f"{shown[:MAX_SHOWN]}…"
    return ConfigError(f"{where} must be {expected}, not {shown}", "see `watersmeet config show`")
