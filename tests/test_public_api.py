"""The public names of Python: the four ways to ask have the same methods, and their types can be relied on."""

from __future__ import annotations

import ast
import importlib
import inspect
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, get_type_hints

import pytest

import watersmeet
from watersmeet import AsyncClient, AsyncEngine, Client, Engine
from watersmeet.client.async_client import AsyncClientRegistry
from watersmeet.client.registry import ClientRegistry
from watersmeet.core.errors import WatersmeetError
from watersmeet.engine.async_engine import AsyncRegistry
from watersmeet.engine.registry import Registry

SOURCE = Path(watersmeet.__file__)
INNER = {
    "snapshot",
    "visible_index",
    "note_search",
    "open_search",
    "trial",
    "settings_for",
    "text_bytes",
    "calibration",
    "read",
    "original",
}
"""Of `Engine`, for the faces and for evaluation; `AsyncEngine.engine` has them."""
NOT_SERVED = {
    *("deepen", "relocate", "compact", "collections", "set_audience"),
    *("unknown_fields", "releases", "passages", "link_texts", "doctor"),
}
"""Of `Engine`, where no REST route is."""
NOT_SENT = {
    *("viewer", "exactly", "embeds", "chat", "shown"),
    *("collection", "meta", "audience", "recreate", "deepen", "vectors", "seconds", "max_pages", "public_only"),
}
"""Parameters that no client has: the token says who asks, and the rest is for where the index is."""

HEAVY = ("numpy", "tantivy", "onnxruntime", "simsimd", "tokenizers", "fastapi", "pydantic", "mcp", "click", "rich")


def methods(cls: type[Any]) -> dict[str, Callable[..., Any]]:
    found = inspect.getmembers(cls, lambda value: inspect.isfunction(value))
    return {name: method for name, method in found if not name.startswith("_")}


def parameters(method: Callable[..., Any]) -> list[tuple[str, Any, Any]]:
    found = list(inspect.signature(method).parameters.values())[1:]
    return [(one.name, one.kind, one.default) for one in found]


def names_of(module: str) -> Mapping[str, Any]:
    """All names of a module, also those that only the type checker imports."""
    found: dict[str, Any] = {}
    body = ast.parse(Path(sys.modules[module].__file__ or "").read_text("utf8")).body
    for node in [*body, *(inner for one in body if isinstance(one, ast.If) for inner in one.body)]:
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("watersmeet"):
            made = importlib.import_module(node.module or "")
            found |= {one.asname or one.name: getattr(made, one.name) for one in node.names}
    return found


def returned(method: Callable[..., Any]) -> Any:
    inner = inspect.unwrap(method)
    return get_type_hints(inner, localns={**names_of(inner.__module__)}).get("return")


def test_every_public_name_is_there_and_listed_once() -> None:
    assert sorted(watersmeet.__all__) == sorted({*watersmeet.__all__})
    for name in watersmeet.__all__:
        assert getattr(watersmeet, name) is not None
    tree = ast.parse(SOURCE.read_text("utf8"))
    typed = {
        one.asname or one.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("watersmeet.")
        for one in node.names
    }
    assert {*typed, "__version__"} == {*watersmeet.__all__}
    assert {*watersmeet._MODULES} <= typed
    with pytest.raises(AttributeError, match="no attribute 'Motor'"):
        _ = watersmeet.Motor  # type: ignore[attr-defined]


@pytest.mark.parametrize(("blocking", "asynchronous"), [(Engine, AsyncEngine), (Registry, AsyncRegistry)])
def test_the_async_engine_has_the_methods_of_the_engine(blocking: type[Any], asynchronous: type[Any]) -> None:
    _are_coroutines_of(methods(blocking), methods(asynchronous), INNER)


@pytest.mark.parametrize(("blocking", "asynchronous"), [(Client, AsyncClient), (ClientRegistry, AsyncClientRegistry)])
def test_the_async_client_has_the_methods_of_the_client(blocking: type[Any], asynchronous: type[Any]) -> None:
    _are_coroutines_of(methods(blocking), methods(asynchronous), set())


def _are_coroutines_of(
    expected: Mapping[str, Callable[..., Any]], found: Mapping[str, Callable[..., Any]], without: set[str]
) -> None:
    assert {*found} - {"ask_stream"} == {*expected} - without
    for name in {*found} - {"ask_stream"}:
        assert inspect.iscoroutinefunction(found[name]), name
        assert parameters(found[name]) == parameters(expected[name]), name
        assert returned(found[name]) == returned(expected[name]), name
    if "ask_stream" in found:
        streamed = [one for one in parameters(expected["ask"]) if one[0] != "on_text"]
        assert parameters(found["ask_stream"]) == streamed


@pytest.mark.parametrize(
    ("engine", "client", "without"),
    [(Engine, Client, INNER | NOT_SERVED), (Registry, ClientRegistry, {"put", "spelled", "pull"})],
)
def test_the_client_has_the_methods_of_the_engine(engine: type[Any], client: type[Any], without: set[str]) -> None:
    expected, found = methods(engine), methods(client)
    assert {*found} == {*expected} - without
    for name in {*found} - {"register"}:  # of records only
        assert parameters(found[name]) == [one for one in parameters(expected[name]) if one[0] not in NOT_SENT], name
        assert returned(found[name]) == returned(expected[name]), name


def test_every_public_method_says_what_it_does() -> None:
    for name in watersmeet.__all__:
        value = getattr(watersmeet, name)
        if inspect.isclass(value) and not issubclass(value, WatersmeetError):
            assert not (value.__doc__ or f"{name}(").startswith(f"{name}("), name  # what a dataclass says by itself
            for method_name, method in methods(value).items():
                assert (method.__doc__ or "").strip() or method_name == "to_json", f"{name}.{method_name}"


def test_a_client_loads_neither_the_index_nor_a_server() -> None:
    code = (
        "import sys, watersmeet; before = len(sys.modules)\n"
        "watersmeet.Client().search\n"
        "from watersmeet.client.requests import search_body; search_body('keys', {'filters': {'tag': 'x'}})\n"
        f"print(before, sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    before, loaded = done.stdout.split(" ", 1)
    assert loaded.strip() == "[]"
    assert int(before) < 120  # `import watersmeet` by itself


PROGRAM = """
import asyncio
from collections.abc import Callable

import watersmeet as wm
from watersmeet import AnswerText, AsyncClient, AsyncEngine, Client, Engine, NotFound, Request, Result


def titles(place: Engine | Client, query: str) -> list[str]:
    results: tuple[Result, ...] = place.search(Request(query, top_n=3)).results
    return [result.title for result in results if result.lines is None or result.lines[0] > 0]


def text(place: Engine | Client) -> str:
    answer: AnswerText = place.ask("how?", on_text=print, filters={"tag": "setup"})
    return answer.answer + "".join(one.quote for one in answer.citations)


def found(place: Engine | Client) -> bool:
    try:
        return bool(place.get("a.md")["text"])
    except NotFound as error:
        print(error, error.hint)
        return False


async def ask(place: AsyncEngine | AsyncClient) -> int:
    confidence: float | None = (await place.search("keys", top_n=3)).confidence
    tools = [tool.tool_name for tool in (await place.registry.find_tools("send a letter", top_n=2)).tools]
    async with place.ask_stream("how?") as stream:
        async for part in stream:
            print(part.upper())
        answer = await stream.answer()
    return len(tools) + len(answer.citations) + int(confidence or 0)


async def main() -> None:
    async with AsyncEngine("index") as engine, AsyncClient(token="t", timeout=3) as client:
        await engine.sync(["notes"], progress=lambda step: print(step.done, step.total))
        await asyncio.gather(ask(engine), ask(client))
    report: wm.SyncReport = Engine("index").sync(["notes"])
    print(report.added)
"""
MISTAKES = {
    "Engine('i').search()": "Missing positional argument",
    "Engine('i').search('x').result": "has no attribute",
    "Client('u').get('x', exactly=True)": "Unexpected keyword",
    "Client(token=3)": "incompatible type",
    "asyncio.run(AsyncEngine('i').gett('x'))": "has no attribute",
    "asyncio.run(AsyncEngine('i').get(3))": "incompatible type",
    "asyncio.run(AsyncClient('u').get('x')).upper()": "has no attribute",
    "asyncio.run(AsyncClient('u').registry.tags(1))": "Too many arguments",
    "Client('u').ask('x').citations[0].quotes": "has no attribute",
}


@pytest.mark.slow
def test_a_program_of_a_user_is_type_checked(tmp_path: Path) -> None:
    """By mypy in its strict mode: it finds nothing in a right program, and each mistake in a wrong one."""
    pytest.importorskip("mypy", reason="NOT RUN: mypy is not installed (extra `dev`)")
    lines = PROGRAM.splitlines()
    wrong = {len(lines) + number: message for number, message in enumerate(MISTAKES.values(), 1)}
    (tmp_path / "program.py").write_text("\n".join([*lines, *MISTAKES, ""]), "utf8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--hide-error-context", "program.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    found = {int(line.split(":")[1]): line for line in done.stdout.splitlines() if ": error:" in line}
    assert {*found} == {*wrong}, done.stdout + done.stderr
    for number, message in wrong.items():
        assert message in found[number]
