"""`watersmeet calibrate` and `tune` as they are typed, with quick vectors."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from watersmeet.core.errors import ConfigError, SourceProblem
from watersmeet.engine.calibration.posterior import Posterior, grid
from watersmeet.engine.calibration.state import WHOLE, changing
from watersmeet.engine.index.state_names import CALIBRATION
from watersmeet.face.cli.main import cli
from watersmeet.store.local.state import FileState

pytestmark = pytest.mark.model

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
JUDGED = {
    "how do I log on?": "accounts/sign-in.md",
    "second factor": "accounts/two-factor.md",
    "copies of my data": "operations/backup-and-restore.md",
}


def run(*words: str) -> Result:
    return CliRunner().invoke(cli, list(words))


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an index of the handbook; a hash stands for the deep model."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WATERSMEET__INDEX__DENSE", "hashed")
    assert run("sync", str(HANDBOOK), "-q").exit_code == 0
    lines = [json.dumps({"query": query, "document": document}) for query, document in JUDGED.items()]
    (tmp_path / "judged.jsonl").write_text("\n".join(lines))
    return tmp_path


def test_judgements_are_learnt_shown_and_forgotten() -> None:
    before = json.loads(run("calibrate", "--json").stdout)
    assert before["collections"] == {}
    learnt = json.loads(run("calibrate", "--judgements", "judged.jsonl", "--json").stdout)
    assert (learnt["learnt"], learnt["known"]) == (3, 0)
    assert learnt["collections"]["*"]["weights"] != before["prior"]
    assert json.loads(run("status", "--json").stdout)["calibration"]["collections"] == learnt["collections"]
    assert "3 pieces of evidence" in run("calibrate", "--show").stdout
    assert "3 pieces of evidence" in run("status").stdout
    assert json.loads(run("calibrate", "--reset", "--json").stdout) == before


def test_export_gives_all_that_is_kept(here: Path) -> None:
    run("calibrate", "--judgements", "judged.jsonl", "-q")
    assert run("calibrate", "--export", "kept.json").exit_code == 0
    kept = json.loads((here / "kept.json").read_text())
    assert kept["judged"] == 3
    assert json.loads(run("calibrate", "--export", "-").stdout) == kept


def test_reset_goes_alone() -> None:
    with pytest.raises(ConfigError, match="cannot be combined"):
        CliRunner().invoke(cli, ["calibrate", "--reset", "--judgements", "judged.jsonl"], catch_exceptions=False)


def checks(here: Path, times: int) -> str:
    lines = [
        json.dumps({"query": f"{query} {n}", "expect": [document]})
        for n in range(times)
        for query, document in JUDGED.items()
    ]
    (here / "checks.jsonl").write_text("\n".join(lines))
    return "checks.jsonl"


def test_tune_learns_from_one_half_and_claims_only_what_the_other_shows(here: Path) -> None:
    done = run(
        "tune", checks(here, 8), "--json", "--out", "tuned.toml", "--report", "tune.html", "--index", ".watersmeet"
    )
    told = json.loads(done.stdout)
    assert (told["train"], told["report"]) == (12, 12)
    assert done.exit_code == (0 if told["significant"] else 1)
    assert (here / "tuned.toml").exists() == told["significant"]
    assert told["significant"] == (told["comparison"]["low"] > 0 and told["comparison"]["p"] < 0.05)
    assert told["verdict"].startswith("the tuned" if told["significant"] else "no significant")
    page = (here / "tune.html").read_text()
    assert "prior: lexical 0.30" in page
    assert "posterior: " in page


def test_tune_measures_the_weights_that_it_prints_whatever_the_index_has_learnt(here: Path) -> None:
    words = ["tune", checks(here, 8), "--json", "--index", ".watersmeet"]
    before = json.loads(run(*words).stdout)
    assert before["calibration"] == {"left_aside": True, "evidence": 0.0, "note": ""}
    belief = Posterior()
    for _ in range(200):
        belief = belief.learn([0.4 + 0.6 * point[2] for point in grid()])
    with changing(FileState(".watersmeet", CALIBRATION)) as kept:
        kept.beliefs[WHOLE] = belief
    assert json.loads(run("calibrate", "--json").stdout)["collections"]["*"]["weights"]["dense"] > 0.8
    told = json.loads(run(*words).stdout)
    for name in ("before", "after", "comparison", "prior", "weights"):
        assert told[name] == before[name], name
    assert told["calibration"]["evidence"] == 200
    assert "200 pieces of evidence) was ignored" in told["settings"]
    assert "was ignored" in run(*words[:2], "--index", ".watersmeet").stdout


def test_judgements_may_have_any_ending(here: Path) -> None:
    (here / "judged.jsonl").rename(here / "judged")
    assert json.loads(run("calibrate", "--judgements", "judged", "--json").stdout)["learnt"] == 3


def test_tune_refuses_what_cannot_be_halved_and_never_overwrites(here: Path) -> None:
    with pytest.raises(SourceProblem, match="3 judged questions"):
        CliRunner().invoke(cli, ["tune", checks(here, 1), "--index", ".watersmeet"], catch_exceptions=False)
    (here / "mine.toml").write_text("")
    with pytest.raises(ConfigError, match="exists already"):
        CliRunner().invoke(cli, ["tune", checks(here, 8), "--out", "mine.toml"], catch_exceptions=False)
