"""Plug-ins: components of other packages, named by the entry points of what is installed in the user's environment.

Only the folders count that the interpreter installs packages into. The working folder, a folder that is searched and
what PYTHONPATH names may be anybody's: a `*.dist-info` that lies there says nothing. What is built in keeps its name.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from typing import Any

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.engine.components import PLUGIN_KINDS, is_built_in, is_component

GROUP = "watersmeet."
"""The group of entry points of a kind is this and its name."""
MEMBERS = {
    "source": ("scan", "read"),
    "parse": ("parse", "reads"),
    "chunk": ("split",),
    "store": ("reader", "writer"),
    "query": ("apply",),
    "fusion": ("fuse", "fills"),
    "stage": ("apply",),
    "record": ("knows", "read"),
}
"""What every component of a kind has, where all have the same."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A component as its package announces it; nothing of it is imported yet."""

    kind: str
    name: str
    package: str
    version: str
    target: str  # module:class

    @property
    def origin(self) -> str:
        return f"{self.package} {self.version}"

    def load(self) -> type[Any]:
        """Its class, or an error that says whose fault it is."""
        from importlib.metadata import EntryPoint

        try:
            value = EntryPoint(self.name, self.target, GROUP + self.kind).load()
        except (Exception, SystemExit) as error:  # code of others raises whatever it likes
            raise self._broken(f"cannot be loaded: {type(error).__name__}: {error}".partition("\n")[0]) from error
        if not is_component(value):
            raise self._broken(f"{self.target} is no dataclass")
        lacking = [member for member in MEMBERS.get(self.kind, ()) if not hasattr(value, member)]
        if lacking:
            raise self._broken(f"{self.target} has no {' and no '.join(lacking)}")
        if self.kind == "parse" and not (isinstance(value.reads, tuple) and all(map(_is_form, value.reads))):
            raise self._broken('it reads a tuple of media types and endings such as ("text/org", ".org")')
        return value

    def _broken(self, reason: str) -> ConfigError:
        hint = f"update {self.package}, or uninstall it: `pip uninstall {self.package}`"
        return ConfigError(f"{self.kind} {self.name!r} of {self.origin}: {reason}", hint)


def _is_form(value: object) -> bool:
    """Whether it is a media type, or an ending: what stands behind the last dot."""
    return isinstance(value, str) and ("/" in value or (value.startswith(".") and value.count(".") == 1))


@cache
def of(kind: str) -> Mapping[str, Plugin]:
    """The plug-ins of a kind that can be used, by name: a name that is built in stays ours, else the first has it."""
    found: dict[str, Plugin] = {}
    for plugin in installed():
        if plugin.kind == kind and not is_built_in(kind, plugin.name):
            found.setdefault(plugin.name, plugin)
    return found


@cache
def broken(kind: str) -> Mapping[str, ConfigError]:
    """Those that cannot be loaded, each with its reason."""
    found: dict[str, ConfigError] = {}
    for name, plugin in of(kind).items():
        try:
            plugin.load()
        except ConfigError as error:
            found[name] = error
    return found


def usable(kind: str) -> list[str]:
    """The names of those that can be loaded, for where all of a kind are asked in turn."""
    return [name for name in of(kind) if name not in broken(kind)]


@cache
def installed() -> tuple[Plugin, ...]:
    """All that the packages of this environment announce, in order."""
    found: dict[str, list[Plugin]] = {}
    for place in places():
        for folder in _announcing(place):
            package, _, version = os.path.basename(folder).removesuffix(".dist-info").partition("-")
            found.setdefault(package.casefold(), list(_announced(folder, package, version)))  # as an import, the first
    return tuple(
        sorted((one for each in found.values() for one in each), key=lambda one: (one.kind, one.name, one.package))
    )


def places() -> list[str]:
    """The folders that packages are installed into: those of the interpreter and, if it looks there, of the user."""
    import site

    own = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    return [place for place in own if place in sys.path]


def _announcing(place: str) -> Iterator[str]:
    """The folders of metadata in which a group of ours stands. To parse those of all packages takes far longer."""
    group = f"[{GROUP}".encode()
    for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
        if name.endswith(".dist-info"):
            with suppress(OSError), open(os.path.join(place, name, "entry_points.txt"), "rb") as file:
                if group in file.read():
                    yield os.path.join(place, name)


def _announced(folder: str, package: str, version: str) -> Iterator[Plugin]:
    from importlib.metadata import Distribution

    with suppress(ValueError):  # a file that is no text announces nothing
        for entry in Distribution.at(folder).entry_points:
            if entry.group.startswith(GROUP):
                yield Plugin(entry.group.removeprefix(GROUP), entry.name, package, version, entry.value)


def problem(plugin: Plugin) -> tuple[str, str]:
    """What is wrong with a plug-in, and what to do; nothing if it can be used."""
    if plugin.kind not in PLUGIN_KINDS:
        return f"there is no kind {plugin.kind!r}", nearest(plugin.kind, PLUGIN_KINDS)
    chosen = of(plugin.kind).get(plugin.name)
    if chosen is None:
        return (
            f"ignored: the {plugin.kind} {plugin.name!r} is built in",
            f"it needs another name: ask the makers of {plugin.package}",
        )
    if chosen is not plugin:
        return (
            f"ignored: {chosen.package} has one of this name too",
            f"uninstall one of them: `pip uninstall {plugin.package}`",
        )
    error = broken(plugin.kind).get(plugin.name)
    return (str(error), error.hint) if error else ("", "")
