"""Size limits of files and functions, checked in CI.

Files under 600 lines, functions under 60, blind `except` only where a failure becomes a value or a sentence.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

FILE_LINES = 600
FUNCTION_LINES = 60
FOLDERS = ("src", "tests", "scripts", "benchmarks", "models")
BLIND_ALLOWED = {
    "src/watersmeet/engine/query/pipeline.py": "the fan-out",
    "src/watersmeet/engine/query/threads.py": "the fan-out: carried to whoever asks for the result",
    "src/watersmeet/face": "a face's boundary",
    "scripts/attack.py": "a probe that breaks is a row of its table",
}


def problems(path: Path, name: str) -> Iterator[str]:
    text = path.read_text("utf8")
    lines = text.count("\n")
    if lines >= FILE_LINES:
        yield f"{name}: {lines} lines, {FILE_LINES - 1} at most"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            if length >= FUNCTION_LINES:
                yield f"{name}:{node.lineno}: {node.name} has {length} lines, {FUNCTION_LINES - 1} at most"
        if isinstance(node, ast.ExceptHandler) and is_blind(node) and not name.startswith(tuple(BLIND_ALLOWED)):
            yield f"{name}:{node.lineno}: a blind except; name what can go wrong"


def is_blind(node: ast.ExceptHandler) -> bool:
    """`except:` and `except Exception:`, unless all it does is tidy up and raise again."""
    if any(isinstance(part, ast.Raise) and part.exc is None for part in ast.walk(node)):
        return False
    return node.type is None or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))


def main() -> int:
    root = Path(__file__).resolve().parent.parent
    found = [
        problem
        for folder in FOLDERS
        for path in sorted((root / folder).rglob("*.py"))
        for problem in problems(path, path.relative_to(root).as_posix())
    ]
    print("\n".join(found) or "sizes and excepts: all within bounds")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
