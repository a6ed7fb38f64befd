"""One program, executed and measured in its probes, and judged."""

from collections.abc import Sequence
from time import perf_counter

from harness.domain.candidate import Candidate
from harness.domain.further import further_probes, with_further
from harness.domain.grade import Grade, write_grade
from harness.domain.own import OWN_SCENARIO, further_regimes, situation_of
from harness.domain.refitted import refitted
from harness.domain.scenario import Probe, Scenario
from harness.domain.trace import ProbeTrace, Trace
from harness.properties import judge
from harness.properties.own import own_grade
from harness.workbench import Task, Workbench


class Trial:
    """One program on the workbench."""

    def __init__(self, candidate: Candidate, task: Task, bench: Workbench) -> None:
        """Nothing is run yet."""
        self._candidate = candidate
        self._task = task
        self._bench = bench

    def in_scenario(self) -> tuple[Trace, Grade]:
        """In the probes of its scenario, and where it looks right in further ones."""
        scenario, name = self._task.scenario, self._task.agent.name
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

    def alone(self) -> tuple[Trace, Grade]:
        """As it is, and then with gradients far below and far above its own threshold."""
        place = situation_of(self._candidate.program)
        first, seconds = self._observed(place, place.probes)
        if place.workload.world_size > 1 and not first[0].updates:
            place = OWN_SCENARIO  # it may only be made to train on several
            first, seconds = self._observed(place, place.probes)
        added, more = self._observed(place, further_regimes(first[0]))
        trace = Trace(probes=(*first, *added))
        allowed = self._task.scenario.properties
        return trace, own_grade(trace, self._task.agent.name, seconds + more, allowed)

    def _observed(
        self, scenario: Scenario, probes: Sequence[Probe]
    ) -> tuple[tuple[ProbeTrace, ...], float]:
        """What a program did in each probe, and how long all of it took."""
        tools, seed = self._bench.tools, self._bench.settings.seed

        def observe(probe: Probe) -> tuple[ProbeTrace, float]:
            started = perf_counter()
            workload = scenario.workload_of(probe, seed)
            recording = tools.executor.execute(self._candidate, workload, probe)
            measured = tools.meter.measure(recording, workload, probe, scenario.expectations)
            return measured, perf_counter() - started

        seen = self._bench.side_by_side(observe, probes)
        return tuple(trace for trace, _ in seen), sum(seconds for _, seconds in seen)
