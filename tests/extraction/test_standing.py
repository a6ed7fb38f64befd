"""A posted function that an answer lets stand and calls is part of what the answer proposes."""

import pytest

from tests.extraction.test_snippets import fenced, proposed

POSTED = """\
import torch
limit = 4.0


class Net(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = torch.nn.Linear(width, 1)


def look(step):
    scaler.unscale_(optimizer)
    size = total(model)
    print(step, size)


def total(module):
    return sum(p.grad.norm() for p in module.parameters())


net = Net(16)
opt = torch.optim.SGD(net.parameters(), lr=0.1)

for step, (x, y) in enumerate(loader):
    scaler.scale(criterion(model(x), y)).backward()
    look(step)
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
"""
LOOP = """\
for i, (a, b) in enumerate(batches):
    optimizer.zero_grad()
    scaler.scale(criterion(model(a), b)).backward()
    look(i)
    scaler.step(optimizer)
"""
HOOK = POSTED[POSTED.index("def look") : POSTED.index("def total")]
HELPER = POSTED[POSTED.index("def total") : POSTED.index("net =")]


def test_a_posted_function_that_the_loop_calls_comes_with_what_it_needs():
    found = proposed("Yours goes:" + fenced(LOOP), POSTED)

    assert found == f"{HOOK.rstrip()}\n\n{HELPER.rstrip()}\n\n{LOOP}"


def test_what_is_made_of_a_posted_class_comes_with_the_class():
    loop = (
        LOOP.replace("model(", "net(").replace("optimizer", "opt").replace("look(i)", "clip(net)")
    )

    program = proposed(fenced(loop), POSTED)

    assert program.startswith("import torch\n\nclass Net(torch.nn.Module):")
    assert "net = Net(16)\n\nopt = torch.optim.SGD(net.parameters(), lr=0.1)\n\nfor i," in program
    assert "look" not in program


def test_a_posted_constant_is_what_it_was_unless_the_prose_gives_another():
    loop = LOOP.replace("look(i)", "clip_grad_norm_(model.parameters(), limit)")

    assert proposed(fenced(loop), POSTED) == f"limit = 4.0\n\n{loop}"
    assert proposed("Set `limit` to 1." + fenced(loop), POSTED) == loop


@pytest.mark.parametrize(
    "said",
    [
        "Delete the `unscale_` in `look` and keep the loop:",
        "In `look`, drop the first line.",
        "`look` should only read.",
        "Rewrite `look(step)` so that it reads.",
        "The hook becomes" + fenced("size = total(model).item()"),
        "The hook becomes" + fenced("def look(step):\n    print(step)") + "It is a bad idea:",
    ],
)
def test_of_a_function_that_the_answer_changes_the_posted_text_is_not_taken(said):
    assert HOOK.rstrip() not in proposed(said + fenced(LOOP), POSTED)


@pytest.mark.parametrize(
    "said",
    [
        "`look` unscales already, so delete your own `scaler.unscale_(optimizer)`.",
        "Since `look` has it, remove the second call.",
        "Don't change `look`.",
    ],
)
def test_a_function_that_is_only_spoken_of_stands(said):
    assert proposed(said + fenced(LOOP), POSTED).startswith(HOOK.rstrip())


WRAPPED = """\
class Wrapped(torch.nn.Module):
    def forward(self, x):
        return self.inner(x, use_reentrant=True)


model = Wrapped(model)

for x, y in loader:
    criterion(model(x), y).backward()
    optimizer.step()
"""


def test_a_model_that_the_answer_wraps_is_not_wrapped_before_as_it_was_in_the_post():
    """It had been wrapped twice."""
    shown = (
        WRAPPED.replace("True", "False").replace("model = W", "net = W").replace("model(x", "net(x")
    )
    assert proposed(fenced(shown), WRAPPED) == shown


def test_a_class_that_is_shown_anew_is_used_as_it_was_in_the_post():
    line = "model = Wrapped(model)\n\n"
    shown = WRAPPED.replace("True", "False").replace(line, "")

    assert line.strip() in proposed(fenced(shown), WRAPPED)


def test_a_docstring_and_what_is_imported_from_the_future_stay_first():
    first = '"""Mine."""\nfrom __future__ import annotations\n'

    assert proposed(fenced(first + LOOP), POSTED).startswith(first + "\ndef look")
