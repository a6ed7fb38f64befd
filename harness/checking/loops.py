"""Executes one training loop of a skill, and lets the properties judge it."""

from dataclasses import dataclass

from harness.checking.techniques import Techniques, scenario_for, techniques
from harness.domain.candidate import Candidate
from harness.domain.errors import HarnessFault
from harness.domain.event import Clip
from harness.domain.instruments import Instruments
from harness.domain.recording import Recording
from harness.domain.scenario import Expectations, Probe, Scenario
from harness.domain.trace import Program, Trace
from harness.domain.verdict import Verdict
from harness.domain.workload import WorkloadSpec
from harness.properties import judge


@dataclass(frozen=True, slots=True)
class LoopSeen:
    """What one loop did, and what the properties say."""

    techniques: Techniques
    """The techniques that it uses, read from its structure."""
    trace: Trace
    """Every probe of the run, measured by the oracle."""
    verdicts: tuple[Verdict, ...]
    """One verdict for each property that was judged and counts."""
    threshold: float | None
    """The one threshold that it clipped at, as seen; ``None`` for none or several."""
    always_fired: tuple[float, float] | None = None
    """Smallest and largest ordinary gradient norm, where each was clipped to a tenth or less; else
    ``None``.
    """

    @property
    def program(self) -> Program:
        """How the first probe ended."""
        return self.trace.probes[0].program

    def verdict(self, name: str) -> Verdict | None:
        """What one property says."""
        return next((v for v in self.verdicts if v.property == name), None)


def run_loop(program: str, origin: str, tools: Instruments) -> LoopSeen:
    """Run it under every probe that its techniques ask for.

    The threshold is read from what it did, not from its text: the probes are then set around it.

    Raises:
        HarnessFault: sandbox or oracle failed.
    """
    found = techniques(program)
    candidate = Candidate(program=program, origin=origin)
    scenario = scenario_for(found, None)
    recordings = _run_all(candidate, scenario, tools)
    threshold = _threshold(recordings)
    fired = _always_fired(recordings[0])
    if threshold is not None:
        other = scenario_for(found, threshold)
        if other.probes != scenario.probes:
            recordings = _run_all(candidate, other, tools)
        scenario = other
    trace = Trace(
        probes=tuple(
            tools.meter.measure(recording, _workload(scenario, probe), probe, scenario.expectations)
            for recording, probe in zip(recordings, scenario.probes, strict=True)
        )
    )
    counting = tuple(v for v in judge(trace, scenario) if v.level != "advisory")
    return LoopSeen(found, trace, counting, threshold, fired)


def vanishing_norms(program: str, origin: str, tools: Instruments) -> tuple[float, ...]:
    """Norms of the true gradient by weight, first layer to last, where a deep network vanishes."""
    probe = Probe(name="vanishing", lifts="A shallow network has no early layers.")
    parameters = {"depth": 10, "activation": "sigmoid", "init_gain": 0.8, "batches": 2}
    workload = WorkloadSpec.model_validate({"name": "mlp", "parameters": parameters})
    candidate = Candidate(program=program, origin=origin)
    recording = tools.executor.execute(candidate, workload, probe)
    trace = tools.meter.measure(recording, workload, probe, Expectations())
    for update in trace.updates:
        for match in update.matches:
            named = [p for p in match.parameters if p.name.endswith("weight")]
            return tuple(p.expected_norm for p in named)
    return ()


def _run_all(candidate: Candidate, scenario: Scenario, tools: Instruments) -> list[Recording]:
    found = [
        tools.executor.execute(candidate, _workload(scenario, probe), probe)
        for probe in scenario.probes
    ]
    for recording in found:
        if recording.ours and not recording.timed_out:
            raise HarnessFault(recording.problem or "the sandbox failed")
    return found


def _workload(scenario: Scenario, probe: Probe) -> WorkloadSpec:
    return scenario.workload_of(probe)


def _always_fired(recording: Recording) -> tuple[float, float] | None:
    """The range of norms in the first, quiet probe (0.15 to 0.4 in a stable network), where each was
    clipped to a tenth or less; else ``None``.
    """
    calls = [
        r.event for rank in recording.ranks[:1] for r in rank.events if isinstance(r.event, Clip)
    ]
    norms = [c.returned for c in calls if c.returned is not None]
    if not norms or any(
        c.threshold is None or c.threshold > 0.1 * n for c, n in zip(calls, norms, strict=False)
    ):
        return None
    return min(norms), max(norms)


def _threshold(recordings: list[Recording]) -> float | None:
    seen = {
        recorded.event.threshold
        for recording in recordings
        for rank in recording.ranks
        for recorded in rank.events
        if isinstance(recorded.event, Clip) and recorded.event.function == "clip_grad_norm_"
    } - {None}
    return seen.pop() if len(seen) == 1 else None
