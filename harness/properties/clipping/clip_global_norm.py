"""Clipping scales the whole gradient by one factor, to the intended norm, whenever it is loud.

Bug::

    params = filter(lambda p: p.requires_grad, model.parameters())
    optimizer = torch.optim.SGD(params, lr=0.1)    # consumes the iterator
    ...
    clip_grad_norm_(params, 1.0)                   # nothing left: returns 0.0 and clips nothing
    optimizer.step()

Signature: in loud windows each parameter has a factor of its own (clipped one by one, or only a
part); each element has one (clipped by value); each rank has one (clipped before
synchronisation); only some windows are clipped, or all but the short last one; the calls were
given no gradient; or the norm that is left is not the intended one. A program of its own settings that
computes a clip itself divides by another measure than the norm, such as its square or the norm of a
part: the factor times that measure is one number in all windows, and what is left differs.

Masked by: norms below the threshold; a look at the norm alone, which a wrong direction survives.
"""

from collections.abc import Sequence

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.clipping.clip_once_per_update import TWICE, clipped_twice
from harness.properties.clipping.clip_reasons import (
    NO_GRADIENT,
    counts_more,
    why_other,
    why_turned,
    why_whole,
)
from harness.properties.clipping.clipped_together import together
from harness.properties.clipping.clips import after_the_step, by_value, on_nothing
from harness.properties.evidence import preconditions
from harness.properties.evidence.coefficients import by_rank
from harness.properties.evidence.consumption import WindowReading, factor_of
from harness.properties.evidence.figures import count, number, show, show_all, spread
from harness.properties.evidence.regimes import Regimes, regimes
from harness.properties.evidence.short_windows import loud, of_another_size
from harness.properties.evidence.windows import Window
from harness.properties.property import A_THRESHOLD, Property

ID = "clip-global-norm"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Each loud window has to arrive at the threshold, in the true direction; if not, say how it
    differs.
    """
    if expectations.groups:
        return inconclusive(
            ID, "Here the parts of the model are judged one by one (clip-per-group)."
        )
    seen = regimes(trace, expectations)
    if isinstance(seen, str):
        return inconclusive(ID, seen)
    if not seen.loud:
        return inconclusive(
            ID, f"No window's true norm was far above the threshold ({seen.bounds})."
        )
    return (
        on_no_gradient(seen)
        or mostly_lost(seen)
        or now_and_then(seen)
        or not_one_factor(seen)
        or together(seen)
        or other_norm(seen)
        or short_window(trace, seen)
        or another_size(trace, seen)
        or clipped(seen)
    )


def on_no_gradient(seen: Regimes) -> Verdict | None:
    """A fail when clipping was called at the right moment and was given no gradients."""
    raw = [r for r in seen.loud if r.raw]
    if len(raw) < len(seen.loud) or any(after_the_step(r.update) for r in raw):
        return None
    empty = next((r for r in raw if on_nothing(r.update)), None)
    if empty is None:
        return None
    said = next(call for call in empty.update.clip_calls if "(0 gradients)" in call)
    return failed(
        ID,
        f"In {empty.where} clipping was called with 0 gradients ({said}) "
        f"and the optimizer consumed norm {show(empty.consumed)}: {NO_GRADIENT}.",
        number("norm of the consumed gradient", empty.consumed, empty.where),
    )


def mostly_lost(seen: Regimes) -> Verdict | None:
    """A fail when most updates of a probe consumed nothing, all of them loud: a loss that is cut off
    has no gradient, where a clip leaves one.
    """
    lost = [r for r in seen.loud if r.state == "nothing"]
    same = [r for r in seen.account.readings if lost and r.window.probe is lost[0].window.probe]
    if len(lost) < 2 or 2 * len(lost) <= len(same):
        return None
    return failed(
        ID,
        f"In {lost[0].where} nothing is left of a gradient of norm {show(lost[0].true)}, and so in "
        f"{len(lost)} of {count(len(same), 'update')}: what is loud trains nothing. Bound the gradient "
        "(clip_grad_norm_), not the loss.",
        number("norm of the true gradient", lost[0].true, lost[0].where),
        number("updates of which nothing is left", len(lost)),
    )


def now_and_then(seen: Regimes) -> Verdict | None:
    """A fail when some loud windows were clipped and others arrived whole."""
    raw = [r for r in seen.loud if r.raw]
    if not raw or len(raw) == len(seen.loud):
        return None
    of, why = count(len(seen.loud), "loud window"), why_whole(raw[0])
    cause = "Clip before every step" if why is None else f"The clip did nothing there, as {why}"
    said = (
        f"In {len(raw)} of {of} no element reached the limit of clip_grad_value_, and in "
        f"{raw[0].where} the optimizer consumed norm {show(raw[0].consumed)}. It bounds elements, "
        "not the norm: clip by norm (clip_grad_norm_)."
        if by_value(raw[0].update)
        else f"Clipping acted in {len(seen.loud) - len(raw)} of {of}; in {raw[0].where} the "
        f"optimizer consumed norm {show(raw[0].consumed)}, threshold {seen.bounds}. {cause}."
    )
    return failed(
        ID,
        said,
        number("loud windows", len(seen.loud)),
        number("of them raw", len(raw)),
        number("norm of the consumed gradient", raw[0].consumed, raw[0].where),
    )


def not_one_factor(seen: Regimes) -> Verdict | None:
    """A fail when the direction changes where clipping acts, and only there."""
    calm = [r for r in seen.quiet if r.state == "exact"]
    for reading in (r for r in seen.loud if r.state == "turned"):
        parts = by_rank(reading.window)
        if reading.by_parameter:
            return several_factors(reading)
        if calm and len(parts) > 1 and spread(list(parts.values())) > reading.window.negligible:
            return per_rank(reading.window, parts)
        rest = reading.update.unexplained
        if (
            (calm or by_value(reading.update) or reading.update.elements_cut_at is not None)
            and rest is not None
            and rest > reading.window.tolerance
            and not reading.window.separable
        ):
            return failed(
                ID,
                f"In {reading.where} the consumed gradient has another direction (cosine "
                f"{reading.match.cosine:.3f}), not even parameter by parameter the true one, "
                f"and only where {why_turned(reading)}.",
                number("cosine", reading.match.cosine, reading.where),
                number("norm of the consumed gradient", reading.consumed, reading.where),
            )
    return None


def short_window(trace: Trace, seen: Regimes) -> Verdict | None:
    """A fail when full windows are clipped, and the short last window is not, or is clipped by each
    rank on its own.
    """
    if any(r.state != "clipped" for r in seen.loud):
        return None
    for window in loud(trace, seen.bounds):
        consumed, parts = window.update.consumed_norm, by_rank(window)
        if seen.bounds.loud(consumed):
            return failed(
                ID,
                f"In {window.where}, the short last window, the optimizer consumed norm "
                f"{show(consumed)}; full windows are clipped to {seen.bounds}. Clip before every step.",
                number("norm of the consumed gradient", consumed, window.where),
            )
        if len(parts) > 1 and spread(list(parts.values())) > window.negligible:
            return per_rank(window, parts)
    return None


def another_size(trace: Trace, seen: Regimes) -> Verdict | None:
    """A fail when the usual windows are clipped, and those with another number of micro-batches are
    not.
    """
    if any(r.state != "clipped" for r in seen.loud):
        return None
    whole = of_another_size(trace, seen.account, seen.bounds)
    if len(whole) < 2:
        return None
    first, consumed = whole[0], whole[0].update.consumed_norm
    return failed(
        ID,
        f"In {first.where}, a window of {count(first.update.window_size, 'micro-batch')}, the "
        f"optimizer consumed norm {show(consumed)}, and so in {count(len(whole), 'window')} of "
        f"another size; the usual ones are clipped to {seen.bounds}. Clip before every step.",
        number("norm of the consumed gradient", consumed, first.where),
        number("windows that were not clipped", len(whole)),
    )


def several_factors(reading: WindowReading) -> Verdict:
    """The fail for clipping each parameter by itself, or only some parameters."""
    factors = reading.factors
    return failed(
        ID,
        f"In {reading.where} parameters were scaled by different factors, {show(min(factors))} to "
        f"{show(max(factors))} (norm {show(reading.consumed)}, cosine "
        f"{reading.match.cosine:.3f}): only a part was clipped, or each on its own. Hand all "
        "parameters to one call.",
        number("smallest factor", min(factors), reading.where),
        number("largest factor", max(factors), reading.where),
        number("norm of the consumed gradient", reading.consumed, reading.where),
    )


def per_rank(window: Window, parts: dict[int, float]) -> Verdict:
    """The fail for clipping before the ranks are synchronised."""
    consumed = window.update.consumed_norm
    return failed(
        ID,
        f"In {window.where} the ranks' gradients arrived with the factors "
        f"{show_all(list(parts.values()))}: each rank clipped its own before they were averaged "
        f"(norm {show(consumed)}). Synchronise first, then clip the average.",
        *(number(f"factor of rank {rank}", value, window.where) for rank, value in parts.items()),
        number("norm of the consumed gradient", consumed, window.where),
    )


def other_norm(seen: Regimes) -> Verdict | None:
    """A fail when clipping leaves a norm that the scenario does not accept."""
    threshold = seen.account.threshold
    clipped_ones = [r for r in seen.loud if r.state == "clipped"]
    if threshold is not None and clipped_ones and not seen.bounds.accept(threshold):
        return failed(
            ID,
            f"Clipped windows all have norm {show(threshold)}, but the threshold is "
            f"{seen.bounds}: {clipped_ones[0].where} consumed {show(clipped_ones[0].consumed)} of "
            f"{show(clipped_ones[0].true)}. Use the threshold that was asked for.",
            number("realised threshold", threshold, clipped_ones[0].where),
            number("norm of the true gradient", clipped_ones[0].true, clipped_ones[0].where),
        )
    shrunk = [r for r in seen.loud if r.state == "shrunk" and not bounded(r, seen)]
    twice = [r for r in seen.loud if clipped_twice(r, seen)]
    if len(twice) > 1:
        return shrunk_twice(twice[0])
    if not shrunk or not acts_alone(shrunk, seen):
        return None
    first = shrunk[0]
    side = "above" if first.consumed > seen.accepted.high else "below"
    why = why_other(first) or (
        "multiply once by threshold over norm, with the norm of the whole gradient, computed just before"
    )
    return failed(
        ID,
        f"In {first.where} clipping left norm {show(first.consumed)} of {show(first.true)}, {side} "
        f"the threshold {seen.accepted}: {why}.",
        number("norm of the consumed gradient", first.consumed, first.where),
        number("norm of the true gradient", first.true, first.where),
    )


def shrunk_twice(reading: WindowReading) -> Verdict:
    """The fail for a norm of threshold squared over norm, even where that norm would be accepted."""
    return failed(
        ID,
        f"In {reading.where} clipping left norm {show(reading.consumed)} of {show(reading.true)}, and "
        f"the louder the gradient the less: {TWICE}.",
        number("norm of the consumed gradient", reading.consumed, reading.where),
        number("norm of the true gradient", reading.true, reading.where),
    )


def bounded(reading: WindowReading, seen: Regimes) -> bool:
    """Whether the norm that was left is one that the scenario accepts, or a smaller one in few windows:
    what a training before this one left is counted into the norm until it is cleared.
    """
    clipped_ones = sum(r.state == "clipped" for r in seen.loud)
    few = 2 * sum(r.state == "shrunk" for r in seen.loud) < clipped_ones
    accepted = seen.accepted.accept(reading.consumed) or (few and counts_more(reading))
    return reading.aligned and accepted


def acts_alone(shrunk: Sequence[WindowReading], seen: Regimes) -> bool:
    """Whether it was clipping that shrank these windows: quiet windows arrive whole, or, without
    quiet windows, the factor is not constant.

    A constant factor is a wrong divisor, which other properties judge.
    """
    if seen.quiet:
        return all(r.state == "exact" for r in seen.quiet)
    return len(shrunk) > 1 and factor_of(shrunk) is None


def clipped(seen: Regimes) -> Verdict:
    """A pass when every loud window is at the threshold with its direction kept."""
    wrong: Sequence[WindowReading] = [
        r
        for r in seen.loud
        if r.state != "clipped" and not (r.state == "shrunk" and bounded(r, seen))
    ]
    if wrong:
        first = wrong[0]
        return inconclusive(
            ID,
            f"In {first.where} the consumed gradient (norm {show(first.consumed)}, cosine "
            f"{first.match.cosine:.3f}) is not the clipped true one, but not because of the "
            "clip's factor.",
            number("norm of the consumed gradient", first.consumed, first.where),
            number("cosine", first.match.cosine, first.where),
        )
    true = [r.true for r in seen.loud]
    left = seen.account.threshold or max(r.consumed for r in seen.loud)
    return passed(
        ID,
        f"In {count(len(seen.loud), 'loud window')} the optimizer consumed the true direction at "
        f"norm {show(left)}, for true norms from {show(min(true))} to {show(max(true))}.",
        number("realised threshold", left),
        number("largest true norm", max(true)),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    expects=(A_THRESHOLD,),
    applies=preconditions.clips,
    explains=("finite-loss", "params-stay-finite", "training-unchanged", "still-learns"),
    needs="a window whose true norm is far above the threshold",
)
