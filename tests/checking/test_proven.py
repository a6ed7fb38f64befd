"""Faults that the text of a block proves by itself, and what torch warns of."""

from typing import Any

import pytest

from harness.checking.proven import proven
from harness.checking.session import BlockInContext
from harness.domain.trace import Program


def faults(text: str, *texts: str, calls: tuple[str, ...] = (), **seen: Any) -> list[str]:
    block = BlockInContext(text, tuple(range(1, text.count("\n") + 2)), 0)
    ended = Program(
        outcome="returned", exception=None, message=None, line=None, during=None, ours=False,
        texts=texts, reported_before_backward=None, calls=calls, **seen,
    )  # fmt: skip
    return [found.sentence for found in proven(block, ended)]


def test_a_rate_that_is_set_where_no_optimizer_looks_changes_nothing():
    (said,) = faults("optimizer.lr = 1e-5")
    assert "which nothing reads" in said


@pytest.mark.parametrize(
    "text",
    [
        "optimizer.lr = 1e-5\nfor g in optimizer.param_groups:\n    g['lr'] = optimizer.lr",
        "optimizer.param_groups[0]['lr'] = 1e-5",
        "class Mine:\n    def step(self):\n        print(self.lr)\noptimizer = Mine()\noptimizer.lr = 1",
        "config.lr = 1e-5",
        "self.lr = 1e-5",
    ],
)
def test_a_rate_that_somebody_reads_is_no_fault(text):
    assert faults(text) == []


@pytest.mark.parametrize(
    ("text", "is_fault"),
    [
        ("mean = dist.all_reduce(value) / 2", True),
        (
            "import torch.distributed.checkpoint as dcp\nx = dcp.load({})\nm.load_state_dict(x)",
            True,
        ),
        ("dist.all_reduce(value)", False),
        ("done = dist.all_reduce(value)", False),
        ("work = dist.all_reduce(value, async_op=True)\nwork.wait()", False),
        ("total = accelerator.reduce(value)\nprint(total)", False),
    ],
)
def test_what_changes_its_argument_returns_nothing(text, is_fault):
    assert ["None" in said for said in faults(text)] == [True] * is_fault


BROADCAST = (
    "Using a target size (torch.Size([8])) that is different to the input size "
    "(torch.Size([8, 1])). This will likely lead to incorrect results."
)


def test_a_flag_that_was_set_on_a_module_freezes_nothing():
    flags = ("Linear.requires_grad = False",)
    (said,) = faults("model.head.requires_grad = False", flagged_modules=flags)

    assert "Line 1 sets `model.head.requires_grad`" in said
    assert faults("weight.requires_grad = False") == []


def test_a_loss_over_all_pairs_is_a_fault_where_nothing_was_lent():
    own = "import torch\na = torch.ones(8)\nb = a[:, None]\ntorch.nn.functional.mse_loss(b, a)"
    assert len(faults(own, BROADCAST)) == 1
    assert faults(f"{own}\nmodel(a)", BROADCAST) == []


def test_a_loss_over_all_pairs_is_no_fault_of_a_function_that_is_handed_what_is_lent():
    own = "def step(model, a):\n    torch.nn.functional.mse_loss(model(a), a)"
    assert faults(own, BROADCAST, calls=("step(model, inputs)",)) == []


KEPT = """for epoch in range(9):
    loss = train(model)
    if loss < best:
        best, state = loss, None
        state = model.state_dict()
model.load_state_dict(state)"""


def test_a_best_state_that_is_no_copy_is_the_last_one():
    (said,) = faults(KEPT)
    assert "Line 5 keeps references" in said
    assert len(faults(KEPT.replace("model.state_dict()", "dict(model.state_dict())"))) == 1
    assert len(faults(KEPT.replace("model.load_state_dict(state)", "torch.save(state, 'b')"))) == 1
    stopping = (
        "class Stopping:\n    def __call__(self, loss, model):\n        if loss < self.best:\n"
        "            self.kept = model.state_dict().copy()\n        else:\n"
        "            model.load_state_dict(self.kept)"
    )
    assert len(faults(stopping)) == 1


@pytest.mark.parametrize(
    "text",
    [
        KEPT.replace("model.state_dict()", "copy.deepcopy(model.state_dict())"),
        KEPT.replace("model.state_dict()", "{k: v.clone() for k, v in model.state_dict().items()}"),
        KEPT.replace("    loss = train", "    model = Net()\n    loss = train"),
        KEPT.replace("state_dict()", "state_dict()\n        break"),
        KEPT.replace("model.load_state_dict(state)", "assert state is not None"),
        f"model = FSDP(model)\n{KEPT}",
    ],
)
def test_a_state_that_is_copied_or_that_nothing_changes_is_no_fault(text):
    assert faults(text) == []


PROMPT = """class Prompted(nn.Module):
    def __init__(self):
        super().__init__()
        self.prompt = torch.randn(4, 8, requires_grad=True)
    def forward(self, x):
        return x + self.prompt.mean(0)"""


def test_a_plain_tensor_in_a_module_is_trained_by_nobody():
    (said,) = faults(PROMPT)
    assert "nn.Parameter" in said
    assert faults(f"{PROMPT}\noptimizer = SGD([net.prompt])") == []
    assert faults(PROMPT.replace("torch.randn(4, 8, requires_grad=True)", "torch.ones(8)")) == []
    anchor = PROMPT.replace(
        "torch.randn(4, 8, requires_grad=True)", "torch.ones(1, requires_grad=True)"
    )
    assert faults(anchor) == []


AVERAGE = "for a, p in zip(averaged.parameters(), net.parameters()):\n    "


@pytest.mark.parametrize(
    ("line", "is_fault"),
    [
        ("a = 0.9 * a + 0.1 * p", True),
        ("a.copy_(0.9 * a + 0.1 * p)", False),
        ("a.data = 0.9 * a + 0.1 * p", False),
        ("total = total + (a - p).norm()", False),
    ],
)
def test_a_loop_over_parameters_that_binds_its_name_anew_changes_none(line, is_fault):
    assert ["in place" in said for said in faults(AVERAGE + line)] == [True] * is_fault


@pytest.mark.parametrize(
    ("held", "is_fault"),
    [("p.data", True), ("p.detach()", True), ("p", True), ("p.detach().clone()", False)],
)
def test_parameters_that_are_kept_before_a_step_and_compared_after_it_are_copied(held, is_fault):
    text = (
        f"old = [{held} for p in net.parameters()]\noptimizer.step()\n"
        "moved = [(p - o).norm() for p, o in zip(net.parameters(), old)]\n"
        "far = [(p.data - old[n]).norm() for n, p in enumerate(net.parameters())]"
    )
    assert ["no copies" in said for said in faults(text)] == [True] * is_fault


@pytest.mark.parametrize("line", ["clip(ps, 1.0)", "gap = limit - norm_of(ps)"])
def test_parameters_that_are_kept_and_never_compared_are_nobodys_fault(line):
    assert faults(f"ps = [p for p in net.parameters()]\noptimizer.step()\n{line}") == []
