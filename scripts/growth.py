"""The picture of how queries grow with an index, drawn from benchmarks/results; `--check` only compares.

The newest results of `benchmarks/million.py measure` of one commit count, one for each size.
"""

from __future__ import annotations

import json
import math
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PICTURE = ROOT / "benchmarks" / "results", ROOT / "docs" / "pictures" / "growth.svg"
MODES = {"hybrid": "#d9480f", "dense": "#1c7ed6", "static": "#2b8a3e", "lexical": "#862e9c"}
WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 780, 400, 60, 250, 24, 48
LOW, HIGH = 1.0, 100.0
"""CPU milliseconds at the ends of the axis."""
STYLE = """text { font: 13px sans-serif; fill: #343a40 }
.grid { stroke: #dee2e6 }
.line { fill: none; stroke-width: 2.5 }
@media (prefers-color-scheme: dark) { text { fill: #dee2e6 } .grid { stroke: #495057 } }"""

Sizes = list[tuple[int, dict[str, Any]]]


def sizes(folder: Path) -> Sizes:
    """Chunks and figures of each size, of the newest commit that has the largest size."""
    found = [json.loads(path.read_text("utf8")) for path in folder.glob("million_asked_*.json")]
    if not found:
        raise SystemExit(f"{folder} has no result of `python benchmarks/million.py measure`")
    last = max(found, key=lambda one: (round(one["chunks"], -3), one["date"]))["commit"]
    return sorted(((one["chunks"], one) for one in found if one["commit"] == last), key=lambda one: one[0])


def exponent(points: Sequence[tuple[float, float]]) -> float:
    """The slope of the logarithms: 1 is linear, 0 is none."""
    return statistics.linear_regression(*zip(*((math.log(x), math.log(y)) for x, y in points), strict=True)).slope


def medians(found: Sizes, mode: str) -> list[tuple[float, float]]:
    return [(chunks, one["cpu_ms"][mode]["none"]["p50"]) for chunks, one in found]


def drawn(found: Sizes) -> str:
    first, last = math.log10(found[0][0]), math.log10(found[-1][0])

    def x(chunks: float) -> float:
        return LEFT + (math.log10(chunks) - first) / (last - first) * (WIDTH - LEFT - RIGHT)

    def y(ms: float) -> float:
        share = (math.log10(ms) - math.log10(LOW)) / (math.log10(HIGH) - math.log10(LOW))
        return HEIGHT - BOTTOM - share * (HEIGHT - TOP - BOTTOM)

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        "<title>CPU milliseconds of a query by the number of chunks, both axes logarithmic</title>",
        f"<style>{STYLE}</style>",
    ]
    for ms in (1, 2, 5, 10, 20, 50, 100):
        parts.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y(ms):.1f}" y2="{y(ms):.1f}"/>')
        parts.append(f'<text x="{LEFT - 8}" y="{y(ms) + 4:.1f}" text-anchor="end">{ms}</text>')
    for chunks, _ in found:
        size = f"{round(chunks, -3):,}"
        parts.append(f'<text x="{x(chunks):.1f}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{size}</text>')
    parts.append(f'<text x="{LEFT}" y="{TOP - 8}">CPU ms a query</text>')
    parts.append(f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 8}" text-anchor="middle">chunks</text>')
    lowest = math.inf  # labels do not cover each other
    for mode, colour in sorted(MODES.items(), key=lambda one: medians(found, one[0])[-1][1]):
        points = medians(found, mode)
        path = " ".join(f"{x(a):.1f},{y(b):.1f}" for a, b in points)
        parts.append(f'<polyline class="line" stroke="{colour}" points="{path}"/>')
        parts += [f'<circle cx="{x(a):.1f}" cy="{y(b):.1f}" r="4" fill="{colour}"/>' for a, b in points]
        lowest = min(y(points[-1][1]) + 4, lowest - 18)
        label = f"{mode} {points[-1][1]:.1f} ms, exponent {exponent(points):.2f}"
        parts.append(f'<text x="{WIDTH - RIGHT + 10}" y="{lowest:.1f}">{label}</text>')
    return "\n".join([*parts, "</svg>", ""])


def main(argv: Sequence[str], folder: Path = RESULTS, picture: Path = PICTURE) -> int:
    """0: written, or as it should be; 1: it differs."""
    wanted = drawn(sizes(folder))
    if "--check" in argv:
        same = picture.is_file() and picture.read_text("utf8") == wanted
        if not same:
            print(f"{picture.name} is not what benchmarks/results say; run scripts/growth.py")
        return int(not same)
    picture.write_text(wanted, "utf8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
