"""Steps without a new micro-batch, on the gradient of the step before."""

from harness.domain.trace import ProbeTrace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.coefficients import consumed_again
from harness.properties.evidence.figures import number
from harness.properties.evidence.windows import of_probe

ID = "one-update-per-window"


def repeated(probe: ProbeTrace) -> Verdict | None:
    """A fail when an update consumed the gradient of the update before it."""
    for window in of_probe(probe):
        if consumed_again(window):
            left = "" if window.update.consumed_finite else ", not finite by then"
            return failed(
                ID,
                f"In {window.where} the optimizer stepped without a new micro-batch and consumed "
                f"the last gradient (norm {window.update.consumed_norm:.3g}{left}) a second time. Step "
                "once a window, and clear the gradients after it.",
                number("micro-batches in the window", 0, window.where),
                number("norm of the consumed gradient", window.update.consumed_norm, window.where),
            )
    return None
