"""What was only meant to observe changes nothing: the parameters are those of the plain loop.

Bug::

    for name, p in model.named_parameters():
        print(name, clip_grad_norm_(p, 1.0))       # "just for the norm": clips each parameter
    optimizer.step()
    # likewise: an extra forward in training mode (dropout, BatchNorm), a changed learning rate

Signature: the last parameters differ from those of the plain loop in at least one bit.

Masked by: norms below the threshold; a loss curve that looks the same.
"""

from harness.domain.scenario import Expectations, Objective
from harness.domain.trace import Learning, ProbeTrace, Trace
from harness.domain.verdict import Number, Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.consumption import WindowReading, read
from harness.properties.evidence.figures import count, number, show
from harness.properties.evidence.windows import full_of, of_probe
from harness.properties.property import Property

ID = "training-unchanged"

CLEARLY = 1e-3
"""Relative error from which on a gradient is told as another one; below it may be rounding."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Compare final parameters with the plain loop's, in the probes where nothing may change."""
    compared = [
        p
        for p in meant(trace, expectations)
        if p.learning and p.learning.parameters_identical is not None
    ]
    trained = [p for p in compared if p.updates]
    for probe in compared:
        learning = probe.learning
        if learning is None or learning.parameters_identical:
            continue
        if not probe.updates:
            continue
        return changed(probe, learning, expectations)
    if not trained:
        return changed_gradients(trace, expectations) or inconclusive(
            ID, "No probe with an update was compared with the plain loop."
        )
    updates = sum(len(p.updates) for p in trained)
    names = ", ".join(p.probe for p in trained)
    return passed(
        ID,
        f"After {count(updates, 'update')} ({names}) the parameters are those of the plain loop, "
        "bit for bit.",
        number("updates", updates),
    )


def changed(probe: ProbeTrace, learning: Learning, expectations: Expectations) -> Verdict:
    """The fail for other parameters than the plain loop's, with the first gradient that differs."""
    told = emptied(probe) or other_gradient(probe, expectations)
    unseen = (
        f"In {probe.probe} the parameters after {count(len(probe.updates), 'update')} are not the plain "
        f"loop's (loss {show(learning.after)}), though each gradient is the true one to rounding"
    )
    what, *figures = told or (unseen,)
    return failed(
        ID,
        f"{what}. Leave the loss, the learning rate and the random state as they are, and only read "
        "gradients between backward and step.",
        *figures,
        number("loss after", learning.after, probe.probe),
        number("updates", len(probe.updates), probe.probe),
    )


def emptied(probe: ProbeTrace) -> tuple[str, Number] | None:
    """That an update consumed nothing, in words."""
    first = next((w for w in of_probe(probe) if w.update.consumed_norm == 0.0), None)
    if first is None:
        return None
    what = f"In {first.where} the optimizer consumed nothing, where the plain loop has a gradient"
    return what, number("norm of the consumed gradient", 0.0, first.where)


def other_gradient(
    probe: ProbeTrace, expectations: Expectations
) -> tuple[str, Number, Number] | None:
    """The first gradient that is clearly not what backward computed, or not that of the plain loop's
    loss, in words.
    """
    asked = [o for o in expectations.objectives if o != "as-computed"]
    on_the_way = differing(probe, "as-computed")
    of_the_loss = min((differing(probe, o) for o in asked), key=len, default=[])
    both = [(r, "backward had computed") for r in on_the_way[:1]]
    both += [(r, "the plain loop's loss gives") for r in of_the_loss[:1]]
    if not both:
        return None
    one, made = min(both, key=lambda pair: pair[0].update.index)
    turned = "" if one.aligned else f" in another direction (cosine {one.match.cosine:.3f})"
    what = (
        f"In {one.where} the optimizer consumed a gradient of norm {show(one.consumed)}{turned}, "
        f"where {made} one of {show(one.true)}: this is not the plain loop's training"
    )
    return (
        what,
        number("norm of that gradient", one.true, one.where),
        number("norm of the consumed gradient", one.consumed, one.where),
    )


def differing(probe: ProbeTrace, objective: Objective) -> list[WindowReading]:
    """Windows whose gradient is clearly another one than that of this objective."""
    readings = read(full_of(probe), objective, None).readings
    return [r for r in readings if r.match.relative_error > CLEARLY]


def changed_gradients(trace: Trace, expectations: Expectations) -> Verdict | None:
    """A fail when a program with its own optimizer consumed other gradients than backward computed.

    It has no plain loop to compare parameters with, so it cannot pass.
    """
    own = [p for p in meant(trace, expectations) if p.learning and p.learning.own_optimizer]
    windows = [w for p in own for w in full_of(p)]
    readings = read(windows, "as-computed", None).readings
    off = [r for r in readings if r.state != "exact" and r.update.loss_scale == 1.0]
    if len(off) < 2:
        return None
    first = max(off, key=lambda r: abs(r.ratio - 1.0))
    return failed(
        ID,
        f"In {first.where} the optimizer consumed a gradient of norm {show(first.consumed)} where "
        f"backward had computed {show(first.true)}, and so in {count(len(off), 'update')}: what was "
        "only meant to observe changed it. Only read gradients between backward and step.",
        number("norm of the computed gradient", first.true, first.where),
        number("norm of the consumed gradient", first.consumed, first.where),
    )


def meant(trace: Trace, expectations: Expectations) -> tuple[ProbeTrace, ...]:
    """The probes in which nothing may change: those that the scenario names, else all."""
    named = {
        expectations.stable_probe,
        expectations.healthy_probe,
        expectations.unhealthy_probe,
    } - {None}
    return tuple(p for p in trace.probes if not named or p.probe in named)


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.must_not_change,
    explains=("finite-loss", "params-stay-finite", "still-learns"),
    needs="an update in a probe that is compared with the plain loop",
    rests_on="end",
)
