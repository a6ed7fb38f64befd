"""Every batch reaches the optimizer, in its own pass over the data.

Bug::

    for i, (x, y) in enumerate(train_loader):      # 14 batches, windows of 4
        (criterion(model(x), y) / 4).backward()
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()
    # batches 13 and 14 are wiped by the next epoch's zero_grad(), or leak into its first window

Signature: batches whose gradient no optimizer consumed; a window larger than usual that spans two
passes.

Masked by: a number of batches that the window divides; a single pass over the data.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace, Update
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.accumulation.one_update_per_window import CLEARED, carried_over
from harness.properties.evidence import preconditions
from harness.properties.evidence.figures import count, number
from harness.properties.evidence.windows import Window, of_probe, ordinary, usual_size
from harness.properties.property import Property

ID = "no-batch-lost"

STEP_FOR_THE_REST = (
    "Step for the rest as well, dividing by its own count, or say that it is dropped (drop_last)."
)


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Compare batches handed out with batches consumed, where the data are sound."""
    handed_out = 0
    for probe in ordinary(trace, expectations):
        wrong = lost(probe) or carried(probe)
        if wrong is not None:
            return wrong
        if any(rank.updates for rank in probe.ranks):
            handed_out += sum(rank.batches_yielded for rank in probe.ranks)
    if not handed_out:
        return inconclusive(ID, "No update was made from a batch of the training loader.")
    short = sum(w.update.short for p in trace.probes for w in of_probe(p))
    also = f", {count(short, 'short last window')} among them" if short else ""
    return passed(
        ID, f"All {handed_out} batches reached the optimizer{also}.", number("batches", handed_out)
    )


def lost(probe: ProbeTrace) -> Verdict | None:
    """A fail when the gradient of some batches never reached the optimizer."""
    for rank in probe.ranks:
        if not rank.batches_lost or not rank.updates:
            continue
        if all(of_unknown_batches(u) for u in rank.updates):
            return inconclusive(
                ID,
                f"In {probe.probe} gradients were not made by a backward through the model, so it is "
                "not known which batches they hold.",
            )
        tail = rank.lost_at_end == rank.batches_lost
        where = (
            "at the end of a pass, in a window that never filled up" if tail else "within the pass"
        )
        advice = (
            STEP_FOR_THE_REST
            if tail
            else (
                "Do not clear gradients, skip or overwrite losses between their backward and the "
                "step."
            )
        )
        return failed(
            ID,
            f"In {probe.probe} {rank.batches_lost} of {rank.batches_yielded} batches never "
            f"reached the optimizer, {where}. {advice}",
            number("batches lost", rank.batches_lost, probe.probe),
            number("of them at the end of a pass", rank.lost_at_end, probe.probe),
        )
    return None


def of_unknown_batches(update: Update) -> bool:
    """Whether the optimizer consumed a gradient, and no micro-batch is known that it came from."""
    return not update.skipped and not update.window_size and update.consumed_norm > 0.0


def carried(probe: ProbeTrace) -> Verdict | None:
    """A fail when the tail of one pass was stepped together with batches of the next, or cleared before
    these.
    """
    usual = usual_size(probe)
    window = next((w for w in of_probe(probe) if carried_over(w, usual)), None)
    if window is None or usual == 1:  # where each batch has its update, no pass leaves a rest
        return None
    extra = window.update.window_size - usual
    rest = f"In {window.where} {count(extra, 'micro-batch')} of the pass before"
    if _were_cleared(window, extra):
        said = f"{rest} had been cleared: they never reached the optimizer. {STEP_FOR_THE_REST}"
    else:
        said = (
            f"{rest} came on top of {count(usual, 'new one')}: the tail leaked into the next pass and "
            "is divided by the wrong count. Step for the rest at the end of the pass."
        )
    return failed(
        ID,
        said,
        number("micro-batches in the window", window.update.window_size, window.where),
        number("usual", usual, probe.probe),
    )


def _were_cleared(window: Window, extra: int) -> bool:
    """Whether the first micro-batches of a window have no part in what its optimizer consumed."""
    parts = [abs(m.coefficient) for m in window.own if m.coefficient is not None]
    most = max(parts, default=0.0)
    return len(parts) == window.update.window_size and all(
        part <= CLEARED * most for part in parts[:extra]
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.loses_batches,
    needs="updates made from batches of the training loader",
    rests_on="end",
)
