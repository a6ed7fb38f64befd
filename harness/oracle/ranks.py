"""All ranks, measured, and how far they agree."""

import math

from harness.domain.recording import Backward, ScalerCall
from harness.domain.trace import BackwardSeen, RankTrace, ScalerSeen
from harness.oracle.facts import Parameters, RankRun
from harness.oracle.following import Follower
from harness.oracle.gradient import Gradient
from harness.oracle.lost import lost_batches
from harness.oracle.replay import Replay
from harness.oracle.updates import RankView, measure_update
from harness.oracle.windows import Windows, usual_size, windows_of


def measure_ranks(
    runs: list[RankRun], replays: list[Replay]
) -> tuple[tuple[RankTrace, ...], float | None]:
    """All ranks, and their largest disagreement (``None`` for one rank)."""
    windows = [windows_of(run, replay) for run, replay in zip(runs, replays, strict=True)]
    traces = tuple(_rank(rank, runs, windows, replay) for rank, replay in enumerate(replays))
    return traces, _disagreement(runs) if len(runs) > 1 else None


def _rank(rank: int, runs: list[RankRun], windows: list[Windows], replay: Replay) -> RankTrace:
    run = runs[rank]
    view = RankView(rank, run, windows, usual_size(windows[rank]))
    follower = Follower()
    measured = tuple(measure_update(i, view, follower) for i in range(len(run.updates)))
    lost, at_end, yielded = lost_batches(rank, run, measured, view.usual, replay)
    return RankTrace(
        rank=rank,
        updates=measured,
        backwards=_backwards(run),
        scaler=_scaler_calls(run),
        batches_yielded=yielded,
        batches_lost=lost,
        lost_at_end=at_end,
        unrecognised=_unrecognised(windows[rank]),
        implicit_updates=run.implicit_updates,
    )


def _disagreement(runs: list[RankRun]) -> float:
    first, worst = runs[0], 0.0
    for other in runs[1:]:
        if len(other.updates) != len(first.updates):
            return math.inf
        for a, b in zip(first.updates, other.updates, strict=True):
            worst = max(worst, _difference(a.gradients, b.gradients), _difference(a.after, b.after))
    return worst


def _difference(a: Parameters, b: Parameters) -> float:
    if set(a) != set(b):
        return math.inf
    ours, theirs = Gradient.of(a), Gradient.of(b).on(tuple(a))
    size, gap = max(ours.norm, 1e-300), ours.minus(theirs).norm
    return gap / size if math.isfinite(gap) else (0.0 if _equal_bits(a, b) else math.inf)


def _equal_bits(a: Parameters, b: Parameters) -> bool:
    return all(a[n].numpy().tobytes() == b[n].numpy().tobytes() for n in a)


def _backwards(run: RankRun) -> tuple[BackwardSeen, ...]:
    seen, position = [], [u.position for u in run.updates]
    for at, event in enumerate(run.events):
        if isinstance(event, Backward) and event.raised is None:
            loss = event.roots[0] if event.roots else None
            if loss is not None and event.loss_scale:
                loss = loss / event.loss_scale
            seen.append(
                BackwardSeen(
                    loss=loss,
                    gradients_finite=event.gradients_finite,
                    after_update=sum(p < at for p in position),
                )
            )
    return tuple(seen)


def _scaler_calls(run: RankRun) -> tuple[ScalerSeen, ...]:
    position = [u.position for u in run.updates]
    return tuple(
        ScalerSeen(
            method=e.method,
            enabled=e.enabled,
            scale_before=e.scale_before,
            scale_after=e.scale_after,
            skipped=e.skipped,
            raised=e.raised,
            after_update=sum(p < at for p in position),
        )
        for at, e in enumerate(run.events)
        if isinstance(e, ScalerCall)
    )


def _unrecognised(windows: Windows) -> tuple[str, ...]:
    return tuple(
        f"input of forward {x.flow.forward.id}, sizes {[tuple(t.shape) for t in x.flow.forward.inputs]}"
        for window in windows
        for x in window
        if x.samples is None
    )
