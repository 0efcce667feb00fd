"""The conversion of a predecessor's settings: what each key became, and what has no equivalent."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from watersmeet.common.redaction import HIDDEN, shown
from watersmeet.core.errors import ConfigError
from watersmeet.engine.components import default, find, options
from watersmeet.engine.settings.file import Table, parse
from watersmeet.engine.settings.settings import SECTIONS, check, from_layers, leaves, merge
from watersmeet.engine.settings.toml import dump

_SECRET = re.compile(r"PASS(?:$|_|W|P)|SECRET|TOKEN|CREDENTIAL|KEYS?$|CONNECTION_STRING|DSN", re.IGNORECASE)
_PLAIN_KEY = re.compile(r"KEY_ENV$", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Key:
    """A key of a predecessor: the settings it became, or what takes its place, or why there is nothing."""

    name: str
    value: Any
    settings: tuple[str, ...] = ()
    note: str = ""
    lacking: bool = False

    @property
    def shown(self) -> Any:
        """The value without secrets, at any depth, and without the name and password of an address."""
        return _without_secrets(self.name.rpartition(".")[2], self.value)


@dataclass(frozen=True, slots=True)
class DocumentSource:
    """Something that the predecessor indexes, and the collection that keeps it apart."""

    address: str
    collection: str = ""
    meta: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Conversion:
    """Settings of a predecessor as ours, over the recipe that ranks as it does."""

    program: str
    recipe: str
    tables: Table = field(default_factory=dict)
    keys: list[Key] = field(default_factory=list)
    sources: list[DocumentSource] = field(default_factory=list)
    commands: list[str] = field(default_factory=list)  # what remains to be run

    def set(self, name: str, value: Any, setting: str, new: Any = None, note: str = "") -> None:
        """The key became this setting, with this or another value, if that is one which the setting takes."""
        new = value if new is None else new
        if isinstance(new, str) and (bare := _without_user(new)) != new:
            new, note = bare, "without its name and password, which no settings file has"
        one = _table(setting.split("."), new)
        try:
            check(one, self.program)
            parse(dump(one), self.program)  # what a file cannot have
        except ConfigError as error:
            self.none(name, value, f"{setting} does not take {_without_secrets(name, new)!r}: {error.hint or error}")
            return
        if self._usual(setting) == new:
            self.same(name, value, note or f"the recipe {self.recipe} has it")
            return
        self.tables = merge(self.tables, one)
        before = self.keys.pop() if self.keys and self.keys[-1].name == name and self.keys[-1].settings else None
        self.keys.append(Key(name, value, (*(before.settings if before else ()), setting), note))

    def _usual(self, setting: str) -> Any:
        """The value of a setting in the recipe, else its default."""
        of_recipe = dict(leaves(from_layers(self.recipe, ()).tables))
        if setting in of_recipe:
            return of_recipe[setting]
        kind, *rest = setting.split(".")
        cls = SECTIONS[kind] if kind in SECTIONS else find(kind, rest.pop(0))
        declared = options(cls).get(".".join(rest))
        return self if declared is None else default(declared)

    def same(self, name: str, value: Any, note: str) -> None:
        """Nothing needs to be set; `note` says why, or what takes its place."""
        self.keys.append(Key(name, value, note=note))

    def none(self, name: str, value: Any, why: str) -> None:
        """There is no equivalent."""
        self.keys.append(Key(name, value, note=why, lacking=True))

    def get(self, setting: str) -> Any:
        """A setting as it would be: as set so far, else that of the recipe."""
        return dict(leaves(merge(from_layers(self.recipe, ()).tables, self.tables))).get(setting)

    def put_before(self, setting: str, name: str, before: Sequence[str]) -> list[str]:
        """A list of components with one more, before the first of some others that is there."""
        listed = [one for one in self.get(setting) if one != name]
        at = next((number for number, one in enumerate(listed) if one in before), len(listed))
        return [*listed[:at], name, *listed[at:]]

    @property
    def settings(self) -> Table:
        return {"recipe": self.recipe, **self.tables}


Rule = Callable[[Conversion, str, Any], None]


def to(setting: str, *, usual: Any = None, note: str = "") -> Rule:
    """The key is that setting. A value that is the predecessor's `usual` one was not chosen, and ours is kept."""

    def rule(made: Conversion, name: str, value: Any) -> None:
        if usual is not None and value == usual:
            made.same(name, value, f"{made.program}'s own value, which is not carried over; see {setting}")
        else:
            made.set(name, value, setting, note=note)

    return rule


def same(note: str) -> Rule:
    return lambda made, name, value: made.same(name, value, note)


def lacking(why: str) -> Rule:
    return lambda made, name, value: made.none(name, value, why)


def walk(made: Conversion, config: Mapping[str, Any], rules: Mapping[str, Rule]) -> None:
    """Apply the rule of each value, by its dotted name or by a beginning of it. A value of nothing says nothing."""
    for name, value in values_of(config, rules):
        if value is None or value in ("", [], {}):
            continue
        rule = rules.get(name) or rules.get(f"{name.partition('.')[0]}.*")
        if rule is None:
            made.none(name, value, f"{made.program} does not document this key")
        else:
            rule(made, name, value)


def values_of(config: Mapping[str, Any], rules: Mapping[str, Rule], prefix: str = "") -> Iterator[tuple[str, Any]]:
    """The values with their dotted names; a table that has a rule itself is one value."""
    for key, value in config.items():
        name = f"{prefix}.{key}" if prefix else str(key)
        if isinstance(value, Mapping) and name not in rules:
            yield from values_of(value, rules, name)
        else:
            yield name, value


def _without_secrets(name: str, value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _without_secrets(str(key), one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_without_secrets(name, one) for one in value]
    if value and _SECRET.search(name) and not _PLAIN_KEY.search(name):
        return HIDDEN
    if isinstance(value, float) and not math.isfinite(value):  # JSON has no such number
        return str(value)
    return shown(value) if isinstance(value, str) and "://" in value else value


def _without_user(value: str) -> str:
    """An address without a name and password."""
    scheme, sign, rest = value.partition("://")
    host, slash, path = rest.partition("/")
    return f"{scheme}{sign}{host.rpartition('@')[2]}{slash}{path}" if sign else value


def _table(path: Sequence[str], value: Any) -> Table:
    for part in reversed(path):
        value = {part: value}
    made: Table = value
    return made


# ---------------------------------------------------------------- models

BUILT_IN = "granite-30m and potion-base-8M come with the program and need no download"
PROVIDERS = {
    "fastembed": "fastembed",
    "sentence-transformers": "sentence_transformers",
    "local": "onnx",
    "ollama": "ollama",
    "openai": "openai",
    "bedrock": "bedrock",
}
"""The component for each provider of embeddings."""


def set_embedder(made: Conversion, name: str, provider: str, model: str, **options: Any) -> None:
    """Choose an embedder for dense vectors. `options`: further settings of it, if it has them."""
    provider = provider.lower().replace("_", "-")
    component = PROVIDERS.get(provider)
    if component is None:
        why = f"there is no provider {provider!r}; `openai` reaches any compatible endpoint (embed.openai.base_url)"
        made.none(name, model, why)
        return
    if component == "onnx" and "/" not in model:
        model = f"sentence-transformers/{model}"
    made.set(name, model, "index.dense", component)
    made.set(name, model, f"embed.{component}.model", model)
    for option, value in options.items():
        if value:
            made.set(f"{name} ({option})", value, f"embed.{component}.{option}")
