"""The accumulated gradient is clipped once an update, not each micro-batch and not twice.

Bug::

    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / 4).backward()
        clip_grad_norm_(model.parameters(), 1.0)   # four times a window
        if (i + 1) % 4 == 0:
            optimizer.step()                       # norm exactly 1, but mostly the last micro-batch

Signature: in loud windows the micro-batches have unequal coefficients that are equal in quiet
ones (the norm may be exactly the threshold); or the consumed norm is threshold squared over true
norm.

Masked by: a look at the norm alone; norms below the threshold; windows of one micro-batch.
"""

from harness.domain.clip_call import ClipCall, clip_calls, norm_met
from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.coefficients import by_rank, even, shares
from harness.properties.evidence.consumption import WindowReading
from harness.properties.evidence.figures import close, count, number, show, show_all, spread
from harness.properties.evidence.regimes import Regimes, regimes
from harness.properties.evidence.thresholds import NAMED
from harness.properties.evidence.windows import Window
from harness.properties.property import A_THRESHOLD, Property

ID = "clip-once-per-update"

ABOUT = 0.01
"""How far the shares of one rank's micro-batches may differ and still count as one factor."""

TWICE = "the factor threshold over norm was applied twice, or with the square of the norm"
"""What leaves threshold squared over norm."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """In loud windows: how evenly the micro-batches arrived, then what norm was left."""
    seen = regimes(trace, expectations)
    if isinstance(seen, str):
        return inconclusive(ID, seen)
    if not seen.loud:
        return inconclusive(
            ID, f"No window's true norm was far above the threshold ({seen.bounds})."
        )
    uneven = next(
        (
            r
            for r in seen.loud
            if r.state == "turned"
            and shares(r.window)
            and not even(r.window)
            and not rank_by_rank(r.window)
        ),
        None,
    )
    if uneven is not None:
        return each_micro_batch(uneven, seen)
    twice = next((r for r in seen.loud if clipped_twice(r, seen)), None)
    if twice is not None:
        return shrunk_again(twice)
    good = [r for r in seen.loud if r.state == "clipped"]
    if not good:
        return inconclusive(
            ID, "No loud window was clipped as a whole, so nothing shows how often one is clipped."
        )
    sizes = max(r.update.window_size for r in good)
    return passed(
        ID,
        f"In {count(len(good), 'loud window')} of up to {count(sizes, 'micro-batch')} one common "
        f"factor brought the whole window to norm {show(good[0].consumed)}.",
        number("windows", len(good)),
        number("norm of the consumed gradient", good[0].consumed, good[0].where),
    )


def rank_by_rank(window: Window) -> bool:
    """Whether each rank's micro-batches arrived with about one factor, and that factor differs
    between ranks. About: where one rank spikes, the coefficients of the others are not exact.
    """
    found, parts = shares(window), list(by_rank(window).values())
    return max(found) - min(found) < ABOUT and len(parts) > 1 and spread(parts) > 1.0


def each_micro_batch(reading: WindowReading, seen: Regimes) -> Verdict:
    """A fail if micro-batches arrive evenly in quiet windows, so that clipping made this window
    uneven.
    """
    found = shares(reading.window)
    figures = (
        number("smallest share", min(found), reading.where),
        number("cosine", reading.match.cosine, reading.where),
        number("norm of the consumed gradient", reading.consumed, reading.where),
    )
    quiet = [r for r in seen.quiet if not any(map(fired, clip_calls(r.update)))]
    quiet_too = [r for r in quiet if r.state == "turned" and not even(r.window)]
    if quiet_too or reading.consumed > reading.true * (1.0 + reading.window.tolerance):
        return inconclusive(
            ID,
            f"In {reading.where} micro-batches arrived unevenly, but not because of clipping.",
            *figures,
        )
    return failed(
        ID,
        f"In {reading.where} the micro-batches arrived with the shares {show_all(found)} (cosine "
        f"{reading.match.cosine:.2f} with the true gradient, norm {show(reading.consumed)}): each "
        "was clipped, so the later ones dominate. Clip once, after the window's last backward.",
        *figures,
    )


def fired(call: ClipCall) -> bool:
    """Whether a call met a norm above its threshold, as it may before a window is whole."""
    return call.limit is not None and (call.returned or 0.0) > call.limit


def clipped_twice(reading: WindowReading, seen: Regimes) -> bool:
    """Whether the factor threshold over norm was applied twice."""
    low, high = seen.accepted.low * (1.0 - NAMED), seen.accepted.high * (1.0 + NAMED)
    if reading.state != "shrunk" or not low**2 <= reading.consumed * reading.true <= high**2:
        return False
    if norm_met(reading.update, reading.consumed) is not None:
        return False  # its one call left its own threshold
    alike = [r for r in seen.loud if r.state == "shrunk"]
    product = reading.consumed * reading.true
    return all(close(r.consumed * r.true, product, 2 * NAMED) for r in alike)


def shrunk_again(reading: WindowReading) -> Verdict:
    """The fail for clipping twice."""
    return failed(
        ID,
        f"In {reading.where} a true norm of {show(reading.true)} became {show(reading.consumed)}: "
        f"{TWICE}. clip_grad_norm_ already scales the gradients; what it returns is the norm before "
        "clipping, for your log.",
        number("norm of the true gradient", reading.true, reading.where),
        number("norm of the consumed gradient", reading.consumed, reading.where),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    expects=(A_THRESHOLD,),
    applies=preconditions.clips,
    explains=(
        "clip-global-norm",
        "training-unchanged",
        "still-learns",
    ),
    needs="a window whose true norm is far above the threshold",
)
