"""OpenAPI 2 and 3 as text: a section for each operation and for each schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from watersmeet.core.documents import Section
from watersmeet.parse._json_schema import SchemaWriter, is_true, one_line, prose, reference_name, type_of
from watersmeet.parse._key_lines import FIRST_LINE, KeyLines, section
from watersmeet.parse._outline import outline

_METHODS = ("get", "put", "post", "delete", "options", "head", "patch", "trace", "query")
_MAX_TAGS = 200


def is_openapi(value: Any) -> bool:
    """Whether a value describes an API: it has a version of OpenAPI or Swagger, and paths or components."""
    if not isinstance(value, dict) or not ("openapi" in value or "swagger" in value):
        return False
    return any(isinstance(value.get(key), dict) for key in ("paths", "components", "definitions", "webhooks"))


def openapi(
    value: dict[str, Any], most: int, lines: KeyLines
) -> tuple[str, list[Section], dict[str, Any], list[str], list[str]]:
    """Title, sections, fields, tags and warnings of an API description."""
    info = _object(value, "info")
    writer = _Writer(value, most, lines)
    sections = [*_about(value, info)]
    for key in value:  # in the order of the file
        lines.restart()
        lines.key(key)
        if key in ("paths", "webhooks"):
            sections += writer.operations(key)
        elif key in ("components", "definitions"):
            parts = _object(value, key)
            if key == "components":
                lines.key("schemas")
                parts = _object(parts, "schemas")
            sections += writer.schemas.sections(parts)
    fields = {name: one_line(info.get(name)) for name in ("version", "description") if one_line(info.get(name))}
    return one_line(info.get("title")), sections, fields, writer.tags, writer.schemas.warnings()


def _about(value: dict[str, Any], info: dict[str, Any]) -> Iterator[Section]:
    """What the whole API is: its description, which is Markdown, and its addresses."""
    servers = value.get("servers")
    urls = [one_line(one.get("url")) for one in servers if isinstance(one, dict)] if isinstance(servers, list) else []
    if isinstance(value.get("host"), str):
        urls.append(one_line(value["host"]) + one_line(value.get("basePath")))
    facts = [f"Version: {one_line(str(info['version']))}"] if info.get("version") else []
    facts += [f"Servers: {', '.join(filter(None, urls[:50]))}"] if any(urls) else []
    described = prose(info.get("description"))
    texts = [prose(info.get("summary")), "\n".join(facts)]
    parts = list(outline(described).sections) if described else []
    if parts and not parts[0].level:
        texts += (block.text for block in parts.pop(0).blocks)
    if any(texts):
        yield section((), 0, FIRST_LINE, texts)
    for part in parts:
        yield section(part.headings, part.level, FIRST_LINE, (block.text for block in part.blocks))


class _Writer:
    def __init__(self, value: dict[str, Any], most: int, lines: KeyLines) -> None:
        self.value = value
        self.schemas = SchemaWriter(most, lines)
        self.lines = lines
        self.tags: list[str] = []

    def operations(self, key: str) -> Iterator[Section]:
        """A section for each method of each path."""
        for path, item in _object(self.value, key).items():
            if not isinstance(item, dict):
                continue
            shared = item.get("parameters")
            shared = shared if isinstance(shared, list) else []
            at = self.lines.key(str(path))
            for method, operation in item.items():
                if method not in _METHODS or not isinstance(operation, dict):
                    continue
                if self.schemas.left <= 0:
                    return
                self.schemas.left -= 1
                heading = one_line(f"{method.upper()} {path}")
                place = self.lines.key(method)
                yield section((heading,), 1, place if place.lines else at, self._texts(operation, shared))

    def _texts(self, operation: dict[str, Any], shared: list[Any]) -> Iterator[str]:
        tags = operation.get("tags")
        names = [one_line(tag) for tag in tags if isinstance(tag, str)] if isinstance(tags, list) else []
        if len(self.tags) < _MAX_TAGS:
            self.tags += ["-".join(name.split()) for name in names if name]
        facts = [
            one_line(operation.get("summary")),
            f"operationId: {one_line(operation.get('operationId'))}" if operation.get("operationId") else "",
            f"Tags: {', '.join(names)}" if names else "",
            "Deprecated." if is_true(operation.get("deprecated")) else "",
        ]
        described = prose(operation.get("description"))
        own = operation.get("parameters")
        parameters = [*shared, *(own if isinstance(own, list) else [])]
        yield "\n".join(filter(None, facts))
        yield described if described != facts[0] else ""
        yield "\n".join(self._parameters(parameters))
        yield "\n".join(self._body(self._resolved(operation.get("requestBody"))))
        yield "\n".join(self._responses(operation.get("responses")))

    def _resolved(self, part: Any) -> dict[str, Any]:
        """A parameter, body or response, or what its reference in the same file names."""
        for _ in range(5):
            reference = part.get("$ref") if isinstance(part, dict) else None
            if not isinstance(reference, str):
                break
            target: Any = self.value
            for step in reference.removeprefix("#/").split("/")[:20] if reference.startswith("#/") else ():
                target = target.get(step.replace("~1", "/").replace("~0", "~")) if isinstance(target, dict) else None
            if not isinstance(target, dict) or target is self.value:
                break
            part = target
        return part if isinstance(part, dict) else {}

    def _parameters(self, parameters: list[Any]) -> Iterator[str]:
        body: list[str] = []
        first = True
        for written in parameters:
            if self.schemas.left <= 0:
                return
            self.schemas.left -= 1
            part = self._resolved(written)
            if part.get("in") == "body":
                body += self._schema("Request body", part.get("schema"), part.get("description"))
                continue
            name = one_line(part.get("name")) or reference_name(str(part.get("$ref", "")))
            schema: dict[str, Any] = dict(_object(part, "schema"))
            schema |= {key: part[key] for key in ("type", "enum", "items") if key in part}
            schema["description"] = part.get("description")
            if first:
                yield "Parameters:"
                first = False
            yield self.schemas.line(name, schema, is_true(part.get("required")), one_line(part.get("in")))
        yield from body

    def _body(self, body: dict[str, Any]) -> Iterator[str]:
        """The request body: its media types and its schema, which is the same for most of them."""
        if body:
            yield from self._content("Request body", body, body.get("description"))

    def _responses(self, responses: Any) -> Iterator[str]:
        if not isinstance(responses, dict):
            return
        for status, written in list(responses.items())[:50]:
            response = self._resolved(written)
            yield from self._content(f"Response {status}", response, response.get("description"))

    def _content(self, label: str, part: dict[str, Any], description: Any) -> Iterator[str]:
        content = _object(part, "content")
        schemas = {media: _object(kind, "schema") for media, kind in content.items() if isinstance(kind, dict)}
        schema = part.get("schema") or next((one for one in schemas.values() if one), None)
        media = f" ({', '.join(one_line(str(name)) for name in list(content)[:10])})" if content else ""
        yield from self._schema(label + media, schema, description)

    def _schema(self, label: str, schema: Any, description: Any) -> Iterator[str]:
        kind = type_of(schema)
        text = " ".join(filter(None, (kind + ("." if kind and description else ""), one_line(description))))
        yield f"{label}: {text}" if text else label
        if isinstance(schema, dict) and "$ref" not in schema:
            yield from self.schemas.properties(schema, "", 1)


def _object(value: Any, key: str) -> dict[str, Any]:
    """The object under a key; empty for anything else."""
    found = value.get(key) if isinstance(value, dict) else None
    return found if isinstance(found, dict) else {}
