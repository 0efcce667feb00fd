"""docs/reference/python.md: the public names with their signatures, docstrings and fields."""

from __future__ import annotations

import ast
import inspect
import io
import re
import textwrap
import tokenize
from collections.abc import Callable, Iterator
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

import watersmeet
from watersmeet import AsyncClient, AsyncEngine, Client, Engine, Indexes
from watersmeet.client.registry import ClientRegistry
from watersmeet.core import errors
from watersmeet.core.options import REQUIRED
from watersmeet.engine.async_engine import AsyncRegistry
from watersmeet.engine.registry import Registry

WIDTH = 100
VALUES = (
    "Request",
    "EntityRequest",
    "ToolRequest",
    "Answer",
    "Result",
    "AnswerText",
    "CitedPassage",
    "Turn",
    "SyncReport",
)
"""Data classes, in the order of the page."""
INTRODUCTION = """\
# Python API

Written from the code by `scripts/reference.py`. [How to use it](../how-to/python.md) has examples. Everything here is
imported from `watersmeet`; words are explained in the [glossary](../glossary.md).

| | blocking | for asyncio |
|---|---|---|
| an index on this machine | [Engine](#engine) | [AsyncEngine](#asyncengine) |
| a `watersmeet serve` | [Client](#client) | [AsyncClient](#asyncclient) |
"""
_TREE = re.compile(r" *[*+x-] (\w+) +(.+)")


def page() -> str:
    parts = [INTRODUCTION]
    parts += _class("Engine", Engine, _users(Engine, AsyncEngine), ("calibration",))
    parts += _class("Engine.registry", Registry, _users(Registry, AsyncRegistry))
    parts += _class("Indexes", Indexes, _methods(Indexes))
    parts += _coroutines("AsyncEngine", AsyncEngine, "Engine")
    parts += _class("Client", Client, _methods(Client), ("url",))
    parts += _class("Client.registry", ClientRegistry, _methods(ClientRegistry))
    parts += _coroutines("AsyncClient", AsyncClient, "Client")
    parts += _class("AnswerStream", watersmeet.AnswerStream, _methods(watersmeet.AnswerStream))
    for name in VALUES:
        parts += [f"## {name}\n", f"{_doc(name, getattr(watersmeet, name))}\n", _table(getattr(watersmeet, name))]
    parts += _errors()
    written = "\n".join(parts).rstrip() + "\n"
    for name in watersmeet.__all__:
        if f"## {name}\n" not in written and f"`{name}`" not in written and name != "__version__":
            raise SystemExit(f"scripts/_reference_python.py does not write {name}")
    return written


def _methods(cls: type[Any]) -> dict[str, Callable[..., Any]]:
    """Public methods in the order of the class."""
    return {name: value for name, value in vars(cls).items() if inspect.isfunction(value) and not name.startswith("_")}


def _users(cls: type[Any], coroutines: type[Any]) -> dict[str, Callable[..., Any]]:
    """Methods for users: those that there are for asyncio too."""
    return {name: method for name, method in _methods(cls).items() if hasattr(coroutines, name)}


def _class(
    name: str, cls: type[Any], methods: dict[str, Callable[..., Any]], properties: tuple[str, ...] = ()
) -> Iterator[str]:
    yield f"## {name}\n"
    if "." not in name and "__init__" in vars(cls) and name != "AnswerStream":
        yield f"{_signature(name, cls.__init__, '')}\n"
    yield f"{_doc(name, cls)}\n"
    for attribute in properties:
        yield f"### {name}.{attribute}\n\n{_attribute(cls, attribute)}\n"
    for method_name, method in methods.items():
        yield _method(name, method_name, method)


def _coroutines(name: str, cls: type[Any], blocking: str) -> Iterator[str]:
    """A class whose methods are those of a blocking one: they are only listed."""
    yield f"## {name}\n\n{_signature(name, cls.__init__, '')}\n\n{_doc(name, cls)}\n"
    own = {method: value for method, value in _methods(cls).items() if not hasattr(value, "__wrapped__")}
    same = [method for method in _methods(cls) if method not in own]
    listed = ", ".join(f"[{method}](#{blocking.lower()}{method})" for method in same)
    below = blocking.lower()
    yield (
        f"Coroutines with the parameters and results of those of [{blocking}](#{below}): {listed}. Its `registry` has "
        f"those of [{blocking}.registry](#{below}registry).\n"
    )
    for method, value in own.items():
        yield _method(name, method, value)


def _method(owner: str, name: str, method: Callable[..., Any]) -> str:
    return f"### {owner}.{name}\n\n{_signature(name, method)}\n\n{_doc(f'{owner}.{name}', method)}\n"


def _signature(name: str, function: Callable[..., Any], result: str | None = None) -> str:
    """A block with the signature, one parameter a line if it is long."""
    signature = inspect.signature(function)
    parameters = [one for one in signature.parameters.values() if one.name != "self"]
    written = str(signature.replace(parameters=parameters, return_annotation=inspect.Signature.empty))
    written = re.sub(r"(?<=: )'([^']*)'", r"\1", written)  # annotations are texts
    returned = signature.return_annotation if result is None else result
    arrow = f" -> {returned}" if returned else ""
    begin = "async def " if inspect.iscoroutinefunction(function) else "def " if result is None else "class "
    line = f"{begin}{name}{written}{arrow}"
    if len(line) > WIDTH:
        line = f"{begin}{name}(\n{''.join(f'    {part},{chr(10)}' for part in _parts(written[1:-1]))}){arrow}"
    return f"```python\n{line}\n```"


def _parts(parameters: str) -> list[str]:
    """Parameters of a signature: divided at the commas that are in no brackets."""
    parts, depth = [""], 0
    for character in parameters:
        depth += (character in "([{") - (character in ")]}")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts]


def _doc(name: str, value: Any) -> str:
    written = inspect.cleandoc(value.__doc__ or "")
    if not written:
        raise SystemExit(f"{name} has no docstring")
    return "\n\n".join(
        textwrap.fill(" ".join(part.split()), 120, break_long_words=False, break_on_hyphens=False)
        for part in written.split("\n\n")
    )


def _attribute(cls: type[Any], name: str) -> str:
    """The docstring of a property, or the text below an attribute that `__init__` sets."""
    if name in vars(cls):
        found = vars(cls)[name]
        return _doc(f"{cls.__name__}.{name}", getattr(found, "func", None) or found.fget)
    body = ast.parse(textwrap.dedent(inspect.getsource(vars(cls)["__init__"]))).body[0]
    assert isinstance(body, ast.FunctionDef)
    for statement, after in zip(body.body, body.body[1:], strict=False):
        if isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == f"self.{name}":
            assert isinstance(after, ast.Expr)
            return str(ast.literal_eval(after.value))
    raise SystemExit(f"{cls.__name__}.{name} has no text below it")


# ---------------------------------------------------------------- fields


def _table(cls: type[Any]) -> str:
    notes = comments(cls)
    rows = ["| field | type | default | meaning |", "|---|---|---|---|"]
    for one in fields(cls):
        meaning = one.metadata.get("meaning") or notes.get(one.name, "")
        rows.append(f"| `{one.name}` | `{_cell(str(one.type))}` | {_default(one)} | {_cell(meaning)} |")
    return "\n".join(rows) + "\n"


def _default(one: Field[Any]) -> str:
    if one.default_factory is not MISSING:
        return f"`{one.default_factory()!r}`"
    if one.default is MISSING or one.default is REQUIRED:
        return "required"
    return f"`{type(one.default).__name__}()`" if is_dataclass(one.default) else f"`{_cell(repr(one.default))}`"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def comments(cls: type[Any]) -> dict[str, str]:
    """The comments beside the fields of a class, and of those that it inherits from."""
    found: dict[str, str] = {}
    for base in reversed(cls.__mro__):
        if not base.__module__.startswith("watersmeet."):
            continue
        source = textwrap.dedent(inspect.getsource(base))
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            field = re.match(r"    (\w+): ", token.line)
            if token.type == tokenize.COMMENT and field:
                found[field[1]] = token.string.lstrip("# ")
    return found


# ---------------------------------------------------------------- errors


def _errors() -> Iterator[str]:
    """The table of the module's own tree."""
    yield "## Errors\n"
    yield (
        "All are `WatersmeetError`: `str(error)` says what happened, `error.hint` what to do. Clients raise what the\n"
        "engine of their server raises; `NotAllowed` and `Unreachable` are of clients only.\n"
    )
    lines = map(_TREE.fullmatch, (errors.__doc__ or "").splitlines())
    meanings = {found[1]: found[2] for found in lines if found}
    yield "| error | is a | when |\n|---|---|---|"
    for name, meaning in meanings.items():
        if name in watersmeet.__all__:
            cls = getattr(errors, name)
            above = cls.__mro__[1].__name__
            when = "any of these" if name == "WatersmeetError" else meaning.partition(" (exit code")[0]
            yield f"| `{name}` | {f'`{above}`'} | {_cell(when)} |"
