"""Training still achieves something: the loss falls by what the scenario expects.

Bug::

    for x, y in train_loader:
        optimizer.zero_grad()
        loss = torch.nan_to_num(criterion(model(x), y))    # no NaN to be seen any more
        loss.backward()                                    # and no gradient either
        optimizer.step()

Signature: the workload's own loss over all data, recomputed at the last parameters, over that at
the first ones exceeds what is expected, or is not finite.

Masked by: the loss that the program prints, which it may have changed. Where the scenario leaves the
loss to the program, and its gradient is all along that of another one, that other loss must not grow.
"""

import math
from collections.abc import Sequence
from statistics import fmean

from harness.domain.scenario import Expectations, Objective
from harness.domain.trace import Learning, ProbeTrace, Trace, Update
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.figures import count, number, show
from harness.properties.evidence.windows import ordinary
from harness.properties.property import Property

ID = "still-learns"

APART = 0.05
"""Directions that differ by more than this belong to gradients of different losses."""

NO_HARM = 1.05
"""Loss after over loss before that noise may cause within a few updates."""

EXPLODES = 10.0
"""Loss after over loss before that no choice of a rate excuses. RMSprop begins with steps of ten times
its rate: at torch's own default it doubles or quadruples a small loss before it falls.
"""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Compare the loss before and after, in the probes where a right loop learns."""
    probes = [p for p in meant(trace, expectations) if p.updates and not another_model(p)]
    others = [p for p in probes if another_loss(p, expectations)]
    for probe in others:
        if (verdict := of_its_own(probe)) is not None:
            return verdict
    left_out = (*others, *filter(skips_all_by_its_own, probes))
    measured = [(p, p.learning) for p in probes if p.learning is not None and p not in left_out]
    if not measured:
        return inconclusive(
            ID, "No probe with an update that was made had its loss measured before and after."
        )
    for probe, learning in measured:
        if not math.isfinite(learning.after) or fraction(learning) > limit(
            probe, learning, expectations
        ):
            return stuck(probe, learning, limit(probe, learning, expectations))
    probe, learning = max(measured, key=lambda pair: fraction(pair[1]))
    return passed(
        ID,
        f"In {probe.probe} the loss went from {show(learning.before)} to {show(learning.after)} "
        f"({fraction(learning):.2f}, at most {limit(probe, learning, expectations):.2f} expected).",
        number("loss before", learning.before, probe.probe),
        number("loss after", learning.after, probe.probe),
    )


def meant(trace: Trace, expectations: Expectations) -> tuple[ProbeTrace, ...]:
    """The probes where a right loop learns: the healthy one if the scenario names one, else all
    with sound data.
    """
    healthy = trace.probe(expectations.healthy_probe)
    if healthy is not None:
        return (healthy,)
    return tuple(
        p for p in ordinary(trace, expectations) if p.probe != expectations.unhealthy_probe
    )


def another_model(probe: ProbeTrace) -> bool:
    """Whether the program exchanged layers of the workload's model, so that its loss at these
    parameters means nothing.
    """
    return any(not u.recomputed and u.output_differs > 0.0 for u in probe.updates)


def another_loss(probe: ProbeTrace, expectations: Expectations) -> bool:
    """Whether the program trains throughout on a loss of its own, where the scenario allows one:
    then the workload's loss does not measure its success. A loss that only ever pushes outputs one
    way fits them to nothing and does not count.
    """
    asked = [o for o in expectations.objectives if o != "as-computed"]
    if len(asked) == len(expectations.objectives):
        return False
    turned = [update for update in probe.updates if is_of_another(update, asked)]
    fits = any(m.both_ways for update in turned for m in update.micro_batches)
    return fits and 2 * len(turned) > len(probe.updates)


def is_of_another(update: Update, asked: Sequence[Objective]) -> bool:
    """Whether the update consumed the gradient of the program's own loss, clipped or not, and that
    differs from every gradient that is asked for.
    """
    computed = update.match("as-computed")
    given = [match for objective in asked if (match := update.match(objective)) is not None]
    own = computed is not None and computed.direction_error <= update.tolerance
    return own and bool(given) and all(match.direction_error > APART for match in given)


def of_its_own(probe: ProbeTrace) -> Verdict | None:
    """A fail when the program's own loss more than doubled, or was not finite at the end."""
    losses = [call.loss for call in probe.ranks[0].backwards if call.loss is not None]
    third = len(losses) // 3
    if not third:
        return None
    first, last = fmean(losses[:third]), fmean(losses[-third:])
    if last <= first + abs(first) or not math.isfinite(first):
        return None
    return failed(
        ID,
        f"In {probe.probe} the program's own loss went from {show(first)} to {show(last)} in "
        f"{count(len(losses), 'backward')}. Whatever was done to the loop, it must still train.",
        number("its loss at first", first, probe.probe),
        number("its loss at last", last, probe.probe),
    )


def skips_all_by_its_own(probe: ProbeTrace) -> bool:
    """Whether no update was made by an optimizer of the program's own: what it did not move shows
    neither harm nor learning.
    """
    own = probe.learning is not None and probe.learning.own_optimizer
    return own and all(update.skipped for update in probe.updates)


def fraction(learning: Learning) -> float:
    """Loss after over loss before."""
    return learning.after / learning.before if learning.before else float("inf")


def limit(probe: ProbeTrace, learning: Learning, expectations: Expectations) -> float:
    """Largest lawful loss after over loss before.

    A program that builds its own optimizer chose the learning rate for another model, so on ours it
    only has to do no harm, and with true gradients not to explode.
    """
    if not learning.own_optimizer:
        return NO_HARM if expectations.loss_falls_to is None else expectations.loss_falls_to
    true = all(_is_true(update, expectations) for update in probe.updates)
    return EXPLODES if true else NO_HARM


def _is_true(update: Update, expectations: Expectations) -> bool:
    """Whether the optimizer consumed what it was to, of whatever size, and did what it does with it."""
    asked = (update.match(objective) for objective in expectations.objectives)
    directed = any(match.direction_error <= APART for match in asked if match is not None)
    return update.skipped or (directed and update.parameters_followed is not False)


def stuck(probe: ProbeTrace, learning: Learning, allowed: float) -> Verdict:
    """The fail for a loss that did not fall enough."""
    return failed(
        ID,
        f"In {probe.probe} the loss went from {show(learning.before)} to {show(learning.after)} "
        f"in {len(probe.updates)} updates; at most {allowed:.2f} of it was "
        "expected to be left. Whatever was done to the loop, it must still train.",
        number("loss before", learning.before, probe.probe),
        number("loss after", learning.after, probe.probe),
        number("updates", len(probe.updates), probe.probe),
    )


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.has_to_learn,
    needs="an update, and the loss before and after",
    rests_on="end",
)
