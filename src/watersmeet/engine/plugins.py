"""Plug-ins: components of other packages, found by the entry points of what is installed.

Only folders that the interpreter installs packages into are searched. The working folder, indexed folders and
PYTHONPATH may hold files of strangers, so a `*.dist-info` there is ignored. A plug-in cannot replace a built-in
component.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

from watersmeet.core.errors import ConfigError, nearest
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.engine.components import PLUGIN_KINDS, is_built_in, is_component

GROUP = "watersmeet."
"""The entry point group of a kind is this prefix and the kind."""
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
"""Members that every component of a kind must have."""


@dataclass(frozen=True, slots=True)
class Plugin:
    """A component as declared by its package; not imported yet."""

    kind: str
    name: str
    package: str
    version: str
    target: str  # module:class

    @property
    def origin(self) -> str:
        return f"{self.package} {self.version}"

    def load(self) -> type[Any]:
        """Import its class, or raise an error that names the package."""
        from importlib.metadata import EntryPoint

        try:
            value = EntryPoint(self.name, self.target, GROUP + self.kind).load()
        except (Exception, SystemExit) as error:  # foreign code may raise anything
            raise self._broken(f"cannot be loaded: {type(error).__name__}: {error}".partition("\n")[0]) from error
        if not is_component(value):
            raise self._broken(f"{self.target} is not a dataclass")
        missing = [member for member in MEMBERS.get(self.kind, ()) if not hasattr(value, member)]
        if missing:
            raise self._broken(f"{self.target} has no {' and no '.join(missing)}")
        if self.kind == "parse" and not (isinstance(value.reads, tuple) and all(map(_is_form, value.reads))):
            raise self._broken(
                'its `reads` must be a tuple of media types and file endings such as ("text/org", ".org")'
            )
        return value

    def _broken(self, reason: str) -> ConfigError:
        hint = f"update {self.package}, or uninstall it: `pip uninstall {self.package}`"
        return ConfigError(f"{self.kind} {self.name!r} of {self.origin}: {reason}", hint)


def _is_form(value: object) -> bool:
    """Whether a text is a media type, or a file ending with one dot."""
    return isinstance(value, str) and ("/" in value or (value.startswith(".") and value.count(".") == 1))


@cache
def of(kind: str) -> Mapping[str, Plugin]:
    """Plug-ins of a kind, by name. Built-in names are left out; of equal names, the first counts."""
    found: dict[str, Plugin] = {}
    for plugin in installed():
        if plugin.kind == kind and not is_built_in(kind, plugin.name):
            found.setdefault(plugin.name, plugin)
    return found


@cache
def broken(kind: str) -> Mapping[str, ConfigError]:
    """Plug-ins that cannot be loaded, each with its error."""
    found: dict[str, ConfigError] = {}
    for name, plugin in of(kind).items():
        try:
            plugin.load()
        except ConfigError as error:
            found[name] = error
    return found


def usable(kind: str) -> list[str]:
    """Names of plug-ins of a kind that can be loaded."""
    return [name for name in of(kind) if name not in broken(kind)]


@cache
def installed() -> tuple[Plugin, ...]:
    """All plug-ins declared by the packages of this environment, sorted."""
    found: dict[str, list[Plugin]] = {}
    for place in places():
        for folder in _metadata_folders(place):
            package, _, version = os.path.basename(folder).removesuffix(".dist-info").partition("-")
            found.setdefault(
                package.casefold(), list(_declared(folder, package, version))
            )  # as for imports, the first counts
    return tuple(
        sorted((one for each in found.values() for one in each), key=lambda one: (one.kind, one.name, one.package))
    )


def places() -> list[str]:
    """Folders that packages are installed into: those of the interpreter and, if enabled, of the user."""
    import site

    own = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    return [place for place in own if place in sys.path]


def _metadata_folders(place: str) -> Iterator[str]:
    """Metadata folders that mention a group of ours; parsing those of all packages takes far longer."""
    group = f"[{GROUP}".encode()
    for name in sorted(os.listdir(place)) if os.path.isdir(place) else ():
        if name.endswith(".dist-info"):
            with suppress(OSError), open(os.path.join(place, name, "entry_points.txt"), "rb") as file:
                if group in file.read():
                    yield os.path.join(place, name)


def _declared(folder: str, package: str, version: str) -> Iterator[Plugin]:
    from importlib.metadata import Distribution

    with suppress(ValueError):  # ignore a file that is not text
        for entry in Distribution.at(folder).entry_points:
            if entry.group.startswith(GROUP):
                yield Plugin(entry.group.removeprefix(GROUP), entry.name, package, version, entry.value)


def problem(plugin: Plugin) -> tuple[str, str]:
    """Problem of a plug-in and hint, both empty if it can be used."""
    if plugin.kind not in PLUGIN_KINDS:
        return f"there is no kind {plugin.kind!r}", nearest(plugin.kind, PLUGIN_KINDS)
    chosen = of(plugin.kind).get(plugin.name)
    if chosen is None:
        return (
            f"ignored: the {plugin.kind} {plugin.name!r} is built in",
            f"ask the authors of {plugin.package} to rename it",
        )
    if chosen is not plugin:
        return (
            f"ignored: {chosen.package} has a {plugin.kind} of the same name",
            f"uninstall one of them: `pip uninstall {plugin.package}`",
        )
    error = broken(plugin.kind).get(plugin.name)
    return (str(error), error.hint) if error else ("", "")
