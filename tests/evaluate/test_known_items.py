"""Queries made from an index: the same for a seed, and each leads back to where it came from."""

from __future__ import annotations

from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.errors import NotFound
from watersmeet.engine.sync.report import Progress
from watersmeet.evaluate.evaluation import evaluate, to_json
from watersmeet.evaluate.known_items import CLASSES, known_items

QUIET = lambda step: None  # noqa: E731 - nothing is told


@pytest.mark.slow
def test_each_class_is_made_from_the_document_that_it_expects(linked: Engine) -> None:
    asked = known_items(linked, 200, 0, QUIET).questions
    by_class = {kind: [q for q in asked if q.classes[0] == kind] for kind in CLASSES}
    assert {q.text: [*q.relevant] for q in by_class["title"]} == {
        "Setup": ["guides/setup.md"],
        "Keys": ["guides/keys.md"],
        "Tides": ["tides.md"],
    }
    assert {q.text: [*q.relevant] for q in by_class["heading"]} == {
        "Ports": ["guides/setup.md"],
        "Errors": ["guides/keys.md"],
    }
    assert {q.text: [*q.relevant] for q in by_class["link"]} == {
        "rotating keys": ["guides/keys.md"],
        "the setup of a server": ["guides/setup.md"],
    }
    assert {d for q in by_class["identifier"] for d in q.relevant} == {"guides/setup.md", "guides/keys.md"}
    assert len({q.id for q in asked}) == len(asked)


@pytest.mark.slow
def test_a_sentence_is_held_out(linked: Engine) -> None:
    (sentence,) = [q for q in known_items(linked, 200, 0, QUIET).questions if q.classes[0] == "sentence"]
    (document,), (chunk,) = sentence.relevant, sentence.withheld
    assert any(p.id == chunk and sentence.text in " ".join(p.text.split()) for p in linked.passages(document))
    dataset = known_items(linked, 200, 0, QUIET)
    made = evaluate(dataset, linked.settings, index=linked.folder)
    number = [q.id for q in dataset.questions].index(sentence.id)
    with_it = linked.search(sentence.text).results[0]
    assert with_it.id == chunk
    assert made.run.scores[number][0] < with_it.score or document not in made.run.rankings["fused"][number][:1]


@pytest.mark.slow
def test_the_same_seed_gives_the_same_queries(linked: Engine) -> None:
    drawn = [known_items(linked, 6, seed, QUIET).questions for seed in (1, 1, 2, 3)]
    assert drawn[0] == drawn[1]
    assert drawn[0] != drawn[2] or drawn[0] != drawn[3]
    assert {len(questions) for questions in drawn} == {6}
    assert len({q.classes[0] for q in drawn[0]}) == len(CLASSES)


@pytest.mark.slow
def test_the_report_says_what_such_queries_can_and_cannot_show(linked: Engine) -> None:
    seen: list[Progress] = []
    report = to_json(evaluate(known_items(linked, 200, 0, seen.append), linked.settings, index=linked.folder))
    assert seen[-1] == Progress("reading", 3, 3, "documents")
    assert "They do not show" in report["note"]
    assert {"title", "heading", "sentence", "identifier", "link"} <= report["classes"].keys()
    assert report["classes"]["title"]["hit@1"] == 1.0


def test_what_an_index_lacks_is_said(engine: Engine, write, tmp_path: Path) -> None:
    engine.sync([write({"a.md": "# Alone\n\nOnly a title and few words.\n"})])
    dataset = known_items(engine, 200, 0, QUIET)
    assert [q.text for q in dataset.questions] == ["Alone"]
    assert dataset.warnings == ("the index has nothing to make queries from: heading, sentence, identifier, link",)


def test_an_empty_index_cannot_be_asked(engine: Engine, write) -> None:
    engine.sync([write({"a.md": ""})])
    engine.remove(["a.md"])
    with pytest.raises(NotFound, match="no query"):
        known_items(engine, 200, 0, QUIET)
