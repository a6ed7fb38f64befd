"""All ranks, measured, and how far they agree."""

import math
from bisect import bisect_left
from itertools import pairwise

from harness.domain.event import Backward, ScalerCall, SchedulerStep
from harness.domain.trace import BackwardSeen, RankTrace, ScalerSeen, Update
from harness.oracle.between import unfollowed
from harness.oracle.facts import Parameters, RankRun
from harness.oracle.following import Follower
from harness.oracle.gradient import Gradient
from harness.oracle.lost import lost_batches
from harness.oracle.noise import with_repeats
from harness.oracle.parts import apart
from harness.oracle.rates import left_behind
from harness.oracle.replay import Replay
from harness.oracle.updates import RankView, measure_update
from harness.oracle.windows import strays_of, usual_size, windows_of

TOGETHER = 1e-6
"""Relative distance of parameters below which ranks hold the same ones."""


def measure_ranks(
    runs: list[RankRun], replays: list[Replay]
) -> tuple[tuple[RankTrace, ...], float | None]:
    """All ranks, and their largest disagreement (``None`` for one rank)."""
    views = _views(runs, replays)
    traces = tuple(_rank(runs[n], views[n], replay) for n, replay in enumerate(replays))
    return traces, _disagreement(runs) if len(runs) > 1 else None


def _views(runs: list[RankRun], replays: list[Replay]) -> list[list[RankView]]:
    """For every rank what it trained: the model, or its parts where they are trained apart."""
    split = [apart(run, replay.parts) for run, replay in zip(runs, replays, strict=True)]
    alike = all(parts.keys() == split[0].keys() for parts in split)
    parts = [*split[0]] if split and split[0] and alike else [""]
    by_part = [
        _views_of(
            part, [s[part] if part else run for s, run in zip(split, runs, strict=True)], replays
        )
        for part in parts
    ]
    return [list(of_rank) for of_rank in zip(*by_part, strict=True)]


def _views_of(part: str, runs: list[RankRun], replays: list[Replay]) -> list[RankView]:
    pairs = [*zip(runs, replays, strict=True)]
    windows = [windows_of(run, replay) for run, replay in pairs]
    strays = [strays_of(run, replay) for run, replay in pairs] if part else []
    return [
        RankView(rank, run, windows, usual_size(windows[rank]), strays, part)
        for rank, run in enumerate(runs)
    ]


def _rank(run: RankRun, views: list[RankView], replay: Replay) -> RankTrace:
    measured = _in_order([(view, _measured(view)) for view in views])
    rank, usual = views[0].rank, max(view.usual for view in views)
    lost, at_end, yielded = lost_batches(rank, run, measured, usual, replay)
    return RankTrace(
        rank=rank,
        updates=measured,
        backwards=_backwards(run),
        scaler=_scaler_calls(run),
        batches_yielded=yielded,
        batches_lost=lost,
        lost_at_end=at_end,
        implicit_updates=run.implicit_updates,
        unfollowed=unfollowed(run),
        unused_forwards=len(run.open_flows),
        judged_by=_judged_by(run),
        left_behind=left_behind(run),
    )


def _judged_by(run: RankRun) -> tuple[float, ...]:
    told = (event.metric for event in run.events if isinstance(event, SchedulerStep))
    return tuple(metric for metric in told if metric is not None and math.isfinite(metric))


def _measured(view: RankView) -> tuple[Update, ...]:
    follower = Follower()
    updates = tuple(measure_update(i, view, follower) for i in range(len(view.run.updates)))
    return with_repeats(updates, view)


def _in_order(measured: list[tuple[RankView, tuple[Update, ...]]]) -> tuple[Update, ...]:
    """The updates of all parts, numbered as they were made."""
    if len(measured) == 1:
        return measured[0][1]
    placed = [
        (consumed.position, update)
        for view, updates in measured
        for consumed, update in zip(view.run.updates, updates, strict=True)
    ]
    ordered = sorted(placed, key=lambda pair: pair[0])
    return tuple(u.model_copy(update={"index": i}) for i, (_, u) in enumerate(ordered))


def _disagreement(runs: list[RankRun]) -> float:
    first, worst = runs[0], 0.0
    for other in runs[1:]:
        if len(other.updates) != len(first.updates):
            return math.inf
        for a, b in zip(first.updates, other.updates, strict=True):
            worst = max(worst, _difference(a.after, b.after))
            if not (a.skipped and b.skipped):  # what both left unused may be each one's own
                worst = max(worst, _difference(a.gradients, b.gradients))
    return worst


def brought_together(runs: list[RankRun]) -> int:
    """How often parameters that differed between ranks behind an update were the same before the next,
    as where ranks train apart and average their weights.
    """
    rows = zip(*(run.updates for run in runs), strict=False)
    times = 0
    for last, now in pairwise(rows) if len(runs) > 1 else ():
        parted = any(_difference(last[0].after, u.after) > TOGETHER for u in last[1:])
        alike = all(_difference(now[0].before, u.before) <= TOGETHER for u in now[1:])
        times += parted and alike
    return times


def same_rows(runs: list[RankRun]) -> bool:
    """Whether another rank was trained on the very rows that the first one was trained on."""
    first, *others = [
        {
            tuple((i.shape, i.tobytes()) for i in flow.forward.inputs)
            for update in run.updates
            for flow in update.flows
        }
        for run in runs
    ] or [set()]
    return bool(first) and first in others


def _difference(a: Parameters, b: Parameters) -> float:
    if set(a) != set(b):
        return math.inf
    ours, theirs = Gradient.of(a), Gradient.of(b).on(tuple(a))
    size, gap = max(ours.norm, 1e-300), ours.minus(theirs).norm
    return gap / size if math.isfinite(gap) else (0.0 if _equal_bits(a, b) else math.inf)


def _equal_bits(a: Parameters, b: Parameters) -> bool:
    return all(a[n].tobytes() == b[n].tobytes() for n in a)


def _backwards(run: RankRun) -> tuple[BackwardSeen, ...]:
    seen, position = [], sorted(u.position for u in run.updates)
    left = False
    for at, event in enumerate(run.events):
        if isinstance(event, Backward) and event.raised is None:
            left = left or event.function == "backward"
            loss = event.roots[0] if event.roots else None
            if loss is not None and event.loss_scale:
                loss = loss / event.loss_scale
            seen.append(
                BackwardSeen(
                    loss=loss,
                    gradients_finite=event.gradients_finite,
                    after_update=bisect_left(position, at),
                    factor=_factor(event, loss),
                    mean_of=event.returned[0][0] if len(event.returned) == 1 else "",
                    times_own_mean=_times_own_mean(event),
                    weighed=_weighed(event),
                    returned=event.function == "grad",
                    put_by_hand=at in run.holding and not left,
                    in_vain=at in run.in_vain,
                    line=event.line,
                )
            )
    return tuple(seen)


def _factor(event: Backward, loss: float | None) -> float | None:
    """What the program multiplied the one mean by that its loss was made of."""
    if loss is None or len(event.roots) != 1 or len(event.returned) != 1:
        return None
    if event.arrived is not None:
        scale = event.injected * (event.loss_scale or 1.0)
        return event.arrived / scale if math.isfinite(event.arrived) else None
    seed = 1.0 if event.seed is None else event.seed
    mean = event.returned[0][1]
    factor = seed * loss / mean if mean else math.nan
    return factor if math.isfinite(factor) else None


def _times_own_mean(event: Backward) -> float | None:
    """What the program multiplied a mean of its own by."""
    if event.times_mean is None:
        return None
    times = event.times_mean * (1.0 if event.seed is None else event.seed)
    times /= event.loss_scale or 1.0
    return times if math.isfinite(times) else None


def _weighed(event: Backward) -> tuple[tuple[float, int], ...]:
    """What each target of its losses counts."""
    scale = event.injected * (event.loss_scale or 1.0)
    found = ((each / scale, number) for each, number in event.weighed)
    return tuple((each, number) for each, number in found if math.isfinite(each))


def _scaler_calls(run: RankRun) -> tuple[ScalerSeen, ...]:
    position = sorted(u.position for u in run.updates)
    return tuple(
        ScalerSeen(
            method=e.method,
            enabled=e.enabled,
            scale_before=e.scale_before,
            scale_after=e.scale_after,
            skipped=e.skipped,
            raised=e.raised,
            after_update=bisect_left(position, at),
            scaler=e.scaler,
        )
        for at, e in enumerate(run.events)
        if isinstance(e, ScalerCall)
    )
