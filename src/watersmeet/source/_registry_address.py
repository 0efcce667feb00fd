"""Addresses of package registries, as the user's own clients (pip, npm) know them.

The clients are asked, once, and not from the working folder: the settings of a stranger's project do not count.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from functools import cache
from importlib.util import find_spec

from watersmeet.core.errors import SourceProblem

TIMEOUT_SECONDS = 60.0
_CONFIGURED = re.compile(r"^(?P<section>\S+?)\.index-url=(?P<quote>['\"])(?P<url>.+)(?P=quote)\s*$", re.MULTILINE)
_DEFAULT = re.compile(r"--index-url <url>.*?\(default:? ?(https?://[^\s)]+)\)", re.DOTALL)
_SECTIONS = (":env:", "download", "install", "global")
"""Where pip keeps the address, the strongest first."""


@cache
def pip_index() -> str:
    """The index that pip uses: from its variables or files, else its default, which its help states."""
    if not _pip_command():
        raise _no_client("pip", "source.pypi.index")
    configured = {match["section"]: match["url"] for match in _CONFIGURED.finditer(_pip("config", "list"))}
    for section in _SECTIONS:
        if section in configured:
            return configured[section]
    lines = _pip("download", "--help").split("\n")
    stated = _DEFAULT.search(" ".join(filter(None, map(str.strip, lines))))
    if stated is None:
        raise _no_client("pip", "source.pypi.index")
    return stated[1]


@cache
def npm_registry(scope: str = "") -> str:
    """The registry that npm uses; `scope` may have one of its own."""
    npm = _program("npm")
    if not npm:
        raise _no_client("npm", "source.npm.registry")
    for key in ([f"{scope}:registry"] if scope else []) + ["registry"]:
        address = _output([npm, "config", "get", key]).strip()
        if address.startswith(("http://", "https://")):
            return address
    raise _no_client("npm", "source.npm.registry")


def _pip_command() -> tuple[str, ...]:
    if find_spec("pip") is not None:
        return sys.executable, "-P", "-m", "pip"
    elsewhere = _program("pip") or _program("pip3")
    return (elsewhere,) if elsewhere else ()


def _program(name: str) -> str:
    """The path of a program; empty if there is none. Windows also looks in the working folder, which is not trusted."""
    path = shutil.which(name) or ""
    return path if os.path.isabs(path) else ""


def _pip(*arguments: str) -> str:
    return _output([*_pip_command(), "--disable-pip-version-check", *arguments])


def _output(command: list[str]) -> str:
    """What a client prints; empty if it fails."""
    try:
        done = subprocess.run(  # noqa: S603 - no shell, fixed arguments
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            cwd=os.path.abspath(os.sep),
            timeout=TIMEOUT_SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


def _no_client(client: str, setting: str) -> SourceProblem:
    return SourceProblem(
        f"the address of the registry is not known: {client} does not state it",
        f"install {client}, or set {setting} to the address",
    )
