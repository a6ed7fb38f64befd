"""Where ranks part, and how: the first update that they do not make alike tells what they did not
share. That they were synchronised a number of times says little about it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.domain.trace import ProbeTrace
from harness.domain.verdict import Number
from harness.properties.evidence.figures import count, number, show, show_all, spread
from harness.properties.evidence.windows import Window, of_rank, usual_size

A_ROUND = 0.9
"""Rounds from which on every parameter was reduced, and not only a loss or a count."""


@dataclass(frozen=True, slots=True)
class RanksPart:
    """What was seen where the ranks part."""

    sentence: str
    """What differs there, with numbers, and what to change."""
    numbers: tuple[Number, ...]
    """The figures behind it, with their place."""


def parting(probe: ProbeTrace) -> RanksPart | None:
    """How the ranks part in the first update that they do not make alike; ``None`` where no update
    shows it.
    """
    several = (
        [Window(probe, r.rank, u) for r, u in zip(probe.ranks, updates, strict=True)]
        for updates in zip(*(r.updates for r in probe.ranks), strict=False)
        if not any(u.skipped for u in updates)
    )
    found = (
        missing(windows) or of_no_micro_batch(windows) or scaled(windows) or rates(windows)
        for windows in several
        if len(windows) > 1
    )
    return next(filter(None, found), None)


def missing(windows: Sequence[Window]) -> RanksPart | None:
    """A rank consumed nothing of micro-batches that another one consumed."""
    for window in windows:
        known = [(m, m.coefficient) for m in window.update.window if m.coefficient is not None]
        if not window.separable or len(known) < len(window.update.window):
            continue
        top = max((abs(c) for _, c in known), default=0.0)
        others = [c for m, c in known if m.rank != window.rank]
        gone = [c for c in others if abs(c) <= window.negligible * top]
        own = [c for m, c in known if m.rank == window.rank and abs(c) > window.negligible * top]
        if gone and own:
            return without(window, len(gone), len(others))
    return None


def without(window: Window, gone: int, others: int) -> RanksPart:
    """What to say of micro-batches that are missing, by whether a reduction ran all the same."""
    if gone == others and window.update.rounds >= A_ROUND:
        why = (
            "a reduction of every parameter ran, and its result was not in .grad when the optimizer "
            "stepped. Wait for it, and write it back into .grad."
        )
    else:
        why = too_soon(window) or (
            "they were not synchronised. Let the last micro-batch of every window, the short one "
            "included, run forward and backward with synchronisation on, through the DDP model."
        )
    return RanksPart(
        f"In {window.where} the optimizer consumed a gradient without {gone} of the "
        f"{count(others, 'micro-batch')} of other ranks: {why}",
        (number("micro-batches of other ranks that are missing", gone, window.where),),
    )


def too_soon(window: Window) -> str | None:
    """What to say where the first step came before the first synchronisation, in a window that is
    smaller than others, or where every micro-batch has its step; ``None`` elsewhere.
    """
    row, usual = of_rank(window.probe, window.rank_trace), usual_size(window.probe)
    reduced = [w.update.rounds >= A_ROUND for w in row]
    first = window.update.index == row[0].update.index and not window.update.short
    smaller = usual == 1 or window.update.window_size < usual
    if not (first and smaller and any(reduced)) or reduced[0]:
        return None
    size, synchronised = window.update.window_size, row[reduced.index(True)].update.index
    return (
        f"the step came before they were synchronised, after {count(size, 'micro-batch')}, and every "
        f"parameter was reduced for the first time on the way to update {synchronised}. Step once a "
        "window, after the micro-batch whose backward synchronises."
    )


def of_no_micro_batch(windows: Sequence[Window]) -> RanksPart | None:
    """Gradients hold something that no micro-batch of any rank gave."""
    rests = [w.update.unexplained for w in windows]
    if any(rest is None for rest in rests) or all(w.separable for w in windows):
        return None
    alike = spread([w.update.consumed_norm for w in windows]) <= windows[0].tolerance
    if alike and spread([rest or 0.0 for rest in rests]) <= windows[0].tolerance:
        return None
    where = windows[0].where.partition(", rank")[0]
    return RanksPart(
        f"In {where} the ranks consumed gradients with a part that no micro-batch of any rank gave "
        f"(of the norm, rank by rank: {show_all([rest or 0.0 for rest in rests])}), and not the same "
        "one: noise that each rank draws for itself, or a synchronisation in which only some ranks or "
        "parameters took part. Draw noise from one seed on all ranks; synchronise all or nothing.",
        tuple(
            number("part of no micro-batch", w.update.unexplained or 0.0, w.where) for w in windows
        ),
    )


def scaled(windows: Sequence[Window]) -> RanksPart | None:
    """The same micro-batches arrived on every rank, at another size on each."""
    norms = [w.update.consumed_norm for w in windows]
    if not all(w.separable for w in windows) or spread(norms) <= max(w.tolerance for w in windows):
        return None
    where = windows[0].where.partition(", rank")[0]
    return RanksPart(
        f"In {where} every rank consumed the micro-batches of all of them, but at the norms "
        f"{show_all(norms)}, rank by rank: each scaled its gradient by itself after the "
        "synchronisation. Clip, or scale, by the same rule and threshold on every rank.",
        tuple(
            number("norm of the consumed gradient", w.update.consumed_norm, w.where)
            for w in windows
        ),
    )


def rates(windows: Sequence[Window]) -> RanksPart | None:
    """The ranks step with different learning rates."""
    found = [w.update.learning_rates for w in windows]
    if len(set(found)) == 1 or not all(found):
        return None
    where = windows[0].where.partition(", rank")[0]
    told = ", ".join(show(max(each)) for each in found)
    return RanksPart(
        f"In {where} the ranks stepped at different learning rates: {told}, rank by rank. Set the "
        "rate from what is the same on every rank.",
        tuple(number("learning rate", max(w.update.learning_rates), w.where) for w in windows),
    )
