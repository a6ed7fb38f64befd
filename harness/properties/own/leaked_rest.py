"""The batches that one pass leaves over, which lie on the first window of the next.

Bug::

    for epoch in range(epochs):
        for step, (x, y) in enumerate(loader):       # 15 batches, windows of 4
            (criterion(model(x), y) / 4).backward()
            if (step + 1) % 4 == 0:
                optimizer.step()
                optimizer.zero_grad()
    # from the second epoch on its first update sums seven losses, each divided by 4

How many batches a pass has is the program's own affair only where its data are: of data that are lent
nobody knows whether anything is left over, and then it is reported and flips nothing.
"""

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from statistics import mean

from harness.domain.own import SHORTER, lent
from harness.domain.trace import ProbeTrace, Trace, Update
from harness.domain.verdict import Verdict
from harness.properties.accumulation.no_batch_lost import carried
from harness.properties.accumulation.one_update_per_window import carried_over
from harness.properties.evidence.figures import close
from harness.properties.evidence.windows import Window, of_probe, usual_size
from harness.properties.judging.apart import only

_NUMBER = re.compile(rf"{SHORTER}(\d+) batches")

SAME = 0.02
"""How unlike two parts of gradients may be that were divided alike."""


def leaked_rest(trace: Trace) -> Verdict | None:
    """The fail of a program with data of its own, where such a window sums more than the others and is
    divided as they are.
    """
    for probe in chain.from_iterable(map(_by_optimizer, trace.probes)):
        usual = usual_size(probe)
        if usual > 1 and _leaves_over(probe, usual) and _is_divided_alike(probe, usual):
            return carried(probe)
    return None


def _by_optimizer(probe: ProbeTrace) -> Iterator[ProbeTrace]:
    """The probe once for each kind of optimizer: another one may have another window."""
    kinds = dict.fromkeys(u.optimizer for rank in probe.ranks for u in rank.updates)
    return (only(probe, partial(_is_of, kind)) for kind in kinds)


def _is_of(kind: str, update: Update) -> bool:
    return update.optimizer == kind


def _leaves_over(probe: ProbeTrace, usual: int) -> bool:
    """Whether its own data leave a rest, whole as they are."""
    notes = lent(probe.program.bound)
    numbers = [_NUMBER.match(note) for note in notes]
    return all(found is not None and int(found[1]) % usual for found in numbers)


def _is_divided_alike(probe: ProbeTrace, usual: int) -> bool:
    """Whether every window but those with a rest has one size, and a micro-batch of both weighs the
    same.
    """
    windows = [w for w in of_probe(probe) if not w.update.short and w.update.window_size]
    full = [w for w in windows if w.update.window_size == usual]
    over = [w for w in windows if carried_over(w, usual)]
    if not full or len(full) + len(over) < len(windows):
        return False
    parts = [p for w in full if (p := _part(w)) is not None]
    return any((p := _part(w)) is not None and any(close(p, q, SAME) for q in parts) for w in over)


def _part(window: Window) -> float | None:
    """What a micro-batch has of the gradient that was consumed, where each has the same."""
    known = [m.coefficient for m in window.own if m.coefficient is not None]
    if not window.separable or len(known) < len(window.own):
        return None
    middle = mean(known)
    return middle if all(close(one, middle, SAME) for one in known) else None
