from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.entities import Entity
from watersmeet.core.model import Condition, Plan, Request, Respelling
from watersmeet.core.visibility import EVERYONE, Viewer
from watersmeet.engine.settings.settings import load
from watersmeet.query.spelling import Spelling
from watersmeet.query.words import Words

NOTES = {
    "parks.md": "# Parks\n\nOpening hours of all nationalparks, and of the museums.\n",
    "tumours.md": "# Tumours\n\nMetastases grow slowly. FOXO3 is a gene. The metastases are counted.\n",
    "office.md": "# Office\n\nSend an e-mail about the configuration of the Wi-Fi. Each filing cabinet has a label.\n",
    "login.md": "# Access\n\nThe login page, the accountNumber and the covid19 rules; error D41, sha512.\n",
}


@pytest.fixture(params=["tantivy", "fts5"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    folder = tmp_path / "notes"
    folder.mkdir()
    for name, text in NOTES.items():
        (folder / name).write_text(text, "utf8")
    environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__INDEX__TEXT": request.param}
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ)) as engine:
        engine.sync([folder])
        yield engine


def understood(engine: Engine, text: str, condition: Condition | None = None, viewer: Viewer | None = None) -> Plan:
    with engine.snapshot() as snapshot:
        words = engine.visible_index(snapshot, viewer).words
        plan = Words().apply(Plan(text, condition=condition or Condition()))
        step = Spelling(words, snapshot)
        done = step.apply(plan)
        assert step.apply(done) == done
        return done


def first(engine: Engine, text: str) -> str:
    return engine.search(Request(text, mode="lexical")).results[0].document


@pytest.mark.parametrize(
    ("query", "word", "written", "document"),
    [
        ("metastasses", "metastasses", "metastases", "tumours.md"),  # a letter too many
        ("Where do metasases grow?", "metasases", "metastases", "tumours.md"),  # missing
        ("configuratian", "configuratian", "configuration", "office.md"),  # wrong
        ("configuratoin", "configuratoin", "configuration", "office.md"),  # swapped, in the ending that stems lose
        ("matasteses", "matasteses", "metastases", "tumours.md"),  # two wrong vowels
        ("Configuratoin", "configuratoin", "configuration", "office.md"),
        ("email", "email", "e mail", "office.md"),
        ("wifi", "wifi", "wi fi", "office.md"),
        ("filingcabinets", "filingcabinets", "filing cabinets", "office.md"),
        ("log in", "log in", "login", "login.md"),
        ("COVID-19", "covid 19", "covid19", "login.md"),
        ("FoxO3a", "foxo3a", "foxo3", "tumours.md"),
    ],
)
def test_a_word_is_searched_as_the_corpus_writes_it(
    engine: Engine, query: str, word: str, written: str, document: str
) -> None:
    plan = understood(engine, query)
    assert [(one.word, " ".join(one.written)) for one in plan.respelled] == [(word, written)]
    assert first(engine, query) == document
    assert plan.text == query
    assert written in plan.semantic_text.lower()


def test_a_compound_is_added_to_words_that_the_corpus_has(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "notes" / "hills.md").write_text("# Hills\n\nA national holiday. Dogs in parks.\n", "utf8")
    engine.sync()
    plan = understood(engine, "national parks")
    assert plan.words == ("national", "parks")
    assert plan.respelled == (Respelling("national parks", ("nationalparks",), instead=False),)
    assert plan.variants == {"nationalparks": 0.5}
    assert plan.semantic_text == "national parks"
    documents = [r.document for r in engine.search(Request("national parks", mode="lexical")).results]
    assert set(documents) == {"parks.md", "hills.md"}


@pytest.mark.parametrize(
    "query",
    [
        "metastases of the configuration",  # all there
        "D40",
        "sha256",
        "--no-configuratoin",
        "configuratoin_path",
        "bread",  # an English word that the corpus lacks
        "metastasis",  # near to a word that is there, and a word itself
        "metxstxsxs",  # too far
        "wher is the login",  # one error away from a question word
        "mtro",  # too short
        "account number",  # written in an identifier only
        "ökonomei",
        "???",
        "",
    ],
)
def test_nothing_else_is_touched(engine: Engine, query: str) -> None:
    plan = understood(engine, query)
    assert plan.respelled == ()
    assert plan == Words().apply(Plan(query))


def test_the_shorter_name_in_a_query_is_not_corrected(engine: Engine) -> None:
    assert understood(engine, "does Lebel grow").respelled == ()
    assert [one.word for one in understood(engine, "does lebel grow").respelled] == ["lebel"]


def test_what_is_filtered_out_corrects_nothing(engine: Engine) -> None:
    assert understood(engine, "matasteses", Condition({"path": ("office.md",)})).respelled == ()


def test_what_was_deleted_corrects_nothing(engine: Engine, tmp_path: Path) -> None:
    (tmp_path / "notes" / "tumours.md").unlink()
    engine.sync()
    assert understood(engine, "matasteses").respelled == ()


@pytest.mark.parametrize("text", ["tantivy", "fts5"])
def test_private_words_are_not_revealed(tmp_path: Path, text: str) -> None:
    environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__INDEX__TEXT": text}
    ann = Viewer("ann")
    said = {"visibility": "private", "owner": "ann"}
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ=environ)) as engine:
        engine.registry.put(
            Entity("skill", "/open", "Harbour", "Tides and boats"),
            Entity("skill", "/secret", "Severance", "Layoffs in the nationalparks by e-mail", **said),
        )
        for query in ("severanse", "layofs", "national parks", "email"):
            hidden = engine.search(Request(query, mode="lexical", viewer=EVERYONE))
            assert (hidden.spelling, hidden.results) == ((), ())
            shown = engine.search(Request(query, mode="lexical", viewer=ann))
            assert shown.spelling
            assert [result.document for result in shown.results] == ["/secret"]
