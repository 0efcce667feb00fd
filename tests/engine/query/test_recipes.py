"""The recipes answer as the systems that they are named after say of themselves, and `default` does better."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from registries import ENTITIES, opened
from watersmeet import Engine
from watersmeet.core.errors import Degraded
from watersmeet.core.model import Condition, Hit, Plan, Ranking, Request
from watersmeet.engine.components import build
from watersmeet.engine.registry.requests import EntityRequest
from watersmeet.engine.settings.settings import load, recipes

MONSTERS = ["Aboleth", "Basilisk", "Chimera", "Displacer", "Ettin", "Gorgon", "Harpy", "Kraken", "Lamia", "Manticore"]
ROOMS = ["armoury", "chapel", "cellar", "gallery", "library", "kitchen", "crypt", "stable", "tower", "well"]


def fixture() -> dict[str, str]:
    """Regions D1 to D60, monsters with stat blocks, 30 CFR sections, safety pages."""
    pages = {
        f"regions/d{i}.md": f"# Region D{i}\n\nThe {ROOMS[i % 10]} of area D lies {i * 7 % 50} paces from the gate. "
        f"Two doors lead out of it, and something stirs behind the north one. A party of four can rest here.\n"
        for i in range(1, 61)
    }
    for n, name in enumerate(MONSTERS):
        pages[f"monsters/{name.lower()}.md"] = (
            f"# {name}\n\nLarge creature, unaligned\n\n- Armor Class {12 + n}\n- Hit Points {40 + 9 * n}\n"
            f"- Speed {20 + n} ft.\n\n| STR | DEX | CON |\n|---|---|---|\n| {14 + n} | {9 + n} | {12 + n} |\n\n"
            "It lurks in ruins and attacks whoever comes near its hoard.\n"
        )
    for n, topic in enumerate(["belt conveyors", "roof bolts", "ventilation", "methane monitors", "escapeways"]):
        pages[f"cfr/75-{1721 + n}.md"] = (
            f"# 30 CFR 75.{1721 + n}\n\nUnderground coal mines: {topic}. Machinery and equipment shall be operated "
            "safely and shall be maintained in safe operating condition. MSHA inspects it.\n"
        )
    pages["safety/requirements.md"] = (
        "# Safety requirements\n\nEveryone on site must wear a helmet, protective glasses and boots. Report hazards "
        "to the supervisor before work begins.\n"
    )
    pages["safety/fire.md"] = (
        "# Fire prevention\n\nKeep flammable liquids away from sparks. Extinguishers hang beside each exit; smoking "
        "near the fuel store is a danger to all.\n"
    )
    return pages


@pytest.fixture(scope="module")
def dungeon(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    folder = tmp_path_factory.mktemp("dungeon")
    for name, text in fixture().items():
        path = folder / "docs" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf8")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        with Engine(folder / "index", load(start=str(folder), environ={})) as engine:
            engine.sync([folder / "docs"])
            yield engine


@pytest.mark.model
@pytest.mark.parametrize("recipe", ["default", "identifiers"])
@pytest.mark.parametrize("sentence", ["{}", "tell me about {}", "how do I use {} here?"])
@pytest.mark.parametrize(
    ("query", "expected"),
    [("D40", "regions/d40.md"), ("Aboleth", "monsters/aboleth.md"), ("30 CFR 75.1725", "cfr/75-1725.md")],
)
def test_identifiers_come_first(dungeon: Engine, recipe: str, sentence: str, query: str, expected: str) -> None:
    answer = dungeon.search(Request(sentence.format(query), recipe=recipe))
    assert answer.results[0].document == expected
    assert not answer.failures


@pytest.mark.model
@pytest.mark.parametrize("recipe", ["default", "identifiers"])
def test_concepts_are_understood(dungeon: Engine, recipe: str) -> None:
    first = dungeon.search(Request("What are the safety requirements?", recipe=recipe)).results[0]
    assert first.document == "safety/requirements.md"
    fire = dungeon.search(Request("Tell me about fire hazards", recipe=recipe)).results
    assert "safety/fire.md" in [result.document for result in fire[:3]]


@pytest.mark.model
def test_a_bare_identifier_has_the_full_keyword_score(dungeon: Engine) -> None:
    first = dungeon.search(Request("D40", recipe="identifiers")).results[0]
    (keyword,) = [e for e in first.evidence if e.by == "keyword"]
    assert keyword.score == keyword.detail["keyword_score"] == 1.0
    assert {e.by for e in first.evidence} == {"keyword", "anchor"}  # and nothing was embedded
    for result in dungeon.search(Request("Region of D40", recipe="identifiers")).results:
        for e in result.evidence:
            assert e.by != "keyword" or 0 < e.score == e.detail["keyword_score"] <= 1


def test_identifiers_are_found_without_vectors(dungeon: Engine) -> None:
    """The lexical mode runs the words that the fusion of the recipe weighs."""
    answer = dungeon.search(Request("D40", mode="lexical", recipe="identifiers"))
    assert {e.by for e in answer.results[0].evidence} == {"keyword", "anchor"}
    assert (answer.results[0].document, answer.results[0].fusion_score > 0) == ("regions/d40.md", True)


def test_linear_to_the_digit() -> None:
    """ADR-003's own example."""
    dense = Ranking.of("dense", [Hit("D41", 0.85), Hit("D40", 0.7), Hit("Area D", 0.6)])
    keyword = Ranking.of("keyword", [Hit("D40", 1.0), Hit("Area D", 0.5)])
    fused = build("fusion", "linear", {}).fuse([dense, keyword], Plan("D40"))
    assert [(hit.chunk, round(hit.score, 9)) for hit in fused.hits] == [("D40", 0.79), ("D41", 0.595), ("Area D", 0.57)]


def test_legacy_to_the_digit() -> None:
    dense = Ranking.of("dense", [Hit("a", 0.2), Hit("b", -0.5)])
    boost = Ranking.of("boost", [Hit("a", 8.0), Hit("c", 3.0)])
    fused = build("fusion", "legacy", {}).fuse([dense, boost], Plan("x"))
    assert {hit.chunk: round(hit.score, 9) for hit in fused.hits} == {"a": 1.0, "b": 0.25, "c": 0.3}


def test_what_legacy_clamps_comes_off_the_boost() -> None:
    dense = Ranking.of("dense", [Hit("a", 0.898), Hit("b", 1.0000004)])
    boost = Ranking.of("boost", [Hit("a", 12.5)])
    fused = build("fusion", "legacy", {}).fuse([dense, boost], Plan("x"))
    for hit in fused.hits:
        assert hit.score == 1.0
        assert sum(e.detail["contribution"] for e in hit.evidence) == pytest.approx(hit.score, abs=1e-9)
    found = {e.by: e.detail for hit in fused.hits if hit.chunk == "a" for e in hit.evidence}
    assert found["dense"] == {"contribution": pytest.approx(0.949)}
    assert found["boost"] == {"contribution": pytest.approx(0.051), "unclamped": pytest.approx(1.25)}


@pytest.mark.model
def test_legacy_says_what_it_drops(tmp_path: Path, vault: Path) -> None:
    with opened(tmp_path, RECIPE="registry", PIPELINE__FUSION="legacy") as engine:
        engine.sync([vault])
        engine.registry.put(*ENTITIES)
        answer = engine.search(Request("rotate keys"))
        (failure,) = answer.failures
        assert failure.by == "lexical"
        assert failure.reason == "not used: the fusion legacy counts dense and boost only"
        assert "pipeline.fusion" in failure.hint
        assert answer.results
        assert engine.registry.search(EntityRequest("fill in forms")).failures == ()  # which is what it is for
        with pytest.raises(Degraded, match="lexical"):
            engine.search(Request("rotate keys", strict=True))


@pytest.mark.model
@pytest.mark.parametrize("recipe", recipes())
@pytest.mark.parametrize("mode", ["", "lexical", "exact", "static", "dense", "hybrid"])
@pytest.mark.parametrize("query", ["D40", "what stirs behind the north door?", "Tell me about Room D40", "zzz", "?"])
def test_the_promises_hold_for_every_recipe_and_mode(dungeon: Engine, recipe: str, mode: str, query: str) -> None:
    for top_n in (1, 3, 25):
        answer = dungeon.search(Request(query, recipe=recipe, mode=mode, top_n=top_n))
        scores = [result.score for result in answer.results]
        assert len(scores) <= top_n
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)
        assert not scores or scores[0] == 1.0
        assert len({result.id for result in answer.results}) == len(scores)


@pytest.mark.model
def test_under_default_the_first_three_of_ten_are_the_three(dungeon: Engine) -> None:
    for query in ("what stirs behind the north door?", "D40", "safe operating condition of machinery"):
        ten = [r.id for r in dungeon.search(Request(query, top_n=10)).results]
        assert [r.id for r in dungeon.search(Request(query, top_n=3)).results] == ten[:3]


@pytest.mark.model
def test_contributions_sum_to_the_fused_score(dungeon: Engine) -> None:
    for recipe in recipes():
        for result in dungeon.search(Request("Tell me about Room D40", recipe=recipe)).results:
            parts = [e.detail["contribution"] for e in result.evidence if "contribution" in e.detail]
            assert sum(parts) == pytest.approx(result.fusion_score, abs=1e-9)


@pytest.mark.model
def test_docs_looks_twice(dungeon: Engine) -> None:
    answer = dungeon.search(Request("what stirs behind the north door?", recipe="docs", top_n=60))
    assert any(step.startswith("first look") for step in answer.timings)
    assert len({result.document for result in answer.results}) <= 5


def test_two_stage_begins_at_ten_documents_and_keeps_weights(tmp_path: Path, write) -> None:
    def twice(engine: Engine, **flags: object) -> bool:
        return any(s.startswith("first look") for s in engine.search(Request("heron", mode="lexical")).timings)

    for count, expected in ((9, False), (10, True)):
        vault = write({f"{i}.md": f"# Page {i}\n\nheron number {i}\n" for i in range(count)})
        environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__RECIPE": '"docs"'}
        with Engine(tmp_path / f"index-{count}", load(environ=environ)) as engine:
            engine.sync([vault])
            assert twice(engine) is expected
        with Engine(
            tmp_path / f"index-{count}", load(environ={**environ, "WATERSMEET__TWO_STAGE__AUTO": "false"})
        ) as off:
            assert not twice(off)
        with Engine(
            tmp_path / f"index-{count}", load(environ={**environ, "WATERSMEET__TWO_STAGE__ENABLED": "true"})
        ) as on:
            assert twice(on)


def test_sections_per_document_is_a_real_cap(tmp_path: Path, write) -> None:
    long = "\n".join(f"## Part {i}\n\n{'The heron waits. ' * 20}\n" for i in range(30))
    vault = write({"long.md": f"# Long\n\n{long}", **{f"{i}.md": f"# P{i}\n\nA heron.\n" for i in range(12)}})
    environ = {"WATERSMEET__INDEX__VECTORS": "false", "WATERSMEET__RECIPE": '"docs"'}
    with Engine(tmp_path / "index", load(environ=environ)) as engine:
        engine.sync([vault])
        found = [r.document for r in engine.search(Request("heron", mode="lexical", top_n=50)).results]
        assert found.count("long.md") == 10


@pytest.mark.model
def test_notes_adds_neighbours_and_their_date(dungeon: Engine) -> None:
    answer = dungeon.search(Request("what stirs behind the north door?", recipe="notes", top_n=6))
    assert len(answer.results) == 6
    assert any(e.by == "recency" and e.detail["factor"] == 1.2 for r in answer.results for e in r.evidence)


@pytest.mark.parametrize("mode", ["", "lexical", "hybrid"])
def test_links_need_no_vectors(tmp_path: Path, write, mode: str) -> None:
    notes = {"a": "One. [[b]]", "b": "A wombat. [[a]] [[c]]", "c": "Three. [[b]] [[d]]", "d": "Four. [[c]]"}
    vault = write({f"{name}.md": f"# Note {name}\n\n{text}\n" for name, text in notes.items()})
    with Engine(tmp_path / "index", load(environ={"WATERSMEET__INDEX__VECTORS": "false"})) as engine:
        engine.sync([vault])
        answer = engine.search(Request("wombat", mode=mode, recipe="notes"))
        assert answer.results[0].document == "b.md"
        assert {result.document for result in answer.results} == {"a.md", "b.md", "c.md"}
        assert answer.mode == "lexical"
        assert {failure.by for failure in answer.failures} == ({"dense"} if mode == "hybrid" else set())
        alone = engine.search(Request("wombat", mode="exact", recipe="notes"))
        assert [result.document for result in alone.results] in ([], ["b.md"])


@pytest.mark.model
def test_why_not(dungeon: Engine) -> None:
    found = dungeon.why_not(Request("D40", top_n=3), "regions/d40.md")
    assert (found.place, found.rank) == ("result", 1)
    cut = dungeon.why_not(Request("what stirs behind the north door?", top_n=1), "regions/d12.md")
    assert cut.place in ("cut", "candidates", "result")
    assert cut.ranks
    assert dungeon.why_not(Request("D40"), "nowhere.md").place == "index"
    narrow = Request("D40", condition=Request("x").condition.narrowed("path", ("monsters/*",)))
    assert dungeon.why_not(narrow, "regions/d40.md").place == "condition"


@pytest.mark.model
@pytest.mark.parametrize(
    ("recipe", "fusion", "query"),
    [
        ("default", "CONVEX", "roof bolts near the gate"),
        ("default", "CONVEX", "party of four with a helmet"),
        ("docs", "RRF", "roof bolts near the gate"),
    ],
)
def test_a_weight_that_why_not_names_brings_the_document_in_once_it_is_set(
    dungeon: Engine, recipe: str, fusion: str, query: str
) -> None:
    request, named = Request(query, recipe=recipe, top_n=3), 0
    ranked = dungeon.search(Request(query, top_n=60)).results
    for document in dict.fromkeys(result.document for result in ranked[3:30]):
        for signal, weight in dungeon.why_not(request, document).weights.items():
            environ = {f"WATERSMEET__FUSION__{fusion}__WEIGHTS__{signal.upper()}": str(weight)}
            with Engine(dungeon.folder, load(start=dungeon.folder, environ=environ)) as other:
                assert document in [r.document for r in other.search(request).results], (signal, weight)
            named += 1
    assert named


@pytest.mark.model
def test_no_weight_is_named_where_a_step_sets_its_own(dungeon: Engine) -> None:
    request = Request("operated machinery behind the door", recipe="identifiers", top_n=3)
    ranked = dungeon.search(replace(request, top_n=60)).results
    found = [dungeon.why_not(request, result.document) for result in ranked[3:]]
    assert "cut" in [why.place for why in found]
    assert not any(why.weights for why in found)


@pytest.mark.model
def test_why_not_says_that_the_first_look_left_it_out(dungeon: Engine) -> None:
    request = Request("what stirs behind the north door?", recipe="docs", top_n=60)
    kept = {result.document for result in dungeon.search(request).results}
    out = next(page for page in (f"regions/d{n}.md" for n in range(1, 61)) if page not in kept)
    why = dungeon.why_not(request, out)
    assert (why.place, why.rank is not None and why.rank > 5) == ("first look", True)
    assert why.reason.endswith("in the first stage, which keeps 5")
    assert why.ranks
    assert dungeon.why_not(request, min(kept)).place == "result"
    last = dungeon.search(request).results[-1].document
    assert dungeon.why_not(replace(request, top_n=1), last).place == "cut"
    narrow = replace(request, condition=Condition().narrowed("path", ("monsters/*",)))
    assert dungeon.why_not(narrow, out).place == "condition"


def test_a_signal_that_likes_everything_alike_changes_nothing() -> None:
    lexical = Ranking.of("lexical", [Hit("a", 3.0), Hit("b", 2.0), Hit("c", 1.0)])
    flat = Ranking.of("flat", [Hit(chunk, 0.7) for chunk in "abc"])
    for scale in ("min_max", "floor_max", "raw"):
        alone = build("fusion", "convex", {"scale": scale}).fuse([lexical], Plan("x"))
        both = build("fusion", "convex", {"scale": scale}).fuse([lexical, flat], Plan("x"))
        assert [hit.chunk for hit in both.hits] == [hit.chunk for hit in alone.hits]


def test_what_does_not_vote_is_named(engine: Engine, vault: Path) -> None:
    engine.sync([vault])
    assert engine.search("rotate keys").silent == {"static": "not in this index", "dense": "not in this index"}
    assert engine.search(Request("rotate keys", mode="lexical")).silent == {}
