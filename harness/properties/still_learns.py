"""Training still achieves something: the loss falls by what the scenario expects.

Bug::

    for x, y in train_loader:
        optimizer.zero_grad()
        loss = torch.nan_to_num(criterion(model(x), y))    # no NaN to be seen any more
        loss.backward()                                    # and no gradient either
        optimizer.step()

Signature: the workload's own loss over all data, recomputed at the last parameters, over that at
the first ones exceeds what is expected, or is not finite.

Masked by: the loss that the program prints, which it may have changed.
"""

import math

from harness.domain.scenario import Expectations
from harness.domain.trace import Learning, ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.figures import number, show
from harness.properties.property import Property
from harness.properties.windows import ordinary

ID = "still-learns"

NO_HARM = 1.05
"""Loss after over loss before that noise over a few updates may cause."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Loss after over loss before, in the probes where learning is the point."""
    measured = [
        (p, p.learning)
        for p in meant(trace, expectations)
        if p.learning is not None and p.updates and not another_model(p)
    ]
    if not measured:
        return inconclusive(ID, "No probe with an update had its loss measured before and after.")
    for probe, learning in measured:
        if not math.isfinite(learning.after) or fraction(learning) > limit(learning, expectations):
            return stuck(probe, learning, limit(learning, expectations))
    probe, learning = max(measured, key=lambda pair: fraction(pair[1]))
    return passed(
        ID,
        f"In {probe.probe} the loss fell from {show(learning.before)} to {show(learning.after)} "
        f"({fraction(learning):.2f}, at most {limit(learning, expectations):.2f} expected).",
        number("loss before", learning.before, probe.probe),
        number("loss after", learning.after, probe.probe),
    )


def meant(trace: Trace, expectations: Expectations) -> tuple[ProbeTrace, ...]:
    """Where a right loop learns: the healthy probe if one is named, else all ordinary ones."""
    healthy = trace.probe(expectations.healthy_probe)
    if healthy is not None:
        return (healthy,)
    return tuple(
        p for p in ordinary(trace, expectations) if p.probe != expectations.unhealthy_probe
    )


def another_model(probe: ProbeTrace) -> bool:
    """Whether the program exchanged layers of the workload's model: at its parameters the model as it
    was says nothing.
    """
    return any(not u.recomputed and u.output_differs > 0.0 for u in probe.updates)


def fraction(learning: Learning) -> float:
    """Loss after over loss before."""
    return learning.after / learning.before if learning.before else float("inf")


def limit(learning: Learning, expectations: Expectations) -> float:
    """What may be left of the loss.

    Somebody who brings an optimizer chose its learning rate for a model of their own: here it only
    has to do no harm.
    """
    return NO_HARM if learning.own_optimizer else expectations.loss_falls_to


def stuck(probe: ProbeTrace, learning: Learning, allowed: float) -> Verdict:
    """The fail."""
    return failed(
        ID,
        f"In {probe.probe} the loss went from {show(learning.before)} to {show(learning.after)} "
        f"in {len(probe.updates)} updates; at most {allowed:.2f} of it was "
        "expected to be left. Whatever was done to the loop, it must still train.",
        number("loss before", learning.before, probe.probe),
        number("loss after", learning.after, probe.probe),
        number("updates", len(probe.updates), probe.probe),
    )


PROPERTY = Property(
    id=ID,
    story=str(__doc__),
    judge=judge,
    needs="an update, and the loss before and after",
    rests_on="end",
)
