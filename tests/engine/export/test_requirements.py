"""Requirements of an export: all that the server imports, pinned, each with a hash."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest

from watersmeet.core.errors import ConfigError
from watersmeet.engine.export import requirements
from watersmeet.engine.export.requirements import closure, index_hashes, make_requirements
from watersmeet.engine.export.wheels import Wheel


def names(found: list[Any]) -> set[str]:
    return {re.sub(r"[-_.]+", "-", one.metadata["Name"]).lower() for one in found}


def test_all_that_a_server_needs_is_in_it_and_no_extra() -> None:
    found = names(closure(["watersmeet"]))
    assert {"watersmeet", "fastapi", "starlette", "pydantic-core", "numpy", "tantivy", "uvicorn", "h11", "mcp"} <= found
    assert not {"pytest", "ir-measures", "torch", "watersmeet-granite-30m"} & found


def test_a_package_that_is_not_installed_is_an_error() -> None:
    with pytest.raises(ConfigError, match="no-such-package-here is not installed"):
        closure(["no-such-package-here"])


@pytest.fixture
def packed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wheels with a hash and no content: packing them takes long, and is tested by itself."""
    monkeypatch.setattr(
        requirements, "pack_wheel", lambda one, folder, module="": Wheel(f"{one.metadata['Name']}.whl", "a" * 64, 1)
    )


@pytest.mark.usefixtures("packed")
def test_with_wheels_every_requirement_has_the_hash_of_its_wheel(tmp_path: Path) -> None:
    found = make_requirements(str(tmp_path / "wheels"), False, True)
    lines = [line for line in found.text.splitlines() if not line.startswith("#")]
    assert found.complete
    assert len(lines) == len(found.wheels) == len(closure(["watersmeet"]))
    assert all(re.fullmatch(r"[a-z0-9-]+==\S+ --hash=sha256:a{64}", line) for line in lines)


def answer(pins: list[str], code: int = 0, stderr: str = "") -> Any:
    """A pip that reports these pins."""

    def run(command: list[str], **_: Any) -> subprocess.CompletedProcess[str]:
        installs = [
            {
                "metadata": {"name": pin.partition("==")[0].replace("-", "_")},
                "download_info": {"archive_info": {"hashes": {"sha256": "b" * 64}}},
            }
            for pin in pins
        ]
        if not code:
            Path(command[command.index("--report") + 1]).write_text(json.dumps({"install": installs}), "utf8")
        return subprocess.CompletedProcess(command, code, "", stderr)

    return run


@pytest.mark.usefixtures("packed")
def test_without_wheels_hashes_are_those_that_pip_reports(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pins = [f"{one.metadata['Name'].lower()}=={one.version}" for one in closure(["watersmeet"])]
    monkeypatch.setattr(subprocess, "run", answer(pins))
    found = make_requirements(str(tmp_path / "wheels"), False, False)
    assert not found.complete
    assert [wheel.file for wheel in found.wheels] == ["watersmeet.whl"]
    assert found.text.count("b" * 64) == len(pins) - 1


def test_what_pip_says_is_passed_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", answer([], 1, "ERROR: no matching distribution for numpy==9\n"))
    with pytest.raises(ConfigError, match="no matching distribution") as caught:
        index_hashes(["numpy==9"])
    assert "--wheels" in caught.value.hint
    monkeypatch.setattr(subprocess, "run", answer(["other==1"]))
    with pytest.raises(ConfigError, match="knows no hash of numpy==9"):
        index_hashes(["numpy==9"])
