"""All ranks consume the same gradient and hold the same parameters after every update.

Bug::

    for i, (x, y) in enumerate(train_loader):              # model = DDP(model)
        last = (i + 1) % 4 == 0
        loss = criterion(model(x), y) / 4                  # forward outside: too late for the flag
        model.require_backward_grad_sync = last            # DDP reads it in forward
        loss.backward()                                    # ranks go on with different gradients

Signature: consumed gradients or parameters differ between ranks beyond rounding; or ranks make
different numbers of updates, or judge by different numbers when to lower the learning rate.

Masked by: the same data on every rank; one rank; looking at rank 0 only.
"""

import math
import re

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.figures import count, number, show, show_all
from harness.properties.evidence.windows import SAFETY
from harness.properties.property import Property
from harness.properties.ranks.parting import parting

ID = "ranks-agree"

JOINS = re.compile(r"\bJoin\(|with [\w.]+\.join\(")
"""How a program has ranks wait that are done before others."""

PARTED = 0.05
"""No order of sums parts ranks as far: what half precision rounds, it rounds before they exchange it,
and what a collective returns is the same on all of them.
"""

OWN_NUMBER = 1e-3
"""Relative difference that summing in another order cannot make."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """The largest difference between ranks, in every probe that has several."""
    del expectations
    compared: list[ProbeTrace] = []
    for probe in trace.probes:
        if probe.world_size < 2 or not any(r.updates for r in probe.ranks):
            continue
        wrong = counts_differ(probe) or apart(probe) or judged_apart(probe)
        if wrong is not None:
            return wrong
        if probe.ranks_disagree is not None and len(probe.ranks) == probe.world_size:
            compared.append(probe)
    if not compared:
        return inconclusive(ID, "No updates of several ranks could be compared.")
    alike = [p for p in compared if p.same_rows]
    if alike:
        return inconclusive(
            ID,
            f"In {alike[0].probe} ranks trained on the same rows, so that they agree without being "
            "synchronised. Give each rank rows of its own (DistributedSampler).",
        )
    updates = sum(len(p.updates) for p in compared)
    worst = max(p.ranks_disagree or 0.0 for p in compared)
    return passed(
        ID,
        f"{compared[0].world_size} ranks agreed in gradients and parameters over "
        f"{count(updates, 'update')} (largest difference {show(worst)}).",
        number("largest difference between ranks", worst),
        number("updates", updates),
    )


def counts_differ(probe: ProbeTrace) -> Verdict | None:
    """A fail when ranks make different numbers of updates."""
    counts = [len(r.updates) for r in probe.ranks]
    if len(set(counts)) == 1 or JOINS.search(probe.program.source):
        return None
    return failed(
        ID,
        f"In {probe.probe} the ranks made {', '.join(str(c) for c in counts)} updates: they have "
        "different numbers of batches. Give every rank the same number (DistributedSampler), or "
        "use join().",
        *(number(f"updates of rank {r.rank}", len(r.updates), probe.probe) for r in probe.ranks),
    )


def judged_apart(probe: ProbeTrace) -> Verdict | None:
    """A fail when each rank tells its schedule a number of its own: one will lower its learning rate
    before the others do. What is lent to validate on may differ between ranks.
    """
    told = [r.judged_by for r in probe.ranks]
    if any(": loader" in note or ": valid" in note for note in probe.program.bound):
        return None
    pairs = [(a, b) for others in told[1:] for a, b in zip(told[0], others, strict=False)]
    far = [(a, b) for a, b in pairs if abs(a - b) > OWN_NUMBER * max(abs(a), abs(b))]
    if len(far) < 2 or 2 * len(far) < len(pairs):
        return None
    one, other = far[0]
    return failed(
        ID,
        f"In {probe.probe} the ranks told their schedules different numbers ({show(one)} and "
        f"{show(other)}, and so {len(far)} of {count(len(pairs), 'time')}): each lowers its learning "
        "rate when its own number stands still, and they part. Reduce the number over all ranks first.",
        number("number of one rank", one, probe.probe),
        number("number of another", other, probe.probe),
    )


def apart(probe: ProbeTrace) -> Verdict | None:
    """A fail when gradients or parameters differ beyond rounding."""
    allowed = min(PARTED, SAFETY * max(u.tolerance for r in probe.ranks for u in r.updates))
    found = probe.ranks_disagree
    if found is None or (math.isfinite(found) and found <= allowed):
        return None
    if JOINS.search(probe.program.source) and not math.isfinite(found):
        said = "a rank that was done joined while others went on, and what it holds then is not compared"
        return inconclusive(ID, f"In {probe.probe} {said}.")
    if probe.brought_together > 1:
        return inconclusive(
            ID,
            f"In {probe.probe} the ranks train apart, and {probe.brought_together} times their weights "
            "were made the same again: whether they may part in between is not judged.",
        )
    far = number("largest difference between ranks", found, probe.probe)
    part = parting(probe)
    if part is not None:
        return failed(ID, part.sentence, *part.numbers, far)
    rounds = [u.rounds for u in probe.updates if not u.skipped]
    often = (
        f" ({show_all(sorted({round(r, 2) for r in rounds}))} rounds an update)" if rounds else ""
    )
    return failed(
        ID,
        f"In {probe.probe} the ranks differ by {show(found)} of the norm of a consumed gradient, or of "
        f"the parameters after an update{often}. Start from the same parameters, synchronise the "
        "gradients of every window, the short one included, and do the same with them on every rank.",
        far,
        *(number("rounds", r, f"{probe.probe}, fewest") for r in sorted(rounds)[:1]),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.several_ranks,
    explains=(
        "single-allreduce",
        "one-update-per-window",
        "gradients-start-fresh",
        "accumulation-not-wiped",
        "accumulation-equals-large-batch",
        "no-batch-lost",
        "clip-before-step",
        "clip-once-per-update",
        "clip-inactive-when-small",
        "clip-global-norm",
        "training-unchanged",
        "still-learns",
    ),
    needs="updates on at least two ranks with different data",
)
