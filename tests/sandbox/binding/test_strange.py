"""Spellings that right answers had and that did not bind."""

import pytest

from tests.sandbox.binding.spellings import WITH_LOSS

LOOP = """
for x, y in train_loader:
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
"""

PROGRAMS = {
    "batches that are asked whether they require a gradient": """
for i, (x, y) in enumerate(train_loader):
    if not x.requires_grad:
        x.requires_grad_(True)
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    penalty = x.grad.norm()
    optimizer.step()
""",
    "gradients that a function of torch.func returns by name": """
import torch
from torch.func import functional_call, grad

def loss_of(weights, x, y):
    return criterion(functional_call(model, weights, (x,)), y)

gradient = grad(loss_of)
named = dict(model.named_parameters())
for x, y in train_loader:
    weights = {name: p.detach() for name, p in named.items()}
    for name, g in gradient(weights, x, y).items():
        named[name].grad = g
    optimizer.step()
""",
    "an engine whose field is called module": """
class Engine:
    def __init__(self, module, optim):
        self.module, self.optim = module, optim

    def __call__(self, *inputs):
        return self.module(*inputs)

    def step(self):
        clip_grad_norm_(self.module.parameters(), 1.0)
        self.optim.step()

engine = Engine(model, optimizer)
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(engine(x).float(), y).backward()
    engine.step()
""",
    "a module that returns the loss of a batch": WITH_LOSS
    + """
for batch in train_loader:
    optimizer.zero_grad()
    model(batch).backward()
    optimizer.step()
""",
    "a loss that a scaler takes, and that nobody takes from the function": """
import torch
scaler = torch.amp.GradScaler("cpu")

def train_step(x, y):
    optimizer.zero_grad()
    loss = criterion(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()

for x, y in train_loader:
    train_step(x, y)
""",
    "a whole batch handed over to a function of three": """
def masked(x, y, mask):
    losses = ((model(x) - y) ** 2).mean(dim=1)
    return (losses * mask).sum() / mask.sum()

for batch in train_loader:
    optimizer.zero_grad()
    masked(*batch).backward()
    optimizer.step()
""",
    "a loop in a parent class": """
class Loop:
    def __init__(self, net, optim):
        self.net, self.optim = net, optim

    def run(self, batches):
        for batch in batches:
            self.optim.zero_grad()
            self.loss(batch).backward()
            self.optim.step()

class Mine(Loop):
    def loss(self, batch):
        x, y = batch
        return criterion(self.net(x), y)

Mine(model, optimizer).run(train_loader)
""",
    "a logger that may be missing": f"""
try:
    import wandb
except ImportError:
    wandb = None

def log(**values):
    if wandb is not None and wandb.run is not None:
        wandb.log(values)

{LOOP}
    log(loss=loss.item())
""",
    "a model that is called by a library": """
from torch.utils.checkpoint import checkpoint_sequential

for x, y in train_loader:
    optimizer.zero_grad()
    criterion(checkpoint_sequential(model, 2, x, use_reentrant=False), y).backward()
    optimizer.step()
""",
    "a functional call with gradients written back": """
from torch.func import functional_call, grad

def loss_fn(weights, x, y):
    return criterion(functional_call(model, weights, (x,)), y)

for x, y in train_loader:
    found = grad(loss_fn)({n: p.detach() for n, p in model.named_parameters()}, x, y)
    for name, p in model.named_parameters():
        p.grad = found[name]
    optimizer.step()
""",
    "an optimizer that shards its state": """
from torch.distributed.optim import ZeroRedundancyOptimizer
from torch.nn.parallel import DistributedDataParallel as DDP

ddp = DDP(model, device_ids=[local_rank])
optimizer = ZeroRedundancyOptimizer(ddp.parameters(), optimizer_class=torch.optim.SGD, lr=0.1)
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(ddp(x), y).backward()
    optimizer.step()
""",
    "a loss function with its model given ahead": """
from functools import partial

def compute_loss(network, scale, inputs, labels):
    return criterion(network(inputs), labels) / scale

loss_of = partial(compute_loss, model, labels=None)
for x, y in train_loader:
    optimizer.zero_grad()
    loss_of(2.0, x, labels=y).backward()
    optimizer.step()
""",
    "a step whose objects are given ahead": """
import functools

def step(net, opt, loss_fn, batch):
    inputs, labels = batch
    opt.zero_grad()
    loss_fn(net(inputs), labels).backward()
    opt.step()

update = functools.partial(step, model, optimizer, functools.partial(criterion))
for batch in train_loader:
    update(batch)
""",
    "a loss of the library with its reduction given ahead": """
from functools import partial

loss_fn = partial(F.mse_loss, reduction="sum")
for x, y in train_loader:
    optimizer.zero_grad()
    loss_fn(model(x), y).backward()
    optimizer.step()
""",
    "parts of a wrapper that has the model's name": """
class Wrapped(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.front, self.back = inner[:1], inner[1:]

    def forward(self, x):
        return self.back(self.front(x))

model = Wrapped(model)
for x, y in train_loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    for part in (model.front, model.back):
        torch.nn.utils.clip_grad_norm_(part.parameters(), max_norm=1.0)
    optimizer.step()
""",
    "an engine whose handlers are registered by a decorator": """
class Engine:
    def __init__(self):
        self.handlers = []

    def on_end(self, function):
        self.handlers.append(function)
        return function

    def run(self, batches, step):
        for i, batch in enumerate(batches):
            step(batch)
            for handler in self.handlers:
                handler(i=i)

engine = Engine()

@engine.on_end
def update(i):
    optimizer.step()
    optimizer.zero_grad()

def compute(batch):
    x, y = batch
    criterion(model(x), y).backward()

engine.run(train_loader, compute)
""",
    "steps that are looked up by their names": """
STEPS = {}

def register(name):
    def keep(function):
        STEPS[name] = function
        return function
    return keep

@register("compute")
def compute(state):
    x, y = state["batch"]
    criterion(model(x), y).backward()

@register("update")
def update(state):
    optimizer.step()
    optimizer.zero_grad()

for batch in train_loader:
    for name in ("compute", "update"):
        STEPS[name]({"batch": batch})
""",
    "a step under the name that it had before its objects were given": """
from functools import partial

def step(net, opt, batch):
    x, y = batch
    opt.zero_grad()
    criterion(net(x), y).backward()
    opt.step()

step = partial(step, model, optimizer)
for batch in train_loader:
    step(batch)
""",
    "a fold over the loader": """
from functools import reduce

def fold(updates, batch):
    x, y = batch
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
    return updates + 1

reduce(fold, train_loader, 0)
""",
    "a LightningModule without its __init__": """
import lightning.pytorch as pl

class MyModel(pl.LightningModule):
    def on_before_optimizer_step(self, optimizer):
        torch.nn.utils.clip_grad_norm_(self.parameters(), max_norm=1.0)

pl.Trainer(max_epochs=1).fit(MyModel(model, criterion), train_loader)
""",
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_it_binds_and_trains(run, program):
    ran = run(program)

    assert ran.outcome == "ran"
    assert ran.steps >= 14


def test_what_was_called_out_of_sight_is_not_called_again(run):
    """It looks like a function that nobody calls."""
    ran = run(
        "def update(x, y):\n    optimizer.zero_grad()\n    criterion(model(x), y).backward()\n"
        "    optimizer.step()\n\nfor x, y in train_loader:\n    globals()['update'](x, y)\n"
    )

    assert ran.steps == 14
    assert "update is not called: training had begun" in ran.notes
