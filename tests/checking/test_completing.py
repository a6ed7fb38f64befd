"""What a block is run with beside what its page shows."""

import ast

import pytest

from harness.checking.completing import forgets_backward, with_losses
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
