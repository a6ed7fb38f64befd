"""What an operator is: one way to make a right loop wrong, and the properties that name the fault."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from harness.domain.scenario import Scenario
from harness.properties import judging_in
from harness.quality.program import Changes, ParsedProgram

Derive = Callable[[ParsedProgram], Iterator[Changes]]
"""Every way to apply an operator to a program: the changes at one site each."""


Where = Literal[
    "anywhere",
    "accumulation",
    "no-accumulation",
    "ranks",
    "named-threshold",
    "known-loss",
    "training",
    "apart",
]
"""``named-threshold``: one norm is asked for. ``known-loss``: the size of the loss is judged, so the
scenario does not take it as computed. ``training``: a program that only looks is no answer. ``apart``:
two networks are trained against each other."""


CLIPS = frozenset({"clip-before-step", "clip-global-norm", "clip-once-per-update"})
"""Properties that only an update with a large gradient can fail."""

LOUD = ("loud", "adverse")
"""Names of probes with large gradients."""


@dataclass(frozen=True, slots=True)
class Operator:
    """One fault, as a change of a program."""

    id: str
    """Its name, in words: ``clip-after-step``."""
    fault: str
    """What is wrong afterwards, in one sentence."""
    named_by: tuple[str, ...]
    """Ids of the properties that name this fault; it is tried where a scenario judges one of them."""
    derive: Derive
    """The changes."""
    also: tuple[str, ...] = ()
    """Ids of properties that name it as well where it does more, but do not look for it."""
    where: Where = "anywhere"
    """In which scenarios it is a fault."""
    observes: bool = False
    """Whether it changes what a program says or measures: equal training does not excuse it."""

    @property
    def naming(self) -> frozenset[str]:
        """Ids of all properties that name it."""
        return frozenset((*self.named_by, *self.also))

    @property
    def shows_in(self) -> tuple[str, ...]:
        """Names of probes in which it can show at once: a missing clip needs a gradient to clip."""
        return LOUD if not CLIPS.isdisjoint(self.named_by) else ()

    def applies_to(self, scenario: Scenario) -> bool:
        """Whether the scenario judges this fault."""
        judged = {rule.id for rule in judging_in(scenario) if rule.level != "allowed"}
        if scenario.expectations.measures:  # what is timed there is no training
            judged &= {"measurement-is-fair"}
        return _fits(self.where, scenario) and not judged.isdisjoint(self.named_by)


def _fits(where: Where, scenario: Scenario) -> bool:
    expects = scenario.expectations
    return {
        "anywhere": True,
        "accumulation": expects.accumulates,
        "no-accumulation": not expects.accumulates,
        "ranks": scenario.workload.world_size > 1,
        "named-threshold": expects.max_norm is not None,
        "known-loss": "as-computed" not in expects.objectives,
        "apart": scenario.workload.name == "gan",
        "training": expects.unhealthy_probe is None and not expects.measures,
    }[where]
