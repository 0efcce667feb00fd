"""Documents and entities are searched by one runner: what it does for the one it does for the other."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from registries import ENTITIES, opened
from watersmeet import Engine
from watersmeet.core.errors import Degraded, Stopped
from watersmeet.core.model import Request
from watersmeet.engine.registry.requests import EntityRequest, ToolRequest

ASKED = {
    "documents": lambda engine, **how: engine.search("fill in forms", **how),
    "entities": lambda engine, **how: engine.registry.search(EntityRequest("fill in forms", **how)),
    "tools": lambda engine, **how: engine.registry.find_tools(ToolRequest("query the docs", **how)),
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with opened(tmp_path_factory.mktemp("runner")) as made:
        made.registry.put(*ENTITIES)
        yield made


@pytest.mark.model
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_a_caller_who_hung_up_stops_the_work(engine: Engine, ask: Any) -> None:
    asked = []

    def gone() -> bool:
        asked.append(True)
        return True

    with pytest.raises(Stopped):
        ask(engine, stop=gone)
    assert asked


@pytest.mark.model
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_strict_and_silent_signals(tmp_path: Path, ask: Any) -> None:
    with opened(tmp_path) as made:
        made.registry.register(
            [{"path": "/x", "name": "x", "description": "Fill in forms, query the docs"}], deepen=False
        )
        (tmp_path / "index" / "asked").unlink(missing_ok=True)
    with opened(tmp_path, INDEX__DENSE="onnx", INDEX__MIN_COVERAGE="1.1") as made:
        answer = ask(made)
        assert "dense" in answer.silent or answer.failures
        with pytest.raises(Degraded):
            ask(made, strict=True)


@pytest.mark.model
@pytest.mark.parametrize("ask", ASKED.values(), ids=ASKED)
def test_searches_are_remembered_only_if_the_index_may_learn(tmp_path: Path, ask: Any) -> None:
    kept = tmp_path / "index" / "searched.jsonl"
    with opened(tmp_path) as made:
        made.registry.put(*ENTITIES)
        ask(made)
        assert not kept.exists()
    with opened(tmp_path, CALIBRATION__LEARN="true") as made:
        ask(made)
        (line,) = kept.read_text().splitlines()
        assert json.loads(line)["documents"]


def test_a_trace_of_documents(engine: Engine) -> None:
    with engine.open_search(Request("fill in forms")) as search_run:
        assert search_run.snapshot is search_run.visible_index.snapshot
        assert search_run.pipeline is search_run.path
        assert search_run.outcome.ranking.hits
        assert search_run.took_ms > 0
