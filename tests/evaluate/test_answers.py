"""`eval --ask`: figures of answers, beside the first five results as they are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.evaluate.answers import Asked, measure_answers, summary, word_recall
from watersmeet.evaluate.data import Question
from watersmeet.face.cli.main import run
from watersmeet.testing import ScriptedChat


def test_the_figures() -> None:
    right = [
        Asked(frozenset("a"), ("a", "b"), False, True, 10),
        Asked(frozenset("a"), ("c",), False, False, 20),
        Asked(frozenset("a"), (), True, False, 0),
    ]
    wrong = [Asked(frozenset(), (), True, False, 0), Asked(frozenset(), ("a",), False, True, 9)]
    found = summary(right, wrong)
    assert found["citation_precision"] == pytest.approx(1 / 3, abs=1e-3)
    assert found["answer_recall"] == pytest.approx(1 / 3, abs=1e-3)
    assert found["refused"] == pytest.approx(1 / 3, abs=1e-3)
    assert (found["foreign_refused"], found["supported"], found["tokens"]) == (0.5, 0.5, 15)
    assert summary([], [])["citation_precision"] is None


def test_words_of_a_gold_answer() -> None:
    assert word_recall("Keys are rotated.", "Rotate the keys every quarter") == pytest.approx(0.5)
    assert word_recall("anything", "") == 0.0


def test_ask_refuses_where_the_plain_way_answers(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    questions = [Question("1", "how do I rotate keys?", {"guides/keys.md": 1}), Question("2", "operas by Bizet", {})]
    found = measure_answers(engine, questions, ["capital of France"])
    assert (found["questions"], found["foreign"], found["model"]) == (1, 2, "extractive")
    assert (found["ask"]["answer_recall"], found["ask"]["foreign_refused"]) == (1.0, 1.0)
    assert found["top 5"]["foreign_refused"] == 0.0
    chat = ScriptedChat(always="Keys are rotated every quarter [1]. They sing [2].")
    by_model = measure_answers(engine, questions[:1], chat=chat)
    assert by_model["ask"]["citation_precision"] == 1.0  # what is not checked is not counted
    assert by_model["top 5"]["citation_precision"] <= 1.0
    assert by_model["ask"]["tokens"] > 0


@pytest.mark.slow
def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("WATERSMEET__INDEX__VECTORS", "false")
    corpus = [{"_id": f"d{n}", "title": f"Note {n}", "text": f"The word{n} stone lies in the river."} for n in range(8)]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(one) + "\n" for one in corpus))
    queries = [{"_id": f"q{n}", "text": f"where does the word{n} stone lie?"} for n in range(8)]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(one) + "\n" for one in queries))
    lines = ["query-id\tcorpus-id\tscore", *(f"q{n}\td{n}\t1" for n in range(8))]
    (tmp_path / "qrels.tsv").write_text("\n".join(lines) + "\n")
    assert run(["eval", str(tmp_path), "--ask", "--json", "--limit", "4"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["questions"], found["model"]) == (4, "extractive")
    assert found["ask"]["answer_recall"] == 1.0
    assert run(["eval", str(tmp_path), "--ask", "--quiet"]) == 0
    assert "citation_precision\t" in capsys.readouterr().out
    assert run(["eval", "--ask", "--from-corpus"]) == 2


def test_answers_are_judged_by_document(
    engine: Engine, vault: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine.sync([vault])
    checks = tmp_path / "checks.jsonl"
    checks.write_text('{"query": "how do I rotate keys?", "expect": ["guides/keys.md#Keys"]}\n')
    assert run(["eval", str(checks), "--ask", "--index", engine.folder]) == 2
    assert "documents count here: name 'guides/keys.md'" in capsys.readouterr().err
