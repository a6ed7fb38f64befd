"""Programs on several ranks whose gradients change with the number of these, by their own settings."""

import pytest

from tests.sampling import asked
from tests.test_grade_alone import written

PROGRAM = """
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
dist.init_process_group("gloo")
torch.manual_seed(0)
net = {net}
optimizer = torch.optim.SGD(net.parameters(), lr={rate})
torch.manual_seed(dist.get_rank())
for step in range(12):
    x = torch.randn(8, 4)
    optimizer.zero_grad()
    ({weight} * nn.functional.mse_loss(net(x), x.sum(1, keepdim=True))).backward()
    {between}
    optimizer.step()
"""
WRAPPED = "DistributedDataParallel(nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1)))"
BARE = "nn.Sequential(nn.Linear(4, 16), nn.Tanh(), nn.Linear(16, 1))"
SUMMED = "[dist.all_reduce(p.grad) for p in net.parameters()]"
MEAN = "[p.grad.div_(dist.get_world_size()) for p in net.parameters()]"
RIGHT = {
    "half a squared error": (WRAPPED, "0.5", "pass", "0.05"),
    "a sum over ranks that is divided": (BARE, "1", f"{SUMMED}; {MEAN}", "0.05"),
    "a sum over ranks whose rate is": (
        BARE, "1", SUMMED, "0.1 / dist.get_world_size()",
    ),
}  # fmt: skip
WRONG = {
    "a loss that is divided by the ranks under DDP": (
        WRAPPED, "1 / dist.get_world_size()", "pass", "0.05",
    ),
    "a sum over ranks": (BARE, "1", SUMMED, "0.05"),
    "a loss that is divided by the ranks, beside a clip": (
        WRAPPED, "1 / dist.get_world_size()",
        "torch.nn.utils.clip_grad_norm_(net.parameters(), 5.0)", "0.05",
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def lines(request, graded, tmp_path_factory):
    """What is said of each program."""
    folder, wanted = tmp_path_factory.mktemp("ranks"), asked(request, "case")
    cases = {name: case for name, case in {**RIGHT, **WRONG}.items() if name in wanted}
    names = ("net", "weight", "between", "rate")
    files = [
        written(folder, f"{i}.py", PROGRAM.format(**dict(zip(names, case, strict=True))))
        for i, case in enumerate(cases.values())
    ]
    return dict(zip(cases, graded(*files)[1], strict=True))


@pytest.mark.parametrize("case", RIGHT)
def test_a_gradient_that_does_not_follow_the_ranks_is_right(lines, case):
    assert lines[case]["code"] == "right", lines[case]["why"]


@pytest.mark.parametrize("case", WRONG)
def test_a_gradient_that_follows_the_number_of_ranks_is_wrong(lines, case):
    assert lines[case]["failed"] == ["ranks-agree"]
    assert "ranks" in " ".join(lines[case]["why"])
