"""The second probe: other data, other sizes, other optimizers, more ranks, an overflow."""

from harness.domain.injection import OnePass
from harness.domain.scenario import Probe, Scenario
from harness.domain.workload import WorkloadSpec

SIZES: dict[str, tuple[str, ...]] = {
    "mlp": ("batch_size", "hidden"),
    "deep-residual": ("batch_size", "hidden"),
    "positive-loss": ("batch_size", "hidden"),
    "padded": ("batch_size", "real_counts", "hidden"),
    "transformer": ("batch_size", "width"),
    "cnn": ("batch_size", "channels"),
    "two-part": ("batch_size", "hidden"),
}
"""What is half as large again, by workload."""

OTHER_SEED = 1000
"""Offset of its seeds."""

EPOCHS = 3
"""Passes over the data, where the program asks."""

RANKS = 3
"""Ranks, where there are several."""


def second_probes(scenario: Scenario, program: str) -> tuple[tuple[Probe, WorkloadSpec], ...]:
    """Every probe of the scenario under SGD and Adam, and with an overflow where a scaler is used."""
    found: list[tuple[Probe, WorkloadSpec]] = []
    for probe in scenario.probes:
        workload = scenario.workload_of(probe, OTHER_SEED)
        found += [(probe, _other(workload, {"optimizer": name})) for name in ("sgd", "adam")]
        if "Scaler" in program:
            found.append((_overflowing(probe, workload), _other(workload, {})))
    return tuple(found)


def said(scenario: Scenario, program: str) -> str:
    """What the second probe was, in words."""
    parts = ["other data and sizes", f"{EPOCHS} passes", "SGD and Adam"]
    if scenario.workload.world_size > 1:
        parts.append(f"{RANKS} ranks")
    if "Scaler" in program:
        parts.append("an overflow")
    return ", ".join(parts)


def _overflowing(probe: Probe, workload: WorkloadSpec) -> Probe:
    every = workload.parameters.batches
    overflow = OnePass(at=min(5, every - 1), every=every, times=1e5)
    injection = probe.injection.model_copy(update={"passes": (*probe.injection.passes, overflow)})
    return probe.model_copy(update={"injection": injection})


def _other(workload: WorkloadSpec, change: dict[str, object]) -> WorkloadSpec:
    values = workload.parameters.model_dump()
    larger = {name: _larger(values[name]) for name in SIZES.get(workload.name, ())}
    other = workload.with_parameters({**larger, "epochs": EPOCHS, **change})
    several = workload.world_size > 1
    return other.model_copy(update={"world_size": RANKS if several else 1})


def _larger(value: int | tuple[int, ...]) -> int | tuple[int, ...]:
    return value * 3 // 2 if isinstance(value, int) else tuple(v * 3 // 2 for v in value)
