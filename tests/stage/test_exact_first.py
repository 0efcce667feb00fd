from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.model import Plan
from watersmeet.core.tokens import identifiers
from watersmeet.engine.settings.settings import load
from watersmeet.stage.exact_first import ExactFirst

OTHERS = {
    f"n{n}.md": f"# Note {n}\n\nOrdinary prose about belts, guards and machinery, number {n}.\n" for n in range(30)
}
NEAR = [
    ("30 CFR 75.1725", "30 CFR 75.1720"),
    ("192.168.77.13", "192.168.77.14"),
    ("PII-2024-0042", "PII-2024-0043"),
    ("get_user_by_id", "get_user_by_name"),
    ("--no-vectors", "--vectors"),
    ("v1.2.3", "v1.2.4"),
    ("E0308", "E0309"),
]


@pytest.fixture
def with_meaning(tmp_path: Path) -> Iterator[Engine]:
    """A page about the neighbour is nearer in meaning, too."""
    settings = load(start=str(tmp_path), environ={"WATERSMEET__INDEX__DENSE": ""})
    with Engine(tmp_path / "index", settings) as made:
        yield made


@pytest.mark.model
@pytest.mark.parametrize(("wanted", "near"), NEAR)
def test_the_only_one_that_has_it_comes_before_a_page_about_its_neighbour(
    with_meaning: Engine, write, wanted: str, near: str
) -> None:
    only = (
        f"# Conveyor belts\n\nOrdinary prose about belts. Here {wanted} is mentioned once; then guards and machinery.\n"
    )
    about = f"# {near}\n\nAbout {near}: {near} applies.\n"
    with_meaning.sync([write({"only.md": only, "about.md": about, **OTHERS})])
    for query in (wanted, f"tell me about {wanted}", f"What does {wanted} require?"):
        assert with_meaning.search(query).results[0].title == "Conveyor belts", query


def test_what_it_moved_says_so(shelf, ranked) -> None:
    for chunk in ("near", "has1", "other", "has2"):
        shelf.put(chunk, "30 CFR 75.1725" if chunk.startswith("has") else "30 CFR 75.1720")
    stage, plan = ExactFirst(shelf), Plan("30 CFR 75.1725")
    found = stage.apply(ranked({"near": 1.0, "has1": 0.6, "other": 0.5, "has2": 0.4}), plan)
    assert [(hit.chunk, hit.score) for hit in found.hits] == [
        ("has1", 10.6),
        ("has2", 10.4),
        ("near", 1.0),
        ("other", 0.5),
    ]
    assert found.hits[0].evidence[-1].detail == {"bonus": 10.0, "identifiers": ["75.1725"]}
    two = replace(plan, text="75.1725 or 75.1720?")  # nobody has both
    assert stage.apply(ranked({"near": 1.0, "has1": 0.6}), two).hits[0].chunk == "near"
    far = stage.apply(ranked({"has1": 1.0, "near": 0.9}), plan).unit()
    assert far.hits[1].score < 0.1 * far.hits[0].score
    only_words = replace(plan, only=("lexical",))
    assert stage.apply(ranked({"near": 1.0, "has1": 0.6}), only_words).hits[0].chunk == "near"


def test_an_identifier_that_a_sentence_only_mentions_moves_nothing(engine: Engine, write) -> None:
    files = {"only.md": "# Belts\n\nHere E0308 is mentioned.\n", "about.md": "# Guards\n\nHow guards are mounted.\n"}
    engine.sync([write({**files, **OTHERS})])
    results = engine.search("how are guards mounted on the machine that showed E0308 yesterday").results
    assert not [evidence for result in results for evidence in result.evidence if evidence.by == "exact_first"]


def test_an_identifier_that_many_have_moves_nothing(engine: Engine, write) -> None:
    engine.sync([write({f"{n}.md": f"# {n}\n\nE0308 again.\n" for n in range(4)})])
    results = engine.search("E0308").results
    assert len(results) == 4
    assert not [evidence for result in results for evidence in result.evidence if evidence.by == "exact_first"]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("D40", ["D40"]),
        ("30 CFR 75.1725", ["75.1725"]),
        ("use --no-vectors", ["--no-vectors"]),
        ("the GitHub API", []),
        ("set an alarm at 17:00 and label it music", []),
        ("", []),
    ],
)
def test_what_a_query_is_made_of(text: str, found: list[str]) -> None:
    assert identifiers(text) == found
