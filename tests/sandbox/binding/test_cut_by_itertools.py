"""Windows that Python's itertools cut hold batches of the loader, in the form that the program takes them."""

import itertools

import pytest

GROUPED = """
from itertools import groupby

for _, group in groupby(enumerate(train_loader), key=lambda numbered: numbered[0] // 4):
    window = [batch for _, batch in group]
    optimizer.zero_grad()
    for x, y, mask in window:
        losses = F.mse_loss(model(x), y, reduction="none")
        ((losses * mask[:, None]).sum() / mask.sum() / len(window)).backward()
    optimizer.step()
"""
TAKEN = """
import itertools

numbered = enumerate(train_loader)
for _, batch in itertools.takewhile(lambda pair: pair[0] < 4, numbered):
    x, y, mask = batch
    optimizer.zero_grad()
    (F.mse_loss(model(x), y, reduction="none") * mask[:, None]).mean().backward()
    optimizer.step()
"""
BATCHED = """
import itertools

for window in itertools.batched(train_loader, 4):
    optimizer.zero_grad()
    for x, y, mask in window:
        losses = F.mse_loss(model(x), y, reduction="none")
        ((losses * mask[:, None]).sum() / mask.sum() / len(window)).backward()
    optimizer.step()
"""
FOLDED = """
from functools import reduce
from itertools import islice

params = list(model.parameters())

def add(total, batch):
    x, y, mask = batch
    loss = (F.mse_loss(model(x), y, reduction="none") * mask[:, None]).sum() / mask.sum()
    return [t + g for t, g in zip(total, torch.autograd.grad(loss, params))]

stream = iter(train_loader)
for window in iter(lambda: list(islice(stream, 4)), []):
    for p, total in zip(params, reduce(add, window, [torch.zeros_like(p) for p in params])):
        p.grad = total / len(window)
    optimizer.step()
"""
PROGRAMS = {"groupby": GROUPED, "takewhile": TAKEN, "reduce": FOLDED}
if hasattr(itertools, "batched"):  # from Python 3.12 on
    PROGRAMS["batched"] = BATCHED


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS)
def test_batches_come_through_itertools_in_their_form(run, program):
    """Three parts were two: nothing was known of what a group holds."""
    ran = run(program)

    assert (ran.outcome, ran.steps) == ("ran", 4)
