"""One update of one rank, measured."""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from harness.domain.event import BatchYielded, Clip
from harness.domain.trace import Match, MicroBatch, Update
from harness.oracle.diagnostics import cleared_before, left_over, moved_in_between
from harness.oracle.event_lines import event_lines
from harness.oracle.facts import Array, Consumed, RankRun
from harness.oracle.following import Follower, moved, overwritten, trained_behind
from harness.oracle.gradient import Gradient, norm, total
from harness.oracle.matching import (
    BROKEN_DOWN,
    Coefficients,
    coefficients,
    cut_at,
    match,
    tolerance,
    unexplained_by_parameter,
)
from harness.oracle.replayed import Replayed
from harness.oracle.windows import ReplayedWindows, usual_size

REACH = 2
"""How many earlier windows are searched for gradients that were not cleared."""


@dataclass(frozen=True, slots=True)
class RankView:
    """One rank, with what measuring its updates needs of all others."""

    rank: int
    """Number of the rank."""
    run: RankRun
    """What it did."""
    windows: list[ReplayedWindows]
    """Windows of every rank."""
    usual: int
    """Its most common window size."""
    strays: list[ReplayedWindows] = field(default_factory=list)
    """Flows that were meant for another part of the model, of every rank; empty where nothing is
    trained apart.
    """
    trains: str = ""
    """The part of the model that is trained; empty for the whole."""


def measure_update(index: int, view: RankView, follower: Follower) -> Update:
    """One update of one rank."""
    update = view.run.updates[index]
    own = view.windows[view.rank][index]
    stepped = _stepped(update)
    known = own or [x for _, _, x in _listed(index, view)]  # stepped again: the same gradient
    names = {n for x in known for n in x.gradient.names if stepped is None or n in stepped}
    together = [x for of_rank in view.windows if index < len(of_rank) for x in of_rank[index]]
    return Update(
        index=index,
        trains=view.trains,
        beside=update.beside,
        skipped=update.skipped,
        window_size=len(own),
        short=_is_short(view, index, len(own)),
        consumed_norm=Gradient.of(update.gradients).norm * _enlarged(update),
        gradients=len(update.gradients),
        changed_after_step=_changed_late(update),
        late_threshold=min((c.threshold for c in update.late_clips if c.threshold), default=None),
        tolerance=tolerance(together, _sum_of(own, together, len(view.windows), names)),
        loss_scale=update.loss_scale,
        learning_rates=tuple(g.numbers.get("lr", math.nan) for s in update.steps for g in s.groups),
        optimizer=", ".join(s.type.rsplit(".", 1)[-1] for s in update.steps),
        optimizers=_made_by(update),
        recomputed=all(x.recomputed for x in own),
        parameters_followed=None if view.run.sampled else follower.follows(update),
        overwritten=overwritten(index, view.run),
        trained_behind=trained_behind(index, view.run),
        kept_average=update.kept_average,
        moved=moved(update),
        output_differs=max((x.differs for x in own), default=0.0),
        output_spread=output_spread(own),
        parameters_finite=Gradient.of(update.after).is_finite,
        left_over=_left_over(index, view, own),
        began_clear=cleared_before(own) is not None,
        rounds=update.reduced
        / (size := _size(update, {n for x in known for n in x.gradient.names})),
        exchanged=update.exchanged / (4 * size),
        timed=update.timed,
        scheduler_steps=update.scheduler_steps,
        scheduled_elsewhere=update.scheduled_elsewhere,
        scheduled_early=update.scheduled_early,
        scheduled_ahead=update.scheduled_ahead,
        scheduled_for=update.scheduled_for,
        named_norms=tuple(norm for step in update.steps for norm in step.named_norms),
        clip_calls=tuple(_told(c) for c in update.clips),
        frozen=_frozen(own),
        story=event_lines(view.run, index),
        **_compare(index, view, names, together)._asdict(),
    )


def output_spread(window: Sequence[Replayed]) -> float | None:
    """Standard deviation over samples of the recorded outputs, over that of the targets.

    The largest of the window's micro-batches. Classes have no deviation of their own: logits that
    tell them apart differ by about 1.
    """
    spreads = [s for x in window if (s := _spread(x)) is not None]
    return max(spreads, default=None)


def _frozen(own: list[Replayed]) -> tuple[str, ...]:
    names = [{*x.flow.forward.frozen} for x in own]
    return tuple(sorted(set.intersection(*names))) if names else ()


def _size(update: Consumed, ran: set[str]) -> int:
    """Elements of the models that ran: the workload's may lie idle beside another."""
    sizes = {name: p.size for name, p in update.before.items()}
    of_those = sum(size for name, size in sizes.items() if name in ran)
    return max(1, of_those or sum(sizes.values()))


def _left_over(index: int, view: RankView, own: list[Replayed]) -> float | None:
    if index == 0 or len(view.windows) > 1:  # of several ranks a backward leaves the mean
        return None
    return left_over(own, view.run.updates[index - 1].gradients)


class _Compared(NamedTuple):
    """The part of an update that exists only where the gradients are finite."""

    micro_batches: tuple[MicroBatch, ...]
    matches: tuple[Match, ...]
    consumed_finite: bool
    unexplained: float | None
    unexplained_by_parameter: float | None
    elements_cut_at: float | None = None


def _compare(index: int, view: RankView, names: set[str], together: list[Replayed]) -> _Compared:
    everything = Gradient.of(view.run.updates[index].gradients)
    if not everything.is_finite:
        uncounted = tuple(_micro_batch(r, x, None, inside=i) for r, i, x in _listed(index, view))
        return _Compared(
            uncounted, (), consumed_finite=False, unexplained=None, unexplained_by_parameter=None
        )
    consumed = everything.only(names)
    micro_batches, unexplained = _micro_batches(index, view, consumed)
    computed = _mean(together, len(view.windows), names)
    return _Compared(
        micro_batches,
        _of_the_whole(
            _matches(together, computed, consumed, names), _enlarged(view.run.updates[index])
        ),
        consumed_finite=True,
        unexplained=unexplained,
        unexplained_by_parameter=(
            unexplained_by_parameter(computed, consumed) if together else None
        ),
        elements_cut_at=cut_at(computed, consumed) if together else None,
    )


def _stepped(update: Consumed) -> set[str] | None:
    if not update.steps:
        return None
    return {n for step in update.steps for g in step.groups for n in g.parameters}


def _micro_batches(
    index: int, view: RankView, consumed: Gradient
) -> tuple[tuple[MicroBatch, ...], float | None]:
    """Coefficients over this window and up to ``REACH`` before it, of all ranks."""
    listed = _listed(index, view)
    world = len(view.windows)
    flows = [x.gradient if inside else x.gradient.among(consumed) for _, inside, x in listed]
    solved = coefficients(flows, consumed)
    if world == 1 and None in solved.values:
        solved = (
            _without_cleared([x for _, inside, x in listed if inside], len(listed), consumed)
            or solved
        )
    elif None in solved.values:
        solved = _reduced(flows, consumed)
    found = tuple(
        _micro_batch(rank, x, None if a is None else a * world, inside=inside)
        for (rank, inside, x), a in zip(listed, solved.values, strict=True)
    )
    if world == 1:
        away = moved_in_between([x for _, inside, x in listed if inside])
        own = [m.model_copy(update={"moved_after": a}) for m, a in zip(found, away, strict=False)]
        found = (*own, *found[len(own) :])
    if world == 1 and sum(inside for _, inside, _ in listed) == 2:  # more were meant to be gathered
        sizes = [_share(x, a, consumed) for (_, _, x), a in zip(listed, solved.values, strict=True)]
        found = tuple(m.model_copy(update={"share": s}) for m, s in zip(found, sizes, strict=True))
    return found, solved.unexplained if listed else None


def _share(x: Replayed, coefficient: float | None, consumed: Gradient) -> float | None:
    if coefficient is None or not consumed.norm:
        return None
    return abs(coefficient) * x.gradient.on(consumed.names).norm / consumed.norm


def _without_cleared(
    window: list[Replayed], listed: int, consumed: Gradient
) -> Coefficients | None:
    """What was cleared cannot have reached the optimizer, whatever least squares can tell apart."""
    cleared = cleared_before(window)
    if cleared is None:
        return None
    rest = coefficients([x.gradient for x in window[cleared:]], consumed)
    zeros = (0.0,) * (listed - len(window))
    return Coefficients((0.0,) * cleared + rest.values + zeros, rest.unexplained)


def _reduced(flows: list[Gradient], consumed: Gradient) -> Coefficients:
    """Of a model of the program's own each backward is on record as the ranks have averaged it: what
    is the same on several of them arrived from each in the same part.
    """
    alike = Counter(flow.digest for flow in flows)
    one_each = {flow.digest: flow for flow in flows}
    solved = coefficients([*one_each.values()], consumed)
    parts = dict(zip(one_each, solved.values, strict=True))
    found = ((parts[flow.digest], alike[flow.digest]) for flow in flows)
    return Coefficients(tuple(None if a is None else a / n for a, n in found), solved.unexplained)


def _listed(index: int, view: RankView) -> list[tuple[int, bool, Replayed]]:
    """Rank, whether in the window, and flow: this window first, then strays and earlier ones."""
    reach = range(index, max(-1, index - REACH - 1), -1)
    return [
        (rank, u == index and of_all is view.windows, x)
        for u in reach
        for of_all in (view.windows, view.strays)
        for rank, of_rank in enumerate(of_all)
        if u < len(of_rank)
        for x in of_rank[u]
    ]


def _micro_batch(rank: int, x: Replayed, coefficient: float | None, *, inside: bool) -> MicroBatch:
    return MicroBatch(
        forward=x.flow.forward.id,
        rank=rank,
        samples=x.samples,
        real_samples=x.real_samples,
        in_window=inside,
        coefficient=coefficient,
        weight=x.weight,
        objective_error=x.objective_error,
        uneven=x.uneven,
        loss_scale=x.flow.loss_scale,
        autocast=x.flow.forward.autocast,
        after_batch=x.flow.forward.batch,
        backwards=x.flow.calls // max(1, len(x.flow.gradients)),
        on_padding=x.on_padding,
        at_input=x.flow.at_input,
        evaluating=x.flow.forward.evaluating,
        both_ways=x.flow.both_ways,
    )


def _sum_of(own: list[Replayed], together: list[Replayed], world: int, names: set[str]) -> Gradient:
    """What this rank's micro-batches add up to; where another rank's are far larger, the mean of all."""
    alone = total(x.gradient for x in own).only(names)
    mean = alone if world == 1 else _mean(together, world, names)
    return mean if mean.norm > alone.norm else alone


def _mean(together: list[Replayed], world: int, names: set[str]) -> Gradient:
    """What was computed, as DDP averages it: the mean over ranks of each rank's sum."""
    return total(x.gradient for x in together).only(names).scaled(1.0 / world)


def _matches(
    flows: list[Replayed], computed: Gradient, consumed: Gradient, names: set[str]
) -> tuple[Match, ...]:
    # an overflow inside of a forward leaves no true gradient to compare with
    if not flows or not consumed.names or any(x.breakdown > BROKEN_DOWN for x in flows):
        return ()
    found = [match("as-computed", computed, consumed)]
    if all(x.own is not None and x.real_samples > 0 for x in flows):
        real = sum(x.real_samples for x in flows)
        by_sample = total(x.own for x in flows if x.own).only(names)
        found.append(match("sample-mean", by_sample.scaled(1.0 / real), consumed))
        means = total(x.own.scaled(1.0 / x.real_samples) for x in flows if x.own).only(names)
        found.append(match("micro-batch-mean", means.scaled(1.0 / len(flows)), consumed))
    return tuple(found)


def _enlarged(update: Consumed) -> float:
    """How many times larger a whole gradient is than its samples; 1 where it was recorded whole."""
    sizes, of_samples = [*update.norms.values()], Gradient.of(update.gradients).norm
    return math.hypot(*sizes) / of_samples if sizes and of_samples else 1.0


def _of_the_whole(matches: tuple[Match, ...], times: float) -> tuple[Match, ...]:
    """Matches of samples with the norms that the whole gradients have."""
    if times == 1.0:
        return matches
    return tuple(
        m.model_copy(
            update={
                "expected_norm": m.expected_norm * times,
                "consumed_norm": m.consumed_norm * times,
            }
        )
        for m in matches
    )


def _is_short(view: RankView, index: int, size: int) -> bool:
    """Fewer micro-batches than the optimizers of this update usually gather, and a pass over the data
    ends in or right after the window.
    """
    update = view.run.updates[index]
    pairs = zip(view.windows[view.rank], view.run.updates, strict=False)
    alike = [window for window, other in pairs if _made_by(other) == _made_by(update)]
    usual = usual_size(alike) if len(alike) > 1 else view.usual
    if size >= usual or update.last_batch is None:
        return False
    epoch, last = update.last_batch
    handed_out = [e for e in view.run.events if isinstance(e, BatchYielded) and e.epoch == epoch]
    return last == max((e.index for e in handed_out), default=-1)


def _made_by(update: Consumed) -> tuple[int, ...]:
    """Numbers of the optimizers that stepped."""
    return tuple(sorted({s.optimizer for s in update.steps}))


def _told(clip: Clip) -> str:
    limit = "" if clip.threshold is None else f" at {clip.threshold:g}"
    return f"{clip.function}({clip.parameters} gradients){limit} returned {clip.returned}"


def _changed_late(update: Consumed) -> float | None:
    """How much a clip after the step shrank what had already been consumed."""
    late = [c for c in update.late_clips if c.threshold is not None and c.returned is not None]
    if not late:
        return None
    return max(
        max(0.0, 1.0 - (c.threshold or 0.0) / c.returned) if c.returned else 0.0 for c in late
    )


def _spread(replayed: Replayed) -> float | None:
    outputs, target = replayed.flow.forward.outputs, replayed.target
    if target is None or not outputs or len(outputs[0]) != len(target) or len(target) < 2:
        return None
    scale = _deviation(target) if target.dtype.kind == "f" else 1.0
    return _deviation(outputs[0]) / scale if scale else None


def _deviation(rows: Array) -> float:
    """Root mean square over samples of the distance from the mean sample. (n, ...) -> ()"""
    values = rows.astype(np.float64).reshape(len(rows), -1)
    away = values - np.add.reduce(values) / max(1, len(values))
    return norm(away) / math.sqrt(away.size) if away.size else 0.0
