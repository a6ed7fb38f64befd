"""Clipping acts after a window's last backward and before the step.

Bug::

    loss.backward()
    optimizer.step()                               # consumes a gradient of norm 83
    clip_grad_norm_(model.parameters(), 1.0)       # scales what has already been used
    optimizer.zero_grad()

Signature: where the true norm is far above the threshold, the consumed one is at least as large
in every window; or micro-batches before the last are scaled down and the last one is not (clipped
before backward).

Masked by: norms below the threshold, where clipping does nothing; Adam, which hides the size.
"""

import math
from collections.abc import Sequence

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.clipping.clip_reasons import why_whole
from harness.properties.clipping.clips import after_the_step, on_nothing
from harness.properties.evidence import preconditions
from harness.properties.evidence.coefficients import even, largest, shares
from harness.properties.evidence.consumption import WindowReading, transported
from harness.properties.evidence.figures import count, middle, number, show, show_all, spread
from harness.properties.evidence.regimes import Regimes, regimes
from harness.properties.property import A_THRESHOLD, Property

ID = "clip-before-step"

SEEN = 0.005
"""From this relative change on, a clip after the step had something to clip."""


ALIKE = 0.01
"""Relative spread up to which quiet windows show one factor: half precision rounds it."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Look at what was consumed in loud windows, where clipping has to act."""
    seen = regimes(trace, expectations)
    if isinstance(seen, str):
        return without_threshold(trace, expectations) or inconclusive(ID, seen)
    if not seen.loud:
        return inconclusive(
            ID, f"No window's true norm was far above the threshold ({seen.bounds})."
        )
    raw = [r for r in seen.loud if r.raw]
    early = [r for r in seen.loud if too_early(r, seen)]
    if early:
        return clipped_early(early[0])
    late = [r for r in raw if after_the_step(r.update)]
    if len(raw) == len(seen.loud) or 2 * len(late) > len(seen.loud):
        return never_clipped(raw, seen)
    if raw:
        return inconclusive(
            ID,
            f"Clipping acted in {len(seen.loud) - len(raw)} of "
            f"{count(len(seen.loud), 'loud window')}.",
            number("consumed over true", raw[0].ratio, raw[0].where),
        )
    most = max(seen.loud, key=lambda r: r.true)
    return passed(
        ID,
        f"In {count(len(seen.loud), 'loud window')} clipping had acted when the optimizer "
        f"stepped: in {most.where} it consumed {show(most.consumed)} of a true norm of "
        f"{show(most.true)}.",
        number("norm of the true gradient", most.true, most.where),
        number("norm of the consumed gradient", most.consumed, most.where),
    )


def without_threshold(trace: Trace, expectations: Expectations) -> Verdict | None:
    """A fail, in a scenario that names no threshold, when a clip came after the step and most
    windows above its threshold had reached the optimizer whole.
    """
    account = transported(trace, expectations)
    readings = account.readings if account is not None else ()
    threshold = min((r.update.late_threshold or math.inf for r in readings), default=math.inf)
    loud = [r for r in readings if r.true > threshold]
    late = [r for r in loud if r.raw and r.update.late_threshold is not None]
    if 2 * len(late) <= len(loud):
        return None
    one = max(late, key=lambda r: r.consumed)
    return failed(
        ID,
        f"In {one.where} the optimizer consumed the gradient whole (norm {show(one.consumed)}); "
        f"the clip with threshold {show(threshold)} came afterwards. Clip after the last "
        "backward and before optimizer.step().",
        number("norm of the consumed gradient", one.consumed, one.where),
        number("threshold of the late clip", threshold, one.where),
    )


def never_clipped(raw: Sequence[WindowReading], seen: Regimes) -> Verdict:
    """The verdict when all loud gradients arrived whole: there was no clip, or it came at the wrong
    moment, or it was given no gradients.
    """
    most = max(raw, key=lambda r: r.true)
    late = [r for r in raw if after_the_step(r.update)]
    figures = (
        number("norm of the true gradient", most.true, most.where),
        number("norm of the consumed gradient", most.consumed, most.where),
    )
    if not late and any(on_nothing(r.update) for r in raw):
        return inconclusive(
            ID, "Clipping was called before the step, but was given no gradient.", *figures
        )
    what = (
        f"In {most.where} the optimizer consumed a gradient of norm {show(most.consumed)}, "
        f"threshold {seen.bounds}, "
    )
    if late:
        change = late[0].update.changed_after_step or 0.0
        moment = (
            f"and the clip came after the step (it changed by {change:.0%} what had been consumed)"
            if change > SEEN
            else "and the clip came between a step and the next backward, with nothing there to clip"
        )
        return failed(
            ID,
            f"{what}{moment}. Clip after the last backward and before optimizer.step().",
            *figures,
            number("change after the step", change, late[0].where),
        )
    why = why_whole(most)
    said = (
        "so nothing clipped it. Call torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm) "
        "between backward and step"
        if why is None
        else f"and the clip did nothing, as {why}"
    )
    return failed(ID, f"{what}{said}.", *figures)


def too_early(reading: WindowReading, seen: Regimes) -> bool:
    """Whether earlier micro-batches were scaled down and the window's last one was not."""
    found = shares(reading.window)
    if reading.right or len(found) < 2 or reading.consumed <= seen.bounds.high * 1.01:
        return False
    last = (reading.window.own[-1].coefficient or 0.0) / unclipped(seen)
    return (
        abs(last - 1.0) <= reading.window.negligible
        and min(found) < 1.0 - reading.window.negligible
    )


def unclipped(seen: Regimes) -> float:
    """The coefficient of a micro-batch that no clip touched: 1, or what the gradients are multiplied
    by after the window's last backward, where quiet windows show one such factor.
    """
    found = [largest(r.window) for r in seen.quiet if r.right and even(r.window)]
    alike = bool(found) and spread(found) <= ALIKE
    return middle(found) if alike else 1.0


def clipped_early(reading: WindowReading) -> Verdict:
    """The fail for a clip before the last backward."""
    return failed(
        ID,
        f"In {reading.where} the micro-batches arrived with the shares "
        f"{show_all(shares(reading.window))}: clipping ran before the last backward, whose "
        f"gradient came on top unclipped (norm {show(reading.consumed)}). Clip after the last "
        "backward.",
        number("norm of the consumed gradient", reading.consumed, reading.where),
        number("smallest share", min(shares(reading.window)), reading.where),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    expects=(A_THRESHOLD,),
    applies=preconditions.clips,
    explains=(
        "clip-once-per-update",
        "clip-global-norm",
        "clip-inactive-when-small",
        "finite-loss",
        "params-stay-finite",
        "still-learns",
    ),
    needs="a window whose true norm is far above the threshold",
)
