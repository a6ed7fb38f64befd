"""What a program finds by a name or in a register of its own, and batches that it keeps."""

import pytest

PHASES = """
class Step:
    order = ("forward", "backward", "update")

    def forward(self, batch):
        x, y = batch
        self.loss = criterion(model(x), y)

    def backward(self, batch):
        optimizer.zero_grad()
        self.loss.backward()

    def update(self, batch):
        optimizer.step()

    def __call__(self, batch):
        for phase in self.order:
            getattr(self, phase)(batch)

step = Step()
for batch in train_loader:
    step(batch)
"""

PLAN = """
class Steps:
    def clearing(self, batch):
        optimizer.zero_grad()
        self.plain(batch)

    def plain(self, batch):
        x, y = batch
        criterion(model(x), y).backward()
        optimizer.step()

steps = Steps()
for i, batch in enumerate(train_loader):
    getattr(steps, ("clearing", "plain")[i % 2])(batch)
"""

REGISTER = """
from collections import defaultdict

class Loop:
    def __init__(self):
        self.handlers = defaultdict(list)

    def on(self, event):
        def register(function):
            self.handlers[event].append(function)
            return function
        return register

    def emit(self, event, *given):
        for function in self.handlers[event]:
            function(*given)

loop = Loop()

@loop.on("batch")
def train(batch):
    x, y = batch
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()

for batch in train_loader:
    loop.emit("batch", batch)
"""

WRAPPER = """
class Bounded:
    def __init__(self, inner):
        self.inner = inner

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def __call__(self, loss):
        self.inner.zero_grad()
        loss.backward()
        for group in self.param_groups:
            torch.nn.utils.clip_grad_norm_(group["params"], 1.0)
        self.step()

update = Bounded(optimizer)
for x, y in train_loader:
    update(criterion(model(x), y))
"""

FOUND = {
    "phases by their names": PHASES,
    "a plan of methods": PLAN,
    "functions in a register": REGISTER,
    "an object that forwards": WRAPPER,
}


@pytest.mark.parametrize("program", FOUND.values(), ids=FOUND)
def test_what_is_looked_up_by_a_name_takes_what_it_is_given(run, program):
    """Batches were tensors without targets there, and an optimizer was a model."""
    ran = run(program)

    assert (ran.outcome, ran.steps, ran.batches) == ("ran", 14, {"train": 14})


def test_what_a_decorator_runs_around_still_gets_its_arguments(run):
    """It calls the function itself, and is no register."""
    ran = run(
        "def timed(function):\n    def around(*args, **named):\n        return function(*args, **named)\n    return around\n\n"
        "@timed\ndef train(model, loader, optimizer):\n    for x, y in loader:\n"
        "        optimizer.zero_grad()\n        criterion(model(x), y).backward()\n        optimizer.step()\n"
    )

    assert (ran.outcome, ran.steps) == ("ran", 14)


def test_columns_of_a_window_hold_the_parts_of_its_batches(run):
    """Three of them were two: a batch was taken for a pair."""
    ran = run(
        "window = []\nfor batch in train_loader:\n    window.append(batch)\n    if len(window) == 2:\n"
        "        xs, ys, masks = tuple(zip(*window))\n        optimizer.zero_grad()\n"
        "        for x, y, m in zip(xs, ys, masks):\n"
        "            losses = F.mse_loss(model(x), y, reduction='none')\n"
        "            ((losses * m[:, None]).sum() / m.sum()).backward()\n"
        "        optimizer.step()\n        window = []\n"
    )

    assert (ran.outcome, ran.steps) == ("ran", 7)


KEPT = """
for group in zip(*[iter(train_loader)] * 2):
    optimizer.zero_grad()
    for batch in group:
        (criterion(model(batch), target) / 2).backward()
    optimizer.step()
"""

AT_ONCE = """
for i, batch in enumerate(train_loader):
    (criterion(model(batch), target) / 2).backward()
    if i % 2:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_a_target_that_no_loop_yields_belongs_to_the_batch_that_entered_the_model(run):
    """Where a window of batches is kept, it was the last one's for all of them."""
    kept, at_once = run(KEPT), run(AT_ONCE)

    assert (kept.outcome, kept.steps) == (at_once.outcome, at_once.steps) == ("ran", 7)
    assert kept.weights == at_once.weights
