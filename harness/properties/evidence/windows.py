"""Windows: the updates of a trace one by one, with their place and their tolerance."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby, pairwise
from operator import itemgetter

from harness.domain.clip_call import clip_calls
from harness.domain.scenario import Expectations
from harness.domain.trace import BackwardSeen, MicroBatch, ProbeTrace, RankTrace, Trace, Update
from harness.properties.evidence.figures import show_all

SAFETY = 2.0
"""The oracle's tolerance is what rounding can cause; a fault has to exceed it this many times."""


RUN_AWAY = 1e18
"""Norm of a gradient whose square, summed up, is infinite in single precision."""

UNDIVIDED = 0.01
"""How far a loss that goes backward as it is may be from what the loss function returned."""


@dataclass(frozen=True, slots=True)
class Window:
    """One update of one rank in one probe."""

    probe: ProbeTrace
    """The probe."""
    rank: int
    """Number of the rank."""
    update: Update
    """The update, with its window's micro-batches."""

    @property
    def where(self) -> str:
        """``loud, update 2``, with the rank where there are several, and the part that is trained."""
        place = f"{self.probe.probe}, update {self.update.index}"
        place = f"{place}, rank {self.rank}" if self.probe.world_size > 1 else place
        return f"{place} ({self.update.trains})" if self.update.trains else place

    @property
    def rank_trace(self) -> RankTrace:
        """All that this rank did in this probe."""
        return next(r for r in self.probe.ranks if r.rank == self.rank)

    @property
    def tolerance(self) -> float:
        """Relative error up to which two gradients count as equal here."""
        return SAFETY * self.update.tolerance

    @property
    def negligible(self) -> float:
        """Share up to which a micro-batch counts as absent; at most a tenth."""
        return min(0.1, self.update.coefficient_error)

    @property
    def own(self) -> tuple[MicroBatch, ...]:
        """This rank's micro-batches of this window, in the order of their forwards."""
        mine = [m for m in self.update.window if m.rank == self.rank]
        return tuple(sorted(mine, key=lambda m: m.forward))

    @property
    def separable(self) -> bool:
        """Whether the consumed gradient is a sum of micro-batches; coefficients mean nothing
        otherwise.
        """
        rest = self.update.unexplained
        return rest is not None and rest <= max(self.tolerance, self.negligible)


def of_rank(probe: ProbeTrace, rank: RankTrace) -> tuple[Window, ...]:
    """Every update of one rank that was not skipped."""
    return tuple(Window(probe, rank.rank, u) for u in rank.updates if not u.skipped)


def of_probe(probe: ProbeTrace) -> tuple[Window, ...]:
    """Every update of one probe that was not skipped, rank by rank."""
    return tuple(w for rank in probe.ranks for w in of_rank(probe, rank))


def sizes_in_order(window: Window) -> str:
    """The sizes of this rank's windows in this probe."""
    row = of_rank(window.probe, window.rank_trace)
    return show_all([w.update.window_size for w in row])


def usual_size(probe: ProbeTrace) -> int:
    """The most frequent size of windows that the end of the data did not cut; 0 if there are none."""
    whole = (w.update.window_size for w in of_probe(probe) if not w.update.short)
    return _most_frequent([size for size in whole if size])  # a step without a micro-batch is none


def _most_frequent(sizes: Sequence[int]) -> int:
    often = Counter(sizes)
    return max(often, key=lambda size: (often[size], size), default=0)


def full_of(probe: ProbeTrace) -> tuple[Window, ...]:
    """Windows of one probe that are judged: not skipped, of the usual size of the optimizers that made
    them, with finite gradients.
    """
    sizes = _usual_sizes(probe)
    return tuple(
        w
        for w in of_probe(probe)
        if not w.update.short
        and w.update.window_size == sizes[w.update.optimizers]
        and w.update.consumed_finite
        and not _has_run_away(w.update)
        and not _overflowed_beside(w.update)
    )


def _has_run_away(update: Update) -> bool:
    """Whether the square of its gradient is beyond single precision: any clip makes zeros of that."""
    return any(RUN_AWAY < m.expected_norm < math.inf for m in update.matches)


def _overflowed_beside(update: Update) -> bool:
    """Whether a scaled part that no step consumed was infinite: a clip of the whole made zeros of the
    rest, and the optimizer of that part was skipped.
    """
    return update.loss_scale > 1.0 and any(c.returned == math.inf for c in clip_calls(update))


def _usual_sizes(probe: ProbeTrace) -> dict[tuple[int, ...], int]:
    """By optimizers: two networks that are trained against each other may have windows of two sizes."""
    found: dict[tuple[int, ...], list[int]] = {}
    for w in of_probe(probe):
        sizes = found.setdefault(w.update.optimizers, [])
        sizes += [w.update.window_size] if not w.update.short and w.update.window_size else []
    usual = usual_size(probe)
    return {
        made_by: _most_frequent(sizes) if len(sizes) > 1 else usual
        for made_by, sizes in found.items()
    }


def full(trace: Trace) -> tuple[Window, ...]:
    """The windows that are judged, of all probes."""
    return tuple(w for probe in trace.probes for w in full_of(probe))


def ordinary(trace: Trace, expectations: Expectations) -> tuple[ProbeTrace, ...]:
    """Probes whose data are sound: nothing was put in to break the loop."""
    broken = {
        expectations.poisoned_probe,
        expectations.adverse_probe,
        expectations.overflow_probe,
    }
    return tuple(p for p in trace.probes if p.probe not in broken)


def crosses_passes(window: Window) -> bool:
    """Whether the data started anew within the window, so that it joins the tail of one pass to the
    next. Of data that the program brought itself only the passes over its loaders are known.
    """
    firsts = [min(m.samples) for m in window.own if m.samples]
    if firsts:
        return any(later < earlier for earlier, later in pairwise(firsts))
    return len({m.after_batch[0] for m in window.own if m.after_batch is not None}) > 1


def losses_of_one_batch(window: Window) -> bool:
    """Whether several whole losses of one batch were gathered, as those of a discriminator on real rows
    and on made-up ones: their sum is what it trains on.
    """
    if len(window.own) > 1 and len({(m.rank, m.forward) for m in window.own}) == 1:
        return True  # one pass, several losses
    places = {m.after_batch for m in window.own}
    rows = {frozenset(m.samples or ()) for m in window.own}
    the_same = None not in places or (len(rows) == 1 and any(rows))  # all data, and no loader
    if fetches_ahead(window.probe) or len(places) != 1 or not the_same:
        return False
    own = backwards_of(window)
    own = own[-1:] if "LBFGS" in window.update.optimizer else own  # the others were evaluations
    if window.update.trains or (len(own) == 1 and len({r for r in rows if r}) < 2):
        return True  # one loss of one batch, be it of several networks
    if any(rows):
        # rows of two kinds, each with a network: of one kind it would be one line, time and again
        return len(rows) == 1 and len({b.line for b in own}) > 1
    return all(b.factor is None or abs(b.factor - 1.0) <= UNDIVIDED for b in own)


def backwards_of(window: Window) -> list[BackwardSeen]:
    """Calls of backward between the update before and this one."""
    return [b for b in window.rank_trace.backwards if b.after_update == window.update.index]


def fetches_ahead(probe: ProbeTrace) -> bool:
    """Whether every update comes several batches after the one before, so that a window's batches were
    fetched together before the first of them was used. A loader that looks one batch ahead has fetched
    all of them before the last update of a pass.
    """
    for rank in probe.ranks:
        last = [
            max((m.after_batch for m in w.own if m.after_batch), default=None)
            for w in of_rank(probe, rank)
        ]
        steps = [(a[0], b[1] - a[1]) for a, b in pairwise(last) if a and b and a[0] == b[0]]
        passes = [[s for _, s in same] for _, same in groupby(steps, itemgetter(0))]
        inner = [s for each in passes for s in (each[:-1] or each)]
        if not inner or min(inner) < 2:
            return False
    return bool(probe.ranks)


def over_and_over(probe: ProbeTrace) -> bool:
    """Whether every window holds a single batch, several times, and not all windows the same one."""
    found = [{m.samples for m in w.own} for w in of_probe(probe)]
    alone = all(len(each) == 1 and None not in each for each in found) and not probe.parts
    return alone and usual_size(probe) > 1 and len(set().union(*found)) > 1
