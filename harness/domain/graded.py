"""A probe with gradients of all sizes, for programs that compare numbers.

No scenario declares it. Between what is far below a threshold and what is far above lies the size from
which a clip acts, and a loop may clip what is ten times too large and nothing else.
"""

import math
import re
from collections.abc import Sequence
from statistics import median

from harness.domain.injection import Injection
from harness.domain.scenario import Expectations, Probe, Scenario
from harness.domain.trace import ProbeTrace

COMPARES = re.compile(
    r"(?<![-<>=])[<>](?![<>])|\b(?:gt|ge|lt|le|greater|less)\w*\(|heaviside", re.IGNORECASE
)
"""How a program shows that it compares sizes; an arrow of an annotation is none."""

NAME = "graded"
"""Name of the probe."""

RUNGS = (25.0, 2.5, 10.0, 4.0, 40.0, 1.6, 6.0, 2.0, 16.0, 3.0)
"""Norms of the gradients of successive windows, in thresholds: in no order, so that neither time nor
what went before explains which of them are clipped.
"""

SPIKES = (250.0, 2500.0, 25000.0)
"""The last ones, which a clip may be kept from by mistake."""

STRAY = 10.0
"""A gradient that is so many times larger or smaller than the usual one is a spike, or was changed."""

HEADROOM = 128.0
"""What the scale of a GradScaler is lowered by: the rungs and the first spike do not overflow."""


def graded_probe(scenario: Scenario, program: str, seen: Sequence[ProbeTrace]) -> Probe | None:
    """The loud probe with a gradient of another size in each window; ``None`` where the program
    compares nothing, or the scenario is not about one threshold for the whole. ``seen``: the probes of
    this program, which tell how large its gradients are by themselves.
    """
    loud = next((p for p in scenario.probes if p.name == "loud"), None)
    threshold = _threshold(scenario.expectations)
    of_parts = bool(scenario.expectations.groups)
    if loud is None or threshold is None or of_parts or not COMPARES.search(program):
        return None
    norms = _natural(loud, next((p for p in seen if p.probe == loud.name), None))
    if not norms:
        return None
    usual = scenario.workload_of(loud).parameters
    rung = usual.accumulation_steps if scenario.expectations.accumulates else 1
    sizes = (*RUNGS, *SPIKES)
    of_each = [*norms, *[median(norms)] * len(sizes)]
    factors = (threshold * s / (n * HEADROOM) for s, n in zip(sizes, of_each, strict=False))
    return loud.model_copy(
        update={
            "name": NAME,
            "lifts": "From which size on a clip acts shows only between the small and the large.",
            "injection": Injection(factor=HEADROOM, by_window=tuple(factors)),
            "parameters": {**loud.parameters, "batches": rung * len(sizes), "epochs": 1},
        }
    )


def _natural(loud: Probe, seen: ProbeTrace | None) -> list[float]:
    """Norms of the gradients of successive windows, as they are without a factor. Where single
    forwards were changed, the usual one stands in.
    """
    found = [(m, u) for u in (seen.updates if seen else ()) if (m := u.match("as-computed"))]
    norms = [m.expected_norm / loud.injection.factor for m, _ in found]
    usual = [n for n in norms if 0.0 < n < math.inf]
    if not usual:
        return []
    near = median(usual)
    return [n if near / STRAY < n < near * STRAY else near for n in norms]


def _threshold(expectations: Expectations) -> float | None:
    if expectations.max_norm is not None or expectations.max_norm_between is None:
        return expectations.max_norm
    return expectations.max_norm_between[0]
