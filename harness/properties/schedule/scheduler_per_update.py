"""A learning-rate schedule moves once an update, not once a micro-batch.

Bug::

    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / 4).backward()
        scheduler.step()               # four times an update: warm-up is over too soon
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()

Signature: more than one scheduler step an update, throughout; a schedule as long as there are updates
that steps once a pass and so hardly begins, or that steps once a pass besides; one as long as there are
micro-batches that steps once an update; or the scheduler steps before the first update, or between
the last backward and the optimizer's step, which takes from each update the rate that was meant for it;
the scheduler moves the rates of an optimizer that does not step, or not any more; or a schedule that
moves with every update has the rate at 0 by the middle of training, as one does whose length counts
passes; one that is over before training and rises again, or that leaves out the short last windows
which its length counts; or, without a scheduler, rates that are spent by then, or that are set in some
groups only; or the rates are plainly not those that were meant (``mistaken_rates``).

Masked by: windows of one micro-batch. Lawful: one an epoch, none, one a rank (a schedule counted
in single-process steps), one for each of several optimizers, a step ahead that leaves a rate of 0,
several ahead that make up for an earlier run.
"""

import ast
from collections.abc import Callable, Sequence
from itertools import takewhile

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace, Update
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence import preconditions
from harness.properties.evidence.figures import count, middle, number, show
from harness.properties.evidence.windows import Window, full, of_probe, ordinary
from harness.properties.property import Property
from harness.properties.schedule.drawn_out import leaves_rests_out
from harness.properties.schedule.mistaken_rates import mistaken
from harness.properties.schedule.never_moved import left_behind, never_moved
from harness.properties.schedule.other_counts import (
    asks_for_updates,
    counts_otherwise,
    warms_up_for_ever,
)
from harness.properties.schedule.rates_by_hand import by_hand
from harness.properties.schedule.spent_schedules import spent
from harness.syntax import tree_of, walk

ID = "scheduler-per-update"

OTHERS = 3
"""Updates of another optimizer before a schedule that moves once says that it was left behind."""

FEW = 2
"""Up to this many steps in one place may be one for the update and one for the pass."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Count scheduler steps between one update and the next."""
    names = {p.probe for p in ordinary(trace, expectations)}
    windows = [w for w in full(trace) if w.probe.probe in names]
    moved = [w for p in trace.probes for w in of_probe(p) if w.update.scheduler_steps]
    ahead = [
        u for p in trace.probes if p.probe in names for u in p.updates if u.scheduled_ahead == 1
    ]
    plain = next(filter(None, map(mistaken, trace.probes)), None)
    if plain is not None or not (moved or ahead) or not windows:
        return plain or nothing_stepped(windows, ordinary(trace, expectations))
    for probe in (p for p in trace.probes if p.probe in names):
        wrong = (
            elsewhere(probe)
            or too_often(probe, [w for w in windows if w.probe is probe])
            or spent(probe)
            or leaves_rests_out(probe)
            or counts_otherwise(probe)
            or warms_up_for_ever(probe)
            or asks_for_updates(probe)
        )
        if wrong is not None:
            return wrong
    sound = [p for p in trace.probes if p.probe in names]
    misfit = too_seldom(sound) or too_long(sound) or past_its_end(sound)
    if misfit is not None:
        return misfit
    if ahead:
        return ahead_of_all(ahead)
    early = [w for w in windows if w.update.scheduled_early]
    if len(early) > 1 and 2 * len(early) > len(windows):
        return too_early(early, len(windows))
    skips = sum(u.scheduler_steps for p in trace.probes for u in p.updates if u.skipped)
    also = (
        f" It also moved {skips} times for updates that were skipped, which brings it ahead."
        if skips
        else ""
    )
    most = max(w.update.scheduler_steps for w in windows)
    return passed(
        ID,
        f"The schedule moved in {len(moved)} of {count(len(windows), 'full window')}, at most "
        f"{most} times an update.{also}",
        number("windows in which it moved", len(moved)),
        number("most steps an update", most),
    )


def nothing_stepped(windows: Sequence[Window], probes: Sequence[ProbeTrace]) -> Verdict:
    """What the rates say that a program sets itself."""
    partly = next(filter(None, map(left_behind, probes)), None)
    said = partly or never_moved(probes) or (by_hand(probes) if windows else None)
    text = f"No scheduler stepped in {count(len(windows), 'full window')}."
    return said if said is not None else inconclusive(ID, text)


def elsewhere(probe: ProbeTrace) -> Verdict | None:
    """A fail when the schedule moves an optimizer that never steps, or does not step any more, and
    nothing moves the one that does.
    """
    moved = [u for u in probe.updates if u.scheduler_steps]
    late = list(takewhile(lambda u: u.scheduled_elsewhere >= u.scheduler_steps, reversed(moved)))
    steps = sum(u.scheduler_steps for u in late)
    always = len(late) == len(moved)
    before = moved[-2].index + 1 if len(moved) > 1 == len(late) else 0
    since = 0 if always else before or min((u.index for u in late), default=0)
    stepped = [u for u in probe.updates if u.index >= since and not u.skipped]
    rates = {u.learning_rates for u in stepped}
    too_few = steps < 2 and (not steps or always or len(stepped) < OTHERS)
    if too_few or len(rates) != 1:
        return None
    rate = max(stepped[0].learning_rates, default=0.0)
    return failed(
        ID,
        f"In {probe.probe} the schedule moved {count(steps, 'time')}, and the optimizer that steps "
        f"stayed at {show(rate)} in {count(len(stepped), 'update')}: the scheduler holds another one, "
        f"which {'never steps' if always else 'does not step any more'}. Build the scheduler last, on "
        "the optimizer that the loop steps.",
        number("scheduler steps", steps, probe.probe),
        number("learning rate", rate, probe.probe),
    )


def too_often(probe: ProbeTrace, windows: list[Window]) -> Verdict | None:
    """A fail when the schedule usually moves several times an update."""
    if not windows:
        return None
    late = next((w for w in windows if by_micro_batch(w, probe)), None)
    usual = late.update.window_size if late else middle([w.update.scheduler_steps for w in windows])
    optimizers = max(len(w.update.optimizer.split(", ")) for w in windows)
    if usual <= max(1, optimizers):
        return None
    size = windows[0].update.window_size
    if usual == probe.world_size:
        if usual != size:
            return None
        text = (
            f"In {probe.probe} the schedule moved {show(usual)} times an update: once a "
            "micro-batch, or once a rank."
        )
        return inconclusive(ID, text, number("scheduler steps an update", usual, probe.probe))
    per = " (once a micro-batch)" if usual == size else ""
    return failed(
        ID,
        f"In {probe.probe} the schedule moved {show(usual)} times an update{per}, so it ends "
        f"after 1/{show(usual)} of the planned training. Call scheduler.step() where "
        "optimizer.step() is called, after it.",
        number("scheduler steps an update", usual, probe.probe),
        number("micro-batches in a window", size, probe.probe),
    )


def too_seldom(probes: Sequence[ProbeTrace]) -> Verdict | None:
    """A fail when the schedule's length counts updates, and it is stepped less often, say once a
    pass.
    """
    return misfit(
        probes,
        barely_begun,
        lambda probe, _length, steps: (
            f"about as many as there are updates ({len(probe.updates)}), and "
            f"moved {count(steps, 'time')}: most of it never happens. Call scheduler.step() after "
            "every optimizer.step(), or give it the number of passes."
        ),
    )


def too_long(probes: Sequence[ProbeTrace]) -> Verdict | None:
    """A fail when the schedule's length counts micro-batches, and it is stepped once an update."""
    return misfit(
        probes,
        in_micro_batches,
        lambda _probe, length, steps: (
            f"one for each micro-batch, and moved {count(steps, 'time')}, once "
            f"an update: it ends after 1/{show(length / steps)} of its way, and the rate never decays. "
            "Count its length in updates too."
        ),
    )


def past_its_end(probes: Sequence[ProbeTrace]) -> Verdict | None:
    """A fail when the schedule's length counts updates, and in every probe it is stepped once an
    update and once more a pass.
    """
    if any(runs_over(probe) is None for probe in probes if probe.updates):
        return None
    return misfit(
        probes,
        runs_over,
        lambda _probe, _length, steps: (
            f"one for each update, and moved {count(steps, 'time')}: once an "
            "update, and again once a pass. It is ahead from the first pass on, and runs past its end. "
            "Step it after updates only."
        ),
    )


def misfit(
    probes: Sequence[ProbeTrace],
    length_of: Callable[[ProbeTrace], int | None],
    sentence: Callable[[ProbeTrace, int, int], str],
) -> Verdict | None:
    """A fail when ``length_of`` finds a misfit in two probes of different lengths, or of a length that
    the program computes: a constant that it names may coincide with a count.
    """
    found = {length: probe for probe in probes if (length := length_of(probe)) is not None}
    if not found or (len(found) == 1 and not all(is_computed(n, p) for n, p in found.items())):
        return None
    length, probe = min(found.items())
    steps = sum(u.scheduler_steps for u in probe.updates)
    return failed(
        ID,
        f"In {probe.probe} the schedule is made for {length} steps, {sentence(probe, length, steps)}",
        number("length of the schedule", length, probe.probe),
        number("scheduler steps", steps, probe.probe),
    )


def is_computed(length: int, probe: ProbeTrace) -> bool:
    """Whether the program names this number nowhere, so that it comes of its counts."""
    source = probe.program.source
    named = {n.value for n in walk(tree_of(source)) if isinstance(n, ast.Constant)}
    return bool(source) and length not in named


def runs_over(probe: ProbeTrace) -> int | None:
    """The schedule's length, if it equals the number of updates and the schedule moved with each of
    them and more often in total; ``None`` otherwise.
    """
    length = planned(probe)
    moved = [u.scheduler_steps for u in probe.updates]
    if (
        length is None
        or length != len(moved)
        or min(moved) < 1
        or any(u.skipped for u in probe.updates)
    ):
        return None
    return length if length < sum(moved) < 2 * length else None


def in_micro_batches(probe: ProbeTrace) -> int | None:
    """The schedule's length, if it equals the number of micro-batches, and the schedule moved once for
    each update, at most half as often; ``None`` otherwise.
    """
    length = planned(probe)
    steps = sum(u.scheduler_steps for u in probe.updates)
    if length is None or length != probe.ranks[0].batches_yielded:
        return None
    return length if abs(steps - len(probe.updates)) <= 1 and 0 < steps <= length / 2 else None


def barely_begun(probe: ProbeTrace) -> int | None:
    """The schedule's length, if it equals the number of updates, and the schedule moved at most
    half as often; ``None`` otherwise.
    """
    steps = sum(u.scheduler_steps for u in probe.updates)
    cut = probe.program.outcome == "exited"
    length = planned(probe, cut=cut)
    if length is None:
        return None
    missing = len(probe.updates) / steps if cut and steps else steps  # a pass, or its tail
    counts_updates = -steps <= length - len(probe.updates) <= missing
    return length if counts_updates and steps <= length / 2 else None


def planned(probe: ProbeTrace, *, cut: bool = False) -> int | None:
    """The length of the only schedule that stepped; ``None`` if it has none or the run was cut short,
    which ``cut`` allows.
    """
    lengths = {u.scheduled_for for u in probe.updates if u.scheduler_steps}
    ended = (probe.program.outcome == "returned" or cut) and not probe.parts
    return lengths.pop() if ended and len(lengths) == 1 else None


def ahead_of_all(ahead: Sequence[Update]) -> Verdict:
    """The fail for stepping the scheduler before the first update, as at the top of the loop."""
    rate = max(ahead[0].learning_rates, default=0.0)
    return failed(
        ID,
        f"The schedule moved before the first update, which was made at {show(rate)}: the first "
        "learning rate is never used, and all later ones come an update too soon. Call "
        "scheduler.step() after optimizer.step().",
        number("scheduler steps before the first update", 1),
        number("learning rate of the first update", rate),
    )


def too_early(early: list[Window], of: int) -> Verdict:
    """The fail for stepping the scheduler between backward and the optimizer's step."""
    first = early[0]
    rate = max(first.update.learning_rates, default=0.0)
    return failed(
        ID,
        f"In {first.where} the schedule moved between backward and the step, to {show(rate)}, and "
        f"so in {len(early)} of {count(of, 'full window')}: the first learning rate is never used. "
        "Call scheduler.step() after optimizer.step().",
        number("windows in which it moved too early", len(early)),
        number("learning rate", rate, first.where),
    )


def by_micro_batch(window: Window, probe: ProbeTrace) -> bool:
    """Whether between this update and the next, in one pass over the data, the schedule moved with
    each micro-batch: it may have moved with updates before, or not at all.
    """
    size, index = window.update.window_size, window.update.index
    following = next(
        (w for w in of_probe(probe) if (w.rank, w.update.index) == (window.rank, index + 1)), None
    )
    if (
        following is None
        or size <= FEW
        or window.update.scheduler_steps != size != probe.world_size
    ):
        return False
    passes = {m.after_batch[0] for w in (window, following) for m in w.own if m.after_batch}
    return len(passes) == 1


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.scheduled,
    explains=("training-unchanged", "still-learns"),
    needs="a scheduler that steps, and a full window",
)
