"""Weights follow evidence, and only evidence."""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from watersmeet import Engine
from watersmeet.core.errors import ConfigError, IndexProblem
from watersmeet.core.model import Condition, Request
from watersmeet.engine.calibration.learned_weights import StoredWeights, prior_of
from watersmeet.engine.calibration.posterior import MAX_SHIFT, SIGNALS, Posterior, grid
from watersmeet.engine.calibration.recent_searches import MAX_AGE_SECONDS
from watersmeet.engine.index.state_names import CALIBRATION, RECENT_SEARCHES
from watersmeet.engine.settings.settings import load
from watersmeet.store.local.state import FileState

HANDBOOK = Path(__file__).parents[3] / "examples" / "handbook"
PRIOR = {"lexical": 0.3, "static": 0.1, "dense": 0.6}
JUDGED = [
    ("how do I log on?", {"accounts/sign-in.md": 1.0}),
    ("what to do when the disk is full", {"operations/troubleshooting.md": 1.0}),
    ("second factor", {"accounts/two-factor.md": 1.0}),
    ("copies of my data in case of loss", {"operations/backup-and-restore.md": 1.0}),
]


@pytest.fixture(scope="module")
def embedded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("handbook")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        with Engine(folder / "index", load(start=str(folder), environ={})) as engine:
            engine.sync([HANDBOOK], collection="handbook")
    return folder / "index"


@pytest.fixture
def engine(embedded: Path, tmp_path: Path) -> Iterator[Engine]:
    shutil.copytree(embedded, tmp_path / "index")
    with Engine(tmp_path / "index", load(start=str(tmp_path), environ={})) as made:
        yield made


def weights(engine: Engine, query: str, condition: Condition | None = None) -> dict[str, float]:
    request = Request(query, "hybrid", condition=condition or Condition())
    with engine.open_search(request) as search_run:
        return dict(search_run.outcome.plan.weights)


# ---------------------------------------------------------------- the belief itself


def favouring(name: str) -> list[float]:
    """Evidence that one signal alone is right."""
    return [0.4 + 0.6 * point[SIGNALS.index(name)] for point in grid()]


@pytest.mark.parametrize("name", SIGNALS)
def test_evidence_moves_the_weights_its_way_and_not_too_far(name: str) -> None:
    belief = Posterior()
    for _ in range(500):
        belief = belief.learn(favouring(name))
    learnt = belief.weights(PRIOR)
    assert learnt[name] > PRIOR[name] + 0.1
    assert math.isclose(sum(learnt.values()), sum(PRIOR.values()), abs_tol=1e-3)
    assert all(abs(learnt[n] - PRIOR[n]) <= MAX_SHIFT + 1e-4 for n in SIGNALS)


def test_evidence_of_which_nothing_is_ever_found_is_none() -> None:
    belief = Posterior()
    for _ in range(500):
        belief = belief.learn([0.09 * gain for gain in favouring("lexical")])
    assert belief.trust(PRIOR) == 0.0
    assert belief.weights(PRIOR) == pytest.approx(Posterior().learn([0.0] * len(grid())).weights(PRIOR))


def test_without_evidence_the_weights_are_the_recipes() -> None:
    assert Posterior().weights(PRIOR) == PRIOR


@pytest.mark.slow
@given(st.lists(st.lists(st.floats(0, 1), min_size=66, max_size=66), max_size=5))
def test_whatever_is_learnt_the_weights_stay_weights(evidence: list[list[float]]) -> None:
    belief = Posterior()
    for gains in evidence:
        belief = belief.learn(gains)
    learnt = belief.weights(PRIOR)
    assert all(value >= 0 for value in learnt.values())
    assert math.isclose(sum(learnt.values()), 1.0, abs_tol=1e-3)
    assert math.isclose(sum(belief.posterior(PRIOR)), 1.0)


@pytest.mark.parametrize(
    "prior", [PRIOR, {"lexical": 0.5, "static": 0.0, "dense": 0.5}, {"lexical": 3.0, "dense": 1.0}]
)
def test_evidence_that_says_nothing_moves_nothing(prior: dict[str, float]) -> None:
    known = {name: prior.get(name, 0.0) for name in SIGNALS}
    for gains in ([0.0] * 66, [0.7] * 66):
        assert Posterior().learn(gains).weights(prior) == pytest.approx(known, abs=1e-3)


def test_the_thousandth_piece_counts_no_more_than_the_cap_allows() -> None:
    def after(pieces: int) -> dict[str, float]:
        belief = Posterior()
        for _ in range(pieces):
            belief = belief.learn(favouring("static"))
        return belief.weights(PRIOR)

    assert after(200) == pytest.approx(after(2000), abs=1e-3)


# ---------------------------------------------------------------- in an index


@pytest.mark.model
def test_judgements_move_the_weights_of_the_index_and_of_their_collection(engine: Engine) -> None:
    assert weights(engine, "keys") == {}
    report = engine.calibration.judge(JUDGED)
    assert (report.learnt, report.known, report.unusable) == (4, 0, [])
    state = engine.calibration.show()
    assert set(state["collections"]) == {"*", "handbook"}
    learnt = state["collections"]["*"]["weights"]
    assert learnt != state["prior"]
    assert weights(engine, "keys") == learnt
    here = Condition({"collection": ("handbook",)})
    assert weights(engine, "keys", here) == state["collections"]["handbook"]["weights"]
    in_capitals = Condition({"Collection": ("HANDBOOK",)})
    assert weights(engine, "keys", in_capitals) == state["collections"]["handbook"]["weights"]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of two collections of which one was judged."""
    folder = tmp_path_factory.mktemp("two")
    (folder / "recipes").mkdir()
    (folder / "recipes" / "bread.md").write_text("# Bread\n\nKnead the dough and wait.\n")
    settings = load(start=str(folder), environ={"WATERSMEET__INDEX__DENSE": "hashed"})
    with Engine(folder / "index", settings) as made:
        made.sync([HANDBOOK], collection="handbook")
        made.sync([folder / "recipes"], collection="recipes")
        assert made.calibration.judge(JUDGED).learnt == 4  # their ids are the same beside another folder
    return folder / "index"


@pytest.mark.model
@pytest.mark.parametrize(
    ("asked", "by"),
    [((), "*"), (("handbook",), "handbook"), (("recipes",), ""), (("recipes", "handbook"), "handbook")],
)
def test_a_collection_is_moved_by_its_own_evidence_only(two: Path, asked: tuple[str, ...], by: str) -> None:
    settings = load(start=str(two.parent), environ={"WATERSMEET__INDEX__DENSE": "hashed"})
    with Engine(two, settings) as engine:
        learnt = {name: one["weights"] for name, one in engine.calibration.show()["collections"].items()}
        assert set(learnt) == {"*", "handbook"}
        condition = Condition({"collection": asked}) if asked else None
        assert weights(engine, "dough", condition) == learnt.get(by, {})


@pytest.mark.model
def test_signals_without_a_weight_of_their_own_start_from_1(engine: Engine, tmp_path: Path) -> None:
    """What is shown as the prior is what is moved."""
    flags = {"fusion": {"convex": {"weights": {"lexical": 0.3}}}, "pipeline": {"fusion": "convex"}}
    settings = load(start=str(tmp_path), environ={}, recipe="docs", flags=flags)
    assert prior_of(settings) == {"lexical": 0.3, "static": 1.0, "dense": 1.0}
    engine.calibration.judge(JUDGED)
    assert math.isclose(
        sum(StoredWeights(FileState(engine.folder, CALIBRATION), settings).weights(()).values()), 2.3, abs_tol=1e-3
    )


@pytest.mark.model
def test_the_same_judgement_counts_once(engine: Engine) -> None:
    engine.calibration.judge(JUDGED)
    before = engine.calibration.show()
    again = engine.calibration.judge([*JUDGED, *JUDGED])
    assert (again.learnt, again.known) == (0, 8)
    assert engine.calibration.show() == before


@pytest.mark.model
def test_reset_forgets_all(engine: Engine) -> None:
    engine.calibration.judge(JUDGED)
    engine.calibration.reset()
    assert engine.calibration.show()["collections"] == {}
    assert weights(engine, "keys") == {}
    assert not Path(engine.folder, CALIBRATION).exists()


@pytest.mark.model
def test_what_is_kept_can_be_exported_and_holds_no_query(engine: Engine) -> None:
    engine.calibration.judge(JUDGED)
    text = json.dumps(engine.calibration.export())
    assert json.loads(text)["judged"] == 4
    assert "log on" not in text + Path(engine.folder, CALIBRATION).read_text("utf8")


@pytest.mark.model
def test_a_search_weighs_by_what_was_learnt_and_says_so(engine: Engine) -> None:
    before = {e.by: e.detail["weight"] for e in engine.search("log on").results[0].evidence if "weight" in e.detail}
    engine.calibration.judge(JUDGED)
    after = {e.by: e.detail["weight"] for e in engine.search("log on").results[0].evidence if "weight" in e.detail}
    assert before.keys() == after.keys()
    assert before != after


@pytest.mark.model
def test_a_judgement_that_no_signal_can_follow_is_named(engine: Engine) -> None:
    report = engine.calibration.judge(
        [("how do I log on?", {"glossary.md#nowhere": 1.0}), ("x", {}), ("x", {"a": 0.0})]
    )
    assert report.learnt == 0
    assert len(report.unusable) == 3


def test_words_alone_cannot_be_weighed(tmp_path: Path, vault: Path) -> None:
    settings = load(start=str(tmp_path), environ={"WATERSMEET__INDEX__VECTORS": "false"})
    with Engine(tmp_path / "words", settings) as words:
        words.sync([vault])
        report = words.calibration.judge([("keys", {"guides/keys.md": 1.0})])
    assert report.unusable == [("keys", "fewer than two signals have hits")]


@pytest.mark.model
def test_another_fusion_has_no_weights_to_learn(embedded: Path, tmp_path: Path) -> None:
    shutil.copytree(embedded, tmp_path / "index")
    settings = load(start=str(tmp_path), environ={"WATERSMEET__PIPELINE__FUSION": "rrf"})
    with Engine(tmp_path / "index", settings) as other, pytest.raises(ConfigError, match="convex"):
        other.calibration.judge(JUDGED)


@pytest.mark.model
def test_a_damaged_file_is_named_with_what_to_do(engine: Engine) -> None:
    Path(engine.folder, CALIBRATION).write_text("{", "utf8")
    with pytest.raises(IndexProblem) as problem:
        engine.calibration.show()
    assert "--reset" in problem.value.hint
    engine.calibration.reset()
    assert engine.calibration.show()["collections"] == {}


@pytest.mark.model
@pytest.mark.parametrize("grade", [math.inf, math.nan])
def test_a_grade_that_is_no_number_is_refused(engine: Engine, grade: float) -> None:
    report = engine.calibration.judge([("how do I log on?", {"accounts/sign-in.md": grade})])
    assert (report.learnt, len(report.unusable)) == (0, 1)
    assert engine.calibration.show()["collections"] == {}


@pytest.mark.model
def test_judgements_that_came_too_early_are_not_lost(tmp_path: Path) -> None:
    settings = load(start=str(tmp_path), environ={"WATERSMEET__INDEX__DENSE": "hashed"})
    words = load(start=str(tmp_path), environ={"WATERSMEET__INDEX__VECTORS": "false"})
    with Engine(tmp_path / "index", words) as early:
        early.sync([HANDBOOK])
        assert early.calibration.judge(JUDGED).learnt == 0
    with Engine(tmp_path / "index", settings) as later:
        later.sync([HANDBOOK])
        assert later.calibration.judge(JUDGED).learnt == 4


@pytest.mark.model
def test_a_damaged_file_is_found_by_the_doctor_and_named_by_a_search(engine: Engine) -> None:
    engine.calibration.judge(JUDGED)
    text = Path(engine.folder, CALIBRATION).read_text("utf8")
    Path(engine.folder, CALIBRATION).write_text(text.replace('"gained": [', '"gained": [NaN, ', 1), "utf8")
    assert [check.name for check in engine.doctor() if not check.ok] == ["calibration"]
    assert [failure.by for failure in engine.search("log on").failures] == ["learned_weights"]
    assert "damaged" in engine.status()["calibration"]["problem"]


# ---------------------------------------------------------------- what is opened


@pytest.mark.model
def test_a_search_does_not_wait_for_whoever_is_learning(embedded: Path, tmp_path: Path) -> None:
    shutil.copytree(embedded, tmp_path / "index")
    settings = load(start=str(tmp_path), environ={"WATERSMEET__CALIBRATION__LEARN": "true"})
    states = [FileState(str(tmp_path / "index"), name) for name in (CALIBRATION, RECENT_SEARCHES)]
    with Engine(tmp_path / "index", settings) as learning, states[0].changing(0), states[1].changing(0):
        assert learning.search("how do I log on?").results


@pytest.mark.model
def test_nothing_is_noted_unless_the_user_allows_it(engine: Engine) -> None:
    engine.search("log on")
    engine.get("accounts/sign-in.md")
    assert not Path(engine.folder, RECENT_SEARCHES).exists()
    assert engine.calibration.show()["opened"] == 0


@pytest.mark.model
def test_what_is_opened_after_a_search_is_evidence_where_it_is_allowed(embedded: Path, tmp_path: Path) -> None:
    shutil.copytree(embedded, tmp_path / "index")
    settings = load(start=str(tmp_path), environ={"WATERSMEET__CALIBRATION__LEARN": "true"})
    with Engine(tmp_path / "index", settings) as learning:
        learning.get("accounts/sign-in.md")
        assert learning.calibration.show()["opened"] == 0  # no search led there
        learning.search("how do I log on?")
        learning.get("accounts/sign-in.md")
        learning.get("accounts/sign-in.md")
        state = learning.calibration.show()
        assert (state["opened"], state["learning"]) == (1, True)
        assert state["collections"]["*"]["evidence"] == 0.5


def searched(folder: Path, *ages: float) -> Path:
    """Searches of so many seconds ago."""
    lines = [json.dumps({"at": time.time() - age, "query": f"secret {age:g}", "documents": ["a"]}) for age in ages]
    (folder / RECENT_SEARCHES).write_text("".join(f"{line}\n" for line in lines))
    return folder / RECENT_SEARCHES


CALLS: dict[str, Callable[[Engine], object]] = {
    "search": lambda engine: engine.search("log on"),
    "get": lambda engine: engine.get("accounts/sign-in.md"),
    "sync": lambda engine: engine.sync([HANDBOOK], collection="handbook", deepen=False),
    "show": lambda engine: engine.calibration.show(),
    "judge": lambda engine: engine.calibration.judge(JUDGED[:1]),
}


@pytest.mark.model
@pytest.mark.parametrize("call", CALLS)
def test_once_nothing_may_be_learnt_the_first_call_removes_what_was_searched(engine: Engine, call: str) -> None:
    file = searched(Path(engine.folder), MAX_AGE_SECONDS * 2, 1.0)
    CALLS[call](engine)
    assert not file.exists()


@pytest.mark.model
@pytest.mark.parametrize("call", ["search", "sync", "show"])
def test_searches_of_more_than_half_an_hour_ago_are_dropped(embedded: Path, tmp_path: Path, call: str) -> None:
    shutil.copytree(embedded, tmp_path / "index")
    settings = load(start=str(tmp_path), environ={"WATERSMEET__CALIBRATION__LEARN": "true"})
    with Engine(tmp_path / "index", settings) as learning:
        file = searched(tmp_path / "index", MAX_AGE_SECONDS + 60, 60.0)
        CALLS[call](learning)
        kept = [json.loads(line)["query"] for line in file.read_text().splitlines()]
        assert kept == ["secret 60", *(["log on"] if call == "search" else [])]
        file = searched(tmp_path / "index", MAX_AGE_SECONDS + 60)
        CALLS[call](learning)
        assert file.exists() == (call == "search")
