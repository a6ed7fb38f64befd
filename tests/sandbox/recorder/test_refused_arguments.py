"""A call with wrong arguments is the program's mistake, also where a probe hands the call on."""

import pytest

from harness.domain.candidate import Candidate
from harness.domain.event import Clip, Finished
from harness.domain.scenario import Probe
from harness.domain.workload import WorkloadSpec
from harness.sandbox.executor import JailedExecutor

WORKLOAD = WorkloadSpec(name="mlp", parameters={"batches": 2}, seed=3)
PROBE = Probe(name="probe", lifts="")

BEFORE = """
class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor(1.0))
    def forward(self, x):
        return self.scale * x

scaler = torch.amp.GradScaler("cpu")
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda _: 1.0)
net = Net()
net(torch.ones(2)).sum().backward()
"""


@pytest.mark.parametrize(
    "call",
    [
        "net(torch.ones(2), torch.ones(2))",
        "scaler.scale()",
        "scaler.unscale_(optimizer, 1, 2)",
        "scheduler.step(1, 2, 3)",
        "torch.nn.utils.clip_grad_norm_(model.parameters())",
        "torch.nn.utils.clip_grad_norm_(5, 1.0)",
        "optimizer.step(1, 2, 3)",
        "torch._foreach_div_([None], 2.0)",
        "net.scale.copy_(None)",
    ],
)
def test_wrong_arguments_are_no_fault_of_the_harness(executor: JailedExecutor, call: str) -> None:
    """It was called one, because Python raises in the frame of the caller: the probe's. So does
    what is written in C.
    """
    recording = executor.execute(Candidate(program=BEFORE + call, origin="test"), WORKLOAD, PROBE)

    assert recording.problem is None
    (end,) = [e.event for e in recording.ranks[0].events if isinstance(e.event, Finished)]
    assert (end.outcome, end.exception) == ("raised", "TypeError")


@pytest.mark.parametrize(
    ("call", "exception"),
    [
        ("net.scale.sub_(0.1)", "RuntimeError"),
        ("net.scale.data = 'one'", "TypeError"),
        ("torch._foreach_div_([], 4)", "RuntimeError"),
        ("net.scale.data.mul_('two')", "TypeError"),
        ("net.scale.sub_(torch.ones(3))", "RuntimeError"),
        ("net.scale.add_(net.scale.grad)", "RuntimeError"),
        (
            "torch._foreach_mul_([p.grad for p in [net.scale, *model.parameters()]], 0.5)",
            "TypeError",
        ),
    ],
)
def test_what_torch_refuses_in_c_is_the_program_s_own_line(
    executor: JailedExecutor, call: str, exception: str
) -> None:
    """To write into a leaf without ``no_grad`` is a common mistake: C has no frame, the probe has."""
    recording = executor.execute(Candidate(program=BEFORE + call, origin="test"), WORKLOAD, PROBE)

    assert recording.problem is None
    (end,) = [e.event for e in recording.ranks[0].events if isinstance(e.event, Finished)]
    assert (end.outcome, end.exception, end.during) == ("raised", exception, None)
    assert end.line == (BEFORE + call).count("\n") + 1


def test_a_single_parameter_without_dimensions_can_be_clipped(executor: JailedExecutor) -> None:
    """It is a tensor that cannot be iterated over."""
    call = "torch.nn.utils.clip_grad_norm_(net.scale, 1.0)"
    recording = executor.execute(Candidate(program=BEFORE + call, origin="test"), WORKLOAD, PROBE)

    (clip,) = [e.event for e in recording.ranks[0].events if isinstance(e.event, Clip)]
    assert (clip.parameters, clip.returned) == (1, 2.0)
