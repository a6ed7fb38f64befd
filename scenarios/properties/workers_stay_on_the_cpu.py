"""Workers of a loader touch no CUDA: they neither move rows to the device nor pin them.

Bug::

    def __getitem__(self, i):
        x, y = self.base[i]
        return x.pin_memory(), y.pin_memory()      # or x.cuda(): CUDA cannot start here

Signature: a worker asked for CUDA, and torch raised in it.

Masked by: ``num_workers=0``, where it works; the spawn start method, where it takes a context and
hundreds of megabytes of the device for each worker.
"""

from harness.domain.scenario import Expectations
from harness.domain.trace import Trace
from harness.domain.verdict import Verdict, failed, inconclusive, passed
from harness.properties.evidence.figures import count, number
from harness.properties.property import Property

from ._passes import facts_of

ID = "workers-stay-on-the-cpu"


def judge(trace: Trace, expectations: Expectations) -> Verdict:
    """The first worker that touched CUDA."""
    del expectations
    made = 0
    for probe in trace.probes:
        facts = facts_of(probe)
        for rank, seen in enumerate(facts.ranks if facts is not None else ()):
            if seen.cuda_in_workers:
                return failed(
                    ID,
                    f"In {probe.probe} a worker of rank {rank} touched CUDA, which cannot be started "
                    "in a forked process. Give rows as they are, and let the loader pin them "
                    "(pin_memory=True) and the main process move them.",
                    number("times that a worker touched CUDA", seen.cuda_in_workers, probe.probe),
                )
            made += sum(len(one.batches) for one in seen.passes if one.workers)
    if not made:
        return inconclusive(ID, "No batch that was trained on was made by a worker.")
    sentence = f"Workers made {count(made, 'batch')}, and none touched CUDA."
    return passed(ID, sentence, number("batches made by workers", made))


PROPERTY = Property(
    id=ID,
    description=str(__doc__),
    judge=judge,
    needs="batches that were made by workers",
    rests_on="facts",
)
