"""A model of the program's own is judged by what its backwards say, whichever function computes them."""

import pytest

from harness.domain.candidate import Candidate
from harness.domain.scenario import Expectations, Probe
from harness.domain.workload import WorkloadSpec
from harness.oracle.measure import measure
from harness.sandbox.executor import JailedExecutor

OWN = """
torch.manual_seed(1)


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.rnn = torch.nn.GRU(4, 8, batch_first=True)
        self.head = torch.nn.Linear(8, 3)

    def forward(self, x):
        states, _ = self.rnn(x.view(len(x), 4, 4))
        return self.head(states[:, -1])


net = Net()
opt = torch.optim.SGD(net.parameters(), lr=0.05)
params = [*net.rnn.parameters(), *net.head.parameters()]

for x, y in train_loader:
    {before}
    loss = torch.nn.functional.mse_loss(net(x), y)
    grads = torch.autograd.grad(loss, params)
    norm = torch.cat([g.flatten() for g in grads]).norm()
    for p, g in zip(params, grads):
        p.grad = {gradient}
    opt.step()
"""
BOUNDED = "g * torch.clamp(0.5 / (norm + 1e-6), max=1.0)"
MEASURED = "torch.autograd.grad(torch.nn.functional.mse_loss(net(x), y), params)"


def bounded(executor: JailedExecutor, program: str) -> bool:
    """Whether every update consumed the true gradient, or its direction at the threshold."""
    workload = WorkloadSpec(
        name="mlp", parameters={"features": 16, "outputs": 3, "target_scale": 8.0}, seed=3
    )
    probe = Probe(name="probe", lifts="")
    recording = executor.execute(Candidate(program=program, origin="test"), workload, probe)
    trace = measure(recording, workload, probe, Expectations())

    assert trace.program.outcome == "returned", trace.program
    matches = [update.match("sample-mean") for update in trace.updates]
    assert matches
    return all(
        m is not None
        and m.direction_error < 1e-4
        and m.consumed_norm == pytest.approx(min(m.expected_norm, 0.5), rel=1e-4)
        for m in matches
    )


@pytest.mark.parametrize("before", ["pass", MEASURED], ids=["at once", "measured first"])
def test_a_gradient_that_autograd_returned_is_known(executor: JailedExecutor, before: str) -> None:
    assert bounded(executor, OWN.format(before=before, gradient=BOUNDED))


@pytest.mark.parametrize("inputs", ["(p for p in params)", "inputs=iter(params)"])
def test_parameters_out_of_a_generator_are_known(executor: JailedExecutor, inputs: str) -> None:
    program = OWN.replace("grad(loss, params)", f"grad(loss, {inputs})")
    assert bounded(executor, program.format(before="pass", gradient=BOUNDED))


@pytest.mark.parametrize(
    "gradient", ["g", "g * torch.clamp(0.5 / g.norm(), max=1.0)", "0.25 * g / norm"]
)
def test_what_became_of_a_returned_gradient_is_seen(
    executor: JailedExecutor, gradient: str
) -> None:
    assert not bounded(executor, OWN.format(before="pass", gradient=gradient))
