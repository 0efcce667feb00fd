"""It says how sure it is, and when nothing fits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.model import Condition, Hit, Operator, Passage, Plan, Ranking, Request
from watersmeet.core.place import Place
from watersmeet.engine.query.confidence import (
    IDENTIFIER_FLOOR,
    MODELS,
    NAMED_FLOOR,
    ConfidenceInput,
    confidence,
    model_name,
)
from watersmeet.engine.settings.settings import load
from watersmeet.present.answer import to_json
from watersmeet.query.words import Words

pytestmark = pytest.mark.model

HANDBOOK = Path(__file__).parents[3] / "examples" / "handbook"
ANSWERED = ["how do I sign in?", "TRN-1042", "back up and restore the data", "invite people to a workspace", "upgrade"]
UNANSWERED = [
    "boundary layer transition on a flat plate at supersonic speed",
    "recipe for sourdough bread with rye flour",
    "mitochondrial DNA mutations in muscle tissue",
    "who won the chess championship in 1972?",
    "python pandas group by two columns",
]


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("handbook")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        with Engine(folder / "index", load(start=str(folder), environ={})) as engine:
            engine.sync([HANDBOOK])
            yield engine


@pytest.mark.parametrize("mode", ["", "lexical", "dense"])
def test_what_the_handbook_answers_is_surer_than_what_it_does_not(handbook: Engine, mode: str) -> None:
    right = [handbook.search(Request(query, mode)).confidence or 0.0 for query in ANSWERED]
    wrong = [handbook.search(Request(query, mode)).confidence or 0.0 for query in UNANSWERED]
    assert min(right) > max(wrong)


@pytest.mark.parametrize("mode", ["", "lexical"])
def test_one_result_is_as_sure_as_ten_are(handbook: Engine, mode: str) -> None:
    for query in (*ANSWERED, *UNANSWERED):
        one, ten = (handbook.search(Request(query, mode, top_n=n)) for n in (1, 10))
        assert (one.confidence, one.no_good_match) == (ten.confidence, ten.no_good_match)
        assert [(r.id, r.score, r.evidence) for r in one.results] == [
            (r.id, r.score, r.evidence) for r in ten.results[:1]
        ]


def test_nothing_fits_what_is_about_something_else(handbook: Engine) -> None:
    flagged = [handbook.search(query).no_good_match for query in (*ANSWERED, *UNANSWERED)]
    assert flagged == [False] * len(ANSWERED) + [True] * len(UNANSWERED)


def test_an_identifier_that_is_nowhere_has_no_good_match(handbook: Engine) -> None:
    assert handbook.search("TRN-1042").no_good_match is False
    assert handbook.search("QXZ-9917").no_good_match is True


def test_nothing_found_is_no_match_and_a_filter_alone_has_no_confidence(handbook: Engine) -> None:
    nothing = handbook.search(Request("zzzyx", "lexical"))
    assert (nothing.results, nothing.confidence, nothing.no_good_match) == ((), 0.0, True)
    listed = handbook.search(Request("", condition=Condition({"kind": ("document",)})))
    assert (listed.confidence, listed.no_good_match) == (None, False)


def test_a_query_of_nothing_but_signs_has_no_match(handbook: Engine) -> None:
    answer = handbook.search("???")
    assert (answer.results, answer.no_good_match) == ((), True)


def test_one_document_is_enough_to_be_sure_of_its_words(tmp_path: Path) -> None:
    (tmp_path / "fox.md").write_text("# Animals\n\nThe quick brown fox jumps over the lazy dog.\n")
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ={})) as engine:
        engine.sync([tmp_path / "fox.md"])
        assert engine.search("brown fox").no_good_match is False
        assert engine.search("supersonic boundary layers").no_good_match is True


def test_every_face_gets_it(handbook: Engine) -> None:
    answer = to_json(handbook.search("how do I sign in?"))
    assert 0 <= answer["confidence"] <= 1
    assert answer["no_good_match"] is False


def test_the_index_knows_how_near_its_chunks_are_to_one_another(handbook: Engine) -> None:
    signals = handbook.status()["signals"]
    assert 0.3 < signals["dense"]["level"] < 1
    assert 0.1 < signals["static"]["level"] < 1


class Vocabulary:
    size = 100

    def frequency(self, field: str, text: str) -> int:
        return {"common": 50, "rare": 1}.get(text, 0)


def passage(text: str) -> Passage:
    return Passage("c", "d.md", "note", "", "d.md", None, (), Place((1, 1)), text)


def asked(text: str, *words: str, cosine: float = 0.8, level: float = 0.7) -> float:
    rankings = [
        Ranking.of(by, [Hit("c", top), *(Hit(f"x{n}", 0.1) for n in range(8))])
        for by, top in (("lexical", 9.0), ("dense", cosine))
    ]
    owners = {"c": "d.md", **{f"x{n}": f"{n}.md" for n in range(8)}}
    plan = Plan(" ".join(words), words=words)
    found = confidence(ConfidenceInput(plan, rankings, [passage(text)], {}, Vocabulary(), owners, {"dense": level}))
    assert found is not None
    return found.probability


def test_a_rare_word_that_is_there_tells_more_than_a_common_one() -> None:
    assert asked("rare", "rare", "common") > asked("common", "rare", "common")


def test_a_cosine_counts_by_how_near_general_queries_come() -> None:
    near = asked("rare", "rare", "common", cosine=0.8, level=0.6)
    assert near > asked("rare", "rare", "common", cosine=0.8, level=0.9)
    assert asked("rare", "rare", "common", cosine=0.8, level=0.7) == pytest.approx(
        asked("rare", "rare", "common", cosine=0.6, level=0.5), abs=0.05
    )


def test_a_literal_match_is_never_flagged() -> None:
    assert asked("rare", "rare", cosine=0.1) == IDENTIFIER_FLOOR  # the only word of the query
    titled = replace(passage("other words"), title="Rare, common")
    found = confidence(
        ConfidenceInput(Plan("rare common", words=("rare", "common")), [], [titled], {}, Vocabulary(), {}, {})
    )
    assert found is not None
    assert (found.probability, found.words) == (NAMED_FLOOR, "sure")
    phrase = Plan("rare common", words=("rare", "common"), operators=(Operator("phrase", "rare common"),))
    found = confidence(ConfidenceInput(phrase, [], [passage("rare common")], {}, Vocabulary(), {}, {}))
    assert found is not None
    assert found.probability == NAMED_FLOOR


@pytest.mark.model
def test_other_words_for_a_page_are_not_flagged(tmp_path: Path) -> None:
    pages = {
        "Sign in": "Enter your e-mail address and your password, then press Continue.",
        "Billing": "Invoices are sent on the first of each month.",
        "Export": "Download all your notes as a zip file.",
        "Themes": "Pick a light or a dark look.",
        "Devices": "Your notes are copied to all of them.",
    }
    folder = tmp_path / "pages"
    folder.mkdir()
    for title, text in pages.items():
        (folder / f"{title}.md").write_text(f"# {title}\n\n{text}\n")
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ={})) as engine:
        engine.sync([folder])
        answer, foreign = engine.search("login"), engine.search("photosynthesis")
    assert answer.results[0].title == "Sign in"
    assert (answer.no_good_match, foreign.no_good_match) == (False, True)
    assert foreign.confidence_words == "nothing fits"


def coded(query: str, *, text: str = "Region D40", first: str = "c") -> float:
    """A query that the model would flag; `first` is what the exact signal puts first."""
    hits = [Hit(first, 9.0), *([Hit("c", 4.0)] if first != "c" else [])]
    plan = Words().apply(Plan(query))
    found = confidence(ConfidenceInput(plan, [Ranking.of("exact", hits)], [passage(text)], {}, Vocabulary(), {}, {}))
    assert found is not None
    assert found.fits == (found.probability >= MODELS["words"].threshold)
    return found.probability


@pytest.mark.parametrize("query", ["Tell me about Room D40", "room D40", "D40 treasure map", "room d40"])
def test_the_identifier_that_was_asked_for_is_an_answer(query: str) -> None:
    assert coded(query) >= IDENTIFIER_FLOOR > max(model.threshold for model in MODELS.values())


def test_identifiers_count_only_if_they_are_what_is_asked_for_and_all_there() -> None:
    low = MODELS["words"].threshold
    assert coded("rooms D40 and D41") < low  # one of them is not there
    assert coded("room D40", first="x") < low  # another passage has more of them
    assert coded("room D40", text="Region D41") < low
    assert coded("sell old treasure maps near D40") < low  # mostly about something else
    assert coded("room MAP", text="A MAP of the mire") < low  # capitals alone
    assert coded("room treasure") < low


def test_the_model_is_that_of_what_voted() -> None:
    def ranked(*names: str) -> list[Ranking]:
        return [Ranking.of(name, [Hit("c", 1.0)]) for name in names]

    levels = {"dense": 0.7, "static": 0.6}
    assert model_name(ranked("lexical", "static", "dense"), levels) == "dense"
    assert model_name(ranked("lexical", "static"), levels) == "static"
    assert model_name(ranked("lexical", "dense"), {}) == "words"
    assert model_name(ranked("dense"), levels) == "dense_alone"
    assert model_name(ranked("dense"), {}) == "words"
    assert set(MODELS) == {"dense", "static", "dense_alone", "words"}


def test_what_a_document_goes_by_counts_as_said_in_it(tmp_path: Path) -> None:
    def asked(matter: str) -> float:
        folder = tmp_path / (matter.partition(":")[0] or "plain")
        folder.mkdir()
        (folder / "watching.md").write_text(f"---\n{matter}\n---\n# Watching\n\nLatency, traffic, errors, load.\n")
        (folder / "other.md").write_text("# Gardens\n\nThe golden hour is when the light is low.\n")
        settings = load(start=str(folder), environ={"WATERSMEET__INDEX__VECTORS": "false"})
        with Engine(folder / "index", settings) as engine:
            engine.sync([folder])
            return engine.search("golden signals").confidence or 0.0

    plain = asked("")
    assert asked("aliases: [Golden Signals]") > plain
    assert asked("tags: [golden/signals]") > plain


NOTES = {
    "garden": "Water the tomato plants every second day in summer, early in the morning.",
    "taxes": "The declaration for the revenue office is due on the last day of July.",
    "car": "Inflate to 2.4 bar in front and 2.6 bar behind. Winter wheels are in the cellar.",
    "dentist": "Doctor Weber, telephone 555-0199, opens at eight.",
    "wifi": "The network for visitors is called heron, and its password is on the fridge.",
}


@pytest.mark.parametrize(
    ("query", "answers"),
    [
        ("how often should tomatoes be watered", "garden.md"),
        ("when must I file my tax return", "taxes.md"),
        ("what is the dentist's phone number", "dentist.md"),
        ("kubernetes pod eviction", ""),
        ("who won the world cup", ""),
        ("inverse of a sparse matrix", ""),
    ],
)
def test_a_handful_of_notes_is_enough_to_know(tmp_path: Path, query: str, answers: str) -> None:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / f"{name}.md").write_text(f"# {name.title()}\n\n{text}\n")
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ={})) as engine:
        engine.sync([folder])
        answer = engine.search(query)
    assert answer.no_good_match == (not answers)
    assert not answers or answer.results[0].document == answers
