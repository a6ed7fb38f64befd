"""What a block is run with beside what its page shows."""

import ast

import pytest

from harness.checking.completing import (
    fitted,
    forgets_backward,
    leaves_clearing_out,
    prepared,
    shortened,
    trained,
    with_losses,
    without_gaps,
)
from harness.checking.session import BlockInContext


def completed(text: str) -> BlockInContext:
    return with_losses(BlockInContext(text, tuple(range(11, 12 + text.count("\n"))), 0))


def test_a_loss_that_nobody_computes_is_computed_where_it_is_gone_back_from():
    found = completed(
        "for i, (a, b) in enumerate(train_loader):\n    (loss / 4).backward()\n    step()"
    )
    assert found.text.split("\n")[1:3] == [
        "    loss = criterion(model(a), b)",
        "    (loss / 4).backward()",
    ]
    assert (found.lines, found.is_completed) == ((11, 0, 12, 13), True)


def test_a_loss_that_is_computed_and_a_function_of_that_name_are_left_alone():
    for loss in ("loss = f(x)\n    loss.backward()", "scaler.scale(loss_fn(x)).backward()"):
        text = f"for x in loader:\n    {loss}"
        assert completed(text).text == text


def test_a_loss_that_a_function_leaves_out_is_computed_there_and_one_that_it_is_given_is_not():
    left_out = completed("def turn(batch):\n    loss = ...\n    loss.backward()\nturn(b)")
    assert left_out.text.split("\n")[1] == "    loss = criterion(model(inputs), targets)"
    given = "def turn(loss):\n    loss.backward()\nturn(loss)"
    assert completed(given).text == given


FORGETS = "for x, y in batches:\n    o.zero_grad()\n    l = criterion(m(x), y)\n{}    o.step()\n"


@pytest.mark.parametrize(
    ("then", "forgets"),
    [
        ("", True),
        ("    l.backward()\n", False),
        ("    go(l, o)\n", False),
        ("    print(1)\n", True),
    ],
)
def test_a_loop_forgets_backward_where_it_hands_its_loss_to_nobody(then, forgets):
    assert forgets_backward(ast.parse(FORGETS.format(then))) is forgets


def test_a_sketch_that_computes_no_loss_forgets_nothing():
    sketch = "for epoch in range(9):\n    o.zero_grad()\n    train(m)\n    o.step()\n"
    assert not forgets_backward(ast.parse(sketch))


def test_an_optimizer_that_nobody_steps_gets_a_loop():
    made = "import torch\no = torch.optim.SGD(net.parameters())"
    found = trained(BlockInContext(made, (1, 2), 0))
    assert found.text.split("\n")[2:] == [
        "for inputs, targets in train_loader:",
        "    o.zero_grad()",
        "    criterion(net(inputs), targets).backward()",
        "    o.step()",
    ]
    assert not any(map(found.is_own, (3, 4, 5, 6)))
    stepped = BlockInContext(f"{made}\no.step()", (1, 2, 3), 0)
    assert trained(stepped) == stepped


def test_a_module_that_reads_how_many_batches_it_gathers_is_fitted_over_several():
    text = (
        "from lightning import LightningModule\nclass A(LightningModule): pass\nclass B(A):\n    {}"
    )
    plain, several = (
        fitted(BlockInContext(text.format(body), (1, 2, 3, 4), 0)).text
        for body in ("pass", "n = self.trainer.accumulate_grad_batches")
    )
    assert plain.endswith("lightning.Trainer().fit(B(), train_loader)")
    assert several.endswith("Trainer(accumulate_grad_batches=2).fit(B(), train_loader)")


def test_a_loss_that_is_left_out_is_computed_where_it_is():
    text = "for epoch in range(3):\n\topt.zero_grad()\n\tloss = ...  # here\n\tloss.backward()"
    made = "\tloss = criterion(model(inputs), targets)"
    assert completed(text).text.split("\n")[2] == made
    assert completed(text).lines == (11, 12, 0, 14)


@pytest.mark.parametrize(
    ("text", "run"),
    [
        ("def f(self):\n    return Adam(p, ...)", "def f(self):\n    return Adam(p, )"),
        ("own = Trainer(..., callbacks=[Stop(...)])", "own = Trainer( callbacks=[Stop()])"),
        ("Trainer().fit(...)", "Trainer().fit(model, train_loader)"),
        ("optimizer = Adam(...)", "optimizer = Adam(...)"),
        ("train(...)", "train(...)"),
        ("model = ...\ngadget = ...", "model = model_\ngadget = ..."),
    ],
)
def test_a_class_is_made_of_what_is_shown(text, run):
    assert without_gaps(BlockInContext(text, (1, 2), 0)) == run


ACCELERATED = """accelerator = Accelerator()
for x, y in loader:
    with accelerator.accumulate(model):
        accelerator.backward(model(x))
        optimizer.step()"""


def test_what_an_accelerator_trains_is_prepared_where_nobody_shows_it():
    found = prepared(BlockInContext(ACCELERATED, tuple(range(1, 6)), 0))
    made = "loader, model, optimizer = accelerator.prepare(loader, model, optimizer)"
    assert found.text.split("\n")[1] == made
    assert found.lines == (1, 1, 2, 3, 4, 5)
    assert prepared(found) == found


def test_a_loop_of_no_turns_that_only_illustrates_makes_one():
    text = "for epoch in range({}):\n    cost(x).backward()\n    step()"
    assert shortened(completed(text.format(0))).text == text.format(1)
    assert shortened(completed(text.format(5))).text == text.format(5)


def test_a_loss_in_a_loop_over_no_loader_is_that_of_a_lent_batch():
    found = completed("for step in range(9):\n    loss.backward()\n    step()")
    assert found.text.split("\n")[1] == "    loss = criterion(model(inputs), targets)"


OWN = "import torch\nmodel = torch.nn.Linear(2, 1)\noptimizer = torch.optim.SGD(model.parameters())"


@pytest.mark.parametrize(
    ("text", "left_out"),
    [
        ("for x, y in loader:\n    f(model(x), y).backward()\n    optimizer.step()", True),
        ("optimizer = SGD(model)\nf(model(x)).backward()\noptimizer.step()", True),
        ("def turn(optimizer, x):\n    model(x).backward()\n    optimizer.step()", True),
        ("def run(xs):\n    for x in xs:\n        model(x).backward()\n        o.step()", False),
        (f"{OWN}\nmodel(torch.ones(3, 2)).sum().backward()\noptimizer.step()", False),
        ("model(x).backward()\noptimizer.step()\nmodel.zero_grad()", False),
        ("model(x).backward()\noptimizer.step()\nfor p in ps:\n    p.grad = None", False),
    ],
)
def test_a_sketch_leaves_its_clearing_out_and_a_whole_program_forgets_it(text, left_out):
    block = BlockInContext(text, tuple(range(1, 2 + text.count("\n"))), 0)
    assert leaves_clearing_out(block) == left_out
