"""The sparse signal: made when first asked for, kept up from then on, and honest when it cannot answer."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from watersmeet import Engine
from watersmeet.core.errors import ConfigError, Degraded, IndexMismatch
from watersmeet.core.model import Condition, Request
from watersmeet.engine.settings.settings import load
from watersmeet.engine.sync import deepen as deepening

HANDBOOK = Path(__file__).parents[3] / "examples" / "handbook"


def opened(index: Path, **environ: str) -> Engine:
    """Words and terms only, unless something else is asked for."""
    wanted = {"INDEX__STATIC": "", "INDEX__DENSE": ""} | environ
    return Engine(index, load(start=str(index.parent), environ={f"WATERSMEET__{k}": v for k, v in wanted.items()}))


def found(engine: Engine, query: str, top_n: int = 5) -> list[str]:
    answer = engine.search(Request(query, mode="sparse", top_n=top_n))
    assert (answer.mode, answer.failures) == ("sparse", ())
    return [result.document for result in answer.results]


@pytest.fixture(scope="module")
def handbook(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engine]:
    with opened(tmp_path_factory.mktemp("handbook") / "index") as engine:
        engine.sync([HANDBOOK], deepen=False)
        engine.deepen(tiers=("sparse",))
        yield engine


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    return Path(shutil.copytree(HANDBOOK, tmp_path / "docs"))


@pytest.mark.slow
def test_the_mode_ranks_and_says_so(handbook: Engine) -> None:
    answer = handbook.search(Request("rotate the signing key", mode="sparse"))
    assert (answer.mode, answer.failures) == ("sparse", ())
    assert len(answer.results) > 3
    ranks = [[(e.by, e.rank) for e in result.evidence if e.by == "sparse"] for result in answer.results]
    assert ranks == [[("sparse", rank)] for rank in range(1, len(ranks) + 1)]
    assert all(result.similarity is None for result in answer.results)


def test_it_finds_what_is_said_in_other_words(tmp_path: Path) -> None:
    query = "physician"
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "clinic.md").write_text("# Clinic\n\nAsk the doctor on duty.\n")
    with opened(tmp_path / "index") as engine:
        engine.sync([tmp_path / "more"])
        engine.deepen(tiers=("sparse",))
        assert found(engine, query) == ["clinic.md"]
        assert not engine.search(Request(query, mode="lexical")).results


@pytest.mark.slow
def test_status_shows_its_coverage(handbook: Engine) -> None:
    status = handbook.status()["signals"]["sparse"]
    assert (status["coverage"], status["model"]) == (1.0, "terms")


def test_conditions_hold_before_ranking(handbook: Engine) -> None:
    condition = Condition({"path": ("accounts/**",)})
    answer = handbook.search(Request("server port log", mode="sparse", condition=condition))
    assert answer.results
    assert all(result.document.startswith("accounts/") for result in answer.results)


def test_punctuation_means_nothing(handbook: Engine) -> None:
    assert not handbook.search(Request("?! ...", mode="sparse")).results


def test_it_votes_only_where_the_recipe_lists_it(handbook: Engine) -> None:
    def voters(engine: Engine) -> set[str]:
        answer = engine.search(Request("rotate the signing key", mode="hybrid"))
        return {evidence.by for result in answer.results for evidence in result.evidence}

    assert "sparse" not in voters(handbook)
    with opened(Path(handbook.folder), PIPELINE__SIGNALS='["lexical", "exact", "sparse"]') as engine:
        assert {"lexical", "sparse"} <= voters(engine)
        assert engine.search("rotate the signing key").mode == "hybrid"


@pytest.mark.slow
def test_what_changes_is_followed_and_what_is_deleted_is_gone(tmp_path: Path, docs: Path) -> None:
    with opened(tmp_path / "index") as engine:
        engine.sync([docs])
        engine.deepen(tiers=("sparse",))
        page = docs / "accounts" / "sign-in.md"
        page.write_text(page.read_text("utf8") + "\n## Zeppelins\n\nAirships may land here.\n", "utf8")
        engine.sync([docs])
        assert found(engine, "zeppelins") == ["accounts/sign-in.md"]
        page.unlink()
        engine.sync([docs])
        assert found(engine, "zeppelins") == []
        assert "accounts/sign-in.md" not in found(engine, "sign in", 100)
        assert engine.compact(grace=0) > 0
        assert "accounts/sign-in.md" not in found(engine, "sign in", 100)
        assert engine.status()["signals"]["sparse"]["coverage"] == 1.0


def test_what_was_committed_is_kept_when_it_stops(tmp_path: Path, docs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Stop(Exception): ...

    def tell(step: object) -> None:
        if getattr(step, "done", 0) and "sparse" in getattr(step, "doing", ""):
            raise Stop

    monkeypatch.setitem(deepening.WINDOWS, "sparse", 10)
    with opened(tmp_path / "index") as engine:
        engine.sync([docs])
        with pytest.raises(Stop):
            engine.deepen(tell, tiers=("sparse",))
        share = engine.status()["signals"]["sparse"]["coverage"]
        assert 0 < share < 0.9
        engine.search(Request("key", mode="sparse"))  # by its own name it is asked whatever it has seen
        engine.deepen()
        assert engine.status()["signals"]["sparse"]["coverage"] == 1.0


def test_switched_off_it_is_named_and_survived(tmp_path: Path, docs: Path) -> None:
    with opened(tmp_path / "index", INDEX__SPARSE="") as engine:
        engine.sync([docs])
        answer = engine.search(Request("sign in", mode="sparse"))
        assert answer.mode == "lexical"
        assert answer.results
        assert [failure.by for failure in answer.failures] == ["sparse"]
        assert "index.sparse" in answer.failures[0].hint
        with pytest.raises(Degraded, match="sparse"):
            engine.search(Request("sign in", mode="sparse", strict=True))
    with opened(tmp_path / "index") as engine:
        assert "deepen --tier sparse" in engine.search(Request("sign in", mode="sparse")).failures[0].hint
        engine.deepen(tiers=("sparse",))
        assert found(engine, "sign in")


def test_a_damaged_store_is_named_and_survived(tmp_path: Path, docs: Path) -> None:
    with opened(tmp_path / "index") as engine:
        engine.sync([docs])
        engine.deepen(tiers=("sparse",))
    for file in (tmp_path / "index").glob("vectors-sparse-*/*.postings"):
        file.write_bytes(file.read_bytes()[:100])
    with opened(tmp_path / "index") as engine:
        answer = engine.search(Request("sign in", mode="sparse"))
        assert (answer.mode, [failure.by for failure in answer.failures]) == ("lexical", ["sparse"])
        assert answer.results


@pytest.mark.slow
def test_other_terms_are_refused_not_mixed(tmp_path: Path, docs: Path) -> None:
    with opened(tmp_path / "index") as engine:
        engine.sync([docs])
        engine.deepen(tiers=("sparse",))
    with opened(tmp_path / "index", EMBED__TERMS__RELATED="1") as engine:
        assert engine.search(Request("sign in", mode="sparse")).failures[0].by == "sparse"
        with pytest.raises(IndexMismatch):
            engine.sync([docs])
        engine.sync([docs], recreate=True)
        assert found(engine, "sign in")


@pytest.mark.slow
@pytest.mark.parametrize(("tier", "model"), [("SPARSE", "onnx"), ("DENSE", "terms")])
def test_a_model_of_the_wrong_sort_is_refused(tmp_path: Path, docs: Path, tier: str, model: str) -> None:
    signals = '["lexical", "sparse"]'
    with opened(tmp_path / "index", PIPELINE__SIGNALS=signals, **{f"INDEX__{tier}": model}) as engine:
        with pytest.raises(ConfigError, match=model) as caught:
            engine.sync([docs])
        assert caught.value.hint


def test_a_model_that_is_missing_is_a_warning(tmp_path: Path, docs: Path) -> None:
    voting = {"PIPELINE__SIGNALS": '["lexical", "sparse"]'}
    with opened(tmp_path / "index", INDEX__SPARSE="splade", EMBED__SPLADE__MODEL="/nowhere", **voting) as engine:
        report = engine.sync([docs])
        assert report.added == 23
        assert [warning.path for warning in report.warnings] == ["sparse"]
        assert engine.sync([docs], deepen=False).warnings == []  # a deep model is left for later
        answer = engine.search(Request("sign in", mode="sparse"))
        assert (answer.mode, [failure.by for failure in answer.failures]) == ("lexical", ["sparse"])


# ------------------------------------------------------------ on demand


def coverage(engine: Engine) -> float:
    return float(engine.status()["signals"]["sparse"]["coverage"])


@pytest.mark.slow
def test_a_sync_makes_none_until_somebody_asks_and_keeps_them_from_then_on(tmp_path: Path, docs: Path) -> None:
    with opened(tmp_path / "index") as engine:
        engine.sync([docs])
        engine.deepen()
        assert not list((tmp_path / "index").glob("vectors-sparse-*"))
        answer = engine.search(Request("sign in", mode="sparse"))
        assert (answer.mode, bool(answer.results)) == ("lexical", True)
        (failure,) = answer.failures
        assert (failure.by, failure.hint) == ("sparse", "make them with `watersmeet deepen --tier sparse`")
        made = engine.deepen(tiers=("sparse",))
        assert (made.embedded, made.warnings) == (engine.status()["chunks"], [])
        assert engine.deepen(tiers=("sparse",)).embedded == 0
        assert coverage(engine) == 1.0
        (docs / "more.md").write_text("# More\n\nAirships may land here.\n")
        engine.sync([docs], deepen=False)
        assert coverage(engine) == 1.0
        engine.sync([docs], recreate=True)
        assert coverage(engine) == 1.0
        engine.sync([docs], recreate=True)
        assert coverage(engine) == 1.0


@pytest.mark.slow
def test_a_sync_makes_them_if_the_settings_let_them_vote(tmp_path: Path, docs: Path) -> None:
    for name, environ in (
        ("one", {"RECIPE": "docs"}),
        ("two", {"PIPELINE__SIGNALS": '["lexical", "sparse"]'}),
        ("three", {"REGISTRY__SIGNALS": '["lexical", "sparse"]'}),
    ):
        with opened(tmp_path / name, **environ) as engine:
            engine.sync([docs])
            assert coverage(engine) == 1.0


@pytest.mark.model
def test_a_recipe_that_lacks_them_says_so(tmp_path: Path, docs: Path) -> None:
    with opened(tmp_path / "index", INDEX__STATIC="static") as engine:
        engine.sync([docs])
        for mode in ("", "hybrid"):
            answer = engine.search(Request("sign in", recipe="docs", mode=mode))
            assert [failure.by for failure in answer.failures] == ["sparse"]
            assert "deepen --tier sparse" in answer.failures[0].hint
            assert "sparse" not in answer.silent
            assert answer.results
        assert not engine.search(Request("sign in")).failures
        with pytest.raises(Degraded, match="sparse"):
            engine.search(Request("sign in", recipe="docs", strict=True))
    with opened(tmp_path / "index", INDEX__STATIC="static", INDEX__SPARSE="") as engine:
        assert not engine.search(Request("sign in", recipe="docs")).failures  # nobody wants them


def test_a_tier_that_there_is_not_is_refused(handbook: Engine) -> None:
    with pytest.raises(ConfigError, match="no tier called 'sparze'") as caught:
        handbook.deepen(tiers=("sparze",))
    assert "sparse" in caught.value.hint
