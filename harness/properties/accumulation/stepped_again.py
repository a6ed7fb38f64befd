"""Steps without a new micro-batch: on the gradient of the step before, or on zeros."""

from itertools import pairwise

from harness.domain.trace import ProbeTrace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.coefficients import consumed_again
from harness.properties.evidence.figures import number
from harness.properties.evidence.windows import of_probe, of_rank

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


def on_zeros(probe: ProbeTrace) -> Verdict | None:
    """A fail when the optimizer stepped between two windows on gradients that had been set to 0. Where
    they are gone altogether such a step does nothing; zeros let momentum and Adam go on.
    """
    of_its_own = probe.learning is not None and probe.learning.own_optimizer
    for rank in () if probe.parts else probe.ranks:
        for before, now in pairwise(of_rank(probe, rank)):
            update = now.update
            zeros = not (update.window_size or update.consumed_norm) and bool(update.gradients)
            nothing = of_its_own and not update.moved  # plain descent, and the program's own choice
            if zeros and before.update.window_size and not nothing:
                return failed(
                    ID,
                    f"In {now.where} the optimizer stepped again without a new micro-batch, on "
                    "gradients of zero: momentum and Adam move all the same. Step once a window.",
                    number("micro-batches in the window", 0, now.where),
                    number("parameters with a gradient of 0", update.gradients or 0, now.where),
                )
    return None
