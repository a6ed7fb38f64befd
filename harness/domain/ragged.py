"""A probe in which micro-batches and ranks hold different numbers of targets that count.

No scenario declares it. Where a message asks that each target weighs the same, only such batches tell
the mean over all of them from the mean of their means.
"""

from harness.domain.scenario import Probe, Scenario
from harness.domain.wishes import Wishes
from harness.domain.workload import Language

NAME = "ragged"
"""Name of the probe."""

_OF_THE_PLACE = ("batches", "epochs")


def ragged_probe(place: Scenario, wishes: Wishes) -> Probe | None:
    """Rows of tokens that end early; ``None`` where nobody asks. ``place``: where the program trains."""
    if not wishes.each_target:
        return None
    there = place.workload.parameters
    known = Language.model_fields.keys()
    usual = {name: getattr(there, name) for name in _OF_THE_PLACE if name in known}
    return Probe(
        name=NAME,
        lifts="Where all micro-batches hold as many targets, the mean of their means is the mean.",
        workload="language",
        parameters={**usual, "ragged": True},
    )
