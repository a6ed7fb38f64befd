"""Gradients below the threshold pass untouched.

Bug::

    loss.backward()
    clip_grad_norm_(model.parameters(), max_norm=0.01)   # typical norms are 0.3: always clipped
    optimizer.step()
    # the threshold has become the step size; the size of the gradient no longer counts

Signature: windows whose true norm is far below the intended threshold are consumed at a common
smaller norm (threshold too low), at norms that a clip with a moving threshold left, at a common
larger one (normalised, not clipped), or with factors by parameter; or any windows are consumed at the
very threshold that a clip was called with, and their true norms are below it.

Masked by: a probe with loud gradients only; Adam.
"""

import math

from harness.domain.clip_call import clip_calls
from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.consumption import Account, WindowReading, factor_of, transported
from harness.properties.evidence.figures import count, number, show, spread
from harness.properties.evidence.regimes import by_its_own_norm
from harness.properties.evidence.settings import bounds_norm
from harness.properties.property import A_THRESHOLD, Property

ID = "clip-inactive-when-small"

CLEARLY = 0.02
"""How much larger than the true gradient one has to be to have been scaled up."""

AT = 1e-3
"""Relative difference up to which a norm is that of a threshold."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Quiet windows, and every window of the stable probe that is below the threshold."""
    account = transported(trace, expectations)
    if account is None:
        return inconclusive(ID, "No full window could be compared with its true gradient.")
    raised = [r for r in account.readings if raised_to_its_threshold(r)]
    if len(raised) > 1:
        return normalised(raised[0])
    small = below(account, expectations) or just_below(account, expectations)
    if expectations.unasked:
        small = [r for r in small if not by_its_own_norm(r)]
    return of_small(small)


def of_small(small: list[WindowReading]) -> Verdict:
    """The verdict on the windows that clipping must leave alone."""
    if not small:
        return inconclusive(ID, "No full window's true norm was below the intended threshold.")
    touched = [r for r in small if r.state == "clipped" or r.by_parameter] or moving(small)
    touched = [r for r in touched if not left_alone(r)]
    if touched:
        return clipped_small(touched, len(small))
    if (scaled := other_factor(small)) is not None:
        return scaled
    exact = [r for r in small if r.state == "exact"]
    if len(exact) < len(small):
        other = next(r for r in small if r.state != "exact")
        return inconclusive(
            ID,
            f"In {other.where} the consumed gradient is {show(other.ratio)} times the true one, "
            "but not at a common norm: not clipping.",
            number("consumed over true", other.ratio, other.where),
        )
    most = max(exact, key=lambda r: r.true)
    return passed(
        ID,
        f"{count(len(exact), 'window')} below the threshold passed untouched, up to a true norm "
        f"of {show(most.true)} ({most.where}).",
        number("windows", len(exact)),
        number("largest untouched norm", most.true, most.where),
    )


def left_alone(reading: WindowReading) -> bool:
    """Whether every clip was given a norm below its threshold: what made the gradient small is not
    clipping, as where it is divided by a count of its own first.
    """
    calls = [c for c in clip_calls(reading.update) if bounds_norm(c)]
    return bool(calls) and all(
        c.returned is not None and c.limit is not None and c.returned < c.limit for c in calls
    )


def other_factor(small: list[WindowReading]) -> Verdict | None:
    """A fail where quiet gradients are raised to one norm."""
    grown = [r for r in small if r.state == "grown"]
    if len(grown) > 1 and spread([r.consumed for r in grown]) < 0.1 * spread(
        [r.true for r in grown]
    ):
        return normalised(grown[0])
    return None


def raised_to_its_threshold(reading: WindowReading) -> bool:
    """Whether a gradient below the threshold that a clip was called with was consumed at just that
    norm. It may lie anywhere, and move: no clip makes more of a gradient.
    """
    computed, size = reading.update.match("as-computed"), reading.consumed
    if computed is None or reading.update.loss_scale != 1.0 or not 0.0 < size < math.inf:
        return False
    more = size > (1.0 + CLEARLY) * max(reading.true, computed.expected_norm)
    calls = clip_calls(reading.update) if more else ()
    limits = (c.limit for c in calls if c.gradients and "norm" in c.function)
    return any(limit is not None and abs(limit - size) <= AT * size for limit in limits)


def moving(small: list[WindowReading]) -> list[WindowReading]:
    """Windows that a clip shrank to various norms, by various factors. One common factor would be a
    divisor and no clip.
    """
    cut = [r for r in small if r.state == "shrunk" and cut_by_a_clip(r)]
    return cut if len(cut) > 1 and factor_of(cut) is None else []


def cut_by_a_clip(reading: WindowReading) -> bool:
    """Whether a clip was called before the step, and less was consumed than backward had computed."""
    computed = reading.update.match("as-computed")
    called = any(c.gradients and c.function.startswith("clip_") for c in clip_calls(reading.update))
    return called and computed is not None and computed.ratio < 1.0 - reading.window.tolerance


def below(account: Account, expectations: Expectations) -> list[WindowReading]:
    """The windows that clipping must leave alone."""
    bounds = account.bounds(expectations)
    stable = expectations.stable_probe
    return [
        r
        for r in account.readings
        if (bounds is not None and bounds.quiet(r.true))
        or (
            r.window.probe.probe == stable
            and (bounds is None or r.true < bounds.low * (1.0 - r.slack))
        )
    ]


def just_below(account: Account, expectations: Expectations) -> list[WindowReading]:
    """Windows below the threshold at which others were clipped, where all of them arrived whole."""
    bounds, realised = account.bounds(expectations), account.threshold
    if bounds is None or realised is None or not bounds.accept(realised):
        return []
    found = [r for r in account.readings if r.true < realised * (1.0 - CLEARLY)]
    return found if all(r.state == "exact" for r in found) else []


def clipped_small(touched: list[WindowReading], of: int) -> Verdict:
    """The fail for a threshold that is too low."""
    first = touched[0]
    return failed(
        ID,
        f"In {first.where} a true norm of {show(first.true)} was clipped to "
        f"{show(first.consumed)}, and so in {len(touched)} of {of} windows that lie below the "
        "intended threshold: a threshold that is always exceeded is a step size. Set it above "
        "typical norms.",
        number("norm of the true gradient", first.true, first.where),
        number("norm of the consumed gradient", first.consumed, first.where),
        number("windows clipped", len(touched)),
    )


def normalised(reading: WindowReading) -> Verdict:
    """The fail for scaling small gradients up to the threshold."""
    return failed(
        ID,
        f"In {reading.where} a true norm of {show(reading.true)} was scaled up to "
        f"{show(reading.consumed)}: the gradient is normalised, not clipped. Limit the "
        "coefficient to 1.",
        number("norm of the true gradient", reading.true, reading.where),
        number("norm of the consumed gradient", reading.consumed, reading.where),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    expects=(A_THRESHOLD,),
    applies=preconditions.clips,
    explains=("clip-global-norm", "clip-once-per-update", "still-learns"),
    needs="a window whose true norm is below the threshold",
)
