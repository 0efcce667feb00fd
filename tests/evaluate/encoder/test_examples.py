"""Questions are split without overlap, and examples come from the vectors of the index."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from watersmeet import Engine
from watersmeet.core.errors import SourceProblem
from watersmeet.embed.hashed import Hashed
from watersmeet.engine.settings.settings import load
from watersmeet.evaluate.data import Question
from watersmeet.evaluate.encoder import examples as module
from watersmeet.evaluate.encoder.examples import MIN_QUESTIONS, dense_tier, examples, split

PAGES = 30


def question(number: int, text: str = "", relevant: str = "") -> Question:
    return Question(str(number), text or f"question {number}", {relevant or f"page{number}.md": 1})


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Thirty pages, some with two chunks; a hash stands for the transformer."""
    for number in range(PAGES):
        more = "\n\n## Further\n\n" + f"Everything on subject{number} in detail. " * 12 if number % 3 == 0 else ""
        text = f"# Page {number}\n\n" + f"What word{number} means for the reader. " * 12 + more
        (tmp_path / "pages").mkdir(exist_ok=True)
        (tmp_path / "pages" / f"page{number}.md").write_text(text)
    settings = load(start=str(tmp_path), environ={}, flags={"index": {"dense": "hashed", "static": ""}})
    with Engine(tmp_path / "index", settings) as made:
        made.sync([tmp_path / "pages"])
        yield made


def test_every_question_is_in_one_part() -> None:
    asked = [question(number) for number in range(101)]
    parts = split(asked, 3)
    ids = [one.id for part in (parts.train, parts.check, parts.report) for one in part]
    assert sorted(ids) == sorted(one.id for one in asked)
    assert (len(parts.check), len(parts.train), len(parts.report)) == (10, 40, 51)
    assert split(asked, 3) == parts
    assert split(asked, 4) != parts


def test_the_same_text_is_never_trained_on_and_reported() -> None:
    asked = [question(number, f"text {number % 40}{' ' * (number // 40)}", "a.md") for number in range(80)]
    parts = split(asked, 0)
    reported = {one.text.strip() for one in parts.report}
    assert not reported & {one.text.strip() for one in [*parts.train, *parts.check]}
    assert len(parts.report) == 40


def test_too_few_questions_are_refused() -> None:
    unanswered = [Question(str(number), f"text {number}", {}) for number in range(50)]
    with pytest.raises(SourceProblem, match=f"there are {MIN_QUESTIONS - 1} different questions"):
        split([*(question(number) for number in range(MIN_QUESTIONS - 1)), *unanswered], 0)


def test_all_chunks_are_examples_and_relevant_ones_are_marked(engine: Engine) -> None:
    parts = split([question(number, f"word{number}") for number in range(PAGES)], 0)
    found = examples(engine, parts, lambda step: None)
    assert len(found.vectors) == engine.status()["chunks"]
    assert [len(answers) for _, answers in found.train] == [
        len(engine.passages(next(iter(one.relevant)))) for one in parts.train
    ]
    for query, answers in [*found.train, *found.check]:
        cosines = found.vectors @ Hashed().embed_query(query)
        assert int(np.argmax(cosines)) in answers  # the page that has the word


def test_the_first_results_are_mined_where_the_index_is_large(engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_CHUNKS", 1)
    monkeypatch.setattr(module, "MINED", 2)
    parts = split([question(number, f"word{number}") for number in range(PAGES)], 0)
    steps = []
    found = examples(engine, parts, steps.append)
    chunks = engine.status()["chunks"]
    assert len(parts.train) + len(parts.check) < len(found.vectors) < chunks
    assert (steps[-1].doing, steps[-1].done, steps[-1].total) == ("mining", PAGES // 2, PAGES // 2)


def test_an_index_without_dense_vectors_is_refused(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "pages" / "new.md").write_text("# New\n\nNot embedded yet.\n")
    assert dense_tier(engine).rows == engine.status()["chunks"]
    engine.sync(deepen=False)
    with pytest.raises(SourceProblem, match="without dense vectors") as caught:
        dense_tier(engine)
    assert "watersmeet deepen" in caught.value.hint
