"""From a name to a component: the file name is the config name."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, get_type_hints

from watersmeet.core.errors import ConfigError, UnknownComponent, nearest
from watersmeet.engine.typed import typed

KINDS = ("source", "parse", "chunk", "embed", "store", "query", "signal", "fusion", "stage")
"""What can be named in settings: for each kind there is a folder, and a file for each component."""
ELSEWHERE = {"store": "watersmeet.store.local"}
"""The packages of kinds that are not called like them."""


def names(kind: str) -> list[str]:
    """What there is of a kind."""
    import re
    from pathlib import Path

    def is_component(path: Path) -> bool:
        called = path.stem.replace("_", "")
        return re.search(rf"^@dataclass.*\nclass {called}\b", path.read_text("utf8"), re.M | re.I) is not None

    package = importlib.import_module(_package(kind))
    files = [path for folder in package.__path__ for path in Path(folder).glob("[!_]*.py")]
    return sorted(path.stem for path in files if is_component(path))


def _package(kind: str) -> str:
    return ELSEWHERE.get(kind, f"watersmeet.{kind}")


def find(kind: str, name: str) -> type[Any]:
    """The one public dataclass of `<name>.py` in the folder of its kind that has its name, without underscores."""
    if not name.isidentifier() or name.startswith("_"):
        raise UnknownComponent(f"no {kind} called {name!r}", instead_of(kind, name))
    called = f"{_package(kind)}.{name}"
    try:
        module = importlib.import_module(called)
    except ModuleNotFoundError as error:
        if error.name != called:
            raise
        raise UnknownComponent(f"no {kind} called {name!r}", instead_of(kind, name)) from None
    for value in vars(module).values():
        if (
            dataclasses.is_dataclass(value)
            and isinstance(value, type)
            and value.__name__.lower() == name.replace("_", "")
        ):
            return value
    raise UnknownComponent(f"{kind} {name!r} is not a component", nearest(name, names(kind)))


def instead_of(kind: str, name: str, known: Sequence[str] = ()) -> str:
    """What to write for a component that there is not: by what predecessors called it, or what comes nearest."""
    from watersmeet.engine import formerly  # only ever needed on the way out

    return formerly.component(kind, name) or nearest(name, known or names(kind))


def options(cls: type[Any]) -> dict[str, dataclasses.Field[Any]]:
    """The settings of a component: its fields that say what they mean."""
    return {field.name: field for field in dataclasses.fields(cls) if "meaning" in field.metadata}


def default(field: dataclasses.Field[Any]) -> Any:
    return field.default_factory() if callable(field.default_factory) else field.default


def checked(cls: type[Any], table: Mapping[str, Any], where: str, origin: str = "") -> dict[str, Any]:
    """A table of settings with its names and types checked; `origin` is where it was written."""
    written = f"{origin}: " if origin else ""
    known = options(cls)
    for key in table:
        if key not in known:
            raise ConfigError(f"{written}[{where}] has no setting {key!r}", _instead_of_setting(where, key, known))
    hints = get_type_hints(cls) if table else {}
    values = {key: typed(hints[key], value, f"{written}{where}.{key}") for key, value in table.items()}
    for key, value in values.items():
        least = known[key].metadata.get("least")
        if least is not None and not value >= least:
            raise ConfigError(f"{written}{where}.{key} cannot be {value}", f"it is {least} or more")
    return values


def _instead_of_setting(where: str, key: str, known: Iterable[str]) -> str:
    from watersmeet.engine import formerly  # only ever needed on the way out

    hint = nearest(key, known) if known else "it has none"
    return hint if hint.startswith("did you mean") else formerly.setting(f"{where}.{key}") or hint


class Later:
    """A port that is made when the first component asks for it: what nobody asks for is not even imported."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make


def build(kind: str, name: str, table: Mapping[str, Any], **ports: object) -> Any:
    """A component from its table; the engine supplies the ports that it asks for."""
    cls = find(kind, name)
    wanted = {field.name for field in dataclasses.fields(cls) if "meaning" not in field.metadata}
    asked = {port: value for port, value in ports.items() if port in wanted}
    given = {port: value.make() if isinstance(value, Later) else value for port, value in asked.items()}
    return cls(**checked(cls, table, f"{kind}.{name}"), **given)
