"""Jobs of a server: long writes that a caller does not wait for, and asks after."""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from watersmeet.core.errors import NotFound, WatersmeetError
from watersmeet.engine.sync.report import Progress, ProgressCallback, cancellable
from watersmeet.face.crash_log import log_server_crash

if TYPE_CHECKING:
    from watersmeet.face.service import Service

MAX_JOBS = 200
"""Jobs that are kept to be asked after; the oldest finished ones are forgotten first."""
TIMEOUT_SECONDS = 24 * 3600.0

Write = Callable[[ProgressCallback], dict[str, Any]]


@dataclass(slots=True)
class Job:
    """A job: how far it is, then its report or its problem."""

    owner: str
    id: str = field(default_factory=lambda: secrets.token_urlsafe(12))
    state: str = "waiting"
    """waiting, running, done or failed."""
    progress: Progress | None = None
    report: dict[str, Any] | None = None
    problem: dict[str, str] | None = None

    def to_json(self) -> dict[str, Any]:
        step = self.progress
        return {
            "job": self.id,
            "state": self.state,
            "doing": step.doing if step else "",
            "done": step.done if step else 0,
            "total": step.total if step else 0,
            "unit": step.unit if step else "",
            "report": self.report,
            "problem": self.problem,
        }


class Jobs:
    """The jobs of a server. Each belongs to the caller who started it, and ends with the process: what it has committed
    stays, and the next sync goes on from there."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._jobs: OrderedDict[str, Job] = OrderedDict()
        self._running: set[asyncio.Task[None]] = set()

    def start(self, owner: str, write: Write) -> Job:
        job = Job(owner)
        self._jobs[job.id] = job
        while len(self._jobs) > MAX_JOBS:
            finished = (one.id for one in self._jobs.values() if one.state in ("done", "failed"))
            del self._jobs[next(finished, next(iter(self._jobs)))]
        task = asyncio.ensure_future(self._run(job, write))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return job

    def get(self, owner: str, identity: str) -> Job:
        job = self._jobs.get(identity)
        if job is None or job.owner != owner:
            raise NotFound("no such job", "it may be an old one, or one of another caller")
        return job

    async def _run(self, job: Job, write: Write) -> None:
        def progress(step: Progress) -> None:
            job.progress = step

        def work(stop: Any) -> dict[str, Any]:
            job.state = "running"
            return write(cancellable(stop, progress))

        try:
            job.report = await self._service.run(work, writes=True, seconds=TIMEOUT_SECONDS)
            job.state = "done"
        except WatersmeetError as error:
            job.problem, job.state = {"detail": str(error), "hint": error.hint}, "failed"
        except Exception as error:  # noqa: BLE001 - a face's boundary: the error's message may hold a path
            hint = log_server_crash(error)
            job.problem, job.state = {"detail": f"unexpected: {type(error).__name__}", "hint": hint}, "failed"
