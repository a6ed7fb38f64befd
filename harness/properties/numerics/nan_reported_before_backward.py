"""A loss that is not finite is reported before backward, and nothing learns from it.

Bug::

    loss = criterion(model(x), y)          # a NaN in the data: the loss is NaN
    loss.backward()
    clip_grad_norm_(model.parameters(), 1.0)   # NaN norm: every gradient becomes NaN
    optimizer.step()                       # every parameter is NaN from here on
    print(f"loss: {loss.item()}")          # said one update too late

Signature: with one poisoned batch, nothing is printed or raised between its forward and the next
backward, or an optimizer consumes a gradient that is not finite.

Masked by: a GradScaler, which skips the update; a silent ``continue``, which hides the origin.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence.figures import number
from harness.properties.property import Expected, Property

ID = "nan-reported-before-backward"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Nothing was trained on the NaN, and it was reported in time."""
    probe = trace.probe(expectations.poisoned_probe)
    if probe is None:
        return inconclusive(ID, "There is no probe with a poisoned batch to judge.")
    spoiled = trained_from_it(probe)
    if spoiled is not None:
        return spoiled
    if probe.program.reported_before_backward is None:
        return inconclusive(ID, f"In {probe.probe} no forward saw the poisoned batch.")
    if not probe.program.reported_before_backward:
        return failed(
            ID,
            f"In {probe.probe} nothing was printed or raised between the forward of the poisoned "
            "batch and what came next. Test the loss (torch.isfinite(loss)) before backward, say "
            "which batch it was, and do not update from it.",
        )
    updates = sum(len(r.updates) for r in probe.ranks)
    return passed(
        ID,
        f"In {probe.probe} the poisoned batch was reported before any backward, and none of the "
        f"{updates} updates consumed it.",
        number("updates", updates, probe.probe),
    )


def trained_from_it(probe: ProbeTrace) -> Verdict | None:
    """A fail when an optimizer consumed a gradient that is not finite."""
    for rank in probe.ranks:
        for update in rank.updates:
            if update.skipped or (update.consumed_finite and update.parameters_finite):
                continue
            return failed(
                ID,
                f"In {probe.probe} update {update.index} was made from a gradient of norm "
                f"{update.consumed_norm}: the poisoned loss went through backward into the "
                "parameters. Test the loss before backward and leave the batch out.",
                number(
                    "norm of the consumed gradient",
                    update.consumed_norm,
                    f"{probe.probe}, update {update.index}",
                ),
            )
    return None


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    expects=(
        Expected(
            "poisoned_probe",
            "poisoned_probe: NAME  # the probe with one batch whose loss is NaN",
        ),
    ),
    explains=("params-stay-finite", "still-learns"),
    needs="a probe in which a forward sees a poisoned batch",
)
