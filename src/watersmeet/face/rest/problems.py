"""Errors as problem+json with a hint on what to do; never with the text of the query."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from starlette.responses import Response

from watersmeet.core import errors
from watersmeet.face.crash_log import log_server_crash
from watersmeet.face.registry_writes import NotYours, Unreadable
from watersmeet.face.work_queue import Busy, TooSlow

TITLES = {
    400: "The request cannot be understood",
    401: "A token is needed",
    402: "It costs more than is spent without confirmation",
    403: "Not allowed",
    404: "Not found",
    405: "Method not allowed",
    409: "Changed meanwhile",
    413: "The request is too long",
    415: "The body has the wrong content type",
    422: "A value is not valid",
    424: "Strict, and a signal was not used",
    429: "Too many requests",
    500: "Unexpected error",
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
    (errors.CostRefused, 402),
    (errors.ModelProblem, 503),
    (errors.DatabaseProblem, 503),
    (errors.Degraded, 424),
    (errors.Stopped, 503),
    (Busy, 503),
    (TooSlow, 503),
)


class Refused(Exception):
    """A request that the guard refuses."""

    def __init__(self, status: int, detail: str, hint: str = "", headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.hint, self.headers = status, detail, hint, headers


def problem(
    status: int, detail: str, hint: str = "", headers: Mapping[str, str] | None = None, **more: Any
) -> Response:
    fields = {"type": "about:blank", "title": TITLES.get(status, "Error"), "status": status, "detail": detail}
    fields["hint"] = hint or "see /openapi.json"
    content = json.dumps({**fields, **more}, ensure_ascii=False)
    return Response(content, status, dict(headers or {}), "application/problem+json")


def refusal(error: Refused) -> Response:
    return problem(error.status, error.detail, error.hint, error.headers)


def of(error: errors.WatersmeetError) -> Response:
    status = next((status for kind, status in STATUSES if isinstance(error, kind)), 500)
    name = next(cls.__name__ for cls in type(error).__mro__ if cls.__module__ == errors.__name__)
    more = {"cost": error.report.cost.to_json()} if isinstance(error, errors.CostRefused) and error.report else {}
    return problem(status, str(error), error.hint, {"Retry-After": "1"} if status == 503 else None, error=name, **more)


def defect(error: Exception) -> Response:
    return problem(500, f"unexpected: {type(error).__name__}", log_server_crash(error))
