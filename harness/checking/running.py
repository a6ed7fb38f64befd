"""Executes a block as a program without a scenario, and judges it by its own settings."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.checking.driving import executed
from harness.domain.candidate import Candidate
from harness.domain.injection import Injection
from harness.domain.instruments import Instruments
from harness.domain.own import OWN_SCENARIO, OwnSettings
from harness.domain.scenario import Expectations, Probe, PropertyRule, Scenario
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.trace import Program as Ended
from harness.domain.verdict import Verdict
from harness.domain.workload import WORKLOADS, WorkloadSpec
from harness.own_trial import OwnTrial
from harness.properties import judge
from harness.properties.own import own_settings

SECONDS = 2.0
"""The most wall-clock time of one execution, without what it waits for a processor."""


@dataclass(frozen=True, slots=True)
class BlockRun:
    """What one block did, and what the properties say."""

    trace: Trace
    """Every execution, measured by the oracle."""
    verdicts: tuple[Verdict, ...]
    """One for each property that its own settings call for; advisory ones are advice."""
    settings: OwnSettings
    """What it sets out to do, as far as its run shows it."""
    place: Scenario = OWN_SCENARIO
    """With which model, data and ranks."""

    @property
    def program(self) -> Ended:
        """How the first execution ended."""
        return self.trace.probes[0].program

    @property
    def trains(self) -> bool:
        """Whether an optimizer made a step."""
        return any(probe.updates for probe in self.trace.probes)

    def verdict(self, name: str) -> Verdict | None:
        """What one property says."""
        return next((v for v in self.verdicts if v.property == name), None)


def run_block(
    program: str,
    origin: str,
    tools: Instruments,
    *,
    seconds: float | None,
    anywhere: bool = False,
) -> BlockRun:
    """Run it as it is, and as ``grade`` runs a program without a scenario.

    ``seconds``: the most for each execution; ``None`` for the sandbox's own limit. ``anywhere``: on data
    of any shape, until it trains.

    Raises:
        HarnessFault: sandbox or oracle failed.
    """
    candidate = Candidate(program=program, origin=origin)

    def observe(there: Scenario, probes: Sequence[Probe]) -> tuple[ProbeTrace, ...]:
        return _observed(candidate, there, probes, tools, seconds)

    run = OwnTrial(program, observe).run(anywhere=anywhere)
    return BlockRun(run.trace, run.grade.verdicts, run.settings, run.place)


def in_other_worlds(
    program: str, place: Scenario, origin: str, tools: Instruments, *, seconds: float | None
) -> tuple[Ended, ...]:
    """How it ends here, and with another model, other data and another seed, as far as it leaves these
    open.
    """
    candidate = Candidate(program=program, origin=origin)
    found = []
    for other in _others(place.workload):
        there = place.model_copy(update={"workload": other})
        found.append(_observed(candidate, there, there.probes, tools, seconds)[0].program)
    return tuple(found)


def _others(workload: WorkloadSpec) -> Iterator[WorkloadSpec]:
    """The same kind in other sizes, and where any will do another kind."""
    yield workload
    usual = WORKLOADS[workload.name]()
    sizes = {
        "batches": 11, "batch_size": 8, "features": 10, "hidden": 14, "outputs": 4,
        "learning_rate": 0.02, "accumulation_steps": 3, "epochs": 3,
    }  # fmt: skip
    fitted = {n for n, v in usual.model_dump().items() if getattr(workload.parameters, n) != v}
    changed = {n: v for n, v in sizes.items() if hasattr(usual, n) and n not in fitted}
    yield workload.with_parameters(changed).model_copy(update={"seed": 1})
    if workload.name == "mlp" and not fitted:
        cnn = {"name": "cnn", "parameters": {"batches": 9}, "world_size": workload.world_size}
        yield WorkloadSpec.model_validate({**cnn, "seed": 2})


def run_measurement(program: str, origin: str, tools: Instruments) -> BlockRun:
    """Run a measurement of what clipping costs, with gradients of norms of 10 to 40, so that a clip
    always has something to do.
    """
    scenario = OWN_SCENARIO.model_copy(
        update={
            "workload": WorkloadSpec.model_validate({
                "name": "mlp", "parameters": {"learning_rate": 0.002, "batches": 2, "epochs": 1},
            }),
            "probes": (
                Probe(
                    name="mlp",
                    lifts="A cost in percent needs a size.",
                    injection=Injection(factor=20.0),
                ),
            ),
            "expectations": Expectations(
                objectives=("sample-mean",), max_norm_between=(0.1, 10.0), measures=True
            ),
            "properties": (PropertyRule(id="measurement-is-fair"),),
        }
    )  # fmt: skip
    candidate = Candidate(program=program, origin=origin)
    trace = Trace(probes=_observed(candidate, scenario, scenario.probes, tools, None))
    return BlockRun(trace, judge(trace, scenario), own_settings(trace), scenario)


def _observed(
    candidate: Candidate,
    place: Scenario,
    probes: Sequence[Probe],
    tools: Instruments,
    seconds: float | None,
) -> tuple[ProbeTrace, ...]:
    found = []
    for probe in probes:
        asked = probe.model_copy(update={"as_it_is": probe.own_data, "seconds": seconds})
        workload = place.workload_of(asked)
        recording = executed(candidate, workload, asked, tools)
        found.append(tools.meter.measure(recording, workload, asked, place.expectations))
    return tuple(found)
