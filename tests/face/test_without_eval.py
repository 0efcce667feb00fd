"""Without the extra `eval`, which brings scipy: all that does not measure works, and what does says what to install."""

from __future__ import annotations

import json
import subprocess
import sys
import tomllib
from importlib.metadata import requires
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

pytestmark = pytest.mark.slow  # each starts processes
ROOT = Path(__file__).parents[2]
HANDBOOK = ROOT / "examples" / "handbook"
WITHOUT = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("ir_measures", "pytrec_eval", "scipy", "pandas", "sympy"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing())
from watersmeet.face.cli.main import main
main()
"""
JUDGED = "".join(
    f'[[query]]\nquery = "second factor {number}"\nexpect = ["accounts/two-factor.md"]\n' for number in range(12)
)
RECORD = {"path": "/clock", "server_name": "Clock", "description": "Tells the time of any city.", "tool_list": []}


def run(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", WITHOUT, *words], capture_output=True, text=True, check=False)


def succeeds(*words: str) -> str:
    done = run(*words)
    assert done.returncode == 0, (words, done.stdout, done.stderr)
    return done.stdout


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an index of the handbook, by words and static vectors, and questions about it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("WATERSMEET__INDEX__DENSE", "")
    (tmp_path / "judged.toml").write_text(JUDGED)
    succeeds("sync", str(HANDBOOK), "-q")
    return tmp_path


def test_what_does_not_measure_works(here: Path) -> None:
    assert "accounts/two-factor.md" in succeeds("search", "second factor", "-n", "3")
    (here / "servers.json").write_text(json.dumps([RECORD]))
    succeeds("register", "servers.json")
    assert "Clock" in succeeds("find-entities", "what time is it in Lima?")
    assert json.loads(succeeds("calibrate", "--judgements", "judged.toml", "--json"))["learnt"] == 12
    for command in ("serve", "mcp", "eval", "tune"):
        assert succeeds(command, "--help")


def test_servers_load_without_it() -> None:
    code = WITHOUT.rpartition("from watersmeet")[0] + "import watersmeet.face.mcp.server, watersmeet.face.rest.app\n"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize("words", [("eval", "judged.toml"), ("eval", "--from-corpus"), ("tune", "judged.toml")])
@pytest.mark.parametrize("form", [(), ("--json",)])
def test_what_measures_says_what_to_install(words: tuple[str, ...], form: tuple[str, ...]) -> None:
    done = run(*words, *form)
    assert (done.returncode, done.stdout) == (2, "")
    said, hint = done.stderr.splitlines()
    assert "ir-measures, which is not installed" in said
    assert hint.endswith(f'{sys.executable} -m pip install "watersmeet[eval]"')


def test_nothing_that_is_installed_by_default_brings_scientific_packages() -> None:
    """Over all that the dependencies of today's environment require in turn."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]
    needed: set[str] = set()
    waiting = [*project["dependencies"]]
    while waiting:
        wanted = Requirement(waiting.pop())
        name = canonicalize_name(wanted.name)
        if name in needed or (wanted.marker and not wanted.marker.evaluate({"extra": ""})):
            continue
        needed.add(name)
        waiting += requires(name) or []
    assert {"onnxruntime", "numpy", "starlette", "huggingface-hub"} <= needed
    assert not needed & {"scipy", "pandas", "sympy", "ir-measures", "pytrec-eval-terrier"}
