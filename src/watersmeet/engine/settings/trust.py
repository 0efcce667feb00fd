"""Trust in settings files of folders: what an untrusted file may set, and the list of trusted folders.

A folder may be a stranger's: a download, a share, a checkout. Its file may set how to search, and no more. Settings
that name a path, an address, a model or a variable, or cause costs, are ignored until the user runs `watersmeet trust
FOLDER`. Trust is given to the present content of the file; after a change it must be given again.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from watersmeet.core.errors import ConfigError, NotFound, SourceProblem
from watersmeet.core.files import replace_file
from watersmeet.core.locks import locked
from watersmeet.core.system import is_foreign
from watersmeet.engine.components import KINDS, exists, find, is_built_in, options
from watersmeet.engine.settings.file import Table, read
from watersmeet.engine.settings.settings import FILE, NAMED, OFF, check, config_folder

OPEN = frozenset({"pipeline", "two_stage", "parse", "chunk", "query", "signal", "fusion", "stage"})
"""Tables that an untrusted file may set, except for options marked `outside`."""
_GLOBS = (f"source.{name}.{key}" for name in ("folder", "git") for key in ("include", "exclude"))
KEYS = frozenset(("recipe", "index.dates", "index.min_coverage", "registry.types", *_GLOBS))
"""Further settings that an untrusted file may set. Recipes are built in, so naming one is safe; a declared type has
bounded names, and says only how fields are searched and shown."""
TRUST_FILE = "trusted.json"
LOCK_SECONDS = 10.0
MAX_SHOWN = 8


@dataclass(frozen=True, slots=True)
class Ignored:
    """Ignored values of an untrusted file. Without values, the whole file is ignored: it belongs to another user."""

    file: str
    values: Mapping[str, Any]

    @property
    def origin(self) -> str:
        return f"ignored: {self.file} is not trusted"

    @property
    def what(self) -> str:
        """A message with the file and its ignored settings."""
        if not self.values:
            return f"{self.file} belongs to another user and is ignored"
        listed = sorted(self.values)
        more = f" and {len(listed) - MAX_SHOWN} more" if len(listed) > MAX_SHOWN else ""
        return f"{self.file} is not trusted, ignored: {', '.join(listed[:MAX_SHOWN])}{more}"

    @property
    def hint(self) -> str:
        return f"`watersmeet trust {shlex.quote(os.path.dirname(self.file))}` applies it, if you know who wrote it"


def load_trusted(
    files: Sequence[str], start: str, environ: Mapping[str, str]
) -> tuple[list[tuple[str, Table]], tuple[Ignored, ...]]:
    """The allowed values of the first of these files, and the ignored ones.

    A file that another user has put into a parent folder, such as /tmp, is not read."""
    hashes = trusted(environ)
    ignored: list[Ignored] = []
    for file in files:
        folder = os.path.dirname(file)
        if folder not in hashes and folder != os.path.realpath(start) and _foreign(file):
            ignored.append(Ignored(file, {}))
            continue
        tables, content = read(file)
        check(tables, file)
        if hashes.get(folder) != _hash(content):
            tables, left = filter_untrusted(tables)
            ignored += [Ignored(file, left)] if left else []
        return [(file, tables)], tuple(ignored)
    return [], tuple(ignored)


def _foreign(file: str) -> bool:
    return is_foreign(os.stat(file))


def filter_untrusted(tables: Table) -> tuple[Table, dict[str, Any]]:
    """The allowed values of an untrusted file, and the ignored ones by dotted name."""
    allowed: Table = {}
    ignored: dict[str, Any] = {}
    for path, value in _settings(tables):
        if not harmless(path, value):
            ignored[".".join(path)] = value
            continue
        table = allowed
        for part in path[:-1]:
            table = table.setdefault(part, {})
        table[path[-1]] = value
    return allowed, ignored


def _settings(tables: Table) -> Iterator[tuple[tuple[str, ...], Any]]:
    """All settings as (path, value): `recipe`, those of sections and of components."""
    for top, table in tables.items():
        if not isinstance(table, dict):
            yield (top,), table
            continue
        for name, inner in table.items():
            if top in KINDS:
                yield from (((top, name, key), value) for key, value in inner.items())
            else:
                yield (top, name), inner


def harmless(path: tuple[str, ...], value: Any) -> bool:
    """Whether an untrusted file may set a value."""
    name = ".".join(path)
    if name in KEYS or (name in OFF and value == ""):  # switching off is allowed
        return True
    if path[0] not in OPEN:
        return False
    if path[0] in KINDS:
        return is_built_in(*path[:2]) and not options(find(*path[:2]))[path[2]].metadata.get("outside")
    chosen = [value] if isinstance(value, str) else value
    return name not in NAMED or not any(_reaches(NAMED[name], one) for one in chosen)


def _reaches(kind: str, name: str) -> bool:
    """Whether a component has `outside` options, whose defaults apply as soon as it is chosen. Plug-ins always count as
    such."""
    if not is_built_in(kind, name):
        return exists(kind, name)  # `check` raises if it does not
    return any(field.metadata.get("outside") for field in options(find(kind, name)).values())


# ------------------------------------------------------------ the folders


def trusted(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """Trusted folders by real path, with the hash of the file at that time."""
    path = os.path.join(config_folder(environ), TRUST_FILE)
    try:
        with open(path, encoding="utf8") as file:
            found = json.load(file)["folders"]
            return {str(folder): str(digest) for folder, digest in found.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"{path} cannot be read", "repair it, or delete it and trust your folders again") from error


def trust(folder: str) -> tuple[str, dict[str, Any]]:
    """Trust the present file of a folder; returns its real path, and the values ignored so far."""
    real, file = _settings_file(folder)
    tables, content = read(file)
    check(tables, file)
    with _changing() as folders:
        folders[real] = _hash(content)
    return real, filter_untrusted(tables)[1]


def distrust(folder: str) -> str:
    """Stop trusting a folder; returns its real path."""
    real = os.path.realpath(folder)
    with _changing() as folders:
        if folders.pop(real, None) is None:
            raise NotFound(f"{folder} is not trusted", "`watersmeet trust` lists the trusted folders")
    return real


def unchanged(folder: str) -> bool:
    """Whether the file of a trusted folder is unchanged since."""
    try:
        return _hash(read(os.path.join(folder, FILE))[1]) == trusted().get(folder)
    except ConfigError:
        return False


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _settings_file(folder: str) -> tuple[str, str]:
    real = os.path.realpath(folder)
    file = os.path.join(real, FILE)
    if not os.path.isfile(file):
        raise SourceProblem(f"there is no {FILE} in {folder}", "name the folder with that file")
    return real, file


@contextmanager
def _changing() -> Iterator[dict[str, str]]:
    """The trusted folders, to be changed under a lock."""
    home = config_folder()
    os.makedirs(home, mode=0o700, exist_ok=True)
    with locked(home, LOCK_SECONDS, f"{TRUST_FILE}.lock"):
        folders = trusted()
        yield folders
        replace_file(os.path.join(home, TRUST_FILE), json.dumps({"folders": folders}, indent=1).encode(), 0o600)
