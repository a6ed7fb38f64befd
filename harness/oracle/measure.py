"""Recording -> ProbeTrace: the one function that the warm oracle process serves."""

import threading
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import torch
from pydantic import JsonValue

from harness.domain.branch import Branches, in_none
from harness.domain.event import ClockRead, TestEnded, WorkloadNote
from harness.domain.recording import Recording
from harness.domain.scenario import Expectations, Probe
from harness.domain.trace import Learning, ProbeTrace, RankTrace, Update
from harness.domain.workload import PositiveLoss, WorkloadSpec
from harness.oracle import learning, program
from harness.oracle.facts import Consumed, Parameters, RankRun
from harness.oracle.integrity import contradiction
from harness.oracle.ranks import brought_together, measure_ranks, same_rows
from harness.oracle.reading import read_rank
from harness.oracle.replay import Replay

TOLD = 1_000
"""Characters of what a program noted that are told."""


def measure(
    recording: Recording, workload: WorkloadSpec, probe: Probe, expectations: Expectations
) -> ProbeTrace:
    """Measure one recording against the pristine workload. Facts that cannot be measured stay absent."""
    torch.set_num_threads(1)
    with np.errstate(all="ignore"):  # overflow is what some programs are about
        return _measured(recording, workload, probe, expectations)


def without_rehearsals(trace: RankTrace, run: RankRun, replay: Replay) -> RankTrace:
    """The trace with every update that is not training marked as timed."""
    found = {i for i, update in enumerate(run.updates) if _on_a_copy(update, replay.names)}
    found |= _undone(run) | _warm_up(run, trace.updates, replay)
    marked = (
        update.model_copy(update={"timed": update.timed or i in found})
        for i, update in enumerate(trace.updates)
    )
    return trace.model_copy(update={"updates": tuple(marked)})


def waiting(branches: Branches | None, ranks: Sequence[RankTrace]) -> Branches | None:
    """The branches; training waits for those that freeze or thaw, where a parameter asked for no
    gradient all along.
    """
    frozen = [{*update.frozen} for rank in ranks for update in rank.updates]
    if not branches or not frozen or not set.intersection(*frozen):
        return branches
    return tuple(
        branch.model_copy(update={"waits": branch.waits or (branch.counted and branch.thaws)})
        for branch in branches
    )


def _measured(
    recording: Recording, workload: WorkloadSpec, probe: Probe, expectations: Expectations
) -> ProbeTrace:
    runs = [read_rank(rank.events) for rank in recording.ranks]
    thread = threading.get_ident()  # what is kept is written to while it is used
    replays = [_replay(workload.model_dump_json(), rank, thread) for rank in range(len(runs))]
    traces, disagreement = measure_ranks(runs, replays)
    if expectations.measures:
        traces = tuple(map(without_rehearsals, traces, runs, replays))
    ends = [program.how_it_ended(recording, run) for run in runs] or [program.nothing(recording)]
    traces = tuple(
        rank.model_copy(update={"ended": end.outcome})
        for rank, end in zip(traces, ends, strict=False)
    )
    worst = min(ends, key=lambda end: program.ORDER.index(end.outcome))
    unentered = waiting(in_none([end.unentered for end in ends]), traces)
    worst = worst.model_copy(update={"unentered": unentered})
    if runs and probe.name == expectations.poisoned_probe:
        own = workload.parameters
        spoilt = own.poison_at if isinstance(own, PositiveLoss) else None
        said = program.reported(runs[0], spoilt)
        worst = worst.model_copy(update={"reported_before_backward": said})
    return ProbeTrace(
        probe=probe.name,
        world_size=workload.world_size,
        workload=workload.name,
        parameters=workload.parameters.model_dump(mode="json", exclude_defaults=True),
        parts=replays[0].parts if replays else (),
        program=worst,
        ranks=traces,
        ranks_disagree=disagreement,
        same_rows=same_rows(runs),
        brought_together=brought_together(runs),
        sampled=any(run.sampled for run in runs),
        segments=program.segments(runs[0]) if runs else (),
        restored_nothing=program.restored_nothing(runs[0]) if runs else 0,
        learning=_learning(runs, replays, probe, expectations),
        tests=tuple(e for run in runs for e in run.events if isinstance(e, TestEnded)),
        tampered=_tampered(runs),
        facts=_facts(recording, replays),
        contradiction=contradiction(recording, runs, probe.injection),
        wall_seconds=recording.wall_seconds,
    )


def _tampered(runs: list[RankRun]) -> str | None:
    """What a program replaced of that with which it was tested."""
    events = (e for run in runs for e in run.events if isinstance(e, WorkloadNote))
    return next((str(e.facts.get("what"))[:TOLD] for e in events if e.name == "tampered"), None)


def _facts(recording: Recording, replays: list[Replay]) -> dict[str, JsonValue]:
    """What a workload measures itself. A record that it cannot make sense of tells it nothing."""
    if not replays:
        return {}
    try:
        return replays[0].workload.facts([rank.events for rank in recording.ranks])
    except (ValueError, LookupError, TypeError) as error:
        return {"unreadable": f"{type(error).__name__}: {error}"}


@lru_cache(maxsize=256)
def _replay(workload: str, rank: int, thread: int) -> Replay:  # noqa: ARG001 - a key of the cache
    """Many programs are measured on one workload, and replaying changes none of what it holds."""
    return Replay(WorkloadSpec.model_validate_json(workload), rank)


def _learning(
    runs: list[RankRun],
    replays: list[Replay],
    probe: Probe,
    expectations: Expectations,
) -> Learning | None:
    if not runs or not runs[0].initial or runs[0].sampled:
        return None
    diagnosed = probe.name in (
        expectations.healthy_probe,
        expectations.unhealthy_probe,
        expectations.stable_probe,
    )
    return learning.measure_learning(runs[0], replays[0], probe.injection, compare=diagnosed)


def _on_a_copy(update: Consumed, names: list[str]) -> bool:
    """Whether every stepped parameter is that of a copy of the workload's model."""
    stepped = [n for step in update.steps for g in step.groups for n in g.parameters]
    return bool(stepped) and all(n not in names and n.partition(".")[2] in names for n in stepped)


def _undone(run: RankRun) -> set[int]:
    """Updates after which something put the parameters back to what they were before."""
    found: set[int] = set()
    starts = [*(update.before for update in run.updates[1:]), run.final]
    for last, now in enumerate(starts[: len(run.updates)]):  # without an update, nothing to undo
        if now is run.updates[last].after:
            continue
        back = next((i for i in range(last + 1) if _same(run.updates[i].before, now)), last + 1)
        found.update(range(back, last + 1))
    return found


def _same(one: Parameters, other: Parameters) -> bool:
    """Bit for bit, on the parameters that both have."""
    shared = one.keys() & other.keys()
    return bool(shared) and all(
        one[n] is other[n] or one[n].tobytes() == other[n].tobytes() for n in shared
    )


def _warm_up(run: RankRun, updates: tuple[Update, ...], replay: Replay) -> set[int]:
    """Updates before the first clock read, unless together they saw all the data."""
    clock = next((i for i, e in enumerate(run.events) if isinstance(e, ClockRead)), None)
    if clock is None:
        return set()
    early = {i for i, update in enumerate(run.updates) if update.position < clock}
    seen: set[int] = set()
    for batch in (m for i in early for m in updates[i].window):
        if batch.samples is None:
            return set()
        seen.update(batch.samples)
    everything = {s for batch in replay.batches for s in batch.samples}
    return set() if everything <= seen else early
