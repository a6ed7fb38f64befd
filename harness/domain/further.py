"""Probes that no scenario declares: a program that looks right is run in them as well, and they can
only convict.
"""

from collections.abc import Mapping, Sequence

from harness.domain.graded import NAME as GRADED
from harness.domain.graded import graded_probe
from harness.domain.ragged import NAME as RAGGED
from harness.domain.resumed import NAME as RESUMED
from harness.domain.scenario import Probe, Scenario
from harness.domain.spoiled import NAME as SPOILED
from harness.domain.spoiled import OF_GRADIENTS, spoiled_probes
from harness.domain.trace import ProbeTrace, Trace
from harness.domain.wishes import NOTHING, Wishes


def further_probes(
    scenario: Scenario, program: str, seen: Sequence[ProbeTrace]
) -> tuple[Probe, ...]:
    """Those that this program calls for, which was ``seen`` in the probes of the scenario."""
    if any(probe.tests for probe in scenario.probes):  # tests judge, whatever gradients do
        return ()
    found = (*spoiled_probes(scenario, program), graded_probe(scenario, program, seen))
    return tuple(probe for probe in found if probe is not None)


def with_further(
    probes: Sequence[ProbeTrace], further: Sequence[ProbeTrace], wishes: Wishes = NOTHING
) -> Trace:
    """The trace of all that was run. ``wishes``: what the message asks for."""
    named: Mapping[str, ProbeTrace] = {probe.probe: probe for probe in further}
    return Trace(
        probes=tuple(probes),
        spoiled=named.get(SPOILED),
        spoiled_gradients=named.get(OF_GRADIENTS),
        graded=named.get(GRADED),
        resumed=named.get(RESUMED),
        ragged=named.get(RAGGED),
        wishes=wishes,
    )
