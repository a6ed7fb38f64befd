"""Training that ran, or was written down, and that no optimizer ever followed."""

from harness.domain.branch import Unentered
from harness.domain.trace import ProbeTrace, RankTrace, Trace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import count, number
from harness.properties.evidence.losses import none_is_finite

ID = "every-parameter-learns"

A_PASS = 8
"""Batches with a backward from which on they are training; fewer are a trial of a few batches."""

GOES_BACK = frozenset({"backward", "manual_backward"})
"""Calls that a function of a turn of training cannot do without."""


def never_stepped(probe: ProbeTrace) -> Verdict | None:
    """A fail when gradients were computed for a pass over the data, or would have been by a function
    that every turn defines and none calls, and no update followed.
    """
    seen = _ended(probe)
    for rank in probe.ranks if seen else ():
        if rank.updates or rank.implicit_updates or none_is_finite([rank]):
            continue  # what has no finite loss is rightly left out
        if is_training(rank):
            return _without_a_step(probe, rank)
        waiting = never_handed_on(probe)
        if waiting is not None and rank.batches_yielded > 1 and not rank.backwards:
            return _never_called(probe, waiting, "nothing was ever updated")
    return None


def other_part_idle(trace: Trace) -> Verdict | None:
    """A fail when one of two networks was trained, and what would train the other is a function that
    every turn defines and none calls.
    """
    for probe in trace.probes:
        trained = {u.trains for rank in probe.ranks for u in rank.updates}
        waiting = never_handed_on(probe)
        if waiting is not None and _ended(probe) and 0 < len(trained) < len(probe.parts):
            return _never_called(probe, waiting, "one of the networks was never updated")
    return None


def is_training(rank: RankTrace) -> bool:
    """Whether gradients were computed for as many batches as nobody only tries."""
    return min(through(rank), rank.batches_yielded) >= A_PASS


def through(rank: RankTrace) -> int:
    """Through how many forwards gradients flowed that were meant for an optimizer: what
    ``torch.autograd.grad`` returns may be meant for anything, until it is put into ``.grad``.
    """
    meant = sum(not b.returned or b.put_by_hand for b in rank.backwards)
    all_meant = not any(b.returned for b in rank.backwards)
    by_hand = any(b.put_by_hand for b in rank.backwards)
    return max(meant, rank.unused_forwards if by_hand or (all_meant and meant) else 0)


def never_handed_on(probe: ProbeTrace) -> Unentered | None:
    """A function that runs backward, is defined in every turn of a loop, and that nothing refers to."""
    unentered = probe.program.unentered or ()
    return next((b for b in unentered if b.uncalled and GOES_BACK & {*b.touches}), None)


def _ended(probe: ProbeTrace) -> bool:
    return probe.program.outcome in ("returned", "exited") and probe.learning is not None


def _without_a_step(probe: ProbeTrace, rank: RankTrace) -> Verdict:
    by_hand = any(b.put_by_hand for b in rank.backwards)
    backwards = sum(by_hand or not b.returned for b in rank.backwards)
    return failed(
        ID,
        f"In {probe.probe} backward ran {count(backwards, 'time')} over "
        f"{count(rank.batches_yielded, 'batch')} and nothing was ever updated: the step is missing, "
        "or what it waits for never came. Call optimizer.step() once a window.",
        number("backward calls", backwards, probe.probe),
        number("updates", 0, probe.probe),
    )


def _never_called(probe: ProbeTrace, waiting: Unentered, what: str) -> Verdict:
    return failed(
        ID,
        f"In {probe.probe} {what}: the function in lines {waiting.first}-{waiting.last} runs backward, "
        "and nothing calls it. Hand it to the optimizer: optimizer.step(closure).",
        number("first line of the function", waiting.first, probe.probe),
    )
