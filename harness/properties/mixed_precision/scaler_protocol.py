"""A GradScaler goes through scale, (unscale_), step, update once a window, and does the step.

Bug::

    scaler.scale(loss / 4).backward()
    scaler.update()                    # moves the scale inside the window: 65536, then 32768
    if (i + 1) % 4 == 0:
        optimizer.step()               # not scaler.step(optimizer): gradients still times the scale

Signature: the scaler raises; update without a step, or between the steps of two optimizers on
gradients of the same losses; more unscale_ than steps; micro-batches that were added after the window
was unscaled, or losses that were never scaled; consumed over true is about the loss scale.

Masked by: a scaler that is disabled because there is no GPU (everything passes in silence); Adam.
Lawful, unless the question is about the scaler's own calls: bfloat16, which needs none, and a loss scale
of the program's own that is taken out again and skips what overflows.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.coefficients import wiped
from harness.properties.evidence.consumption import WindowReading, transported
from harness.properties.evidence.figures import count, number, show
from harness.properties.evidence.windows import full
from harness.properties.mixed_precision.own_scale import all_finite, own_way, skipped_overflow
from harness.properties.mixed_precision.scaler_calls import (
    ID,
    between_optimizers,
    complained,
    out_of_order,
)
from harness.properties.property import Property


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """What the scaler raised, the order of its calls, and whether the loss scale was left in the
    values.
    """
    skips = skipped_overflow(trace, expectations, followed=False)
    for probe in trace.probes:
        wrong = (
            complained(probe)
            or out_of_order(probe, skips=skips)
            or between_optimizers(probe)
            or never_scaled(probe)
        )
        if wrong is not None:
            return wrong
    return unscaled_early(trace) or still_scaled(trace, expectations) or kept(trace, expectations)


def never_scaled(probe: ProbeTrace) -> Verdict | None:
    """A fail when the scaler's step divided a gradient by a scale that was never in it."""
    steps = probe.program.unscaled
    if not steps:
        return None
    return failed(
        ID,
        f"In {probe.probe} {count(steps, 'step')} of the scaler consumed the gradient of a loss that "
        "was not scaled: the scaler divides it by the loss scale all the same, so next to nothing is "
        "left of it. Call scaler.scale(loss).backward() for each loss.",
        number("steps with a loss that was not scaled", steps, probe.probe),
    )


def unscaled_early(trace: Trace) -> Verdict | None:
    """A fail when micro-batches are added under the scale to some that were unscaled: what is left of
    those looks as if it had been cleared.
    """
    for window in full(trace):
        calls = [
            c.method
            for c in window.rank_trace.scaler
            if c.enabled and c.after_update == window.update.index and c.method != "update"
        ]
        first = calls.index("unscale_") if "unscale_" in calls else len(calls)
        before, after = calls[:first].count("scale"), calls[first:].count("scale")
        if before and after and wiped(window):
            return failed(
                ID,
                f"In {window.where} unscale_() ran after {before} of {before + after} micro-batches, "
                f"and the others were added at the loss scale {window.update.loss_scale:.0f}: beside "
                "them nothing is left of the first. Call unscale_ once, after the window's last one.",
                number("micro-batches before unscale_", before, window.where),
                number("loss scale", window.update.loss_scale, window.where),
            )
    return None


def still_scaled(trace: Trace, expectations: Expectations) -> Verdict | None:
    """A fail when the optimizer consumed gradients that still carry the loss scale."""
    account = transported(trace, expectations)
    scaled = [r for r in account.readings if r.update.loss_scale > 1.0] if account else []
    large = next(
        (r for r in scaled if r.state == "grown" and r.ratio >= r.update.loss_scale**0.5), None
    )
    return consumed_scaled(large) if large is not None else None


def consumed_scaled(reading: WindowReading) -> Verdict:
    """The fail for stepping on gradients that still carry the loss scale."""
    return failed(
        ID,
        f"In {reading.where} the optimizer consumed norm {show(reading.consumed)} for a true norm "
        f"of {show(reading.true)} under a loss scale of {reading.update.loss_scale:.0f}: it "
        "stepped on scaled gradients. Use scaler.step(optimizer), not optimizer.step().",
        number("consumed over true", reading.ratio, reading.where),
        number("loss scale", reading.update.loss_scale, reading.where),
    )


def kept(trace: Trace, expectations: Expectations) -> Verdict:
    """A pass when an enabled scaler was used for whole windows."""
    calls = [c for p in trace.probes for r in p.ranks for c in r.scaler if c.enabled]
    steps = sum(c.method == "step" for c in calls)
    updates = sum(c.method == "update" for c in calls)
    scales = [w.update.loss_scale for w in full(trace) if w.update.loss_scale > 1.0]
    if not calls or not updates or not scales:
        return without_scaler(trace, expectations)
    return passed(
        ID,
        f"The GradScaler went through {count(steps, 'step')} and {count(updates, 'update')} in "
        f"order; {count(len(scales), 'full window')} under a loss scale of up to "
        f"{max(scales):.0f} reached the optimizer without it.",
        number("steps", steps),
        number("updates of the scale", updates),
        number("largest loss scale", max(scales)),
    )


def without_scaler(trace: Trace, expectations: Expectations) -> Verdict:
    """A pass where the program achieves in another way what a GradScaler is for."""
    way = own_way(trace, expectations)
    if way is None:
        return inconclusive(
            ID, "No enabled GradScaler went through a full window, so its order cannot be judged."
        )
    if expectations.needs_scaler:
        return inconclusive(
            ID, f"The question is about a GradScaler's calls, and there are none: {way}."
        )
    sound = all_finite if way.scale is None else skipped_overflow
    if not sound(trace, expectations):
        return inconclusive(
            ID, f"There is no GradScaler: {way}. That overflows do no harm was not seen."
        )
    return passed(
        ID,
        f"There is no GradScaler to call in order: {way}, {count(len(way.right), 'full window')} "
        "reached the optimizer without any scale, and no overflow did.",
        number("full windows", len(way.right)),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.scaled,
    explains=(
        "unscaled-norm",
        "inf-steps-skipped",
        "one-update-per-window",
        "gradients-start-fresh",
        "accumulation-not-wiped",
        "accumulation-equals-large-batch",
        "no-batch-lost",
        "clip-before-step",
        "clip-once-per-update",
        "clip-inactive-when-small",
        "clip-global-norm",
        "clip-per-group",
        "every-parameter-learns",
        "training-unchanged",
        "finite-loss",
        "params-stay-finite",
        "still-learns",
    ),
    needs="an enabled GradScaler and a full window under its scale",
    rests_on="facts",
)
