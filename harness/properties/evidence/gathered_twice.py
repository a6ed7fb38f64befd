"""Micro-batches that hold the samples of another one in the same window."""

from harness.properties.evidence.windows import Window, of_rank


def more_than_once(window: Window) -> int:
    """How many micro-batches of a window hold the samples of an earlier one, of those that the loader
    handed out.
    """
    own = [m for m in window.own if m.samples and m.after_batch is not None]
    alone = len({m.after_batch for m in own}) == 1 and len({m.samples for m in own}) == 1
    if window.update.timed or (alone and not _picked(window)):
        return 0
    return len(own) - len({m.samples for m in own})


def _picked(window: Window) -> bool:
    """Whether batches were collected first, and each window takes one of them several times, while
    others of the pass are never used: several losses of every batch leave none out.
    """
    rank = window.rank_trace
    own = {m.after_batch for m in window.own}
    taken = [m for w in of_rank(window.probe, rank) for m in w.own if m.after_batch in own]
    return len({m.samples for m in taken}) > 1 and rank.batches_lost > rank.lost_at_end
