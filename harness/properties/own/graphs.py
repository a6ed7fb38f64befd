"""A program that torch stops, because it goes backward through the graph of an earlier window."""

from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed
from harness.properties.accumulation.gradients_start_fresh import ID
from harness.properties.evidence.figures import count, number

REFUSED = ("backward through the graph a second time", "modified by an inplace operation")
"""What torch says of a backward whose graph is gone, or whose parameters were stepped since."""


def carried_over(verdict: Verdict, trace: Trace) -> Verdict:
    """The verdict on fresh gradients, or the fail for what is carried over with its graph."""
    for probe in trace.probes if verdict.property == ID else ():
        refused = probe.program.outcome == "raised" and any(
            said in (probe.program.message or "") for said in REFUSED
        )
        if probe.updates and refused:
            return failed(
                ID,
                f"In {probe.probe}, after {count(len(probe.updates), 'update')}, backward went into the "
                "graph of an earlier window once more, and torch refused. Detach all that is carried "
                "over from one window to the next.",
                number("updates before it", len(probe.updates), probe.probe),
            )
    return verdict
