"""A probe with one bad batch, for programs that ask whether a number is finite.

No scenario declares it. What such a question leads to runs in no other probe, where numbers are finite.
"""

import re
from typing import get_args

from harness.domain.scenario import Probe, Scenario

ASKS = re.compile(r"is_?(?:finite|nan|inf)|non_?finite", re.IGNORECASE)
"""How a program shows that it asks."""

NAME = "spoiled"
"""Name of the probe."""


def spoiled_probe(scenario: Scenario, program: str) -> Probe | None:
    """The first probe with a NaN among the inputs of one batch, the last of its window, on rank 0
    alone; ``None`` where the program does not ask, or the scenario has no place for such a batch.
    """
    expects = scenario.expectations
    if expects.poisoned_probe or expects.measures or not ASKS.search(program):
        return None
    first = scenario.probes[0]
    usual = scenario.workload_of(first).parameters
    if "nan-input" not in get_args(type(usual).model_fields["poison"].annotation):
        return None
    poison: dict[str, str | int | None] = {
        "poison": "nan-input",
        "poison_at": usual.accumulation_steps - 1,
        "poison_apart": usual.batches,
        "poison_further": None,
    }
    return first.model_copy(
        update={
            "name": NAME,
            "lifts": "What a program does where numbers are not finite shows only there.",
            "parameters": {**first.parameters, **poison},
        }
    )
