"""The windows of one rank: which flows of gradient belong to which update."""

from collections import Counter
from dataclasses import replace

from harness.oracle.diagnostics import (
    cleared_before,
    may_measure,
    passes_with_updates,
    without_diagnostics,
)
from harness.oracle.facts import Consumed, Flow, RankRun
from harness.oracle.gradient import Gradient
from harness.oracle.matching import BROKEN_DOWN, coefficients
from harness.oracle.replay import Replay
from harness.oracle.replayed import Replayed

ReplayedWindows = list[list[Replayed]]
"""The flows of each update of one rank."""

CHANGED = 1e-3
"""Relative distance between recorded and recomputed output that no rounding in full precision causes."""


def windows_of(run: RankRun, replay: Replay) -> ReplayedWindows:
    """Every window, without backwards that only measured."""
    meant = ([f for f in update.flows if not f.foreign] for update in run.updates)
    windows = [_window(flows, replay, is_sampled=run.sampled) for flows in meant]
    updated = passes_with_updates(run)
    pairs = zip(run.updates, windows, strict=True)
    return [_trained(updated, update, window) for update, window in pairs]


def strays_of(run: RankRun, replay: Replay) -> ReplayedWindows:
    """For each update, the flows before it that were meant for another part of the model."""
    strays = ([f for f in update.flows if f.foreign] for update in run.updates)
    return [_window(flows, replay, is_sampled=run.sampled) for flows in strays]


def _window(flows: list[Flow], replay: Replay, *, is_sampled: bool) -> list[Replayed]:
    """Flows through the workload's model are recomputed; of the program's own models, and of the
    workload's where the program changed its layers, one a backward is kept.
    """
    known = [f for f in flows if not (is_sampled or f.recorded_only) and replay.knows(f.forward)]
    recomputed = dict(zip(map(id, known), replay.flows(known), strict=True))
    window: list[Replayed] = []
    seen: dict[int, Replayed] = {}
    for flow in flows:
        differs = 0.0
        if id(flow) in recomputed:
            differs = recomputed[id(flow)].differs
            if not (flow.added and _is_of_another(recomputed[id(flow)])):
                window.append(recomputed[id(flow)])
                continue
        x = replace(replay.recorded(flow), differs=differs)
        before = seen.get(flow.backward)
        if before is None:
            seen[flow.backward] = x
            window.append(x)
        elif before.samples is None or (before.own is None and x.own is not None):
            window[window.index(before)] = seen[flow.backward] = x
    return window


def _is_of_another(x: Replayed) -> bool:
    """Whether what came out of the workload's model shows that it is made of other layers now."""
    return x.differs > (CHANGED if x.flow.forward.autocast is None else BROKEN_DOWN)


def usual_size(windows: ReplayedWindows) -> int:
    """The most common number of micro-batches, the larger one of equals; 0 without any."""
    sizes = Counter(len(w) for w in windows if w)
    return max(sizes, key=lambda size: (sizes[size], size), default=0)


def _trained(updated: frozenset[int], update: Consumed, window: list[Replayed]) -> list[Replayed]:
    if len(window) < 2 or not update.steps or not may_measure(updated, window):
        return window
    cleared = cleared_before(window) or 0
    rest = [x.gradient for x in window[cleared:]]
    solved = coefficients(rest, Gradient.of(update.gradients)).values
    return without_diagnostics(updated, window, (*[0.0] * cleared, *solved))
