from __future__ import annotations

import json
from typing import Any

import pytest

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found
from watersmeet.parse._json_schema import is_json_schema, type_of
from watersmeet.parse.json import Json

SCHEMA: dict[str, Any] = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "$id": "https://x.test/ship.json",
    "title": "Ship",
    "description": "A vessel.",
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "description": "What it is called"},
        "crew": {"type": "array", "items": {"$ref": "#/$defs/Person"}},
        "berth": {"type": ["string", "null"], "pattern": "^[A-Z]"},
        "cargo": {"type": "array", "items": {"type": "object", "properties": {"weight": {"type": "number"}}}},
        "any": True,
    },
    "$defs": {"Person": {"type": "object", "properties": {"email": {"type": "string"}}}},
}


def read(value: Any) -> Document:
    (document,) = Json().parse(Found("ship.schema.json", "/ship.schema.json", "0"), json.dumps(value).encode())
    assert isinstance(document, Document)
    return document


def test_the_schema_and_its_definitions_are_sections():
    document = read(SCHEMA)
    assert (document.title, document.fields) == ("Ship", {"$id": "https://x.test/ship.json"})
    assert [(s.headings, s.level) for s in document.sections] == [(("Ship",), 1), (("Person",), 1)]
    assert [block.text for block in document.sections[0].blocks] == [
        "Ship\nA vessel.\nType: object",
        "- name (string, required): What it is called\n- crew (array of Person)\n"
        "- berth (string or null): pattern ^[A-Z]\n- cargo (array of object)\n- cargo[].weight (number)\n- any",
    ]
    assert document.sections[1].blocks[1].text == "- email (string)"


@pytest.mark.parametrize(
    ("schema", "words"),
    [
        ({"$ref": "#/components/schemas/a~1b"}, "a/b"),
        ({"oneOf": [{"type": "string"}, {"type": "integer"}, {"type": "string"}]}, "string or integer"),
        ({"allOf": [{"$ref": "#/A"}, {"properties": {}}]}, "A and object"),
        ({"items": {"type": "string"}}, "array of string"),
        ({"type": "array"}, "array"),
        ({}, ""),
        (3, ""),
    ],
)
def test_type(schema: Any, words: str):
    assert type_of(schema) == words


@pytest.mark.parametrize(
    ("value", "is_one"),
    [
        ({"$schema": "http://json-schema.org/draft-07/schema#", "definitions": {"A": {}}}, True),
        ({"type": "object", "properties": {}}, True),
        ({"$schema": "https://json.schemastore.org/package", "name": "x"}, False),
        ({"type": "object"}, False),
        ({"properties": {"a": 1}}, False),
        ([], False),
    ],
)
def test_recognition(value: Any, is_one: bool):
    assert is_json_schema(value) is is_one


def test_a_deep_schema_is_cut():
    schema: dict[str, Any] = {"type": "object", "properties": {"x": {"type": "string"}}}
    for _ in range(300):
        schema = {"type": "object", "properties": {"a": schema}}
    (section,) = read(schema).sections
    assert section.blocks[1].text.split("\n")[-1] == "- a.a.a.a.a (object)"
