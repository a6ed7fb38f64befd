"""Probes with one bad batch, for programs that ask whether a number is finite.

No scenario declares them. What such a question leads to runs in no other probe, where numbers are
finite.
"""

import math
import re

from harness.domain.injection import OnePass
from harness.domain.scenario import Probe, Scenario

ASKS = re.compile(r"is_?(?:finite|nan|inf)|non_?finite", re.IGNORECASE)
"""How a program shows that it asks."""

ASKS_LATER = re.compile(r"is_?(?:finite|nan|inf)\([^()\n]*(?:norm|grad|\bgn\b)", re.IGNORECASE)
"""How it shows that it asks again once gradients are there: of their norm."""

NAME, OF_GRADIENTS = "spoiled", "spoiled gradients"
"""Names of the probes."""


def spoiled_probes(scenario: Scenario, program: str, window: int = 0) -> tuple[Probe, ...]:
    """The first probe with a NaN in what the model says to one batch, the last of its window, on rank
    0 alone, and, for who asks of norms or more than once, with infinite gradients of a finite loss
    there; none where the program does not ask, or the scenario has such a batch itself.

    ``window``: how many batches an update gathers, where that is known.
    """
    expects = scenario.expectations
    if expects.poisoned_probe or expects.measures or not ASKS.search(program):
        return ()
    first = scenario.probes[0]
    usual = scenario.workload_of(first).parameters
    at = {"at": (window or usual.accumulation_steps) - 1, "every": usual.batches, "rank": 0}
    bad = [(NAME, OnePass(**at, row="nan"))]
    if ASKS_LATER.search(program) or len(ASKS.findall(program)) > 1:
        bad.append((OF_GRADIENTS, OnePass(**at, times=math.inf)))
    return tuple(
        first.model_copy(
            update={
                "name": name,
                "lifts": "What a program does where numbers are not finite shows only there.",
                "injection": first.injection.model_copy(update={"passes": (one,)}),
            }
        )
        for name, one in bad
    )
