"""docs/reference/rest.md: routes, parameters, bodies, answers and an example of each, from the OpenAPI document."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote, urlencode

from _reference_python import comments
from fastapi import FastAPI

from watersmeet import Engine
from watersmeet.core import model
from watersmeet.engine.ask import model as ask_model
from watersmeet.engine.query import classification, why_not
from watersmeet.face import shapes as shapes_module
from watersmeet.face.rest import problems
from watersmeet.face.rest.app import make
from watersmeet.face.service import Service
from watersmeet.present import pack
from watersmeet.present import registry as registry_answers

ADDRESS = "http://127.0.0.1:7878"
SHAPES = "#/components/schemas/"
JSON = "application/json"
SCALARS = {"string", "boolean", "integer", "number"}
CLASSES: dict[str, type[Any]] = {
    **{
        name: cls
        for module in (model, ask_model, registry_answers, pack, classification, why_not, shapes_module)
        for name, cls in vars(module).items()
        if isinstance(cls, type) and cls.__module__ == module.__name__
    },
    "SearchAnswer": model.Answer,
}
"""Classes by the names of their shapes; comments beside their fields say what those mean."""
COMMON = {"400", "401", "403", "413", "415", "422", "429", "503"}
"""Errors of every route."""
INTRODUCTION = f"""\
# REST API

Written from the code by `scripts/reference.py`; a server has the same as `/openapi.json`. `watersmeet serve` starts
one at `{ADDRESS}` ([how to](../how-to/serve.md)). Where other machines can reach it, each request needs a
token: `-H 'Authorization: Bearer TOKEN'`. Routes that change something need `--allow-write`, and a token with the scope
`write`. In Python, [Client](python.md#client) calls these routes.
"""


def openapi() -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder, Engine(Path(folder) / "index") as engine:
        app = cast(FastAPI, make(Service(engine), "127.0.0.1")._app)
        return app.openapi()


def page() -> str:
    spec = openapi()
    shapes: dict[str, Any] = spec["components"]["schemas"]
    separate = _separate(spec, shapes)
    parts = [INTRODUCTION, *_contents(spec), *_problems(shapes)]
    for path, operations in spec["paths"].items():
        for method, operation in operations.items():
            parts += _route(method.upper(), path, operation, shapes, separate)
    parts.append("## Shapes\n\nObjects inside of bodies and answers.\n")
    for name in sorted(separate):
        parts += [f"### {name}\n", *_described(shapes[name]), _answer_table(shapes[name])]
    return "\n".join(parts).rstrip() + "\n"


def _contents(spec: Mapping[str, Any]) -> Iterator[str]:
    yield "| route | |\n|---|---|"
    for path, operations in spec["paths"].items():
        for method, operation in operations.items():
            title = f"{method.upper()} {path}"
            yield f"| [{title}](#{_anchor(title)}) | {operation['summary']} |"
    yield ""


def _anchor(title: str) -> str:
    """The anchor that Markdown gives to a heading."""
    kept = "".join(one for one in title.lower() if one.isalnum() or one in " -_")
    return kept.replace(" ", "-")


def _problems(shapes: Mapping[str, Any]) -> Iterator[str]:
    yield "## Errors\n\nAn error has the type `application/problem+json`, and says what to do.\n"
    yield _answer_table(shapes["Problem"])
    yield "| status | |\n|---|---|"
    yield from (f"| {status} | {title} |" for status, title in problems.TITLES.items())
    yield ""


def _route(
    method: str, path: str, operation: Mapping[str, Any], shapes: Mapping[str, Any], separate: set[str]
) -> Iterator[str]:
    yield f"## {method} {path}\n\n{operation['summary']}.\n"
    yield from _described(operation)
    yield f"```sh\n{example(method, path, operation, shapes)}\n```\n"
    parameters = operation.get("parameters", ())
    if parameters:
        yield "| parameter | in | type | default | meaning |\n|---|---|---|---|---|"
        for one in parameters:
            schema = one["schema"]
            meaning = one.get("description", "")
            row = (f"`{one['name']}`", one["in"], _type(schema), _default(one, schema), _cell(meaning))
            yield f"| {' | '.join(row)} |"
        yield ""
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"][JSON]["schema"]
        yield "**Body**\n"
        yield (
            _table(_resolved(schema, shapes))
            if "$ref" in schema
            else f"{_type(schema)}. {schema.get('description', '')}\n"
        )
    yield from _answer(operation["responses"], shapes, separate)


def _answer(responses: Mapping[str, Any], shapes: Mapping[str, Any], separate: set[str]) -> Iterator[str]:
    content = responses["200"].get("content", {})
    streamed = ", or `text/event-stream`" if "text/event-stream" in content else ""
    schema = content.get(JSON, {}).get("schema", {})
    if "$ref" in schema and _name(schema) in separate:
        yield f"**Answer**: {_type(schema)}\n"
    elif "$ref" in schema:
        yield f"**Answer**: `{JSON}`{streamed}\n"
        yield _answer_table(_resolved(schema, shapes))
    else:
        yield f"**Answer**: `{next(iter(content), JSON)}`\n"
    for status in sorted({*responses} - {"200"}):
        if status.startswith("2"):
            shape = _type(responses[status]["content"][JSON]["schema"])
            yield f"With status {status}: {shape}. {responses[status]['description']}.\n"
    more = sorted(status for status in {*responses} - COMMON if status.startswith(("4", "5")))
    if more:
        yield (
            "Errors besides the [usual](#errors): "
            + ", ".join(f"{status} ({responses[status]['description'].lower()})" for status in more)
            + ".\n"
        )


def example(method: str, path: str, operation: Mapping[str, Any], shapes: Mapping[str, Any]) -> str:
    """A command for the route, with the examples of its own description."""
    asked: dict[str, Any] = {}
    for one in operation.get("parameters", ()):
        if one["in"] == "path":
            path = path.replace(f"{{{one['name']}}}", quote(str(_example(one, one["schema"]))))
        elif one.get("required"):
            asked[one["name"]] = _example(one, one["schema"])
    words = ["curl", "-s", *(["-X", method] if method not in ("GET", "POST") else [])]
    words.append(f"{ADDRESS}{path}" + (f"?{urlencode(asked)}" if asked else ""))
    if "requestBody" in operation:
        schema = operation["requestBody"]["content"][JSON]["schema"]
        body = _example(schema, _resolved(schema, shapes))
        words += ["-H", f"Content-Type: {JSON}", "-d", json.dumps(body, ensure_ascii=False)]
    return " ".join(map(shlex.quote, words))


def _example(*places: Mapping[str, Any]) -> Any:
    for place in places:
        if place.get("examples"):
            return place["examples"][0]
        if "example" in place:
            return place["example"]
    raise SystemExit(f"no example: {json.dumps(places[0])[:200]}")


# ---------------------------------------------------------------- schemas


def _resolved(schema: Mapping[str, Any], shapes: Mapping[str, Any]) -> Mapping[str, Any]:
    return cast(Mapping[str, Any], shapes[_name(schema)]) if "$ref" in schema else schema


def _name(schema: Mapping[str, Any]) -> str:
    return str(schema["$ref"]).removeprefix(SHAPES)


def _separate(spec: Mapping[str, Any], shapes: Mapping[str, Any]) -> set[str]:
    """Names of shapes with a section of their own: parts of others, and answers of several routes."""
    operations = [operation for path in spec["paths"].values() for operation in path.values()]
    responses = [one for operation in operations for status, one in operation["responses"].items() if status < "3"]
    contents = [one.get("content", {}).get(JSON, {}).get("schema", {}) for one in responses]
    answers = Counter(_name(schema) for schema in contents if "$ref" in schema)
    parts = {_name(found) for shape in shapes.values() for found in _references(shape.get("properties", {}))}
    return parts | {name for name, count in answers.items() if count > 1}


def _references(value: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(value, Mapping):
        if "$ref" in value:
            yield value
        for part in value.values():
            yield from _references(part)
    elif isinstance(value, list):
        for part in value:
            yield from _references(part)


def _described(value: Mapping[str, Any]) -> Iterator[str]:
    if text := value.get("description", "").strip():
        yield f"{text}\n"


def _table(schema: Mapping[str, Any]) -> str:
    """The fields of a body."""
    rows = ["| field | type | default | meaning |", "|---|---|---|---|"]
    for name, one in schema.get("properties", {}).items():
        default = _default({"required": name in schema.get("required", ())}, one)
        rows.append(f"| `{name}` | {_type(one)} | {default} | {_meaning(schema, name)} |")
    return "\n".join(rows) + "\n"


def _answer_table(schema: Mapping[str, Any]) -> str:
    rows = ["| field | type | meaning |", "|---|---|---|"]
    rows += [f"| `{name}` | {_type(one)} | {_meaning(schema, name)} |" for name, one in schema["properties"].items()]
    return "\n".join(rows) + "\n"


def _meaning(schema: Mapping[str, Any], name: str) -> str:
    """The description of a field, or the comment beside it in its class."""
    described = schema["properties"][name].get("description")
    if described:
        return _cell(described)
    cls = CLASSES.get(schema.get("title", ""))
    return _cell(comments(cls).get(name, "")) if cls else ""


def _default(place: Mapping[str, Any], schema: Mapping[str, Any]) -> str:
    if place.get("required"):
        return "required"
    return f"`{_cell(json.dumps(schema['default'], ensure_ascii=False))}`" if "default" in schema else ""


def _type(schema: Mapping[str, Any]) -> str:
    """A type in words, with links to shapes."""
    if "$ref" in schema:
        name = _name(schema)
        return f"[{name}](#{name.lower()})"
    if "enum" in schema:
        return ", ".join(f"`{json.dumps(one)}`" for one in schema["enum"] if one != "")
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "anyOf" in schema:
        kinds = list(dict.fromkeys(_type(one) for one in schema["anyOf"]))
        if set(kinds) >= SCALARS:
            kinds = ["value", *(kind for kind in kinds if kind not in SCALARS)]
        return " or ".join(kinds)
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if schema.get("type") == "object" and isinstance(schema.get("additionalProperties"), Mapping):
        return f"object of {_type(schema['additionalProperties'])}"
    return f"{schema.get('type', 'any')}{_range(schema)}"


def _range(schema: Mapping[str, Any]) -> str:
    low, high = schema.get("minimum"), schema.get("maximum")
    if low is not None and high is not None:
        return f" {low:g} to {high:,.12g}"
    return f" from {low:g}" if low is not None else ""


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")
