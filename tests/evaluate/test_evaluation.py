"""A dataset through a real engine: what is measured, compared, saved and held against what was."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

import watersmeet.signal
from watersmeet import Engine
from watersmeet.core.errors import ConfigError, SourceProblem
from watersmeet.core.model import Request
from watersmeet.engine.settings.settings import Settings, load
from watersmeet.engine.sync.report import Progress
from watersmeet.evaluate.data import load as load_dataset
from watersmeet.evaluate.evaluation import Evaluation, evaluate, to_json
from watersmeet.evaluate.index import cached
from watersmeet.evaluate.metrics import NAMES
from watersmeet.evaluate.run import WHOLE
from watersmeet.evaluate.saved import gate, save
from watersmeet.evaluate.trec import write_run
from watersmeet.present.pack import pack

pytestmark = pytest.mark.slow

SHUFFLED = '''
import random
from dataclasses import dataclass
from watersmeet.core.model import Hit, Ranking
from watersmeet.core.ports import Words
from watersmeet.signal.lexical import Lexical

@dataclass(frozen=True)
class Shuffled:
    """The lexical signal, broken: its scores are dealt out at random."""
    words: Words

    def rank(self, plan):
        hits = Lexical(self.words).rank(plan).hits
        scores = [hit.score for hit in hits]
        random.Random(plan.text).shuffle(scores)
        return Ranking.of("shuffled", [Hit(hit.chunk, score) for hit, score in zip(hits, scores)])
'''


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """Settings in which a signal with shuffled scores votes instead of the lexical one."""
    folder = tmp_path / "plugin"
    folder.mkdir()
    (folder / "shuffled.py").write_text(SHUFFLED)
    monkeypatch.setattr(watersmeet.signal, "__path__", [*watersmeet.signal.__path__, str(folder)])
    return load(flags={"index": {"vectors": False}, "pipeline": {"signals": ["shuffled"]}})


def saved(evaluation: Evaluation, file: Path) -> Path:
    save(file, evaluation.questions, evaluation.quality, evaluation.per_query(), {"dataset": "tiny"})
    return file


def test_the_report_has_what_the_contract_names(beir: Path, settings: Settings) -> None:
    report = to_json(evaluate(load_dataset(beir), settings))
    assert (report["dataset"], report["documents"], report["queries"]) == ("tiny", 60, 40)
    assert (report["recipe"], report["mode"]) == ("default", "lexical")
    assert tuple(report["metrics"]) == NAMES
    assert set(report["signals"]) == {"lexical", "exact"}
    assert tuple(report["signals"]["lexical"]) == NAMES
    assert report["classes"]["even"]["queries"] == report["classes"]["odd"]["queries"] == 20
    assert 0 < report["latency_ms"]["p50"] <= report["latency_ms"]["p95"]
    assert report["peak_memory_mb"] > 10
    assert report["failures"] == report["warnings"] == []
    low, high = report["intervals"]["fused"]
    assert low <= report["metrics"]["ndcg@10"] <= high
    assert 0.3 < report["metrics"]["ndcg@10"] < 1.0
    json.dumps(report)


def test_figures_are_those_of_the_search_that_users_get(beir: Path, settings: Settings) -> None:
    dataset = load_dataset(beir)
    made = evaluate(dataset, settings)
    assert dataset.corpus is not None
    with Engine(cached("tiny", dataset.corpus, settings), settings) as engine:
        for number, question in enumerate(dataset.questions):
            results = engine.search(Request(question.text, top_n=100)).results
            found = list(dict.fromkeys(result.document for result in results))
            assert tuple(found) == made.run.rankings["fused"][number]
            packed = {c.document for c in pack(results, 500).citations}
            assert made.run.packs["fused"][number][0] == bool(packed & set(question.relevant))


def test_the_second_run_does_not_index_again(beir: Path, settings: Settings, tmp_path: Path) -> None:
    dataset = load_dataset(beir)

    def doing() -> set[str]:
        seen: list[Progress] = []
        evaluate(dataset, settings, progress=seen.append)
        assert (seen[-1].doing, seen[-1].done, seen[-1].unit) == ("asking", 40, "queries")
        return {step.doing for step in seen}

    assert doing() > {"asking"}
    assert doing() == {"asking"}
    text = (beir / "corpus.jsonl").read_text()
    (beir / "corpus.jsonl").write_text(text.replace("d59", "d59x"))
    dataset = load_dataset(beir)
    assert doing() > {"asking"}


def test_an_interrupted_index_is_finished(beir: Path, settings: Settings) -> None:
    dataset = load_dataset(beir)
    assert dataset.corpus is not None
    elsewhere = beir / "other.jsonl"
    elsewhere.write_text('{"_id": "x", "text": "left over"}\n')
    with Engine(cached("tiny", dataset.corpus, settings), settings) as engine:
        engine.sync([elsewhere])
    assert to_json(evaluate(dataset, settings))["documents"] == 60


def test_a_damaged_cache_is_made_anew(beir: Path, settings: Settings) -> None:
    dataset = load_dataset(beir)
    first = to_json(evaluate(dataset, settings))["metrics"]
    assert dataset.corpus is not None
    folder = cached("tiny", dataset.corpus, settings)
    (folder / "dataset.json").unlink()
    (folder / "catalogue.db").write_bytes(b"not a database at all" * 100)
    assert to_json(evaluate(dataset, settings))["metrics"] == first


def test_against_another_recipe_with_its_explanation(beir: Path, settings: Settings, broken: Settings) -> None:
    dataset = load_dataset(beir)
    comparison = to_json(evaluate(dataset, settings, mode="hybrid", against=broken))["comparison"]
    assert comparison["delta"] > 0.1
    assert comparison["low"] > 0
    assert comparison["p"] < 0.05
    assert comparison["won"] > comparison["lost"]
    best = comparison["best"][0]
    assert best["delta"] == max(row["delta"] for row in comparison["best"])
    document = best["relevant"][0]
    assert set(document["ours"]) == {"fused", "lexical", "exact"}
    assert set(document["theirs"]) == {"fused", "shuffled"}
    assert document["ours"]["fused"] < (document["theirs"]["fused"] or 101)


def test_against_itself_as_a_run_file(beir: Path, settings: Settings, tmp_path: Path) -> None:
    dataset = load_dataset(beir)
    file = tmp_path / "own.run"
    first = evaluate(dataset, settings)
    write_run(file, dataset.questions, first.run)
    report = to_json(evaluate(dataset, settings, against_run=str(file)))
    comparison = report["comparison"]
    assert (comparison["against"], comparison["delta"], comparison["p"]) == ("own.run", 0.0, 1.0)
    assert (comparison["won"], comparison["lost"], comparison["best"], comparison["worst"]) == (0, 0, [], [])
    lines = file.read_text().splitlines()
    file.write_text("\n".join(line for line in lines if not line.startswith("q0 ")))
    assert "lacks 1 queries" in " ".join(to_json(evaluate(dataset, settings, against_run=str(file)))["warnings"])


@pytest.mark.parametrize(
    ("content", "reason"), [("nonsense\n", "TREC run format"), ("zz Q0 d1 1 0.5 x\n", "none of the dataset's queries")]
)
def test_a_bad_run_file_is_refused(beir: Path, settings: Settings, tmp_path: Path, content: str, reason: str) -> None:
    file = tmp_path / "bad.run"
    file.write_text(content)
    with pytest.raises(SourceProblem, match=reason):
        evaluate(load_dataset(beir), settings, against_run=str(file))
    with pytest.raises(ConfigError, match="cannot be combined"):
        evaluate(load_dataset(beir), settings, against=settings, against_run=str(file))


def test_the_gate_catches_shuffled_scores(beir: Path, settings: Settings, broken: Settings, tmp_path: Path) -> None:
    dataset = load_dataset(beir)
    before = saved(evaluate(dataset, settings, mode="hybrid"), tmp_path / "before.json")
    again = evaluate(dataset, settings, mode="hybrid")
    assert gate(before, again.questions, again.quality, 0).passed
    worse = evaluate(dataset, broken, mode="hybrid")
    held = gate(before, worse.questions, worse.quality, 0)
    assert not held.passed
    assert held.to_json()["queries_lost"][0]["delta"] < -0.3
    assert held.difference.high < 0
    better = gate(saved(worse, tmp_path / "worse.json"), again.questions, again.quality, 0)
    assert better.passed
    assert better.difference.better


def test_the_gate_wants_the_same_queries(beir: Path, settings: Settings, tmp_path: Path) -> None:
    made = evaluate(load_dataset(beir), settings)
    file = saved(made, tmp_path / "before.json")
    with pytest.raises(SourceProblem, match="0 are new and 30 are gone"):
        gate(file, made.questions[:10], made.quality[:10], 0)
    for content in ("", "[]", '{"version": 1, "queries": {"q0": {}}}'):
        file.write_text(content)
        with pytest.raises(SourceProblem, match="not a saved evaluation"):
            gate(file, made.questions, made.quality, 0)
    with pytest.raises(SourceProblem, match="cannot be read"):
        gate(tmp_path / "none.json", made.questions, made.quality, 0)


FIXTURES = """
[[query]]
query = "rotate keys"
expect = ["guides/keys.md"]
[[query]]
query = "TRN-1042"
expect = ["guides/keys.md"]
class = "codes"
[[query]]
query = "zebra xylophone"
expect = []
[[query]]
query = "which port?"
expect = []
"""


def fixtures(tmp_path: Path, content: str = FIXTURES) -> Path:
    file = tmp_path / "checks.toml"
    file.write_text(content)
    return file


def test_fixtures_against_an_index_that_there_is(linked: Engine, tmp_path: Path) -> None:
    made = evaluate(load_dataset(fixtures(tmp_path)), linked.settings, mode="lexical", index=linked.folder)
    report: dict[str, Any] = to_json(made)
    assert report["queries"] == 4
    assert report["metrics"]["hit@1"] == 1.0
    assert report["classes"]["codes"]["queries"] == 1
    assert report["expected_nothing"] == {"queries": 2, "share": 0.5}
    assert made.quality == [1.0, 1.0, 1.0, 0.0]
    risks = {point["coverage"]: point["risk"] for point in report["confidence"]["risk_coverage"]}
    assert (risks[0.5], risks[1.0]) == (0.0, 0.5)
    made.run.flagged[3] = True  # something was found, and said not to fit
    assert to_json(made)["expected_nothing"]["share"] == 1.0
    assert made.quality[3] == 1.0


SECTIONS = """
[[query]]
query = "the key has expired"
expect = ["guides/keys.md#Errors"]
[[query]]
query = "share keys between machines"
expect = ["guides/keys.md#Keys > Errors", "guides/setup.md"]
"""


def test_where_a_section_is_expected_its_document_is_not_enough(linked: Engine, tmp_path: Path) -> None:
    made = evaluate(load_dataset(fixtures(tmp_path, SECTIONS)), linked.settings, mode="lexical", index=linked.folder)
    expired, shared = made.run.rankings[WHOLE]
    assert expired[0] == "guides/keys.md#Errors"
    assert shared[0] == "guides/keys.md#Keys"  # the right document, but not that section
    assert made.scores[WHOLE]["hit@1"] == [1.0, 0.0]
    assert {"guides/keys.md#Keys > Errors", "guides/setup.md"} & set(shared)
    whole = fixtures(tmp_path, SECTIONS.replace("#Keys > Errors", "").replace("#Errors", ""))
    made = evaluate(load_dataset(whole), linked.settings, mode="lexical", index=linked.folder)
    assert made.scores[WHOLE]["hit@1"] == [1.0, 1.0]


def test_a_fixture_that_expects_an_unknown_document_is_refused(linked: Engine, tmp_path: Path) -> None:
    file = fixtures(tmp_path, FIXTURES.replace("guides/keys.md", "guides/kees.md"))
    with pytest.raises(SourceProblem, match=r"kees\.md") as error:
        evaluate(load_dataset(file), linked.settings, index=linked.folder)
    assert "guides/keys.md" in error.value.hint


def test_the_cache_is_in_the_users_cache_folder(beir: Path, settings: Settings, home: Path) -> None:
    evaluate(load_dataset(beir), settings)
    assert [name.split("-")[0] for name in os.listdir(home / "cache" / "watersmeet" / "eval")] == ["tiny"]


def test_sparse_vectors_that_are_measured_are_made_first(beir: Path, tmp_path: Path) -> None:
    data = load_dataset(beir)
    asked = load(flags={"index": {"static": "", "dense": ""}})
    own = evaluate(data, asked, mode="sparse")
    assert (own.run.mode, dict(own.run.failures)) == ("sparse", {})
    named = tmp_path / "named"
    with Engine(named, asked) as engine:
        engine.sync([data.corpus])
        assert "sparse" not in engine.status()["signals"]
    other = evaluate(data, asked, mode="sparse", index=str(named))
    assert (other.run.mode, dict(other.run.failures)) == ("sparse", {})
    assert other.quality == own.quality
