"""File changes of an installation: planned first, written atomically, with a backup."""

from __future__ import annotations

import difflib
import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any

from watersmeet.core.errors import ConfigError
from watersmeet.core.files import replace_file
from watersmeet.face.clients import json_entry, toml_entry
from watersmeet.face.clients.json_entry import CannotEdit
from watersmeet.face.clients.places import Client, settings_file, skill_file
from watersmeet.face.clients.skill import MARK

BACKUP = ".before-watersmeet"


@dataclass(frozen=True, slots=True)
class Change:
    """A file change: the text before and after; None where existing is no file."""

    path: str
    before: str | None
    after: str | None
    keeps_copy: bool = False  # whether the old version is kept beside it

    @property
    def action(self) -> str:
        if self.before == self.after:
            return "none"
        if self.before is None:
            return "create"
        return "remove" if self.after is None else "change"

    @property
    def backup(self) -> str:
        return self.path + BACKUP if self.keeps_copy and self.action == "change" else ""

    def diff(self) -> str:
        old = (self.before or "").splitlines(keepends=True)
        new = (self.after or "").splitlines(keepends=True)
        was, will = (os.devnull if text is None else self.path for text in (self.before, self.after))
        lines = difflib.unified_diff(old, new, was, will)
        return "".join(line if line.endswith("\n") else f"{line}\n" for line in lines)

    def to_json(self) -> dict[str, Any]:
        return {"path": self.path, "action": self.action, "backup": self.backup, "diff": self.diff()}


def install_changes(
    client: Client, scope: str, project: str, name: str, entry: Mapping[str, Any], skill: str = ""
) -> list[Change]:
    """The changes that install the MCP entry, and the skill if existing is one."""
    path = settings_file(client, scope, project)
    before = _read(path)
    form = _form(path)
    try:
        _check_comments(client, path, before or "")
        container = container_in(client, before or "")
        after = _edited(before or "", lambda text: form.put(text, container, name, entry))
    except CannotEdit as problem:
        raise ConfigError(f"{path} is left as it is: {problem}", _by_hand(client, path, name, entry)) from None
    changes = [Change(path, before, after, keeps_copy=True)]
    if skill and client.skills:
        file = skill_file(client, scope, project, name)
        existing = _read(file)
        changes.append(Change(file, existing, skill, keeps_copy=existing is not None and MARK not in existing))
    return changes


def uninstall_changes(client: Client, scope: str, project: str, name: str) -> list[Change]:
    """The changes that restore the settings as they were, and remove the skill unless someone else wrote it."""
    path = settings_file(client, scope, project)
    before, copy = _read(path), _read(path + BACKUP)
    after = before
    form = _form(path)
    if before is not None:
        try:
            container = container_in(client, before)
            had = copy is not None and form.has(copy, container)
            after = _edited(before, lambda text: form.remove(text, container, name, had))
            if copy is not None and _edited(copy, lambda text: _again(form, text, container, name, before)) == before:
                after = copy  # nothing else was changed meanwhile
            if after != before and copy is None and form.is_empty(after):
                after = None
        except CannotEdit as problem:
            if form.may_have(before, name):
                raise ConfigError(f"{path} is left as it is: {problem}", f"remove {name!r} from it by hand") from None
        if after is not None and copy is not None and after.strip() == copy.strip():
            after = copy
    changes = [Change(path, before, after)]
    if copy is not None and after == copy:
        changes.append(Change(path + BACKUP, copy, None))
    if not client.skills:
        return changes
    file = skill_file(client, scope, project, name)
    existing = _read(file)
    if existing is not None and MARK in existing:
        copied = _read(file + BACKUP)
        changes.append(Change(file, existing, copied))
        if copied is not None:
            changes.append(Change(file + BACKUP, copied, None))
    return changes


def write(changes: list[Change], project: str) -> None:
    for change in changes:
        if change.action == "none":
            continue
        if change.after is None:
            os.unlink(change.path)
            _tidy(os.path.dirname(change.path), project)
            continue
        if change.backup and not os.path.exists(change.backup):
            _put(change.backup, change.before or "", change.path)
        _put(change.path, change.after, change.path)


def _put(path: str, text: str, like: str) -> None:
    """Write a file atomically; a link is followed, and the file keeps its permissions."""
    real = os.path.realpath(path)
    os.makedirs(os.path.dirname(real), exist_ok=True)
    mode = stat.S_IMODE(os.stat(like).st_mode) if os.path.exists(like) else 0o644
    replace_file(real, text.encode("utf8"), mode)


def _tidy(folder: str, project: str) -> None:
    """Remove folders that are empty now."""
    top = {os.path.realpath(project), os.path.realpath(os.path.expanduser("~"))}
    while os.path.realpath(folder) not in top and os.path.isdir(folder) and not os.listdir(folder):
        os.rmdir(folder)
        folder = os.path.dirname(folder)


def _read(path: str) -> str | None:
    try:
        with open(path, encoding="utf8", newline="") as file:
            return file.read()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise ConfigError(f"{path} is left as it is: it is not UTF-8") from None


def container_in(client: Client, text: str) -> str:
    """The keys that lead to the MCP servers in a settings file. OpenCode has two ways to write them, and reads both."""
    if client.container == "mcp" and text.strip():
        with suppress(CannotEdit):
            servers = json_entry.entry_of(text, "mcp", "servers")
            return "mcp.servers" if isinstance(servers, dict) and "type" not in servers else "mcp"
    return client.container


def _check_comments(client: Client, path: str, text: str) -> None:
    """Raise if the file has comments that the client itself does not understand."""
    if _form(path) is json_entry and not client.comments and json_entry.has_comments(text):
        raise CannotEdit("it is not plain JSON: it has comments or commas that JSON does not have")


def _again(form: ModuleType, text: str, container: str, name: str, installed: str) -> str:
    """A text with the entry that another one has."""
    entry = form.entry_of(installed.replace("\r\n", "\n"), container, name)
    return str(form.put(text, container, name, entry)) if isinstance(entry, dict) else text


def _form(path: str) -> ModuleType:
    return toml_entry if path.endswith(".toml") else json_entry


def _edited(text: str, edit: Callable[[str], str]) -> str:
    """Edit a text and keep its line endings."""
    if "\r\n" not in text:
        return edit(text)
    return edit(text.replace("\r\n", "\n")).replace("\n", "\r\n")


def _by_hand(client: Client, path: str, name: str, entry: Mapping[str, Any]) -> str:
    shown = _form(path).put("", client.container, name, entry)
    return f"add this to it by hand:\n{shown.rstrip()}"
