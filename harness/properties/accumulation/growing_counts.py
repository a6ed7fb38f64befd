"""Windows that are divided by all that a pass has had so far, not by what they hold: a count that is
never set back. Their gradients shrink as 1, 1/2, 1/3, ... within each pass.
"""

from collections.abc import Iterator, Sequence
from itertools import groupby

from harness.domain.verdict import Verdict, failed
from harness.properties.accumulation.divisors import before_the_clip
from harness.properties.evidence.consumption import WindowReading
from harness.properties.evidence.figures import close, number, show_all

ID = "accumulation-equals-large-batch"

FEW = 3
"""So many windows of a pass shrink by no accident."""

ALIKE = 0.03
"""Relative difference up to which what a window arrives at is that of its place."""


def divided_by_all_so_far(gathered: Sequence[WindowReading]) -> Verdict | None:
    """A fail for the first pass whose windows shrink so."""
    for of_a_pass in _passes(gathered):
        arrived = [before_the_clip(reading, reading.update) for reading in of_a_pass]
        known = [size for size in arrived if size]
        first = known[0] if known else 0.0
        shrink = all(close(first / size, n, ALIKE) for n, size in enumerate(known, 1))
        if FEW <= len(known) == len(arrived) and shrink:
            parts = show_all([size / first for size in known[:4]])
            return failed(
                ID,
                f"The windows of the pass that begins {of_a_pass[0].where} arrive at {parts} of the "
                "size of its first: each is divided by all that the pass has had so far. Set the "
                "count back after every update.",
                number(
                    "size of the last window of the pass", known[-1] / first, of_a_pass[-1].where
                ),
            )
    return None


def _passes(gathered: Sequence[WindowReading]) -> Iterator[list[WindowReading]]:
    """Windows of one pass on one rank, in order, as many micro-batches in each."""
    placed = [r for r in gathered if r.window.own and r.window.own[-1].after_batch is not None]
    for _, found in groupby(placed, key=_pass_of):
        windows = list(found)
        if len({r.update.window_size for r in windows}) == 1:
            yield windows


def _pass_of(reading: WindowReading) -> tuple[str, int, int]:
    place = reading.window.own[-1].after_batch
    return reading.window.probe.probe, reading.window.rank, place[0] if place is not None else 0
