"""Gradients that were cleared before use, and those among them that were only measured.

A program that collects gradient norms over the data first, or looks at one batch twice, wipes those
gradients before it trains. Counting them as micro-batches of the first window called right loops
wrong. What tells them from a wiped accumulation: nothing is lost. Either no update happens in the
whole pass over the data, or another forward of the window carries the same samples.
"""

from collections.abc import Sequence

import numpy as np

from harness.oracle.facts import Parameters, RankRun
from harness.oracle.gradient import Gradient, total
from harness.oracle.replayed import Replayed

SAME = 1e-3
"""Relative difference up to which what is in ``.grad`` after a backward is that backward's
contribution alone.
"""

ALIKE = 0.05
"""Relative difference up to which two gradients count as the same one."""

PARTLY = 1e-2
"""The same, parameter by parameter, where some were cleared and others were not."""

ENOUGH = 16
"""Elements of the parameters that were not cleared; fewer may agree by chance."""

WIPED = 1e-2
"""A coefficient below this part of the window's largest means that the gradient was cleared."""


def cleared_before(window: list[Replayed]) -> int | None:
    """How many flows at the start of the window were cleared before a later backward; ``None`` when
    not even the first backward is seen to start from cleared gradients.

    Where a backward left exactly what it added, nothing older was still there. Needed only for
    flows that least squares cannot tell apart, such as two passes over the same samples.
    """
    start = None
    for first, group in _by_backward(window):
        added = total(x.gradient for x in group).scaled(group[0].flow.loss_scale)
        left = Gradient.of(group[0].flow.left).on(added.names)
        if left.names == added.names and left.minus(added).norm <= SAME * added.norm:
            start = first
    return start


def left_over(window: list[Replayed], before: Parameters) -> float | None:
    """How much of ``before``, the gradient that the last update consumed, was still in ``.grad`` at
    the window's first backward, relative to what that backward added.

    0 unless what is there beside its own contribution is that
    very gradient, in all parameters or in those of one optimizer of several: single precision and a
    copied ``.grad`` leave a difference too.
    """
    groups = _by_backward(window)
    if not groups:
        return None
    _, group = groups[0]
    if any(x.flow.calls > len(x.flow.gradients) for x in group):
        return None  # the same graph went backward again: only the last call is on record
    added = total(x.gradient for x in group).scaled(group[0].flow.loss_scale)
    left, old = (Gradient.of(g).on(added.names) for g in (group[0].flow.left, before))
    if not (left.names == old.names == added.names) or not added.norm or not old.norm:
        return None
    rest = left.minus(added)
    if rest.minus(old).norm <= ALIKE * old.norm:
        return rest.norm / added.norm
    return _kept_in_part(rest, old).norm / added.norm


def _kept_in_part(rest: Gradient, old: Gradient) -> Gradient:
    """``rest`` in the parameters where it is ``old``; empty where they have too few elements.

    The others were cleared, or a hook of the program's changed what arrived for them.
    """
    differs = zip(rest.names, rest.minus(old).norms, old.norms, strict=True)
    kept = {name for name, off, was in differs if was and off <= PARTLY * was}
    found = rest.only(kept)
    return found if len(found.flat) >= ENOUGH else Gradient.of({})


def _by_backward(window: list[Replayed]) -> list[tuple[int, list[Replayed]]]:
    groups: list[tuple[int, list[Replayed]]] = []
    for place, x in enumerate(window):
        if groups and groups[-1][1][0].flow.backward == x.flow.backward:
            groups[-1][1].append(x)
        else:
            groups.append((place, [x]))
    return groups


def passes_with_updates(run: RankRun) -> frozenset[int]:
    """Passes over the data in which something was updated."""
    return frozenset(u.last_batch[0] for u in run.updates if u.last_batch is not None)


def may_measure(updated: frozenset[int], window: list[Replayed]) -> bool:
    """Whether some of these flows may only measure: a flow in a pass without an update, or one
    whose samples another flow carries too. ``updated``: the passes with updates.
    """
    carried = [s for x in window for s in x.samples or ()]
    unknown = any(not x.samples for x in window)
    return (
        unknown
        or len({*carried}) < len(carried)
        or any(_is_of_no_update(updated, x) for x in window)
    )


def without_diagnostics(
    updated: frozenset[int], window: list[Replayed], coefficients: Sequence[float | None]
) -> list[Replayed]:
    """The window's flows that were meant to train. Coefficients are in the order of the flows."""
    largest = max((abs(c) for c in coefficients if c is not None), default=0.0)
    kept = [
        x
        for x, c in zip(window, coefficients, strict=True)
        if c is None or abs(c) > WIPED * largest
    ]
    carried = {s for x in kept for s in x.samples or ()}
    return [
        x
        for x in window
        if any(x is k for k in kept)
        or not (
            _is_of_no_update(updated, x)
            or (x.samples is not None and set(x.samples) <= carried)
            or _has_served(x, kept)
        )
    ]


def _has_served(x: Replayed, kept: Sequence[Replayed]) -> bool:
    """Whether what was cleared had been of use: to move an input, as an attack does, or the parameters
    themselves before the pass that trains, as sharpness-aware minimisation does; or to look at a batch
    or at a part of a loss that trains afterwards.
    """
    moved = any(k.flow.forward.parameters is not x.flow.forward.parameters for k in kept)
    looked = any(k.flow.covers if k.flow.forward is x.flow.forward else _alike(k, x) for k in kept)
    attacked = x.flow.at_input and any(k.samples is None for k in kept)
    return attacked or (x.samples is None and (x.flow.at_input or moved or looked))


def moved_in_between(window: Sequence[Replayed]) -> list[bool]:
    """Of each flow of a window, whether a later one of the same rows ran at other parameters."""
    return [
        any(_moved(later, x) and _alike(later, x) for later in window[at + 1 :])
        for at, x in enumerate(window)
    ]


def _moved(later: Replayed, x: Replayed) -> bool:
    """Whether the same parameters had other values."""
    before, after = x.flow.forward.parameters, later.flow.forward.parameters
    same = before.keys() == after.keys()
    return same and not all(np.array_equal(before[n], after[n]) for n in before)


def _alike(one: Replayed, other: Replayed) -> bool:
    """Whether the same rows entered both."""
    entered, before = one.flow.forward.inputs, other.flow.forward.inputs
    return (
        bool(entered) and len(entered) == len(before) and all(map(np.array_equal, entered, before))
    )


def _is_of_no_update(updated: frozenset[int], x: Replayed) -> bool:
    """Whether it belongs to a pass over the data in which nothing was updated."""
    of_pass = x.flow.forward.in_pass
    return of_pass is not None and of_pass not in updated
