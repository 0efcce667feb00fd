"""Keys for the imports of source code, so that they resolve as links do.

An import is written by the rules of its language, and a parser sees one file only. So the names of a file are those by
which its language could import it, and a statement that may mean something else gets no key that a file has:

- Python: `a.b` is a path suffix of two parts or more; a single name only a file at the top, or in `src` or `lib`. The
  standard library has no key.
- JavaScript and TypeScript: relative paths only, without ending and `index`.
- Go: the last two parts of an import path are a folder; its file of the same name stands for it.
"""

from __future__ import annotations

import posixpath
import sys

_PYTHON = (".py", ".pyi")
_SCRIPT = (".js", ".jsx", ".mjs", ".cjs", ".ts", ".tsx", ".mts", ".cts", ".vue", ".svelte")
_GO = ".go"
_TOPS = frozenset({"src", "lib", "python"})
_MAX_PARTS = 40
_GO_LIBRARY = frozenset(
    "archive bufio builtin bytes cmp compress container context crypto database debug embed encoding errors expvar flag"
    " fmt go hash html image index internal io iter log maps math mime net os path plugin reflect regexp runtime slices"
    " sort strconv strings structs sync syscall testing text time unicode unique unsafe vendor weak C".split()
)
IMPORT = "import:"
"""Beginning of every key of an import; by itself the key of an import that no document has."""


def import_names(document: str) -> dict[str, int]:
    """Import keys of a source file with their ranks; none for other documents."""
    if document.endswith(_PYTHON):
        return _python_names(document)
    if document.endswith(_SCRIPT):
        path = _without(document, _SCRIPT)
        keys = {f"import:js//{path}": 0}
        if path.rpartition("/")[2] == "index":
            keys[f"import:js//{path.rpartition('/')[0]}"] = 1
        return keys
    if document.endswith(_GO) and not document.endswith("_test.go"):
        return _go_names(document)
    return {}


def import_key(document: str, target: str) -> str:
    """Key of an import in a document."""
    if document.endswith(_PYTHON):
        return _python_key(document, target)
    if document.endswith(_SCRIPT) and target.startswith("."):
        path = posixpath.normpath(posixpath.join("/", posixpath.dirname(document), target)).strip("/")
        return f"import:js//{_without(path, _SCRIPT)}"
    if document.endswith(_GO):
        parts = target.split("/")
        if len(parts) > 1 and parts[0] not in _GO_LIBRARY:
            return f"import:go/{'/'.join(parts[-2:])}"
    return IMPORT


def is_library(module: str) -> bool:
    """Whether a Python module is one of the standard library."""
    return module.partition(".")[0] in sys.stdlib_module_names


def _python_names(document: str) -> dict[str, int]:
    parts = _without(document, _PYTHON).split("/")
    if parts[-1] == "__init__":
        del parts[-1]
    keys = {f"import:py//{'/'.join(parts)}": 0}
    for start in range(max(0, len(parts) - _MAX_PARTS), len(parts)):
        if len(parts) - start > 1 or start == 0 or parts[start - 1] in _TOPS:
            keys.setdefault(f"import:py/{'/'.join(parts[start:])}", start)
    return keys


def _python_key(document: str, target: str) -> str:
    if not target.startswith("."):
        return IMPORT if is_library(target) else f"import:py/{target.replace('.', '/')}"
    name = target.lstrip(".")
    folder = [part for part in posixpath.dirname(document).split("/") if part]
    above = len(target) - len(name) - 1
    if above > len(folder):
        return IMPORT
    parts = [*folder[: len(folder) - above], *name.split(".")]
    path = "/".join(part for part in parts if part)
    return f"import:py//{path}" if path else IMPORT


def _go_names(document: str) -> dict[str, int]:
    """Keys of the folder of a Go file; the file that is called like its folder ranks first."""
    folder, _, name = document.rpartition("/")
    parts = folder.split("/")
    if len(parts) < 2:
        return {}
    return {f"import:go/{'/'.join(parts[-2:])}": 0 if _without(name, (_GO,)) == parts[-1] else 1}


def _without(path: str, endings: tuple[str, ...]) -> str:
    for ending in sorted(endings, key=len, reverse=True):
        if path.endswith(ending):
            return path.removesuffix(ending)
    return path
