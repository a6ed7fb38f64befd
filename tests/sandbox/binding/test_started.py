"""Which functions are called for a program that does not call them, and which are its own to call."""

import pytest

WRAPPER = """
class Clipped:
    def __init__(self, base):
        self.base = base

    def zero_grad(self):
        self.base.zero_grad()

    def backward(self, loss):
        loss.backward()

    def step(self):
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        self.base.step()

"""

LOOP = """
opt = Clipped(optimizer)
for x, y in train_loader:
    opt.zero_grad()
    {backward}
{step}"""

BACKWARDS = ("criterion(model(x), y).backward()", "opt.backward(criterion(model(x), y))")


@pytest.mark.parametrize("backward", BACKWARDS)
def test_a_wrapper_that_the_program_works_with_is_its_own_to_step(run, backward):
    """It clears by it and forgets its step: nothing here makes up for that."""
    forgotten = run(WRAPPER + LOOP.format(backward=backward, step=""))
    right = run(WRAPPER + LOOP.format(backward=backward, step="    opt.step()\n"))

    assert (forgotten.error, forgotten.steps) == (None, 0), forgotten.message
    assert (right.error, right.steps) == (None, 14), right.message


def test_a_wrapper_is_its_functions_own_to_step_too(run):
    """The function is called, since nobody else does, and the wrapper's step is not."""
    lines = LOOP.format(backward=BACKWARDS[0], step="").strip().splitlines()
    forgotten = run(WRAPPER + "def train():\n" + "".join(f"    {line}\n" for line in lines))

    assert (forgotten.error, forgotten.steps) == (None, 0), forgotten.message
    assert forgotten.batches["train"] == 14
    assert forgotten.calls == [["train"]]


LOOK = "        criterion(self.model(torch.ones(2, 8)), torch.ones(2, 3)).backward()\n"


@pytest.mark.parametrize("look", ["", LOOK])
def test_a_class_that_is_made_and_asked_before_it_trains_is_started_as_before(run, look):
    """Its loop is in a method, whether or not what was asked goes backward too."""
    ran = run(
        "class Trainer:\n    def __init__(self, model, optimizer):\n"
        "        self.model, self.optimizer = model, optimizer\n"
        "    def describe(self):\n        print(len(list(self.model.parameters())))\n"
        f"{look}"
        "    def train(self, loader):\n        for x, y in loader:\n"
        "            self.optimizer.zero_grad()\n"
        "            criterion(self.model(x), y).backward()\n            self.optimizer.step()\n"
        "trainer = Trainer(model, optimizer)\ntrainer.describe()\n"
    )

    assert (ran.error, ran.steps) == (None, 14), ran.message


CLOSURE = """
for x, y in train_loader:
    def closure():
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        return loss
{step}"""


def test_a_closure_that_a_loop_defines_is_the_loops_to_hand_on(run):
    """Called once at the end, it would have trained on the last batch."""
    assert run(CLOSURE.format(step="")).calls == []
    assert run(CLOSURE.format(step="    optimizer.step(closure)\n")).steps == 14
