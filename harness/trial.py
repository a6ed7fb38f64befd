"""One program, executed and measured in its probes, and judged."""

import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from time import perf_counter

from harness.beside import called_with, unpacked
from harness.domain.candidate import Candidate
from harness.domain.further import further_probes, with_further
from harness.domain.grade import Grade, write_grade
from harness.domain.instruments import Instruments
from harness.domain.recording import Recording
from harness.domain.refitted import refitted
from harness.domain.scenario import Probe, Scenario
from harness.domain.trace import ProbeTrace, Trace
from harness.extraction.own_world import free_names, is_own_world, without_imports_of
from harness.own_trial import OwnTrial
from harness.properties import judge

MOST_CUT = 4
"""Probes of one program that may break off; one that did so before any update counts twice, and four
times in a world of its own, where one probe runs it in both sizes.
"""

NOT_HERE = re.compile(r"needs (\w+), which is not here$")
"""How it is said that a program imports what is no package of this machine, and no known one."""

BESIDE_TRAINING = re.compile(
    r"(maker of )?(loader|validation|dataset|model|collate|criterion|settings|logger)\b"
)
"""What a name may mean of which nobody shows what it does."""

NOT_AGAIN = "it was not run again: its runs so far had broken off"


@dataclass(slots=True)
class TimesEnded:
    """How often the clock, or a limit, ended one program, which is not run for ever."""

    _cut: int = field(default=0, init=False)

    def note(self, recording: Recording, measured: ProbeTrace, *, in_both_sizes: bool) -> None:
        """Count one probe."""
        if recording.timed_out or (recording.problem is not None and not recording.ours):
            in_vain = MOST_CUT if in_both_sizes else 2
            self._cut += 1 if measured.updates else in_vain

    @property
    def is_over(self) -> bool:
        """Whether nothing else is expected of it."""
        return self._cut >= MOST_CUT


@dataclass(frozen=True, slots=True)
class Probing:
    """Executes programs and measures what they did, several probes at the same time."""

    tools: Instruments
    """What executes, and what measures."""
    threads: ThreadPoolExecutor
    """As many as probes are worked on at the same time."""
    seed: int
    """Offset added to every workload's seed."""

    def observed(
        self,
        candidate: Candidate,
        scenario: Scenario,
        probes: Sequence[Probe],
        breaks: TimesEnded,
    ) -> tuple[tuple[ProbeTrace, ...], float]:
        """What a program did in each probe, and how long all of it took."""

        def observe(probe: Probe) -> tuple[ProbeTrace, float]:
            started = perf_counter()
            workload = scenario.workload_of(probe, self.seed)
            if breaks.is_over:
                recording = Recording(probe=probe.name, ranks=(), problem=NOT_AGAIN)
            else:
                recording = self.tools.executor.execute(candidate, workload, probe)
            measured = self.tools.meter.measure(recording, workload, probe, scenario.expectations)
            alone = probe.own_data and is_own_world(candidate.program, at_rest=probe.as_it_is)
            breaks.note(recording, measured, in_both_sizes=alone)
            return measured, perf_counter() - started

        futures = [self.threads.submit(observe, probe) for probe in probes]
        seen = [future.result() for future in futures]
        return tuple(trace for trace, _ in seen), sum(seconds for _, seconds in seen)


class Trial:
    """One program in a scenario, or by its own settings."""

    def __init__(
        self, candidate: Candidate, scenario: Scenario, agent: str, probing: Probing
    ) -> None:
        """Nothing is run yet. ``agent``: who answered."""
        self._candidate = candidate
        self._scenario = scenario
        self._agent = agent
        self._probing = probing
        self._breaks = TimesEnded()

    def in_scenario(self) -> tuple[Trace, Grade]:
        """In the probes of its scenario, and where it looks right in further ones."""
        scenario, name = self._scenario, self._agent
        probes, seconds = self._observed(scenario, scenario.probes)
        trace = Trace(probes=probes)
        verdicts = judge(trace, scenario)
        grade = write_grade(scenario, name, verdicts, trace=trace, seconds=seconds)
        again = refitted(scenario, probes) if grade.code == "inconclusive" else ()
        if again:
            added, more = self._observed(scenario, again)
            seconds += more
            anew = {one.probe: one for one in added}
            probes = tuple(anew.get(one.probe, one) for one in probes)
            trace = Trace(probes=probes)
            verdicts = judge(trace, scenario)
            grade = write_grade(scenario, name, verdicts, trace=trace, seconds=seconds)
        further = further_probes(scenario, self._candidate.program, trace.probes)
        if grade.code == "right" and further:
            added, more = self._observed(scenario, further)
            trace = with_further(probes, added)
            verdicts = judge(trace, scenario)
            grade = write_grade(scenario, name, verdicts, trace=trace, seconds=seconds + more)
        return trace, grade

    def alone(self) -> tuple[Candidate, Trace, Grade]:
        """By its own settings; where they are right and options that manage gradients are off, with
        those on as well. What is wrong then decides.
        """
        trace, grade = self._by_its_settings(resumes=True)
        if (lent := self._left_to_its_reader(trace)) is not None:
            return lent
        options = trace.probes[0].program.options
        if grade.code != "right" or not options:
            return self._candidate, trace, grade
        program = called_with(self._candidate.program, options)
        called = self._candidate.model_copy(update={"program": program})
        other = Trial(called, self._scenario, self._agent, self._probing)
        more, found = other._by_its_settings()
        said = _said_of(options, found)
        if found.code == "wrong":
            return called, more, found.noted(said)
        return self._candidate, trace, grade.noted(said)

    def _left_to_its_reader(self, trace: Trace) -> tuple[Candidate, Trace, Grade] | None:
        """The same with what it imports of a package that is nowhere lent by its names; ``None`` where
        it came to train, that is not what kept it from training, or more than data, models and losses
        is asked of the package: what that does to training nobody knows.
        """
        program, ended = self._candidate.program, trace.probes[0].program
        needed = NOT_HERE.search(ended.message or "") if ended.outcome == "unbound" else None
        if needed is None or any(p.updates for p in trace.probes) or unpacked(program).modules:
            return None
        without = without_imports_of(program, needed[1])
        if without == program or is_own_world(without):
            return None
        candidate = self._candidate.model_copy(update={"program": without})
        found = Trial(candidate, self._scenario, self._agent, self._probing).alone()
        notes = dict(
            note.split(": ", 1) for p in found[1].probes for note in p.program.bound if ": " in note
        )
        asked = free_names(without) - free_names(program)
        told = all(BESIDE_TRAINING.match(notes.get(name, "")) for name in asked)
        return found if told and found[2].code != "inconclusive" else None

    def _by_its_settings(self, *, resumes: bool = False) -> tuple[Trace, Grade]:
        """``resumes``: whether it is also to go on from what it saved."""
        took = []

        def observe(place: Scenario, probes: Sequence[Probe]) -> tuple[ProbeTrace, ...]:
            found, seconds = self._observed(place, probes)
            took.append(seconds)
            return found

        candidate, allowed = self._candidate, self._scenario.properties
        trial = OwnTrial(
            candidate.program, observe, candidate.wishes, allowed, self._agent, resumes=resumes
        )
        # one that brings its data trains on them, whatever would be lent
        run = trial.run(anywhere=not is_own_world(candidate.program))
        return run.trace, run.grade.model_copy(update={"seconds": sum(took)})

    def _observed(
        self, scenario: Scenario, probes: Sequence[Probe]
    ) -> tuple[tuple[ProbeTrace, ...], float]:
        return self._probing.observed(self._candidate, scenario, probes, self._breaks)


def _said_of(options: Sequence[str], found: Grade) -> str:
    """What a program that is right by its defaults does with its other options."""
    called = f"with `{' '.join(options)}`"
    if found.code == "wrong":
        return f"This is how it trains {called}; with its defaults it is right."
    if found.code == "right":
        return f"It is right {called} as well."
    return f"It is inconclusive {called}; with its defaults it is right."
