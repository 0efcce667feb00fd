"""With the network cut everything still works: from an empty cache to an answer by meaning, nothing reaches out."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

HANDBOOK = Path(__file__).parents[2] / "examples" / "handbook"
CUT = """
import sys

def refuse(event, details):
    if event in ("socket.connect", "socket.sendto", "socket.sendmsg", "socket.getaddrinfo", "socket.gethostbyname"):
        with open("attempts", "a") as file:
            print(event, details[-1], file=file)
        raise OSError("the network is cut")

sys.addaudithook(refuse)
"""
COMMAND = CUT + "from watersmeet.face.cli.main import main; main()"


def cut_off(folder: Path, code: str, *argv: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-c", code, *argv], cwd=folder, capture_output=True, text=True, check=False)


def found(folder: Path, mode: str) -> dict[str, Any]:
    done = cut_off(folder, COMMAND, "search", "how do I log on?", "--mode", mode, "--top-n", "5", "--json")
    assert done.returncode == 0, done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    assert (answer["mode"], answer["failures"]) == (mode, [])
    return answer


@pytest.mark.model
def test_the_handbook_is_searched_by_meaning_without_a_network(tmp_path: Path) -> None:
    done = cut_off(tmp_path, COMMAND, "sync", str(HANDBOOK), "--json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert (report["embedded"], report["warnings"]) == (report["chunks"], [])
    assert "accounts/sign-in.md" in [result["document"] for result in found(tmp_path, "dense")["results"]]
    assert "accounts/sign-in.md" not in [result["document"] for result in found(tmp_path, "lexical")["results"]]
    assert not (tmp_path / "attempts").exists()


@pytest.mark.parametrize("call", ["create_connection(('127.0.0.1', 9))", "socket(2, 2).sendto(b'', ('127.0.0.1', 9))"])
def test_whoever_reaches_out_is_noticed(tmp_path: Path, call: str) -> None:
    """The test above can fail."""
    done = cut_off(tmp_path, f"{CUT}import socket; socket.{call}")
    assert "the network is cut" in done.stderr
    assert (tmp_path / "attempts").exists()
