"""What a comment says of a schedule, which the run of its loop can refute or bear out. Pure."""

import re
from collections.abc import Iterator

from harness.checking.running import BlockRun
from harness.domain.check import Observation
from harness.domain.skill import Part
from harness.domain.verdict import Number

_RATE_PER_UPDATE = re.compile(
    r"^(?:stepped|steps?|called|moves|updated) (?:after |on |at )?(?:every|each|once per|per) "
    r"(?:optimizer |training )?(?:step|update|batch)\b",
    re.IGNORECASE,
)


def statements_about(part: Part, seen: BlockRun) -> Iterator[Observation]:
    """A claim that a schedule moves with every update, by how many updates it moved after."""
    said = next((c for c in part.comments if _RATE_PER_UPDATE.match(c)), None)
    verdict = seen.verdict("scheduler-per-update")
    figures = {n.name: n.value for n in verdict.numbers} if verdict is not None else {}
    moved, first = figures.get("windows in which it moved"), seen.trace.probes[0]
    count = len([u for u in first.updates if not u.short])
    if said is not None and moved is not None and count:
        yield Observation(
            statement=said,
            holds=2 * moved > count,
            sentence=f"The schedule moved after {moved:.0f} of {count} updates.",
            numbers=(Number(name="updates after which it moved", value=moved),),
        )
