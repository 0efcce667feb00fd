"""The manifest of an export, `export.json`: it names the one folder that counts, and replacing it is the commit.

A new export is written beside the old one, `content-2` beside `content-1`. Until the manifest names it, it does not
count; afterwards the old one does not. So a process that is killed leaves the old export or the new one.
"""

from __future__ import annotations

import json
import os
import re
import stat
from dataclasses import asdict, dataclass, field
from typing import Any

from watersmeet.core.errors import ConfigError, IndexProblem, NoIndex
from watersmeet.core.files import replace_file
from watersmeet.core.system import READ, sync_folder

FILE = "export.json"
FORMAT = 1
INDEX = "index"
"""The index inside of the content."""
MAX_BYTES = 100_000
READABLE_FILE = 0o644
CONTENT = re.compile(r"content-[1-9]\d{0,8}")
LOCK = ".export.lock"
HINT = "make it with `watersmeet export DIR`"


@dataclass(frozen=True, slots=True)
class Manifest:
    """What an export is; `content` is empty while the first one is being written."""

    content: str = ""
    watersmeet: str = ""
    python: str = ""
    platform: str = ""
    made: str = ""
    documents: int = 0
    chunks: int = 0
    private: bool = False
    wheels: bool = False
    """Whether all requirements are in it as wheels."""
    tiers: dict[str, str] = field(default_factory=dict)
    """The model of each tier of vectors."""

    @property
    def number(self) -> int:
        return int(self.content.partition("-")[2] or 0)


def read_manifest(folder: str) -> Manifest:
    """The manifest of an export; raises if the folder is none."""
    path = os.path.join(folder, FILE)
    try:
        content = _read(path)
    except FileNotFoundError:
        raise NoIndex(f"{folder} is not an export: it has no {FILE}", HINT) from None
    except OSError as error:
        raise IndexProblem(f"{path} cannot be read: {error.strerror}", "check its permissions") from error
    try:
        return _decoded(json.loads(content))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise IndexProblem(f"{path} is not the manifest of an export: {error}", HINT) from error


def open_content(folder: str) -> tuple[Manifest, str]:
    """The manifest of an export, and the folder that it names."""
    manifest = read_manifest(folder)
    if not manifest.content:
        raise IndexProblem(f"{folder}: the export was not finished", "run `watersmeet export` again")
    content = os.path.join(folder, manifest.content)
    if not os.path.isdir(content) or os.path.islink(content):
        raise IndexProblem(f"{content} is not a folder", "export it again, or get another copy")
    return manifest, content


def write_manifest(folder: str, manifest: Manifest) -> None:
    """The commit point of an export."""
    values = {"watersmeet_export": FORMAT, **asdict(manifest)}
    replace_file(os.path.join(folder, FILE), (json.dumps(values, indent=1) + "\n").encode(), READABLE_FILE)
    sync_folder(folder)


def claim(folder: str) -> Manifest:
    """The manifest of the export that a new one replaces. A new or empty folder becomes an export that is not finished;
    any other folder is refused."""
    if os.path.lexists(os.path.join(folder, FILE)):
        return read_manifest(folder)
    try:
        os.makedirs(folder, exist_ok=True)
        others = [name for name in os.listdir(folder) if name != LOCK]
    except (FileExistsError, NotADirectoryError):
        raise ConfigError(f"{folder} is a file", "name a new folder") from None
    if others:
        raise ConfigError(
            f"{folder} is not empty and not an export", "name a new folder; what is in there is not overwritten"
        )
    write_manifest(folder, Manifest())
    return Manifest()


def _read(path: str) -> bytes:
    with open(os.open(path, READ | getattr(os, "O_NOFOLLOW", 0)), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise IndexProblem(f"{path} is not a regular file", HINT)
        content = file.read(MAX_BYTES + 1)
    if len(content) > MAX_BYTES:
        raise IndexProblem(f"{path} is longer than {MAX_BYTES} bytes", HINT)
    return content


def _decoded(values: dict[str, Any]) -> Manifest:
    if values.pop("watersmeet_export") != FORMAT:
        raise ValueError("it has another format; use the version of watersmeet that made it")
    manifest = Manifest(**values)
    texts = (manifest.content, manifest.watersmeet, manifest.python, manifest.platform, manifest.made)
    if not all(isinstance(text, str) and len(text) < 200 for text in texts):
        raise ValueError("a text is missing")
    if manifest.content and not CONTENT.fullmatch(manifest.content):
        raise ValueError("it names a folder that is not its own")
    if not isinstance(manifest.tiers, dict) or not all(
        isinstance(n, int) for n in (manifest.documents, manifest.chunks)
    ):
        raise ValueError("a value has the wrong type")
    return manifest
