"""An accumulation that the program's own settings name, and that no update shows."""

from harness.domain.trace import ProbeTrace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import close, count, number
from harness.properties.evidence.windows import of_probe

ID = "one-update-per-window"

SAME = 0.01
"""How far a loss's factor may be from one over the declared size."""


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
