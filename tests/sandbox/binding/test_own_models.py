"""A model of the program's own stays or gives way only where nothing that it does is lost with it."""

import pytest

LOOP = """
criterion_of_mine = nn.MSELoss()
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""
NET = """
import torch
import torch.utils.checkpoint
from torch import nn

{before}
class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.front = nn.Linear({wide}, 7)
        self.back = nn.Linear(7, {out})
        self.side = nn.Linear(7, {out})
        {made}

    def forward(self, x):
        h = torch.tanh({entry}(x))
        return {given}

model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
"""
SUM = "self.back(h) + self.side(h)"
TENTH = """
class Tenth(torch.autograd.Function):
    @staticmethod
    def forward(ctx, t):
        return t.clone()

    @staticmethod
    def backward(ctx, g):
        return g * {factor}

def cut(t):
    return torch.as_tensor(t.tolist())
"""
WRONG = {
    "a layer's input is cut off": {"given": "self.back(h) + self.side(h.detach())"},
    "a helper makes it anew": {"given": "self.back(h) + self.side(cut(h))"},
    "a hook clamps": {"made": "[p.register_hook(lambda g: g.clamp(-0.01, 0.01)) for p in self.parameters()]"},
    "a backward of its own": {"given": "self.back(Tenth.apply(h)) + self.side(h)"},
    "a layer in a plain list": {"made": "self.more = [nn.Linear(7, 7)]", "given": "self.back(self.more[0](h)) + self.side(h)"},
    "a trained factor in a plain list": {
        "made": "self.gains = [torch.ones(1, requires_grad=True)]", "given": "self.gains[0] * (self.back(h) + self.side(h))",
    },
    "the first layer in a plain list": {
        "made": "self.front = [self.__dict__['_modules'].pop('front')]", "entry": "self.front[0]",
    },
}  # fmt: skip
RIGHT = {
    "it only computes": {},
    "a hook that looks": {"made": "[p.register_hook(lambda g: seen.append(g)) for p in self.parameters()]"},
    "what is looked at is detached": {"made": "self.last = []", "given": f"{SUM} + 0 * len(self.last + [h.detach()])"},
    "dropout": {"given": "self.back(nn.functional.dropout(h, 0.5)) + self.side(h)"},
    "a backward of its own that is true": {"given": "self.back(Tenth.apply(h)) + self.side(h)", "factor": "1"},
    "an input that only makes a checkpoint keep a graph": {
        "made": "self.dummy = torch.ones(1, requires_grad=True)",
        "given": "torch.utils.checkpoint.checkpoint(lambda t, _: self.back(t) + self.side(t), h, self.dummy, use_reentrant=True)",
    },
    "rounding that has no slope": {"given": f"{SUM} + h.half().double().sum() * 0"},
}  # fmt: skip
SIZES = {"stays": (16, 3), "is another's size": (20, 5)}


def program(parts: dict[str, str], size: tuple[int, int]) -> str:
    before = "seen = []\n" + TENTH.format(factor=parts.get("factor", "0.1"))
    made, given = parts.get("made", "pass"), parts.get("given", SUM)
    entry = parts.get("entry", "self.front")
    net = NET.format(before=before, wide=size[0], out=size[1], made=made, entry=entry, given=given)
    return net + LOOP


@pytest.mark.parametrize("parts", WRONG.values(), ids=WRONG)
def test_no_other_model_stands_for_one_with_untrue_gradients(run, parts):
    ran = run(program(parts, (20, 5)), parameters={"features": 16})

    assert ran.error == "Unbound"
    assert "Net" in ran.message


@pytest.mark.parametrize("parts", WRONG.values(), ids=WRONG)
def test_a_model_with_untrue_gradients_is_run_as_it_is_where_all_is_recorded(run, parts):
    """Whether gradient reaches its layers can be told; nothing else can."""
    ran = run(program(parts, (16, 3)), parameters={"features": 16})

    if "in a plain list" in str([k for k, v in WRONG.items() if v is parts]):
        assert (ran.error, "Net" in ran.message) == ("Unbound", True)
    else:
        assert (ran.outcome, ran.steps) == ("ran", 14)
        assert ran.untrue == "`Net` gives gradients that are not the derivatives of its outputs"


@pytest.mark.parametrize("size", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("parts", RIGHT.values(), ids=RIGHT)
def test_a_model_with_true_gradients_is_trained(run, parts, size):
    ran = run(program(parts, size) + "result = len(seen)\n", parameters={"features": 16})

    assert ran.outcome == "ran"
    assert (ran.steps, ran.untrue) == (14, None)
    assert any("is used instead" in note for note in ran.notes) == (size == (20, 5))


def test_asking_leaves_no_trace_in_what_the_program_notes(run):
    parts = RIGHT["a hook that looks"]

    ran = run(program(parts, (16, 3)) + "result = len(seen)\n", parameters={"features": 16})

    assert ran.result == str(14 * 6)


def test_a_container_is_filled_before_it_is_looked_at(run):
    """An empty one gives its inputs back, and looked like a model for other data."""
    ran = run(
        "import torch\nfrom torch import nn\nmodel = nn.Sequential()\n"
        "model.add_module('front', nn.Linear(16, 7))\nmodel.append(nn.Linear(7, 3))\n"
        f"optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n{LOOP}",
        parameters={"features": 16},
    )

    assert (ran.outcome, ran.steps) == ("ran", 14)


def test_a_model_that_computes_its_own_loss_has_no_stand_in(run):
    """What it does to the loss would be gone with it."""
    own = program({}, (20, 5)).replace("def forward(self, x):", "def forward(self, x, y):")
    own = own.replace(f"return {SUM}", f"return criterion_of_mine({SUM}, y) / 4")

    ran = run(own.replace("criterion(model(x), y)", "model(x, y)"), parameters={"features": 16})

    assert ran.error == "Unbound"
