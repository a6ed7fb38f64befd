"""A loss that takes logits gets logits, and one that takes logarithms gets these.

Bug::

    probabilities = torch.softmax(model(x), dim=1)
    loss = nn.functional.cross_entropy(probabilities, y)     # which takes softmax itself
    loss.backward()

Signature: the first argument of ``cross_entropy``, ``nll_loss`` or ``kl_div`` is what a softmax
returned, or that of ``binary_cross_entropy_with_logits`` is what a sigmoid returned, be it in another
shape.

Masked by: a loss that falls. It comes to rest far from 0, for gradients are flattened by the derivative
of the first softmax; the accuracy suffers less.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.figures import count, number
from harness.properties.evidence.windows import of_probe
from harness.properties.property import Property

ID = "loss-gets-logits"

TAKES = {
    "cross_entropy": "it takes logits, and softmax of them itself: give it the logits",
    "binary_cross_entropy_with_logits": "it takes logits, and the sigmoid of them itself: give it the "
    "logits, or call binary_cross_entropy",
    "nll_loss": "it takes logarithms of probabilities: call log_softmax instead",
    "kl_div": "its first argument is logarithms of probabilities: call log_softmax instead",
}
"""What each loss takes, and what to do."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Look for losses that were given the output of a softmax or a sigmoid."""
    del expectations
    for probe in trace.probes:
        if probe.program.squashed:
            name, given = probe.program.squashed[0].split(" of ")
            return failed(
                ID,
                f"In {probe.probe} {name} was given what {given} returned: {TAKES[name]}.",
                number("losses that were given what they do not take", len(probe.program.squashed)),
            )
    updates = [w for probe in trace.probes for w in of_probe(probe)]
    if not updates:
        return inconclusive(ID, "No update was seen.")
    return passed(
        ID,
        f"In {count(len(updates), 'update')} no loss that takes logits or logarithms was given "
        "probabilities.",
        number("updates", len(updates)),
    )


PROPERTY = Property(
    id=ID,
    story=str(__doc__),
    judge=judge,
    applies=preconditions.updates,
    needs="an update",
)
