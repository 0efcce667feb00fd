"""Shared ground: a small vault on disk, an engine over it, and no trace in the user's own folders."""

from __future__ import annotations

import os
import re
import runpy
import shutil
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any
from uuid import uuid4

import hypothesis
import pytest

from watersmeet import Engine
from watersmeet.engine.settings.settings import load

hypothesis.settings.register_profile("tests", deadline=None, derandomize="CI" in os.environ, max_examples=50)
hypothesis.settings.register_profile("fast", hypothesis.settings.get_profile("tests"), max_examples=20)
hypothesis.settings.load_profile("tests")  # a busy machine is no reason to fail; CI repeats what it did before

if os.environ.get("WATERSMEET_TEST_PERTURB") or os.environ.get("WATERSMEET_TEST_USED"):
    # for this process and for those that it starts: see there
    perturbed = Path(__file__).parent / "helpers" / "perturbed"
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, (str(perturbed), os.environ.get("PYTHONPATH"))))
    runpy.run_path(str(perturbed / "sitecustomize.py"))


KINDS = frozenset({"model", "kill", "browser", "docs", "server", "slow"})
"""The markers of tests that `pytest -m fast` leaves out."""
_MODULE = re.compile(rf"^pytestmark = \[?pytest\.mark\.({'|'.join(sorted(KINDS))})\b", re.MULTILINE)


MEMORY = "/dev/shm"  # noqa: S108 - pytest makes a folder of its own there
ROOM = 2 << 30
"""Bytes that the tests' folders need at most, with room to spare."""


def pytest_configure(config: pytest.Config) -> None:
    if os.path.isdir(MEMORY) and os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= ROOM:
        # thousands of commits wait for a disk otherwise; scripts/kills.py and scripts/attack.py use the real one
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)  # pytest's own name for where `tmp_path` lies
    if config.option.markexpr == "fast":  # fewer examples while working; the whole suite draws all
        hypothesis.settings.load_profile("fast")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """`-m fast` does not even import a file of which no test is fast: collection is a good part of its time."""
    if config.option.markexpr != "fast" or collection_path.suffix != ".py" or collection_path.name == "conftest.py":
        return None
    return True if _MODULE.search(collection_path.read_text("utf8")) else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A test that says nothing else is fast."""
    for item in items:
        if not KINDS.intersection(marker.name for marker in item.iter_markers()):
            item.add_marker("fast")


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """What could not run here is said aloud."""
    reasons = {report.longrepr[2].removeprefix("Skipped: ") for report in terminalreporter.stats.get("skipped", ())}
    for reason in sorted(reason for reason in reasons if reason.startswith("NOT RUN")):
        terminalreporter.write_line(reason, red=True)


VAULT = {
    "index.md": "# Home\n\nWelcome. See [[Setup]] and [the guide](guides/keys.md).\n",
    "guides/setup.md": "---\naliases: [Installation]\ntags: [start]\ncreated: 2026-01-05\n---\n# Setup\n\n"
    "Unpack the archive and run `tern serve --no-telemetry`.\n\n## Ports\n\nThe server listens on port 7878.\n",
    "guides/keys.md": "# Keys\n\nRotate keys every quarter with `rotate_keys(user_id)`. #security\n\n## Errors\n\n"
    "TRN-1042 means that the key has expired.\n",
    "notes/ideas.txt": "Plain ideas about tides and estuaries.\n",
}


_numbers = count(1)


@pytest.fixture(autouse=True)
def home(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """Caches and settings of the person who runs the tests are neither read nor written.

    It lies in `tmp_path` where a test has one; most have none, and to make and delete thousands takes long."""
    if "tmp_path" in request.fixturenames:
        folder = request.getfixturevalue("tmp_path") / "home"
    else:
        folder = tmp_path_factory.getbasetemp() / f"home-{next(_numbers)}"
    folder.mkdir()
    for name in [name for name in os.environ if name.startswith("WATERSMEET__")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder / "config"))
    return folder


Write = Callable[[dict[str, str]], Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Put files below `vault` and get its path."""

    def put(files: dict[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / "vault" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf8")
        return tmp_path / "vault"

    return put


@pytest.fixture
def vault(write: Write) -> Path:
    return write(VAULT)


@pytest.fixture
def engine(tmp_path: Path) -> Iterator[Engine]:
    """Words only: what has to do with vectors is tested where vectors are."""
    settings = load(start=str(tmp_path), environ={"WATERSMEET__INDEX__VECTORS": "false"})
    with Engine(tmp_path / "index", settings) as made:
        yield made


@pytest.fixture
def mongodb() -> str:
    """The address of MongoDB's engine on this machine; the test is marked `server`, and uses a database of its own."""
    import mongodb_server

    if mongodb_server.missing():
        pytest.skip(mongodb_server.NOT_RUN)
    try:
        return mongodb_server.running().uri
    except mongodb_server.Unavailable as problem:
        pytest.skip(str(problem))


@pytest.fixture
def database() -> str:
    """The name of a database that no other test uses."""
    return f"wm{uuid4().hex[:12]}"


@pytest.fixture(scope="session")
def local_model() -> Iterator[str]:
    """The address of a real chat model on this machine, in front of `/chat/completions`; the test is marked `model`."""
    import local_model as local

    if not local.installed():
        pytest.skip(local.NOT_RUN)
    with local.serving() as url:
        yield url
