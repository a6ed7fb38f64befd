"""What ranks send each other is on record, whoever sends it and in whatever mode."""

import pytest

from harness.domain.candidate import Candidate
from harness.domain.event import Collective
from harness.domain.scenario import Probe
from harness.sandbox.executor import JailedExecutor
from tests.quality.judging import SCENARIOS

SENDING = """
import contextlib
import torch
import torch.distributed as dist
with {mode}:
    kept = torch.ones(3)
    {call}
"""


@pytest.mark.slow
@pytest.mark.parametrize(
    ("mode", "call"),
    [
        ("contextlib.nullcontext()", "dist.all_reduce(kept)"),
        ("torch.no_grad()", "dist.all_reduce(kept, async_op=True).wait()"),
        ("torch.inference_mode()", "dist.all_reduce(kept)"),
        (
            "contextlib.nullcontext()",
            "dist._functional_collectives.all_reduce(kept, 'sum', dist.group.WORLD)",
        ),
    ],
)
def test_an_all_reduce_is_written_once_by_each_rank(mode, call):
    workload = SCENARIOS["ddp-accumulation-no-sync"].workload
    candidate = Candidate(program=SENDING.format(mode=mode, call=call), origin="test")
    with JailedExecutor(parallel=1) as executor:
        ranks = executor.execute(candidate, workload, Probe(name="sent", lifts="")).ranks
    sent = [[r.event for r in rank.events if isinstance(r.event, Collective)] for rank in ranks]

    assert [[(c.operation, c.elements) for c in events] for events in sent] == [
        [("allreduce_", 3)]
    ] * workload.world_size
