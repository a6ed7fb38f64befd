"""Small charts as SVG text: a page of sixty answers holds some two hundred, and a plotting library
takes forty milliseconds and ten kilobytes for each.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 340.0, 190.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 8.0, 38.0, 30.0
_LOGARITHMIC_FROM = 30.0  # largest over smallest: the small ones would lie on the axis
_MOST_TICKS = 5
TRUE, CONSUMED, LIMIT = (
    "var(--true, #0a5fc4)",
    "var(--consumed, #b4480a)",
    "var(--limit, #14692d)",
)
_FAINT = "var(--line, #c4cad1)"
_BOLD, _ENDS, _CENTRED = ' font-weight="600"', ' text-anchor="end"', ' text-anchor="middle"'

CurveValues = Sequence[float | None]
"""One for each update; ``None`` and what is not finite leave a gap."""


@dataclass(frozen=True, slots=True)
class DrawnCurve:
    """One line of a chart, or the bars of one rank."""

    label: str
    """In the legend."""
    colour: str
    """Of the style sheet, with what it is without one."""
    values: CurveValues
    """Update by update."""


@dataclass(frozen=True, slots=True)
class DrawnInterval:
    """A difference in points, and between what it lies."""

    label: str
    """Beside it."""
    low: float
    """Its lower end."""
    middle: float
    """What was seen."""
    high: float
    """Its upper end."""


@dataclass(frozen=True, slots=True)
class _Scale:
    low: float
    high: float
    logarithmic: bool

    def at(self, value: float) -> float:
        low, high = self._moved(self.low), self._moved(self.high)
        share = (self._moved(value) - low) / (high - low)
        return _TOP + (HEIGHT - _TOP - _BOTTOM) * (1 - share)

    def ticks(self) -> list[float]:
        if self.logarithmic:
            first, last = math.floor(math.log10(self.low)), math.ceil(math.log10(self.high))
            step = max(1, -(-(last - first) // _MOST_TICKS))
            powers = [10.0**n for n in range(first, last + 1, step)]
            return [power for power in powers if self.low <= power <= self.high]
        rough = self.high / 4
        size = 10.0 ** math.floor(math.log10(rough))
        step_ = next(size * n for n in (1, 2, 5, 10) if size * n >= rough)
        return [step_ * n for n in range(int(self.high / step_) + 1)]

    def _moved(self, value: float) -> float:
        return math.log10(max(value, self.low)) if self.logarithmic else value


def lines(title: str, unit: str, curves: Sequence[DrawnCurve], limit: float | None) -> str:
    """Each curve with a mark at each update, the limit dashed; a triangle on top for what is not
    finite.
    """
    count = max(len(curve.values) for curve in curves)
    scale = _scale([v for curve in curves for v in _finite(curve.values)], limit)
    parts = []
    for curve in curves:
        places = [(_across(n, count), v) for n, v in enumerate(curve.values)]
        seen = [(x, scale.at(v)) if _is_finite(v) and v is not None else None for x, v in places]
        parts.append(_path(seen, curve.colour))
        broken = [x for x, v in places if v is not None and not math.isfinite(v)]
        parts += [_triangle(x, curve.colour) for x in broken]
    return _chart(title, unit, scale, curves, limit, parts)


def bars(title: str, unit: str, curves: Sequence[DrawnCurve], limit: float) -> str:
    """A bar for each update and curve, side by side."""
    count = max(len(curve.values) for curve in curves)
    most = max((v for curve in curves for v in _finite(curve.values)), default=limit)
    scale = _Scale(0.0, 1.15 * max(most, limit), logarithmic=False)
    slot = (WIDTH - _LEFT - _RIGHT) / max(count, 1)
    width = 0.8 * slot / len(curves)
    parts = []
    for place, curve in enumerate(curves):
        for n, value in enumerate(curve.values):
            if value is not None and math.isfinite(value):
                x, y = _LEFT + slot * n + 0.1 * slot + width * place, scale.at(value)
                box = f'x="{x:.1f}" y="{y:.1f}" width="{0.9 * width:.1f}"'
                height = HEIGHT - _BOTTOM - y
                parts.append(f'<rect {box} height="{height:.1f}" fill="{curve.colour}"/>')
    return _chart(title, unit, scale, curves, limit, parts)


def intervals(
    rows: Sequence[DrawnInterval], margin: float, unseen: tuple[float, float] | None
) -> str:
    """One under the other, from -100 to 100 points; the margin dashed, and in between, where effects are
    too small to be shown, a band.
    """
    left, right, floor = 100.0, 2 * WIDTH, _TOP + 26.0 * len(rows)

    def across(points: float) -> float:
        return left + (right - left - 10) * (points + 100) / 200

    entries = [(f"margin {margin:.0f}", LIMIT)]
    parts = []
    if unseen is not None:
        x, width = across(unseen[0]), across(unseen[1]) - across(unseen[0])
        box = f'x="{x:.1f}" y="{_TOP}" width="{width:.1f}" height="{floor - _TOP:.1f}"'
        parts.append(f'<rect {box} fill="{_FAINT}" opacity="0.35"/>')
        entries.append(("too small to be shown", _FAINT))
    for points in (-100, -50, 0, 50, 100):
        x = across(points)
        parts.append(_line((x, x), (_TOP, floor), "currentColor" if not points else _FAINT, 0.8))
        parts.append(_text(x, floor + 12, f"{points}", _CENTRED))
    parts.append(_line((across(margin),) * 2, (_TOP, floor), LIMIT, 1.2, dashed=True))
    for n, row in enumerate(rows):
        y = _TOP + 26.0 * n + 13
        parts.append(_text(left - 6, y + 3, row.label, _ENDS))
        parts.append(_line((across(row.low), across(row.high)), (y, y), TRUE, 2.5))
        x = across(row.middle)
        parts.append(f'<path d="M{x - 4:.1f} {y}l4 -4l4 4l-4 4z" fill="{CONSUMED}"/>')
    parts.append(
        _text((left + right) / 2, floor + 26, "points of right answers, new less old", _CENTRED)
    )
    return _svg(right, floor + 30, [*parts, *_legend(left, entries)])


def _chart(
    title: str,
    unit: str,
    scale: _Scale,
    curves: Sequence[DrawnCurve],
    limit: float | None,
    inside: Iterable[str],
) -> str:
    count = max(len(curve.values) for curve in curves)
    right, floor = WIDTH - _RIGHT, HEIGHT - _BOTTOM
    parts = [_text(_LEFT, 11, title, _BOLD)]
    for tick in scale.ticks():
        y = scale.at(tick)
        parts.append(_line((_LEFT, right), (y, y), _FAINT, 0.6))
        parts.append(_text(_LEFT - 4, y + 3, f"{tick:g}", _ENDS))
    parts.append(_line((_LEFT, right), (floor, floor), _FAINT, 1.0))
    numbers = range(0, count, max(1, -(-count // 8)))
    parts += [_text(_across(n, count), floor + 12, str(n), _CENTRED) for n in numbers]
    parts.append(_text((_LEFT + right) / 2, HEIGHT - 4, f"update ({unit})", _CENTRED))
    parts += inside
    entries = [(curve.label, curve.colour) for curve in curves]
    if limit is not None:
        y = scale.at(limit)
        parts.append(_line((_LEFT, right), (y, y), LIMIT, 1.2, dashed=True))
        entries.append((f"limit {limit:g}", LIMIT))
    return _svg(WIDTH, HEIGHT, [*parts, *_legend(_LEFT, entries)])


def _legend(x: float, entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    for label, colour in entries:
        yield f'<rect x="{x:.0f}" y="19" width="10" height="4" fill="{colour}"/>'
        yield _text(x + 13, 25, label)
        x += 22 + 5.5 * len(label)


def _svg(width: float, height: float, parts: Iterable[str]) -> str:
    box = f'viewBox="0 0 {width:g} {height:g}"'
    look = 'font-size="9" fill="currentColor"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} {look}>{"".join(parts)}</svg>'


def _scale(values: Sequence[float], limit: float | None) -> _Scale:
    seen = [v for v in (*values, *([limit] if limit is not None else [])) if v > 0]
    low, high = min(seen, default=0.5), max(seen, default=1.0)
    if high / low > _LOGARITHMIC_FROM:
        return _Scale(low / 1.5, high * 1.5, logarithmic=True)
    return _Scale(0.0, 1.08 * high, logarithmic=False)


def _across(n: int, count: int) -> float:
    return _LEFT + (WIDTH - _LEFT - _RIGHT) * (n + 0.5) / max(count, 1)


def _is_finite(value: float | None) -> bool:
    return value is not None and math.isfinite(value)


def _finite(values: CurveValues) -> list[float]:
    return [v for v in values if v is not None and math.isfinite(v)]


def _path(places: Sequence[tuple[float, float] | None], colour: str) -> str:
    steps, pen_up = [], True
    for place in places:
        if place is not None:
            steps.append(f"{'M' if pen_up else 'L'}{place[0]:.1f} {place[1]:.1f}")
        pen_up = place is None
    line = f'<path d="{"".join(steps)}" fill="none" stroke="{colour}" stroke-width="1.3"/>'
    dots = "".join(f"M{p[0]:.1f} {p[1]:.1f}h0" for p in places if p)
    round_ = f'stroke="{colour}" stroke-width="4.4" stroke-linecap="round"'
    return f'{line}<path d="{dots}" {round_}/>' if steps else ""


def _triangle(x: float, colour: str) -> str:
    return f'<path d="M{x - 4:.1f} {_TOP + 1}h8l-4 7z" fill="{colour}"/>'


def _line(
    xs: tuple[float, float],
    ys: tuple[float, float],
    colour: str,
    width: float,
    *,
    dashed: bool = False,
) -> str:
    dash = ' stroke-dasharray="4 3"' if dashed else ""
    ends = f'x1="{xs[0]:.1f}" y1="{ys[0]:.1f}" x2="{xs[1]:.1f}" y2="{ys[1]:.1f}"'
    return f'<line {ends} stroke="{colour}" stroke-width="{width}"{dash}/>'


def _text(x: float, y: float, said: str, look: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}"{look}>{escape(said)}</text>'
