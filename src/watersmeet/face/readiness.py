"""Readiness of a server: what a load balancer asks before it sends requests."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any

from watersmeet.core.index import Check
from watersmeet.engine.index.readiness import REQUIRED, can_answer
from watersmeet.face.work_queue import Busy, TooSlow, Work

TIMEOUT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class Readiness:
    """`ready`; `degraded`: answers leave out what fails; `starting`, `busy` or `not ready`: none can be given."""

    state: str
    checks: list[Check] = field(default_factory=list)

    @classmethod
    def of(cls, checks: list[Check]) -> Readiness:
        state = "not ready" if not can_answer(checks) else "ready" if all(one.ok for one in checks) else "degraded"
        return cls(state, checks)

    @property
    def ready(self) -> bool:
        return self.state in ("ready", "degraded")

    @property
    def problem(self) -> Check | None:
        """The part that keeps requests from being answered."""
        return next((one for one in self.checks if not one.ok and one.name in REQUIRED), None)

    def to_json(self, details: bool) -> dict[str, Any]:
        """`details`: with the reasons, which may name what is private."""
        checks = [{**asdict(one), "required": one.name in REQUIRED} for one in self.checks]
        if not details:
            checks = [{name: one[name] for name in ("name", "ok", "required")} for one in checks]
        return {"ready": self.ready, "state": self.state, "checks": checks}


class ReadinessProbe:
    """Looks at the service off the event loop; requests that come meanwhile share the look."""

    def __init__(self, look: Callable[[], Readiness]) -> None:
        self._look, self._work = look, Work(1, 1, TIMEOUT_SECONDS)  # its own queue: it waits for no request
        self._running: asyncio.Future[Readiness] | None = None

    async def now(self, seconds: float | None = None) -> Readiness:
        """The state; `busy` if it cannot be found out in time."""
        if self._running is None or self._running.done():
            self._running = asyncio.ensure_future(self._work.run(lambda _: self._look()))
        try:
            async with asyncio.timeout(seconds):
                return await asyncio.shield(self._running)
        except (Busy, TooSlow, TimeoutError):
            return Readiness("busy")

    def close(self) -> None:
        self._work.close()
