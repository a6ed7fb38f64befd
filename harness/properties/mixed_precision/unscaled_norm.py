"""With a GradScaler, clipping sees the true gradient: unscaled once, before its norm is taken.

Bug::

    scaler.scale(loss).backward()                  # gradients are 65536 times too large
    clip_grad_norm_(model.parameters(), 1.0)       # always clipped, to 1.0
    scaler.step(optimizer)                         # divides by 65536: norm 1.5e-5, always
    scaler.update()

Signature: consumed norm times loss scale is the threshold in every window; or consumed over true
is one over the scale (unscaled twice). The short last window alone may be at threshold over scale.
Calling clip first and ``unscale_`` second gives the same number. Or of two optimizers that are
clipped one was unscaled. Or, under a clip, losses keep the factor of a scale that the scaler has
left.

Masked by: Adam, which hides the size; a scaler that is disabled because there is no GPU.
"""

from collections.abc import Sequence

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.consumption import Account, WindowReading, transported
from harness.properties.evidence.figures import close, count, number, show, spread
from harness.properties.evidence.short_windows import aligned
from harness.properties.evidence.thresholds import NAMED, Bounds
from harness.properties.mixed_precision.own_scale import own_way, shows
from harness.properties.mixed_precision.stale_scale import left_behind, times
from harness.properties.property import Property

ID = "unscaled-norm"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Under a loss scale, compare consumed norms with threshold over scale and with true norm over
    scale.
    """
    if (half := half_unscaled(trace)) is not None:
        return half
    account = transported(trace, expectations)
    scaled = [r for r in account.readings if r.update.loss_scale > 1.0] if account else []
    if account is None or not scaled:
        return without_scaler(trace, expectations)
    bounds = account.bounds(expectations)
    small = [r for r in scaled if r.state in ("shrunk", "clipped")]
    if bounds is not None:  # at the threshold itself, whatever that times the scale is
        small = [r for r in small if not bounds.accept(r.consumed)]
    twice = [
        r for r in small if close(r.ratio * r.update.loss_scale, 1.0, NAMED + r.window.tolerance)
    ]
    too_soon = clipped_while_scaled(small, bounds)
    if len(twice) > len(too_soon):
        return unscaled_twice(twice[0], len(twice))
    if too_soon:
        return clipped_first(too_soon[0], len(too_soon), len(scaled))
    return (
        short_window(trace, account, bounds)
        or stale_scale(scaled)
        or in_order(account, scaled, bounds)
    )


def half_unscaled(trace: Trace) -> Verdict | None:
    """A fail for a clip over the parameters of several optimizers, of which one was not unscaled."""
    for probe in trace.everything:
        times = probe.program.half_clipped
        if times:
            return failed(
                ID,
                f"In {probe.probe} gradients of one optimizer were unscaled before they were clipped, "
                f"and those of another one were clipped with the loss scale ({count(times, 'time')}): "
                "nearly nothing is left of them. Call scaler.unscale_() for each optimizer first.",
                number("steps of what was clipped while scaled", times, probe.probe),
            )
    return None


def without_scaler(trace: Trace, expectations: Expectations) -> Verdict:
    """A pass where a program without a GradScaler consumed the true gradient all the same."""
    way = own_way(trace, expectations)
    if way is None:
        return inconclusive(ID, "No full window was computed under a loss scale above 1.")
    if expectations.needs_scaler:
        return inconclusive(ID, f"No GradScaler unscales anything: {way}.")
    return passed(
        ID,
        f"In {count(len(way.right), 'window')} without a GradScaler the optimizer consumed the true "
        f"gradient: {way}.",
        number("windows", len(way.right)),
    )


def clipped_while_scaled(
    small: Sequence[WindowReading], bounds: Bounds | None
) -> list[WindowReading]:
    """Windows whose consumed norm is threshold over scale."""
    named = [r for r in small if bounds is not None and bounds.accept(product(r))]
    if named or len(small) < 2:
        return named
    alike = spread([product(r) for r in small]) <= 4 * max(r.slack for r in small)
    differ = spread([r.true for r in small]) > 8 * max(r.slack for r in small)
    far = all(r.ratio * r.update.loss_scale**0.5 < 1.0 for r in small)
    return list(small) if alike and differ and far else []


def product(reading: WindowReading) -> float:
    """Consumed norm times loss scale."""
    return reading.consumed * reading.update.loss_scale


def clipped_first(reading: WindowReading, found: int, of: int) -> Verdict:
    """The fail for clipping scaled gradients."""
    scale = reading.update.loss_scale
    return failed(
        ID,
        f"In {reading.where} the optimizer consumed norm {show(reading.consumed)} for a true norm "
        f"of {show(reading.true)}: that is {show(product(reading))} over the loss scale "
        f"{scale:.0f}, in {found} of {count(of, 'window')}. The gradients were clipped while "
        "still scaled; call scaler.unscale_(optimizer) before any clip.",
        number("norm of the consumed gradient", reading.consumed, reading.where),
        number("norm of the true gradient", reading.true, reading.where),
        number("loss scale", scale, reading.where),
        number("consumed norm times loss scale", product(reading), reading.where),
    )


def unscaled_twice(reading: WindowReading, found: int) -> Verdict:
    """The fail for dividing by the loss scale twice."""
    scale = reading.update.loss_scale
    return failed(
        ID,
        f"In {reading.where} the optimizer consumed {show(reading.ratio)} of the true gradient, "
        f"one over the loss scale {scale:.0f}, and so in {count(found, 'window')}: the scale was "
        "taken out twice. Leave it to scaler.unscale_ or scaler.step, once.",
        number("consumed over true", reading.ratio, reading.where),
        number("loss scale", scale, reading.where),
    )


def short_window(trace: Trace, account: Account, bounds: Bounds | None) -> Verdict | None:
    """A fail when only the short last window has norm threshold over scale: it was clipped while
    scaled.
    """
    for window, found in aligned(trace, account.objective):
        scale, left = window.update.loss_scale, found.consumed_norm
        if bounds is None or bounds.accept(left) or not bounds.accept(left * scale):
            continue
        return failed(
            ID,
            f"In {window.where}, the short last window, the optimizer consumed norm "
            f"{show(found.consumed_norm)} for a true norm of {show(found.expected_norm)}, under a loss "
            f"scale of {scale:.0f}; full windows are right. Unscale before its clip as well.",
            number("norm of the consumed gradient", found.consumed_norm, window.where),
            number("norm of the true gradient", found.expected_norm, window.where),
            number("loss scale", scale, window.where),
        )
    return None


def stale_scale(scaled: Sequence[WindowReading]) -> Verdict | None:
    """A fail when the loss goes on to be multiplied by a scale that the scaler has left."""
    if (found := left_behind(scaled)) is None:
        return None
    first, late = found
    new = late.update.loss_scale
    old = new * times(first, late)
    whose = f", the loss scale of {first.where}" if old == first.update.loss_scale else ""
    return failed(
        ID,
        f"In {late.where} the loss was multiplied by {old:.0f}{whose}, and its gradients were divided "
        f"by {new:.0f}: they came to the clip {show(old / new)} times as large as they are. Call "
        "scaler.scale(loss) in every window, which knows the scale.",
        number("loss scale", new, late.where),
        number("what the loss was multiplied by", old, late.where),
    )


def in_order(account: Account, scaled: Sequence[WindowReading], bounds: Bounds | None) -> Verdict:
    """A pass on windows in which a wrong order would show."""
    good = [r for r in scaled if shows(r, bounds)]
    if not good:
        first = scaled[0]
        return inconclusive(
            ID,
            "No window under a loss scale is right, but none carries the mark of the scale "
            f"either: {first.where} consumed {show(first.ratio)} times the true gradient.",
            number("consumed over true", first.ratio, first.where),
        )
    most = max(good, key=lambda r: r.true)
    return passed(
        ID,
        f"In {count(len(good), 'window')} under a loss scale of {most.update.loss_scale:.0f} the "
        f"optimizer consumed the unscaled gradient, {show(most.consumed)} for a true norm of "
        f"{show(most.true)} in {most.where} ({account.objective}).",
        number("norm of the consumed gradient", most.consumed, most.where),
        number("loss scale", most.update.loss_scale, most.where),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.scaled,
    explains=(
        "accumulation-equals-large-batch",
        "clip-before-step",
        "clip-once-per-update",
        "clip-inactive-when-small",
        "clip-global-norm",
        "clip-per-group",
        "every-parameter-learns",
        "training-unchanged",
        "still-learns",
    ),
    needs="a full window under a loss scale above 1",
)
