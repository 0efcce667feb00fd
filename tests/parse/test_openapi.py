from __future__ import annotations

import json
from typing import Any

import pytest

from watersmeet.core.documents import Document
from watersmeet.core.indexing import Found
from watersmeet.parse._openapi import is_openapi
from watersmeet.parse.json import Json
from watersmeet.parse.yaml import Yaml

API: dict[str, Any] = {
    "openapi": "3.1.0",
    "info": {"title": "Harbour API", "version": "1.2", "description": "Ships and tides.\n\n# Errors\n\nAs usual."},
    "servers": [{"url": "https://api.harbour.test/v1"}],
    "paths": {
        "/ships/{id}": {
            "parameters": [{"$ref": "#/components/parameters/Id"}],
            "post": {
                "operationId": "updateShip",
                "summary": "Change a ship",
                "description": "Only its owner may.",
                "tags": ["ships", "port authority"],
                "deprecated": True,
                "parameters": [
                    {
                        "name": "dry",
                        "in": "query",
                        "schema": {"type": "boolean", "default": False},
                        "description": "Try",
                    }
                ],
                "requestBody": {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Ship"}}}},
                "responses": {
                    "200": {
                        "description": "Done",
                        "content": {
                            "application/json": {
                                "schema": {
                                    "type": "object",
                                    "required": ["ship"],
                                    "properties": {
                                        "ship": {"$ref": "#/components/schemas/Ship"},
                                        "log": {"type": "array", "items": {"type": "string"}},
                                    },
                                }
                            }
                        },
                    },
                    "404": {"description": "No such ship"},
                },
            },
        }
    },
    "components": {
        "parameters": {
            "Id": {
                "name": "id",
                "in": "path",
                "required": True,
                "schema": {"type": "string"},
                "description": "Its number",
            }
        },
        "schemas": {
            "Ship": {
                "type": "object",
                "description": "A ship.",
                "required": ["name"],
                "properties": {
                    "name": {"type": "string", "maxLength": 80},
                    "kind": {"enum": ["tug", "ferry"], "description": "What it is"},
                    "owner": {"type": "object", "properties": {"email": {"type": "string", "format": "email"}}},
                },
            }
        },
    },
}


def read(value: Any) -> Document:
    (document,) = Json().parse(Found("api.json", "/api.json", "0"), json.dumps(value).encode())
    assert isinstance(document, Document)
    return document


def shown(value: Any) -> dict[tuple[str, ...], str]:
    return {s.headings: "\n--\n".join(block.text for block in s.blocks) for s in read(value).sections}


def test_operations_and_schemas_are_sections():
    document = read(API)
    assert document.title == "Harbour API"
    assert document.tags == ("ships", "port-authority")
    assert document.fields["version"] == "1.2"
    sections = shown(API)
    assert list(sections) == [(), ("Errors",), ("POST /ships/{id}",), ("Ship",)]
    assert sections[()] == "Version: 1.2\nServers: https://api.harbour.test/v1\n--\nShips and tides."
    assert sections[("POST /ships/{id}",)] == (
        "Change a ship\noperationId: updateShip\nTags: ships, port authority\nDeprecated.\n--\n"
        "Only its owner may.\n--\nParameters:\n- id (path, string, required): Its number\n"
        "- dry (query, boolean): Try; default False\n--\n"
        "Request body (application/json): Ship\n--\n"
        "Response 200 (application/json): object. Done\n- ship (Ship, required)\n- log (array of string)\n"
        "Response 404: No such ship"
    )
    assert sections[("Ship",)] == (
        "A ship.\nType: object\n--\n- name (string, required): maxLength 80\n- kind: What it is; one of tug, ferry\n"
        "- owner (object)\n- owner.email (string): format email"
    )


def test_swagger_2():
    value = {
        "swagger": "2.0",
        "info": {"title": "Old"},
        "host": "old.test",
        "basePath": "/v1",
        "paths": {
            "/a": {
                "put": {
                    "parameters": [
                        {"name": "body", "in": "body", "schema": {"$ref": "#/definitions/A"}},
                        {"name": "n", "in": "query", "type": "integer"},
                    ],
                    "responses": {
                        "200": {"description": "ok", "schema": {"type": "array", "items": {"$ref": "#/definitions/A"}}}
                    },
                }
            }
        },
        "definitions": {"A": {"type": "object", "properties": {"x": {"type": "string"}}}},
    }
    sections = shown(value)
    assert sections[()] == "Servers: old.test/v1"
    assert sections[("PUT /a",)] == (
        "Parameters:\n- n (query, integer)\nRequest body: A\n--\nResponse 200: array of A. ok"
    )
    assert sections[("A",)] == "Type: object\n--\n- x (string)"


def test_yaml_gives_the_same_with_its_own_lines():
    import yaml

    text = yaml.safe_dump(API, sort_keys=True)  # components before info and paths
    (document,) = Yaml().parse(Found("api.yaml", "/api.yaml", "0"), text.encode())
    assert isinstance(document, Document)
    expected = shown(API)
    sections = {s.headings: s for s in document.sections}
    assert set(sections) == set(expected)
    for headings in ((), ("Errors",), ("Ship",)):
        found = sections[headings]
        assert sorted("\n".join(block.text for block in found.blocks)) == sorted(expected[headings].replace("--\n", ""))
    lines = text.split("\n")
    assert [lines[(sections[(name,)].line or 0) - 1].strip() for name in ("POST /ships/{id}", "Ship")] == [
        "post:",
        "Ship:",
    ]
    assert {block.place.lines for block in sections[("Ship",)].blocks} == {sections[("Ship",)].place.lines}


def test_lines_of_json():
    text = json.dumps(API, indent=2)
    (document,) = Json().parse(Found("api.json", "/api.json", "0"), text.encode())
    assert isinstance(document, Document)
    lines = text.split("\n")
    assert [lines[(s.line or 0) - 1].strip() for s in document.sections[2:]] == ['"post": {', '"Ship": {']


@pytest.mark.parametrize(
    "value", [None, [], {}, {"openapi": "3.0"}, {"openapi": "3.0", "paths": []}, {"paths": {"/a": {}}}]
)
def test_what_is_no_api(value: Any):
    assert not is_openapi(value)


def test_references_that_lead_nowhere_or_in_circles():
    circle = {"$ref": "#/components/parameters/A"}
    value = {
        "openapi": "3.0.0",
        "paths": {"/a": {"get": {"parameters": [circle, {"$ref": "#/no/where"}, {"$ref": "other.yaml#/X"}, 3]}}},
        "components": {
            "parameters": {"A": {"$ref": "#/components/parameters/A"}},
            "schemas": {"S": {"allOf": [{"$ref": "#/components/schemas/S"}], "properties": {"s": {"$ref": "#/x"}}}},
        },
    }
    assert shown(value)[("GET /a",)].startswith("Parameters:\n- A\n- where\n- X")


def test_a_large_api_is_capped():
    paths = {f"/p{n}": {"get": {"summary": "x"}} for n in range(30_000)}
    document = read({"openapi": "3.0.0", "paths": paths})
    assert len(document.sections) == 20_000
    assert document.warnings == ("more than 20,000 values; the others are left out",)
