"""Operators typed into a query, and the stage that applies them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet import Engine
from watersmeet.core.model import Operator, Plan
from watersmeet.engine.settings.settings import load
from watersmeet.query.operators import Operators

PAGES = {
    "guides/plan.md": "---\ntags: [setup]\n---\n# Plan\n\nThe kanban board has three columns for the team.\n",
    "guides/board.md": "# Board\n\nA board of three, a kanban for nobody. The `-wide` flag makes it wider.\n",
    "notes/fish.md": "# Fish\n\nThe pond has three carp and a board walk around it.\n",
}


@pytest.fixture
def engine(tmp_path: Path, write) -> Iterator[Engine]:
    settings = load(start=str(tmp_path), environ={"WATERSMEET__INDEX__VECTORS": "0"})
    with Engine(tmp_path / "index", settings) as made:
        made.sync([write(PAGES)])
        yield made


def found(engine: Engine, query: str) -> list[str]:
    return sorted({result.document for result in engine.search(query).results})


def test_a_phrase_must_stand_as_it_is(engine: Engine) -> None:
    assert found(engine, "kanban board") == ["guides/board.md", "guides/plan.md", "notes/fish.md"]
    answer = engine.search('"kanban board"')
    assert [result.document for result in answer.results] == ["guides/plan.md"]
    assert answer.operators == (Operator("phrase", "kanban board"),)


def test_a_phrase_that_no_passage_has_is_searched_as_text(engine: Engine) -> None:
    answer = engine.search('"board kanban"')
    assert len(answer.results) == 3
    assert answer.operators == (Operator("phrase", "board kanban", False, "no passage has it"),)


def test_a_word_can_be_excluded(engine: Engine) -> None:
    assert found(engine, "three -kanban") == ["notes/fish.md"]
    assert found(engine, "three -Kanban -carp") == []


def test_a_flag_of_the_documents_is_no_exclusion(engine: Engine) -> None:
    answer = engine.search("board -wide")
    assert answer.results[0].document == "guides/board.md"
    assert not answer.operators[0].applied


def test_in_a_sentence_quotes_and_dashes_are_punctuation(engine: Engine) -> None:
    answer = engine.search('Which page says that a "kanban board" helps the -carp- in the pond?')
    assert answer.operators == ()
    assert len(answer.results) == 3
    assert engine.search('where is the page with "kanban board" and more tag:setup').operators == (
        Operator("tag", "setup"),
    )


@pytest.mark.parametrize("query", ["-kanban", "-kanban -board", "--kanban", "three - kanban", "so-called kanban"])
def test_what_excludes_nothing_is_text(engine: Engine, query: str) -> None:
    assert "guides/plan.md" in found(engine, query)


def test_filters(engine: Engine) -> None:
    assert found(engine, "three tag:setup") == ["guides/plan.md"]
    assert found(engine, "path:guides/** three") == ["guides/board.md", "guides/plan.md"]
    assert found(engine, "three -path:guides/**") == ["notes/fish.md"]
    assert found(engine, 'three path:"notes/*"') == ["notes/fish.md"]
    assert found(engine, "three kind:document") == ["guides/board.md", "guides/plan.md", "notes/fish.md"]
    assert found(engine, "tag:setup") == ["guides/plan.md"]


def test_a_filter_that_nothing_has_is_text(engine: Engine) -> None:
    answer = engine.search("kind:Deployment kanban")
    assert answer.results
    assert answer.operators == (Operator("kind", "Deployment", False, "no document has this kind"),)


def test_a_task_for_tools_may_quote() -> None:
    plan = Plan('send "kanban board" to -everyone', kinds=("tool",))
    assert Operators(None, None).apply(plan) is plan  # type: ignore[arg-type]


@given(
    st.lists(st.sampled_from(['"kanban board"', "-carp", "tag:setup", "kind:x", "three", '"', "-", ":"]), max_size=6)
)
def test_any_mixture_gives_an_answer(operators_engine: Engine, parts: list[str]) -> None:
    answer = operators_engine.search(" ".join(parts))
    assert all(one.reason for one in answer.operators if not one.applied)
    excluded = "-carp" in parts and any(one.name == "without" and one.applied for one in answer.operators)
    assert not (excluded and "notes/fish.md" in {result.document for result in answer.results})


@pytest.fixture(scope="module")
def operators_engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("operators")
    for name, text in PAGES.items():
        (folder / "pages" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "pages" / name).write_text(text, "utf8")
    settings = load(start=str(folder), environ={"WATERSMEET__INDEX__VECTORS": "0"})
    with Engine(folder / "index", settings) as made:
        made.sync([folder / "pages"])
        yield made
