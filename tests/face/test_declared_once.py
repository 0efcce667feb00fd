"""A search is declared once: flags, bodies, schemas, the page's form and the answers' shapes are made from that."""

from __future__ import annotations

import json
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
import pytest
from pydantic import ValidationError

from watersmeet.core.model import Answer, Failure, Request, Result
from watersmeet.core.place import Place
from watersmeet.engine.registry.requests import EntityRequest, ToolRequest
from watersmeet.face import schema, shapes
from watersmeet.face.cli.find import find_entities_command, find_tools_command
from watersmeet.face.cli.search import search_command
from watersmeet.face.mcp.tools import tools
from watersmeet.face.mcp.tools.documents import Search
from watersmeet.face.mcp.tools.registry import FindTools
from watersmeet.face.rest.page import OWN, form
from watersmeet.face.search import SearchParams, condition, filters_of
from watersmeet.present.answer import to_json
from watersmeet.present.registry import EntityAnswer, ToolAnswer

ROOT = Path(__file__).parents[2]
DECLARED = {
    SearchParams: (search_command, shapes.SearchBody, Search),
    EntityRequest: (find_entities_command, shapes.SemanticBody, None),
    ToolRequest: (find_tools_command, None, FindTools),
}


def names(cls: type[Any]) -> set[str]:
    return {one.name for one in fields(cls) if "meaning" in one.metadata}


@pytest.mark.parametrize("cls", DECLARED, ids=lambda cls: cls.__name__)
def test_every_surface_has_every_parameter_in_the_same_words(cls: type[Any]) -> None:
    command, rest, mcp = DECLARED[cls]
    flags = {one.name: one for one in command.params}
    for one in fields(cls):
        if "meaning" not in one.metadata:
            continue
        meaning = one.metadata["meaning"]
        assert one.name in flags
        if isinstance(flags[one.name], click.Option):
            assert meaning[1:] in str(flags[one.name].help)
        for model in (rest, mcp):
            if model is not None:
                assert model.model_fields[one.name].description == meaning
    for model in (rest, mcp):
        if model is not None:
            assert set(model.model_fields) - names(cls) <= {"detail"}


def test_the_page_and_the_reference_have_them() -> None:
    page, reference = "".join(form().values()), (ROOT / "docs" / "reference" / "commands.md").read_text("utf8")
    for one in fields(SearchParams):
        assert (f'id="{one.name}"' in page) == (one.name not in OWN)
        flag = (one.metadata["flags"] or (f"--{one.name.replace('_', '-')}",))[0]
        assert one.name == "query" or f"`{flag}" in reference or f", {flag}" in reference


def test_a_body_becomes_the_parameters() -> None:
    sent = {
        "query": "keys",
        "limit": 3,
        "filters": {"tag": "a", "path!": ["b", "c"], "year": 2026.0},
        "exclude": ["x.md"],
        "expand": "page",
        "min_score": 0.5,
    }
    params = schema.from_body(SearchParams, shapes.SearchBody.model_validate(sent))
    assert params == SearchParams(
        "keys",
        top_n=3,
        filters={"tag": ["a"], "path!": ["b", "c"], "year": ["2026"]},
        exclude=("x.md",),
        expand="page",
        min_score=0.5,
    )
    request = params.request()
    assert isinstance(request, Request)
    assert (request.top_n, request.min_score, request.expand) == (3, 0.5, "page")
    assert request.condition == condition(params.filters, exclude=("x.md",))
    assert dict(request.condition.without) == {"path": ("b", "c"), "document": ("x.md",)}
    assert filters_of(["tag=a", "path!=b"]) == {"tag": ("a",), "path!": ("b",)}


@pytest.mark.parametrize(
    "wrong",
    [{}, {"query": ""}, {"query": "x", "min_score": 2}, {"query": "x", "colour": 1}, {"query": "x", "top_n": "5"}],
)
def test_a_body_refuses_what_is_not_declared(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        shapes.SearchBody.model_validate(wrong)
    if wrong.get("top_n"):  # a model that writes "5" for 5 is understood
        assert Search.model_validate(wrong).top_n == 5


RESULT = Result("c", "d.md", "document", "D", ("D",), "d.md", Place((1, 2)), "text", 1.0, 0.5, None, ())
FAILED = Failure("dense", "no model", "install one")


def test_answers_are_as_their_schemas_say() -> None:
    from jsonschema import validate

    for found, model in (
        (to_json(Answer("q", "lexical", "default", (RESULT,), (FAILED,), 1.0)), shapes.SearchAnswer),
        (EntityAnswer(query="q", failures=(FAILED,)).to_json(), shapes.GroupedAnswer),
        (ToolAnswer(task="t").to_json(), shapes.Tools),
    ):
        validate(json.loads(json.dumps(found)), model.model_json_schema())
        required = {name for name, one in model.model_fields.items() if one.is_required()}
        assert required <= found.keys()


def test_every_tool_is_in_a_file_of_its_folder() -> None:
    assert list(tools())[:4] == ["search", "get", "related", "find_tools"]
    assert {"status", "sync", "register", "classify_query"} <= set(tools())
