"""Candidate + workload -> Recording: one job in the jail, and its frames read back as typed events."""

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Self

from pydantic import ValidationError

from harness.allowance import too_little_memory, too_little_time
from harness.domain.candidate import Candidate
from harness.domain.errors import CannotExecuteHere
from harness.domain.event import (
    ENOUGH,
    EVENT,
    BatchYielded,
    ByHand,
    Event,
    Finished,
    OptimizerStep,
    Start,
)
from harness.domain.recording import RankRecording, Recorded, Recording
from harness.domain.scenario import Probe
from harness.domain.workload import WorkloadSpec
from harness.extraction.own_world import is_own_world
from harness.sandbox import raw_recording as raw
from harness.sandbox.extras import is_here
from harness.sandbox.frames import Frame
from harness.sandbox.jail.report import JailPolicy, JailReport
from harness.sandbox.job import Job, JobLimits
from harness.sandbox.order import SCOUTS, OwnFile, WorkOrder
from harness.sandbox.own import is_large
from harness.sandbox.own_files import own_files
from harness.sandbox.pool import Sandbox

PATIENCE = 20
"""How many times the reference's time a program may take."""

SOON = 6.0
"""Seconds in which a program that could be smaller has to come to its first updates."""

FEW = 8
"""So many updates, unless it ends by itself: a fault often shows after the first evaluation."""


class JailedExecutor:
    """Runs candidates in the sandbox. Thread-safe; a context manager."""

    def __init__(
        self,
        parallel: int | None = None,
        policy: JailPolicy | None = None,
        data: Sequence[Path] = (),
    ) -> None:
        """``parallel``: jobs at the same time; ``None`` for one on each core. ``policy`` is for
        tests. ``data``: folders that scripts may read, each under the path that it has.

        Raises:
            CannotExecuteHere: this is not Linux, or torch is not installed.
        """
        if not is_here("torch"):
            raise CannotExecuteHere(
                "torch is not installed, and programs run on it: pip install torch. Without it stored "
                "runs can be shown, judged anew, compared and reported."
            )
        self._sandbox = Sandbox(parallel=parallel)
        self._policy = policy or JailPolicy()
        self._data = tuple(folder.resolve() for folder in data)
        self._known: dict[str, dict[str, str]] = {}
        self._shrunk: dict[str, bool] = {}
        """Whether a program in its own world came to updates with lower sizes, once that is known."""
        self._files: dict[Candidate, tuple[OwnFile, ...]] = {}
        """The files of its own with which it comes to updates."""

    def start(self) -> None:
        """Have the sandbox warm up while the caller does something else."""
        self._sandbox.start()

    def execute(
        self,
        candidate: Candidate,
        workload: WorkloadSpec,
        probe: Probe,
    ) -> Recording:
        """Run one candidate under one probe. Whatever it does ends in a recording.

        Raises:
            CannotExecuteHere: our own part failed where ``ulimit`` leaves it little.
        """
        brief = probe.seconds is not None
        order = WorkOrder(
            workload=workload, injection=probe.injection, brief=brief, alone=probe.own_data
        )
        if probe.tests:
            given = order.model_copy(update={"tests": probe.tests, "posted": probe.posted})
            return self._run(candidate, given, probe)
        if probe.resumes:
            return self._resumed(candidate, order, probe)
        if probe.own_data and is_own_world(candidate.program, at_rest=probe.as_it_is):
            return self._in_its_own_world(candidate, order, probe)
        return self._found_out(candidate, order, probe)

    def _found_out(
        self, candidate: Candidate, order: WorkOrder, probe: Probe, seconds: float | None = None
    ) -> Recording:
        """Run a program until nothing unknown ends it early."""
        known = dict(self._known.get(candidate.program, {}))
        for _ in range(SCOUTS + 1):
            order = order.model_copy(update={"known": dict(known)})
            found = self._run(candidate, order, probe, seconds)
            scouted = scouted_by(found)
            if scouted is None or scouted[0] in known:
                break
            known |= [scouted]
        if known:
            self._known[candidate.program] = known
        return found

    def _in_its_own_world(self, candidate: Candidate, order: WorkOrder, probe: Probe) -> Recording:
        """Run a program that needs no names as it is, with the files that lie beside it; without them
        where it comes to no update with them.
        """
        files = self._files.get(candidate)
        if files is None:
            files = self._own_files(candidate)
        found = self._whole_or_shrunk(candidate, order.model_copy(update={"files": files}), probe)
        if files and not updates_in(found):
            other = self._whole_or_shrunk(candidate, order, probe)
            found, files = (other, ()) if updates_in(other) else (found, files)
        self._files[candidate] = files
        return found

    def _resumed(self, candidate: Candidate, order: WorkOrder, probe: Probe) -> Recording:
        """Run it twice, in the size and with the files with which it came to updates before."""
        how = {"files": self._files.get(candidate, ()), "own_world": True, "resumes": True}
        shrunk = self._shrunk.get(candidate.program, False)
        own = order.model_copy(update={**how, "shrunk": shrunk, "many_passes": True})
        return self._found_out(candidate, own, probe)

    def _own_files(self, candidate: Candidate) -> tuple[OwnFile, ...]:
        if not candidate.folder or not self._keeps_files():
            return ()
        return own_files(candidate.program, Path(candidate.folder), self._data)

    def _keeps_files(self) -> bool:
        """Whether something keeps a program from writing what it may read: else it gets nothing."""
        return "landlock" not in self._policy.disabled and self.machine().keeps_files

    def _whole_or_shrunk(self, candidate: Candidate, order: WorkOrder, probe: Probe) -> Recording:
        """Smaller, if it is too large for a CPU or its memory, or if it takes too long or says too
        much.
        """
        large, known = is_large(candidate.program), self._shrunk.get(candidate.program)
        tried: list[tuple[bool, int, bool, Recording]] = []
        for shrunk in (False, True) if known is None else (known,):
            seconds = SOON if large and not shrunk else None
            own = order.model_copy(
                update={"own_world": True, "shrunk": shrunk, "many_passes": probe.many_passes}
            )
            found = self._found_out(candidate, own, probe, seconds)
            whole = found.problem is None and not ran_out_of_memory(found)
            tried.append((whole, updates_in(found), shrunk, found))
            enough = updates_in(found) >= FEW or through(found)
            if whole and (enough or not large):
                break
        *_, self._shrunk[candidate.program], found = max(tried, key=lambda one: one[:2])
        return found

    def _run(
        self,
        candidate: Candidate,
        order: WorkOrder,
        probe: Probe,
        seconds: float | None = None,
    ) -> Recording:
        data = map(str, self.readable_data()) if candidate.folder else ()  # an answer has no files
        job = Job(
            program=candidate.program,
            payload_json=order.model_dump_json(),
            world_size=order.workload.world_size,
            packages=("pytest",) if order.tests else (),
            readable=(*(one.path for one in order.files), *data),
            seed=order.workload.seed,
        )
        limits = limits_of(probe)
        if seconds is not None:
            limits = replace(limits, wall_seconds=seconds)
        found = self._sandbox.execute(job, limits, self._policy)
        recording = recording_of(probe.name, found, order.workload)
        if recording.ours:
            limit = too_little_time() if recording.timed_out else too_little_memory()
            if limit is not None:
                raise CannotExecuteHere(limit)
        return recording

    def readable_data(self) -> tuple[Path, ...]:
        """The folders elsewhere that scripts may read here."""
        return self._data if self._data and self._keeps_files() else ()

    def machine(self) -> JailReport:
        """What this machine offers to the jail."""
        return self._sandbox.machine()

    def close(self) -> None:
        """End the zygote and everything that it forked."""
        self._sandbox.close()

    def __enter__(self) -> Self:
        """Start nothing yet: the zygote starts with the first job."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close it."""
        self.close()


def limits_of(probe: Probe) -> JobLimits:
    """How long a program may take: a slow reference makes room for slow answers."""
    usual = JobLimits()
    seconds = PATIENCE * (probe.reference_seconds or 0.0)
    return replace(
        usual,
        wall_seconds=probe.seconds or max(usual.wall_seconds, seconds),
        cpu_seconds=max(usual.cpu_seconds, 2 * math.ceil(seconds)),
    )


def scouted_by(recording: Recording) -> tuple[str, str] | None:
    """The name that a scout ended for, with its role; ``None`` where none did."""
    ends = (e for e in _events_of(recording) if isinstance(e, Finished))
    found = ((e.message or "", e.exception or "") for e in ends if e.outcome == "scouted")
    return next(found, None)


def through(recording: Recording) -> bool:
    """Whether a program came to its own end, or said what it lacks."""
    ends = [e for e in _events_of(recording) if isinstance(e, Finished)]
    stopped = any((e.message or "").startswith(ENOUGH) for e in ends)
    lawful = {e.outcome for e in ends} <= {"returned", "exited", "unbound"}
    return recording.problem is None and lawful and not stopped


def ran_out_of_memory(recording: Recording) -> bool:
    """Whether torch was refused the memory that the program asked for."""
    ends = (e for e in _events_of(recording) if isinstance(e, Finished))
    return any("can't allocate memory" in (e.message or "") for e in ends)


def updates_in(recording: Recording) -> int:
    """How many updates its first rank made."""
    if not recording.ranks:
        return 0
    events = (recorded.event for recorded in recording.ranks[0].events)
    return sum(isinstance(e, OptimizerStep | ByHand) for e in events)


def _events_of(recording: Recording) -> list[Event]:
    return [recorded.event for rank in recording.ranks for recorded in rank.events]


def recording_of(probe: str, found: raw.RawRecording, workload: WorkloadSpec) -> Recording:
    """What came out of one run, typed, and why it is not whole where it is not."""
    ranks, problem, ours = [], None, False
    for rank in found.ranks:
        events, flaw = _events(rank.frames)
        ranks.append(
            RankRecording(rank=rank.rank, events=events, complete=rank.complete and not flaw)
        )
        if problem is None and (rank.fault or flaw or not rank.complete):
            began = any(isinstance(recorded.event, Start) for recorded in events)
            problem = _why(rank, flaw, began=began)
            ours = bool(rank.fault) and not began
    if found.timed_out:
        batches = min(_batches(rank) for rank in ranks)
        went_on = batches > _batches_wanted(workload)
        limit = f"a run may take {found.wall_limit_seconds:.0f} s of a free processor"
        problem = f"the program was still {_doing(found, batches)}; {limit}"
        ours = found.inconclusive_timeout and not found.waited and not went_on
    return Recording(
        probe=probe,
        ranks=tuple(ranks),
        problem=problem,
        timed_out=found.timed_out,
        ours=ours,
        wall_seconds=found.wall_seconds,
        traffic_bytes=found.traffic_bytes,
    )


def _batches(rank: RankRecording) -> int:
    return sum(isinstance(recorded.event, BatchYielded) for recorded in rank.events)


def _batches_wanted(workload: WorkloadSpec) -> int:
    """What a program takes that trains for as long as the probe asks, and validates after each pass."""
    return 2 * workload.parameters.epochs * workload.parameters.batches


def _doing(found: raw.RawRecording, batches: int) -> str:
    seconds = f"{found.wall_seconds:.0f} s"
    if found.waited:
        return f"waiting after {seconds}"
    if found.inconclusive_timeout and found.cpu_seconds is not None:
        had = f"it had the processor for {found.cpu_seconds:.0f} s"
        return f"running after {seconds} and {batches} batches, while {had}"
    return f"running after {seconds} and {batches} batches"


def _events(frames: tuple[Frame, ...]) -> tuple[tuple[Recorded, ...], str]:
    """Typed events up to the first that is none, and what was wrong with that one."""
    events: list[Recorded] = []
    for frame in frames:
        try:
            event = EVENT.validate_python({**frame.data, "kind": frame.kind})
        except ValidationError as error:
            first = error.errors()[0]
            return tuple(events), f"record {frame.seq} ({frame.kind}) is malformed: {first['msg']}"
        events.append(Recorded(event=event, tensors=frame.tensors))
    return tuple(events), ""


def _last_line(fault: str) -> str:
    """The one that says what was raised: some messages go on for several lines."""
    lines = fault.strip().splitlines()
    said = [line for line in lines if not line[:1].isspace() and ": " in line]
    return next(reversed(said or lines), "")


def _why(rank: raw.RawRank, flaw: str, *, began: bool) -> str:
    """From its first line on a program shares its process with what records it, and may have broken
    it: also by errors that a machine without room gives.
    """
    if rank.fault and began:
        return f"the program did what cannot be recorded ({_last_line(rank.fault)})"
    if rank.fault:
        return f"the harness failed in the jail: {_last_line(rank.fault)}"
    if flaw or rank.flaw:
        return flaw or rank.flaw
    if rank.signal is not None:
        return f"the program was ended by signal {rank.signal} before its recording was complete"
    return f"the program left with exit code {rank.exit_code} before its recording was complete"
