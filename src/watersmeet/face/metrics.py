"""Metrics of a server for Prometheus: counts and times, never the text of a query."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping
from threading import Lock
from typing import Any

from watersmeet.core.model import Answer

BOUNDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0)

Labels = tuple[tuple[str, str], ...]


class Metrics:
    def __init__(self) -> None:
        self._lock = Lock()
        self._requests: defaultdict[Labels, int] = defaultdict(int)
        self._buckets: defaultdict[str, list[int]] = defaultdict(lambda: [0] * (len(BOUNDS) + 1))
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._steps: defaultdict[str, list[float]] = defaultdict(lambda: [0, 0.0])
        self._failures: defaultdict[str, int] = defaultdict(int)
        self._modes: defaultdict[str, int] = defaultdict(int)

    def requested(self, route: str, method: str, status: int, seconds: float) -> None:
        bucket = next((n for n, bound in enumerate(BOUNDS) if seconds <= bound), len(BOUNDS))
        with self._lock:
            self._requests[("route", route), ("method", method), ("status", str(status))] += 1
            self._buckets[route][bucket] += 1
            self._seconds[route] += seconds

    def searched(self, answer: Answer) -> None:
        with self._lock:
            self._modes[answer.mode] += 1
            for step, took in answer.timings.items():
                count = self._steps[step]
                count[0] += 1
                count[1] += took / 1000
            for failure in answer.failures:
                self._failures[failure.by] += 1

    def text(self, status: Mapping[str, Any] | None, under_way: int) -> str:
        with self._lock:
            lines = [*self._counted(), *self._timed()]
        lines += _family("watersmeet_work_under_way", "gauge", "Requests that run or wait.")
        lines.append(f"watersmeet_work_under_way {under_way}")
        if status is not None:
            for name in ("documents", "chunks", "size_bytes"):
                lines += _family(f"watersmeet_index_{name}", "gauge", f"The index: {name.replace('_', ' in ')}.")
                lines.append(f"watersmeet_index_{name} {status[name]}")
            lines += _family("watersmeet_signal_coverage", "gauge", "The share of the chunks that a signal covers.")
            for name, signal in status["signals"].items():
                lines.append(_line("watersmeet_signal_coverage", (("signal", name),), signal["coverage"]))
        return "\n".join(lines) + "\n"

    def _counted(self) -> Iterator[str]:
        yield from _family("watersmeet_requests_total", "counter", "Requests, by route and outcome.")
        for labels, count in sorted(self._requests.items()):
            yield _line("watersmeet_requests_total", labels, count)
        for name, about, values, label in (
            ("watersmeet_searches_total", "Searches, by the mode that really ran.", self._modes, "mode"),
            ("watersmeet_failures_total", "Steps of searches that could not run.", self._failures, "step"),
        ):
            yield from _family(name, "counter", about)
            for key, count in sorted(values.items()):
                yield _line(name, ((label, key),), count)

    def _timed(self) -> Iterator[str]:
        name = "watersmeet_request_seconds"
        yield from _family(name, "histogram", "How long requests took, by route.")
        for route, counts in sorted(self._buckets.items()):
            so_far = 0
            for bound, count in zip((*BOUNDS, "+Inf"), counts, strict=True):
                so_far += count
                yield _line(f"{name}_bucket", (("route", route), ("le", str(bound))), so_far)
            yield _line(f"{name}_sum", (("route", route),), round(self._seconds[route], 6))
            yield _line(f"{name}_count", (("route", route),), so_far)
        name = "watersmeet_step_seconds"
        yield from _family(name, "summary", "How long each step of a search took.")
        for step, (times, seconds) in sorted(self._steps.items()):
            yield _line(f"{name}_sum", (("step", step),), round(seconds, 6))
            yield _line(f"{name}_count", (("step", step),), int(times))


def _family(name: str, kind: str, about: str) -> list[str]:
    return [f"# HELP {name} {about}", f"# TYPE {name} {kind}"]


def _line(name: str, labels: Labels, value: float) -> str:
    rendered = ",".join(f'{key}="{_escaped(text)}"' for key, text in labels)
    return f"{name}{{{rendered}}} {value}"


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
