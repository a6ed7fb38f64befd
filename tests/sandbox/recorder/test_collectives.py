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
def test_an_all_reduce_is_written_once_by_each_rank(executor, mode, call):
    assert sent(executor, mode, call) == [[("allreduce_", 3)]] * 2


@pytest.mark.parametrize(
    "call",
    [
        "dist.reduce_scatter_tensor(torch.ones(2), torch.ones(4))",
        "dist.reduce_scatter(torch.ones(2), [torch.ones(2), torch.ones(2)])",
    ],
)
def test_a_reduce_scatter_counts_what_is_reduced_and_not_its_result(
    executor: JailedExecutor, call: str
) -> None:
    """With two ranks the result is half as large again, and one round looked like one and a half."""
    found = sent(executor, "contextlib.nullcontext()", call)

    assert [[elements for _, elements in events] for events in found] == [[4], [4]]


def sent(executor: JailedExecutor, mode: str, call: str) -> list[list[tuple[str, int]]]:
    """Operations and elements, rank by rank."""
    workload = SCENARIOS["ddp-accumulation-no-sync"].workload
    candidate = Candidate(program=SENDING.format(mode=mode, call=call), origin="test")
    ranks = executor.execute(candidate, workload, Probe(name="sent", lifts="")).ranks
    found = [[r.event for r in rank.events if isinstance(r.event, Collective)] for rank in ranks]
    return [[(c.operation, c.elements) for c in events] for events in found]
