"""The command as a person or a script starts it, over a vault that is indexed once."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from command import command

VAULT = {
    "index.md": "# Home\n\nWelcome aboard. See [[Setup]] and [the keys](guides/keys.md).\n",
    "guides/setup.md": (
        "---\naliases: [Foo Bar]\ntags: [beta]\ncreated: 2026-01-05\n---\n"
        "# Setup\n\nUnpack the archive and start the daemon. #alpha\n\n"
        "```sh\n# not a heading\nzephyrctl serve --no-telemetry  # [[not-a-link]] #not-a-tag\n```\n\n"
        "## Ports\n\n"
        "The server listens on port 7878 unless told otherwise by the administrator of the machine, who may move it "
        "to any other port above one thousand and twenty-four, as long as nothing else listens there already.\n\n"
        "### Behind a proxy\n\n"
        "A proxy in front must pass the upgrade header on, or else the clients fall back to polling, which is slow "
        "and makes every change arrive late; the daemon warns about that with the code TRN-1042 in its journal.\n"
    ),
    "guides/keys.md": (
        "# Keys\n\nRotate keys every quarter with `rotate_keys(user_id)`. #security\n\n## Errors\n\n"
        "KEY-2024-0042 means that the key has expired; issue #123 and the colour #ff8800 are no tags.\n"
    ),
    "links/plain.md": "# Plain\n\nSee [[Keys]].\n",
    "links/alias.md": "# Alias\n\nSee [[Keys|the key page]].\n",
    "links/heading.md": "# Heading\n\nSee [[Keys#Errors]].\n",
    "links/all.md": "# All\n\nSee [[Keys]], [[Keys|again]] and [[guides/keys#Errors]].\n",
    "broken.md": "---\ntitle: [unclosed\n---\n# Broken\n\nStill the flamingo is found.\n",
    "ideas.txt": "Plain ideas about tides and estuaries.\n",
}

Run = Callable[..., "subprocess.CompletedProcess[str]"]
Ask = Callable[..., Any]


def start(*arguments: str, cwd: Path, **environ: str) -> subprocess.CompletedProcess[str]:
    return command(*arguments, cwd=cwd, env={"WATERSMEET__INDEX__VECTORS": "false", **os.environ, **environ})


def fill(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf8")
    return folder


@pytest.fixture(scope="session")
def synced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A vault with its index in `.watersmeet`; tests that use it only read."""
    vault = fill(tmp_path_factory.mktemp("synced") / "vault", VAULT)
    made = start(
        "sync", ".", "--no-vectors", "--quiet", cwd=vault, HOME=str(vault.parent), XDG_CONFIG_HOME=str(vault.parent)
    )
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    return vault


@pytest.fixture
def run(synced: Path) -> Run:
    """Start the command in the vault and see what comes of it."""

    def run(*arguments: str, cwd: Path = synced, **environ: str) -> subprocess.CompletedProcess[str]:
        done = start(*arguments, cwd=cwd, **environ)
        assert "Traceback" not in done.stderr
        assert "\x1b" not in done.stdout + done.stderr  # plain when piped
        return done

    return run


@pytest.fixture
def ask(run: Run) -> Ask:
    """The JSON that a command prints, and nothing beside it."""

    def ask(*arguments: str, code: int = 0, **more: Any) -> Any:
        name = 2 if arguments[0] == "config" else 1
        done = run(*arguments[:name], "--json", *arguments[name:], **more)
        assert (done.returncode, done.stderr) == (code, "")
        return json.loads(done.stdout)

    return ask


@pytest.fixture
def fresh(tmp_path: Path) -> Path:
    """The same vault without an index, to write to."""
    return fill(tmp_path / "vault", VAULT)
