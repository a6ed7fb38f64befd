"""Every micro-batch of a window reaches the optimizer: none is cleared on the way.

Bug::

    for i, (x, y) in enumerate(train_loader):
        optimizer.zero_grad()                          # wipes the accumulation each time
        (criterion(model(x), y) / 4).backward()
        if (i + 1) % 4 == 0:
            clip_grad_norm_(model.parameters(), 1.0)   # the norm looks right: exactly 1
            optimizer.step()                           # one micro-batch of four

Signature: inside a full window the coefficient of a micro-batch is about 0 beside the others, or the
optimizer has no gradient at all.

Masked by: active clipping, after which the norm is exactly the threshold.
"""

from harness.domain.clip_call import clip_calls
from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.coefficients import shares, wiped
from harness.properties.evidence.consumption import transported
from harness.properties.evidence.figures import count, number, show_all
from harness.properties.evidence.thresholds import bounds_of
from harness.properties.evidence.windows import Window, full
from harness.properties.property import Property

ID = "accumulation-not-wiped"

CLEARED = (
    "Clear the gradients once a window, after the step, not between the micro-batches and not between "
    "backward and step."
)
"""What to do where nothing else accounts for what is gone."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Look at each window's coefficients; where clipping acts, a small one does not mean wiped."""
    searches = {w.where for w in full(trace) if "LBFGS" in w.update.optimizer}
    windows = [w for w in full(trace) if w.update.window_size > 1 and w.where not in searches]
    if not windows:
        return inconclusive(
            ID, "No update gathered more than one micro-batch, so there was nothing to wipe."
        )
    empty = next((w for w in windows if emptied(w)), None)
    if empty is not None:
        return lost(empty, empty.update.window_size)
    account = transported(trace, expectations)
    right = {r.where for r in account.readings if r.right} if account else set()
    wrong = [w for w in windows if w.where not in right]
    for window in calm(wrong, expectations):
        gone = wiped(window)
        cleared = account is not None and any(
            r.where == window.where and r.state == "nothing" for r in account.readings
        )
        if gone or cleared:
            return lost(window, len(gone) or window.update.window_size)
    whole = len(windows) - len(wrong) + sum(bool(shares(w)) and not wiped(w) for w in wrong)
    if not whole:
        return inconclusive(ID, "In no window could the micro-batches be told apart.")
    return passed(
        ID, f"Every micro-batch arrived in {count(whole, 'full window')}.", number("windows", whole)
    )


def emptied(window: Window) -> bool:
    """Whether the optimizer had no gradient at all although the window's backwards computed one."""
    return window.update.consumed_norm == 0.0 and not window.update.matches


def calm(wrong: list[Window], expectations: Expectations) -> list[Window]:
    """The windows in which even a clip after every backward cannot make a share this small."""
    bounds = bounds_of(expectations)
    often = any(len(w.update.clip_calls) > 1 for w in wrong)
    if bounds is None or not often:
        return wrong
    return [w for w in wrong if any(m.expected_norm < bounds.low for m in w.update.matches)]


def clipped_away(window: Window, gone: int) -> str | None:
    """What to say where gradients that carry a loss scale were clipped as often as micro-batches are
    gone, to next to nothing each time; ``None`` elsewhere.
    """
    cut = [
        c for c in clip_calls(window.update)
        if c.limit is not None and c.limit <= window.negligible * (c.returned or 0.0)
    ]  # fmt: skip
    if window.update.loss_scale <= 1.0 or len(cut) < max(2, gone):
        return None
    return (
        f"{len(cut)} clips in this window cut what had been gathered to {cut[0].limit:.3g}, one of them "
        f"from {cut[0].returned:.3g}: it still carries the loss scale of "
        f"{window.update.loss_scale:.0f}. Clip once, after the window's last backward and after "
        "scaler.unscale_(optimizer)."
    )


def lost(window: Window, gone: int) -> Verdict:
    """The fail, with the share of each micro-batch that arrived."""
    size, arrived = window.update.window_size, show_all(shares(window))
    found = f"shares, in order: {arrived}" if arrived else "it consumed a gradient of 0"
    return failed(
        ID,
        f"In {window.where} {gone} of {size} micro-batches did not reach the optimizer at all "
        f"({found}). {clipped_away(window, gone) or CLEARED}",
        number("micro-batches wiped", gone, window.where),
        number("micro-batches in the window", size, window.where),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.accumulates,
    explains=(
        "accumulation-equals-large-batch",
        "no-batch-lost",
        "clip-once-per-update",
        "clip-before-step",
        "clip-global-norm",
        "clip-inactive-when-small",
        "training-unchanged",
        "still-learns",
    ),
    needs="a full window of several micro-batches that can be told apart",
)
