"""Code that goes back from a loss that it does not show: whoever computes that may divide it."""

from harness.domain.event import LENT_LOSS
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict
from harness.properties.accumulation.divisors import SAME
from harness.properties.evidence.figures import close

ID = "accumulation-equals-large-batch"

UNSHOWN = (
    "Whether the loss is divided by the micro-batches stands above what is shown; show its line."
)


def divided_above(verdict: Verdict, trace: Trace) -> Verdict:
    """The verdict, without a failure of as many times the gradient as a window has micro-batches."""
    is_lent = any(LENT_LOSS in note for p in trace.probes for note in p.program.bound)
    if verdict.property != ID or verdict.outcome != "fail" or not is_lent:
        return verdict
    found = {figure.name: figure.value for figure in verdict.numbers[:2]}
    times, size = found.get("consumed over true"), found.get("micro-batches in the window")
    if times is None or size is None or not close(times, size, SAME):
        return verdict
    return verdict.model_copy(update={"outcome": "inconclusive", "sentence": UNSHOWN})
