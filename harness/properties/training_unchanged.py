"""What was only meant to observe changes nothing: the parameters are those of the plain loop.

Bug::

    for name, p in model.named_parameters():
        print(name, clip_grad_norm_(p, 1.0))       # "just for the norm": clips each parameter
    optimizer.step()
    # likewise: an extra forward in training mode (dropout, BatchNorm), a changed learning rate

Signature: the last parameters differ from those of the plain loop in at least one bit.

Masked by: norms below the threshold; a loss curve that looks the same.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence.consumption import read
from harness.properties.evidence.figures import count, number, show
from harness.properties.evidence.windows import full_of
from harness.properties.judging.property import Property

ID = "training-unchanged"


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
        return failed(
            ID,
            f"In {probe.probe} the parameters after {count(len(probe.updates), 'update')} are not "
            f"those of the plain loop (loss {show(learning.after)}). Only read gradients between "
            "backward and step; change neither them, nor the learning rate, nor the random state.",
            number("loss after", learning.after, probe.probe),
            number("updates", len(probe.updates), probe.probe),
        )
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
    story=str(__doc__),
    judge=judge,
    explains=("finite-loss", "params-stay-finite", "still-learns"),
    needs="an update in a probe that is compared with the plain loop",
    rests_on="end",
)
