"""An update that gathers several micro-batches consumes the gradient of one large batch.

Bug::

    for i, (x, y) in enumerate(train_loader):
        criterion(model(x), y).backward()      # not divided: the sum of 4 means
        if (i + 1) % 4 == 0:
            optimizer.step()                   # 4 times the gradient of the large batch
            optimizer.zero_grad()

Signature: below the clipping threshold, consumed over true is a constant other than 1 (N: not
divided, 1/N: divided twice, the number of ranks: summed over ranks), or the direction is off
although everything that backward computed arrived: the loss weighs the micro-batches otherwise
than any accepted objective, what was gathered was scaled again after each backward, or a division
reached some parameters only. Padding that has a part in the loss, a divisor that changes from window
to window, and a short last window that is larger than its own mean, smaller than its share of a
full one, or divided by a count that changes within it, count too.

Masked by: active clipping and Adam, which hide every factor; micro-batches of equal size, which
hide weights.
"""

from collections.abc import Sequence
from itertools import pairwise

from harness.domain.scenario import Expectations
from harness.domain.trace import MicroBatch, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.accumulation.divisors import own_size
from harness.properties.accumulation.growing_counts import divided_by_all_so_far
from harness.properties.accumulation.undivided_part import undivided_part
from harness.properties.accumulation.wrong_rests import why, wrong_rest
from harness.properties.evidence import preconditions
from harness.properties.evidence.coefficients import even, shares, wiped
from harness.properties.evidence.consumption import (
    Account,
    WindowReading,
    account,
    factor_of,
    learned,
)
from harness.properties.evidence.figures import close, count, number, show, show_all, spread
from harness.properties.evidence.short_windows import arrived, sizes
from harness.properties.evidence.thresholds import Bounds, bounds_of
from harness.properties.evidence.windows import losses_of_one_batch
from harness.properties.property import Property

ID = "accumulation-equals-large-batch"

ALIKE = 0.01
"""How far two shares that count as the same may be apart."""

OWN_LOSS = 0.05
"""Misfit from which a loss is a program's own; rounding in half precision stays below it."""

NORMALISED = (
    "it is brought to the threshold's norm, whatever its own is. Limit the coefficient to 1"
)
"""What is said where each window arrives as large as a clip leaves a loud one."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Compare all full windows under one objective: the size of the gradient, then its direction."""
    seen = account(trace, expectations)
    several = [r for r in seen.readings if r.update.window_size > 1] if seen else []
    gathered = [r for r in several if not losses_of_one_batch(r.window)]
    if seen is None or not gathered:
        return inconclusive(
            ID, "No full window of several micro-batches could be compared with a large batch."
        )
    of_own_loss = own_size(gathered) if seen.objective == "as-computed" else None
    return (
        divided_twice(trace, gathered)
        or divided_in_part(gathered)
        or of_own_loss
        or divided_by_all_so_far(gathered)
        or padding_trained(gathered)
        or wrong_size(gathered, expectations)
        or wrong_weights([r for r in gathered if not learned(r, gathered)])
        or uneven_parameters(gathered, expectations)
        or scaled_on_the_way(gathered, expectations)
        or wrong_rest(trace, seen, expectations)
        or in_order(trace, seen, gathered)
    )


def divided_twice(trace: Trace, gathered: list[WindowReading]) -> Verdict | None:
    """A fail when every loss is divided by the window's micro-batches two times in a row, as where a
    framework divides what the program has divided.
    """
    windows = {r.update.window_size: r for r in gathered}
    for probe in trace.probes:
        first = windows.get(probe.program.divided_twice)
        if first is not None:
            size = first.update.window_size
            return failed(
                ID,
                f"In {probe.probe} each loss is divided by {size} twice, and a window has {size} "
                f"micro-batches: the optimizer consumes 1/{size} of their mean gradient. A framework "
                "that accumulates divides the loss itself; divide it once.",
                number("divisor", size, first.where),
            )
    return None


def divided_in_part(gathered: list[WindowReading]) -> Verdict | None:
    """A fail when one part of a loss is divided by the window's micro-batches, and another is not."""
    first = gathered[0]
    found = undivided_part(first.window.probe.program.source)
    size = first.update.window_size
    if found is None or (found.by.isdigit() and found.by != str(size)):
        return None
    return failed(
        ID,
        f"In {first.where} the rest of the loss is divided by `{found.by}`, and `{found.part}` is "
        f"not: it arrives {count(size, 'time')} in an update, and the rest once. Divide the whole sum.",
        number("micro-batches in the window", size, first.where),
    )


def padding_trained(gathered: list[WindowReading]) -> Verdict | None:
    """A fail when padding, which carries no weight, contributes to the loss."""
    for reading in gathered:
        most = max((m.on_padding for m in reading.window.own), default=0.0)
        if most > OWN_LOSS:
            return failed(
                ID,
                f"In {reading.where} rows of padding have a part in the loss: {most:.0%} of the "
                "gradient at the model's output lies on them. Multiply the losses by the mask.",
                number("part of the output-gradient on padding", most, reading.where),
            )
    return None


def wrong_size(gathered: list[WindowReading], expectations: Expectations) -> Verdict | None:
    """A fail when all windows below the threshold are off by the same factor."""
    bounds = bounds_of(expectations)
    small = [r for r in gathered if r.aligned and not (bounds and bounds.loud(r.true))]
    off = [r for r in small if off_by_a_factor(r, gathered)]
    factor = factor_of(off)
    if factor is None and off and len(off) == len(small) and all(no_clip(r) for r in off):
        factor = off[0].ratio
    if factor is None:
        return changing_size(off, small)
    first = off[0]
    up = bounds is not None and all(to_the_threshold(r, bounds) for r in off)
    return failed(
        ID,
        f"In {first.where} the optimizer consumed {show(factor)} times the gradient of the large "
        f"batch ({show(first.consumed)} instead of {show(first.true)}), and so in "
        f"{count(len(off), 'window')}: {NORMALISED if up else why(factor, first.window)}.",
        number("consumed over true", factor, first.where),
        number("micro-batches in the window", first.update.window_size, first.where),
        *(number("consumed over true", r.ratio, r.where) for r in off[1:4]),
    )


def to_the_threshold(reading: WindowReading, bounds: Bounds) -> bool:
    """Whether a smaller gradient arrived enlarged, at the norm that a clip would leave."""
    return reading.state == "grown" and close(reading.consumed, bounds.high, reading.slack)


def changing_size(off: list[WindowReading], small: list[WindowReading]) -> Verdict | None:
    """A fail when the factor changes from window to window and no clip can be the reason: a clip
    enlarges no gradient, and lets no norm pass in one window that it cuts in another.
    """
    passed_whole = max((r.consumed for r in small if r.state == "exact"), default=0.0)
    wrong = [
        r for r in off
        if no_clip(r) and (r.state == "grown" or r.consumed * (1.0 + 2 * r.slack) < passed_whole)
    ]  # fmt: skip
    if not wrong or (len(off) > 1 and spread([r.consumed for r in off]) <= 4 * wrong[0].slack):
        return None
    first, last = wrong[0], max(wrong, key=lambda r: abs(r.ratio / wrong[0].ratio - 1.0))
    also = f", and {show(last.ratio)} times in {last.where}" if last is not first else ""
    return failed(
        ID,
        f"In {first.where} the optimizer consumed {show(first.ratio)} times the gradient of the "
        f"large batch ({show(first.consumed)} instead of {show(first.true)}){also}: the divisor is "
        "not the window's own. Divide by the micro-batches, or the samples, of this window alone.",
        number("consumed over true", first.ratio, first.where),
        number("consumed over true", last.ratio, last.where),
    )


def no_clip(reading: WindowReading) -> bool:
    """Whether clipping cannot have set the size: no clip was called, or what backward computed
    arrived whole, or backward computed too much and part of the excess is still there.
    """
    computed = reading.update.match("as-computed")
    whole = computed is not None and computed.relative_error <= reading.window.tolerance
    slack = 1.0 + reading.window.tolerance
    too_much = computed is not None and computed.expected_norm > slack * reading.true
    return whole or not reading.update.clip_calls or (reading.state == "grown" and too_much)


def off_by_a_factor(reading: WindowReading, gathered: list[WindowReading]) -> bool:
    """Whether the size is wrong, and neither a learned weight nor a leftover loss scale explains it."""
    scale = reading.update.loss_scale
    scaled = scale > 1.0 and (reading.ratio >= scale**0.5 or reading.ratio <= scale**-0.5)
    return reading.state in ("shrunk", "grown") and not scaled and not learned(reading, gathered)


def wrong_weights(gathered: list[WindowReading]) -> Verdict | None:
    """A fail when everything that backward computed arrived, and is no accepted gradient all the
    same.
    """
    for reading in gathered:
        if reading.state != "turned" or not arrived_whole(reading) or brings_its_loss(reading):
            continue
        weights = [m.weight for m in reading.window.own if m.weight is not None]
        given = f" (weights in order: {show_all(weights)})" if weights else ""
        return failed(
            ID,
            f"In {reading.where} the consumed gradient points away from the large batch's (cosine "
            f"{reading.match.cosine:.4f}) although every micro-batch arrived: the loss weighs "
            f"them wrongly{given}. Give every real sample of the window the same weight (divide "
            "by the window's total) or every micro-batch the same.",
            number("cosine", reading.match.cosine, reading.where),
            number("direction error", reading.match.direction_error, reading.where),
        )
    return None


def brings_its_loss(reading: WindowReading) -> bool:
    """Whether the program trains on a loss of its own, of whose large batch nothing is known."""
    return any(
        m.objective_error is not None and m.objective_error > OWN_LOSS for m in reading.window.own
    )


def uneven_parameters(gathered: list[WindowReading], expectations: Expectations) -> Verdict | None:
    """A fail when parameters have different factors, one of them above 1: clipping only shrinks."""
    bounds = bounds_of(expectations)
    for reading in gathered:
        if not reading.by_parameter or (bounds and bounds.loud(reading.true)):
            continue
        least, most = min(reading.factors), max(reading.factors)
        if most <= (1.0 + reading.window.tolerance) or close(least, most, reading.window.tolerance):
            continue
        return failed(
            ID,
            f"In {reading.where} parameters consumed {show(least)} to {show(most)} times their "
            "gradient of the large batch: a division or a factor reached some of them only. Divide "
            "the loss, or the gradient of every parameter.",
            number("smallest factor", least, reading.where),
            number("largest factor", most, reading.where),
        )
    return None


def scaled_on_the_way(gathered: list[WindowReading], expectations: Expectations) -> Verdict | None:
    """A fail when gradients were scaled between a window's backwards, and no clip can be the reason."""
    bounds = bounds_of(expectations)
    for reading in gathered:
        found = shares(reading.window)
        calm = bounds is None or bounds.quiet(reading.true)
        if not calm or reading.state != "turned" or even(reading.window) or not found:
            continue
        if wiped(reading.window) or each_sample_is_bounded(reading.window.own, found):
            continue
        return failed(
            ID,
            f"In {reading.where} the micro-batches arrived with the shares {show_all(found)}: what "
            "had been gathered was scaled again after each backward. Divide each loss, or all "
            "gradients once, after the window's last backward.",
            number("smallest share", min(found), reading.where),
            number("cosine", reading.match.cosine, reading.where),
        )
    return None


def each_sample_is_bounded(own: Sequence[MicroBatch], arrived: Sequence[float]) -> bool:
    """Whether each sample's own gradient was bounded, as for privacy: what scales all that was gathered
    leaves no later one smaller than an earlier one.
    """
    alone = all(m.real_samples == 1 for m in own) and max(arrived) <= 1.0 + ALIKE
    return alone and any(after < before * (1.0 - ALIKE) for before, after in pairwise(arrived))


def arrived_whole(reading: WindowReading) -> bool:
    """Whether the optimizer consumed, up to a factor, what backward computed."""
    computed = reading.update.match("as-computed")
    whole = computed is not None and computed.consumed_norm > 0
    return arrived(reading.window) if whole else even(reading.window)


def in_order(trace: Trace, seen: Account, gathered: list[WindowReading]) -> Verdict:
    """A pass, if some full window was below the threshold; above it clipping hides every factor."""
    wrong = [r for r in gathered if not r.right]
    exact = [r for r in gathered if r.state == "exact"]
    if wrong and all(brings_its_loss(r) for r in wrong):
        return inconclusive(
            ID,
            f"In {wrong[0].where} the loss is another than the one to train on: its large batch "
            "is not known.",
        )
    if wrong:
        first = wrong[0]
        return inconclusive(
            ID,
            f"In {first.where} the consumed gradient is not that of the large batch (cosine "
            f"{first.match.cosine:.4f}, {show(first.ratio)} times its size), but not because of "
            "how micro-batches are weighed.",
            number("cosine", first.match.cosine, first.where),
            number("consumed over true", first.ratio, first.where),
        )
    if not exact:
        return inconclusive(
            ID, "Every full window was clipped, and clipping hides every wrong divisor."
        )
    errors = [r.match.relative_error for r in exact]
    return passed(
        ID,
        f"In {count(len(exact), 'full window')} of {exact[0].update.window_size} micro-batches "
        f"the optimizer consumed the {seen.objective} gradient of the large batch (largest "
        f"relative error {show(max(errors))}).{sizes(trace, seen)}",
        number("windows", len(exact)),
        number("largest relative error", max(errors)),
        number("spread of true norms", spread([r.true for r in exact])),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.accumulates,
    explains=(
        "training-unchanged",
        "finite-loss",
        "params-stay-finite",
        "still-learns",
    ),
    needs="a full window of several micro-batches below the clipping threshold",
)
