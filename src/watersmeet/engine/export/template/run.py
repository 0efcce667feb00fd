#!/usr/bin/env python3
"""Serves this export: `python3 run.py`. The first start makes an environment with what requirements.txt pins.

Only the standard library is used here. Options: --host and --port (default 127.0.0.1:7878), --no-venv (use the
packages of this Python), --setup (make the environment and stop).
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

HERE = Path(__file__).resolve().parent
LOOPBACK = ("127.0.0.1", "::1", "localhost")


def content() -> tuple[dict[str, object], Path]:
    """The manifest, and the folder that it names."""
    manifest = json.loads((HERE / "export.json").read_text("utf8"))
    name = str(manifest["content"])
    if not name.startswith("content-") or not name.removeprefix("content-").isdigit():
        sys.exit("this export is not finished: make it again with `watersmeet export`")
    return manifest, HERE / name


def check_platform(manifest: dict[str, object]) -> None:
    """Start again with the Python that the requirements were pinned for, or say which one is missing."""
    wanted = str(manifest["python"])
    if ".".join(map(str, sys.version_info[:2])) != wanted:
        other = shutil.which(f"python{wanted}")
        if other is None:
            sys.exit(f"this export needs Python {wanted}: the versions and hashes in requirements.txt are for that one")
        sys.exit(subprocess.call([other, *sys.argv]))
    if sysconfig.get_platform() != manifest["platform"]:
        print(f"note: made on {manifest['platform']}, this is {sysconfig.get_platform()}", file=sys.stderr)


def environment(manifest: dict[str, object], folder: Path) -> Path:
    """The Python of an environment with these requirements, made if there is none. An unfinished one has another name,
    so that a later start does not use it."""
    requirements = folder / "requirements.txt"
    digest = hashlib.sha256(requirements.read_bytes() + sys.version.encode()).hexdigest()[:12]
    place = (HERE if os.access(HERE, os.W_OK) else cache()) / f".venv-{digest}"
    if not interpreter(place).exists():
        print(f"setting up {place}", file=sys.stderr, flush=True)
        shutil.rmtree(place, ignore_errors=True)
        started = place.with_name(f"{place.name}.{os.getpid()}")
        venv.create(started, with_pip=True)
        command = [str(interpreter(started)), "-m", "pip", "install", "--quiet", "--no-deps", "--require-hashes"]
        command += ["--only-binary", ":all:", "--find-links", str(folder / "wheels"), "--no-input"]
        command += ["--disable-pip-version-check", *(["--no-index"] if manifest["wheels"] else [])]
        if subprocess.call([*command, "-r", str(requirements)]):
            shutil.rmtree(started, ignore_errors=True)
            sys.exit("the requirements could not be installed; an export made with --wheels needs no network")
        try:
            started.rename(place)
        except OSError:  # another start was faster
            shutil.rmtree(started, ignore_errors=True)
    return interpreter(place)


def interpreter(place: Path) -> Path:
    return place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def cache() -> Path:
    named = os.environ.get("XDG_CACHE_HOME", "")
    place = (Path(named) if os.path.isabs(named) else Path.home() / ".cache") / "watersmeet" / "exports"
    place.mkdir(parents=True, exist_ok=True)
    return place


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", default="7878")
    parser.add_argument("--no-venv", action="store_true", help="use the packages of this Python")
    parser.add_argument("--setup", action="store_true", help="make the environment and stop")
    options, more = parser.parse_known_args()
    manifest, folder = content()
    if not options.no_venv:
        check_platform(manifest)
    python = sys.executable if options.no_venv else str(environment(manifest, folder))
    if options.setup:
        return
    serve = [python, "-P" if options.no_venv else "-I", "-m", "watersmeet"]  # nothing from the working folder
    if options.host not in LOOPBACK:  # other machines can reach it, so a token is needed
        listed = subprocess.run([*serve, "token", "list", "--json"], capture_output=True, text=True, check=True)
        if not json.loads(listed.stdout or "{}").get("tokens"):
            subprocess.run([*serve, "token", "create", "--scope", "read"], check=True)
    command = [*serve, "serve", "--export", str(HERE), "--host", options.host, "--port", options.port, *more]
    if os.name == "nt":
        sys.exit(subprocess.call(command))
    os.execv(python, command)


if __name__ == "__main__":
    main()
