"""Packages on the command line: what `sync` says of versions, and `search --version`."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from package_registry import registry, tar

pytestmark = pytest.mark.slow

Run = Callable[..., "subprocess.CompletedProcess[str]"]


def test_a_package_from_sync_to_search(run: Run, tmp_path: Path) -> None:
    with registry() as server:
        for version in ("1.0.0", "1.5.0", "2.0.0"):
            guide = f"# Guide\n\nTerns fly to the island, as of {version}.\n"
            server.publish("tern", f"tern-{version}.tar.gz", tar({"docs/guide.md": guide.encode()}, "t/"))
        known = {"WATERSMEET__SOURCE__PYPI__INDEX": server.index}
        synced = run("sync", "pypi:Tern@1.x", "pypi:tern@2.0.0", cwd=tmp_path, **known)
        assert synced.returncode == 0
        assert "  pypi:tern@1.x: version 1.5.0\n  pypi:tern@2.0.0: version 2.0.0\n" in synced.stdout

        found = run("search", "island", "--version", "1.x", cwd=tmp_path)
        assert found.returncode == 0
        assert "version 1.x: tern 1.5.0" in found.stderr
        assert "pypi:tern@1.5.0/docs/guide.md" in found.stdout
        assert "2.0.0" not in found.stdout

        answer = json.loads(run("search", "island", "--version", "2", "--json", cwd=tmp_path).stdout)
        assert answer["version"] == {"asked": "2", "resolved": {"tern": "2.0.0"}}
        (result,) = answer["results"]
        shown = json.loads(run("get", result["document"], "--json", cwd=tmp_path).stdout)
        assert (shown["path"], shown["fields"]["version"]) == ("pypi:tern@2.0.0/docs/guide.md", "2.0.0")

        missing = run("search", "island", "--version", "3.x", cwd=tmp_path)
        assert missing.returncode == 1
        assert "no version in this index fits 3.x" in missing.stderr
        assert "tern 2.0.0, 1.5.0" in missing.stderr

        wrong = run("sync", "pypi:auk", cwd=tmp_path, **known)
        assert wrong.returncode == 2
        assert "no package 'auk'" in wrong.stderr
        assert "Traceback" not in wrong.stderr
