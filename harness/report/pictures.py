"""Pictures for a page: SVG that takes its colours from the page around it."""

import hashlib
import importlib.util
import logging
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from io import StringIO
from typing import TYPE_CHECKING

from harness.domain.comparison import Comparison, Estimate
from harness.domain.packages import how_to_get
from harness.domain.scenario import Objective
from harness.domain.trace import ProbeTrace, Update
from harness.report.drawing import CONSUMED, TRUE, DrawnCurve, bars, lines
from harness.report.words import clean, signed, some

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.typing import RcKeyType

# Stand-ins that no drawing needs by itself; each becomes a variable of the style sheet.
_INK, _SOFT, _TRUE, _CONSUMED, _LIMIT = "#010101", "#020202", "#030303", "#040404", "#050505"
_VARIABLES = {
    _INK: "currentColor",
    _SOFT: "var(--line)",
    _TRUE: "var(--true)",
    _CONSUMED: "var(--consumed)",
    _LIMIT: "var(--limit)",
}
_STYLE: "dict[RcKeyType, object]" = {
    "svg.fonttype": "none",
    "svg.hashsalt": "harness",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 8,
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _SOFT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "axes.titlelocation": "left",
    "xtick.color": _INK,
    "ytick.color": _INK,
    "grid.color": _SOFT,
    "grid.linewidth": 0.5,
    "legend.frameon": False,
    "legend.fontsize": 7.5,
    "xtick.minor.bottom": False,
    "ytick.minor.left": False,
    "axes.titlepad": 16,
}


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing, and the same in words."""

    svg: str
    """One ``svg`` element, without scripts, links or fonts."""
    alt: str
    """What it shows, for those who do not see it."""


def not_drawn() -> str | None:
    """Why there are no pictures, where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is not None:
        return None
    return f"a page with pictures {how_to_get(['matplotlib'])}"


def pictures_of(
    probe: ProbeTrace, objectives: Sequence[Objective], threshold: float | None
) -> Iterator[Picture]:
    """All that there is to see of one probe."""
    for picture in (norms_picture(probe, objectives, threshold), rounds_picture(probe)):
        if picture is not None:
            yield picture


def norms_picture(
    probe: ProbeTrace, objectives: Sequence[Objective] = (), threshold: float | None = None
) -> Picture | None:
    """Gradient norm of each update, true beside consumed; ``None`` where nothing was consumed.
    ``objectives``: the true gradient of the first of them that was measured is drawn; ``threshold``:
    the range that clipping may aim at.
    """
    updates = probe.updates
    if not updates:
        return None
    consumed = [update.consumed_norm for update in updates]
    true = [_true_norm(update, objectives) for update in updates]
    curves = (DrawnCurve("true", TRUE, true), DrawnCurve("consumed", CONSUMED, consumed))
    svg = lines(f"probe {clean(probe.probe)}", "gradient norm", curves, threshold)
    return Picture(svg, _norms_in_words(probe.probe, true, consumed, threshold))


def rounds_picture(probe: ProbeTrace) -> Picture | None:
    """Rounds of synchronisation per update, rank by rank; ``None`` on a single rank."""
    if probe.world_size < 2 or not probe.updates:
        return None
    curves = [
        DrawnCurve(
            f"rank {rank.rank}", (TRUE, CONSUMED)[place % 2], [u.rounds for u in rank.updates]
        )
        for place, rank in enumerate(probe.ranks)
    ]
    svg = bars(f"probe {clean(probe.probe)}", "rounds; one is enough", curves, 1.0)
    return Picture(svg, _rounds_in_words(probe))


def effect_picture(comparison: Comparison) -> Picture | None:
    """The difference in right answers with its interval; ``None`` where nothing was judged."""
    rows = [
        (name, found)
        for name, found in (("judged answers", comparison.estimate), ("strict", comparison.strict))
        if found is not None
    ]
    if comparison.estimate is None or not_drawn() is not None:
        return None
    with _drawing(0.9 + 0.35 * len(rows), width=6.4, left=1.1) as (figure, axes):
        axes.axvline(0, color=_INK, lw=1)
        margin = -100 * comparison.rules.margin
        axes.axvline(margin, color=_LIMIT, lw=1.2, ls="--", label=f"margin {margin:.0f}")
        _unseen(axes, comparison)
        for place, (_, found) in enumerate(rows):
            low, middle, high = 100 * found.low, 100 * found.effect, 100 * found.high
            axes.plot([low, high], [place, place], color=_TRUE, lw=2.5, solid_capstyle="butt")
            axes.plot([middle], [place], "D", color=_CONSUMED, ms=6)
        axes.set_yticks(range(len(rows)), [name for name, _ in rows])
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlim(-105, 105)
        axes.set_xlabel("points of right answers, new less old")
        axes.legend(loc="lower left", bbox_to_anchor=(-0.01, 0.99), ncols=3, borderpad=0)
        said = "; ".join(_estimate_in_words(name, found) for name, found in rows)
        return Picture(_svg(figure), f"Difference in right answers. {said}.")


# ----------------------------------------------------------------------------------------- drawing


class _drawing:  # noqa: N801 (reads as a function)
    """A figure of one pair of axes, in the page's style. Sizes in inches."""

    def __init__(self, height: float, width: float = 3.5, left: float = 0.62) -> None:
        self._size = (width, height)
        self._left = left

    def __enter__(self) -> tuple["Figure", "Axes"]:
        logging.getLogger("matplotlib").setLevel(logging.ERROR)  # of a home that is read-only

        import matplotlib as mpl
        from matplotlib.figure import Figure

        self._style = mpl.rc_context(_STYLE)
        self._style.__enter__()
        width, height = self._size
        figure = Figure(figsize=self._size)
        figure.subplots_adjust(  # in inches: a layout engine would take as long as the drawing
            left=self._left / width,
            right=1 - 0.1 / width,
            bottom=0.4 / height,
            top=1 - 0.36 / height,
        )
        axes = figure.add_subplot()
        axes.grid(axis="y")
        axes.set_axisbelow(True)
        return figure, axes

    def __exit__(self, *error: object) -> None:
        self._style.__exit__(None, None, None)


def _svg(figure: "Figure") -> str:
    """Without prologue, metadata and backgrounds; colours are the page's."""
    written = StringIO()
    figure.savefig(written, format="svg", transparent=True, metadata={"Date": None})
    svg = written.getvalue()
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>|<style.*?</style>|<!--.*?-->", "", svg, flags=re.DOTALL)
    svg = re.sub(r' width="[\d.]+pt" height="[\d.]+pt"', "", svg, count=1)
    for stand_in, variable in _VARIABLES.items():
        svg = svg.replace(stand_in, variable)
    return re.sub(r"\n\s*", "\n", _with_ids_of_its_own(svg))


def _with_ids_of_its_own(svg: str) -> str:
    """Many drawings stand on one page: ids that nothing points to go, the others are made unique."""
    mine = hashlib.sha256(svg.encode()).hexdigest()[:8]
    used = set(re.findall(r'(?:xlink:href="|url\()#([\w.:-]+)', svg))
    svg = re.sub(r' id="([\w.:-]+)"', lambda m: f' id="{m[1]}-{mine}"' if m[1] in used else "", svg)
    return re.sub(r'(xlink:href="|url\()#([\w.:-]+)', rf"\1#\2-{mine}", svg)


def _unseen(axes: "Axes", comparison: Comparison) -> None:
    """Effects that a comparison like this would too often miss, as a band around zero."""
    reach = comparison.reach
    if reach is None:
        return
    low = -100 * reach.loss.effect if reach.loss else -100
    high = 100 * reach.gain.effect if reach.gain else 100
    axes.axvspan(low, high, color=_SOFT, alpha=0.35, lw=0, label="too small to be shown")


def _true_norm(update: Update, objectives: Sequence[Objective]) -> float | None:
    found = next((m for o in objectives if (m := update.match(o)) is not None), None)
    match = found or (update.matches[0] if update.matches else None)
    return match.expected_norm if match else None


# ---------------------------------------------------------------------------------------- in words


def _norms_in_words(
    probe: str,
    true: Sequence[float | None],
    consumed: Sequence[float | None],
    threshold: float | None,
) -> str:
    limit = "" if threshold is None else f" The limit is {threshold:g}."
    return (
        f"Gradient norm per update, probe {probe}, {some(len(consumed), 'update')}:"
        f" true {_range(true)}, consumed {_range(consumed)}.{limit}"
    )


def _range(values: Sequence[float | None]) -> str:
    seen = [v for v in values if v is not None and math.isfinite(v)]
    said = f"{min(seen):.3g} to {max(seen):.3g}" if seen else "not measured"
    broken = sum(v is not None and not math.isfinite(v) for v in values)
    return f"{said}, not finite in {some(broken, 'update')}" if broken else said


def _rounds_in_words(probe: ProbeTrace) -> str:
    return f"Rounds of synchronisation per update, probe {probe.probe}: " + "; ".join(
        f"rank {rank.rank} {_range([u.rounds for u in rank.updates])}" for rank in probe.ranks
    )


def _estimate_in_words(name: str, found: Estimate) -> str:
    low, high = signed(found.low), signed(found.high)
    return f"{name}: {signed(found.effect)} points, interval {low} to {high}"
