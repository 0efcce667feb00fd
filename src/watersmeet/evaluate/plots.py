"""Plots as SVG: no script, no library, colours from the page's style."""

from __future__ import annotations

import html
import math
from collections.abc import Sequence

from watersmeet.core.bidi import straight

WIDTH = 720
_LEFT = 190
_RIGHT = 64
_ROW = 30
_BINS = 36


def escape(text: str) -> str:
    """HTML-escaped text from a dataset."""
    return html.escape(straight(text))


def dots(title: str, rows: Sequence[tuple[str, float, float, float]]) -> str:
    """Dot plot: a value with its interval for each name, on a scale from 0 to 1."""
    height = 34 + _ROW * len(rows)
    parts = [_grid(height)]
    for number, (name, value, low, high) in enumerate(rows):
        y = 20 + _ROW * number
        main = " main" if number == 0 else ""
        parts.append(
            f'<text class="name" x="{_LEFT - 12}" y="{y + 4}">{escape(_short(name))}</text>'
            f'<line class="whisker{main}" x1="{_x(low):.1f}" x2="{_x(high):.1f}" y1="{y}" y2="{y}"/>'
            f'<circle class="dot{main}" cx="{_x(value):.1f}" cy="{y}" r="5"/>'
            f'<text class="value" x="{WIDTH - 4}" y="{y + 4}">{value:.3f}</text>'
        )
    return _svg(title, height, parts)


def bars(title: str, rows: Sequence[tuple[str, str, float]]) -> str:
    """Bar chart: a value from 0 to 1 for each (name, remark)."""
    height = 34 + _ROW * len(rows)
    parts = [_grid(height)]
    for number, (name, remark, value) in enumerate(rows):
        y = 20 + _ROW * number
        parts.append(
            f'<text class="name" x="{_LEFT - 12}" y="{y + 4}">{escape(_short(name))} '
            f'<tspan class="dim">{escape(remark)}</tspan></text>'
            f'<rect class="bar" x="{_LEFT}" y="{y - 8}" width="{max(0.0, _x(value) - _LEFT):.1f}" height="16" rx="2"/>'
            f'<text class="value" x="{WIDTH - 4}" y="{y + 4}">{value:.3f}</text>'
        )
    return _svg(title, height, parts)


def histogram(title: str, values: Sequence[float], marks: Sequence[tuple[str, float]], unit: str) -> str:
    """Histogram with marked values; the highest hundredth is in the last bar."""
    ordered = sorted(values)
    top = max(ordered[int(0.99 * (len(ordered) - 1))], *(place for _, place in marks), 1e-9) * 1.05
    counts = [0] * _BINS
    for value in values:
        counts[min(_BINS - 1, int(value / top * _BINS))] += 1
    most, height, base = max(counts), 220, 186
    left, width = 44, WIDTH - 44 - 12
    parts = [f'<line class="axis" x1="{left}" x2="{WIDTH - 12}" y1="{base}" y2="{base}"/>']
    for number, count in enumerate(counts):
        tall = 140 * count / most
        parts.append(
            f'<rect class="bar" x="{left + width * number / _BINS + 1:.1f}" y="{base - tall:.1f}" '
            f'width="{width / _BINS - 2:.1f}" height="{tall:.1f}"/>'
        )
    step = _step(top)
    for tick in range(int(top / step) + 1):
        x = left + width * tick * step / top
        parts.append(f'<text class="tick" x="{x:.1f}" y="{base + 18}">{tick * step:g} {unit}</text>')
    for number, (name, place) in enumerate(marks):
        x, y = left + width * place / top, 16 + 16 * number
        side, shift = ("end", -6) if x > WIDTH * 0.7 else ("start", 6)
        parts.append(
            f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{y - 8}" y2="{base}"/>'
            f'<text class="label" style="text-anchor:{side}" x="{x + shift:.1f}" y="{y + 2}">'
            f"{escape(name)} {place:.2f} {unit}</text>"
        )
    parts.append(f'<text class="tick" style="text-anchor:end" x="{left - 6}" y="{base - 136}">{most}</text>')
    parts.append(f'<text class="tick" style="text-anchor:end" x="{left - 6}" y="{base}">0</text>')
    return _svg(title, height, parts)


def differences(title: str, values: Sequence[float]) -> str:
    """Gain or loss of each query, from the largest gain to the largest loss; unchanged queries are left out."""
    moved = sorted((value for value in values if value), reverse=True)
    if not moved:
        return ""
    most, middle, height = max(abs(value) for value in moved), 90, 180
    left, width = 44, WIDTH - 44 - 12
    step = width / len(moved)
    parts = []
    for number, value in enumerate(moved):
        tall = 74 * abs(value) / most
        y = middle - tall if value > 0 else middle
        kind = "won" if value > 0 else "lost"
        parts.append(
            f'<rect class="{kind}" x="{left + step * number:.2f}" y="{y:.1f}" '
            f'width="{max(0.4, step * 0.9):.2f}" height="{tall:.1f}"/>'
        )
    parts.append(f'<line class="axis" x1="{left}" x2="{WIDTH - 12}" y1="{middle}" y2="{middle}"/>')
    for sign, y in (("+", middle - 66), ("−", middle + 74)):
        parts.append(f'<text class="tick" style="text-anchor:end" x="{left - 6}" y="{y}">{sign}{most:.2f}</text>')
    return _svg(title, height, parts)


def plane(title: str, points: Sequence[tuple[float, float, float]], marks: Sequence[tuple[str, float, float]]) -> str:
    """Heat map: a value for each (across, up) of a triangular grid from 0 to 1, as shades; and marked places."""
    low, high = min(value for *_, value in points), max(value for *_, value in points)
    left, base, size = 60, 330, 30
    parts = []
    for across, up, value in points:
        share = (value - low) / (high - low) if high > low else 0.5
        x, y = left + across * 10 * size, base - up * 10 * size
        parts.append(
            f'<rect class="shade" style="opacity:{0.08 + 0.92 * share:.3f}" x="{x - size / 2:.1f}" '
            f'y="{y - size / 2:.1f}" width="{size}" height="{size}"><title>{value:.4f}</title></rect>'
        )
    for tenth in range(0, 11, 2):
        parts.append(f'<text class="tick" x="{left + tenth * size}" y="{base + 32}">{tenth / 10:.1f}</text>')
        parts.append(f'<text class="tick" x="{left - 32}" y="{base - tenth * size + 4}">{tenth / 10:.1f}</text>')
    parts.append(f'<text class="tick" x="{left + 5 * size}" y="{base + 50}">weight of lexical</text>')
    parts.append('<text class="dim" x="4" y="12">weight of static; the rest is dense</text>')
    for number, (name, across, up) in enumerate(marks):
        x, y, line = left + across * 10 * size, base - up * 10 * size, 60 + 22 * number
        parts.append(
            f'<circle class="place" cx="{x:.1f}" cy="{y:.1f}" r="{6 + 3 * number}"/>'
            f'<text class="label" x="{left + 12 * size}" y="{line}">'
            f"{escape(name)}: lexical {across:.2f}, static {up:.2f}, dense {max(0.0, 1 - across - up):.2f}</text>"
            f'<circle class="place" cx="{left + 12 * size - 18}" cy="{line - 4}" r="{6 + 3 * number}"/>'
        )
    parts.append(f'<text class="dim" x="{left + 12 * size}" y="30">palest {low:.3f}, darkest {high:.3f}</text>')
    return _svg(title, base + 60, parts)


def _x(value: float) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * min(1.0, max(0.0, value))


def _step(top: float) -> float:
    """A round number that divides a scale into about five."""
    tenth = 10.0 ** math.floor(math.log10(top / 5))
    return next(tenth * factor for factor in (1, 2, 5, 10) if tenth * factor >= top / 7)


def _grid(height: int) -> str:
    lines = []
    for tenth in range(0, 11, 2):
        x = _x(tenth / 10)
        lines.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="6" y2="{height - 20}"/>')
        lines.append(f'<text class="tick" x="{x:.1f}" y="{height - 5}">{tenth / 10:.1f}</text>')
    return "".join(lines)


def _short(name: str) -> str:
    return name if len(name) <= 24 else name[:23] + "…"


def _svg(title: str, height: int, parts: Sequence[str]) -> str:
    return (
        f'<figure><figcaption>{escape(title)}</figcaption><svg viewBox="0 0 {WIDTH} {height}" role="img" '
        f'aria-label="{escape(title)}">{"".join(parts)}</svg></figure>'
    )
