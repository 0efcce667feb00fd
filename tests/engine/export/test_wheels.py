"""Wheels of what is installed: pip installs them, and they are the same each time."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from importlib.metadata import PathDistribution, distribution
from pathlib import Path

import pytest

from watersmeet.core.errors import ConfigError
from watersmeet.engine.export.wheels import pack_wheel


def test_a_wheel_has_the_files_of_its_package_and_is_reproducible(tmp_path: Path) -> None:
    (tmp_path / "again").mkdir()
    wheel = pack_wheel(distribution("click"), str(tmp_path))
    assert pack_wheel(distribution("click"), str(tmp_path / "again")) == wheel
    names = zipfile.ZipFile(tmp_path / wheel.file).namelist()
    assert "click/core.py" in names
    assert not [name for name in names if name.startswith("..") or name.endswith((".pyc", "INSTALLER"))]
    assert names[-1].endswith(".dist-info/RECORD")


def test_the_package_of_an_editable_install_is_packed_from_its_folder(tmp_path: Path) -> None:
    metadata = tmp_path / "site" / "watersmeet-9.9.dist-info"
    metadata.mkdir(parents=True)
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: watersmeet\nVersion: 9.9\n", "utf8")
    (metadata / "RECORD").write_text("watersmeet-9.9.dist-info/METADATA,,\n_editable.pth,,\n", "utf8")
    wheel = pack_wheel(PathDistribution(metadata), str(tmp_path), "watersmeet")
    names = zipfile.ZipFile(tmp_path / wheel.file).namelist()
    assert wheel.file == "watersmeet-9.9-py3-none-any.whl"
    web = {f"watersmeet/face/web/{name}" for name in ("page.html", "style.css", "main.js")}
    assert {"watersmeet/__init__.py", "watersmeet/embed/potion/rows.npy", *web} <= set(names)
    with pytest.raises(ConfigError, match="cannot be found"):
        pack_wheel(PathDistribution(metadata), str(tmp_path))


def test_a_file_that_was_changed_after_its_installation_is_refused(tmp_path: Path) -> None:
    metadata = tmp_path / "thing-1.dist-info"
    metadata.mkdir()
    (tmp_path / "thing.py").write_text("changed = True\n", "utf8")
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: thing\nVersion: 1\n", "utf8")
    (metadata / "RECORD").write_text(f"thing.py,sha256={'A' * 43},1\nthing-1.dist-info/METADATA,,\n", "utf8")
    with pytest.raises(ConfigError, match="was changed"):
        pack_wheel(PathDistribution(metadata), str(tmp_path))


@pytest.mark.slow
def test_pip_installs_it_by_its_hash(tmp_path: Path) -> None:
    wheel = pack_wheel(distribution("click"), str(tmp_path))
    required = f"click=={distribution('click').version} --hash=sha256:{wheel.sha256}\n"
    (tmp_path / "requirements.txt").write_text(required, "utf8")
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--require-hashes"]
    command += [
        "--find-links",
        str(tmp_path),
        "--target",
        str(tmp_path / "made"),
        "-r",
        str(tmp_path / "requirements.txt"),
    ]
    subprocess.run([*command, "--disable-pip-version-check"], check=True, timeout=300)
    assert (tmp_path / "made" / "click" / "core.py").read_bytes() == Path(
        str(distribution("click").locate_file("click/core.py"))
    ).read_bytes()
