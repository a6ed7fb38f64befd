"""Each window has the intended size and one update; no gradient is stepped twice.

Bug::

    for i, (x, y) in enumerate(train_loader):
        (criterion(model(x), y) / 4).backward()
        if i % 4 == 0:                 # true at i = 0: the first update sees one micro-batch
            optimizer.step()
            optimizer.zero_grad()

Signature: a window that the end of the data did not cut differs in size from the usual one, and is
not the mean of its own micro-batches, or much smaller or larger; all windows hold one micro-batch,
once or several times, where several were meant; an update has no new micro-batch and the old
gradient; batches of the window before are in the next one again, in the same pass; or a batch
is in one window twice; or losses are divided for an accumulation that never takes place.

Masked by: one update; a loss curve, which falls all the same.
"""

from collections import Counter
from itertools import pairwise

from harness.domain.clip_call import norm_met
from harness.domain.scenario import Expectations
from harness.domain.trace import MicroBatch, ProbeTrace, Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.accumulation.declared import divided_by_another, divided_for_nothing
from harness.properties.accumulation.stepped_again import repeated
from harness.properties.evidence import cut_off, preconditions
from harness.properties.evidence.figures import close, count, number
from harness.properties.evidence.windows import (
    Window,
    backwards_of,
    crosses_passes,
    of_probe,
    of_rank,
    ordinary,
    over_and_over,
    sizes_in_order,
    usual_size,
)
from harness.properties.property import Property

ID = "one-update-per-window"

SIZES = 3
"""So many different sizes, none of them usual, are no count that went wrong."""

ALIKE = 0.01
"""How far the sum of a window's weights may be from 1."""

SAME_NUMBER = (
    "Step after the same number each time, but for the rest of a pass: count from 1 ((i + 1) % N == 0), "
    "begin anew with each pass, and let no other loss go backward."
)
"""What to do about windows of different sizes."""

CLEARED = 1e-4
"""Part of a window's largest coefficient below which a micro-batch was cleared before the step."""

UNDONE = 0.5
"""An update counts as undone when parameters are moved back by more than this part of it."""


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Judge the sizes of windows, probe by probe, where the data are sound."""
    whole = 0
    sizes: set[int] = set()
    for probe in ordinary(trace, expectations):
        wrong = repeated(probe) or trained_again(probe) or counted_twice(probe)
        wrong = wrong or divided_for_nothing(probe) or divided_by_another(probe)
        if wrong is None and expectations.accumulates and by_another_measure(probe):
            said = "the windows end by another measure than their number, and nobody knows which"
            return inconclusive(ID, f"In {probe.probe} {said}.")
        if wrong is None and expectations.accumulates:
            wrong = too_small(probe) or odd(probe, expectations)
        if wrong is not None:
            return wrong
        usual = usual_size(probe)
        found = [w for w in of_probe(probe) if usual and counts(w, usual, expectations)]
        sizes |= {w.update.window_size for w in found}
        whole += len(found)
    if whole < 2:
        return inconclusive(
            ID, f"{count(whole, 'full window')} seen; at least two are needed to tell a rhythm."
        )
    names = " or ".join(str(s) for s in sorted(sizes))
    return passed(
        ID,
        f"{count(whole, 'full window')}, each of {names} micro-batches and with one update.",
        number("windows", whole),
        number("micro-batches in a window", max(sizes)),
    )


def trained_again(probe: ProbeTrace) -> Verdict | None:
    """A fail when two updates in a row, in one pass over the data, consumed the same batches: some
    of a window's batches, or all of them at one place after another. Parts of a model may take
    turns on a batch, and training on one batch over and over is lawful.
    """
    if probe.parts:
        return None
    rows = [of_rank(probe, rank) for rank in probe.ranks]
    found = [(b, again(a, b)) for row in rows for a, b in pairwise(row)]
    whole = [(b, old) for b, old in found if old and len(old) == len(b.own)]
    parts = [(b, old) for b, old in found if old and len(old) < len(b.own) and not gathers_none(b)]
    places = {m.after_batch for b, _ in whole for m in b.own}
    of = sum(len(row) for row in rows)
    wrong = parts or (whole if len(places) > 1 and 3 * len(whole) >= of else [])
    if not wrong:
        return None
    first, old = wrong[0]
    return failed(
        ID,
        f"In {first.where}, {count(len(old), 'micro-batch')} had reached the optimizer in the update "
        f"before already, in the same pass over the data, and so in {len(wrong)} of "
        f"{count(of, 'update')}. Use every batch once: one update each, and forget a window's "
        "batches after its step.",
        number("micro-batches consumed again", len(old), first.where),
        number("updates in which any was", len(wrong), probe.probe),
    )


def again(before: Window, now: Window) -> tuple[MicroBatch, ...]:
    """Micro-batches of a window that were in the window before it already, if the loader had moved
    on or all of them are old.

    Data that the program keeps in a list and repeats are not judged: there is no loader to tell
    passes.
    """
    if now.update.timed or before.update.overwritten > UNDONE or crosses_passes(now):
        return ()
    old = {m.samples for m in before.own if m.samples and len(m.samples) > 1}
    found = tuple(m for m in now.own if m.samples in old)
    at = {m.after_batch for m in (*before.own, *now.own)}
    passes = {place[0] for place in at if place is not None}
    if None in at or len(passes) != 1 or not stepped(before) & stepped(now):
        return ()
    moved_on = before.own[-1].after_batch != now.own[-1].after_batch
    return found if moved_on or len(found) == len(now.own) else ()


def counted_twice(probe: ProbeTrace) -> Verdict | None:
    """A fail when one update gathered some batch more than once. Where nothing but one batch was
    handed out, training on it over and over is lawful.
    """
    for window in () if probe.parts else of_probe(probe):
        computed = window.update.match("as-computed")
        twice = more_than_once(window)
        if not twice or computed is None or computed.direction_error > window.tolerance:
            continue
        return failed(
            ID,
            f"In {window.where} {twice} of {count(len(window.own), 'micro-batch')} had "
            "been gathered in the same window already, and count twice. Take the next batch from one "
            "iterator, and close a short window as it is.",
            number("micro-batches gathered again", twice, window.where),
            number("micro-batches in the window", len(window.own), window.where),
        )
    return None


def more_than_once(window: Window) -> int:
    """How many micro-batches of a window hold the samples of an earlier one, of those that the loader
    handed out.
    """
    own = [m for m in window.own if m.samples and m.after_batch is not None]
    alone = len({m.after_batch for m in own}) == 1 and len({m.samples for m in own}) == 1
    return 0 if alone or window.update.timed else len(own) - len({m.samples for m in own})


def stepped(window: Window) -> set[str]:
    """Names of the parameters that the optimizer had a gradient for."""
    parameters = window.update.matches[0].parameters if window.update.matches else ()
    return {p.name for p in parameters if p.consumed_norm is not None}


def too_small(probe: ProbeTrace) -> Verdict | None:
    """A fail when each update consumes one micro-batch although several were to be accumulated."""
    again = over_and_over(probe)
    if usual_size(probe) != 1 and not again:
        return None
    steps, times = len(of_probe(probe)), ", time and again" if again else ""
    to_do = "Run backward for each micro-batch of a window, and step when it is full."
    return failed(
        ID,
        f"In {probe.probe} each of {count(steps, 'update')} consumed a single micro-batch{times}, where "
        f"several were meant to be gathered. {cut_off.advice(of_probe(probe), to_do)}",
        number("micro-batches in a window", 1, probe.probe),
        number("updates", steps, probe.probe),
    )


def counts(window: Window, usual: int, expectations: Expectations) -> bool:
    """Whether a window counts as full: it has the usual size, or its own and the divisor to match."""
    same = window.update.window_size == usual
    lawful = same or (expectations.accumulates and of_its_own_size(window, usual, expectations))
    return lawful and not window.update.short


def of_its_own_size(window: Window, usual: int, expectations: Expectations) -> bool:
    """Whether a window of about the usual size was divided by its own size: the last one may take
    the rest, or ten batches be split evenly into 4, 3 and 3.
    """
    alike = usual <= 2 * window.update.window_size <= 4 * usual
    return alike and is_mean_of_its_own(window, expectations)


def is_mean_of_its_own(window: Window, expectations: Expectations) -> bool:
    """Whether the optimizer consumed the mean over the window's own micro-batches or samples."""
    weight = sum(m.weight or 0.0 for m in window.own)
    later = float(window.update.window_size)  # the gradients may be divided before the clip
    whole = close(weight, 1.0, ALIKE) or close(weight, later, ALIKE)
    if expectations.unasked and divided_by_its_own(window):
        return True
    matches = [window.update.match(o) for o in expectations.objectives if o != "as-computed"]
    return any(
        m.relative_error <= window.tolerance
        or (whole and bool(window.update.clip_calls) and m.ratio < 1.0)
        or close(norm_met(window.update, m.consumed_norm) or 0.0, m.expected_norm, ALIKE)
        for m in matches
        if m is not None and m.direction_error <= window.tolerance
    )


def divided_by_its_own(window: Window) -> bool:
    """Whether each loss is a mean over the number of losses in this window."""
    factors = [b.factor for b in backwards_of(window)]
    known = [f for f in factors if f is not None]
    return len(known) == len(factors) > 0 and close(sum(known), 1.0, ALIKE)


def grow(probe: ProbeTrace, expectations: Expectations) -> bool:
    """Whether windows grow on purpose: none shrinks or more than doubles, and each has its own
    divisor.
    """
    rows = [of_rank(probe, rank) for rank in probe.ranks]
    whole = [[w for w in row if w.update.window_size and not w.update.short] for row in rows]
    steady = all(
        before.update.window_size <= now.update.window_size <= 2 * before.update.window_size
        for row in whole
        for before, now in pairwise(row)
    )
    return steady and all(is_mean_of_its_own(w, expectations) for row in whole for w in row)


def odd(probe: ProbeTrace, expectations: Expectations) -> Verdict | None:
    """A fail when a window has an unusual size, and neither the end of the data, nor a tail carried
    over, nor a divisor of its own explains it.
    """
    usual = usual_size(probe)
    if all(map(gathers_none, of_probe(probe))):
        return None
    each_its_own = (
        of_one_batch_each(probe)
        or all(
            of_its_own_size(w, usual, expectations)
            for w in of_probe(probe)
            if w.update.window_size and not w.update.short
        )
        or grow(probe, expectations)
    )
    for window in of_probe(probe):
        size = window.update.window_size
        if (
            window.update.short
            or size in (0, usual, usual_of_its_model(window), only_one_of_its_optimizer(window))
            or "LBFGS" in window.update.optimizer
        ):
            continue
        if carried_over(window, usual) or on_unknown_data(window, usual) or each_its_own:
            continue
        return failed(
            ID,
            f"In {window.where} the optimizer stepped after {count(size, 'micro-batch')}; the windows "
            f"hold, in order: {sizes_in_order(window)}. {cut_off.advice([window], SAME_NUMBER)}",
            number("micro-batches in the window", size, window.where),
            number("usual", usual, probe.probe),
        )
    return None


def gathers_none(window: Window) -> bool:
    """Whether at most one backward went before its step: rows of earlier batches, as of a replay
    buffer, join the loss of a new one.
    """
    return len(backwards_of(window)) < 2


def of_one_batch_each(probe: ProbeTrace) -> bool:
    """Whether every window is one batch of the loader, taken apart: it has as many parts as there are
    samples, and no rhythm. Nor have windows that all hold the same samples.
    """
    windows = [w for w in of_probe(probe) if w.own]
    if len(rows := {m.samples for w in windows for m in w.own}) == 1 and all(rows):
        return True
    found = [{m.after_batch for m in w.own} for w in windows]
    places = [place for window in found for place in window]
    single = all(m.real_samples == 1 for w in windows for m in w.own)
    whole = all(len(window) == 1 for window in found) and None not in places
    return single and whole and len(places) == len({*places}) * len(probe.ranks)


def by_another_measure(probe: ProbeTrace) -> bool:
    """Whether windows of its own data end by something else than their number, as a budget of tokens
    does: many have another size than the most frequent one.
    """
    windows = [w for w in of_probe(probe) if not w.update.short]
    if any(m.samples for w in windows for m in w.own) or all(map(divided_by_its_own, windows)):
        return False
    sizes = Counter(w.update.window_size for w in windows)
    often = max(sizes.values(), default=0)
    return len(sizes) >= SIZES and 3 * often <= 2 * sizes.total()


def usual_of_its_model(window: Window) -> int:
    """The most frequent size among updates of the same parameters; 0 where others share some of them."""
    row, its_own = of_rank(window.probe, window.rank_trace), stepped(window)
    same = [w for w in row if stepped(w) == its_own]
    if any(stepped(w) != its_own and stepped(w) & its_own for w in row):
        return 0
    sizes = Counter(w.update.window_size for w in same)
    return max(sizes, key=lambda size: (sizes[size], size), default=0)


def only_one_of_its_optimizer(window: Window) -> int:
    """The size of all windows of an optimizer, as of one that searched for a rate before training; 0
    where there is none.
    """
    row = of_rank(window.probe, window.rank_trace)
    same = [w for w in row if w.update.optimizers == window.update.optimizers]
    sizes = {w.update.window_size for w in same if not w.update.short}
    return sizes.pop() if 1 < len(same) < len(row) and len(sizes) == 1 else 0


def on_unknown_data(window: Window, usual: int) -> bool:
    """Whether a smaller window may lie at the end of a pass over data that the program brought
    itself, or one of the usual size follows a rest that was cleared.
    """
    if any(m.samples for m in window.own):
        return False
    smaller = 0 < window.update.window_size < usual and window.update.index > 0
    parts = [abs(m.coefficient or 0.0) for m in window.own]
    kept = [part > CLEARED * max(parts) for part in parts]
    return smaller or (sum(kept) == usual and all(kept[-usual:]))


def carried_over(window: Window, usual: int) -> bool:
    """Whether the window begins with the tail of the pass before."""
    return window.update.window_size > usual > 0 and crosses_passes(window)


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    applies=preconditions.updates,
    explains=(
        "gradients-start-fresh",
        "accumulation-not-wiped",
        "accumulation-equals-large-batch",
        "no-batch-lost",
        "scheduler-per-update",
        "single-allreduce",
        "clip-before-step",
        "clip-once-per-update",
        "clip-global-norm",
        "training-unchanged",
        "finite-loss",
        "params-stay-finite",
        "still-learns",
    ),
    needs="two full windows",
)
