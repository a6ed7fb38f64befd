"""A probe with gradients of all sizes, for programs that compare numbers.

No scenario declares it. Between what is far below a threshold and what is far above lies the size from
which a clip acts, and a loop may clip what is ten times too large and nothing else.
"""

import re

from harness.domain.scenario import Expectations, Probe, Scenario
from harness.domain.workload import Mlp

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

SCALED_SPIKES = (250.0,) * 5
"""The same under a loss scale, where each lowers the scale until one of them does not overflow."""


def graded_probe(scenario: Scenario, program: str) -> Probe | None:
    """The loud probe with a gradient of another size in each window; ``None`` where the program
    compares nothing, or the scenario is not about one threshold for the whole.
    """
    loud = next((p for p in scenario.probes if p.name == "loud"), None)
    threshold = _threshold(scenario.expectations)
    judged = any(rule.id == "clip-global-norm" for rule in scenario.properties)
    if loud is None or threshold is None or not judged or not COMPARES.search(program):
        return None
    usual = scenario.workload_of(loud).parameters
    if not isinstance(usual, Mlp):
        return None
    rung = usual.accumulation_steps if scenario.expectations.accumulates else 1
    scaled = any(rule.id == "scaler-protocol" for rule in scenario.properties)
    rungs = (*RUNGS, *(SCALED_SPIKES if scaled else SPIKES))
    sizes = {
        "ladder": tuple(threshold * size for size in rungs),
        "rung": rung,
        "batches": rung * len(rungs),
        "epochs": 1,
        "calm_at": None,
        "poison": "none",
    }
    return loud.model_copy(
        update={
            "name": NAME,
            "lifts": "From which size on a clip acts shows only between the small and the large.",
            "parameters": {**loud.parameters, **sizes},
        }
    )


def _threshold(expectations: Expectations) -> float | None:
    if expectations.max_norm is not None or expectations.max_norm_between is None:
        return expectations.max_norm
    return expectations.max_norm_between[0]
