from __future__ import annotations

from pathlib import Path

import pytest

from watersmeet.core.errors import SourceProblem
from watersmeet.evaluate.judgements import read_judgements

WANTED = [("rotate keys", {"guides/keys.md": 1.0, "tides.md": 0.0}), ("ports", {"guides/setup.md": 2.0})]


def test_lines_of_json(tmp_path: Path) -> None:
    path = tmp_path / "judged.jsonl"
    path.write_text(
        '{"query": "rotate keys", "document": "guides/keys.md"}\n\n'
        '{"query": "ports", "document": "guides/setup.md", "relevance": 2}\n'
        '{"query": "rotate keys", "document": "tides.md", "relevance": 0}\n'
    )
    assert read_judgements(path) == WANTED


def test_tabs_with_and_without_a_first_line_of_names(tmp_path: Path) -> None:
    lines = "rotate keys\tguides/keys.md\nports\tguides/setup.md\t2\nrotate keys\ttides.md\t0\n"
    for name, head in (("a.tsv", ""), ("b.tsv", "query\tdocument\trelevance\n")):
        (tmp_path / name).write_text(head + lines)
        assert read_judgements(tmp_path / name) == WANTED


JSON = '{"query": "ports", "document": "guides/setup.md"}\n'
TABS = "ports\tguides/setup.md\t1\n"
LINES = '{"query": "ports", "expect": ["guides/setup.md"]}\n'
TOML = '# checks\n\n[[query]]\nquery = "ports"\nexpect = ["guides/setup.md"]\n'
INLINE = 'query = [{ query = "ports", expect = ["guides/setup.md"] }]\n'


@pytest.mark.parametrize("content", [JSON, TABS, LINES, TOML, INLINE])
@pytest.mark.parametrize("name", ["judged", "judged.json", "judged.txt", "judged.tsv", "judged.jsonl"])
def test_what_a_file_holds_says_what_it_is(tmp_path: Path, name: str, content: str) -> None:
    for mark in ("", "\ufeff"):
        (tmp_path / name).write_text(mark + content, "utf8")
        assert read_judgements(tmp_path / name) == [("ports", {"guides/setup.md": 1.0})]


@pytest.mark.parametrize("content", [None, "", "ports", '[{"query": "ports"}]'])
def test_the_hint_names_all_the_forms(tmp_path: Path, content: str | None) -> None:
    if content is not None:
        (tmp_path / "judged.txt").write_text(content)
    with pytest.raises(SourceProblem) as error:
        read_judgements(tmp_path / "judged.txt")
    for form in ('{"query"', "<TAB>", "TOML", "`expect`", "BEIR"):
        assert form in error.value.hint


def test_fixtures_and_datasets_do_as_well(tmp_path: Path, beir: Path) -> None:
    (tmp_path / "checks.jsonl").write_text('{"query": "ports", "expect": ["guides/setup.md"]}\n')
    assert read_judgements(tmp_path / "checks.jsonl") == [("ports", {"guides/setup.md": 1.0})]
    assert len(read_judgements(beir)) == 40


@pytest.mark.parametrize("text", ["{", '{"query": 1, "document": "a"}', '{"document": "a"}', '"x"', ""])
def test_what_is_no_judgement_is_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "judged.jsonl"
    path.write_text(f"{text}\n")
    with pytest.raises(SourceProblem):
        read_judgements(path)
