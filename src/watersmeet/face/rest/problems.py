"""What went wrong, as problem+json with what to do about it; never with what was asked."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from watersmeet.core import errors
from watersmeet.face.crash_log import keep
from watersmeet.face.registry_writes import NotYours, Unreadable
from watersmeet.face.work_queue import Busy, TooSlow

TITLES = {
    400: "The request cannot be understood",
    401: "A token is needed",
    403: "Not allowed",
    404: "Not found",
    405: "No such method here",
    409: "Changed meanwhile",
    413: "The request is too long",
    415: "The body is not of the right type",
    422: "A value is not of the right form",
    424: "Strict, and something could not vote",
    429: "Too many requests",
    500: "A defect",
    503: "Not available now",
}

STATUSES: tuple[tuple[type[errors.WatersmeetError], int], ...] = (
    (errors.NotFound, 404),
    (Unreadable, 422),
    (NotYours, 403),
    (errors.ConfigError, 400),
    (errors.SourceProblem, 400),
    (errors.VersionConflict, 409),
    (errors.IndexProblem, 503),
    (errors.ModelProblem, 503),
    (errors.Degraded, 424),
    (errors.Stopped, 503),
    (Busy, 503),
    (TooSlow, 503),
)


class Refused(Exception):
    """A request that gets no further."""

    def __init__(self, status: int, detail: str, hint: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.hint, self.headers = status, detail, hint, headers


def problem(
    status: int, detail: str, hint: str = "", headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    said = {"type": "about:blank", "title": TITLES.get(status, "Error"), "status": status, "detail": detail}
    said["hint"] = hint or "see /openapi.json"
    content = json.dumps({**said, **more}, ensure_ascii=False)
    return Response(content, status, dict(headers or {}), "application/problem+json")


def refusal(no: Refused) -> Response:
    return problem(no.status, no.detail, no.hint, no.headers)


def of(error: errors.WatersmeetError) -> Response:
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
    return problem(status, str(error), error.hint, {"Retry-After": "1"} if status == 503 else None)


def defect(error: Exception) -> Response:
    return problem(500, f"unexpected: {type(error).__name__}", keep(error))
