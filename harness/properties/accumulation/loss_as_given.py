"""Where every batch is an update, the gradient is that of the loss that was asked for, and no multiple.

Bug::

    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y) / 4      # left over from a loop that accumulates
        loss.backward()
        clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()                       # a quarter of the gradient, a threshold of 4

Signature: windows of one batch, below the threshold, all consume the same multiple of the true
gradient, or one that goes with the size of the batch, and backward ran on that multiple of what the
loss function had returned. Or windows of several, where nobody asked for them, consume the sum.

Masked by: active clipping and Adam, which hide every factor. Lawful: a loss scale that is taken out
again, a loss of one's own, a sum with a divisor of its own, terms that are added, a learning rate.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.consumption import WindowReading, account, read, weighty
from harness.properties.evidence.figures import count, number, show, spread
from harness.properties.evidence.thresholds import Bounds, bounds_of
from harness.properties.evidence.windows import full
from harness.properties.property import Property

ID = "loss-as-given"

CLEAR = 0.05
"""Distance of a factor from 1 that rounding or an epsilon cannot explain."""

SAME = 0.01
"""Spread up to which factors count as one and the same, half precision included."""


@dataclass(frozen=True, slots=True)
class LossFactor:
    """The factor on one update's loss, measured in two ways."""

    reading: WindowReading
    """The update."""
    of_true: float
    """Relative to the gradient of the workload's loss."""
    of_returned: float | None
    """Relative to what torch's loss function returned; ``None`` if that is not known."""

    @property
    def samples(self) -> int:
        """Size of its batch."""
        return self.reading.window.own[0].real_samples


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Compare updates of a single batch with the gradient of that batch."""
    if expectations.accumulates or "as-computed" in expectations.objectives:
        return inconclusive(ID, "Which factor the loss should have is not judged here.")
    seen = account(trace, expectations)
    bounds = bounds_of(expectations)
    wrong = added_up(trace, bounds)
    if wrong is not None:
        return wrong
    single = [r for r in seen.readings if len(r.window.own) == 1] if seen else []
    small = [r for r in single if not (bounds and bounds.loud(r.true))]
    exact = [r for r in small if r.state == "exact"]
    if exact:
        return as_given(exact)
    factors = [found for r in small if (found := factor_in(r)) is not None]
    rule = rule_of(factors)
    if rule is None:
        return inconclusive(
            ID, "No update of a single batch below the threshold could be compared with its batch."
        )
    return multiple(factors, rule, hidden=bounds is None)


def added_up(trace: Trace, bounds: Bounds | None) -> Verdict | None:
    """A fail when updates consume the sum of several backwards, not divided by their number."""
    readings = read(full(trace), "micro-batch-mean", bounds).readings
    several = [r for r in readings if r.update.window_size > 1 and summed(r)]
    if len(several) < 2 or spread([r.true for r in several]) <= SAME:
        return None
    if bounds is None and all("Adam" in r.update.optimizer for r in several):
        return None
    first = several[0]
    size = first.update.window_size
    return failed(
        ID,
        f"In {first.where} the optimizer consumed the sum of {size} backwards, {show(first.ratio)} "
        f"times their mean (norm {show(first.consumed)} instead of {show(first.true)}), and so in "
        f"{count(len(several), 'update')}. Run backward once an update, or divide each loss by their "
        "number.",
        number("consumed over true", first.ratio, first.where),
        number("backwards", size, first.where),
    )


def summed(reading: WindowReading) -> bool:
    """Whether each backward ran on the mean of its own batch, and the sum of them was consumed."""
    size, weights = reading.update.window_size, [m.weight for m in reading.window.own]
    rank = reading.window.rank_trace
    called = sum(b.after_update == reading.update.index for b in rank.backwards)
    return (
        len(weights) == size <= called
        and all(w is not None and abs(w - 1.0) <= SAME for w in weights)
        and abs(reading.ratio / size - 1.0) <= SAME
        and reading.aligned
    )


def factor_in(reading: WindowReading) -> LossFactor | None:
    """The factor of one update: measured on what backward computed, where that arrived whole, and
    on what was consumed, where no clip can be the reason. ``None`` if neither can be told.
    """
    computed = reading.update.match("as-computed")
    if computed is None:
        return None
    if not reading.aligned:
        return factor_of_parts(reading)
    root, weight = root_factor(reading), reading.window.own[0].weight
    if computed.relative_error <= reading.window.tolerance:
        return LossFactor(reading, reading.ratio, root)
    if reading.state == "grown" and weight is not None:  # clipped afterwards, and still too large
        return LossFactor(reading, weight, root)
    if reading.update.loss_scale > 1.0 or reading.state != "shrunk":
        return None  # what a scaler left in is no question of the loss
    return LossFactor(reading, reading.ratio, None if root is None else root * computed.ratio)


def factor_of_parts(reading: WindowReading) -> LossFactor | None:
    """The largest factor among parameters that keep their direction where others do not.
    Centralising, or clipping unit by unit, makes others smaller; this one has to be the factor on
    the loss itself.
    """
    weight = reading.window.own[0].weight
    kept = [
        p.consumed_norm / p.expected_norm
        for p in weighty(reading.match, reading.window)
        if p.consumed_norm and p.dot >= (1.0 - SAME**2) * p.consumed_norm * p.expected_norm
    ]
    if not weight or not kept or abs(max(kept) / weight - 1.0) > SAME:
        return None
    return LossFactor(reading, max(kept), root_factor(reading))


def root_factor(reading: WindowReading) -> float | None:
    """What the single loss of this update was multiplied by before backward; ``None`` if not known."""
    rank = reading.window.rank_trace
    called = [b.factor for b in rank.backwards if b.after_update == reading.update.index]
    return called[0] if len(called) == 1 and called[0] is not None and called[0] > 0 else None


def rule_of(factors: Sequence[LossFactor]) -> int | None:
    """The power of the batch size that all factors follow (0: a constant factor); ``None`` for no
    rule.
    """
    true = [f.reading.true for f in factors]
    if len(factors) < 2 or spread(true) <= SAME:
        return None
    for power in (0, -1, 1):
        base = [f.of_true / f.samples**power for f in factors]
        if spread(base) <= SAME and clearly_off([f.of_true for f in factors], power):
            return power
    return None


def clearly_off(found: Sequence[float], power: int) -> bool:
    """Whether no convention explains the factors, such as half a squared error, or a sum over
    samples divided by the usual batch size instead of each batch's own.
    """
    if power == 0:
        return all(abs(f - usual) > CLEAR for f in found for usual in (1.0, 0.5))
    return min(found) > 2.0 or max(found) < 0.5


def multiple(factors: Sequence[LossFactor], power: int, *, hidden: bool) -> Verdict:
    """A fail where the program's own loss function confirms the factor; else inconclusive."""
    first = factors[0].reading
    figures = (
        number("factor", factors[0].of_true, first.where),
        number("norm of the consumed gradient", first.consumed, first.where),
    )
    off = f"Updates consume {show(factors[0].of_true)} times the gradient of the loss"
    returned = [f for f in factors if f.of_returned is not None]
    by_probe: dict[str, list[float]] = {}  # each probe may scale its loss in its own way
    for f in returned:
        root = (f.of_returned or 0.0) / f.samples**power
        by_probe.setdefault(f.reading.window.probe.probe, []).append(root)
    plain = any(abs((f.of_returned or 0.0) - 1.0) <= CLEAR for f in returned)
    if not by_probe or max(map(spread, by_probe.values())) > SAME or plain:
        return inconclusive(ID, f"{off}, but the program brings a loss of its own.", *figures)
    if hidden and all("Adam" in f.reading.update.optimizer for f in factors):
        return inconclusive(ID, f"{off}, which Adam hides.", *figures)
    size = {0: "", -1: " (divided by the size of the batch)", 1: " (times the size of the batch)"}
    return failed(
        ID,
        f"In {first.where} the loss, or its gradient, was multiplied by "
        f"{show(factors[0].of_true)}{size[power]}, and so in {count(len(factors), 'update')}: norm "
        f"{show(first.consumed)} instead of {show(first.true)}, although each batch is an update of "
        "its own. The loss is a mean already: leave the factor out.",
        *figures,
    )


def as_given(exact: list[WindowReading]) -> Verdict:
    """The pass: updates consumed the gradient of their batch's loss."""
    return passed(
        ID,
        f"{count(len(exact), 'update')} of a single batch below the threshold consumed the gradient "
        f"of its loss (largest relative error {show(max(r.match.relative_error for r in exact))}).",
        number("updates", len(exact)),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.each_batch_an_update,
    explains=("training-unchanged", "still-learns", "clip-inactive-when-small"),
    needs="two updates of a single batch below the clipping threshold",
)
