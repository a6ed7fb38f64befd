"""A program executed and judged, probe by probe, as a run does."""

import re
from collections.abc import Callable, Collection
from dataclasses import dataclass

from harness.domain.candidate import Candidate
from harness.domain.errors import HarnessFault
from harness.domain.further import further_probes, with_further
from harness.domain.grade import Grade, write_grade
from harness.domain.instruments import Instruments
from harness.domain.scenario import Probe, Scenario
from harness.domain.trace import ProbeTrace, Trace
from harness.properties import judge

FIGURES = re.compile(r"[\d.,%]+(e[+-]\d+)?")
"""What differs between two sentences that say the same."""


@dataclass(frozen=True, slots=True)
class JudgedTrial:
    """What came of one program."""

    grade: Grade
    """Its grade on the probes that were run."""
    trace: Trace
    """What was seen in them."""

    @property
    def failed(self) -> tuple[str, ...]:
        """Every property that fails, advisory ones included."""
        return tuple(v.property for v in self.grade.verdicts if v.outcome == "fail")

    @property
    def told(self) -> dict[str, str]:
        """By property that fails: what is said of it, without figures."""
        failing = (v for v in self.grade.verdicts if v.outcome == "fail")
        return {v.property: FIGURES.sub("", v.sentence) for v in failing}

    @property
    def only_raised(self) -> str | None:
        """The exception that ended every probe, where one did."""
        programs = [probe.program for probe in self.trace.probes]
        if all(p.outcome in ("raised", "unbound") for p in programs):
            return f"{programs[0].exception or programs[0].outcome}: {programs[0].message}"
        return None


Enough = Callable[[JudgedTrial], bool]
"""Whether the probes so far say enough."""


def try_program(
    scenario: Scenario,
    text: str,
    tools: Instruments,
    enough: Enough = lambda _: False,
    first: Collection[str] = (),
) -> JudgedTrial:
    """Run the scenario's probes in order, those named ``first`` before the others, until they say
    enough.

    Raises:
        HarnessFault: the oracle failed, or the machine did not let the program end.
    """
    candidate = Candidate(program=text, origin="quality")
    seen: list[ProbeTrace] = []
    for probe in sorted(scenario.probes, key=lambda probe: probe.name not in first):
        seen.append(_seen(scenario, candidate, probe, tools))
        judged = _judged(scenario, Trace(probes=tuple(seen)))
        if enough(judged):
            return judged
    if judged.grade.code == "right" and (further := further_probes(scenario, text, seen)):
        added = [_seen(scenario, candidate, probe, tools) for probe in further]
        judged = _judged(scenario, with_further(seen, added))
    return judged


def _seen(scenario: Scenario, candidate: Candidate, probe: Probe, tools: Instruments) -> ProbeTrace:
    workload = scenario.workload_of(probe)
    recording = tools.executor.execute(candidate, workload, probe)
    if recording.ours:
        raise HarnessFault(f"probe {probe.name} did not complete: {recording.problem}")
    return tools.meter.measure(recording, workload, probe, scenario.expectations)


def _judged(scenario: Scenario, trace: Trace) -> JudgedTrial:
    grade = write_grade(scenario, "quality", judge(trace, scenario), trace=trace)
    return JudgedTrial(grade, trace)
