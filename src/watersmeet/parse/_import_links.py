"""Imports of a source file as links: Python, JavaScript, TypeScript and Go."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from watersmeet.core.documents import Link
from watersmeet.core.imports import is_library

_FROM = re.compile(r"from[ \t]+(\.*[\w.]*)[ \t]+import\b")
_IMPORT = re.compile(r"import[ \t]+")
_IMPORTED = re.compile(r"[\w.]+")
_STRING = re.compile(r"""(?:\bfrom|\brequire[ \t]*\(|\bimport[ \t]*\(?)[ \t\n]*["']([^"'\n]{1,300})["']""")
_QUOTED = re.compile(r'"([^"\n]{1,300})"')
_MAX_NAMES = 100
SCRIPTS = frozenset({"javascript", "typescript", "tsx", "vue", "svelte"})


def import_links(language: str, statements: Iterable[str]) -> list[Link]:
    """Links for import statements, each target once."""
    if language == "python":
        targets = (target for statement in statements for target in _python(statement))
    elif language in SCRIPTS:
        targets = (match[1] for statement in statements for match in _STRING.finditer(statement))
    elif language == "go":
        targets = (match[1] for statement in statements for match in _QUOTED.finditer(statement))
    else:
        return []
    return [Link(target, "import") for target in dict.fromkeys(targets)]


def statements(language: str, lines: list[str]) -> Iterator[str]:
    """Import statements by their lines, without a grammar."""
    if language == "go":
        yield from _go_statements(lines)
        return
    rest = 0
    for row, line in enumerate(lines):
        start = line.strip()
        if rest:
            rest -= 1
        elif language == "python" and start.startswith(("import ", "from ")):
            end = row
            while "(" in start and ")" not in "".join(lines[row : end + 1]) and end < min(len(lines) - 1, row + 50):
                end += 1
            rest = end - row
            yield "\n".join(lines[row : end + 1]).strip()
        elif language in SCRIPTS and len(line) < 1_000 and _is_script_import(start):
            yield line


def _is_script_import(line: str) -> bool:
    """Whether a line may have an import: it begins with one, ends one of several lines, or calls for a module."""
    if line.startswith(("import", "export", "}")):
        return True
    return line.startswith(("const", "let", "var")) and ("require(" in line or "import(" in line)


def _go_statements(lines: list[str]) -> Iterator[str]:
    inside = False
    for line in lines:
        start = line.strip()
        if inside:
            inside = not start.startswith(")")
            if inside:
                yield start
        elif start.startswith("import ("):
            inside = True
        elif start.startswith("import "):
            yield start
        elif start.startswith(("func ", "type ")):
            return


def _python(statement: str) -> Iterator[str]:
    """Modules of a statement. What `from a import b` imports may be a module too: if not, no file has that key. A name
    with a capital is no module."""
    code = "\n".join(line.partition("#")[0] for line in statement.split("\n"))
    match = _FROM.match(code)
    if match:
        module = match[1]
        if is_library(module) and not module.startswith("."):
            return
        yield from _module(module)
        joint = "" if module.endswith(".") else "."
        for name in _names(code[match.end() :]):
            if not name[0].isupper():
                yield f"{module}{joint}{name}"
    elif match := _IMPORT.match(code):
        for name in _names(code[match.end() :]):
            if not is_library(name):
                yield from _module(name)


def _module(module: str) -> Iterator[str]:
    """A module; a single name may be that of a file in the same folder, if the folder is no package."""
    if module.strip("."):
        yield module
        if "." not in module:
            yield f".{module}"
    elif module == ".":
        return
    else:
        yield module


def _names(listed: str) -> list[str]:
    """Names of a list with `as`, brackets and line breaks."""
    parts = listed.replace("(", " ").replace(")", " ").replace("\\", " ").split(",", _MAX_NAMES)[:_MAX_NAMES]
    found = (_IMPORTED.match(part.strip()) for part in parts)
    return [match[0] for match in found if match]
