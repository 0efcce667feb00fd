"""The API of a Python module: signatures and docstrings, without the code of its functions.

For modules of packages, where people look for what there is and how to call it. The module is parsed, never run; this
happens in a child process, since a hostile file can crash Python's own parser.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator
from itertools import islice
from typing import ClassVar

from watersmeet.core.documents import Block, Document, Section
from watersmeet.core.indexing import Found, ParserOptions, Skipped
from watersmeet.core.lazy_dataclass import dataclass
from watersmeet.core.model import DocId
from watersmeet.core.place import Place
from watersmeet.parse._decode import decode

MAX_SIGNATURE = 600
MAX_VALUE = 60
"""Characters of the value of a constant; a longer one is left out."""
MAX_NAMES = 200
"""Constants or attributes of one scope that are listed."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Scope = ast.Module | ast.ClassDef


@dataclass(frozen=True, slots=True)
class PythonApi(ParserOptions):
    """A parser of Python modules and stubs: one document a module, a section for each public function and class."""

    reads: ClassVar[tuple[str, ...]] = ("text/x-python-api",)
    isolated: ClassVar[bool] = True

    def parse(self, found: Found, content: bytes) -> Iterator[Document | Skipped]:
        text, problems, refusal = decode(content)
        if refusal:
            yield Skipped(found.uri, refusal)
            return
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of the module's own code
                tree = ast.parse(text)
        except (SyntaxError, ValueError) as problem:
            yield Skipped(found.uri, f"is not a Python module: {problem}"[:200])
            return
        module = _module_name(found.name)
        sections = list(_scope(tree, (), module))
        if not any(section.blocks for section in sections):
            return  # nothing in it is documented or public
        yield Document(
            id=DocId(found.name),
            kind="api",
            title=module,
            path=found.uri,
            sections=tuple(sections),
            fields={"language": "python"},
            warnings=problems,
        )


def _module_name(path: str) -> str:
    stem = path.rpartition(".")[0]
    return stem.removesuffix("/__init__").replace("/", ".") or path


def _scope(node: _Scope, headings: tuple[str, ...], name: str) -> Iterator[Section]:
    """The section of a module or class, and those of what is defined in it."""
    line = getattr(node, "lineno", 1)
    head = [Block(f"```python\n{_class(node)}\n```", Place((line, line)))] if isinstance(node, ast.ClassDef) else []
    listed = "\n".join(islice(_attributes(node), MAX_NAMES))
    tail = [Block(f"```python\n{listed}\n```")] if listed else []  # without lines: they may be anywhere in the scope
    level = len(headings) + 1
    own = (*headings, name) if headings or isinstance(node, ast.ClassDef) else (name,)
    yield Section(own, level, Place((line, line)), (*head, *_docstring(node), *tail))
    for one in _definitions(node.body):
        if not _is_public(one.name):
            continue
        if isinstance(one, ast.ClassDef):
            yield from _scope(one, own, one.name)
        else:
            place = Place((one.lineno, one.lineno))
            signature = Block(f"```python\n{_signature(one)}\n```", place)
            title = f"{name}.{one.name}" if isinstance(node, ast.ClassDef) else one.name
            yield Section((*own, title), level + 1, place, (signature, *_docstring(one)))


def _definitions(body: list[ast.stmt]) -> Iterator[ast.ClassDef | _Function]:
    """Definitions of a scope, also those under a condition, such as a version of Python."""
    for one in body:
        if isinstance(one, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield one
        elif isinstance(one, ast.If):
            yield from _definitions([*one.body, *one.orelse])
        elif isinstance(one, ast.Try):
            yield from _definitions(one.body)


def _is_public(name: str) -> bool:
    return not name.startswith("_") or name in ("__init__", "__call__", "__new__", "__enter__", "__getitem__")


def _class(node: ast.ClassDef) -> str:
    bases = [ast.unparse(one) for one in (*node.bases, *(keyword.value for keyword in node.keywords))]
    return f"{_decorators(node)}class {node.name}" + (f"({', '.join(bases)})" if bases else "")


def _signature(node: _Function) -> str:
    prefix = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    returns = f" -> {ast.unparse(node.returns)}" if node.returns else ""
    return _shorten(f"{_decorators(node)}{prefix} {node.name}({ast.unparse(node.args)}){returns}", MAX_SIGNATURE)


def _decorators(node: ast.ClassDef | _Function) -> str:
    return "".join(f"@{_shorten(ast.unparse(one), MAX_VALUE)}\n" for one in node.decorator_list)


def _shorten(text: str, most: int) -> str:
    return text if len(text) <= most else f"{text[:most]} ..."


def _attributes(node: _Scope) -> Iterator[str]:
    """Public constants of a module and attributes of a class, with types and short values."""
    for one in node.body:
        if isinstance(one, ast.AnnAssign) and isinstance(one.target, ast.Name):
            name, text = one.target.id, f"{one.target.id}: {_shorten(ast.unparse(one.annotation), MAX_SIGNATURE)}"
        elif isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name):
            name = text = one.targets[0].id
        else:
            continue
        value = ast.unparse(one.value) if one.value is not None else ""
        if _is_public(name):
            yield f"{text} = {value}" if 0 < len(value) <= MAX_VALUE else text


def _docstring(node: _Scope | _Function) -> Iterator[Block]:
    """The paragraphs of a docstring."""
    text = ast.get_docstring(node)
    if not text:
        return
    start, end = node.body[0].lineno, node.body[0].end_lineno or node.body[0].lineno
    for paragraph in text.split("\n\n"):
        if paragraph.strip():
            yield Block(paragraph.strip("\n"), Place((start, end)))
