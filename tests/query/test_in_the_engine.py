"""The steps as a search takes them: what is asked of models, what is left out, what is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.model import Plan, Request
from watersmeet.engine import models
from watersmeet.engine.index.vocabulary import refresh
from watersmeet.engine.settings.settings import load

REGIONS = {
    f"regions/{number}.md": f"# Region D{number}\n\nThe region D{number} is a hall of stone with {number} doors.\n"
    for number in range(36, 46)
} | {"safety.md": "# Safety\n\nKeep extinguishers where a fire may break out, and mind what burns.\n"}


class Endpoint(ThreadingHTTPServer):
    """An embedding server that counts."""

    calls = 0


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        self.server.calls += 1
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        vectors = [{"index": n, "embedding": [1.0, float(len(text)), 2.0]} for n, text in enumerate(texts)]
        body = json.dumps({"data": vectors}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server
        server.shutdown()


Open = Callable[..., Engine]


@pytest.fixture
def opened(tmp_path: Path) -> Iterator[Open]:
    made: list[Engine] = []

    def opened(**environ: str) -> Engine:
        names = {f"WATERSMEET__{key}": value for key, value in environ.items()}
        made.append(Engine(tmp_path / "index", load(start=str(tmp_path), environ=names)))
        return made[-1]

    yield opened
    for engine in made:
        engine.close()


BY_CLASS = {
    "PIPELINE__UNDERSTAND": '["words", "classify", "anchors", "adapt"]',
    "PIPELINE__SIGNALS": '["keyword", "dense"]',
    "PIPELINE__FUSION": "linear",
    "QUERY__CLASSIFY__KEYWORD_ONLY": "true",
}


@pytest.mark.slow
@pytest.mark.parametrize("chosen", [{}, BY_CLASS], ids=["default", "by class"])
def test_a_bare_identifier_asks_no_model(
    opened: Open, endpoint: Endpoint, write: Callable[..., Path], chosen: dict[str, str]
) -> None:
    remote = {
        "INDEX__DENSE": "openai",
        "INDEX__STATIC": "",
        "EMBED__OPENAI__BASE_URL": f"http://127.0.0.1:{endpoint.server_port}/v1",
        "EMBED__OPENAI__MODEL": "counting",
        **chosen,
    }
    opened(**remote).sync([write(REGIONS)])
    assert endpoint.calls > 0
    endpoint.shutdown()
    endpoint.server_close()  # from now on the provider raises
    models._instance.cache_clear()
    engine = opened(**remote)
    before = endpoint.calls
    for query in ("D40", "d40"):
        answer = engine.search(query)
        assert answer.results[0].document == "regions/40.md"
        assert (answer.mode, answer.failures, endpoint.calls) == ("lexical", (), before)
    assert [failure.by for failure in engine.search("Tell me about D40").failures] == ["dense"]
    named = engine.search(Request("D40", mode="dense"))  # asked for by name, it is asked
    assert [failure.by for failure in named.failures] == ["dense"]


@pytest.mark.model
def test_related_terms_go_to_meaning_and_not_to_words(opened: Open, tmp_path: Path, write: Callable[..., Path]) -> None:
    notes = {"INDEX__DENSE": "", "PIPELINE__UNDERSTAND": '["words", "expand"]'}
    engine = opened(**notes)
    engine.sync([write(REGIONS)])
    file = tmp_path / "index" / "concept_vocabulary.json"
    terms = json.loads(file.read_text("utf8"))["terms"]
    assert {"region", "fire", "extinguishers"} <= set(terms)
    assert not {"the", "and", "where"} & set(terms)

    plan = _plan(engine, "flames")
    assert len(plan.expansion) == 3
    assert "fire" in plan.expansion
    assert plan.semantic_text == " ".join(("flames", *plan.expansion))
    assert plan.words == _plan(opened(INDEX__DENSE=""), "flames").words == ("flames",)
    assert not {"fire", "fires"} & set(_plan(engine, "fires").expansion)
    (tmp_path / "index" / "concept_vocabulary.npy").unlink()
    assert _plan(opened(**notes), "flames").expansion == plan.expansion
    file.unlink()
    answer = opened(**notes).search("flames")
    assert answer.results
    assert not answer.failures
    assert _plan(engine, "flames").expansion == ()
    engine.sync([write(REGIONS)])
    assert _plan(engine, "flames").expansion == plan.expansion


def _plan(engine: Engine, query: str) -> Plan:
    with engine.open_search(Request(query, mode="static")) as search_run:
        return search_run.outcome.plan


@pytest.mark.model
def test_terms_are_gathered_again_when_enough_has_changed(
    opened: Open, tmp_path: Path, write: Callable[..., Path]
) -> None:
    engine = opened(INDEX__DENSE="")
    engine.sync([write(REGIONS)])
    file = tmp_path / "index" / "concept_vocabulary.json"
    first = file.read_bytes()
    refresh(engine.index, engine.settings)
    assert file.read_bytes() == first
    engine.sync([write({"more.md": "# Moat\n\nThe drawbridge spans a moat.\n"})])
    assert "drawbridge" in json.loads(file.read_text("utf8"))["terms"]


@pytest.mark.model
def test_terms_of_one_new_note_are_added_to_a_large_index(
    opened: Open, tmp_path: Path, write: Callable[..., Path]
) -> None:
    engine = opened(INDEX__DENSE="")
    engine.sync([write({f"note{n}.md": f"# Note {n}\n\nOn the tide of day {n}.\n" for n in range(80)})])
    file = tmp_path / "index" / "concept_vocabulary.json"
    engine.sync([write({"more.md": "# Moat\n\nThe drawbridge talks oauth2 to S3.\n"})])
    stored = json.loads(file.read_text("utf8"))
    assert {"drawbridge", "oauth2", "s3", "tide"} <= set(stored["terms"])
    assert (stored["chunks"], stored["changes"]) == (81, 1)


def test_without_vectors_there_is_no_vocabulary(engine: Engine, vault: Path, tmp_path: Path) -> None:
    engine.sync([vault])
    assert not (tmp_path / "index" / "concept_vocabulary.json").exists()


@pytest.mark.model
def test_a_step_that_cannot_run_is_named(opened: Open, tmp_path: Path, write: Callable[..., Path]) -> None:
    notes = {"INDEX__DENSE": "", "PIPELINE__UNDERSTAND": '["words", "expand"]'}
    opened(**notes).sync([write(REGIONS)])
    answer = opened(**notes, EMBED__STATIC__FOLDER=str(tmp_path / "nowhere")).search("flames and stone")
    assert {failure.by for failure in answer.failures} == {"expand", "static"}
    assert answer.results


@pytest.mark.slow
def test_a_numbered_code_of_the_index_is_searched_as_it_is_written(opened: Open, write: Callable[..., Path]) -> None:
    engine = opened(INDEX__DENSE="")
    engine.sync([write({"codes.md": "# Codes\n\nD40, SYSLIB1029, ISO-9001, utf8, _MAX_EXT and RBAC.\n"})])
    only = {query: _plan(engine, query).only for query in ("D40", "SYSLIB1029", "ISO-9001")}
    assert set(only.values()) == {("lexical", "exact", "keyword")}
    for query in ("D41", "D40 extinguishers", "utf8", "_MAX_EXT", "RBAC"):  # D41 is not there: what is near may answer
        assert _plan(engine, query).only == ()
