"""The gradient of an embedding may hold only the rows that were used."""

import pytest

from harness.domain.candidate import Candidate
from harness.domain.scenario import Expectations, Probe
from harness.domain.workload import WorkloadSpec
from harness.oracle.measure import measure
from harness.sandbox.executor import JailedExecutor

PROGRAM = """
import torch
from torch import nn
torch.manual_seed(0)
table = nn.Embedding(50, 8, sparse=True)
optimizer = torch.optim.{optimizer}(table.parameters(), lr=0.01)
for _ in range(6):
    optimizer.zero_grad()
    (table(torch.randint(0, 50, (16,))) ** 2).mean().backward()
    optimizer.step()
"""


@pytest.mark.parametrize("optimizer", ["SparseAdam", "SGD"])
def test_a_sparse_gradient_is_recorded_and_consumed_as_a_whole(
    executor: JailedExecutor, optimizer: str
) -> None:
    probe = Probe(name="as-it-is", lifts="x", own_data=True)
    workload = WorkloadSpec(name="mlp", parameters={})
    candidate = Candidate(program=PROGRAM.format(optimizer=optimizer), origin="test")

    recording = executor.execute(candidate, workload, probe)
    trace = measure(recording, workload, probe, Expectations())

    assert recording.problem is None
    assert [u.match("as-computed").ratio for u in trace.updates] == pytest.approx([1.0] * 6)
