"""`watersmeet ask`, as a person or a script starts it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

Run = Callable[..., Any]
Ask = Callable[..., Any]
QUESTION = "how do I rotate keys?"


def test_an_answer_with_its_sources(run: Run) -> None:
    done = run("ask", QUESTION)
    assert (done.returncode, done.stderr) == (0, "")
    text, sources = done.stdout.rsplit("\n\n", 1)
    assert "Rotate keys every quarter with `rotate_keys(user_id)`. [1]" in text
    assert "[1] guides/keys.md:1" in sources
    assert run("ask", QUESTION, "--stream").stdout == done.stdout


def test_json_is_as_the_contract_says(ask: Ask) -> None:
    found = ask("ask", QUESTION, "--stream")
    assert set(found) >= {
        "question", "answer", "citations", "supported", "model", "no_good_match", "confidence", "took_ms"
    }  # fmt: skip
    assert set(found["citations"][0]) >= {"n", "id", "document", "where", "quote", "checked"}
    assert found["model"] == "extractive"


def test_nothing_that_fits_is_exit_code_1(run: Run, ask: Ask) -> None:
    done = run("ask", "which operas did Bizet compose?")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.startswith("The documents do not say.")
    assert ask("ask", "which operas did Bizet compose?", code=1)["no_good_match"]


def test_a_greeting(run: Run) -> None:
    assert run("ask", "hello").returncode == 0


def test_a_history_is_read_and_extended(ask: Ask, run: Run, tmp_path: Path) -> None:
    file = tmp_path / "talk.json"
    ask("ask", "How do I rotate keys?", "--history", str(file))
    found = ask("ask", "when should I do that?", "--history", str(file))
    assert found["query"] == "when should I rotate keys?"
    turns = json.loads(file.read_text("utf8"))
    assert [turn["question"] for turn in turns] == ["How do I rotate keys?", "when should I do that?"]
    file.write_text(json.dumps([{"question": f"q{n}", "answer": "a"} for n in range(10)]), "utf8")
    ask("ask", QUESTION, "--history", str(file))
    turns = json.loads(file.read_text("utf8"))
    assert len(turns) == 10
    assert turns[-1]["question"] == QUESTION
    assert turns[0]["question"] == "q1"


@pytest.mark.parametrize("content", ["{", "{}", '[{"answer": "x"}]', '[{"question": 1}]', "[3]", '[{"question": ""}]'])
def test_a_file_that_is_no_history_is_an_error_and_stays_as_it_is(run: Run, tmp_path: Path, content: str) -> None:
    file = tmp_path / "talk.json"
    file.write_text(content, "utf8")
    done = run("ask", QUESTION, "--history", str(file))
    assert done.returncode == 2
    assert "no history" in done.stderr
    assert file.read_text("utf8") == content


def test_a_folder_without_an_index(run: Run, fresh: Path) -> None:
    done = run("ask", QUESTION, "--in", str(fresh), cwd=fresh)
    assert done.returncode == 0
    assert "[1] guides/keys.md" in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("ask", QUESTION, "--budget", "0"), "budget"),
        (("ask", QUESTION, "--budget", "1"), "smallest budget"),
        (("ask",), "QUESTION"),
        (("ask", " "), "empty"),
        (("ask", QUESTION, "--in", ".", "--index", "x"), "cannot be combined"),
    ],
)
def test_misuse(run: Run, arguments: tuple[str, ...], said: str) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert said in done.stderr


def test_a_model_that_cannot_be_reached_is_an_error_with_a_hint(run: Run) -> None:
    environ = {
        "WATERSMEET__ASK__CHAT": "openai",
        "WATERSMEET__CHAT__OPENAI__BASE_URL": "http://127.0.0.1:9/v1",
        "WATERSMEET__CHAT__OPENAI__RETRIES": "0",
    }
    done = run("ask", QUESTION, **environ)
    assert done.returncode == 2
    assert "hint" in done.stderr


def test_classify_says_whether_documents_are_needed(ask: Ask) -> None:
    found = ask("classify", "hello, thanks")
    assert (found["needs_retrieval"], found["question_type"]) == (False, "conversation")
    found = ask("classify", QUESTION)
    assert (found["needs_retrieval"], found["question_type"], found["complexity"]) == (True, "procedural", "simple")
    assert 0 < found["confidence"] <= 1
