"""What a loop does with a batch that is not finite, where it asks: it may stop, skip the batch or
repair it. What it skips has to be cleared, and all ranks have to skip it or none.

The probe that shows it can only convict (``harness.domain.spoiled``).
"""

import math
from functools import partial
from itertools import takewhile

from harness.domain.trace import BackwardSeen, ProbeTrace, RankTrace, Trace, Update
from harness.domain.verdict import Verdict, failed
from harness.properties.accumulation.gradients_start_fresh import ID as FRESH
from harness.properties.accumulation.one_update_per_window import CLEARED
from harness.properties.accumulation.one_update_per_window import ID as WINDOWS
from harness.properties.evidence.figures import number
from harness.properties.evidence.windows import of_probe, usual_size
from harness.properties.ranks.ranks_agree import ID as RANKS
from harness.properties.ranks.ranks_agree import apart

ENDED = ("returned", "exited")
"""Outcomes of a program that raised nothing."""


def convicted(verdict: Verdict, trace: Trace) -> Verdict:
    """The verdict, or the fail that the spoiled probe shows instead."""
    shows = _SHOWS.get(verdict.property)
    for probe in (trace.spoiled, trace.spoiled_gradients):
        if probe is None or shows is None or verdict.outcome == "fail" or probe.contradiction:
            continue
        verdict = shows(probe, trace) or verdict
    return verdict


def kept(probe: ProbeTrace, trace: Trace) -> Verdict | None:
    """A fail when gradients of the bad batch stayed where they were, though its step was left out."""
    usual = max(map(usual_size, trace.probes), default=0)
    if not usual or probe.program.outcome not in ENDED:
        return None
    largest = max(w.update.window_size for p in trace.probes for w in of_probe(p))
    for rank in probe.ranks:
        if (waits := _still(rank, usual)) > 0:
            return _stands_still(probe, waits)
        late = (u for u in rank.updates if _is_spoiled(u) and u.window_size > largest)
        if (update := next(late, None)) is not None:
            return _consumed_later(probe, update, usual)
    return None


def _still(rank: RankTrace, usual: int) -> int:
    """How many backwards followed a bad one, if a whole window and more did, all with a finite loss, no
    gradient was finite after any and no update was made: what is in ``.grad`` is not theirs. It may be
    cleared later on, as at the end of a pass, unless the bad loss was finite itself.
    """
    if any(map(_is_spoiled, rank.updates)):
        return 0
    for place, bad in enumerate(rank.backwards):
        behind = rank.backwards[place + 1 :]
        stuck = sum(1 for _ in takewhile(partial(_stays_bad, bad), behind))
        to_the_end = stuck == len(behind) and bad.after_update == len(rank.updates)
        if stuck > usual and (to_the_end or not _is_finite(bad)):
            return stuck
    return 0


def _stays_bad(bad: BackwardSeen, later: BackwardSeen) -> bool:
    """Whether nothing cleared what the first left, until a later one of a finite loss at least."""
    nothing = not (bad.gradients_finite or later.gradients_finite)
    return nothing and _is_finite(later) and later.after_update == bad.after_update


def _is_finite(backward: BackwardSeen) -> bool:
    return backward.loss is not None and math.isfinite(backward.loss)


def _is_spoiled(update: Update) -> bool:
    return not (update.skipped or update.consumed_finite)


def _stands_still(probe: ProbeTrace, backwards: int) -> Verdict:
    return failed(
        FRESH,
        f"In {probe.probe} the step of what is not finite was left out and its gradients stayed: "
        f"{backwards} more calls of backward added finite gradients to them, and no update was made "
        "meanwhile. Clear the gradients of what is skipped (optimizer.zero_grad()).",
        number("calls of backward after it", backwards, probe.probe),
    )


def _consumed_later(probe: ProbeTrace, update: Update, usual: int) -> Verdict:
    where = f"{probe.probe}, update {update.index}"
    return failed(
        FRESH,
        f"In {where} the optimizer consumed a gradient that is not finite, of {update.window_size} "
        f"micro-batches, where {usual} make an update: a step was left out and its gradients stayed. "
        "Clear the gradients of what is skipped (optimizer.zero_grad()).",
        number("micro-batches in the update", update.window_size, where),
    )


def merged(probe: ProbeTrace, trace: Trace) -> Verdict | None:
    """A fail when two windows became one, because the batch at which one was to end was skipped."""
    usual = max(map(usual_size, trace.probes), default=0)
    largest = max((w.update.window_size for p in trace.probes for w in of_probe(p)), default=0)
    if usual < 2 or probe.program.outcome not in ENDED:
        return None
    for update in (u for rank in probe.ranks for u in rank.updates):
        joined = update.consumed_finite and update.window_size > max(largest, 2 * usual - 2)
        if joined and _arrived(update) > usual:
            return _two_windows(probe, update, usual)
    return None


def _arrived(update: Update) -> int:
    """How many micro-batches of a window were not cleared before the step."""
    parts = [abs(m.coefficient or 0.0) for m in update.window]
    return sum(part > CLEARED * max(parts) for part in parts)


def _two_windows(probe: ProbeTrace, update: Update, usual: int) -> Verdict:
    where = f"{probe.probe}, update {update.index}"
    return failed(
        WINDOWS,
        f"In {where} one update gathered {update.window_size} micro-batches, where {usual} make one: "
        "the batch that ends a window was skipped, and its step with it. Count what was gathered, "
        "or step where a window ends whatever its last batch was.",
        number("micro-batches in the update", update.window_size, where),
    )


def alone(probe: ProbeTrace, trace: Trace) -> Verdict | None:
    """A fail when the rank with the bad batch left out what the others did not."""
    del trace
    updates = [u for rank in probe.ranks for u in rank.updates]
    if len(probe.ranks) < max(2, probe.world_size) or not all(u.parameters_finite for u in updates):
        return None
    counts = [len(rank.updates) for rank in probe.ranks]
    if _left_alone(probe) or (probe.program.outcome in ENDED and len(set(counts)) > 1):
        return failed(
            RANKS,
            f"In {probe.probe}, where one batch of rank 0 is not finite, that rank decided alone and "
            f"the others waited for it: the ranks made {', '.join(map(str, counts))} updates. Reduce "
            "the question over all ranks (all_reduce), so that all of them skip the batch or none.",
            *(
                number(f"updates of rank {r.rank}", len(r.updates), probe.probe)
                for r in probe.ranks
            ),
        )
    return apart(probe) if updates and probe.program.outcome in ENDED else None


def _left_alone(probe: ProbeTrace) -> bool:
    """Whether rank 0 came to its end, and in torch the others lost whom they waited for. A rank that
    raises or exits stops the others on purpose.
    """
    ends = [rank.ended for rank in probe.ranks]
    return ends[0] == "returned" and {*ends[1:]} == {"raised"} and probe.program.during is not None


_SHOWS = {FRESH: kept, RANKS: alone, WINDOWS: merged}
