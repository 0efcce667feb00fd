"""What a settings file that lies in a folder may set, and the folders whose files may set everything.

Folders come from elsewhere: a download, a share, a checkout. Their files say how to search, and no more. What names a
path, an address, a model or a variable, or costs the user anything, counts once the user has said so: `watersmeet trust
FOLDER`. That holds for the file as it is; changed, it must be trusted again.
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

OPEN = frozenset({"pipeline", "two_stage", "chunk", "query", "signal", "fusion", "stage"})
"""Tables that every folder may set, but for what reaches outside."""
KEYS = frozenset({"recipe", "index.dates", "source.folder.include", "source.folder.exclude"})
"""Single settings that it may. A recipe is one of ours: all that it sets is in our own files."""
KEPT = "trusted.json"
WAIT = 10.0
SHOWN = 8


@dataclass(frozen=True, slots=True)
class Ignored:
    """What of a file does not count. Without values it is the whole file, which belongs to another user."""

    file: str
    values: Mapping[str, Any]

    @property
    def origin(self) -> str:
        return f"ignored: {self.file} is not trusted"

    @property
    def what(self) -> str:
        """The file and which settings of it."""
        if not self.values:
            return f"{self.file} belongs to another user and is ignored"
        listed = sorted(self.values)
        more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
        return f"{self.file} is not trusted, ignored: {', '.join(listed[:SHOWN])}{more}"

    @property
    def hint(self) -> str:
        return f"`watersmeet trust {shlex.quote(os.path.dirname(self.file))}` lets it count, if you know who wrote it"


def load_trusted(
    files: Sequence[str], start: str, environ: Mapping[str, str]
) -> tuple[list[tuple[str, Table]], tuple[Ignored, ...]]:
    """The first of these files, as far as it counts, and what does not.

    What another user has put into a folder further up, such as /tmp, is not even read."""
    known = trusted(environ)
    ignored: list[Ignored] = []
    for file in files:
        folder = os.path.dirname(file)
        if folder not in known and folder != os.path.realpath(start) and _foreign(file):
            ignored.append(Ignored(file, {}))
            continue
        tables, content = read(file)
        check(tables, file)
        if known.get(folder) != _hash(content):
            tables, left = filter_untrusted(tables)
            ignored += [Ignored(file, left)] if left else []
        return [(file, tables)], tuple(ignored)
    return [], tuple(ignored)


def _foreign(file: str) -> bool:
    return is_foreign(os.stat(file))


def filter_untrusted(tables: Table) -> tuple[Table, dict[str, Any]]:
    """What counts of a file that nobody has vouched for, and what does not, by its dotted name."""
    counted: Table = {}
    ignored: dict[str, Any] = {}
    for path, value in _settings(tables):
        if not harmless(path, value):
            ignored[".".join(path)] = value
            continue
        table = counted
        for part in path[:-1]:
            table = table.setdefault(part, {})
        table[path[-1]] = value
    return counted, ignored


def _settings(tables: Table) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Each setting: `recipe`, or of a section, or of a component."""
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
    """Whether a stranger may set it."""
    name = ".".join(path)
    if name in KEYS or (name in OFF and value == ""):  # it may switch them off
        return True
    if path[0] not in OPEN:
        return False
    if path[0] in KINDS:
        return is_built_in(*path[:2]) and not options(find(*path[:2]))[path[2]].metadata.get("outside")
    chosen = [value] if isinstance(value, str) else value
    return name not in NAMED or not any(_reaches(NAMED[name], one) for one in chosen)


def _reaches(kind: str, name: str) -> bool:
    """Whether a component reaches outside as soon as it is chosen: what it reaches has a default, too. What code of
    another package does, nobody here knows."""
    if not is_built_in(kind, name):
        return exists(kind, name)  # `check` says it if not
    return any(field.metadata.get("outside") for field in options(find(kind, name)).values())


# ------------------------------------------------------------ the folders


def trusted(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The real path of each folder, and the hash of its file as it was when it was trusted."""
    path = os.path.join(config_folder(environ), KEPT)
    try:
        with open(path, encoding="utf8") as file:
            found = json.load(file)["folders"]
            return {str(folder): str(digest) for folder, digest in found.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise ConfigError(f"{path} cannot be read", "mend it, or delete it and trust your folders again") from error


def trust(folder: str) -> tuple[str, dict[str, Any]]:
    """From now on all that the folder's file says counts; its real path, and what did not count before."""
    real, file = _meant(folder)
    tables, content = read(file)
    check(tables, file)
    with _changing() as known:
        known[real] = _hash(content)
    return real, filter_untrusted(tables)[1]


def distrust(folder: str) -> str:
    """The real path of a folder of which only what is harmless counts again."""
    real = os.path.realpath(folder)
    with _changing() as known:
        if known.pop(real, None) is None:
            raise NotFound(f"{folder} is not trusted", "`watersmeet trust` lists the folders that are")
    return real


def unchanged(folder: str) -> bool:
    """Whether the file of a trusted folder is still the one that was trusted."""
    try:
        return _hash(read(os.path.join(folder, FILE))[1]) == trusted().get(folder)
    except ConfigError:
        return False


def _hash(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _meant(folder: str) -> tuple[str, str]:
    real = os.path.realpath(folder)
    file = os.path.join(real, FILE)
    if not os.path.isfile(file):
        raise SourceProblem(f"there is no {FILE} in {folder}", "name the folder that the file lies in")
    return real, file


@contextmanager
def _changing() -> Iterator[dict[str, str]]:
    """The folders, to change; one process at a time."""
    home = config_folder()
    os.makedirs(home, mode=0o700, exist_ok=True)
    with locked(home, WAIT, f"{KEPT}.lock"):
        known = trusted()
        yield known
        replace_file(os.path.join(home, KEPT), json.dumps({"folders": known}, indent=1).encode(), 0o600)
