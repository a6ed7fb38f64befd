"""Parameters that get gradients and are in no optimizer, and losses that count twice."""

import pytest

from harness.domain.trace import Trace
from harness.properties.own import own_grade
from tests.sampling import sampled

HEAD = """
import torch
from torch import nn
torch.manual_seed(0)
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8))
        self.head = nn.Linear(8, 1)
    def forward(self, x):
        return self.head(self.body(x))
net = Net()
"""
LOOP = """
for step in range(12):
    x = torch.randn(8, 4)
    y = x.sum(1, keepdim=True)
    {before}
    loss = nn.functional.mse_loss(net(x), y){more}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
ALL = "optimizer = torch.optim.SGD(net.parameters(), lr=0.01)\n"
BODY = "optimizer = torch.optim.SGD(net.body.parameters(), lr=0.01)\n"
PROBE = "optimizer = torch.optim.SGD(net.head.parameters(), lr=0.01)\n"
HIDDEN = HEAD.replace(
    "self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8))",
    "self.layers = [nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 8)]",
).replace("self.body(x)", "self.layers[2](self.layers[1](self.layers[0](x)))")
THAW = "if step == 4: net.body.requires_grad_(True)"
OTHER = "if step == 4: import copy; net = copy.deepcopy(net)"

FAULTY = {
    "layers in a plain list": (HIDDEN + ALL, "", "", "layers"),
    "a head that was forgotten": (HEAD + BODY, "", "", "head.weight"),
    "thawed and not handed over": (HEAD + "net.body.requires_grad_(False)\n" + PROBE, THAW, "", "thawed"),
    "a model that was exchanged": (HEAD + ALL, OTHER, "", "after the last change of the model"),
}  # fmt: skip
MEANT = {
    "all of it": (HEAD + ALL, "", ""),
    "a probe on a backbone that nobody froze": (HEAD + PROBE, "", ""),
    "a head that was loaded": (
        HEAD + BODY + "net.head.load_state_dict(nn.Linear(8, 1).state_dict())\n",
        "",
        "",
    ),
    "a critic that judges and was put into evaluation": (
        HEAD + "judge = nn.Linear(1, 1).eval()\n" + ALL,
        "",
        " + judge(net(x)).mean()",
    ),
    "a parameter that is moved by hand": (
        HEAD + BODY,
        "net.head.weight.data.mul_(0.99); net.head.bias.data.add_(0.01)",
        "",
    ),
    "an input whose gradient is asked for": (
        HEAD + ALL + "net.points = torch.randn(8, 4, requires_grad=True)\n",
        "slope = torch.autograd.grad(net(net.points).sum(), net.points, create_graph=True)[0]",
        " + slope.square().mean()",
    ),
}


def grade_of(see, head, before, more):
    seen = see(head + LOOP.format(before=before, more=more))
    assert seen.trace.updates, seen.outcome
    return own_grade(Trace(probes=(seen.trace,)), "test")


@pytest.mark.parametrize("case", sampled(FAULTY, 6))
def test_what_gets_gradients_and_is_in_no_optimizer_is_wrong_where_it_cannot_be_meant(see, case):
    *program, said = FAULTY[case]
    failures = [v for v in grade_of(see, *program).verdicts if v.outcome == "fail"]

    assert [v.property for v in failures] == ["every-parameter-learns"], failures
    assert said in failures[0].sentence or said == "thawed"


@pytest.mark.parametrize("case", MEANT)
def test_what_may_be_left_alone_on_purpose_is_not_wrong(see, case):
    assert grade_of(see, *MEANT[case]).code != "wrong"


PARTS = """
net, optimizer = nn.Linear(4, 3), None
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
for step in range(12):
    x = torch.randn(8, 4)
    optimizer.zero_grad()
    total = 0.0
    parts = [nn.functional.mse_loss(net(x)[:, i], x[:, i]) for i in range(3)]
    {how}
    optimizer.step()
"""
HOW = {
    "a running sum that goes backward each time": "for p in parts: total = total + p; total.backward(retain_graph=True)",
    "each part, and then their sum": "[p.backward(retain_graph=True) for p in parts]; sum(parts).backward()",
    "a part that is logged with backward": "parts[0].backward(retain_graph=True); sum(parts).backward()",
}  # fmt: skip
ONCE = {
    "their sum": "sum(parts).backward()",
    "each part by itself": "[p.backward() for p in parts]",
    "a look that is cleared": (
        "parts[0].backward(retain_graph=True); optimizer.zero_grad(); sum(parts).backward()"
    ),
}


@pytest.mark.parametrize("case", HOW)
def test_a_loss_that_goes_backward_again_as_part_of_another_counts_twice(see, case):
    seen = see("import torch\nfrom torch import nn\n" + PARTS.format(how=HOW[case]))
    grade = own_grade(Trace(probes=(seen.trace,)), "test")

    assert grade.code == "wrong", seen.outcome
    assert any("count a loss twice" in v.sentence for v in grade.verdicts)


@pytest.mark.parametrize("case", ONCE)
def test_parts_of_a_loss_that_go_backward_once_each_are_right(see, case):
    seen = see("import torch\nfrom torch import nn\n" + PARTS.format(how=ONCE[case]))

    assert seen.trace.program.counted_twice == 0
    assert own_grade(Trace(probes=(seen.trace,)), "test").code != "wrong", seen.outcome


MIXED = (
    HEAD
    + ALL
    + """
scaler = torch.amp.GradScaler("cpu", enabled={enabled})
for step in range(12):
    x = torch.randn(8, 4)
    y = x.sum(1, keepdim=True)
    loss = nn.functional.mse_loss(net(x), y)
    penalty = 0.1 * net.head.weight.pow(2).sum()
    optimizer.zero_grad()
    {how}
    scaler.step(optimizer)
    scaler.update()
"""
)
UNSCALED = {
    "a penalty": "scaler.scale(loss).backward(); penalty.backward()",
    "a penalty before the loss": "penalty.backward(); scaler.scale(loss).backward()",
}
SCALED = {
    "each loss": "scaler.scale(loss).backward(); scaler.scale(penalty).backward()",
    "their sum": "(scaler.scale(loss) + scaler.scale(penalty)).backward()",
    "a part of what was scaled": "(scaler.scale(loss + penalty) / 2).backward()",
    "several at once": "torch.autograd.backward(scaler.scale([loss, penalty]))",
    "a scale by hand": "scaler.scale(loss).backward(); (penalty * scaler.get_scale()).backward()",
    "a look that is cleared": (
        "penalty.backward(); optimizer.zero_grad(); scaler.scale(loss + penalty).backward()"
    ),
}


@pytest.mark.parametrize("case", UNSCALED)
def test_a_loss_without_the_scale_that_the_scaler_takes_out_is_wrong(see, case):
    seen = see(
        "import torch\nfrom torch import nn\n" + MIXED.format(how=UNSCALED[case], enabled=True)
    )
    grade = own_grade(Trace(probes=(seen.trace,)), "test")

    assert grade.code == "wrong", seen.outcome
    assert any("a loss that was not scaled" in v.sentence for v in grade.verdicts)


@pytest.mark.parametrize("case", SCALED)
def test_losses_that_carry_the_scale_in_any_spelling_are_not_called_unscaled(see, case):
    seen = see(
        "import torch\nfrom torch import nn\n" + MIXED.format(how=SCALED[case], enabled=True)
    )

    assert seen.trace.program.unscaled == 0
    assert own_grade(Trace(probes=(seen.trace,)), "test").code != "wrong", seen.outcome


def test_losses_need_no_scale_under_a_scaler_that_is_off(see):
    how = UNSCALED["a penalty"]
    seen = see("import torch\nfrom torch import nn\n" + MIXED.format(how=how, enabled=False))

    assert own_grade(Trace(probes=(seen.trace,)), "test").code != "wrong", seen.outcome


DIVIDED = (
    HEAD
    + ALL
    + """
for step in range(24):
    x = torch.randn(8, 4)
    y = x.sum(1, keepdim=True)
    parts = [nn.functional.mse_loss(net(x) * k, y) for k in (1, 2, 3, 4)]
    loss = {loss}
    loss.backward()
    if step % 4 == 3:
        optimizer.step()
        optimizer.zero_grad()
"""
)
ONCE_EACH = {
    "the loss": "parts[0] / 4",
    "the mean of as many parts, and the window": "(parts[0] + parts[1] + parts[2] + parts[3]) / 4 / 4",
    "a temperature and the window": "parts[0] / 2 / 4",
}


def test_a_loss_that_is_divided_by_its_window_twice_is_wrong(see):
    seen = see("import torch\nfrom torch import nn\n" + DIVIDED.format(loss="parts[0] / 4 / 4"))
    grade = own_grade(Trace(probes=(seen.trace,)), "test")

    assert grade.code == "wrong", seen.outcome
    assert any("divided by 4 twice" in v.sentence for v in grade.verdicts)


@pytest.mark.parametrize("case", ONCE_EACH)
def test_a_loss_that_is_divided_once_by_each_of_its_counts_is_right(see, case):
    seen = see("import torch\nfrom torch import nn\n" + DIVIDED.format(loss=ONCE_EACH[case]))

    assert own_grade(Trace(probes=(seen.trace,)), "test").code == "right", seen.outcome


TERMS = (
    HEAD
    + ALL
    + """
frozen = nn.Linear(4, 1).requires_grad_(False)
def penalty(x, again):
    x = x.clone().requires_grad_(True)
    grad, = torch.autograd.grad(net(x).sum(), x, create_graph=again)
    return ((grad.norm(dim=1) - 1) ** 2).mean()
def residual(x, again):
    x = x.clone().requires_grad_(True)
    u = net(x)
    grad, = torch.autograd.grad(u.sum(), x, create_graph=again, retain_graph=True)
    return (grad[:, :1] + 0.5 * grad[:, 1:2] + 0.3 * u).pow(2).mean()
def attacked(x):
    x = x.clone().requires_grad_(True)
    grad, = torch.autograd.grad(net(x).sum(), x)
    return nn.functional.mse_loss(net(x + 0.1 * grad), y)
for step in range(12):
    x = torch.randn(8, 4)
    y = x.sum(1, keepdim=True)
    out = net(x)
    with torch.no_grad():
        distance = nn.functional.mse_loss(out, frozen(x))
    loss = nn.functional.mse_loss(out, y)
    {how}
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
"""
)
WITHOUT = {
    "a penalty on a gradient": "loss = loss + 10.0 * penalty(x, False)",
    "a part of it, and a part of the loss": "loss = (0.5 * loss + 0.5 * penalty(x, False)) / 2",
    "in place": "loss += penalty(x, False)",
    "derivatives of an equation beside what has a graph": "loss = loss + residual(x, False)",
}
WITH = {
    "a penalty whose gradient can be differentiated": "loss = loss + 10.0 * penalty(x, True)",
    "derivatives of an equation that can be differentiated": "loss = loss + residual(x, True)",
    "rows that are attacked": "loss = attacked(x)",
    "a distance that is looked at": "seen = float(distance)",
    "a frozen part": "loss = loss + nn.functional.mse_loss(frozen(x), y)",
    "a weight": "loss = loss * (1 + distance)",
    "a target": "loss = (loss - distance) ** 2",
    "a number": "penalty(x, False); loss = loss + 0.5",
}


@pytest.mark.parametrize("case", WITHOUT)
def test_a_penalty_on_gradients_without_a_graph_teaches_nothing(see, case):
    seen = see("import torch\nfrom torch import nn\n" + TERMS.format(how=WITHOUT[case]))
    grade = own_grade(Trace(probes=(seen.trace,)), "test")

    assert grade.code == "wrong", seen.outcome
    assert any("a constant to backward" in v.sentence for v in grade.verdicts)


@pytest.mark.parametrize("case", WITH)
def test_numbers_that_are_no_terms_of_their_own_teach_as_they_should(see, case):
    seen = see("import torch\nfrom torch import nn\n" + TERMS.format(how=WITH[case]))

    assert seen.trace.program.constant_terms == 0
    assert own_grade(Trace(probes=(seen.trace,)), "test").code != "wrong", seen.outcome


CHECKPOINTED = (
    HEAD
    + ALL
    + """
from torch.utils.checkpoint import checkpoint
other, factor, calls = nn.Linear(4, 1), torch.tensor(2.0), []
plain = torch.optim.SGD(other.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu")
def part(x):
    calls.append(x)
    return torch.tanh(other(x)) * factor
for step in range(6):
    x = torch.randn(8, 4)
    y = x.sum(1, keepdim=True)
    optimizer.zero_grad()
    scaler.scale(nn.functional.mse_loss(net(x), y)).backward()
    scaler.step(optimizer)
    scaler.update()
    plain.zero_grad()
    nn.functional.mse_loss(checkpoint(part, x, use_reentrant=False), y).backward()
    plain.step()
    assert len(calls) == 2 * (step + 1), len(calls)
"""
)


def test_what_lies_in_a_checkpoint_is_not_computed_again_to_look_for_a_scale(see):
    seen = see("import torch\nfrom torch import nn\n" + CHECKPOINTED)

    assert seen.outcome == "returned: None"
    assert seen.trace.program.unscaled == 0


def test_a_plain_loss_of_an_optimizer_of_its_own_needs_no_scale(see):
    """The scaler of another loss says nothing of it."""
    seen = see("import torch\nfrom torch import nn\n" + CHECKPOINTED)
    grade = own_grade(Trace(probes=(seen.trace,)), "test")

    assert grade.code == "right", grade.reasons
