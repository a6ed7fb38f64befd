"""A short last window that is smaller than its own mean although the message asks for that.

Dividing what is left over by the count of a full window gives each batch the same weight. Whether that
is meant is a choice, which the message has made.
"""

from collections.abc import Iterator

from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed
from harness.properties.accumulation.divisors import SAME, is_of
from harness.properties.evidence.figures import close, count, number, show
from harness.properties.evidence.windows import Window, of_probe, usual_size

ID = "accumulation-equals-large-batch"


def part_of_its_mean(trace: Trace) -> Verdict | None:
    """The fail where short last windows arrive as their share of a full one, and none as its mean: a
    clip makes some of another size.
    """
    found = list(_rests(trace)) if trace.wishes.rest_is_mean else []
    less = [(window, size) for window, size, share in found if close(size, share, SAME)]
    if not less or any(close(size, 1.0, SAME) for _, size, _ in found):
        return None
    window, size = less[0]
    number_of = window.update.window_size
    return failed(
        ID,
        f"The message asks for the mean of the batches that are left over. In {window.where}, the "
        f"short last window, {count(number_of, 'micro-batch')} arrive at {show(size)} times their "
        f"mean, divided by the {usual_size(window.probe)} of a full window. Divide them by their own "
        "number.",
        number("times the mean of the window", size, window.where),
        number("micro-batches in the window", number_of, window.where),
    )


def _rests(trace: Trace) -> Iterator[tuple[Window, float, float]]:
    """Short windows, how many times their mean arrived, and their share of a full window."""
    for window in (w for p in trace.probes for w in of_probe(p) if w.update.short):
        usual, own = usual_size(window.probe), window.update.window_size
        size = _times_its_mean(window)
        if 0 < own < usual and size is not None:
            yield window, size, own / usual


def _times_its_mean(window: Window) -> float | None:
    """By the true gradient of its batches, or by the factors on what torch's loss functions returned."""
    for match in window.update.matches:
        if match.objective != "as-computed" and match.direction_error <= window.tolerance:
            return match.ratio
    computed = window.update.match("as-computed")
    own = [b.factor for b in window.rank_trace.backwards if is_of(b, window.update)]
    known = [factor for factor in own if factor is not None]
    if computed is None or not known or len(known) < len(own):
        return None
    return sum(known) * computed.ratio if computed.direction_error <= window.tolerance else None
