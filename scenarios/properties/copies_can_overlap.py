"""A copy that nobody waits for comes from pinned memory.

Bug::

    loader = DataLoader(dataset, num_workers=2)              # pin_memory is False as it comes
    for x, y in loader:
        x = x.to("cuda", non_blocking=True)                  # from pageable memory: waited for

Signature: ``non_blocking=True`` on a tensor that is not pinned.

Masked by: everything that looks at values: the numbers are right, and the copy is slow.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence.figures import number
from harness.properties.property import Property

from ._passes import facts_of

ID = "copies-can-overlap"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """Whether any such copy is from pageable memory."""
    del expectations
    total = 0
    for probe in trace.probes:
        facts = facts_of(probe)
        for seen in facts.ranks if facts is not None else ():
            waits = sum(not pinned for pinned in seen.copies)
            if waits:
                return failed(
                    ID,
                    f"In {probe.probe} {waits} of {len(seen.copies)} copies with non_blocking=True were "
                    "from memory that is not pinned, so the host waits for each. Make the loader with "
                    "pin_memory=True.",
                    number("copies from pageable memory", waits, probe.probe),
                )
            total += len(seen.copies)
    if not total:
        return inconclusive(ID, "No batch was copied with non_blocking=True.")
    sentence = f"All {total} copies with non_blocking=True were from pinned memory."
    return passed(ID, sentence, number("copies from pinned memory", total))


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    needs="batches that are copied to a device with non_blocking=True",
)
