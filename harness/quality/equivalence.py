"""Whether two programs make torch do the same, update by update, whatever they say."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from harness.domain.candidate import Candidate
from harness.domain.event import Collective, OptimizerStep, ScalerCall, Start
from harness.domain.instruments import Instruments
from harness.domain.recording import RankRecording, Recorded
from harness.domain.scenario import Scenario
from harness.domain.workload import WorkloadSpec
from harness.quality.probing import said, second_probes

Tensors = dict[str, NDArray[np.float64]]

SAME = 1e-5
"""Relative difference that rounding and the epsilon of a clip cause between two equal programs."""

NUDGE = 1e-6
"""By how much of itself the learning rate is changed to see how rounding grows from update to update."""

ROOM = 2.0
"""How many times as far as a nudged run two equal programs may come apart."""

MOST = 1e-3
"""From this relative difference on nothing is put down to rounding, however it grows."""


@dataclass(frozen=True, slots=True)
class Step:
    """One update, or one that a scaler skipped."""

    gradients: Tensors
    """What the optimizer consumed."""
    parameters: Tensors
    """What came of it."""
    learning_rates: tuple[float, ...]
    """By group."""
    reduced: int
    """Elements that were synchronised since the step before."""
    skipped: bool
    """Whether it was left out."""

    @property
    def rounds(self) -> int:
        """Times that all parameters were synchronised; a few numbers more are bookkeeping."""
        return round(self.reduced / max(1, sum(p.size for p in self.parameters.values())))


Runs = list[list[list[Step]]]
"""By probe, then by rank."""


@dataclass(slots=True)
class EquivalenceCheck:
    """Compares mutants with what they were derived from; each original is run once, or twice where the
    growth of rounding is asked for.
    """

    tools: Instruments
    """What runs them."""
    known: dict[tuple[str, str, float], Runs] = field(default_factory=dict)
    """Steps of originals, by scenario, program and nudge."""

    def difference(self, scenario: Scenario, original: str, mutant: str) -> str | None:
        """The first thing that differs in the second probe, in words; ``None`` when nothing does."""
        probes = second_probes(scenario, original)
        runs = self._original(scenario, original), self._run(scenario, original, mutant)
        for at, ((probe, workload), expected, found) in enumerate(zip(probes, *runs, strict=True)):
            if not all(expected) or not expected:
                return f"in {probe.name} the unmutated program makes no update to compare with"
            differs = _first_difference(expected, found)
            if differs is not None:
                nudged = self._original(scenario, original, NUDGE)[at]
                differs = _first_difference(expected, found, nudged)
            if differs is not None:
                which = workload.parameters.optimizer
                return f"in {probe.name} ({said(scenario, original)}; {which}) {differs}"
        return None

    def _original(self, scenario: Scenario, original: str, nudge: float = 0.0) -> Runs:
        key = scenario.id, original, nudge
        if key not in self.known:
            self.known[key] = self._run(scenario, original, original, nudge)
        return self.known[key]

    def _run(self, scenario: Scenario, original: str, text: str, nudge: float = 0.0) -> Runs:
        candidate = Candidate(program=text, origin="quality")
        return [
            [
                list(_steps(rank))
                for rank in self.tools.executor.execute(candidate, _nudged(w, nudge), probe).ranks
            ]
            for probe, w in second_probes(scenario, original)
        ]


def _nudged(workload: WorkloadSpec, by: float) -> WorkloadSpec:
    rate = workload.parameters.learning_rate * (1.0 + by)
    return workload.with_parameters({"learning_rate": rate}) if by else workload


def _steps(rank: RankRecording) -> Iterator[Step]:
    """Steps that consumed something, or were left out: without any gradient a step moves nothing."""
    reduced = 0
    parameters: Tensors = {}
    for item in rank.events:
        match item.event:
            case Start():
                parameters = _named(item, "param:")
            case Collective(floating=True, elements=elements):
                reduced += elements
            case OptimizerStep() as event:
                scale = event.fused_scale or 1.0
                rates = tuple(group.numbers.get("lr", 0.0) for group in event.groups)
                gradients = {n: g / scale for n, g in _named(item, "grad:").items()}
                after = _named(item, "param:")
                moved = any(not _equal(parameters.get(n), value) for n, value in after.items())
                parameters = {**parameters, **after}
                if gradients or moved:
                    yield Step(gradients, after, rates, reduced, event.fused_skip)
                    reduced = 0
            case ScalerCall(method="step", skipped=True):
                yield Step({}, {}, (), reduced, skipped=True)
                reduced = 0


def _equal(one: NDArray[np.float64] | None, other: NDArray[np.float64]) -> bool:
    return one is not None and np.array_equal(one, other, equal_nan=True)


def _named(item: Recorded, prefix: str) -> Tensors:
    return {
        blob.name.removeprefix(prefix): np.frombuffer(blob.data, np.dtype(blob.dtype)).astype(float)
        for blob in item.tensors
        if blob.name.startswith(prefix)
    }


def _first_difference(
    expected: list[list[Step]], found: list[list[Step]], nudged: Sequence[Sequence[Step]] = ()
) -> str | None:
    for ours, theirs, shaken in zip_longest(expected, found, nudged, fillvalue=()):
        for index, (one, other, third) in enumerate(zip_longest(ours, theirs, shaken)):
            if one is None and other is None:
                break  # the nudged run goes on
            if one is None or other is None:
                return f"it makes {len(theirs)} updates instead of {len(ours)}"
            for what, same in _compared(one, other, third or one):
                if not same:
                    return f"update {index} has other {what}"
    return None


def _compared(one: Step, other: Step, nudged: Step) -> Iterator[tuple[str, bool]]:
    yield "skips", one.skipped == other.skipped
    yield "learning rates", one.learning_rates == other.learning_rates
    yield "rounds of synchronisation", one.rounds == other.rounds
    yield "gradients", _close(one.gradients, other.gradients, nudged.gradients)
    yield "parameters", _close(one.parameters, other.parameters, nudged.parameters)


def _close(one: Tensors, other: Tensors, nudged: Tensors) -> bool:
    if one.keys() != other.keys():
        return False
    slack = max(SAME, min(MOST, ROOM * _gap(one, nudged))) if one.keys() == nudged.keys() else SAME
    same = all(np.array_equal(one[n], other[n], equal_nan=True) for n in one)
    return same or _gap(one, other) <= slack


def _gap(one: Tensors, other: Tensors) -> float:
    """Relative to the first; NaN where either holds one."""
    size = sum(float(np.sum(value**2)) for value in one.values()) ** 0.5
    gap = sum(float(np.sum((one[n] - other[n]) ** 2)) for n in one) ** 0.5
    return gap / size if size else (0.0 if gap == 0.0 else math.inf)
