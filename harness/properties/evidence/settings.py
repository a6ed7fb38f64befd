"""What a program sets out to do, read from what it did: how many micro-batches it gathers for an
update, at which norm it clips, over how many ranks it runs, and under which scaler and schedule.

Two things stand on it. A property finds its preconditions here, and judges wherever they hold; and
where a scenario names no threshold, the program is judged by its own.
"""

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.domain.clip_call import ClipCall, clip_calls
from harness.domain.refitted import brings_its_data
from harness.domain.scenario import Expectations, Objective
from harness.domain.trace import ProbeTrace, Trace, Update
from harness.properties.evidence.consumption import blown_up_to, transported
from harness.properties.evidence.thresholds import Bounds, bounds_of
from harness.properties.evidence.windows import Window, full, of_probe
from harness.syntax import tree_of, walk

ORDINARY = (0.1, 10.0)
"""Thresholds that people choose where nobody tells them one."""


OTHERS = re.compile(r"opt|scaler|env|adam|sgd")
"""Names of what is stepped and is no schedule."""

PASSES = 3
"""So many passes have begun where a schedule that moves with each would have moved."""


@dataclass(frozen=True, slots=True)
class ProgramSettings:
    """What one program sets out to do, by its trace."""

    updates: int
    """Updates that were made, over all probes and ranks."""
    gathers: int
    """Different micro-batches that an update usually consumes; 1 where each batch is an update."""
    clips: bool
    """Whether a norm is bounded anywhere: by a call at a finite threshold, or by what was consumed."""
    threshold: float | None
    """The one norm to which it clips the whole gradient; ``None`` where it names none, several, or
    one for a part.
    """
    ranks: int
    """Ranks that it ran on."""
    scaled: bool
    """Whether an enabled GradScaler was called."""
    scheduled: bool
    """Whether a scheduler stepped, or it set the learning rate itself."""
    apart: bool
    """Whether parts of its model are trained against each other."""


def settings_of(trace: Trace, expectations: Expectations) -> ProgramSettings:
    """The settings that a trace shows."""
    updates = tuple(_updates(trace.probes))
    threshold = own_threshold(trace, expectations)
    return ProgramSettings(
        updates=len(updates),
        gathers=max((_different(w) for w in full(trace)), default=1),
        clips=threshold is not None or any(map(bounds_its_norm, updates)),
        threshold=threshold,
        ranks=max((p.world_size for p in trace.probes), default=1),
        scaled=any(c.enabled for p in trace.probes for rank in p.ranks for c in rank.scaler),
        scheduled=any(map(_moves_rates, trace.probes))
        or any(map(never_moves_its_schedule, trace.probes)),
        apart=any(p.parts for p in trace.probes),
    )


def never_moves_its_schedule(probe: ProbeTrace) -> bool:
    """Whether a schedule was made for the optimizer that steps, and nothing moved it until the program
    ended or went through two passes, nor does it step anything else, as once in ten passes.
    """
    program = probe.program
    if not program.unmoved_schedules or any(map(_may_be_a_schedule, _stepped(program.source))):
        return False
    places = {u.window[-1].after_batch for u in probe.updates if u.window}
    passes = {place[0] for place in places if place is not None}
    return program.outcome == "returned" or len(passes) >= PASSES


def _stepped(source: str) -> Iterator[str]:
    """What a program calls a step of, as it is written."""
    for node in walk(tree_of(source)):
        if isinstance(node, ast.Attribute) and node.attr == "step":
            yield ast.unparse(node.value)


def _may_be_a_schedule(receiver: str) -> bool:
    return OTHERS.search(receiver.lower()) is None


def with_own_settings(expectations: Expectations, trace: Trace) -> Expectations:
    """The expectations, with the program's own settings where the scenario leaves them open: its
    threshold, and how it weighs the micro-batches that nobody asked it to gather.
    """
    if expectations.own_data and trace.probes and all(map(brings_its_data, trace.probes)):
        # nobody can compute the gradient of rows that nobody has
        expectations = expectations.model_copy(update={"objectives": ("as-computed",)})
    own = own_threshold(trace, expectations)
    asked = bounds_of(expectations) is not None or expectations.groups or own is None
    gathers = any(_different(w) > 1 for w in full(trace))
    means: tuple[Objective, ...] = ("sample-mean", "micro-batch-mean")
    choice = (
        gathers and not expectations.accumulates and "as-computed" not in expectations.objectives
    )
    between = _with_its_own(expectations, own)
    slow = between != expectations.max_norm_between  # nobody knows how far the loss falls under it
    return expectations.model_copy(
        update={
            "max_norm": expectations.max_norm if asked else own,
            "max_norm_between": between,
            "loss_falls_to": None if slow else expectations.loss_falls_to,
            "objectives": means if choice else expectations.objectives,
        }
    )


def _with_its_own(expectations: Expectations, own: float | None) -> tuple[float, float] | None:
    """The range of thresholds that are accepted, with the program's own where it is an ordinary one."""
    given = expectations.max_norm_between
    if given is None or own is None or not expectations.own_max_norm:
        return given
    return (min(given[0], own), max(given[1], own)) if Bounds(*ORDINARY).accept(own) else given


def own_threshold(trace: Trace, expectations: Expectations) -> float | None:
    """The norm to which the program clips the whole gradient: the one threshold of its calls, or else
    the norm that windows arrive with whatever their own is.
    """
    updates = tuple(_updates(trace.probes))
    limits = {c.limit for u in updates for c in clip_calls(u) if _of_all(c, u)}
    found = [limit for limit in limits if limit is not None]
    if found and not any(map(_part_by_part, updates)):
        alike = Bounds(min(found), min(found)).accept(max(found))
        return min(found) if alike else None
    if any(map(bounds_its_norm, updates)):
        return None  # a part by itself, which says nothing of the whole
    if any(bounds_values(c) for u in updates for c in clip_calls(u)):
        return None  # where each element is at its limit, all windows have one norm
    seen = transported(trace, expectations)
    if seen is None or seen.threshold is not None:
        return None if seen is None else seen.threshold
    return blown_up_to(seen)


def _of_all(call: ClipCall, update: Update) -> bool:
    whole = not call.gradients or call.gradients >= (update.gradients or 0)
    return whole and bounds_norm(call)


def _part_by_part(update: Update) -> bool:
    """Whether several calls divide all gradients: those of one part alone would bound the whole."""
    sizes = [c.gradients for c in clip_calls(update) if bounds_norm(c) and c.gradients]
    return len(sizes) > 1 and sum(sizes) == update.gradients


def bounds_norm(call: ClipCall) -> bool:
    """Whether a call limits a norm. At a huge one it only measures, whatever it is called."""
    return call.bounds and call.function.startswith("clip_") and "value" not in call.function


def bounds_values(call: ClipCall) -> bool:
    """Whether a call limits each element."""
    return call.bounds and call.function == "clip_grad_value_"


def bounds_its_norm(update: Update) -> bool:
    """Whether something limits the norm of what it consumes."""
    return update.late_threshold is not None or any(map(bounds_norm, clip_calls(update)))


def _updates(probes: Iterable[ProbeTrace]) -> Iterator[Update]:
    return (w.update for probe in probes for w in of_probe(probe))


def _different(window: Window) -> int:
    """Micro-batches of a window; several forwards of the same rows count once."""
    rows = [m.samples for m in window.own]
    return len({*rows} - {None}) + rows.count(None)


def _moves_rates(probe: ProbeTrace) -> bool:
    stepped = any(u.scheduler_steps or u.scheduled_ahead for u in probe.updates)
    return stepped or len({u.learning_rates for u in probe.updates}) > 1
