"""Search by meaning: offline, never in the way, and honest when a model is not there."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import watersmeet_granite_30m

from watersmeet import Engine
from watersmeet.core.errors import Degraded
from watersmeet.core.model import Condition, Request
from watersmeet.engine import models
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync import deepen as deepening

pytestmark = pytest.mark.model

HANDBOOK = Path(__file__).parents[3] / "examples" / "handbook"


def opened(index: Path, **environ: str) -> Engine:
    names = {f"WATERSMEET__{key}": value for key, value in environ.items()}
    return Engine(index, load(start=str(index.parent), environ=names))


def documents(engine: Engine, query: str, mode: str, top_n: int = 5) -> list[str]:
    answer = engine.search(Request(query, mode=mode, top_n=top_n))
    assert answer.mode == mode, answer.failures
    return [result.document for result in answer.results]


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        with opened(tmp_path_factory.mktemp("handbook") / "index") as engine:
            report = engine.sync([HANDBOOK])
            assert report.embedded == report.chunks > 30
            yield engine


def test_the_fingerprint_names_the_models(handbook: Engine) -> None:
    status = handbook.status()
    for name in ("static", "dense"):
        assert status["fingerprint"][f"{name}.model"] == status["signals"][name]["model"]
        assert status["fingerprint"][f"{name}.dimension"] > 0


def test_log_on_finds_sign_in_by_meaning_and_not_by_words(handbook: Engine) -> None:
    assert "accounts/sign-in.md" in documents(handbook, "how do I log on?", "dense")
    assert "accounts/sign-in.md" not in documents(handbook, "how do I log on?", "lexical")


def test_hybrid_is_what_an_index_with_vectors_does(handbook: Engine) -> None:
    answer = handbook.search("how do I log on?")
    assert answer.mode == "hybrid"
    assert {e.by for r in answer.results for e in r.evidence} >= {"lexical", "static", "dense"}
    assert all(-1 <= (r.similarity or 0) <= 1 for r in answer.results)
    assert any(r.similarity for r in answer.results)
    assert handbook.search(Request("TRN-1042", mode="lexical")).results[0].similarity is None


@pytest.mark.parametrize("mode", ["static", "dense", "hybrid", "lexical", "exact"])
def test_conditions_hold_in_every_mode(handbook: Engine, mode: str) -> None:
    condition = Condition({"path": ("accounts/**",)})
    answer = handbook.search(Request("TRN-2007 how do I log on?", mode=mode, condition=condition))
    assert answer.results
    assert all(result.document.startswith("accounts/") for result in answer.results)


def test_a_query_of_punctuation_means_nothing(handbook: Engine) -> None:
    assert not handbook.search("?! ...").results


def test_lexical_search_loads_no_vector_code(handbook: Engine) -> None:
    code = (
        "import sys; from watersmeet.face.cli.main import cli\n"
        "cli.main(sys.argv[1:], standalone_mode=False)\n"
        "print(sorted({'numpy', 'onnxruntime', 'tokenizers', 'simsimd'} & set(sys.modules)))"
    )
    arguments = ["search", "TRN-1042", "--mode", "lexical", "--index", handbook.folder]
    out = subprocess.run([sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=True)
    assert out.stdout.splitlines()[-1] == "[]"


def test_words_first_and_vectors_later(tmp_path: Path) -> None:
    index = tmp_path / "index"
    with opened(index, INDEX__VECTORS="false") as engine:
        report = engine.sync([HANDBOOK])
        assert report.embedded == 0
        assert engine.search("sign in").mode == "lexical"
    with opened(index) as engine:
        report = engine.sync([HANDBOOK], deepen=False)
        assert (report.unchanged, report.embedded) == (23, report.chunks)
        signals = engine.status()["signals"]
        assert signals["static"]["coverage"] == 1.0
        assert signals["dense"]["coverage"] == 0.0
        assert engine.deepen().embedded == report.chunks
        assert engine.status()["signals"]["dense"] == {
            "coverage": 1.0, "model": "granite-30m", "rate": pytest.approx(100, abs=5000), "seconds_left": 0.0,
            "level": pytest.approx(0.65, abs=0.2),
        }  # fmt: skip


def test_nothing_is_embedded_twice(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    shutil.copytree(HANDBOOK, folder)
    with opened(tmp_path / "index") as engine:
        first = engine.sync([folder])
        assert engine.sync([folder]).embedded == 0
        page = folder / "accounts" / "sign-in.md"
        page.write_text(page.read_text("utf8") + "\nOne more sentence about credentials.\n", "utf8")
        assert engine.sync([folder]).embedded == 1
        assert engine.status()["signals"]["dense"]["coverage"] == 1.0
        again = engine.sync([folder], recreate=True)
        assert (again.added, again.embedded, again.chunks) == (23, 0, first.chunks)
        assert "accounts/sign-in.md" in documents(engine, "how do I log on?", "dense")


def test_what_is_deleted_is_not_near_any_more(tmp_path: Path) -> None:
    folder = tmp_path / "docs"
    shutil.copytree(HANDBOOK, folder)
    with opened(tmp_path / "index") as engine:
        engine.sync([folder])
        (folder / "accounts" / "sign-in.md").unlink()
        engine.sync([folder])
        assert "accounts/sign-in.md" not in documents(engine, "how do I log on?", "dense", 100)
        assert engine.compact(grace=0) > 0
        assert "accounts/sign-in.md" not in documents(engine, "how do I log on?", "static", 100)
        assert engine.status()["signals"]["dense"]["coverage"] == 1.0


def test_a_model_votes_when_it_has_seen_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stop(Exception): ...

    def stop(*_: object) -> None:
        raise Stop

    monkeypatch.setitem(deepening.WINDOWS, "dense", 10)
    with opened(tmp_path / "index") as engine:
        engine.sync([HANDBOOK], deepen=False)
        wanted = [r.id for r in engine.search(Request("container image", mode="lexical", top_n=3)).results]
        engine.search("container image")
        seen: list[int] = []
        with pytest.raises(Stop):
            engine.deepen(
                lambda step: seen.append(step.done) or (step.done and step.doing.endswith("(dense)") and stop())
            )
        share = engine.status()["signals"]["dense"]["coverage"]
        assert 0 < share < 0.9
        answer = engine.search("how do I log on?")
        assert answer.mode == "hybrid"
        assert not {"dense"} & {e.by for r in answer.results for e in r.evidence}
        with opened(tmp_path / "index", INDEX__MIN_COVERAGE=str(share)) as lenient:
            answer = lenient.search("how do I log on?")
            assert {"dense"} & {e.by for r in answer.results for e in r.evidence}
            forced = lenient.search(Request("how do I log on?", mode="dense", top_n=100))
            guesses = [e for r in forced.results for e in r.evidence if e.detail.get("estimated")]
            assert 0 < len(guesses) < len(forced.results) == engine.status()["chunks"]
            assert all(r.similarity is None for r in forced.results if r.evidence[0].detail.get("estimated"))
            real = {r.id for r in forced.results if not r.evidence[0].detail.get("estimated")}
            assert {*wanted} & real, "what queries retrieved is embedded first"


def granite(folder: Path) -> Path:
    shutil.copytree(watersmeet_granite_30m.PATH, folder, ignore=shutil.ignore_patterns("__*", "*.py"))
    return folder


def _delete(model: Path) -> None:
    shutil.rmtree(model)


def _truncate(model: Path) -> None:
    (model / "model.onnx").write_bytes((model / "model.onnx").read_bytes()[:100_000])


def _garble(model: Path) -> None:
    (model / "tokenizer.json").write_bytes(b"\xff\xfe not a tokenizer")


def _replace_by_a_folder(model: Path) -> None:
    (model / "model.onnx").unlink()
    (model / "model.onnx").mkdir()


@pytest.mark.parametrize("harm", [_delete, _truncate, _garble, _replace_by_a_folder])
def test_a_broken_model_is_named_and_survived(tmp_path: Path, harm) -> None:
    model = granite(tmp_path / "model")
    with opened(tmp_path / "index", EMBED__ONNX__MODEL=str(model)) as engine:
        engine.sync([HANDBOOK])
        assert engine.search("how do I log on?").failures == ()
    harm(model)
    models._instance.cache_clear()
    with opened(tmp_path / "index", EMBED__ONNX__MODEL=str(model)) as engine:
        answer = engine.search("how do I log on?")
        assert answer.mode == "hybrid"
        assert answer.results
        assert [failure.by for failure in answer.failures] == ["dense"]
        assert answer.failures[0].hint
        only = engine.search(Request("TRN-1042", mode="dense"))
        assert (only.mode, bool(only.results), only.failures[0].by) == ("lexical", True, "dense")
        with pytest.raises(Degraded, match="dense"):
            engine.search(Request("how do I log on?", strict=True))
        (tmp_path / "docs").mkdir()
        (tmp_path / "docs" / "new.md").write_text("# New\n\nWords are indexed without the model.\n")
        report = engine.sync([tmp_path / "docs"])
        assert report.added == 1
        assert [warning.path for warning in report.warnings] == ["dense"]
        assert engine.search(Request("without the model", mode="lexical")).results[0].document == "docs/new.md"


def test_another_model_is_refused_not_mixed(tmp_path: Path) -> None:
    with opened(tmp_path / "index", INDEX__DENSE="hashed") as engine:
        engine.sync([HANDBOOK])
    with opened(tmp_path / "index") as engine:
        answer = engine.search("how do I log on?")
        assert [failure.by for failure in answer.failures] == ["dense"]
        assert "hashed" in answer.failures[0].reason
        with pytest.raises(Exception, match="embedded with") as error:
            engine.sync([HANDBOOK])
        assert "--recreate" in error.value.hint
        engine.sync([HANDBOOK], recreate=True)
        assert not engine.search("how do I log on?").failures


class Endpoint(ThreadingHTTPServer):
    """An embedding server that can be told to fail."""

    calls = 0
    broken = False


class Handler(BaseHTTPRequestHandler):
    server: Endpoint

    def do_POST(self) -> None:
        self.server.calls += 1
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        status = 400 if self.server.broken else 200
        data = [{"index": i, "embedding": [1.0, float(len(text)), 2.0]} for i, text in enumerate(texts)]
        body = json.dumps({"data": data} if status == 200 else {"error": {"message": "out of order"}}).encode()
        self.send_response(status)
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


def test_a_failure_is_remembered_and_the_model_asked_again(
    tmp_path: Path, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"http://127.0.0.1:{endpoint.server_port}/v1"
    remote = {"INDEX__DENSE": "openai", "EMBED__OPENAI__BASE_URL": url, "EMBED__OPENAI__MODEL": "toy"}
    monkeypatch.setattr(models, "FIRST_PAUSE_SECONDS", 0.5)
    with opened(tmp_path / "index", **remote) as engine:
        engine.sync([HANDBOOK])
        endpoint.broken = True
        models._instance.cache_clear()
    with opened(tmp_path / "index", **remote) as engine:
        before = endpoint.calls
        for _ in range(50):
            answer = engine.search("how do I log on?")
            assert [failure.by for failure in answer.failures] == ["dense"]
        assert endpoint.calls - before <= 2  # the dimension or the query: one call, remembered
        endpoint.broken = False
        wait = threading.Event()
        for _ in range(60):
            wait.wait(0.1)
            answer = engine.search("how do I log on?")
            if not answer.failures:
                break
        assert not answer.failures
        assert answer.mode == "hybrid"
