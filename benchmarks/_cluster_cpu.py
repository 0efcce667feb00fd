"""CPU time of an index in a cluster: of this process, of PostgreSQL and of Qdrant, each apart."""

from __future__ import annotations

import os
import time
from collections import defaultdict
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from clusters import running

TICK = os.sysconf("SC_CLK_TCK")


class Used(NamedTuple):
    """Seconds on the clock, and CPU seconds, since some time."""

    seconds: float
    client: float
    postgres: float
    qdrant: float

    def since(self, before: Used) -> Used:
        return Used(*(now - then for now, then in zip(self, before, strict=True)))

    def to_json(self) -> dict[str, float]:
        named = zip(("seconds", "client_cpu", "postgres_cpu", "qdrant_cpu"), self, strict=True)
        return {name: round(value, 2) for name, value in named}

    def of_a_query(self, queries: int) -> dict[str, float]:
        """In milliseconds."""
        named = zip(("ms", "client_cpu_ms", "postgres_cpu_ms", "qdrant_cpu_ms"), self, strict=True)
        return {name: round(1000 * value / queries, 2) for name, value in named}


def used() -> Used:
    servers = running()
    folder = Path(servers.postgres.partition("host=")[2])
    return Used(
        time.perf_counter(),
        time.process_time(),
        family_cpu(int((folder / "postmaster.pid").read_text().split()[0])),
        cpu_of(servers.qdrant.pid),
    )


def cpu_of(pid: int) -> float:
    """CPU seconds of a process, with threads that have ended."""
    return sum(map(int, _stat(pid)[11:13])) / TICK


def family_cpu(parent: int) -> float:
    """CPU seconds of a process and its children, those that have ended too."""
    while True:
        own = _stat(parent)[11:15]
        found = sum(map(int, own))
        for child in Path(f"/proc/{parent}/task/{parent}/children").read_text().split():
            with suppress(OSError):  # it has ended
                found += sum(map(int, _stat(int(child))[11:13]))
        if _stat(parent)[13:15] == own[2:]:  # none has ended meanwhile, which would be counted twice or not at all
            return found / TICK


class Busy(NamedTuple):
    """CPU seconds of the whole machine, and the name and CPU seconds of this process and all below it by pid, at some
    time."""

    at: float
    machine: float
    ours: dict[int, tuple[str, float]]

    @classmethod
    def now(cls) -> Busy:
        postmaster = Path(running().postgres.partition("host=")[2]) / "postmaster.pid"
        user, nice, system, _, _, irq, soft, *_ = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
        roots = [os.getpid()]
        with suppress(OSError):  # it is not running
            roots.append(int(postmaster.read_text().split()[0]))
        ours = {}
        while roots:
            pid = roots.pop()
            with suppress(OSError):  # it has ended
                ours[pid] = Path(f"/proc/{pid}/comm").read_text().strip(), cpu_of(pid)
                for task in os.listdir(f"/proc/{pid}/task"):
                    roots += map(int, Path(f"/proc/{pid}/task/{task}/children").read_text().split())
        return cls(time.time(), (user + nice + system + irq + soft) / TICK, ours)

    def cores_since(self, before: Busy) -> dict[str, float]:
        """Cores that were busy on average, by the name of our processes, and those of everybody else."""
        seconds, found = self.at - before.at, defaultdict[str, float](float)
        for pid, (name, cpu) in self.ours.items():
            found[name] += cpu - before.ours.get(pid, ("", 0.0))[1]
        found["others"] = self.machine - before.machine - sum(found.values())
        return {name: round(cpu / seconds, 2) for name, cpu in found.items()}


def _stat(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
