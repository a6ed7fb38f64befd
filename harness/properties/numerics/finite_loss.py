"""No backward pass starts from a loss that is NaN or infinite.

Bug::

    for x, y in train_loader:              # 60 layers, no clipping
        loss = criterion(model(x), y)      # 2.3, 5.1, 890, 4e+17, inf
        optimizer.zero_grad()
        loss.backward()                    # from inf on, every gradient is NaN
        optimizer.step()                   # and every parameter after it

Signature: the value of a backward's root is not finite, in a probe whose data is sound.

Masked by: a GradScaler, which skips such an update (lawful); ``nan_to_num``, which hides the value
(the gradients show it).
"""

import math
from collections.abc import Iterator

from harness.domain.scenario import Expectations
from harness.domain.trace import BackwardSeen, ProbeTrace, RankTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.figures import count, number
from harness.properties.property import Property

ID = "finite-loss"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Look at the loss of every backward, except where a batch was poisoned on purpose."""
    seen = 0
    left_out = (expectations.poisoned_probe, expectations.overflow_probe)
    for probe in trace.probes:
        for rank, backward, loss in losses(probe) if probe.probe not in left_out else ():
            if not math.isfinite(loss):
                return broken(probe, rank, backward, loss)
            seen += 1
    if not seen:
        return inconclusive(ID, "No backward pass with a scalar loss was seen.")
    return passed(
        ID, f"All {seen} losses that backward started from were finite.", number("losses", seen)
    )


def losses(probe: ProbeTrace) -> Iterator[tuple[RankTrace, BackwardSeen, float]]:
    """The losses that count: without those whose update a GradScaler skipped."""
    for rank in probe.ranks:
        for backward in rank.backwards:
            if backward.loss is not None and not skipped(backward, rank):
                yield rank, backward, backward.loss


def broken(probe: ProbeTrace, rank: RankTrace, backward: BackwardSeen, loss: float) -> Verdict:
    """The fail, with what came before."""
    figures = (
        number("loss", loss, f"{probe.probe}, rank {rank.rank}"),
        number("updates before it", backward.after_update, probe.probe),
    )
    before = f"In {probe.probe}, after {count(backward.after_update, 'update')}, "
    return failed(
        ID,
        f"{before}backward ran on a loss of {loss}: every gradient after it is worthless. Find where "
        "the loss stops being finite (its own arithmetic, or parameters that earlier updates drove "
        "away) and stop before backward.",
        *figures,
    )


def skipped(backward: BackwardSeen, rank: RankTrace) -> bool:
    """Whether a GradScaler skipped the update that this backward led to."""
    return any(u.skipped and u.index == backward.after_update for u in rank.updates)


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.always,
    explains=("params-stay-finite", "no-batch-lost", "still-learns"),
    needs="a backward pass from a scalar loss",
    rests_on="facts",
)
