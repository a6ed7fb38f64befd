"""Gradients that outlive what they belong to: those of a bad batch that nobody clears, and graphs of
earlier windows.
"""

import math

from harness.domain.trace import BackwardSeen, RankTrace, Trace
from harness.domain.verdict import Verdict, failed
from harness.properties.accumulation.gradients_start_fresh import ID
from harness.properties.evidence.figures import count, number
from harness.properties.mixed_precision.scaler_calls import ALREADY
from harness.properties.mixed_precision.scaler_calls import ID as SCALER

ENOUGH = 4
"""After a loss that is not finite, so many finite ones whose gradients are not show that they stay."""

REFUSED = ("backward through the graph a second time", "modified by an inplace operation")
"""What torch says of a backward whose graph is gone, or whose parameters were stepped since."""


def spoilt_for_good(verdict: Verdict, trace: Trace) -> Verdict:
    """The verdict on fresh gradients, or the fail for those of a bad batch that was left out of training
    and whose gradients were not: no update follows it.
    """
    for probe in trace.everything if verdict.property == ID and verdict.outcome != "fail" else ():
        for rank in probe.ranks:
            stayed = _since_a_bad_loss(rank)
            if len(stayed) >= ENOUGH:
                return failed(
                    ID,
                    f"In {probe.probe} one loss was not finite, and {count(len(stayed), 'backward')} "
                    "of finite losses after it left gradients that are not: those of the bad batch "
                    "were never cleared, and no update follows. Clear the gradients (zero_grad) "
                    "where a batch is skipped as well.",
                    number("finite losses whose gradients are not", len(stayed), probe.probe),
                    number("updates before it", stayed[0].after_update, probe.probe),
                )
    return verdict


def skipped_without_update(verdict: Verdict, trace: Trace) -> Verdict:
    """The verdict on the scaler's protocol, or the fail for a bad batch that is skipped between
    ``unscale_`` and ``update``: torch stops the program at the next one.
    """
    spoiled = trace.spoiled
    refused = spoiled is not None and ALREADY in (spoiled.program.message or "")
    if verdict.property != SCALER or verdict.outcome == "fail" or not refused:
        return verdict
    return failed(
        SCALER,
        "After a batch with a NaN, scaler.unscale_(optimizer) was called again before "
        "scaler.update(), and torch refused. Let scaler.step(optimizer) skip such a batch itself, and "
        "call scaler.update() after it in any case.",
    )


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


def _since_a_bad_loss(rank: RankTrace) -> list[BackwardSeen]:
    """Calls of backward after the first loss of the last window that is not finite, if all that followed
    it left gradients that are not and no update came any more.
    """
    last = [b for b in rank.backwards if b.after_update == len(rank.updates) and b.loss is not None]
    bad = next((i for i, b in enumerate(last) if not math.isfinite(b.loss or 0.0)), None)
    after = [] if bad is None else [b for b in last[bad + 1 :] if math.isfinite(b.loss or 0.0)]
    return after if after and not any(b.gradients_finite for b in after) else []
