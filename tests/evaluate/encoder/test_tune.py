"""The encoder of queries is really trained, measured, stored and undone, on a small corpus with words of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import watersmeet_granite_30m
from click.testing import CliRunner, Result

from watersmeet import Engine
from watersmeet.core.errors import ConfigError, ModelProblem
from watersmeet.embed.onnx import Onnx
from watersmeet.engine.index.query_encoder import encoders_folder
from watersmeet.engine.settings.settings import load as settings
from watersmeet.engine.sync.report import Progress
from watersmeet.evaluate.data import Question, load
from watersmeet.evaluate.encoder.examples import Split
from watersmeet.evaluate.encoder.tune import by_documents, check_libraries, tune_encoder
from watersmeet.face.cli.main import cli

pytestmark = pytest.mark.model

MODEL = Path(watersmeet_granite_30m.PATH)
SUBJECTS = {
    "bees": ("Bees", "A hive is opened on warm days; the keeper looks for eggs, honey and mites."),
    "boats": ("Boats", "The hull is scraped in winter, painted in spring, and the rigging is checked by the crew."),
    "bread": ("Bread", "Flour, water and salt rest overnight; the loaf is baked in a hot oven until brown."),
    "clocks": ("Clocks", "The pendulum is adjusted until the hands gain less than a minute in a week."),
    "maps": ("Maps", "Contour lines join places of the same height; a legend explains the other signs."),
    "trees": ("Trees", "A sapling is planted in autumn and watered through its first two summers."),
}
NAMES = dict(zip("alder birch cedar dahlia elder fennel".split(), SUBJECTS, strict=True))
"""What the team calls each subject: nothing in the texts says so."""
FORMS = (
    "what does {} need?",
    "{}",
    "the usual work on {}",
    "who looks after {}",
    "{} in winter",
    "notes on {}",
    "tell me about {}",
    "{} and how to do it",
    "problems with {}",
    "plan for {}",
)


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an index of six pages, and questions that use the team's names."""
    monkeypatch.chdir(tmp_path)
    pages = tmp_path / "pages"
    pages.mkdir()
    for name, (title, text) in SUBJECTS.items():
        (pages / f"{name}.md").write_text(f"# {title}\n\n{text}\n")
    lines = [
        {"query": form.format(name), "expect": [f"{subject}.md"]} for name, subject in NAMES.items() for form in FORMS
    ]
    (tmp_path / "questions.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert run("sync", str(pages), "-q").exit_code == 0
    return tmp_path


def first(query: str) -> str:
    with Engine(".watersmeet") as engine:
        return engine.search(query, mode="dense").results[0].document


def similarity(query: str) -> float:
    with Engine(".watersmeet") as engine:
        return float(engine.search(query, mode="dense").results[0].similarity or 0)


def test_texts_keep_their_vectors_when_another_model_embeds_queries() -> None:
    alone, with_queries = Onnx(), Onnx(query_model=str(MODEL))
    assert alone.fingerprint == with_queries.fingerprint
    assert np.array_equal(alone.embed_query("a hive"), with_queries.embed_query("a hive"))
    with pytest.raises(ModelProblem, match="there is no model folder"):
        Onnx(query_model="./nowhere").embed_query("a hive")


def test_a_missing_library_is_named_with_the_command_that_installs_it() -> None:
    with pytest.raises(ConfigError, match="needs no_such_library, not installed here") as caught:
        check_libraries(("json", "no_such_library"))
    assert caught.value.hint == f'install the extra with: {sys.executable} -m pip install "watersmeet[train,eval]"'


def test_the_gain_is_given_for_documents_that_were_not_trained_on() -> None:
    asked = [Question(str(number), f"question {number}", {name: 1}) for number, name in enumerate("abcd")]
    parts = Split(asked[:1], [Question("x", "once more", {"b": 1})], asked)
    assert by_documents(parts, [0.0, 0.5, 0.5, 1.0], [1.0, 0.5, 0.25, 0.75]) == {
        "trained_on": {"questions": 2, "delta": 0.5},
        "others": {"questions": 2, "delta": -0.25},
    }


@pytest.mark.usefixtures("here")
def test_options_that_do_not_go_together_are_refused() -> None:
    for words in (["--undo"], ["q.toml", "--encoder", "--undo"], ["q.toml", "--encoder", "--out", "x.toml"]):
        found = run("tune", *words)
        assert isinstance(found.exception, ConfigError), words
    assert run("tune").exit_code == 2
    assert "DATASET" in run("tune").stderr
    assert "no tuned encoder" in run("tune", "--encoder", "--undo").stdout
    assert json.loads(run("tune", "--encoder", "--undo", "--json").stdout) == {"undone": False}


@pytest.mark.slow
def test_tuning_is_measured_stored_and_undone(here: Path) -> None:
    pytest.importorskip("torch", reason="NOT RUN: torch is not installed (extra train)")
    pytest.importorskip("onnx", reason="NOT RUN: onnx is not installed (extra train)")
    query = "what does cedar need?"
    before = similarity(query)
    tuned = run("tune", "questions.jsonl", "--encoder", "--json", "--minutes", "1")
    found = json.loads(tuned.stdout)
    assert (tuned.exit_code, found["significant"]) == (0, True), found
    assert (found["train"], found["report"]) == (30, 30)
    assert found["after"]["ndcg@10"] > found["before"]["ndcg@10"] + 0.1
    assert found["epochs"]["mrr"][found["epochs"]["chosen"]] > found["epochs"]["mrr"][0]
    assert found["by_documents"]["trained_on"]["questions"] == 30  # each of the six pages is in both halves
    assert found["by_documents"]["others"] == {"questions": 0, "delta": 0.0}
    assert Path(found["kept"], "model.onnx").is_file()
    assert first(query) == "bread.md"
    status = json.loads(run("status", "--json").stdout)["signals"]["dense"]
    assert (status["query_encoder"], status["coverage"]) == ("tuned", 1.0)
    assert "queries by a tuned encoder" in run("status").stdout
    (here / "pages" / "tents.md").write_text("# Tents\n\nPegs, poles and a groundsheet are packed dry.\n")
    assert run("sync", "-q").exit_code == 0  # texts are embedded by the model of the settings, as before
    assert first("poles and a groundsheet") == "tents.md"
    (here / "pages" / "tents.md").unlink()
    assert run("sync", "-q").exit_code == 0
    assert "again" in run("tune", "--encoder", "--undo").stdout
    assert not Path(found["kept"]).exists()
    assert similarity(query) == pytest.approx(before, abs=1e-6)
    assert "query_encoder" not in json.loads(run("status", "--json").stdout)["signals"]["dense"]


@pytest.mark.slow
def test_an_interrupt_changes_nothing(here: Path) -> None:
    pytest.importorskip("torch", reason="NOT RUN: torch is not installed (extra train)")
    pytest.importorskip("onnx", reason="NOT RUN: onnx is not installed (extra train)")
    steps = []

    def interrupt(step: Progress) -> None:
        steps.append(step.doing)
        if step.doing == "training":
            raise KeyboardInterrupt

    (here / "scratch").mkdir()
    with pytest.raises(KeyboardInterrupt):
        tune_encoder(load(here / "questions.jsonl"), settings(), ".watersmeet", here / "scratch", 1.0, 0, interrupt)
    assert steps[-1] == "training"
    assert not Path(encoders_folder()).exists()
    assert "query_encoder" not in json.loads(run("status", "--json").stdout)["signals"]["dense"]


@pytest.mark.slow
def test_nothing_is_stored_without_a_gain(here: Path) -> None:
    pytest.importorskip("torch", reason="NOT RUN: torch is not installed (extra train)")
    pytest.importorskip("onnx", reason="NOT RUN: onnx is not installed (extra train)")
    lines = [  # every question is answered by the text already
        {"query": text.split(";")[0].split(",")[0] + f" {number}", "expect": [f"{subject}.md"]}
        for subject, (_, text) in SUBJECTS.items()
        for number in range(5)
    ]
    (here / "easy.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    tuned = run("tune", "easy.jsonl", "--encoder", "--minutes", "0.2")
    assert tuned.exit_code == 1
    assert "no significant gain" in tuned.stdout
    assert "nothing is stored" in tuned.stdout
    assert "no tuned encoder" in run("tune", "--encoder", "--undo").stdout
