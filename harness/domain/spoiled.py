"""A probe with one bad batch, for programs that ask whether a number is finite.

No scenario declares it. What such a question leads to runs in no other probe, where numbers are finite.
"""

import re

from harness.domain.injection import OnePass
from harness.domain.scenario import Probe, Scenario

ASKS = re.compile(r"is_?(?:finite|nan|inf)|non_?finite", re.IGNORECASE)
"""How a program shows that it asks."""

NAME = "spoiled"
"""Name of the probe."""


def spoiled_probe(scenario: Scenario, program: str, window: int = 0) -> Probe | None:
    """The first probe with a NaN in what the model says to one batch, the last of its window, on rank
    0 alone; ``None`` where the program does not ask, or the scenario has such a batch itself.

    ``window``: how many batches an update gathers, where that is known.
    """
    expects = scenario.expectations
    if expects.poisoned_probe or expects.measures or not ASKS.search(program):
        return None
    first = scenario.probes[0]
    usual = scenario.workload_of(first).parameters
    bad = OnePass(
        at=(window or usual.accumulation_steps) - 1, every=usual.batches, rank=0, row="nan"
    )
    return first.model_copy(
        update={
            "name": NAME,
            "lifts": "What a program does where numbers are not finite shows only there.",
            "injection": first.injection.model_copy(update={"passes": (bad,)}),
        }
    )
