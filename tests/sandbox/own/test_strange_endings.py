"""How a script in its own world may end, and what stands beside what it trains."""

from harness.domain.trace import Trace
from harness.properties.own import own_grade

SCRIPT = """
import atexit
import torch
from torch import nn
torch.manual_seed(0)
data = torch.randn(128, 20)
net = nn.Linear(20, 1)
helper = nn.Sequential(nn.Linear(20, 50_000), nn.Linear(50_000, 1)).requires_grad_(False)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for x in data.split(8):
    {beside}
    optimizer.zero_grad()
    (net(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
    optimizer.step()
{end}
"""


def code_of(see, beside="pass", end=""):
    seen = see(SCRIPT.format(beside=beside, end=end))
    return own_grade(Trace(probes=(seen.trace,)), "test").code, seen


def test_a_frozen_helper_of_a_million_numbers_is_not_what_is_trained(see):
    """The record of a right loop with one started whole and ended in samples: it was called wrong."""
    code, seen = code_of(see, beside="helper(x)")

    assert code == "right"
    assert all(update.parameters_followed for update in seen.trace.updates)


LATE = """
@atexit.register
def late():
    for x in data.split(8):
        (net(x) - x.sum(1, keepdim=True)).pow(2).mean().backward()
        optimizer.step()
"""


def test_what_trains_at_exit_is_seen(see):
    assert code_of(see, end=LATE)[0] == "wrong"


def test_an_exception_that_cannot_be_shown_is_the_programs(see):
    """It ended as a fault of the harness."""
    strange = "class E(Exception):\n    def __str__(self): raise RuntimeError\nraise E"
    _, seen = code_of(see, end=strange)

    assert seen.outcome.startswith("raised: E, which cannot be shown")
    assert not seen.trace.program.ours


def test_what_cannot_be_recorded_is_no_fault_of_ours(see):
    on_nothing = "net.bias.grad = torch.empty(1, device='meta')"
    _, seen = code_of(see, beside=f"{on_nothing}\n    optimizer.step()")

    assert not seen.trace.program.ours
