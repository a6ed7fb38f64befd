"""What cannot be bound is named, with the reason; nothing is guessed."""

import pytest

LOOP = "for x, y in train_loader:\n    loss = criterion(model(x), y)\n    loss.backward()\n    optimizer.step()\n"

PROGRAMS = {
    "a sharded model": (
        "from torch.distributed.fsdp import FullyShardedDataParallel as FSDP\nmodel = FSDP(model)\n"
        + LOOP,
        "FullyShardedDataParallel",
    ),
    "an accelerator from nowhere": (
        LOOP.replace("loss.backward()", "accelerator.backward(loss)"),
        "accelerator",
    ),
    "an engine": (
        "for x, y in train_loader:\n    engine.backward(criterion(engine(x), y))\n    engine.step()\n",
        "engine",
    ),
    "a trainer that runs the loop": (
        "from trl import SFTTrainer\nSFTTrainer(model=model).train()\n",
        "needs trl",
    ),
    "a mystery that takes the optimizer": (LOOP + "    frobnicate(optimizer)\n", "frobnicate"),
    "a part that the model does not have": (
        "n = sum(p.numel() for p in model.encoder.parameters())\n" + LOOP,
        "model.encoder",
    ),
    "a person": ("name = input()\n" + LOOP, "input"),
    "no Python": ("for x in:\n", "not valid Python"),
    "a name without a use": ("print(zork)\n" + LOOP, "zork"),
    "a parameter that nothing tells about": (
        "def train(model, loader, optimizer, criterion, zork):\n    "
        + LOOP.replace("train_loader", "loader").replace("\n", "\n    ")
        + "return zork\n",
        "train(zork)",
    ),
}


@pytest.mark.parametrize("about", PROGRAMS)
def test_what_cannot_be_bound_is_named(run, about):
    """The message names what could not be bound."""
    program, name = PROGRAMS[about]

    ran = run(program)

    assert ran.error == "Unbound"
    assert name in ran.message


def test_a_model_for_other_data_with_other_parts(run):
    """A model of the program's own that cannot take the data, and that the workload's cannot stand in for."""
    ran = run(
        "class Net(nn.Module):\n    def __init__(self):\n        super().__init__()\n        self.stem = nn.Linear(784, 5)\n"
        "    def forward(self, x):\n        return self.stem(x)\nnet = Net()\n"
        "optimizer = torch.optim.SGD(net.stem.parameters(), lr=0.1)\n"
        + LOOP.replace("model", "net")
    )

    assert ran.error == "Unbound"
    assert "Net" in ran.message
