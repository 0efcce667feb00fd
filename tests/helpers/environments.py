"""Environments of Python in which all that is here is installed, and in which more can be, without a trace here."""

from __future__ import annotations

import os
import site
import subprocess
import venv
from collections.abc import Mapping
from pathlib import Path

OFFLINE = ("--no-index", "--no-deps", "--no-build-isolation", "--disable-pip-version-check")
"""What pip is told: packages are built with what is here."""
COMMAND = "#!{python}\nimport sys\nfrom watersmeet.face.cli.main import main\nsys.exit(main())\n"


class Environment:
    """A virtual environment over this one."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, symlinks=True)
        self.bin = folder / "bin"
        self.python = self.bin / "python"
        (self.packages,) = folder.glob("lib/python3*/site-packages")
        below = [f"import site; site.addsitedir({place!r})\n" for place in site.getsitepackages()]
        (self.packages / "below.pth").write_text("".join(below), "utf8")
        command = self.bin / "watersmeet"
        command.write_text(COMMAND.format(python=self.python), "utf8")
        command.chmod(0o755)

    def install(self, project: Path) -> None:
        subprocess.run([self.python, "-m", "pip", "install", "-q", *OFFLINE, project], check=True, timeout=300)

    def run(self, *arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
        """`watersmeet` in a folder, without vectors; it never ends with a traceback."""
        done = self.start(str(self.bin / "watersmeet"), *arguments, cwd=cwd, **environ)
        assert "Traceback" not in done.stderr, done.stderr
        return done

    def start(self, *command: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=cwd,
            env={**os.environ, "WATERSMEET__INDEX__VECTORS": "false", **environ},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )


def announce(
    place: Path, package: str, groups: Mapping[str, Mapping[str, str]], modules: Mapping[str, str] | None = None
) -> None:
    """What pip leaves of a package in a folder: its modules, and by which entry points it offers something."""
    metadata = place / f"{package}.dist-info"
    metadata.mkdir(parents=True)
    lines = [
        f"[{group}]\n" + "".join(f"{name} = {value}\n" for name, value in of.items()) for group, of in groups.items()
    ]
    (metadata / "entry_points.txt").write_text("\n".join(lines), "utf8")
    name, _, version = package.partition("-")
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n", "utf8")
    for name, text in (modules or {}).items():
        (place / f"{name}.py").write_text(text, "utf8")
