"""Which loops over an iterator of parameters find nothing left, by the text of a program."""

import pytest

from harness.properties.learning.used_up import used_up

TWICE = """
def clip(params, limit):
    norm = sum(p.grad.norm() for p in params)
    for p in params:
        p.grad.mul_(limit / norm)
"""

LATE = {
    "a function that is handed model.parameters() and goes over it twice": (
        TWICE + "clip(model.parameters(), 1.0)"
    ),
    "the same by a keyword": TWICE + "clip(limit=1.0, params=model.parameters())",
    "a filter that an optimizer used up before the clip": """
trainable = filter(lambda p: p.requires_grad, model.parameters())
optimizer = torch.optim.SGD(trainable, lr=0.1)
torch.nn.utils.clip_grad_norm_(trainable, 1.0)
""",
    "a loop that comes again with each batch": """
params = (p for p in model.parameters() if p.requires_grad)
for x, y in loader:
    criterion(model(x), y).backward()
    torch.nn.utils.clip_grad_norm_(params, 1.0)
""",
}

LEFT = {
    "a list of the parameters": TWICE + "clip(list(model.parameters()), 1.0)",
    "a function that makes a list of what it is handed": (
        TWICE.replace("limit):\n", "limit):\n    params = list(params)\n")
        + "clip(model.parameters(), 1.0)"
    ),
    "two ways of which one is taken": """
def clip(params, limit, value):
    if value:
        for p in params:
            p.grad.clamp_(-limit, limit)
    else:
        for p in params:
            p.grad.mul_(limit / p.grad.norm())


clip(model.parameters(), 1.0, True)
""",
    "a way that returns before the other": """
def clip(params, limit, value):
    if value:
        for p in params:
            p.grad.clamp_(-limit, limit)
        return
    for p in params:
        p.grad.mul_(limit / p.grad.norm())


clip(model.parameters(), 1.0, True)
""",
    "a second time that changes nothing": """
params = model.parameters()
optimizer = torch.optim.SGD(params, lr=0.1)
print(sum(p.numel() for p in params))
""",
    "rows that a method of that name made": """
rows = raw.filter(keep)
for turn in range(3):
    for x in rows:
        model(x).sum().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
""",
}


@pytest.mark.parametrize("program", LATE.values(), ids=LATE.keys())
def test_what_comes_second_is_named(program):
    assert used_up(program) is not None


@pytest.mark.parametrize("program", LEFT.values(), ids=LEFT.keys())
def test_what_still_finds_parameters_is_not(program):
    assert used_up(program) is None
