"""The container file, the compose file and the systemd units of deploy/, tried in a fresh environment.

    python scripts/deploy.py [--out build/deploy]

No container is needed. The steps of the container file are executed one after another, in a new folder that stands for
`/`, with nothing of this repository but what they copy and nothing of this environment but Python: ENV, WORKDIR, COPY
and RUN as they are, then its command, after a sync, as its user would start it. Its health check, `/ready` and a search
with a token must answer, and the server must end with SIGTERM. The compose file may name only what exists: files,
volumes, ports that are exposed, and commands of `watersmeet`. The units are checked by `systemd-analyze verify`, where
there is one, and their commands are run in the same environment.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
DEPLOY = ROOT / "deploy"
PLACES = ("/opt/watersmeet", "/src", "/data", "/var/lib/watersmeet", "/var/cache/watersmeet", "/var/log/watersmeet")
"""Absolute places of the files, which lie in the new folder instead."""
PORT = "7878"
SECONDS = 60
QUERY, ANSWER = "why are my changes slow to arrive?", "operations/troubleshooting.md"


class Problem(Exception):
    """What is wrong with a file."""


@dataclass
class Machine:
    """A folder that stands for the root of a machine, with the environment of the next step."""

    root: Path
    folder: Path = field(init=False)
    environ: dict[str, str] = field(default_factory=dict)
    command: list[str] = field(default_factory=list)
    health: list[str] = field(default_factory=list)
    exposed: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.folder = self.root
        for name in ("HOME", "PATH", "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_CONFIG_FILE", "LANG", "TMPDIR"):
            if name in os.environ:
                self.environ[name] = os.environ[name]

    def here(self, text: str) -> str:
        """A line with the places of this machine, and its own user."""
        text = re.sub(rf"(?<![\w./])({'|'.join(map(re.escape, PLACES))})(?![\w-])", rf"{self.root}\1", text)
        return text.replace("10001:10001", f"{os.getuid()}:{os.getgid()}")

    def run(self, command: list[str] | str, **more: str) -> str:
        done = subprocess.run(
            command,
            shell=isinstance(command, str),
            cwd=self.folder,
            env={**self.environ, **more},
            capture_output=True,
            text=True,
        )
        if done.returncode:
            raise Problem(f"{command}\n{done.stdout}{done.stderr}")
        return done.stdout


def steps(text: str) -> Iterator[tuple[str, str]]:
    """The instructions of a container file."""
    for line in text.replace("\\\n", " ").splitlines():
        if line.strip() and not line.startswith("#"):
            name, _, rest = line.partition(" ")
            yield name, rest.strip()


def build(machine: Machine) -> None:
    """Execute the container file."""
    for name, rest in steps((DEPLOY / "Containerfile").read_text()):
        began = time.monotonic()
        if name == "FROM":
            if not re.fullmatch(r"docker\.io/library/python:3\.\d+-slim", rest):
                raise Problem(f"FROM {rest}: not an image of Python")
        elif name == "ENV":
            for pair in shlex.split(rest):
                key, _, value = pair.partition("=")
                machine.environ[key] = machine.here(re.sub(r"\$(\w+)", lambda m: machine.environ.get(m[1], ""), value))
        elif name == "WORKDIR":
            machine.folder = Path(machine.here(rest))
            machine.folder.mkdir(parents=True, exist_ok=True)
        elif name == "COPY":
            *sources, target = rest.split()
            for source in sources:
                _copy(source, machine.folder / target)
        elif name == "RUN":
            machine.run(machine.here(rest))
        elif name == "CMD":
            machine.command = json.loads(machine.here(rest))
        elif name == "HEALTHCHECK":
            machine.health = json.loads(rest.partition("CMD ")[2])
        elif name == "EXPOSE":
            machine.exposed.add(rest)
        elif name == "VOLUME":
            if not Path(machine.here(rest)).is_dir():
                raise Problem(f"VOLUME {rest}: no step makes it")
        elif name != "USER" or not re.fullmatch(r"[1-9]\d*:[1-9]\d*", rest):
            raise Problem(f"{name} {rest}: not known, or root")
        print(f"  {time.monotonic() - began:5.1f} s  {name} {rest[:90]}", flush=True)


def _copy(source: str, target: Path) -> None:
    """Copy what git has; a build with Docker copies more only where somebody left it."""
    found = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", source],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    names = [name for name in found.stdout.split("\0") if name]
    if not names:
        raise Problem(f"COPY {source}: there is none")
    for name in names:
        place = target / Path(name).relative_to(source) if (ROOT / source).is_dir() else target / Path(name).name
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, place)


def serve(machine: Machine, documents: Path) -> None:
    """Fill an index and start the server as the container does; what it promises must hold."""
    report = json.loads(machine.run(["watersmeet", "sync", str(documents), "--json"]))
    token = json.loads(machine.run(["watersmeet", "token", "create", "--name", "web", "--expires", "90d", "--json"]))
    port = _free_port()
    command = [port if word == PORT else word for word in machine.command]
    with _running(machine, command, port) as server:
        machine.run([word.replace(PORT, port) for word in machine.health])
        _ask(port, "/api/status", expected=401)
        found = _ask(port, "/api/search", {"query": QUERY}, token["token"])
        if found["results"][0]["document"] != ANSWER:
            raise Problem(f"{QUERY} finds {found['results'][0]['document']}")
        server.terminate()
        log = server.communicate(timeout=30)[0]
    routes = [json.loads(line)["route"] for line in log.splitlines() if line.startswith("{")]
    if "/api/search" not in routes or QUERY in log:
        raise Problem(f"the access log is not what it should be: {log[-1000:]}")
    print(f"  served {report['documents']} documents with {' '.join(command)}")


@contextlib.contextmanager
def _running(machine: Machine, command: list[str], port: str) -> Iterator[subprocess.Popen[str]]:
    """A server, once it is ready."""
    server = subprocess.Popen(
        command,
        cwd=machine.folder,
        env=machine.environ,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        end = time.monotonic() + SECONDS
        while True:
            try:
                _ask(port, "/ready")
                break
            except OSError:
                if server.poll() is not None or time.monotonic() > end:
                    server.kill()
                    raise Problem(f"{' '.join(command)} is not ready:\n{server.communicate()[0]}") from None
                time.sleep(0.2)
        yield server
    finally:
        server.kill()
        server.wait()


def _ask(port: str, path: str, body: dict[str, str] | None = None, token: str = "", expected: int = 200) -> Any:
    headers = {"Content-Type": "application/json", **({"Authorization": f"Bearer {token}"} if token else {})}
    content = json.dumps(body).encode() if body else None
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", content, headers)
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            status, text = answer.status, answer.read()
    except urllib.error.HTTPError as error:
        status, text = error.code, error.read()
    if status != expected:
        raise Problem(f"{path}: {status}, not {expected}: {text[:500]!r}")
    return json.loads(text)


def _free_port() -> str:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return str(probe.getsockname()[1])


def check_compose(machine: Machine) -> None:
    """Everything that the compose file names exists."""
    compose = yaml.safe_load((DEPLOY / "compose.yaml").read_text())
    images = {service["image"] for service in compose["services"].values() if "build" in service}
    for name, service in compose["services"].items():
        built = service.get("build")
        if built and not (DEPLOY / built["context"] / built["dockerfile"]).is_file():
            raise Problem(f"compose: {name} is built by a file that is not there")
        if service["image"] not in images:
            raise Problem(f"compose: nothing builds the image {service['image']} of {name}")
        for mount in service.get("volumes", ()):
            source = mount.rpartition(":/")[0].rpartition(":/")[0] or mount.partition(":/")[0]
            if re.fullmatch(r"[a-z]+", source) and source not in compose["volumes"]:
                raise Problem(f"compose: {name} has a volume {source} that is not declared")
        for port in service.get("ports", ()):
            if port.rpartition(":")[2] not in machine.exposed:
                raise Problem(f"compose: {name} publishes {port}, which is not exposed")
        if command := service.get("command"):
            machine.run([*command[:2], "--help"])
    comments = re.findall(r"run --rm \w+ (watersmeet \w+)", (DEPLOY / "compose.yaml").read_text())
    for command in comments:
        machine.run([*command.split(), "--help"])
    print(f"  compose.yaml: {', '.join(compose['services'])}; {len(comments)} commands of its comments")


def check_units(machine: Machine, out: Path) -> None:
    """The units are valid, and what they start works here."""
    units = out / "units"
    units.mkdir()
    for path in sorted(DEPLOY.glob("watersmeet*.*")):
        (units / path.name).write_text(machine.here(path.read_text()).replace("User=watersmeet\n", "User=root\n"))
    for folder in ("lib", "cache", "log"):
        (machine.root / "var" / folder / "watersmeet").mkdir(parents=True)
    if shutil.which("systemd-analyze"):
        files = [str(path) for path in sorted(units.iterdir())]
        done = subprocess.run(["systemd-analyze", "verify", *files], capture_output=True, text=True)
        said = [line for line in done.stderr.splitlines() if str(units) in line or "watersmeet" in line]
        if done.returncode or said:
            raise Problem(f"systemd-analyze: {done.stderr}")
    else:
        print("NOT RUN: systemd-analyze verify, which is not installed")
    service, backup = ((units / name).read_text() for name in ("watersmeet.service", "watersmeet-backup.service"))
    lines = dict(re.findall(r"^(ExecStart|WorkingDirectory)=(.*)$", service, re.MULTILINE))
    environ = dict(re.findall(r"^Environment=(\w+)=(.*)$", service, re.MULTILINE))
    machine.environ |= environ
    shutil.copytree(machine.folder / ".watersmeet", Path(lines["WorkingDirectory"]) / ".watersmeet")
    machine.folder = Path(lines["WorkingDirectory"])
    port = _free_port()
    with _running(machine, lines["ExecStart"].replace(PORT, port).split(), port):
        _ask(port, "/health")
        machine.run(re.findall(r"^ExecStart=(.*)$", backup, re.MULTILINE)[0].split())  # while it serves
    if not (machine.root / "var/log/watersmeet/access.log").read_text().count("/health"):
        raise Problem("watersmeet.service writes no access log")
    if not (machine.folder / "backup.tar").stat().st_size:
        raise Problem("watersmeet-backup.service writes no backup")
    print(f"  units: {', '.join(path.name for path in sorted(units.iterdir()))}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "deploy")
    out: Path = parser.parse_args().out.resolve()
    shutil.rmtree(out, ignore_errors=True)
    (out / "root").mkdir(parents=True)
    machine = Machine(out / "root")
    documents = out / "documents"
    shutil.copytree(ROOT / "examples" / "handbook", documents)
    try:
        build(machine)
        check_compose(machine)
        serve(machine, documents)
        check_units(machine, out)
    except Problem as problem:
        print(f"deploy: {problem}", file=sys.stderr)
        return 1
    shutil.rmtree(out)
    return 0


if __name__ == "__main__":
    sys.exit(main())
