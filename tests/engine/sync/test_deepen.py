"""Embedding when something is in the way: a model that misbehaves, another process, Ctrl-C."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from watersmeet import Engine
from watersmeet.core.errors import Degraded, IndexBusy, IndexMismatch, ModelProblem
from watersmeet.core.locks import locked
from watersmeet.core.model import Request
from watersmeet.embed import _remote
from watersmeet.engine import models
from watersmeet.engine.query.modes import percent
from watersmeet.engine.settings.settings import load
from watersmeet.store.local.embeddings import Embeddings

pytestmark = pytest.mark.model

PAGES = {f"{n}.md": f"# Page {n}\n\nWhat is said of tide {n}.\n" for n in range(20)}
COMMAND = """
import signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts what runs in its background without it
sys.argv[0] = "watersmeet"
from watersmeet.face.cli.main import main
main()
"""


class Endpoint(ThreadingHTTPServer):
    """An embedding server that does as it is told, and counts what it has answered."""

    width = 3
    first = 1.0  # what each vector begins with
    scale = 1.0
    before: Callable[[], None] = staticmethod(lambda: None)

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answered: Counter[str] = Counter()

    @property
    def settings(self) -> dict[str, str]:
        url = f"http://127.0.0.1:{self.server_port}/v1"
        return {"INDEX__DENSE": "openai", "EMBED__OPENAI__BASE_URL": url, "EMBED__OPENAI__MODEL": "toy"}

    def vector(self, text: str) -> list[float]:
        return [self.first, *(self.scale * (1 + ord(text[place % len(text)])) for place in range(1, self.width))]


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        self.server.before()
        data = [{"index": n, "embedding": self.server.vector(text)} for n, text in enumerate(texts)]
        body = json.dumps({"data": data}).encode()
        try:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            return
        self.server.answered.update(texts)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with Endpoint() as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        yield server
        server.shutdown()


def opened(folder: Path, **environ: str) -> Engine:
    """An engine as a new process has it."""
    models._instance.cache_clear()
    _remote.dimensions.clear()
    names = {f"WATERSMEET__{key}": value for key, value in environ.items()}
    return Engine(folder / "index", load(start=str(folder), environ=names))


def covered(engine: Engine) -> float:
    share: float = engine.status()["signals"]["dense"]["coverage"]
    return share


def test_vectors_of_another_size_are_named_and_not_kept(tmp_path: Path, write: Any, endpoint: Endpoint) -> None:
    vault = write(PAGES)
    with opened(tmp_path, **endpoint.settings) as engine:
        engine.sync([vault])
        assert covered(engine) == 1.0
    write({"new.md": "# New\n\nA page that came later.\n"})
    endpoint.width = 5
    with opened(tmp_path, **endpoint.settings) as engine:
        (warning,) = engine.sync([vault]).warnings
        assert "vectors of 5 numbers" in warning.reason
        assert "--recreate" in warning.reason
        with pytest.raises(ModelProblem, match="vectors of 5 numbers"):
            engine.deepen(strict=True)
        (failure,) = engine.search("tide 7").failures
        assert failure.by == "dense"
        assert "5 numbers" in failure.reason
        assert "--recreate" in failure.hint
        with pytest.raises(Degraded):
            engine.search("tide 7", strict=True)
    endpoint.width = 3
    with opened(tmp_path, **endpoint.settings) as engine:
        assert engine.sync([vault]).warnings == []
        assert covered(engine) == 1.0
        assert engine.search("tide 7", strict=True).results


def test_an_index_made_anew_does_not_take_old_sizes_from_the_cache(
    tmp_path: Path, write: Any, endpoint: Endpoint
) -> None:
    vault = write(PAGES)
    with opened(tmp_path, **endpoint.settings) as engine:
        engine.sync([vault])
    endpoint.width = 5
    with opened(tmp_path, **endpoint.settings) as engine:
        report = engine.sync([vault], recreate=True)
        assert (report.warnings, report.embedded, covered(engine)) == ([], report.chunks, 1.0)
        assert engine.search("tide 7", strict=True).mode == "hybrid"
        assert engine.sync([vault], recreate=True).embedded == 0


def test_identical_sections_are_embedded_once(tmp_path: Path, write: Any, endpoint: Endpoint) -> None:
    notes = {f"{n}.md": "---\ntitle: Licence\n---\nDo what you like with the tide.\n" for n in range(5)}
    with opened(tmp_path, **endpoint.settings) as engine:
        report = engine.sync([write(notes)])
        assert (report.embedded, covered(engine)) == (5, 1.0)
        assert [count for text, count in endpoint.answered.items() if "Do what you like" in text] == [1]
        assert len(engine.search(Request("what may I do", mode="dense")).results) == 5


def test_an_endpoint_that_is_right_again_is_believed(tmp_path: Path, write: Any, endpoint: Endpoint) -> None:
    vault = write(PAGES)
    with opened(tmp_path, **endpoint.settings) as engine:
        engine.sync([vault])
    endpoint.width = 5
    with opened(tmp_path, **endpoint.settings) as engine:
        assert engine.search("tide 7").failures
        endpoint.width = 3
        models._instance.cache_clear()  # so that it need not be waited for
    with Engine(engine.folder, engine.settings) as engine:
        engine.search("tide 7")
        models._instance.cache_clear()
    with Engine(engine.folder, engine.settings) as engine:
        assert engine.search("tide 7").failures == ()


@pytest.mark.parametrize(("first", "scale"), [(float("nan"), 1.0), (float("inf"), 1.0), (1e300, 1.0), (0.0, 0.0)])
def test_vectors_that_are_none_are_neither_kept_nor_counted(
    tmp_path: Path, write: Any, endpoint: Endpoint, first: float, scale: float
) -> None:
    vault = write(PAGES)
    endpoint.first, endpoint.scale = first, scale
    with opened(tmp_path, **endpoint.settings) as engine:
        (warning,) = engine.sync([vault]).warnings
        assert "no usable vector" in warning.reason
        assert covered(engine) == 0.0
    endpoint.first, endpoint.scale = 1.0, 1.0
    with opened(tmp_path, **endpoint.settings) as engine:
        report = engine.deepen(strict=True)
        assert (report.embedded, report.cached, covered(engine)) == (20, 0, 1.0)
        endpoint.first, endpoint.scale = first, scale
        answer = engine.search("tide 7")
        assert [failure.by for failure in answer.failures] == ["dense"]
        assert "no usable vector" in answer.failures[0].reason
        assert engine.search(Request("tide 7", mode="dense")).mode == "lexical"


def test_zeros_that_were_remembered_are_made_again(tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    vault = write(PAGES)
    put = Embeddings.put_many
    blank = lambda self, model, keys, vectors: put(self, model, keys, np.zeros_like(vectors))  # noqa: E731
    with monkeypatch.context() as patch, opened(tmp_path, INDEX__DENSE="hashed") as engine:
        patch.setattr(Embeddings, "put_many", blank)
        engine.sync([vault])
    with opened(tmp_path, INDEX__DENSE="hashed") as engine:
        report = engine.sync([vault], recreate=True)
        assert (report.embedded, report.cached) == (20, 0)


@pytest.mark.parametrize("mode", ["static", "dense"])
def test_a_signal_asked_for_by_name_says_that_it_has_not_seen_enough(tmp_path: Path, write: Any, mode: str) -> None:
    with opened(tmp_path, INDEX__DENSE="hashed") as engine:
        engine.sync([write({"0.md": PAGES["0.md"]})])
    with opened(tmp_path, INDEX__VECTORS="false") as engine:
        engine.sync([write(PAGES)])
    with opened(tmp_path, INDEX__DENSE="hashed") as engine:
        answer = engine.search(Request("what is said of tide 7", mode=mode))
        assert answer.mode == "lexical"
        assert [failure.by for failure in answer.failures] == [mode]
        assert "5% of the chunks" in answer.failures[0].reason
        assert "deepen" in answer.failures[0].hint
        assert answer.results[0].document == "7.md"
        with pytest.raises(Degraded, match=f"{mode} could not run: it covers 5%"):
            engine.search(Request("tide 7", mode=mode, strict=True))
        engine.deepen()
        assert engine.search(Request("tide 7", mode=mode, strict=True)).mode == mode


def test_estimates_that_are_all_alike_are_no_ranking(tmp_path: Path, write: Any) -> None:
    with opened(tmp_path, INDEX__DENSE="hashed") as engine:
        engine.sync([write({"0.md": PAGES["0.md"]})])
        engine.sync([write(PAGES)], deepen=False)
    with opened(tmp_path, INDEX__DENSE="hashed", INDEX__MIN_COVERAGE="0.01") as engine:
        answer = engine.search(Request("tide 7", mode="dense"))
        assert [result.document for result in answer.results] == ["0.md"]


@pytest.mark.parametrize("other", [{"INDEX__DENSE": "onnx"}, {"EMBED__HASHED__DIMENSION": "64"}])
def test_another_model_is_refused_by_deepen_and_seen_by_doctor(
    tmp_path: Path, write: Any, other: dict[str, str]
) -> None:
    with opened(tmp_path, INDEX__DENSE="hashed") as engine:
        engine.sync([write(PAGES)])
        assert all(check.ok for check in engine.doctor())
    with opened(tmp_path, **{"INDEX__DENSE": "hashed", **other}) as engine:
        with pytest.raises(IndexMismatch, match="embedded with hashed-128"):
            engine.deepen()
        (ill,) = [check for check in engine.doctor() if not check.ok]
        assert ill.name == "settings"
        assert "hashed-128" in ill.detail
        assert "--recreate" in ill.hint


def test_who_comes_second_is_told_who_is_embedding(tmp_path: Path, write: Any) -> None:
    with opened(tmp_path, INDEX__DENSE="hashed") as engine:
        engine.sync([write(PAGES)], deepen=False)
        with locked(engine.folder, 0, "deepen-dense.lock"):
            with pytest.raises(IndexBusy, match=f"process {os.getpid()} .* is embedding") as busy:
                engine.deepen(strict=True)
            assert "wait" in busy.value.hint
            (warning,) = engine.sync([write({"new.md": "# New\n\nLater.\n"})]).warnings
            assert warning.path == "dense"
            assert "is embedding" in warning.reason
        assert engine.deepen(strict=True).embedded == 21


@pytest.mark.parametrize("harm", ["gone", "broken"])
def test_a_model_that_cannot_be_loaded_is_an_error_where_nothing_else_is_wanted(
    tmp_path: Path, write: Any, harm: str
) -> None:
    model = tmp_path / "model"
    if harm == "broken":
        model.mkdir()
        (model / "model.onnx").write_bytes(b"no graph")
        (model / "tokenizer.json").write_bytes(b"{}")
    with opened(tmp_path, EMBED__ONNX__MODEL=str(model)) as engine:
        assert [warning.path for warning in engine.sync([write(PAGES)]).warnings] == ["dense"]
        assert engine.deepen().warnings
        with pytest.raises(ModelProblem) as problem:
            engine.deepen(strict=True)
        assert problem.value.hint
        (ill,) = [check for check in engine.doctor() if not check.ok]
        assert ill.name == "dense model"
        assert str(model) in ill.detail


def test_a_share_is_rounded_down() -> None:
    assert [percent(share) for share in (0.0, 0.29, 0.899, 524 / 525, 1.0)] == ["0%", "29%", "89%", "99%", "100%"]


def test_an_interrupt_while_vectors_are_being_kept_loses_none(
    tmp_path: Path, write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Embeddings.put_many
    interrupts = [KeyboardInterrupt]

    def interrupted(*arguments: Any) -> Any:
        if interrupts:
            raise interrupts.pop()
        return put(*arguments)

    with opened(tmp_path, INDEX__DENSE="hashed") as engine:
        engine.sync([write(PAGES)], deepen=False)
        monkeypatch.setattr(Embeddings, "put_many", interrupted)
        with pytest.raises(KeyboardInterrupt):
            engine.deepen()
        report = engine.deepen()
        assert (report.embedded, report.cached) == (0, 20)


def test_after_ctrl_c_nothing_is_embedded_again(tmp_path: Path, write: Any, endpoint: Endpoint) -> None:
    vault = write(PAGES)
    with opened(tmp_path, **endpoint.settings) as engine:
        engine.sync([vault], deepen=False)
    settings = {**endpoint.settings, "EMBED__OPENAI__BATCH": "4"}
    environ = os.environ | {f"WATERSMEET__{key}": value for key, value in settings.items()}
    command = [sys.executable, "-c", COMMAND, "deepen", "--index", str(tmp_path / "index")]
    left, calls = threading.Event(), iter(range(100))

    def stop_the_fourth() -> None:
        if next(calls) == 3:  # the first asks for the size
            process.send_signal(signal.SIGINT)
            left.wait(20)

    endpoint.before = stop_the_fourth
    process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=tmp_path)
    _, said = process.communicate(timeout=60)
    assert (process.returncode, b"stopped" in said) == (130, True), said
    had = {text for text in endpoint.answered if text != "dimension"}
    assert len(had) == 8
    left.set()
    endpoint.before = lambda: None
    with opened(tmp_path, **endpoint.settings) as engine:
        report = engine.deepen()
        assert (report.embedded, report.cached, covered(engine)) == (12, 8, 1.0)
    assert {endpoint.answered[text] for text in had} == {1}
