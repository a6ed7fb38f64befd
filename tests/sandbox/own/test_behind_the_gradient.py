"""Optimizers that undo what a program did to its gradients are told by how parameters moved."""

import pytest

SCRIPT = """
import torch
from torch import nn
torch.manual_seed(0)
x = torch.randn(200, 4)
net = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
rate, whole = 0.01, {}


class Own(torch.optim.Optimizer):
    def __init__(self, parameters, lr):
        super().__init__(parameters, dict(lr=lr))

    @torch.no_grad()
    def step(self):
        for p in self.param_groups[0]["params"]:
            held = self.state[p].setdefault("held", torch.zeros_like(p))
            held.mul_(HOLDS).add_(p.grad)
            p -= self.param_groups[0]["lr"] * (whole[p] if BY == "whole" else held)


HOLDS, BY = 0.0, "held"
optimizer = torch.optim.SGD(net.parameters(), lr=rate)
%s
for batch in x.split(8):
    optimizer.zero_grad()
    nn.functional.mse_loss(net(batch), 20 * batch.sum(1, keepdim=True)).backward()
    whole.update((p, p.grad.clone()) for p in net.parameters())
    norm = nn.utils.clip_grad_norm_(net.parameters(), 0.5)
    %s
    optimizer.step()
    %s
"""
OWN = "optimizer = Own(net.parameters(), rate)"
UNDONE = {
    "momentum of 1": ("optimizer = torch.optim.SGD(net.parameters(), rate, momentum=1.0)", "", ""),
    "a sum that is never cleared": (f"HOLDS = 1.0; {OWN}", "", ""),
    "a gradient from before the clip": (f"BY = 'whole'; {OWN}", "", ""),
    "a rate that grows by what was clipped": (
        "", "optimizer.param_groups[0]['lr'] = rate * max(1.0, float(norm) / 0.5)", "",
    ),
}  # fmt: skip
LAWFUL = {
    "momentum": ("optimizer = torch.optim.SGD(net.parameters(), rate, momentum=0.99)", "", ""),
    "momentum of its own": (f"HOLDS = 0.9; {OWN}", "", ""),
    "a rate that grows": ("", "", "optimizer.param_groups[0]['lr'] *= 1.1"),
    "momentum under a rate that grows": (
        "optimizer = torch.optim.SGD(net.parameters(), rate, momentum=0.9)",
        "optimizer.param_groups[0]['lr'] *= 1.0 / 0.9", "",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", UNDONE)
def test_an_update_that_undoes_what_was_done_to_the_gradient_is_told(see, case):
    assert "no effect" in (see(SCRIPT % UNDONE[case]).trace.contradiction or "")


@pytest.mark.parametrize("case", LAWFUL)
def test_momentum_and_rates_that_move_are_nothing_of_the_kind(see, case):
    assert see(SCRIPT % LAWFUL[case]).trace.contradiction is None


LARGER = {
    "a hook on outputs": "net.register_forward_hook(lambda m, i, o: o.register_hook(lambda g: g * 4) and None)",
    "a hook on a layer": "net[2].register_full_backward_hook(lambda m, i, o: tuple(x * 4 for x in i))",
    "a hook with a memory": """
old = {}
def more(g):
    old[g.shape], before = g.clone(), old.get(g.shape, 0.0)
    return g + before
for p in net.parameters(): p.register_hook(more)
""",
    "a hook after the gradient is there": """
def more(p): p.grad *= 4
for p in net.parameters(): p.register_post_accumulate_grad_hook(more)
""",
}
NO_LARGER = {
    "a clip": "for p in net.parameters(): p.register_hook(lambda g: g.clamp(-0.1, 0.1))",
    "a mask": "net[0].weight.register_hook(lambda g: g * (torch.arange(4) > 1))",
    "a log": "net[2].register_full_backward_hook(lambda m, i, o: print(o[0].norm()))",
    "another output": "net[2].register_forward_hook(lambda m, i, o: o * 4)",
}


@pytest.mark.parametrize("case", LARGER)
def test_hooks_that_make_gradients_larger_are_told(see, case):
    assert "hooks of `Sequential`" in (
        see(SCRIPT % (LARGER[case], "", "")).trace.program.untrue or ""
    )


@pytest.mark.parametrize("case", NO_LARGER)
def test_hooks_that_only_look_or_cut_are_none_of_these(see, case):
    assert see(SCRIPT % (NO_LARGER[case], "", "")).trace.program.untrue is None


MOMENTUM = "optimizer = torch.optim.SGD(net.parameters(), rate, momentum=0.9)"
OF_EACH = "for p in net.parameters(): optimizer.state[p]['momentum_buffer']"
KEPT = {
    "nothing": "pass",
    "cleared": f"{OF_EACH}.zero_()",
    "scaled with the rate": f"{OF_EACH}.mul_(0.5)",
    "masked": f"{OF_EACH}.mul_((torch.arange(p.shape[-1]) > 1).float())",
    "put back": "import copy; optimizer.load_state_dict(copy.deepcopy(optimizer.state_dict()))",
    "begun anew": "optimizer.state.clear()",
    "kept beside": "for p in net.parameters(): optimizer.state[p]['old'] = whole[p].clone()",
}


@pytest.mark.parametrize("by", [".add_(whole[p])", " = whole[p].clone()"])
def test_a_memory_that_is_written_by_hand_is_told(see, by):
    seen = see(SCRIPT % (MOMENTUM, "", f"{OF_EACH}{by}"))
    assert "writes `momentum_buffer` of its `SGD`" in (seen.trace.program.untrue or "")


@pytest.mark.parametrize("case", KEPT)
def test_what_else_is_done_to_a_memory_is_lawful(see, case):
    assert see(SCRIPT % (MOMENTUM, "", KEPT[case])).trace.program.untrue is None


REGISTERED = """
@torch.library.custom_op("mine::squares", mutates_args=())
def squares(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return ((output - target) ** 2).mean()
def backward(ctx, given):
    off = ctx.saved_tensors[0] - ctx.saved_tensors[1]
    return given * FACTOR * off / off.numel(), None
squares.register_autograd(
    backward, setup_context=lambda ctx, inputs, output: ctx.save_for_backward(*inputs)
)
"""


@pytest.mark.parametrize(("factor", "told"), [(2, False), (8, True)])
def test_the_backward_of_an_operator_that_a_program_registers_is_asked(see, factor, told):
    program = (SCRIPT % (REGISTERED, "", "")).replace("nn.functional.mse_loss(", "squares(")
    seen = see(program.replace("FACTOR", str(factor)))
    assert ("not the derivatives" in (seen.trace.program.untrue or "")) is told
