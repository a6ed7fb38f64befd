"""A probe in which a program is run until it has saved its state, and then takes that up again.

It can only convict; no scenario declares it, and programs that save and load nothing never meet it.
"""

import re

from harness.domain.scenario import Probe, Scenario

SIGNS = (
    re.compile(r"\btorch\.save\("),
    re.compile(r"\btorch\.load\("),
    re.compile(r"resum|exists\(|is_?file\(|glob|listdir|[\"'](?:epoch|\w*step|iter\w*)[\"']"),
)
"""How a program shows that it does: by all of them."""

NAME = "resumed"
"""Name of the probe."""

SECONDS = 20.0
"""How long both runs may take."""


def resumed_probe(place: Scenario, program: str) -> tuple[Scenario, Probe] | None:
    """Where it is run, on one rank, and how; ``None`` where it does not save what it loads."""
    if not all(sign.search(program) for sign in SIGNS):
        return None
    alone = place.workload.model_copy(update={"world_size": 1})
    probe = Probe(
        name=NAME,
        lifts="What a program forgets when it goes on from what it saved shows only there.",
        own_data=True,
        many_passes=True,
        resumes=True,
        seconds=SECONDS,
    )
    return place.model_copy(update={"workload": alone}), probe
