"""The check of the packages sees what a wheel lacks, and what it should not have."""

from __future__ import annotations

import subprocess
import zipfile
from pathlib import Path
from types import ModuleType

import pytest

from script_modules import script

pytestmark = pytest.mark.docs

ROOT = Path(__file__).resolve().parent.parent
LICENCES = ("LICENSE", "src/thing/NOTICE")
WHOLE = ["thing/__init__.py", "thing/page.html", "thing/NOTICE", "thing/py.typed"]
BESIDE = [f"thing-1.0.dist-info/licenses/{name}" for name in LICENCES]


@pytest.fixture(scope="module")
def wheels() -> ModuleType:
    return script("wheels")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project of which git has a package."""
    for name in WHOLE:
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", "utf8")
    (tmp_path / "pyproject.toml").write_text(f"[project]\nlicense-files = {list(LICENCES)}\n", "utf8")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "-A"], cwd=tmp_path, check=True)
    return tmp_path


@pytest.mark.parametrize(
    ("names", "problem"),
    [
        ([*WHOLE, *BESIDE], ""),
        ([*WHOLE[1:], *BESIDE], r"missing \['thing/__init__.py'\]"),
        ([*WHOLE, *BESIDE, "tests/test_thing.py"], r"too many \['tests/test_thing.py'\]"),
        ([*WHOLE, *BESIDE[:1]], r"lacks \['src/thing/NOTICE'\]"),
    ],
)
def test_a_wheel_has_what_git_has(wheels: ModuleType, project: Path, names: list[str], problem: str) -> None:
    wheel = project / "thing-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel, "w") as archive:
        for name in names:
            archive.writestr(name, "")
    if problem:
        with pytest.raises(wheels.Problem, match=problem):
            wheels.check_contents(project, "thing", wheel)
    else:
        wheels.check_contents(project, "thing", wheel)


@pytest.mark.parametrize("program", ["uvx", "pipx"])
def test_the_readme_has_a_command_that_is_tried(program: str) -> None:
    row = next(line for line in (ROOT / "README.md").read_text("utf8").splitlines() if f"| `{program} " in line)
    assert '".[pdf,web]"' in row
    assert "./models/granite-30m" in row
