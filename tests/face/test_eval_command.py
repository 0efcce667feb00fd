"""`watersmeet eval` and `search --budget` as they are typed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from watersmeet.core.errors import ConfigError, SourceProblem
from watersmeet.face.cli.main import cli


@pytest.fixture(autouse=True)
def here(vault: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an index of the vault, and words only."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WATERSMEET__INDEX__VECTORS", "false")
    assert run("sync", "vault", "-q").exit_code == 0
    return tmp_path


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


def fixtures(here: Path) -> str:
    queries = [
        "rotate keys",
        "TRN-1042",
        "key expired",
        "quarter",
        "user_id",
        "every quarter",
        "rotate_keys",
        "expired",
    ]
    text = "".join(f'[[query]]\nquery = "{query}"\nexpect = ["guides/keys.md"]\n' for query in queries)
    (here / "checks.toml").write_text(text)
    return "checks.toml"


def test_fixtures_save_and_gate(here: Path) -> None:
    checks = fixtures(here)
    first = run("eval", checks, "--json", "--save", "main.json", "--run-out", "own.run")
    assert first.exit_code == 0, first.output
    report = json.loads(first.stdout)
    assert report["queries"] == 8
    assert report["metrics"]["hit@1"] == 1.0
    held = run(
        "eval", checks, "--gate", "main.json", "--against-run", "own.run", "--report", "r.md", "--report", "r.html"
    )
    assert held.exit_code == 0, held.output
    assert "gate passed" in held.stdout
    assert "No significant difference from own.run" in held.stdout
    assert (here / "r.md").read_text().startswith("# Evaluation: checks")
    assert "<svg" in (here / "r.html").read_text()


@pytest.mark.slow
def test_a_regression_is_exit_code_1_and_is_not_saved_over(here: Path) -> None:
    checks = fixtures(here)
    assert run("eval", checks, "--save", "main.json", "-q").exit_code == 0
    before = (here / "main.json").read_text()
    (here / "vault/guides/keys.md").write_text("# Other\n\nAll that was known is gone.\n")
    assert run("sync", "vault", "-q").exit_code == 0
    failed = run("eval", checks, "--gate", "main.json", "--save", "main.json")
    assert failed.exit_code == 1
    assert "gate FAILED" in failed.stdout
    assert "TRN-1042  (1.000 -> 0.000)" in failed.stdout
    assert (here / "main.json").read_text() == before
    assert json.loads(run("eval", checks, "--gate", "main.json", "--json").stdout)["gate"]["passed"] is False


def test_a_handful_of_queries_that_collapse_fail_the_gate_and_too_few_are_said(here: Path) -> None:
    (here / "few.jsonl").write_text('{"query": "TRN-1042", "expect": ["guides/keys.md"]}\n')
    assert run("eval", "few.jsonl", "--save", "main.json", "-q").exit_code == 0
    passed = run("eval", "few.jsonl", "--gate", "main.json", "--report", "r.md")
    assert passed.exit_code == 0
    assert "0 of 1 queries changed: too few for a test" in passed.stdout
    assert "too few for a test" in (here / "r.md").read_text()
    (here / "vault/guides/keys.md").write_text("# Other\n\nAll that was known is gone.\n")
    assert run("sync", "vault", "-q").exit_code == 0
    failed = run("eval", "few.jsonl", "--gate", "main.json")
    assert (failed.exit_code, "gate FAILED" in failed.stdout) == (1, True)
    held = json.loads(run("eval", "few.jsonl", "--gate", "main.json", "--json").stdout)["gate"]
    assert (held["passed"], held["few"], held["queries"], held["lost"]) == (False, True, 1, 1)


def test_a_dataset_is_not_asked_of_an_index_of_something_else(here: Path) -> None:
    (here / "data").mkdir()
    (here / "data/corpus.jsonl").write_text('{"_id": "d1", "text": "knead the dough"}\n')
    (here / "data/queries.jsonl").write_text('{"_id": "q1", "text": "dough"}\n')
    (here / "data/qrels.tsv").write_text("q1\td1\t1\n")
    assert json.loads(run("eval", "data", "--json").stdout)["metrics"]["hit@1"] == 1.0
    refused = run("eval", "data", "--index", ".watersmeet")
    assert isinstance(refused.exception, SourceProblem)
    assert "has only 0 of the 1 documents" in str(refused.exception)
    assert run("sync", "data/corpus.jsonl", "--index", "own", "-q").exit_code == 0
    assert run("eval", "data", "--index", "own").exit_code == 0


def test_from_corpus(here: Path) -> None:
    found = run("eval", "--from-corpus", "--queries", "5", "--seed", "3")
    assert found.exit_code == 0, found.output
    assert "They do not show" in found.stdout
    assert "class title" in found.stdout
    first, second = (run("eval", "--from-corpus", "--json").stdout for _ in range(2))
    assert json.loads(first)["metrics"] == json.loads(second)["metrics"]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("words", "error"),
    [
        (["eval"], ConfigError),
        (["eval", "checks.toml", "--from-corpus"], ConfigError),
        (["eval", "nowhere"], SourceProblem),
        (["eval", "vault"], SourceProblem),
        (["eval", "--from-corpus", "--report", "r.pdf"], ConfigError),
        (["eval", "--from-corpus", "--report", "no/such/folder/r.md"], SourceProblem),
    ],
)
def test_what_cannot_be_done_is_an_error_that_says_so(words: list[str], error: type[Exception]) -> None:
    failed = run(*words)
    assert isinstance(failed.exception, error), failed.output
    assert failed.exception.hint or "folder" in str(failed.exception)


@pytest.mark.slow
def test_a_pack_is_printed_with_citations_and_keeps_its_budget() -> None:
    shown = run("search", "rotate keys", "--budget", "120")
    assert shown.exit_code == 0
    assert shown.stdout.startswith("### [1] Keys")
    assert "(guides/keys.md:" in shown.stdout
    answer = json.loads(run("search", "rotate keys", "--budget", "500", "--json").stdout)
    assert answer["pack"]["tokens"] <= 120
    assert answer["pack"]["citations"][0]["document"] == answer["results"][0]["document"] == "guides/keys.md"
    assert answer["pack"]["text"] == shown.stdout.strip()
    assert "pack" not in json.loads(run("search", "rotate keys", "--json").stdout)
    assert run("search", "zebra", "--budget", "120").exit_code == 1


def test_csv_has_a_row_for_every_query(here: Path) -> None:
    made = run("eval", fixtures(here), "--csv", "rows.csv")
    assert made.exit_code == 0, made.output
    head = made.stdout.splitlines()[1].split("\t")
    assert {"ndcg@10", "recall@100", "mrr@10", "hit@1", "pack@500", "hit@5", "recall@10", "precision@5"} <= set(head)
    lines = (here / "rows.csv").read_text("utf8").splitlines()
    assert lines[0].startswith("id,query,classes,relevant,rank,first,confidence,no_good_match,ndcg@10,")
    assert len(lines) == 1 + 8


def test_csv_that_cannot_be_written_is_an_error(here: Path) -> None:
    made = run("eval", fixtures(here), "--csv", "no/such/folder/rows.csv")
    assert isinstance(made.exception, SourceProblem)
    assert "no/such/folder/rows.csv cannot be written" in str(made.exception)
