"""Pictures for a page: SVG that takes its colours from the page around it."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.domain.comparison import Comparison, Estimate
from harness.domain.scenario import Objective
from harness.domain.trace import ProbeTrace, Update
from harness.domain.wording import placed
from harness.report.drawing import CONSUMED, TRUE, DrawnCurve, DrawnInterval, bars, intervals, lines
from harness.report.words import clean, signed, some


@dataclass(frozen=True, slots=True)
class Picture:
    """A drawing, and the same in words."""

    svg: str
    """One ``svg`` element, without scripts, links or fonts."""
    alt: str
    """What it shows, for those who do not see it."""


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
    svg = lines(clean(placed(probe.probe)), "gradient norm", curves, threshold)
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
    svg = bars(clean(placed(probe.probe)), "rounds; one is enough", curves, 1.0)
    return Picture(svg, _rounds_in_words(probe))


def effect_picture(comparison: Comparison) -> Picture | None:
    """The difference in right answers with its interval; ``None`` where nothing was judged."""
    rows = [
        (name, found)
        for name, found in (("judged answers", comparison.estimate), ("strict", comparison.strict))
        if found is not None
    ]
    if comparison.estimate is None:
        return None
    drawn = [DrawnInterval(n, 100 * f.low, 100 * f.effect, 100 * f.high) for n, f in rows]
    reach, margin = comparison.reach, -100 * comparison.rules.margin
    unseen = None
    if reach is not None:
        low = -100 * reach.loss.effect if reach.loss else -100.0
        unseen = (low, 100 * reach.gain.effect if reach.gain else 100.0)
    said = "; ".join(_estimate_in_words(name, found) for name, found in rows)
    return Picture(intervals(drawn, margin, unseen), f"Difference in right answers. {said}.")


def _true_norm(update: Update, objectives: Sequence[Objective]) -> float | None:
    found = next((m for o in objectives if (m := update.match(o)) is not None), None)
    match = found or (update.matches[0] if update.matches else None)
    return match.expected_norm if match else None


def _norms_in_words(
    probe: str,
    true: Sequence[float | None],
    consumed: Sequence[float | None],
    threshold: float | None,
) -> str:
    limit = "" if threshold is None else f" The limit is {threshold:g}."
    return (
        f"Gradient norm per update {placed(probe)}, {some(len(consumed), 'update')}:"
        f" true {_range(true)}, consumed {_range(consumed)}.{limit}"
    )


def _range(values: Sequence[float | None]) -> str:
    seen = [v for v in values if v is not None and math.isfinite(v)]
    said = f"{min(seen):.3g} to {max(seen):.3g}" if seen else "not measured"
    broken = sum(v is not None and not math.isfinite(v) for v in values)
    return f"{said}, not finite in {some(broken, 'update')}" if broken else said


def _rounds_in_words(probe: ProbeTrace) -> str:
    return f"Rounds of synchronisation per update {placed(probe.probe)}: " + "; ".join(
        f"rank {rank.rank} {_range([u.rounds for u in rank.updates])}" for rank in probe.ranks
    )


def _estimate_in_words(name: str, found: Estimate) -> str:
    low, high = signed(found.low), signed(found.high)
    return f"{name}: {signed(found.effect)} points, interval {low} to {high}"
