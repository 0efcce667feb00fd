"""Components of other packages: used from the command line, if they are installed in the user's environment."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from environments import Environment, announce
from watersmeet.engine.components import KINDS, PLUGIN_KINDS

pytestmark = pytest.mark.slow

PROJECT = Path(__file__).parents[1] / "data" / "plugin"
PLUGINS = [
    "plug-in pond (index)",
    "plug-in tides (parse)",
    "plug-in listing (source)",
    "plug-in ebb (stage)",
]
STAGES = {"WATERSMEET__PIPELINE__STAGES": '["ebb", "top", "unit"]'}
MARK = "from pathlib import Path\nPath({!r}).write_text('it ran')\n"
"""A module that leaves a trace when it is imported."""
COMPONENT = """
from dataclasses import dataclass
from typing import ClassVar

from watersmeet.core.options import option


@dataclass(frozen=True, slots=True)
class Whatever:
    reads: ClassVar[tuple[str, ...]] = (".whatever", ".MD")
    fills: ClassVar[bool] = False
    of_words: ClassVar[bool] = True
    much: int = option(3, "how much of it")

    def scan(self, root): ...
    def read(self, found): ...
    def parse(self, found, content): yield from ()
    def split(self, document): ...
    def reader(self): ...
    def writer(self): ...
    def apply(self, ranking, plan=None): return ranking
    def fuse(self, rankings, plan): ...
    def knows(self, value): return False
"""


@pytest.fixture(scope="module")
def estuary(tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment into which pip has put the package."""
    made = Environment(tmp_path_factory.mktemp("estuary") / "venv")
    made.install(PROJECT)
    return made


@pytest.fixture
def plain(tmp_path: Path) -> Environment:
    return Environment(tmp_path / "venv")


@pytest.fixture
def coast(tmp_path: Path) -> Path:
    folder = tmp_path / "coast"
    folder.mkdir()
    (folder / "mole.tide").write_text("06:12 high water, flood ends\n12:30 low water\n")
    (folder / "mole.md").write_text("# Mole\n\nHigh water can be seen from the mole.\n")
    (folder / "boats.txt").write_text("mole.tide\nboats.png\n")
    (folder / "boats.png").write_text("no text")
    return folder


def answers(done: subprocess.CompletedProcess[str]) -> Any:
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def found(where: Environment, cwd: Path, query: str, *flags: str, **environ: str) -> dict[str, Any]:
    results = answers(where.run("search", query, "--json", *flags, cwd=cwd, **environ))["results"]
    return {result["document"]: result for result in results}


def checks(where: Environment, cwd: Path, **environ: str) -> Iterator[dict[str, Any]]:
    """What doctor says of plug-ins."""
    done = where.run("doctor", "--json", cwd=cwd, **environ)
    assert done.stdout, done.stderr
    yield from (check for check in json.loads(done.stdout)["checks"] if check["name"].startswith("plug-in"))


# ------------------------------------------------------------ a package that pip has installed


def test_its_parser_reads_its_ending(estuary: Environment, plain: Environment, coast: Path) -> None:
    assert answers(estuary.run("sync", ".", "--json", cwd=coast))["added"] == 3
    (tide,) = [one for name, one in found(estuary, coast, "low water").items() if name == "mole.tide"]
    assert tide["title"] == "Tides at mole"
    assert "12:30 low water" in tide["text"]
    assert answers(estuary.run("inspect", "mole.tide", "--json", cwd=coast))["title"] == "Tides at mole"
    # without the package the file is of no kind that can be read
    report = answers(plain.run("sync", ".", "--json", cwd=coast))
    assert (report["removed"], report["unchanged"]) == (1, 2)
    refused = plain.run("sync", "mole.tide", "--index", "other", cwd=coast)
    assert refused.returncode == 2
    assert "not a kind of file that can be read" in refused.stderr


def test_its_parser_has_settings(estuary: Environment, coast: Path, home: Path) -> None:
    settings = home / "config" / "watersmeet" / "watersmeet.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text('[parse.tides]\ntitle = "Water at"\n')
    assert estuary.run("sync", ".", cwd=coast).returncode == 0
    assert found(estuary, coast, "low water")["mole.tide"]["title"] == "Water at mole"
    settings.write_text('[parse.tides]\ntitel = "Water at"\n')
    wrong = estuary.run("search", "low water", cwd=coast)
    assert (wrong.returncode, "did you mean 'title'?" in wrong.stderr) == (2, True)


def test_its_source_finds_what_it_finds(estuary: Environment, plain: Environment, coast: Path) -> None:
    assert answers(estuary.run("sync", "listing:boats.txt", "--json", cwd=coast))["added"] == 1
    assert list(found(estuary, coast, "water")) == ["mole.tide"]
    missed = plain.run("sync", "listing:boats.txt", cwd=coast)
    assert missed.returncode == 2
    assert "listing:boats.txt does not exist" in missed.stderr


def test_its_store_is_named_by_an_address(estuary: Environment, plain: Environment, coast: Path) -> None:
    pond = f"pond://{coast}/water"
    assert answers(estuary.run("sync", ".", "--index", pond, "--json", cwd=coast))["added"] == 3
    assert set(found(estuary, coast, "water", "--index", pond)) == {"mole.md", "mole.tide"}
    assert (coast / "water" / "catalogue.db").exists()
    missed = plain.run("search", "water", "--index", pond, cwd=coast)
    assert missed.returncode == 2
    assert "no index called 'pond'" in missed.stderr


def test_its_stage_has_its_say(estuary: Environment, plain: Environment, coast: Path) -> None:
    assert estuary.run("sync", ".", cwd=coast).returncode == 0
    environ = {**STAGES, "WATERSMEET__STAGE__EBB__FACTOR": "0.25"}
    results = found(estuary, coast, "high water", "--explain", **environ)
    assert [one["factor"] for one in results["mole.tide"]["evidence"] if one["by"] == "ebb"] == [0.25]
    assert not [one for one in results["mole.md"]["evidence"] if one["by"] == "ebb"]
    shown = estuary.run("config", "show", cwd=coast, **environ).stdout.splitlines()
    assert {"stage.ebb.factor = 0.25", 'stage.ebb.word = "flood"', 'parse.tides.title = "Tides at"'} <= set(shown)
    missed = plain.run("search", "high water", cwd=coast, **STAGES)
    assert missed.returncode == 2
    assert "pipeline.stages names 'ebb', which is no stage" in missed.stderr


def test_doctor_lists_it(estuary: Environment, plain: Environment, coast: Path) -> None:
    assert estuary.run("sync", ".", cwd=coast).returncode == 0
    listed = list(checks(estuary, coast))
    assert [check["name"] for check in listed] == PLUGINS
    assert {(check["ok"], check["detail"]) for check in listed} == {(True, "watersmeet_estuary 1.2")}
    assert "plug-in ebb (stage) watersmeet_estuary 1.2" in estuary.run("doctor", cwd=coast).stdout
    assert list(checks(plain, coast)) == []


def test_a_folder_cannot_choose_it(estuary: Environment, coast: Path) -> None:
    """Who has not been trusted does not say which code of others runs."""
    assert estuary.run("sync", ".", cwd=coast).returncode == 0
    (coast / "watersmeet.toml").write_text(
        '[pipeline]\nstages = ["ebb", "unit"]\npool = 7\n[stage.ebb]\nfactor = 0.1\n'
    )
    ignored = estuary.run("search", "high water", "--explain", cwd=coast)
    assert "ebb: x" not in ignored.stdout
    assert "ignored: pipeline.stages, stage.ebb.factor" in ignored.stderr
    assert estuary.run("trust", ".", cwd=coast).returncode == 0
    assert "ebb: x 0.1" in estuary.run("search", "high water", "--explain", "-n", "5", cwd=coast).stdout


# ------------------------------------------------------------ whose it is


@pytest.mark.parametrize("way", ["working folder", "module", "PYTHONPATH", "synced"])
def test_what_lies_about_is_not_installed(plain: Environment, coast: Path, tmp_path: Path, way: str) -> None:
    """A folder that looks like an installed package offers nothing, wherever it comes to be searched or worked in."""
    trace = tmp_path / "trace"
    evil = MARK.format(str(trace)) + COMPONENT
    groups = {f"watersmeet.{kind}": {"evil": "evil_module:Whatever"} for kind in PLUGIN_KINDS}
    announce(coast, "evil-1.0", groups, {"evil_module": evil})
    cwd = tmp_path / "elsewhere" if way in ("PYTHONPATH", "synced") else coast
    cwd.mkdir(exist_ok=True)
    environ = {"PYTHONPATH": str(coast)} if way == "PYTHONPATH" else {}

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        command = [str(plain.python), "-m", "watersmeet"] if way == "module" else [str(plain.bin / "watersmeet")]
        return plain.start(*command, *arguments, cwd=cwd, **environ, **more)

    (coast / "a.whatever").write_text("high water")
    assert (
        answers(run("sync", str(coast), "--json"))["added"] == 4
    )  # entry_points.txt is a text, evil_module.py is code
    assert "a.whatever" not in run("list").stdout
    assert "plug-in" not in run("doctor").stdout
    for kind, setting in (("stage", "PIPELINE__STAGES"), ("source", "INDEX__SOURCE"), ("store", "INDEX__TEXT")):
        value = '["evil"]' if kind == "stage" else "evil"
        done = run("search", "water", **{f"WATERSMEET__{setting}": value})
        assert (done.returncode, "names 'evil', which is no " in done.stderr) == (2, True), done.stderr
    (coast / "watersmeet.toml").write_text("[stage.evil]\nmuch = 1\n")
    assert "no stage called 'evil'" in run("search", "water", "--config", str(coast / "watersmeet.toml")).stderr
    assert not trace.exists()


def test_the_same_is_found_where_packages_are_installed(plain: Environment, coast: Path) -> None:
    """What the test before puts into a folder is a plug-in in every other way."""
    announce(plain.packages, "good-1.0", {"watersmeet.parse": {"good": "good:Whatever"}}, {"good": COMPONENT})
    assert plain.run("sync", ".", cwd=coast).returncode == 0
    assert [check["name"] for check in checks(plain, coast)] == ["plug-in good (parse)"]


@pytest.mark.parametrize("kind", PLUGIN_KINDS)
def test_every_kind_can_come_from_another_package(plain: Environment, coast: Path, kind: str) -> None:
    announce(plain.packages, "good-1.0", {f"watersmeet.{kind}": {"s3+files": "good:Whatever"}}, {"good": COMPONENT})
    script = (
        "import sys; from watersmeet.engine.components import build; print(build(sys.argv[1], 's3+files', {'much': 5}))"
    )
    done = plain.start(str(plain.python), "-c", script, kind, cwd=coast)
    assert done.stdout == "Whatever(much=5)\n", done.stderr


@pytest.mark.parametrize(("kind", "name"), [("fusion", "rrf"), ("parse", "markdown"), ("store", "tantivy")])
def test_what_is_built_in_keeps_its_name(plain: Environment, coast: Path, kind: str, name: str, tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    module = MARK.format(str(trace)) + COMPONENT
    announce(plain.packages, "taker-1.0", {f"watersmeet.{kind}": {name: "taker:Whatever"}}, {"taker": module})
    chosen = {"WATERSMEET__PIPELINE__FUSION": "rrf", "WATERSMEET__INDEX__TEXT": "tantivy"}
    assert plain.run("sync", ".", cwd=coast, **chosen).returncode == 0
    assert "mole.md" in found(plain, coast, "high water", **chosen)
    (check,) = checks(plain, coast)
    assert not check["ok"]
    assert f"ignored: the {kind} '{name}' is built in" in check["detail"]
    assert not trace.exists()


def test_an_ending_that_is_read_stays_whose_it_is(plain: Environment, coast: Path) -> None:
    announce(plain.packages, "good-1.0", {"watersmeet.parse": {"good": "good:Whatever"}}, {"good": COMPONENT})
    (coast / "a.whatever").write_text("x")
    report = answers(plain.run("sync", ".", "--json", cwd=coast))
    assert report["documents"] == 2  # its parser makes no document of what it reads, and does not read the .md
    assert "mole.md" in found(plain, coast, "high water")
    (check,) = checks(plain, coast)
    assert (check["ok"], check["detail"]) == (True, "good 1.0; .MD is read by markdown")


def test_of_two_of_one_name_one_is_used(plain: Environment, coast: Path) -> None:
    announce(plain.packages, "one-1.0", {"watersmeet.stage": {"same": "one:Whatever"}}, {"one": COMPONENT})
    announce(plain.packages, "two-1.0", {"watersmeet.stage": {"same": "two:Whatever"}}, {"two": COMPONENT})
    assert plain.run("sync", ".", cwd=coast).returncode == 0
    assert [(check["ok"], check["detail"]) for check in checks(plain, coast)] == [
        (True, "one 1.0"),
        (False, "two 1.0: ignored: one has a stage of the same name"),
    ]


# ------------------------------------------------------------ what is broken


def without(member: str) -> str:
    return COMPONENT.replace(f"def {member}(", f"def not_{member}(")


BROKEN: dict[str, tuple[str, str]] = {
    "raises": ("raise RuntimeError('no\\nluck')", "cannot be loaded: RuntimeError: no"),
    "leaves": ("raise SystemExit(3)", "cannot be loaded: SystemExit: 3"),
    "lacks a module": (
        "import nothing_of_the_sort",
        "cannot be loaded: ModuleNotFoundError: No module named 'nothing_of",
    ),
    "lacks the class": ("x = 1", "cannot be loaded: AttributeError:"),
    "is no dataclass": ("class Whatever: ...", "is not a dataclass"),
    "lacks a method": (without("apply"), "has no apply"),
}


@pytest.mark.parametrize("how", BROKEN)
def test_a_broken_one_is_named_to_who_uses_it(plain: Environment, coast: Path, how: str) -> None:
    module, reason = BROKEN[how]
    announce(plain.packages, "bad-0.1", {"watersmeet.stage": {"bad": "bad_module:Whatever"}}, {"bad_module": module})
    assert plain.run("sync", ".", cwd=coast).returncode == 0
    fine = plain.run("search", "high water", cwd=coast)
    assert (fine.returncode, "bad" in fine.stderr) == (0, False)
    used = plain.run("search", "high water", cwd=coast, WATERSMEET__PIPELINE__STAGES='["bad", "unit"]')
    assert used.returncode == 2
    assert f"stage 'bad' of bad 0.1: {reason}" in used.stderr.replace("bad_module:Whatever ", "")
    assert "pip uninstall bad" in used.stderr
    (check,) = checks(plain, coast)
    assert (check["ok"], check["hint"]) == (False, "update bad, or uninstall it: `pip uninstall bad`")
    misspelt = plain.run("search", "high water", cwd=coast, WATERSMEET__PIPELINE__STAGES='["zzz"]')
    assert "known: anchor, context" in misspelt.stderr  # what is broken stops nobody from being told what there is
    assert "bad" not in misspelt.stderr


def reading(what: str) -> str:
    return COMPONENT.replace('(".whatever", ".MD")', what)


@pytest.mark.parametrize(
    "module", [without("parse"), reading('".whatever"'), reading('(".nb.html",)'), reading("(1,)")]
)
def test_a_broken_parser_is_a_warning_of_a_sync(plain: Environment, coast: Path, module: str) -> None:
    announce(plain.packages, "bad-0.1", {"watersmeet.parse": {"bad": "bad_module:Whatever"}}, {"bad_module": module})
    report = answers(plain.run("sync", ".", "--json", cwd=coast))
    assert report["added"] == 2
    (warning,) = report["warnings"]
    assert warning["path"] == "plug-in bad"
    assert warning["reason"].startswith("parse 'bad' of bad 0.1: ")


def test_a_broken_form_of_records_is_passed_over(plain: Environment, coast: Path) -> None:
    announce(plain.packages, "bad-0.1", {"watersmeet.record": {"bad": "bad_module:Whatever"}}, {"bad_module": "1 / 0"})
    (coast / "server.json").write_text(
        json.dumps({"path": "/mail", "server_name": "Mail", "description": "sends mail"})
    )
    assert answers(plain.run("register", "server.json", "--json", cwd=coast))["registered"]


def test_what_asks_for_what_nobody_gives(plain: Environment, coast: Path) -> None:
    module = COMPONENT.replace("    much: int", "    moon: object\n    much: int")
    announce(plain.packages, "odd-0.1", {"watersmeet.stage": {"odd": "odd:Whatever"}}, {"odd": module})
    assert plain.run("sync", ".", cwd=coast).returncode == 0
    done = plain.run("search", "high water", cwd=coast, WATERSMEET__PIPELINE__STAGES='["odd", "unit"]')
    assert done.returncode == 2
    assert "stage 'odd' needs moon" in done.stderr


@pytest.mark.parametrize(
    ("group", "content", "said"),
    [
        ("watersmeet.stages", "odd = odd:Whatever", "there is no kind 'stages'"),
        ("watersmeet.stage", "odd = ", "cannot be loaded"),
        ("watersmeet.stage", "odd = not a module", "cannot be loaded"),
        ("watersmeet.stage", "\udcff\udcfe", ""),
        ("other.stage", "odd = odd:Whatever", ""),
    ],
)
def test_odd_announcements(plain: Environment, coast: Path, group: str, content: str, said: str) -> None:
    announce(plain.packages, "odd-0.1", {}, {"odd": COMPONENT})
    written = plain.packages / "odd-0.1.dist-info" / "entry_points.txt"
    written.write_bytes(os.fsencode(f"[{group}]\n{content}\n"))
    assert plain.run("sync", ".", cwd=coast).returncode == 0
    listed = list(checks(plain, coast))
    assert [said in check["detail"] and not check["ok"] for check in listed] == ([True] if said else [])
    unknown = plain.run("search", "water", cwd=coast, WATERSMEET__PIPELINE__STAGES='["odder", "unit"]')
    assert (unknown.returncode, "names 'odder', which is no stage" in unknown.stderr) == (2, True)


def test_the_kinds_of_settings_are_among_those_that_can_be_added_to() -> None:
    assert set(KINDS) < set(PLUGIN_KINDS)
