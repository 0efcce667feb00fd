"""Datasets and fixtures: read as they are meant, or refused with a reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from watersmeet.core.errors import SourceProblem
from watersmeet.core.model import DocId, Passage
from watersmeet.core.place import Place
from watersmeet.evaluate.classes import classes_of, looks
from watersmeet.evaluate.data import check_indexed, load


def test_a_folder_in_beir_form(beir: Path) -> None:
    dataset = load(beir)
    assert (dataset.name, len(dataset.questions), len(dataset.ids)) == ("tiny", 40, 60)
    first = dataset.questions[0]
    assert (first.id, dict(first.relevant)) == ("q0", {"d0": 1})
    assert first.classes == ("even", "kind:conceptual", "length:sentence")


def test_a_limit_draws_the_same_questions_each_time(beir: Path) -> None:
    dataset = load(beir)
    drawn = [q.id for q in dataset.limited(10, 1).questions]
    assert drawn == [q.id for q in dataset.limited(10, 1).questions] != [q.id for q in dataset.limited(10, 2).questions]
    assert len(drawn) == 10
    assert dataset.limited(0, 1) is dataset.limited(1000, 1) is dataset


def test_queries_without_a_relevant_document_are_left_out_and_said(beir: Path) -> None:
    (beir / "qrels.tsv").write_text("q1 0 d1 2\nq2 0 d2 0\n")
    dataset = load(beir)
    assert [(q.id, dict(q.relevant)) for q in dataset.questions] == [("q1", {"d1": 2})]
    assert dataset.warnings == ("39 queries without a relevant document are left out",)


@pytest.mark.parametrize(
    ("file", "content", "reason"),
    [
        ("corpus.jsonl", None, "lacks corpus.jsonl"),
        ("qrels.tsv", None, "lacks qrels.tsv"),
        ("corpus.jsonl", "", "is empty"),
        ("queries.jsonl", "\n", "is empty"),
        ("queries.jsonl", "{not json\n", "line 1 is not JSON"),
        ("queries.jsonl", '{"_id": "q0"}\n', "line 1 has no _id and text"),
        ("qrels.tsv", "", "is empty"),
        ("qrels.tsv", "q0\td999\t1\n", "1 unknown documents: 'd999'"),
        ("qrels.tsv", "q0\td1\t1\nnobody\td1\t1\n", "1 unknown queries: 'nobody'"),
        ("qrels.tsv", "q0\td1\t1\nq1\td1\n", "line 2 is not"),
        ("qrels.tsv", "q0\td1\t0.5\n", "line 1 is not"),
        ("qrels.tsv", "query\tdocument\tscore\nq0\td1\t1\nq1\td1\t1.5\n", "line 3 is not"),
        ("qrels.tsv", "q0\td1\t0\n", "no relevant documents"),
    ],
)
def test_a_bad_folder_is_refused_with_a_reason(beir: Path, file: str, content: str | None, reason: str) -> None:
    (beir / file).unlink() if content is None else (beir / file).write_text(content)
    with pytest.raises(SourceProblem, match=reason) as error:
        load(beir)
    assert error.value.hint


FIXTURES = """
[[query]]
query = "how are keys rotated?"
expect = ["guides/keys.md"]
class = "howto"
[[query]]
id = "none"
query = "zebra"
expect = []
"""


def test_fixtures_in_toml_and_json_lines_are_the_same(tmp_path: Path) -> None:
    toml, lines = tmp_path / "checks.toml", tmp_path / "checks.jsonl"
    toml.write_text(FIXTURES)
    lines.write_text(
        '{"query": "how are keys rotated?", "expect": "guides/keys.md", "class": "howto"}\n'
        '{"id": "none", "query": "zebra", "expect": []}\n'
    )
    assert load(toml) == load(lines)
    rotated, nothing = load(toml).questions
    assert (rotated.id, dict(rotated.relevant), rotated.classes[0]) == (
        "how are keys rotated?",
        {"guides/keys.md": 1},
        "howto",
    )
    assert (nothing.id, dict(nothing.relevant)) == ("none", {})


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("", "no queries"),
        ("[[query]]\nquery = ", "not valid TOML"),
        ("[[query]]\nexpect = []", "query 1 has no `query`"),
        ("[[query]]\nquery = 'a'", "query 1 has no list `expect`"),
        ("[[query]]\nquery = 'a'\nexpect = [1]", "query 1 has no list `expect`"),
        ("[[query]]\nquery = 'a'\nexpect = []\nexpct = []", "unknown key 'expct'"),
        ("[[query]]\nquery = 'a'\nexpect = []\n" * 2, "two queries called 'a'"),
    ],
)
def test_bad_fixtures_are_refused_with_a_reason(tmp_path: Path, content: str, reason: str) -> None:
    file = tmp_path / "checks.toml"
    file.write_text(content)
    with pytest.raises(SourceProblem, match=reason) as error:
        load(file)
    assert error.value.hint


def test_what_is_neither_is_refused(tmp_path: Path) -> None:
    (tmp_path / "checks.csv").write_text("a,b")
    for name, reason in (("checks.csv", "neither"), ("nowhere", "does not exist")):
        with pytest.raises(SourceProblem, match=reason):
            load(tmp_path / name)


def test_fixtures_are_known_by_their_content(tmp_path: Path) -> None:
    for name, content in (("a.txt", FIXTURES), ("b", '{"query": "zebra", "expect": []}\n')):
        (tmp_path / name).write_text(content)
        assert load(tmp_path / name).questions[-1].text == "zebra"


def test_of_two_queries_with_one_id_the_first_counts_and_the_other_is_said(beir: Path) -> None:
    before = load(beir)
    with (beir / "queries.jsonl").open("a") as file:
        file.write('{"_id": "q3", "text": "something else"}\n')
    dataset = load(beir)
    assert dataset.questions == before.questions
    said = f"{beir / 'queries.jsonl'}:41: the id 'q3' is already used in line 4"
    assert dataset.warnings == (f"1 records of queries.jsonl are left out, the first: {said}",)


def test_an_index_must_hold_most_of_a_dataset(beir: Path) -> None:
    dataset = load(beir)
    assert check_indexed(dataset, [*dataset.ids, "more"]) == []
    some = sorted(dataset.ids)
    assert check_indexed(dataset, some[:40]) == ["20 documents of the dataset are not in the index"]
    for held in ([], some[:20]):
        with pytest.raises(SourceProblem, match=f"has only {len(held)} of the 60 documents of tiny") as error:
            check_indexed(dataset, [*held, "elsewhere.md"])
        assert "--index" in error.value.hint


@pytest.mark.slow
def test_the_hint_for_an_unknown_document_is_short(tmp_path: Path) -> None:
    names = [f"notes/{number:04}-of-some-length.md" for number in range(3000)]
    file = tmp_path / "checks.jsonl"
    for wanted, hint in (
        ("qqq", "none of the 3001 documents has a similar name; `watersmeet list` shows them all"),
        ("zz.md", "did you mean 'very/deep/down/in/a/folder/zz.md'?"),
    ):
        file.write_text(f'{{"query": "a", "expect": ["{wanted}"]}}\n')
        with pytest.raises(SourceProblem) as error:
            check_indexed(load(file), [*names, "very/deep/down/in/a/folder/zz.md"])
        assert error.value.hint == hint
    file.write_text('{"query": "a", "expect": ["notes/00-of-some-length.md"]}\n')
    with pytest.raises(SourceProblem) as error:
        check_indexed(load(file), names)
    assert error.value.hint.count("notes/") == 3


def test_an_expected_document_must_be_in_the_index(tmp_path: Path) -> None:
    file = tmp_path / "checks.toml"
    file.write_text(FIXTURES)
    check_indexed(load(file), ["guides/keys.md", "other.md"])
    with pytest.raises(SourceProblem, match=r"guides/keys\.md") as error:
        check_indexed(load(file), ["guides/key.md"])
    assert "guides/key.md" in error.value.hint


KEYS = Passage("c", DocId("a#b.md"), "document", "Keys", "a#b.md", None, ("Keys", "Errors"), Place((1, 1)), "Expired.")


def test_an_expected_section_must_be_in_its_document(tmp_path: Path) -> None:
    file = tmp_path / "checks.jsonl"
    for name in ("a#b.md", "a#b.md#Keys > Errors", "a#b.md#errors"):
        file.write_text(f'{{"query": "a", "expect": ["{name}"]}}\n')
        assert check_indexed(load(file), ["a#b.md"], lambda document: [KEYS]) == []
    for name, hint in (
        ("a#b.md#Keys > Error", "did you mean 'a#b.md#Keys > Errors'?"),
        ("a#b.md#Something quite different", "write it as `watersmeet get a#b.md` shows the headings"),
    ):
        file.write_text(f'{{"query": "a", "expect": ["{name}"]}}\n')
        with pytest.raises(SourceProblem, match="is no section of that document") as error:
            check_indexed(load(file), ["a#b.md"], lambda document: [KEYS])
        assert error.value.hint.startswith(hint)


def test_a_section_is_refused_where_documents_count(tmp_path: Path) -> None:
    file = tmp_path / "checks.jsonl"
    file.write_text('{"query": "a", "expect": ["a#b.md#Errors"]}\n')
    with pytest.raises(SourceProblem, match="is a section") as error:
        check_indexed(load(file), ["a#b.md"])
    assert "'a#b.md'" in error.value.hint


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("E0308", ("identifier", "short")),
        ("what is SYSLIB1029", ("identifier", "short")),
        ("fix E0308 in a loop", ("mixed", "sentence")),
        ("how do boats enter the harbour", ("conceptual", "sentence")),
        ("the", ("conceptual", "short")),
    ],
)
def test_what_a_query_looks_like(text: str, expected: tuple[str, str]) -> None:
    assert looks(text) == expected


def test_classes_of_the_dataset_come_first() -> None:
    assert classes_of("E0308", {"class": "code", "split": "dev", "x": 1})[:2] == ("code", "dev")
    assert classes_of("E0308", "not a table") == ("kind:identifier", "length:short")
