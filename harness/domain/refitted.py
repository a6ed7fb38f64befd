"""Probes whose gradients are made as small or as large as they were meant to be, for programs with a
model, data or a loss of their own.

What a scenario's quiet and loud probe multiply gradients by is right for its own network. Of another
one the first run tells how large its gradients are.
"""

import math
from collections.abc import Sequence
from statistics import median

from harness.domain.regimes import computed_norms
from harness.domain.scenario import Expectations, Probe, Scenario
from harness.domain.trace import ProbeTrace

FAR = 4.0
"""How many thresholds a gradient has to lie away from the threshold to be loud or quiet."""

WANTED = 8.0
"""How many thresholds away it is put where it does not."""


def refitted(scenario: Scenario, seen: Sequence[ProbeTrace]) -> tuple[Probe, ...]:
    """The probes to run anew: quiet and loud ones of a scenario about a threshold, of a program that
    trains on no row of the workload, where they were not what they are called.
    """
    bounds = _bounds(scenario.expectations)
    if bounds is None or scenario.expectations.groups:
        return ()
    by_name = {trace.probe: trace for trace in seen}
    found = (_of(p, by_name.get(p.name), bounds) for p in scenario.probes)
    return tuple(probe for probe in found if probe is not None)


def brings_its_data(trace: ProbeTrace) -> bool:
    """Whether a program made updates, none from a row of the workload and none after one of its
    batches was handed out.
    """
    gathered = [m for u in trace.updates for m in u.window]
    return bool(gathered) and not any(m.samples or m.after_batch for m in gathered)


def _of(probe: Probe, seen: ProbeTrace | None, bounds: tuple[float, float]) -> Probe | None:
    norms = computed_norms(seen) if seen is not None and brings_its_data(seen) else []
    if not norms or probe.name not in ("quiet", "loud"):
        return None
    usual, (low, high) = median(norms), bounds
    if probe.name == "loud":
        times = 1.0 if usual >= FAR * high else WANTED * high / usual
    else:
        times = 1.0 if usual <= low / FAR else low / (WANTED * usual)
    if times == 1.0:
        return None
    factor = probe.injection.factor * 2.0 ** round(math.log2(times))
    return probe.model_copy(
        update={"injection": probe.injection.model_copy(update={"factor": factor})}
    )


def _bounds(expectations: Expectations) -> tuple[float, float] | None:
    if expectations.max_norm is not None:
        return expectations.max_norm, expectations.max_norm
    return expectations.max_norm_between
