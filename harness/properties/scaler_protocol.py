"""A GradScaler goes through scale, (unscale_), step, update once a window, and does the step.

Bug::

    scaler.scale(loss / 4).backward()
    scaler.update()                    # moves the scale inside the window: 65536, then 32768
    if (i + 1) % 4 == 0:
        optimizer.step()               # not scaler.step(optimizer): gradients still times the scale

Signature: the scaler raises; update without a step; more unscale_ than steps; micro-batches of
one window under different scales; consumed over true is about the loss scale.

Masked by: a scaler that is disabled because there is no GPU (everything passes in silence); Adam.
Lawful, unless the question is about the scaler's own calls: bfloat16, which needs none, and a loss scale
of the program's own that is taken out again and skips what overflows.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, RankTrace, ScalerSeen, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence.consumption import Reading, transported
from harness.properties.evidence.figures import count, number, show, show_all
from harness.properties.evidence.own_scale import all_finite, own_way, skipped_overflow
from harness.properties.evidence.windows import full
from harness.properties.judging.property import Property

ID = "scaler-protocol"

ALREADY = "unscale_() has already been called"
"""torch's message for a second ``unscale_`` in one window."""

COMPLAINTS = (
    ALREADY,
    "unscale_() is being called after step()",
    "step() has already been called since the last update()",
    "No inf checks were recorded",
    "_scale is None",
    "Attempting to unscale FP16 gradients",
)
"""torch's messages for calls on a GradScaler in the wrong order."""

NO_ORDER = "must be a Tensor"
"""torch's message for a loss that is no tensor; it says nothing about the order of calls."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """What the scaler raised, the order of its calls, and whether the loss scale was left in the
    values.
    """
    skips = skipped_overflow(trace, expectations)
    for probe in trace.probes:
        wrong = complained(probe) or out_of_order(probe, skips=skips)
        if wrong is not None:
            return wrong
    return mixed_scales(trace) or still_scaled(trace, expectations) or kept(trace, expectations)


def complained(probe: ProbeTrace) -> Verdict | None:
    """A fail when the scaler itself raised."""
    calls = [
        c for r in probe.ranks for c in r.scaler if c.enabled and not refused_in_vain(c, probe)
    ]
    said = [c.raised for c in calls if c.raised is not None]
    program = probe.program
    text = program.message or ""
    if program.outcome == "raised" and (
        any(c in text for c in COMPLAINTS) or "GradScaler" in (program.during or "")
    ):
        said.append(text)
    said = [text for text in said if NO_ORDER not in text]
    if not said:
        return None
    return failed(
        ID,
        f"In {probe.probe} the GradScaler refused: {said[0].strip().rstrip('.')}. Once a window: "
        "unscale_ (if you clip), step, update, in this order.",
        number("complaints", len(said), probe.probe),
    )


def refused_in_vain(call: ScalerSeen, probe: ProbeTrace) -> bool:
    """Whether a second ``unscale_`` raised without effect, and the program went on and ended
    normally.
    """
    done = call.method == "unscale_" and ALREADY in (call.raised or "")
    return done and probe.program.outcome in ("returned", "exited")


def out_of_order(probe: ProbeTrace, *, skips: bool) -> Verdict | None:
    """A fail on the first call that breaks the order.

    ``skips``: the program skips what overflows, so it may step without the scaler, if it always does.
    """
    ended = probe.program.outcome in ("returned", "exited")
    for rank in probe.ranks:
        steps = unscales = made = 0
        calls = [c for c in rank.scaler if c.enabled and not refused_in_vain(c, probe)]
        methods = {c.method for c in calls}
        for call in calls:
            steps += call.method == "step"
            unscales += call.method == "unscale_"
            if call.method != "update":
                continue
            by_hand = skips and call.after_update > made and "step" not in methods
            made = call.after_update
            if not steps and not by_hand and not overflowed(rank, call):
                return broken(
                    probe,
                    call,
                    "update() was called without a step before it: the scale may change inside a "
                    "window",
                )
            if steps and unscales > steps:
                return broken(
                    probe,
                    call,
                    f"unscale_() was called {unscales} times for {count(steps, 'step')}",
                )
            steps = unscales = 0
        if ended and "step" in methods and "update" not in methods:
            return broken(probe, calls[-1], "step() was called and update() never")
    return None


def overflowed(rank: RankTrace, call: ScalerSeen) -> bool:
    """Whether gradients were not finite, so that skipping the step was right."""
    return any(
        not b.gradients_finite for b in rank.backwards if b.after_update == call.after_update
    )


def broken(probe: ProbeTrace, call: ScalerSeen, what: str) -> Verdict:
    """The fail for calls in the wrong order."""
    return failed(
        ID,
        f"In {probe.probe}, after {count(call.after_update, 'update')}, {what}. Call unscale_, "
        "step and update once a window, in this order.",
        number("loss scale", call.scale_before, probe.probe),
        number("updates before it", call.after_update, probe.probe),
    )


def mixed_scales(trace: Trace) -> Verdict | None:
    """A fail when one window adds gradients under different loss scales."""
    for window in full(trace):
        scales = [m.loss_scale for m in window.own]
        if len(set(scales)) > 1:
            return failed(
                ID,
                f"In {window.where} micro-batches were added under different loss scales "
                f"({show_all(scales)}): their sum has no scale that could be taken out. Call "
                "scaler.update() once a window, after the step.",
                *(number("loss scale", s, window.where) for s in scales[:4]),
            )
    return None


def still_scaled(trace: Trace, expectations: Expectations) -> Verdict | None:
    """A fail when the optimizer consumed gradients that still carry the loss scale."""
    account = transported(trace, expectations)
    scaled = [r for r in account.readings if r.update.loss_scale > 1.0] if account else []
    large = next(
        (r for r in scaled if r.state == "grown" and r.ratio >= r.update.loss_scale**0.5), None
    )
    if large is not None:
        return consumed_scaled(large)
    past_it = [r for r in scaled if not r.right and not stepped_through(r)]
    return consumed_scaled(past_it[0]) if past_it else None


def stepped_through(reading: Reading) -> bool:
    """Whether any step of this rank went through an enabled scaler."""
    return any(c.enabled and c.method == "step" for c in reading.window.rank_trace.scaler)


def consumed_scaled(reading: Reading) -> Verdict:
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
    story=str(__doc__),
    judge=judge,
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
