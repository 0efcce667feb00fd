"""Requests made up from the API's own description: nothing breaks, and nothing comes back that it does not name."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import hypothesis
import pytest
import schemathesis
from hypothesis.errors import Unsatisfiable
from schemathesis.specs.openapi.checks import positive_data_acceptance

from serving import Served, served
from watersmeet import Engine
from watersmeet.engine.settings.settings import load
from watersmeet.face.tokens import Tokens

CLOCK = {"kind": "mcp_server", "path": "/clock", "name": "clock", "description": "Tells the time"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    place = tmp_path_factory.mktemp("made-up")
    (place / "vault").mkdir()
    (place / "vault" / "index.md").write_text("# Home\n\nAll about keys.\n")
    settings = load(start=str(place), environ={"WATERSMEET__INDEX__VECTORS": "false"})
    with Engine(place / "index", settings) as engine:
        engine.sync([place / "vault"])
        engine.registry.register([CLOCK])
        with served(engine, allow_write=True, tokens=Tokens(str(place / "tokens.json"))) as made:
            yield made


@pytest.mark.server
@pytest.mark.parametrize("mode", list(schemathesis.GenerationMode))
def test_nothing_breaks(site: Served, mode: schemathesis.GenerationMode) -> None:
    """No 5xx, no status, type or shape that is not described: for requests as described, and for others."""
    described = schemathesis.openapi.from_url(f"{site.url}/openapi.json")
    tried = 0
    for found in described.get_all_operations():
        operation = found.ok()

        @hypothesis.settings(max_examples=20, database=None, suppress_health_check=list(hypothesis.HealthCheck))
        @hypothesis.given(case=operation.as_strategy(generation_mode=mode))
        def check(case: schemathesis.Case) -> None:
            case.call_and_validate(excluded_checks=[positive_data_acceptance])  # a date is more than its form

        with contextlib.suppress(Unsatisfiable):  # where there is nothing to get wrong
            check()
        tried += 1
    assert tried > 18


def test_every_route_is_described(site: Served) -> None:
    paths = site.ask("/openapi.json").json()["paths"]
    assert set(paths) >= {
        "/api/search",
        "/api/search/semantic",
        "/api/search/tags",
        "/api/servers",
        "/api/servers/{path}/configuration",
        "/api/quality",
        "/api/agents",
        "/api/skills/search",
        "/api/entities",
        "/api/entities/{path}",
        "/api/documents",
        "/api/tags",
        "/api/documents/{identity}",
        "/api/related/{identity}",
        "/api/find-tools",
        "/api/classify",
        "/api/status",
        "/health",
        "/ready",
        "/metrics",
    }
