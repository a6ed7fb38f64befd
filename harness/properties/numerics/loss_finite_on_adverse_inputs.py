"""On the inputs that broke the posted loss, loss and gradient are finite, or training stops aloud.

Bug::

    def custom_loss(pred, target):
        return (torch.log(pred) - torch.log(target)).pow(2).mean()   # NaN below 0, infinite at 0

    loss = custom_loss(model(x), y)
    loss.backward()

Signature: in the adverse probe a backward's root or a gradient after backward is not finite; or
batches disappear there that are trained on elsewhere.

Masked by: data that keeps predictions positive; ``log(pred + 1e-8)``, which moves the edge and
leaves it; ``nan_to_num`` and skipped batches, which hide the value and lose the samples.
"""

import math

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.completion import stopped_itself
from harness.properties.evidence.figures import count, number
from harness.properties.evidence.windows import ordinary
from harness.properties.property import Expected, Property

ID = "loss-finite-on-adverse-inputs"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """First whether all values are finite, then whether samples were dropped to keep them so."""
    probe = trace.probe(expectations.adverse_probe)
    if probe is None:
        return inconclusive(ID, "There is no probe with adverse inputs to judge.")
    return not_finite(probe) or hidden(probe, ordinary(trace, expectations)) or sound(probe)


def not_finite(probe: ProbeTrace) -> Verdict | None:
    """A fail on the first value that is not finite."""
    for rank in probe.ranks:
        for nth, backward in enumerate(rank.backwards):
            value_bad = backward.loss is not None and not math.isfinite(backward.loss)
            if not value_bad and backward.gradients_finite:
                continue
            what = (
                f"the loss is {backward.loss}"
                if value_bad
                else "the loss is finite but its gradient is not"
            )
            return failed(
                ID,
                f"In {probe.probe}, backward {nth + 1}, {what}. Clipping cannot repair it: keep "
                "the loss inside the domain of its logarithms, divisions and roots (clamp the "
                "argument, not only add an epsilon).",
                number(
                    "loss",
                    math.nan if backward.loss is None else backward.loss,
                    f"{probe.probe}, backward {nth + 1}",
                ),
            )
    return None


def hidden(probe: ProbeTrace, sound_probes: tuple[ProbeTrace, ...]) -> Verdict | None:
    """A fail when adverse samples are lost, and the same loop loses none of the sound ones."""
    ended = probe.program.outcome in ("returned", "exited")
    lost = sum(r.batches_lost - r.lost_at_end for r in probe.ranks) if ended else 0
    elsewhere = sum(r.batches_lost - r.lost_at_end for p in sound_probes for r in p.ranks)
    silent = [
        u.index
        for r in probe.ranks
        for u in r.updates
        if (m := u.match("as-computed")) is not None and m.expected_norm == 0.0
    ]
    if silent or (lost > 0 and elsewhere == 0):
        what = (
            f"update {silent[0]} got a gradient of exactly 0"
            if silent
            else f"{count(lost, 'batch')} never reached the optimizer"
        )
        return failed(
            ID,
            f"In {probe.probe} {what}: the adverse inputs are hidden, not handled. Make the loss "
            "finite on them instead of replacing or skipping what is not finite.",
            number("batches lost", lost, probe.probe),
        )
    return None


def sound(probe: ProbeTrace) -> Verdict:
    """A pass, if there were losses and updates to look at."""
    if stopped_itself(probe):
        return passed(
            ID,
            f"In {probe.probe} the program stopped itself ({probe.program.exception}) before it "
            "trained on anything that is not finite.",
        )
    values = [b.loss for r in probe.ranks for b in r.backwards if b.loss is not None]
    updates = sum(len(r.updates) for r in probe.ranks)
    if not values or not updates:
        return inconclusive(
            ID,
            f"In {probe.probe} there were {len(values)} losses and {updates} updates: too few to "
            "judge.",
        )
    return passed(
        ID,
        f"In {probe.probe} all {len(values)} losses, their gradients and the parameters after "
        f"{count(updates, 'update')} were finite; the largest loss was {max(values):.3g}.",
        number("losses", len(values), probe.probe),
        number("largest loss", max(values), probe.probe),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    expects=(
        Expected(
            "adverse_probe",
            "adverse_probe: NAME  # the probe whose inputs break the posted loss",
        ),
    ),
    explains=("finite-loss", "params-stay-finite", "still-learns", "no-batch-lost"),
    needs="a probe with adverse inputs, a loss and an update in it",
    rests_on="facts",
)
