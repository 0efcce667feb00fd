"""Git's ignore rules: nested `.gitignore` files and `.git/info/exclude`.

Two differences from git: characters are compared, not bytes, so that `?` is one letter in any script; and a symlink to
a folder counts as a folder, since it is followed. The user's global ignore file is not read.
"""

from __future__ import annotations

import os
import stat

from watersmeet.common.globs import Pattern, pattern
from watersmeet.core.indexing import Skipped
from watersmeet.core.system import slashed
from watersmeet.source._files import fetch

_MAX_BYTES = 10_000_000


class Rules:
    """Patterns of one ignore file; `start` is the length of its folder's path, which is removed before matching."""

    __slots__ = ("_named", "_others", "_start")

    def __init__(self, text: str, start: int) -> None:
        self._start = start
        self._named: dict[str, list[tuple[int, Pattern]]] = {}
        self._others: list[tuple[int, Pattern]] = []
        for number, line in enumerate(text.removeprefix("\ufeff").split("\n")):
            line = _trimmed(line.removesuffix("\r"))
            rule = None if line.startswith("#") else pattern(line)
            if rule is None:
                continue
            if rule.by_name and rule.literal:
                self._named.setdefault(rule.literal, []).append((number, rule))
            else:
                self._others.append((number, rule))
        self._others.reverse()

    def verdict(self, name: str, path: str, is_folder: bool) -> bool | None:
        """Whether the last matching pattern ignores the path; None if no pattern matches."""
        path = path[self._start :]
        last, ignore = -1, None
        for number, rule in reversed(self._named.get(name, ())):
            if rule.matches(name, path, is_folder):
                last, ignore = number, not rule.negated
                break
        for number, rule in self._others:
            if number < last:
                break
            if rule.matches(name, path, is_folder):
                return not rule.negated
        return ignore


Chain = tuple[Rules, ...]
"""Rules that apply in a folder, nearest first."""


def ignored(chain: Chain, name: str, path: str, is_folder: bool) -> bool:
    for rules in chain:
        verdict = rules.verdict(name, path, is_folder)
        if verdict is not None:
            return verdict
    return False


def load(path: str, start: int) -> Rules | Skipped | None:
    """Rules of an ignore file; None if there is none. Like git, symlinks are not read."""
    try:
        if not stat.S_ISREG(os.lstat(path).st_mode):
            return None
    except OSError:
        return None
    content = fetch(path, _MAX_BYTES, "gitignore")
    return content if isinstance(content, Skipped) else Rules(os.fsdecode(content), start)


def of_folder(folder: str, start: int) -> list[Rules | Skipped]:
    """Rules of the ignore files in a folder, nearest first."""
    files = [os.path.join(folder, ".gitignore")]
    repository = _repository(os.path.join(folder, ".git"))
    if repository:
        files.append(os.path.join(repository, "info", "exclude"))
    found = (load(file, start) for file in files)
    return [rules for rules in found if rules is not None]


def above(folder: str) -> tuple[list[Rules | Skipped], str]:
    """Rules of the folders above a folder in a git work tree, and its path below the top of the tree."""
    if _repository(os.path.join(folder, ".git")):
        return [], ""
    parents: list[str] = []
    here = folder
    while (parent := os.path.dirname(here)) != here:
        parents.append(parent)
        if _repository(os.path.join(parent, ".git")):
            break
        here = parent
    else:
        return [], ""
    top = os.path.join(parents[-1], "")
    found: list[Rules | Skipped] = []
    for parent in parents:
        found += of_folder(parent, len(os.path.join(parent, "")) - len(top))
    return found, slashed(folder[len(top) :]) + "/"


def _repository(path: str) -> str:
    """Repository folder of a `.git`, which may be a file that points to it."""
    if os.path.isdir(path):
        return path
    if not os.path.isfile(path):
        return ""
    content = fetch(path, 1 << 16, "gitignore")
    if isinstance(content, Skipped) or not content.startswith(b"gitdir: "):
        return ""
    place = os.path.join(os.path.dirname(path), os.fsdecode(content[8:].strip()))
    shared = fetch(os.path.join(place, "commondir"), 1 << 16, "gitignore")
    return place if isinstance(shared, Skipped) else os.path.join(place, os.fsdecode(shared.strip()))


def _trimmed(line: str) -> str:
    """Line without trailing spaces, unless they are escaped."""
    text = line.rstrip(" ")
    backslashes = len(text) - len(text.rstrip("\\"))
    return text + " " if backslashes % 2 and len(text) < len(line) else text
