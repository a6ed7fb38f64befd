"""Whether a function makes one update: what tells that it is called for each batch."""

import pytest

from harness.sandbox.names.table import table
from harness.sandbox.unbound import parsed
from harness.sandbox.world.reading import ProgramReading
from harness.sandbox.world.updates import UpdateReading

STEP = "loss.backward(); opt.step()"


@pytest.mark.parametrize(
    ("body", "one"),
    [
        (STEP, True),
        ("for p in net.parameters(): p.grad = None\n    " + STEP, True),
        ("loss.backward()", False),
        ("opt.step()", False),
        ("for x in loader: " + STEP, False),
        ("for x in loader: loss.backward()\n    opt.step()", False),
    ],
)
def test_a_function_of_one_update_goes_backward_and_steps_and_not_in_a_loop(body, one):
    program = f"def update(net, opt, loader, loss):\n    {body}\n"
    tree = parsed(program, "<candidate>")

    reading = ProgramReading(tree, program, table())
    assert UpdateReading(reading).is_one_update(tree.body[0]) is one
