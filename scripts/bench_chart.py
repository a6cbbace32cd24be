"""Lines over N as an SVG file, a panel for every dtype, without a library."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

WIDTH, HEIGHT, LEFT, TOP, LEGEND = 560, 360, 56, 40, 110
COLORS = ("#0b6e4f", "#c1440e", "#6a4c93", "#8d99ae", "#1982c4", "#e0a100", "#444444")
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 2", "4 4", "10 4")
"""Lines differ in their dashes too, not in colour alone."""

Lines = Mapping[str, Sequence[tuple[int, float]]]
"""By name: N and a share of copy speed."""


def chart(panels: Mapping[str, Lines]) -> str:
    """The panels side by side, y from 0 to 1.05 of a copy's speed."""
    names = list(dict.fromkeys(name for lines in panels.values() for name in lines))
    width = len(panels) * WIDTH + LEGEND
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" font-family="sans-serif" '
        'font-size="12">',
        f'<rect width="{width}" height="{HEIGHT}" fill="white"/>',
    ]
    for place, (title, lines) in enumerate(panels.items()):
        parts += [f'<g transform="translate({place * WIDTH},0)">', *_panel(title, lines, names), "</g>"]
    for row, name in enumerate(names):
        y = TOP + 18 * row
        x = width - LEGEND
        parts.append(f'<path d="M{x},{y} h24" {_stroke(names, name)}/>')
        parts.append(f'<text x="{x + 30}" y="{y + 4}">{escape(name)}</text>')
    return "\n".join([*parts, "</svg>", ""])


def _panel(title: str, lines: Lines, names: Sequence[str]) -> list[str]:
    lengths = sorted({n for line in lines.values() for n, _ in line})
    low, high = math.log2(lengths[0]) - 0.2, math.log2(lengths[-1]) + 0.2
    bottom, right = HEIGHT - 40, WIDTH - 20

    def at(n: int, share: float) -> str:
        x = LEFT + (math.log2(n) - low) / (high - low) * (right - LEFT)
        return f"{x:.1f},{bottom - share / 1.05 * (bottom - TOP):.1f}"

    parts = [f'<text x="{LEFT}" y="20" font-weight="bold">{escape(title)}: speed as a share of a copy</text>']
    for share in (0, 0.25, 0.5, 0.75, 1):
        x, y = at(lengths[0], share).split(",")
        parts.append(f'<path d="M{LEFT},{y} H{right}" stroke="#ddd"/>')
        parts.append(f'<text x="{LEFT - 6}" y="{float(y) + 4:.1f}" text-anchor="end">{share:g}</text>')
    for power in range(math.ceil(low), math.floor(high) + 1, 2):
        x, _ = at(1 << power, 0).split(",")
        parts.append(f'<text x="{x}" y="{bottom + 18}" text-anchor="middle">{1 << power}</text>')
    for name, line in lines.items():
        path = " L".join(at(n, share) for n, share in sorted(line))
        parts.append(f'<path d="M{path}" fill="none" {_stroke(names, name)}/>')
    return parts


def _stroke(names: Sequence[str], name: str) -> str:
    place = names.index(name)
    width = 2.5 if place == 0 else 1.5
    dash = DASHES[place % len(DASHES)]
    return f'stroke="{COLORS[place % len(COLORS)]}" stroke-width="{width}" stroke-dasharray="{dash}"'
