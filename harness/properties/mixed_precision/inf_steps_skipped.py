"""An update whose scaled gradient overflows is skipped, and training goes on.

Bug::

    scaler.scale(loss).backward()                  # one window overflows: infinite gradients
    scaler.unscale_(optimizer)
    clip_grad_norm_(model.parameters(), 1.0)       # inf * 0 = NaN
    optimizer.step()                               # scaler.step(optimizer) would have skipped it

Signature: in the overflow probe an update that is not skipped consumes a gradient that is not
finite; parameters are not finite afterwards; no update follows; or updates that nothing overflows in
are skipped, since ``.grad`` still holds the infinities.

Masked by: data that never overflows; a scaler that is disabled because there is no GPU.
"""

from collections.abc import Sequence

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, RankTrace, Trace, Update
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.figures import count, number, show
from harness.properties.mixed_precision.kept_infinities import kept
from harness.properties.mixed_precision.own_scale import all_finite, own_way
from harness.properties.property import Expected, Property

ID = "inf-steps-skipped"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Follow the overflow on every rank."""
    probe = trace.probe(expectations.overflow_probe)
    if probe is None:
        return inconclusive(ID, "There is no probe in which a scaled gradient overflows.")
    wrong = (consumed(probe, rank) for rank in probe.ranks)
    if (reached := next(filter(None, wrong), None)) is not None:
        return reached
    seen = [first for r in probe.ranks if (first := overflow(r)) is not None]
    if not seen and in_bfloat16(trace, expectations):
        return passed(
            ID,
            f"In {probe.probe} nothing overflowed: the forward runs in bfloat16, which has the range of "
            "float32, and no loss is scaled.",
        )
    if not seen:
        return inconclusive(ID, f"In {probe.probe} no gradient overflowed.")
    if probe.program.outcome == "raised":
        return ended(trace, probe, seen[0])
    return went_on(probe, seen[0])


def ended(trace: Trace, probe: ProbeTrace, first: int) -> Verdict:
    """The verdict on a run that raised: a fail, unless another probe ended at the same line in the same
    way, for then it is not because of the overflow.
    """
    program = probe.program
    end = (program.exception, program.line)
    others = (p for p in trace.probes if p is not probe and p.program.outcome == "raised")
    other = next((p for p in others if (p.program.exception, p.program.line) == end), None)
    if other is not None:
        return inconclusive(
            ID,
            f"In {probe.probe} the run raised {program.exception} at line {program.line}, and so it did "
            f"in {other.probe}, where nothing is made to overflow.",
        )
    return failed(
        ID,
        f"In {probe.probe} the run ended on the overflow ({program.exception}: {program.message}): an "
        "overflow under a GradScaler is routine. Let scaler.step skip the update and scaler.update "
        "lower the scale.",
        number("updates before it", first, probe.probe),
    )


def in_bfloat16(trace: Trace, expectations: Expectations) -> bool:
    """Whether the program used bfloat16 without a loss scale, and every number stayed finite."""
    way = None if expectations.needs_scaler else own_way(trace, expectations)
    return way is not None and way.scale is None and all_finite(trace, expectations)


def consumed(probe: ProbeTrace, rank: RankTrace) -> Verdict | None:
    """A fail when the overflow reached the parameters."""
    for update in rank.updates:
        if update.skipped or (update.consumed_finite and update.parameters_finite):
            continue
        return failed(
            ID,
            f"In {probe.probe} update {update.index} was made from a gradient of norm "
            f"{update.consumed_norm} instead of being skipped. Step through the scaler "
            "(scaler.step(optimizer), then scaler.update()), which tests for infinities.",
            number(
                "norm of the consumed gradient",
                update.consumed_norm,
                f"{probe.probe}, update {update.index}",
            ),
            number("loss scale", update.loss_scale, f"{probe.probe}, update {update.index}"),
        )
    return None


def overflow(rank: RankTrace) -> int | None:
    """How many updates came before the first gradient that was not finite; ``None`` if all were
    finite.
    """
    found = [b.after_update for b in rank.backwards if not b.gradients_finite]
    found += [u.index for u in rank.updates if u.skipped]
    return min(found, default=None)


def never_cleared(probe: ProbeTrace, stuck: Sequence[Update]) -> Verdict:
    """The fail for infinities that outlive the update that they belong to."""
    first = stuck[0]
    return failed(
        ID,
        f"In {probe.probe} {count(len(stuck), 'update')} after a skipped one was skipped as well "
        f"(first update {first.index}, at a loss scale of {show(first.loss_scale)}), though a higher "
        "scale had left larger losses finite: the infinite gradients of the overflow were still in "
        ".grad. Clear the gradients after every scaler.step, skipped or not.",
        number("updates skipped without an overflow", len(stuck), probe.probe),
        number("loss scale", first.loss_scale, f"{probe.probe}, update {first.index}"),
    )


def went_on(probe: ProbeTrace, first: int) -> Verdict:
    """A pass when sound updates follow the overflow."""
    if stuck := kept(probe):
        return never_cleared(probe, stuck)
    skips = sum(u.skipped for u in probe.updates)
    after = sum(not u.skipped and u.index >= first for u in probe.updates)
    if not after and still_looking(probe.ranks[0], first):
        return inconclusive(
            ID,
            f"In {probe.probe} every update from the overflow on was skipped, always at a lower scale, "
            "and gradients were sound in between: the data ended before a scale was found that fits.",
            number("skipped updates", skips, probe.probe),
        )
    if not after and probe.program.outcome in ("returned", "exited"):
        return failed(
            ID,
            f"In {probe.probe} no update followed the overflow (after {count(first, 'update')}). "
            "Clear the gradients and call scaler.update() after a skipped step, so that the "
            "scale falls and the next window is sound.",
            number("updates before the overflow", first, probe.probe),
        )
    if not after:
        return inconclusive(
            ID,
            f"In {probe.probe} the program ended before another update could follow the overflow.",
        )
    return passed(
        ID,
        f"In {probe.probe} a gradient overflowed after {count(first, 'update')}, "
        f"{count(skips, 'update')} was skipped, the parameters stayed finite, and "
        f"{count(after, 'sound update')} followed.",
        number("skipped updates", skips, probe.probe),
        number("updates after the overflow", after, probe.probe),
    )


def still_looking(rank: RankTrace, first: int) -> bool:
    """Whether the scale fell with every skip and gradients were cleared: one that is larger by the
    window, as a loss is that is not divided, may need a scale that is lower by several steps.
    """
    lowered = sum(c.method == "update" and c.scale_after < c.scale_before for c in rank.scaler)
    skips = [u.index for u in rank.updates if u.skipped]
    cleared = any(b.gradients_finite for b in rank.backwards if b.after_update > first)
    return len(skips) > 1 and lowered >= len(skips) and cleared


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    expects=(
        Expected(
            "overflow_probe",
            "overflow_probe: NAME  # the probe in which a scaled gradient overflows",
        ),
    ),
    applies=preconditions.made_to_overflow,
    explains=("finite-loss", "params-stay-finite", "still-learns"),
    needs="a probe in which a scaled gradient overflows",
)
