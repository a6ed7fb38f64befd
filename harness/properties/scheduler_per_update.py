"""A learning-rate schedule moves once an update, not once a micro-batch.

Bug::

    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / 4).backward()
        scheduler.step()               # four times an update: warm-up is over too soon
        if (i + 1) % 4 == 0:
            optimizer.step()
            optimizer.zero_grad()

Signature: more than one scheduler step an update, throughout; a schedule as long as there are updates
that steps once a pass and so hardly begins; or the scheduler steps between the last backward and the
optimizer's step, which takes from each update the rate that was meant for it.

Masked by: windows of one micro-batch. Lawful: one an epoch, none, one a rank (a schedule counted
in single-process steps), one for each of several optimizers.
"""

from collections.abc import Sequence

from harness.domain.scenario import Expectations
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.figures import count, middle, number, show
from harness.properties.property import Property
from harness.properties.windows import Window, full, of_probe, ordinary

ID = "scheduler-per-update"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Scheduler steps between one update and the next."""
    names = {p.probe for p in ordinary(trace, expectations)}
    windows = [w for w in full(trace) if w.probe.probe in names]
    moved = [w for p in trace.probes for w in of_probe(p) if w.update.scheduler_steps]
    if not moved or not windows:
        return inconclusive(ID, f"No scheduler stepped in {count(len(windows), 'full window')}.")
    for probe in (p for p in trace.probes if p.probe in names):
        wrong = too_often(probe, [w for w in windows if w.probe is probe])
        if wrong is not None:
            return wrong
    rare = too_seldom([p for p in trace.probes if p.probe in names])
    if rare is not None:
        return rare
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


def too_often(probe: ProbeTrace, windows: list[Window]) -> Verdict | None:
    """A fail when several steps an update are the rule."""
    if not windows:
        return None
    usual = middle([w.update.scheduler_steps for w in windows])
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
    """A fail when the length of the schedule counts updates, and its steps count something rarer.

    A length that was written down may agree with one probe by chance, so it has to follow two.
    """
    found = {length: probe for probe in probes if (length := barely_begun(probe)) is not None}
    if len(found) < 2:
        return None
    length, probe = min(found.items())
    steps = sum(u.scheduler_steps for u in probe.updates)
    return failed(
        ID,
        f"In {probe.probe} the schedule is made for {length} steps, about as many as there are "
        f"updates ({len(probe.updates)}), and moved {count(steps, 'time')}: most of it never "
        "happens. Call scheduler.step() after every optimizer.step(), or give it the number of "
        "passes.",
        number("length of the schedule", length, probe.probe),
        number("scheduler steps", steps, probe.probe),
    )


def barely_begun(probe: ProbeTrace) -> int | None:
    """The length of a schedule that is as long as there are updates and moved half of it at most."""
    steps = sum(u.scheduler_steps for u in probe.updates)
    lengths = {u.scheduled_for for u in probe.updates if u.scheduler_steps}
    length = lengths.pop() if len(lengths) == 1 else None
    if length is None or probe.parts or probe.program.outcome != "returned":
        return None
    counts_updates = abs(len(probe.updates) - length) <= steps  # each pass may leave a tail
    return length if counts_updates and steps <= length / 2 else None


def too_early(early: list[Window], of: int) -> Verdict:
    """The fail for moving the schedule before the update that it is for."""
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


PROPERTY = Property(
    id=ID,
    story=str(__doc__),
    judge=judge,
    explains=("training-unchanged", "still-learns"),
    needs="a scheduler that steps, and a full window",
)
