"""Parameters that an optimizer holds and no loss has reached, as far as a program was seen: whether a
loss is still to come is not known.
"""

from collections.abc import Sequence

from harness.domain.scenario import PropertyRule
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, inconclusive
from harness.properties.evidence.figures import count, number
from harness.properties.learning.every_parameter_learns import ID
from harness.properties.learning.unheld import WAITING, ran_whole

NAMED = 3
"""So many are named."""


def where_reached(
    verdicts: tuple[Verdict, ...], trace: Trace, allowed: Sequence[PropertyRule]
) -> tuple[Verdict, ...]:
    """The verdicts, with one that is inconclusive where some parameters had no gradient while their
    optimizer stepped, and nothing is known to be wrong with that, nor is it allowed.
    """
    told = None if ID in {rule.id for rule in allowed} else _not_reached(trace)
    if told is None or any(v.property == ID and v.outcome == "fail" for v in verdicts):
        return verdicts
    return (*(v for v in verdicts if v.property != ID), told)


def _not_reached(trace: Trace) -> Verdict | None:
    for probe in trace.probes:
        found = [
            x for x in probe.program.unheld
            if x.why == "idle" or (x.why in WAITING and not ran_whole(probe))
        ]  # fmt: skip
        if not found:
            continue
        names = [one.name for one in found]
        more = f" and {len(names) - NAMED} more" if len(names) > NAMED else ""
        return inconclusive(
            ID,
            f"In {probe.probe} {', '.join(names[:NAMED])}{more} had no gradient in "
            f"{count(found[0].backwards, 'step')} of the optimizer. If a loss is to train that, "
            "something cuts it off (no_grad, detach, .data, .item()); if not, freeze it "
            "(requires_grad_(False)).",
            number("parameters that no loss reached", len(names), probe.probe),
        )
    return None
