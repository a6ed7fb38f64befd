"""Every epoch has its own order.

Bug::

    sampler = DistributedSampler(dataset)
    for epoch in range(epochs):            # sampler.set_epoch(epoch) is missing:
        for x, y in loader:                # its generator is seeded with seed + 0 each time
            ...

Signature: two epochs of a rank have the same batches in the same order; where a row stands within
its batch changes nothing.

Masked by: one epoch; looking at the rows without their order.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence.figures import count, number
from harness.properties.property import Property

from ._passes import facts_of, unclear

ID = "reshuffled-every-epoch"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """The first two epochs of a rank that are alike."""
    del expectations
    compared = 0
    for probe in trace.probes:
        facts = facts_of(probe)
        for rank, seen in enumerate(facts.ranks if facts is not None else ()):
            orders = [one.order for one in seen.passes]
            first = next((i for i, order in enumerate(orders) if order in orders[:i]), None)
            if first is not None and None not in seen.passes[first].samples:
                where = f"{probe.probe}, epoch {first + 1}"
                return failed(
                    ID,
                    f"In {where} rank {rank} trained on the same batches in the same order as in epoch "
                    f"{orders.index(orders[first]) + 1}. Shuffle anew: sampler.set_epoch(epoch) "
                    "before each epoch of a DistributedSampler, and no seed that is set again in it.",
                    number("batches in the same order", len(orders[first]), where),
                )
            compared += len(orders) - 1 if orders else 0
    doubt = unclear(ID, trace)
    if doubt is not None or not compared:
        return doubt or inconclusive(ID, "There are no two epochs to compare.")
    return passed(
        ID,
        f"{count(compared, 'epoch')} had another order than those before.",
        number("epochs compared with those before", compared),
    )


PROPERTY = Property(
    id=ID, description=str(__doc__), judge=judge, needs="two epochs whose rows are recognised"
)
