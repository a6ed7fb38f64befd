"""Optimizers that nobody makes: several that step side by side share the parameters."""

import pytest
from torch import nn

from harness.sandbox.binding.objects.shares import shares
from harness.sandbox.binding.unbound import Unbound

ONE = """
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
"""

TWO = {
    "two names": """
for x, y in train_loader:
    opt_a.zero_grad()
    opt_b.zero_grad()
    criterion(model(x), y).backward()
    opt_a.step()
    opt_b.step()
""",
    "items of a dict": """
for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    optimizers["encoder"].step()
    optimizers["decoder"].step()
    for optimizer in optimizers.values():
        optimizer.zero_grad()
""",
    "values of a dict": """
optimizers = {"body": opt_body, "head": opt_head}
for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    for optimizer in optimizers.values():
        optimizer.step()
""",
    "steps of a scaler": """
scaler = torch.amp.GradScaler("cpu", enabled=False)
for x, y in train_loader:
    model.zero_grad()
    scaler.scale(criterion(model(x), y)).backward()
    scaler.step(opt_a)
    scaler.step(opt_b)
    scaler.update()
""",
    "items of a list": """
for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    optimizers[0].step()
    optimizers[1].step()
""",
    "a list that a trainer is given": """
class Trainer:
    def __init__(self, model, optimizers):
        self.model, self.optimizers = model, optimizers

    def step(self, x, y):
        for optimizer in self.optimizers:
            optimizer.zero_grad()
        criterion(self.model(x), y).backward()
        for optimizer in self.optimizers:
            optimizer.step()

trainer = Trainer(model, [opt_muon, opt_adam])
for x, y in train_loader:
    trainer.step(x, y)
""",
    "a helper that is called with each": """
def apply(optimizer):
    optimizer.step()

for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    apply(opt_body)
    apply(opt_head)
""",
    "parameters of a function that nobody calls": """
def train_step(model, batch, first, second, criterion):
    x, y = batch
    first.zero_grad()
    second.zero_grad()
    criterion(model(x), y).backward()
    first.step()
    second.step()
""",
    "what a function makes that is not shown": """
opt_a, opt_b = build_optimizers(model)
for x, y in train_loader:
    opt_a.zero_grad(), opt_b.zero_grad()
    criterion(model(x), y).backward()
    opt_a.step(), opt_b.step()
""",
    "one function called for each": """
opt_a = make_optimizer(model, "a")
opt_b = make_optimizer(model, "b")
for x, y in train_loader:
    for optimizer in (opt_a, opt_b):
        optimizer.zero_grad()
    criterion(model(x), y).backward()
    for optimizer in (opt_a, opt_b):
        optimizer.step()
""",
    "the optimizers of a LightningModule that makes none": """
import lightning.pytorch as pl

class Module(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.net = model

    def training_step(self, batch, index):
        x, y = batch
        first, second = self.optimizers()
        first.zero_grad()
        second.zero_grad()
        self.manual_backward(criterion(self.net(x), y))
        first.step()
        second.step()

pl.Trainer(max_epochs=1).fit(Module(), train_loader)
""",
}


@pytest.mark.parametrize("program", TWO.values(), ids=TWO)
def test_two_that_step_side_by_side_do_together_what_one_would(run, program):
    """The same weights; one of them, stepped twice, would go twice as far."""
    together, alone = run(program), run(ONE)

    assert together.outcome == "ran"
    assert together.steps == 2 * alone.steps
    assert together.weights == [pytest.approx(weights) for weights in alone.weights]


def test_three_that_step_side_by_side_are_one_team(run):
    """Also where no statement steps all of them."""
    together, alone = (
        run(f"""
for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    {steps}
""")
        for steps in ("opt_a.step(), opt_b.step()\n    opt_c.step()", "optimizer.step()")
    )

    assert (together.outcome, together.steps) == ("ran", 3 * alone.steps)
    assert together.weights == [pytest.approx(weights) for weights in alone.weights]


ALONE = {
    "branches of which one is taken": """
for i, (x, y) in enumerate(train_loader):
    model.zero_grad()
    criterion(model(x), y).backward()
    if i < 3:
        opt_adam.step()
    else:
        opt_sgd.step()
""",
    "one after the other, each with gradients of its own": """
def train(optimizer, batches):
    for x, y in batches:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

train(opt_first, [batch for i, batch in enumerate(train_loader) if i < 7])
train(opt_second, [batch for i, batch in enumerate(train_loader) if i >= 7])
""",
    "a branch that leaves": """
for i, (x, y) in enumerate(train_loader):
    model.zero_grad()
    criterion(model(x), y).backward()
    if i < 3:
        opt_adam.step()
        continue
    opt_sgd.step()
""",
    "one after the other in one loop": """
batches = list(train_loader)
for optimizer in (opt_first, opt_second):
    for x, y in batches[:7]:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()
    batches = batches[7:]
""",
    "branches of which one is taken, cleared side by side": """
for i, (x, y) in enumerate(train_loader):
    for optimizer in (opt_adam, opt_sgd):
        optimizer.zero_grad()
    criterion(model(x), y).backward()
    if i < 3:
        opt_adam.step()
    else:
        opt_sgd.step()
""",
    "one that is picked from a pair": """
for i, (x, y) in enumerate(train_loader):
    model.zero_grad()
    criterion(model(x), y).backward()
    (opt_adam, opt_sgd)[i >= 3].step()
""",
    "one that is chosen, and stepped in two places": """
for i, (x, y) in enumerate(train_loader):
    optimizer = opt_adam if i < 3 else opt_sgd
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    if i % 2:
        optimizer.step()
    if not i % 2:
        optimizer.step()
""",
    "one that is there beside one that is not": """
extra_optimizer = None
for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
    if extra_optimizer is not None:
        extra_optimizer.step()
""",
    "a profiler that steps too": """
for x, y in train_loader:
    model.zero_grad()
    criterion(model(x), y).backward()
    opt.step()
    prof.step()
    ema.step()
""",
}


@pytest.mark.parametrize("program", ALONE.values(), ids=ALONE)
def test_those_that_never_meet_train_the_whole_model(run, program):
    """And what reports is none of them."""
    ran, alone = run(program), run(ONE)

    assert ran.outcome == "ran"
    assert ran.weights == [pytest.approx(weights) for weights in alone.weights]


def test_conditions_that_may_both_hold_are_not_guessed(run):
    """They might be two phases of one training, or two halves of the model."""
    ran = run("""
for i, (x, y) in enumerate(train_loader):
    model.zero_grad()
    criterion(model(x), y).backward()
    if i < 3:
        opt_adam.step()
    if i >= 3:
        opt_sgd.step()
""")

    assert ran.outcome.startswith("Unbound: `opt_adam` steps when another optimizer may not")


def _two_parts() -> nn.Module:
    model = nn.Module()
    model.backbone, model.head = nn.Linear(4, 3), nn.Linear(3, 2)
    return model


def test_a_part_of_the_model_goes_to_the_optimizer_that_is_named_after_it():
    model = _two_parts()

    head, backbone = shares(model, ("head_optimizer", "optim_backbone"))

    assert [*map(id, head)] == [*map(id, model.head.parameters())]
    assert [*map(id, backbone)] == [*map(id, model.backbone.parameters())]


def _of(*names: str) -> nn.Module:
    """A model with these parts, in this order."""
    return nn.ModuleDict({name: nn.Linear(2, 2) for name in names})


def _names(model: nn.Module, names: tuple[str, ...]) -> list[set[str]]:
    """The parts whose parameters each optimizer gets."""
    part = {id(p): name.partition(".")[0] for name, p in model.named_parameters()}
    return [{part[id(p)] for p in share} for share in shares(model, names)]


def test_a_part_is_meant_by_its_name_whatever_lies_in_front():
    """Shortened or with a number; and what nobody names goes to the last."""
    assert _names(_of("left", "right"), ("right_opt", "leftOpt")) == [{"right"}, {"left"}]
    assert _names(_of("one", "two"), ("optim_two1", "other")) == [{"two"}, {"one"}]
    assert _names(_of("decoder", "encoder"), ("enc_opt", "dec_opt")) == [{"encoder"}, {"decoder"}]
    assert _names(_of("out", "emb"), ("embedding_opt", "opt")) == [{"emb"}, {"out"}]
    assert _names(_of("encoder", "x", "two"), ("two2", "enc")) == [{"two"}, {"encoder", "x"}]


def test_names_that_mean_the_same_part_mean_none():
    assert _names(_of("body", "neck", "head"), ("head_a", "head_b")) == [{"body", "neck"}, {"head"}]


def test_a_part_without_parameters_is_not_meant():
    model = nn.ModuleDict({"one": nn.Linear(2, 2), "act": nn.ReLU(), "two": nn.Linear(2, 2)})

    assert _names(model, ("act_opt", "opt")) == [{"one"}, {"two"}]


def test_every_parameter_is_in_one_share_also_one_that_two_layers_have():
    model = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3), nn.Linear(3, 3))
    model[2].weight = model[0].weight

    dealt = [id(p) for share in shares(model, ("a", "b")) for p in share]

    assert sorted(dealt) == sorted(map(id, model.parameters()))


def test_names_that_say_so_decide_who_gets_the_front():
    model = nn.Sequential(nn.Linear(4, 3), nn.Linear(3, 2))

    decoder, _ = shares(model, ("opt_dec", "opt_enc"))

    assert [*map(id, decoder)] == [*map(id, model[1].parameters())]


def test_more_optimizers_than_layers_are_too_many():
    with pytest.raises(Unbound, match="more optimizers than the model has parts"):
        shares(nn.Linear(2, 2), ("a", "b"))
