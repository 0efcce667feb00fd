"""What a search can be asked for beside its query: exclusion, least scores, one of each document, more text."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.errors import ConfigError
from watersmeet.core.model import Request
from watersmeet.engine.query.filters import condition
from watersmeet.engine.settings.settings import load
from watersmeet.face.search import SearchParams, run_search

PAGES = {
    "guide/keys.md": "---\ntags: [security]\nstatus: done\n---\n# Keys\n\nRotate keys weekly.\n\n## Locks\n\n"
    + "Locks and keys rotate together. " * 60
    + "\n\n### Brass\n\nBrass keys are rotated by hand. "
    + "They are heavy and old. " * 60
    + "\n\n## Doors\n\nDoors have keys too.\n",
    "guide/doors.md": "# Doors\n\nA door needs keys that one can rotate.\n",
    "draft/keys.md": "---\nstatus: draft idea\ntags: [security/old]\n---\n# Draft\n\nWe rotate no keys yet.\n",
    "other.md": "# Other\n\nThe tide comes in twice a day.\n",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("parameters")
    for name, text in PAGES.items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    environ = {"WATERSMEET__INDEX__DENSE": "", "WATERSMEET__INDEX__SPARSE": ""}
    with Engine(folder / "index", load(start=str(folder), environ=environ)) as made:
        made.sync([folder / "docs"])
        yield made


def documents(engine: Engine, query: str = "rotate keys", **options: object) -> list[str]:
    return [result.document for result in engine.search(query, **options).results]


@pytest.mark.model
@pytest.mark.parametrize("mode", ["lexical", "static", "hybrid"])
@pytest.mark.parametrize(
    ("filters", "left"),
    [
        ("path!=draft/**", {"guide/keys.md", "guide/doors.md", "other.md"}),
        ("tag!=security", {"guide/doors.md", "other.md"}),
        ("status!=done", {"draft/keys.md", "guide/doors.md", "other.md"}),
        ("kind!=document", set()),
        ("collection!=none", {*PAGES}),
    ],
)
def test_what_has_a_value_can_be_left_out(engine: Engine, mode: str, filters: str, left: set[str]) -> None:
    found = set(documents(engine, mode=mode, filters=[filters], top_n=50))
    assert found <= left
    assert found or not left
    as_mapping = dict([filters.replace("!=", "!|").split("|")])
    assert set(documents(engine, mode=mode, filters=as_mapping, top_n=50)) == found


def test_what_is_wanted_and_what_is_not(engine: Engine) -> None:
    both = ["path=guide/**", "path!=*/doors.md"]
    assert set(documents(engine, filters=both)) == {"guide/keys.md"}
    assert condition(both).without == (("path", ("*/doors.md",)),)
    with pytest.raises(ConfigError, match="not of the form"):
        condition(["path!="])
    with pytest.raises(ConfigError, match="'@audience' is not a filter key"):
        condition(["@audience!=public"])


def test_documents_are_left_out_by_their_ids(engine: Engine) -> None:
    assert "guide/keys.md" in documents(engine)
    assert "guide/keys.md" not in documents(engine, exclude="guide/keys.md", top_n=50)
    assert not set(documents(engine, exclude=["guide/keys.md", "draft/keys.md"])) & {"guide/keys.md", "draft/keys.md"}


def test_results_below_a_score_are_left_out(engine: Engine) -> None:
    every = engine.search("rotate keys").results
    good = engine.search("rotate keys", min_score=0.5).results
    assert [one for one in every if one.score >= 0.5] == list(good) != list(every)
    assert len(engine.search("rotate keys", min_score=1).results) == 1


def test_an_answer_that_is_not_sure_enough_has_no_results(engine: Engine) -> None:
    answer = engine.search("xylophone quartet", min_confidence=0.9)
    assert answer.results == ()
    assert answer.confidence is not None
    assert answer.confidence < 0.9
    assert engine.search("rotate keys", min_confidence=0.01).results


def test_one_of_each_document(engine: Engine) -> None:
    every = documents(engine, top_n=50)
    assert len(every) > len(set(every))
    one = engine.search("rotate keys", top_n=50, one_per_document=True)
    assert [result.document for result in one.results] == list(dict.fromkeys(every))
    assert one.results[0].score == 1
    assert documents(engine, top_n=2, one_per_document=True) == list(dict.fromkeys(every))[:2]


def test_one_of_each_document_looks_further_than_the_pool(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    many = "\n\n".join(f"## Part {n}\n\nTide tide tide number {n}. {'More of the same here. ' * 12}" for n in range(30))
    (tmp_path / "docs" / "long.md").write_text(f"# Long\n\n{many}\n")
    for number in range(5):
        (tmp_path / "docs" / f"{number}.md").write_text(f"# Page {number}\n\nA tide, once. {'Other words. ' * 60}\n")
    environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__PIPELINE__POOL": "10"}
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ)) as engine:
        engine.sync([tmp_path / "docs"])
        assert set(documents(engine, "tide", top_n=6, one_per_document=True)) == {
            "long.md",
            *(f"{number}.md" for number in range(5)),
        }


def test_results_with_their_section_or_page(engine: Engine) -> None:
    plain = engine.search("locks rotate together", filters="path=guide/keys.md").results[0]
    section = engine.search("locks rotate together", filters="path=guide/keys.md", expand="section").results[0]
    page = engine.search("locks rotate together", filters="path=guide/keys.md", expand="page").results
    assert plain.headings == section.headings == ("Keys", "Locks")
    assert "Brass" not in plain.text
    assert "Brass keys are rotated by hand." in section.text
    assert "Doors have keys too" not in section.text
    assert section.lines[0] == plain.lines[0] < plain.lines[1] < section.lines[1]
    assert len(page) == 1
    assert all(text in page[0].text for text in ("Rotate keys weekly", "Brass keys", "Doors have keys too"))


@pytest.mark.parametrize(
    ("options", "said"),
    [({"expand": "pge"}, "page"), ({"min_score": 2}, "from 0 to 1"), ({"min_confidence": -1}, "from 0 to 1")],
)
def test_what_cannot_be_asked_for(engine: Engine, options: dict[str, object], said: str) -> None:
    with pytest.raises(ConfigError) as error:
        engine.search("keys", **options)
    assert said in f"{error.value} {error.value.hint}"


def test_why_not_knows_of_the_least(engine: Engine) -> None:
    last = engine.search("rotate keys", top_n=50, one_per_document=True).results[-1].document
    low = engine.why_not(Request("rotate keys", top_n=50, min_score=0.99), last)
    assert (low.place, low.reason) == ("cut", "its score is below min_score")
    unsure = engine.why_not(Request("rotate keys", min_confidence=1.0), "guide/keys.md")
    assert (unsure.place, unsure.reason) == ("cut", "the confidence of the answer is below min_confidence")
    assert engine.why_not(Request("rotate keys"), "guide/keys.md", 0).place != "result"


def test_a_budget_keeps_the_hit_of_an_expanded_page(tmp_path: Path) -> None:
    parts = [f"## Part {n}\n\n{'Plain words fill this part. ' * 30}" for n in range(40)]
    parts[30] += "\n\nA platypus lives here."
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text("# Page\n\n" + "\n\n".join(parts))
    environ = {"WATERSMEET__INDEX__VECTORS": "false"}
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ)) as engine:
        engine.sync([tmp_path / "docs"])
        found = run_search(engine, SearchParams("platypus", expand="page", budget=800))
    assert found.pack is not None
    assert "platypus" in found.pack.text
    first, last = found.pack.citations[0].lines
    assert last - first < 40  # and not the whole page
