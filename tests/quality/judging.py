"""The whole way from a program to its verdicts, and a memory of those already found."""

from dataclasses import dataclass, field

import torch

from harness.domain.candidate import Candidate
from harness.domain.further import further_probes, with_further
from harness.domain.grade import code_of
from harness.domain.refitted import refitted
from harness.domain.scenario import Probe, Scenario
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.verdict import Outcome, Verdict
from harness.domain.workload import WorkloadSpec
from harness.oracle.measure import measure
from harness.properties import judge
from harness.sandbox.executor import JailedExecutor
from harness.scenarios.availability import runnable
from tests.bank import BANK

SCENARIOS = {s.id: s for s in runnable(BANK)[0].scenarios}
"""The bank that comes with this checkout, by id; without what needs an extra that is not here."""

LARGER: dict[str, tuple[str, ...]] = {
    "mlp": ("batch_size", "sizes", "hidden"),
    "deep-residual": ("batch_size", "hidden"),
    "positive-loss": ("batch_size", "hidden"),
    "padded": ("batch_size", "real_counts", "hidden"),
    "transformer": ("batch_size", "width"),
    "cnn": ("batch_size", "sizes", "channels"),
    "two-part": ("batch_size", "hidden"),
    "gan": ("batch_size", "hidden"),
    "loading": ("batch_size", "samples", "validation", "hidden"),
}
"""What the second size multiplies by 1.5, by workload.

Widths and batches only: depth is what makes the deep network explode and the first layers starve,
`target_scale`, `loss_scale` and `head_gain` are what make a regime quiet or loud. Those are the
scenario's subject, and no size.
"""


@dataclass(frozen=True)
class Judged:
    """One program at one seed and one size."""

    scenario: Scenario
    trace: Trace
    verdicts: tuple[Verdict, ...]

    @property
    def outcomes(self) -> dict[str, Outcome]:
        """Outcome of every property."""
        return {v.property: v.outcome for v in self.verdicts}

    @property
    def failed(self) -> set[str]:
        """Properties that fail and count."""
        return {v.property for v in self.verdicts if v.outcome == "fail" and v.level != "advisory"}

    @property
    def code(self) -> str:
        """The grade of the code."""
        return code_of(self.verdicts)

    def story(self) -> str:
        """What a red test has to say: how each probe ended, and all verdicts that are no pass."""
        probes = [
            f"{p.probe}: {p.program.outcome} {p.program.message or ''}" for p in self.trace.probes
        ]
        rest = [
            f"{v.property} {v.outcome} (explained by {v.explained_by}): {v.sentence}"
            for v in self.verdicts
            if v.outcome != "pass"
        ]
        return "\n".join([self.scenario.id, *probes, *rest])


@dataclass
class Court:
    """Runs programs in the jail, measures them here, and judges each only once."""

    executor: JailedExecutor
    known: dict[tuple[str, str, int, bool], Judged] = field(default_factory=dict)

    def judged(
        self, scenario: Scenario, program: str, *, seed: int = 0, larger: bool = False
    ) -> Judged:
        """The verdicts on one program; ``seed`` is an offset, ``larger`` the second size."""
        key = (scenario.id, program, seed, larger)
        if key not in self.known:
            self.known[key] = self.judge_anew(scenario, program, seed=seed, larger=larger)
        return self.known[key]

    def judge_anew(
        self, scenario: Scenario, program: str, *, seed: int = 0, larger: bool = False
    ) -> Judged:
        """The same, without the memory."""
        candidate = Candidate(program=program, origin="test")

        def seen(probe: Probe) -> ProbeTrace:
            workload = scenario.workload_of(probe, seed)
            workload = enlarged(workload) if larger else workload
            recording = self.executor.execute(candidate, workload, probe)
            return measure(recording, workload, probe, scenario.expectations)

        trace = Trace(probes=tuple(map(seen, scenario.probes)))
        judged = Judged(scenario, trace, judge(trace, scenario))
        anew = {p.name: p for p in refitted(scenario, trace.probes)}
        if judged.code == "inconclusive" and anew:
            probes = (anew.get(p.name, p) for p in scenario.probes)
            trace = Trace(probes=tuple(map(seen, probes)))
            judged = Judged(scenario, trace, judge(trace, scenario))
        further = further_probes(scenario, program, trace.probes)
        if judged.code != "right" or not further:
            return judged
        trace = with_further(trace.probes, [seen(probe) for probe in further])
        return Judged(scenario, trace, judge(trace, scenario))


def open_court(executor: JailedExecutor) -> Court:
    """A court of one thread: the other core belongs to the jail, and to the next test file."""
    torch.set_num_threads(1)
    return Court(executor)


def enlarged(workload: WorkloadSpec) -> WorkloadSpec:
    """The same workload, half as large again in what ``LARGER`` names."""
    values = workload.parameters.model_dump()
    return workload.with_parameters({name: _times(values[name]) for name in LARGER[workload.name]})


def _times(value: int | tuple[int, ...]) -> int | tuple[int, ...]:
    return value * 3 // 2 if isinstance(value, int) else tuple(v * 3 // 2 for v in value)
