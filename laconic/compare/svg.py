"""Pictures as SVG, inline or as files, without scripts or foreign resources: stacked bars and lines.

Colours are those of Okabe and Ito (2008), which people with colour blindness can tell apart; lines also differ by
dashes and carry their name. Every picture has a title and a description for those who cannot see it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#7A5195", "#8C8C8C")
DASHES = ("", "7 3", "2 3", "9 3 2 3")
COMPUTE, EXPOSED = "#56B4E9", "#D55E00"
WIDTH = 860
BAR, GAP = 18, 10
LABEL = 230
PLOT_HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 300, 70, 200, 16, 46
NAME_APART, NAME_LENGTH = 15, 32
LOG_FROM = 20.0  # largest over smallest value from which an axis counts in powers of ten
ALONE = (
    "<style>svg{font:12px system-ui,sans-serif}text{fill:#1b1f24}.grid{stroke:#c9d0d6}.name{font-weight:600}</style>"
    '<rect width="100%" height="100%" fill="#fff"/>'
)


@dataclass(frozen=True)
class Bar:
    name: str
    compute: float
    exposed: float
    text: str  # beside the bar


@dataclass(frozen=True)
class Curve:
    name: str
    number: int  # decides colour and dashes, the same in every picture
    points: tuple[tuple[float, float], ...]


def bars(rows: Sequence[Bar], title: str) -> str:
    """One bar a row: compute, then what communication added."""
    longest = max((row.compute + row.exposed for row in rows), default=0.0) or 1.0
    room = WIDTH - LABEL - 110
    height = len(rows) * (BAR + GAP) + GAP
    shapes = []
    for number, row in enumerate(rows):
        y = GAP + number * (BAR + GAP)
        first, second = row.compute / longest * room, row.exposed / longest * room
        shapes.append(
            f'<text class="name" x="{LABEL - 8}" y="{y + BAR - 5}" text-anchor="end">{escape(_short(row.name))}</text>'
            f'<rect x="{LABEL}" y="{y}" width="{first:.1f}" height="{BAR}" fill="{COMPUTE}"/>'
            f'<rect x="{LABEL + first:.1f}" y="{y}" width="{second:.1f}" height="{BAR}" fill="{EXPOSED}"/>'
            f'<text x="{LABEL + first + second + 6:.1f}" y="{y + BAR - 5}">{escape(row.text)}</text>'
        )
    told = "; ".join(f"{row.name}: {row.text}" for row in rows)
    return _picture(height, title, told, shapes)


def curves(rows: Sequence[Curve], title: str, x_text: Callable[[float], str], x_name: str, y_name: str) -> str:
    """A metric against its cost, which is above 0; costs far apart are shown in powers of ten."""
    xs = [x for row in rows for x, _ in row.points]
    ys = [y for row in rows for _, y in row.points]
    if not xs:
        return ""
    across = _axis(min(xs), max(xs), LEFT, WIDTH - RIGHT, log=max(xs) > LOG_FROM * min(xs))
    height = _height(rows)
    upward = _axis(min(ys), max(ys), height - BOTTOM, TOP, log=False)
    told = "; ".join(f"{row.name} ends at {row.points[-1][1]:.4g} after {x_text(row.points[-1][0])}" for row in rows)
    return _picture(height, title, told, _drawn(rows, across, upward, x_text, (x_name, y_name), height))


def powers(rows: Sequence[Curve], title: str, x_name: str, y_name: str) -> str:
    """Two quantities above 0, both in powers of ten, so that a straight line's slope is an exponent."""
    xs = [x for row in rows for x, _ in row.points]
    ys = [y for row in rows for _, y in row.points]
    if not xs:
        return ""
    height = _height(rows)
    across = _axis(min(xs), max(xs), LEFT, WIDTH - RIGHT, log=True)
    upward = _axis(min(ys), max(ys), height - BOTTOM, TOP, log=True)
    told = "; ".join(f"{row.name}: " + ", ".join(f"{y:.4g} at {x:.4g}" for x, y in row.points) for row in rows)
    return _picture(height, title, told, _drawn(rows, across, upward, "{:.4g}".format, (x_name, y_name), height))


def alone(picture: str) -> str:
    """The same as a file of its own: on white paper, with the style that a page would give it."""
    head, rest = picture.split("<title>", 1)
    described, shapes = rest.split("</desc>", 1)
    named = head.replace("<svg ", '<svg xmlns="http://www.w3.org/2000/svg" ')
    return f"{named}<title>{described}</desc>{ALONE}{shapes}\n"


def _height(rows: Sequence[Curve]) -> int:
    return max(PLOT_HEIGHT, TOP + NAME_APART * len(rows) + BOTTOM)


def _drawn(
    rows: Sequence[Curve],
    across: _Axis,
    upward: _Axis,
    x_text: Callable[[float], str],
    names: tuple[str, str],
    height: int,
) -> list[str]:
    shapes = _frame(across, upward, x_text, *names, height)
    places = name_places([upward.place(row.points[-1][1]) for row in rows], height - BOTTOM)
    for row, at in zip(rows, places, strict=True):
        shapes += _curve(row, [(across.place(x), upward.place(y)) for x, y in row.points], at)
    return shapes


def _curve(row: Curve, places: Sequence[tuple[float, float]], name_at: float) -> list[str]:
    colour, dash = COLOURS[row.number % len(COLOURS)], DASHES[row.number % len(DASHES)]
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    (x, y), right = places[-1], WIDTH - RIGHT + 12
    return [
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2" stroke-dasharray="{dash}"/>',
        *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places),
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{right - 4}" y2="{name_at - 4:.1f}" stroke="{colour}" opacity="0.5"/>',
        f'<text class="name" x="{right}" y="{name_at:.1f}">{escape(_short(row.name))}</text>',
    ]


@dataclass(frozen=True)
class _Axis:
    low: float
    high: float
    start: float  # pixels
    end: float
    log: bool

    def place(self, value: float) -> float:
        low, high, at = (math.log10(v) if self.log else v for v in (self.low, self.high, value))
        return self.start + (at - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        if self.log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            return [t for t in (m * 10.0**p for p in powers for m in (1, 3)) if self.low <= t <= self.high]
        step = 10 ** math.floor(math.log10((self.high - self.low) / 3))
        step = next(s for s in (step, 2 * step, 5 * step, 10 * step) if (self.high - self.low) / s <= 6)
        first = math.ceil(self.low / step - 1e-9)
        return [k * step for k in range(first, math.floor(self.high / step + 1e-9) + 1)]


def _axis(low: float, high: float, start: float, end: float, *, log: bool) -> _Axis:
    if low == high:
        low, high = (low / 2, high * 2) if log else (low - abs(low) / 10 - 1e-9, high + abs(high) / 10 + 1e-9)
    margin = 0.0 if log else (high - low) / 20
    return _Axis(low - margin, high + margin, start, end, log)


def _frame(
    across: _Axis, upward: _Axis, x_text: Callable[[float], str], x_name: str, y_name: str, height: int
) -> list[str]:
    shapes = []
    for tick in upward.ticks():
        y = upward.place(tick)
        shapes.append(
            f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
            f'<text x="{LEFT - 6}" y="{y + 4:.1f}" text-anchor="end">{tick:.4g}</text>'
        )
    for tick in across.ticks():
        x = across.place(tick)
        shapes.append(
            f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP}" y2="{height - BOTTOM}"/>'
            f'<text x="{x:.1f}" y="{height - BOTTOM + 16}" text-anchor="middle">{escape(x_text(tick))}</text>'
        )
    scale, rising = (", powers of ten" if axis.log else "" for axis in (across, upward))
    shapes.append(
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{height - 8}" text-anchor="middle">'
        f"{escape(x_name)}{scale}</text>"
        f'<text x="14" y="{height / 2}" text-anchor="middle" transform="rotate(-90 14 {height / 2})">'
        f"{escape(y_name)}{rising}</text>"
    )
    return shapes


def name_places(wanted: Sequence[float], bottom: float) -> list[float]:
    """Where names stand beside the curves' ends: near them, apart from each other, not below the picture."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    places = [0.0] * len(wanted)
    last = -math.inf
    for i in order:
        last = places[i] = max(wanted[i] + 4, last + NAME_APART)
    lowest = bottom
    for i in reversed(order):
        places[i] = min(places[i], lowest)
        lowest = places[i] - NAME_APART
    return places


def _short(name: str) -> str:
    return name if len(name) <= NAME_LENGTH else f"{name[: NAME_LENGTH - 1]}…"


def _picture(height: float, title: str, told: str, shapes: Sequence[str]) -> str:
    return (
        f'<svg role="img" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" aria-label="{escape(title)}">'
        f"<title>{escape(title)}</title><desc>{escape(told)}</desc>{''.join(shapes)}</svg>"
    )
