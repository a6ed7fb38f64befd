"""An accumulation that the program's own numbers name, and that no update shows."""

from collections import Counter

from harness.domain.trace import ProbeTrace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import close, count, number
from harness.properties.evidence.windows import of_probe

ID = "one-update-per-window"

SAME = 0.01
"""How far a loss's factor may be from one over the declared size."""

OFTEN = 2
"""How many windows of a size make it one of the program's own, not a rest."""


def divided_for_nothing(probe: ProbeTrace) -> Verdict | None:
    """A fail when every loss is divided by the number of micro-batches that the program says it
    gathers, and every update is made from one.
    """
    size, windows = probe.program.accumulates_over, list(of_probe(probe))
    if not size or len(windows) < size or any(w.update.window_size != 1 for w in windows):
        return None
    factors = [b.factor for rank in probe.ranks for b in rank.backwards]
    if not all(f is not None and close(f, 1.0 / size, SAME) for f in factors):
        return None
    return failed(
        ID,
        f"In {probe.probe} each loss is divided by {size}, as many micro-batches as the program says it "
        f"gathers, and each of {count(len(windows), 'update')} is made from one: gradients are "
        f"{size} times too small. Step and clear once in {size} micro-batches.",
        number("micro-batches that were declared", size, probe.probe),
        number("micro-batches in an update", 1, probe.probe),
    )


def divided_by_another(probe: ProbeTrace) -> Verdict | None:
    """A fail when every loss is divided by one whole number, and windows hold different numbers of
    micro-batches, all smaller: the steps do not follow the count that the division does. Larger ones
    may be sums over time of a loss with a constant weight.
    """
    factors = [b.factor for rank in probe.ranks for b in rank.backwards]
    held = Counter(w.update.window_size for w in of_probe(probe) if not w.update.short)
    sizes = {size: n for size, n in held.items() if size and n >= OFTEN}
    known = [f for f in factors if f is not None and f > 0.0]
    if len(sizes) < 2 or not known or len(known) < len(factors):
        return None
    by = round(1.0 / known[0])
    if max(sizes) >= by or not all(close(f, 1.0 / by, SAME) for f in known):
        return None
    found = " or ".join(map(str, sorted(sizes)))
    return failed(
        ID,
        f"In {probe.probe} each loss is divided by {by}, and windows hold {found} micro-batches, never "
        f"{by}: the step follows another count than the division. Step once in {by} micro-batches.",
        number("divisor", by, probe.probe),
        *(number(f"windows of {size}", n, probe.probe) for size, n in sorted(sizes.items())),
    )
