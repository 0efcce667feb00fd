"""The two packages, as somebody installs them: built, checked, and used without this repository.

    python scripts/wheels.py [--out build/wheels]

Wheel and sdist of `watersmeet` and of `watersmeet-granite-30m` are built; a wheel has the files that git has, no more
and no fewer, and an sdist builds the same wheel, byte by byte. Then they are installed into new environments from a
folder of wheels, without the network: by pip, and by `uvx` and `pipx` as the README says. Each indexes a copy of the
example handbook with both models, or answers while it does; the first one also serves its page. What this needs is the
extra `release`.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tarfile
import time
import tomllib
import urllib.request
import zipfile
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
PROJECTS = {ROOT: "watersmeet", ROOT / "models" / "granite-30m": "watersmeet_granite_30m"}
REQUIREMENT = "watersmeet[granite,pdf,web]"
MODEL = "watersmeet_granite_30m-*.whl"
QUERY = "why are my changes slow to arrive?"
ANSWER = "operations/troubleshooting.md"
SDIST_ONLY = {"pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", "hatch_build.py", "PKG-INFO", ".gitignore"}
SERVE_SECONDS = 60


class Problem(Exception):
    """What is wrong with a package."""


def run(*command: str | Path, cwd: Path = ROOT, environ: Mapping[str, str] | None = None) -> str:
    """A command's output; it has nothing of this repository's environment but what is said here."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "WATERSMEET"))}
    done = subprocess.run(
        [str(part) for part in command], cwd=cwd, env={**inherited, **(environ or {})}, capture_output=True, text=True
    )
    if done.returncode:
        raise Problem(f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}")
    return done.stdout


@contextlib.contextmanager
def step(name: str) -> Iterator[None]:
    began = time.monotonic()
    yield
    print(f"  {time.monotonic() - began:.0f} s: {name}", flush=True)


def only(folder: Path, pattern: str) -> Path:
    found = sorted(folder.glob(pattern))
    if len(found) != 1:
        raise Problem(f"{folder} has not one {pattern}: {found}")
    return found[0]


def build(project: Path, package: str, dist: Path) -> None:
    """Wheel and sdist of a project, and once more the wheel, from the sdist."""
    run(sys.executable, "-m", "hatchling", "build", "-d", dist, cwd=project)
    wheel, sdist = only(dist, f"{package}-*.whl"), only(dist, f"{package}-*.tar.gz")
    unpacked = dist.parent / "unpacked"
    with tarfile.open(sdist) as archive:
        names = [name.partition("/")[2] for name in archive.getnames()]
        archive.extractall(unpacked, filter="data")
    strange = [name for name in names if not name.startswith("src/") and name not in SDIST_ONLY]
    if strange:
        raise Problem(f"{sdist.name} has {strange}")
    again = dist.parent / "again"
    source = unpacked / sdist.name.removesuffix(".tar.gz")
    run(sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", again, cwd=source)
    if (again / wheel.name).read_bytes() != wheel.read_bytes():
        differ = contents(again / wheel.name) ^ contents(wheel)
        raise Problem(f"{sdist.name} builds another wheel than the repository: {differ or 'other bytes'}")
    check_contents(project, package, wheel)


def contents(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return {*archive.namelist()}


def check_contents(project: Path, package: str, wheel: Path) -> None:
    """A wheel has what git has of its package, and the licences beside the metadata."""
    listed = run("git", "ls-files", f"src/{package}", cwd=project).splitlines()
    wanted = {name.removeprefix("src/") for name in listed}
    given = contents(wheel)
    own = {name for name in given if ".dist-info/" not in name}
    if own != wanted:
        raise Problem(f"{wheel.name}: too many {sorted(own - wanted)}, missing {sorted(wanted - own)}")
    licences = tomllib.loads((project / "pyproject.toml").read_text("utf8"))["project"]["license-files"]
    missing = [name for name in licences if not any(each.endswith(f".dist-info/licenses/{name}") for each in given)]
    if missing or f"{package}/py.typed" not in given:
        raise Problem(f"{wheel.name} lacks {missing or 'py.typed'}")


def tools(place: Path) -> Path:
    """The programs of the extra `release`, in an environment of their own that is kept."""
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text("utf8"))["project"]["optional-dependencies"]["release"]
    if not (place / "bin" / "uvx").exists():
        run(sys.executable, "-m", "venv", place)
        run(place / "bin" / "pip", "install", "-q", "--disable-pip-version-check", *wanted)
    return place / "bin"


def wheelhouse(dist: Path) -> None:
    """Everything that is installed, beside the two wheels."""
    wheel, model = only(dist, "watersmeet-*.whl"), only(dist, MODEL)
    extras = REQUIREMENT.removeprefix("watersmeet")
    pip = [sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check", "--only-binary", ":all:"]
    run(*pip, "-d", dist, "--find-links", dist, f"{wheel}{extras}", model)


class Newcomer:
    """Somebody with a home, a copy of the handbook, and nothing of this repository."""

    def __init__(self, place: Path) -> None:
        self.place = place
        self.environ = {
            "HOME": str(place), "XDG_CACHE_HOME": str(place / "cache"), "XDG_CONFIG_HOME": str(place / "config"),
            "XDG_DATA_HOME": str(place / "data"), "PIPX_HOME": str(place / "pipx"), "PIPX_BIN_DIR": str(place / "bin"),
        }  # fmt: skip
        shutil.copytree(ROOT / "examples" / "handbook", place / "handbook")

    def run(self, *command: str | Path) -> str:
        return run(*command, cwd=self.place, environ=self.environ)

    def check(self, answer: str) -> None:
        """Both models have voted for the right page."""
        found = self.answered(answer)
        if found["mode"] != "hybrid" or not found["results"][0]["document"].endswith(ANSWER):
            raise Problem(f"{found['results'][0]['document']} by {found['mode']}")

    def answered(self, answer: str) -> dict[str, Any]:
        """Something was found. The first search of a folder answers from what it has read in two seconds."""
        found: dict[str, Any] = json.loads(answer)
        if not found["results"] or found["failures"]:
            raise Problem(f"no answer: {answer[:500]}")
        return found


def with_pip(newcomer: Newcomer, dist: Path) -> None:
    """A new environment: index, search, and the page."""
    environment = newcomer.place / "environment"
    run(sys.executable, "-m", "venv", environment)
    offline = ["--no-index", "--find-links", str(dist), "--no-compile", "--disable-pip-version-check"]
    newcomer.run(environment / "bin" / "pip", "install", "-q", *offline, REQUIREMENT)
    where = newcomer.run(environment / "bin" / "python", "-c", "import watersmeet; print(watersmeet.__file__)")
    if not where.startswith(str(environment)):
        raise Problem(f"watersmeet is imported from {where}")
    command = environment / "bin" / "watersmeet"
    newcomer.run(command, "sync", "handbook", "--quiet")
    newcomer.check(newcomer.run(command, "search", QUERY, "--json", "--strict"))
    serve(newcomer, command)


def serve(newcomer: Newcomer, command: Path) -> None:
    """The page and an answer over REST."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "WATERSMEET"))}
    server = subprocess.Popen(
        [command, "serve", "--port", str(port), "--quiet"], cwd=newcomer.place, env={**inherited, **newcomer.environ}
    )
    try:
        base = f"http://127.0.0.1:{port}"
        page = _get(f"{base}/", server)
        if "<title>" not in page:
            raise Problem(f"the page is {page[:200]!r}")
        newcomer.check(_get(f"{base}/api/search", server, json.dumps({"query": QUERY}).encode()))
    finally:
        server.terminate()
        server.wait(timeout=30)


def _get(url: str, server: subprocess.Popen[bytes], body: bytes | None = None) -> str:
    request = urllib.request.Request(url, body, {"Content-Type": "application/json"})  # noqa: S310 - our own server
    end = time.monotonic() + SERVE_SECONDS
    while True:
        try:
            with urllib.request.urlopen(request, timeout=SERVE_SECONDS) as response:  # noqa: S310 - our own server
                return str(response.read().decode())
        except OSError as error:
            if server.poll() is not None or time.monotonic() > end:
                raise Problem(f"{url}: {error}") from error
            time.sleep(0.1)


def as_the_readme_says(newcomer: Newcomer, program: str, dist: Path, programs: Path) -> None:
    """The README's command for `uvx` or `pipx`, with the wheels in place of a clone, and without the network."""
    found = re.search(rf"`({program} [^`]+)`", (ROOT / "README.md").read_text("utf8"))
    if not found:
        raise Problem(f"README.md has no command for {program}")
    command = found[1].replace("~/notes", "handbook")
    for clone, wheel in (
        ('".[', f'"{only(dist, "watersmeet-*.whl")}['),
        ("./models/granite-30m", str(only(dist, MODEL))),
    ):
        if clone not in command:
            raise Problem(f"README.md: {clone} is not in {command}")
        command = command.replace(clone, wheel)
    newcomer.environ |= {
        "UV_OFFLINE": "1",
        "UV_FIND_LINKS": str(dist),
        "UV_PYTHON": sys.executable,
        "UV_NO_CONFIG": "1",
    }
    newcomer.environ |= {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(dist), "PIP_NO_COMPILE": "1"}
    newcomer.environ |= {"PIPX_DEFAULT_PYTHON": sys.executable, "PATH": f"{programs}:{os.environ['PATH']}"}
    search = ["search", QUERY, "--in", "handbook"]
    if program == "pipx":
        newcomer.run("bash", "-euo", "pipefail", "-c", command)
        newcomer.answered(newcomer.run(newcomer.place / "bin" / "watersmeet", *search, "--json"))
    else:
        newcomer.answered(newcomer.run("bash", "-euo", "pipefail", "-c", f"{command} --json"))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "wheels")
    out = parser.parse_args().out.resolve()
    for name in ("dist", "unpacked", "again", "pip", "uvx", "pipx"):
        shutil.rmtree(out / name, ignore_errors=True)
    dist = out / "dist"
    try:
        with step("wheels and sdists are built, and have what they should"):
            for project, package in PROJECTS.items():
                build(project, package, dist)
        with step("twine, uv, pipx, and wheels of all that is needed"), ThreadPoolExecutor() as beside:
            depends = beside.submit(wheelhouse, dist)
            programs = tools(out / "tools")
            depends.result()
        with step("twine check"):
            run(programs / "twine", "check", "--strict", *sorted(dist.glob("watersmeet*")))
        with step("pip install, sync, search, serve"):
            with_pip(Newcomer(out / "pip"), dist)
        for program in ("uvx", "pipx"):
            with step(program):
                as_the_readme_says(Newcomer(out / program), program, dist, programs)
    except Problem as problem:
        print(problem)
        return 1
    print("\n".join(f"{path.stat().st_size / 1e6:.1f} MB {path.name}" for path in sorted(dist.glob("watersmeet*"))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
