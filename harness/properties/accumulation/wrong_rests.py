"""Short last windows that were divided by the wrong count, in words."""

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.consumption import Account
from harness.properties.evidence.figures import close, count, number, show, show_all
from harness.properties.evidence.short_windows import amiss, uneven
from harness.properties.evidence.thresholds import bounds_of
from harness.properties.evidence.windows import Window, usual_size

ID = "accumulation-equals-large-batch"


def wrong_rest(trace: Trace, seen: Account, expectations: Expectations) -> Verdict | None:
    """A fail when a short last window's divisor is neither its own count nor that of a full window."""
    rest = amiss(trace, seen, bounds_of(expectations))
    if rest is None:
        return uneven_rest(trace, seen)
    window, found = rest
    size = window.update.window_size
    return failed(
        ID,
        f"In {window.where}, the short last window, the optimizer consumed {show(found.ratio)} times "
        f"the gradient of its {count(size, 'micro-batch')} ({show(found.consumed_norm)} instead of "
        f"{show(found.expected_norm)}): {why(found.ratio, window)}.",
        number("consumed over true", found.ratio, window.where),
        number("micro-batches in the window", size, window.where),
    )


def uneven_rest(trace: Trace, seen: Account) -> Verdict | None:
    """A fail when the divisor changes within a short last window."""
    rest = uneven(trace, seen)
    if rest is None:
        return None
    window, weights = rest
    return failed(
        ID,
        f"In {window.where}, the short last window, the micro-batches weigh {show_all(weights)}: the "
        "divisor changes within the window. Divide all of them by the same count.",
        number("smallest weight", min(weights), window.where),
        number("largest weight", max(weights), window.where),
    )


def why(factor: float, window: Window) -> str:
    """The usual cause of such a factor, as advice."""
    size, world, slack = (
        window.update.window_size,
        window.probe.world_size,
        max(0.02, window.tolerance),
    )
    part = size / max(1, usual_size(window.probe))
    if close(factor, size, slack):
        return f"divide each loss by the {size} micro-batches of the window"
    if close(factor, 1.0 / size, slack):
        return f"it was divided by {size} twice, as a loss or as gradients; divide once"
    if world > 1 and (close(factor, world, slack) or close(factor, world * part, slack)):
        return f"gradients were summed over {world} ranks; average them"
    if world > 1 and close(factor, 1.0 / world, slack):
        return f"gradients were divided by {world} ranks once too often"
    return f"the divisor is not the {size} micro-batches of the window"
