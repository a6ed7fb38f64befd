"""Every parameter is finite after every update.

Bug::

    loss.backward()
    clip_grad_norm_(model.parameters(), 1.0)   # one element is inf: factor 0, inf * 0 = NaN
    optimizer.step()                           # the parameter that held it is NaN for good
    # clipping bounds what is large; it does not repair what is not finite

Signature: some parameter is NaN or infinite after an update.

Masked by: a run that is too short; a loss that ignores the broken part of the output.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.figures import count, number
from harness.properties.property import Property

ID = "params-stay-finite"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Look at the parameters after every update of every probe."""
    del expectations
    seen = 0
    for probe in trace.probes:
        for rank in probe.ranks:
            for update in rank.updates:
                if update.parameters_finite:
                    seen += 1
                    continue
                origin = "finite" if update.consumed_finite else "not finite"
                return failed(
                    ID,
                    f"In {probe.probe} the parameters are no longer finite after update "
                    f"{update.index}; the gradient that the optimizer consumed had norm "
                    f"{update.consumed_norm:.3g} and was {origin}. Stop before the update: test "
                    "the loss, bound the gradient, or lower the learning rate.",
                    number(
                        "norm of the consumed gradient",
                        update.consumed_norm,
                        f"{probe.probe}, update {update.index}",
                    ),
                    number("updates that were sound before it", seen),
                )
    if not seen:
        return inconclusive(ID, "No update was seen.")
    return passed(
        ID,
        f"The parameters were finite after each of {count(seen, 'update')}.",
        number("updates", seen),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.updates,
    explains=("no-batch-lost", "still-learns"),  # every later batch may be left out
    needs="an update",
    rests_on="facts",
)
