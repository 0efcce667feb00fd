"""JSON Schema as text: a section for the schema and for each of its definitions, with properties and their types."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from watersmeet.core.documents import Section
from watersmeet.parse._key_lines import FIRST_LINE, KeyLines, section
from watersmeet.parse._values import clean

_MAX_NESTING = 4
_MAX_ENUM = 50
_LIMITS = "default format pattern minimum maximum minLength maxLength minItems maxItems".split()
_GROUPS = ("allOf", "oneOf", "anyOf")


def is_json_schema(value: Any) -> bool:
    """Whether a value is a JSON Schema: it says so, or it has the shape of one."""
    if not isinstance(value, dict):
        return False
    named = value.get("$schema")
    has_parts = any(isinstance(value.get(key), dict) for key in ("properties", "$defs", "definitions"))
    if isinstance(named, str) and "json-schema.org" in named:
        return has_parts or any(key in value for key in ("type", "$ref", *_GROUPS, "items", "enum"))
    return value.get("type") == "object" and isinstance(value.get("properties"), dict)


def json_schema(
    value: dict[str, Any], most: int, lines: KeyLines
) -> tuple[str, list[Section], dict[str, Any], list[str], list[str]]:
    """Title, sections, fields, tags and warnings of a schema."""
    writer = SchemaWriter(most, lines)
    title = one_line(value.get("title"))
    name = title or one_line(value.get("$id") or value.get("id")) or "schema"
    sections = [section((name,), 1, FIRST_LINE, writer.texts(value))]
    for key in ("$defs", "definitions"):
        parts = value.get(key)
        if isinstance(parts, dict):
            lines.restart()
            lines.key(key)
            sections += writer.sections(parts)
    fields = {"$id": one_line(value["$id"])} if isinstance(value.get("$id"), str) else {}
    return title, sections, fields, [], writer.warnings()


class SchemaWriter:
    """Schemas as lines `property (type, required): description`, up to a number of properties for the whole file."""

    def __init__(self, most: int, lines: KeyLines) -> None:
        self.left = self.most = most
        self.lines = lines

    def warnings(self) -> list[str]:
        return [f"more than {self.most:,} values; the others are left out"] if self.left <= 0 else []

    def sections(self, schemas: dict[Any, Any], level: int = 1) -> Iterator[Section]:
        """A section for each named schema."""
        for name, schema in schemas.items():
            if self.left <= 0:
                return
            self.left -= 1
            if isinstance(schema, dict):
                yield section((one_line(str(name)),), level, self.lines.key(str(name)), self.texts(schema))

    def texts(self, schema: dict[str, Any]) -> Iterator[str]:
        """What a schema is, and its properties."""
        heads = [one_line(schema.get("title")), prose(schema.get("description")), _constraints(schema)]
        kind = type_of(schema)
        yield "\n".join(filter(None, (*heads[:2], f"Type: {kind}" if kind else "", heads[2])))
        yield "\n".join(self.properties(schema, "", 0))

    def properties(self, schema: Any, path: str, depth: int) -> Iterator[str]:
        """Lines of the properties of a schema; those of nested objects have dotted names."""
        if not isinstance(schema, dict) or depth > _MAX_NESTING or self.left <= 0:
            return
        required = schema.get("required")
        required = required if isinstance(required, list) else []
        properties = schema.get("properties")
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            if self.left <= 0:
                return
            self.left -= 1
            full = f"{path}.{name}" if path else str(name)
            if not isinstance(inner, dict):
                yield clean(f"- {full}")
                continue
            yield self.line(full, inner, name in required)
            if "$ref" not in inner:
                yield from self.properties(inner, full, depth + 1)
        items = schema.get("items")
        if isinstance(items, dict) and "$ref" not in items:
            yield from self.properties(items, f"{path}[]", depth + 1)
        for group in _GROUPS:
            parts = schema.get(group)
            for part in parts[:_MAX_ENUM] if isinstance(parts, list) else ():
                yield from self.properties(part, path, depth + 1)

    def line(self, name: str, schema: dict[str, Any], required: bool, before: str = "") -> str:
        """One property or parameter in a line."""
        kind = ", ".join(filter(None, (before, type_of(schema), "required" if required else "")))
        text = "; ".join(
            filter(None, (one_line(schema.get("description") or schema.get("title")), _constraints(schema)))
        )
        return clean(f"- {name}" + (f" ({kind})" if kind else "") + (f": {text}" if text else ""))


def type_of(schema: Any, depth: int = 0) -> str:
    """The type of a schema in words: `string`, `User`, `array of User`, `string or null`."""
    if not isinstance(schema, dict) or depth > _MAX_NESTING:
        return ""
    reference = schema.get("$ref")
    if isinstance(reference, str):
        return reference_name(reference)
    for group, word in (("oneOf", " or "), ("anyOf", " or "), ("allOf", " and ")):
        parts = schema.get(group)
        if isinstance(parts, list) and parts:
            return word.join(dict.fromkeys(filter(None, (type_of(part, depth + 1) for part in parts[:_MAX_ENUM]))))
    kind = schema.get("type")
    if isinstance(kind, list):
        kind = " or ".join(str(one) for one in kind[:10])
    if kind == "array" or (kind is None and "items" in schema):
        inner = type_of(schema.get("items"), depth + 1)
        return f"array of {inner}" if inner else "array"
    return str(kind) if isinstance(kind, str) else "object" if "properties" in schema else ""


def reference_name(reference: str) -> str:
    """The last part of a reference, as in `#/components/schemas/User`."""
    name = reference.rstrip("/").rpartition("/")[2] or reference
    return clean(name.replace("~1", "/").replace("~0", "~"))


def _constraints(schema: dict[str, Any]) -> str:
    found = []
    values = schema.get("enum")
    if isinstance(values, list):
        shown = ", ".join(str(one)[:100] for one in values[:_MAX_ENUM] if not isinstance(one, dict | list))
        found.append(f"one of {shown}" + (", …" if len(values) > _MAX_ENUM else ""))
    if "const" in schema and not isinstance(schema["const"], dict | list):
        found.append(f"always {schema['const']}")
    for name in _LIMITS:
        value = schema.get(name)
        if value is not None and not isinstance(value, dict | list) and value != "":
            found.append(f"{name} {str(value)[:100]}")
    if is_true(schema.get("deprecated")):
        found.append("deprecated")
    return clean(", ".join(found))


def is_true(value: Any) -> bool:
    """Whether a value is true, as JSON reads it or as YAML has it written."""
    return value is True or value == "true"


def one_line(value: Any) -> str:
    """A text in one line; empty for anything else."""
    return " ".join(clean(value[:5_000]).split()) if isinstance(value, str) else ""


def prose(value: Any) -> str:
    """A text in its own lines; empty for anything else."""
    return clean(value[:50_000]).replace("\r\n", "\n").strip() if isinstance(value, str) else ""
