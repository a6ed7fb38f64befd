"""What is said of whole scripts by their own settings."""

import pytest

from harness.domain.trace import Trace
from harness.properties.own import own_grade, own_settings

SCRIPT = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(200, 4), torch.randn(200, 1)), batch_size=8)
net = nn.Linear(4, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
accumulation_steps = 4
for epoch in range(2):
    for i, (x, y) in enumerate(loader):
        loss = nn.functional.mse_loss(net(x), y){divided}
        loss.backward()
        if (i + 1) % accumulation_steps == 0{flush}:
            nn.utils.clip_grad_norm_(net.parameters(), 1.0)
            optimizer.step()
            {clear}
"""
RIGHT = {"divided": " / accumulation_steps", "flush": "", "clear": "optimizer.zero_grad()"}

LAWFUL = {
    "the rest of a pass goes on into the next": {},
    "the rest of a pass has an update of its own": {"flush": " or i + 1 == len(loader)"},
}
WRONG = {
    "never cleared": ({"clear": "pass"}, "gradients-start-fresh"),
    "not divided": ({"divided": ""}, "accumulation-equals-large-batch"),
}


@pytest.mark.parametrize("case", LAWFUL)
def test_what_a_script_means_to_do_with_the_rest_of_a_pass_is_not_wrong(see, case):
    seen = see(SCRIPT.format(**{**RIGHT, **LAWFUL[case]}))

    assert own_grade(Trace(probes=(seen.trace,)), "test").code != "wrong"


@pytest.mark.parametrize("case", WRONG)
def test_a_fault_that_no_setting_explains_is_found(see, case):
    changed, property_ = WRONG[case]
    seen = see(SCRIPT.format(**{**RIGHT, **changed}))
    grade = own_grade(Trace(probes=(seen.trace,)), "test")

    assert grade.code == "wrong"
    assert property_ in [v.property for v in grade.verdicts if v.outcome == "fail"]


GAN = """
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset
torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(200, 4)), batch_size=8)
made, told = nn.Linear(2, 4), nn.Linear(4, 1)
of_made, of_told = (torch.optim.SGD(net.parameters(), lr=0.01) for net in (made, told))
loss = nn.BCEWithLogitsLoss()
for (real,) in loader:
    told.zero_grad()
    loss(told(real), torch.ones(8, 1)).backward()
    fake = made(torch.randn(8, 2))
    loss(told(fake.detach()), torch.zeros(8, 1)).backward()
    of_told.step()
    made.zero_grad()
    loss(told(fake), torch.ones(8, 1)).backward()
    of_made.step()
"""


def test_two_losses_of_one_batch_are_no_accumulation(see):
    """The discriminator's two were to be divided by 2."""
    trace = Trace(probes=(see(GAN).trace,))

    assert not own_settings(trace).accumulates
    assert own_grade(trace, "test").code != "wrong"


NOW_AND_THEN = """
import torch
from torch import nn
torch.manual_seed(0)
data = torch.randn(240, 20)
net = nn.Linear(20, 1)
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for n, x in enumerate(data.split(8)):
    optimizer.zero_grad()
    parts = x.split(4) if n % 3 == 2 else [x]
    for part in parts:
        ((net(part) - 30 * part.sum(1, keepdim=True)).pow(2).mean() / len(parts)).backward()
    if {clipped}:
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    optimizer.step()
"""


@pytest.mark.parametrize(("clipped", "code"), [("len(parts) == 1", "wrong"), ("True", "right")])
def test_windows_of_another_size_have_to_be_clipped_as_well(see, clipped, code):
    """Every third batch in two halves, without a clip, was passed over."""
    seen = see(NOW_AND_THEN.format(clipped=clipped))
    grade = own_grade(Trace(probes=(seen.trace,)), "test")
    failed = [v.property for v in grade.verdicts if v.outcome == "fail"]

    assert ("clip-global-norm" in failed) == (code == "wrong")
    assert (grade.code == "wrong") == (code == "wrong")


SEARCH = """
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(64, 5)
y = x @ torch.randn(5, 1)
net = nn.Linear(5, 1)
optimizer = torch.optim.LBFGS(net.parameters(), lr=0.5, max_iter=5)
def closure():
    {clear}
    loss = nn.functional.mse_loss(net(x), y)
    loss.backward()
    return loss
for _ in range(5):
    optimizer.step(closure)
"""


@pytest.mark.parametrize(("clear", "code"), [("optimizer.zero_grad()", "right"), ("pass", "wrong")])
def test_an_optimizer_that_calls_its_closure_many_times_is_followed(see, clear, code):
    seen = see(SEARCH.format(clear=clear))

    assert own_grade(Trace(probes=(seen.trace,)), "test").code == code


SCRATCH = """
import torch
torch.manual_seed(0)
x = torch.randn(256, 5)
y = x @ torch.randn(5, 1)
w = torch.zeros(5, 1, requires_grad=True)
b = torch.zeros(1, requires_grad=True)
{before}
for i in range(0, 256, 8):
    loss = ((x[i:i + 8] @ w + b - y[i:i + 8]) ** 2).mean()
    loss.backward()
    {update}
    {clear}
"""
UPDATES = {
    "by an optimizer": (
        "optimizer = torch.optim.SGD([w, b], lr=0.1)",
        "optimizer.step()",
        "optimizer.zero_grad()",
    ),
    "by hand, at a rate that has no name": (
        "",
        "with torch.no_grad():\n        for p in (w, b):\n            p -= 0.1 * p.grad",
        "w.grad = b.grad = None",
    ),
    "through .data": (
        "lr = 0.1",
        "for p in (w, b): p.data -= lr * p.grad",
        "w.grad = b.grad = None",
    ),
}


@pytest.mark.parametrize("how", UPDATES)
@pytest.mark.parametrize("cleared", [True, False])
def test_tensors_of_no_module_are_trained_like_parameters(see, how, cleared):
    before, update, clear = UPDATES[how]
    text = SCRATCH.format(before=before, update=update, clear=clear if cleared else "pass")
    grade = own_grade(Trace(probes=(see(text).trace,)), "test")

    assert grade.code == ("right" if cleared else "wrong")


LEAKING = """
import torch
from torch import nn
torch.manual_seed(0)
G, D = nn.Linear(4, 4), nn.Linear(4, 1)
g, d = (torch.optim.SGD(m.parameters(), lr=0.01) for m in (G, D))
bce = nn.BCEWithLogitsLoss()
for _ in range(8):
    ones, zeros = torch.ones(8, 1), torch.zeros(8, 1)
    d.zero_grad()
    bce(D(torch.randn(8, 4)), ones).backward()
    fake = G(torch.randn(8, 4))
    bce(D(fake), zeros).backward(retain_graph=True)
    d.step()
    {clear}
    bce(D(fake), ones).backward()
    g.step()
"""


@pytest.mark.parametrize(("clear", "code"), [("g.zero_grad()", "right"), ("pass", "wrong")])
def test_each_of_two_optimizers_has_windows_of_its_own_size(see, clear, code):
    seen = see(LEAKING.format(clear=clear))
    assert own_grade(Trace(probes=(seen.trace,)), "test").code == code


EXCHANGED = """
import torch
from torch import nn
from torchvision.models import resnet18
torch.manual_seed(0)
net = resnet18(weights="DEFAULT")
{first}
{second}
for _ in range(6):
    optimizer.zero_grad()
    nn.functional.cross_entropy(net(torch.randn(4, 3, 32, 32)), torch.arange(4)).backward()
    optimizer.step()
"""
BUILT = "optimizer = torch.optim.SGD(net.parameters(), lr=0.01)"
HEAD = "net.fc = nn.Linear(512, 5)"


@pytest.mark.parametrize(("order", "code"), [((HEAD, BUILT), "right"), ((BUILT, HEAD), "wrong")])
def test_a_head_that_took_anothers_place_is_in_no_optimizer_built_before(see, order, code):
    seen = see(EXCHANGED.format(first=order[0], second=order[1]))
    assert own_grade(Trace(probes=(seen.trace,)), "test").code == code
