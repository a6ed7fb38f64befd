"""Whether two programs make torch do the same, update by update, whatever they say."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest

import numpy as np
from numpy.typing import NDArray

from harness.domain.candidate import Candidate
from harness.domain.event import Collective, OptimizerStep, ScalerCall
from harness.domain.instruments import Instruments
from harness.domain.recording import RankRecording, Recorded
from harness.domain.scenario import Scenario
from harness.quality.probing import said, second_probes

Tensors = dict[str, NDArray[np.float64]]

SAME = 1e-5
"""Relative difference that rounding and the epsilon of a clip cause between two equal programs."""


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


@dataclass(slots=True)
class Comparison:
    """Compares mutants with what they were derived from; each original is run once."""

    tools: Instruments
    """What runs them."""
    known: dict[tuple[str, str], list[list[list[Step]]]] = field(default_factory=dict)
    """Steps of originals: by probe, then by rank."""

    def difference(self, scenario: Scenario, original: str, mutant: str) -> str | None:
        """The first thing that differs in the second probe, in words; ``None`` when nothing does."""
        key = scenario.id, original
        if key not in self.known:
            self.known[key] = self._run(scenario, original, original)
        probes = second_probes(scenario, original)
        pairs = zip(probes, self.known[key], self._run(scenario, original, mutant), strict=True)
        for (probe, workload), expected, found in pairs:
            if not all(expected) or not expected:
                return f"in {probe.name} the unmutated program makes no update to compare with"
            differs = _first_difference(expected, found)
            if differs is not None:
                which = workload.parameters.optimizer
                return f"in {probe.name} ({said(scenario, original)}; {which}) {differs}"
        return None

    def _run(self, scenario: Scenario, original: str, text: str) -> list[list[list[Step]]]:
        candidate = Candidate(program=text, origin="quality")
        return [
            [list(_steps(r)) for r in self.tools.executor.execute(candidate, w, probe).ranks]
            for probe, w in second_probes(scenario, original)
        ]


def _steps(rank: RankRecording) -> Iterator[Step]:
    reduced = 0
    for item in rank.events:
        match item.event:
            case Collective(floating=True, elements=elements):
                reduced += elements
            case OptimizerStep() as event:
                scale = event.fused_scale or 1.0
                rates = tuple(group.numbers.get("lr", 0.0) for group in event.groups)
                gradients = {n: g / scale for n, g in _named(item, "grad:").items()}
                yield Step(gradients, _named(item, "param:"), rates, reduced, event.fused_skip)
                reduced = 0
            case ScalerCall(method="step", skipped=True):
                yield Step({}, {}, (), reduced, skipped=True)
                reduced = 0


def _named(item: Recorded, prefix: str) -> Tensors:
    return {
        blob.name.removeprefix(prefix): np.frombuffer(blob.data, np.dtype(blob.dtype)).astype(float)
        for blob in item.tensors
        if blob.name.startswith(prefix)
    }


def _first_difference(expected: list[list[Step]], found: list[list[Step]]) -> str | None:
    for ours, theirs in zip_longest(expected, found, fillvalue=()):
        for index, (one, other) in enumerate(zip_longest(ours, theirs)):
            if one is None or other is None:
                return f"it makes {len(theirs)} updates instead of {len(ours)}"
            for what, same in _compared(one, other):
                if not same:
                    return f"update {index} has other {what}"
    return None


def _compared(one: Step, other: Step) -> Iterator[tuple[str, bool]]:
    yield "skips", one.skipped == other.skipped
    yield "learning rates", one.learning_rates == other.learning_rates
    yield "rounds of synchronisation", one.rounds == other.rounds
    yield "gradients", _close(one.gradients, other.gradients)
    yield "parameters", _close(one.parameters, other.parameters)


def _close(one: Tensors, other: Tensors) -> bool:
    if one.keys() != other.keys():
        return False
    size = sum(float(np.sum(value**2)) for value in one.values()) ** 0.5
    gap = sum(float(np.sum((one[n] - other[n]) ** 2)) for n in one) ** 0.5
    return gap <= SAME * size or all(np.array_equal(one[n], other[n], equal_nan=True) for n in one)
