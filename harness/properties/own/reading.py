"""A program's own settings, read from its trace, in the words in which they are told."""

from collections import Counter
from collections.abc import Iterable, Sequence

from harness.domain.clip_call import MEASURES, clip_calls
from harness.domain.own import OwnClip, OwnSettings, objectives
from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace, Update
from harness.domain.wishes import Wishes
from harness.properties.evidence.figures import spread
from harness.properties.evidence.settings import (
    bounds_norm,
    bounds_values,
    never_moves_its_schedule,
    settings_of,
)
from harness.properties.evidence.takings_up import takes_up
from harness.properties.evidence.windows import (
    Window,
    full,
    losses_of_one_batch,
    of_probe,
    usual_size,
)
from harness.properties.own.hand_clips import says_that_it_clips
from harness.properties.schedule.mistaken_rates import loses_rates
from harness.properties.schedule.resume_goes_on import by_its_text

OWN_LOSS = 0.05
"""Misfit from which a loss is a program's own; rounding in half precision stays below it."""

EVEN = 0.01
"""Spread up to which micro-batches weigh the same."""


def own_settings(trace: Trace) -> OwnSettings:
    """What the program sets out to do. What differs between probes is taken as most of them show it."""
    probes = [probe for probe in trace.probes if any(of_probe(probe))]
    if not probes:
        return OwnSettings(micro_batches=0)
    own_loss = _own_loss(trace)
    seen = settings_of(trace, Expectations(objectives=objectives(own_loss=own_loss)))
    updates = [w.update for probe in probes for w in of_probe(probe)]
    calls = [call for update in updates for call in clip_calls(update)]
    casts = Counter(m.autocast for u in updates for m in u.window)
    return OwnSettings(
        micro_batches=_most_frequent(map(gathered_by, probes)),
        clip=_clip(updates, seen.threshold if says_that_it_clips(trace) else None, trace.wishes),
        clip_moves=_moves(updates),
        measures_norm=any(c.limit is None or c.limit >= MEASURES for c in calls),
        optimizer=" and ".join(sorted({u.optimizer for u in updates if u.optimizer})),
        ranks=seen.ranks,
        scaler=seen.scaled,
        autocast=max(casts, key=lambda cast: casts[cast], default=None),
        schedule=any(u.scheduler_steps or u.scheduled_early for u in updates)
        or any(never_moves_its_schedule(p) or loses_rates(p) for p in probes),
        resumes=takes_up(trace) is not None or by_its_text(trace) is not None,
        syncs_once=any("no_sync" in (probe.program.as_run or "") for probe in probes),
        own_loss=own_loss,
    )


def _most_frequent(sizes: Iterable[int]) -> int:
    counted = Counter(size for size in sizes if size)
    return max(counted, key=lambda size: (counted[size], size), default=0)


def gathered_by(probe: ProbeTrace) -> int:
    """How many micro-batches an update gathers; 1 where they are several whole losses of one batch, or
    those that an optimizer searches with.
    """
    if any("LBFGS" in window.update.optimizer for window in of_probe(probe)):
        return 1
    size = usual_size(probe)
    windows = [w for w in of_probe(probe) if size > 1 and w.update.window_size == size]
    return 1 if windows and all(map(losses_of_one_batch, windows)) else size


def _own_loss(trace: Trace) -> bool:
    """Whether some window has no other true gradient than the one that was computed, or some loss
    weighs the samples of a batch as no mean does.
    """
    windows = full(trace)
    known = [w for w in windows if any(m.objective != "as-computed" for m in w.update.matches)]
    own = [m for w in known for m in w.own]
    if any(map(_is_nearly_the_lent_one, known)):
        return True
    return not known or any(
        m.objective_error is None or max(m.objective_error, m.uneven) > OWN_LOSS for m in own
    )


def _is_nearly_the_lent_one(window: Window) -> bool:
    """Whether all that was computed arrived, each sample weighs the same, and the direction is another
    than the lent loss has, by little: as where labels are smoothed.
    """
    computed = window.update.match("as-computed")
    others = [m for m in window.update.matches if m.objective != "as-computed"]
    weights = [m.weight for m in window.own if m.weight is not None]
    if computed is None or computed.relative_error > window.tolerance or not weights:
        return False
    even = len(weights) == len(window.own) and spread(weights) <= EVEN
    same = even and all(m.uneven <= OWN_LOSS for m in window.own)
    return same and all(m.direction_error > window.tolerance for m in others)


def _clip(updates: Sequence[Update], threshold: float | None, wishes: Wishes) -> OwnClip | None:
    """How gradients are bounded. ``threshold``: the one norm of the whole gradient, however it is
    brought there.
    """
    norms = [c.limit for u in updates for c in clip_calls(u) if bounds_norm(c) and c.limit]
    norms += [u.late_threshold for u in updates if u.late_threshold is not None]
    values = [c.limit for u in updates for c in clip_calls(u) if bounds_values(c) and c.limit]
    if norms:
        kind = "norm by parts" if threshold is None and any(map(_in_parts, updates)) else "norm"
        whole = wishes.whole_norm
        return OwnClip(kind=kind, lowest=min(norms), highest=max(norms), asked_whole=whole)
    if values:
        return OwnClip(kind="value", lowest=min(values), highest=max(values))
    if threshold is None:
        return None
    return OwnClip(kind="norm by hand", lowest=threshold, highest=threshold)


def _moves(updates: Sequence[Update]) -> bool:
    """Whether the threshold follows the run: one a window, and not the same in all of them."""
    calls = [{c.limit for c in clip_calls(u) if bounds_norm(c) and c.limit} for u in updates]
    limits = set[float]().union(*calls)
    return bool(limits) and max(map(len, calls)) == 1 and max(limits) > 2.0 * min(limits)


def _in_parts(update: Update) -> bool:
    """Whether the calls of a window were given different parts of the model."""
    calls = [c for c in clip_calls(update) if bounds_norm(c) and c.gradients]
    whole = update.gradients or 0
    return bool(calls) and all(c.gradients < whole for c in calls)
