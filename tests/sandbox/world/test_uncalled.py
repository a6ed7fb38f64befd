"""Functions that a loop defines in every turn: of which it is told that nothing calls them."""

import ast

import pytest

from harness.sandbox.branches.marks import marked
from harness.sandbox.branches.untaken import untaken

BODY = "optimizer.zero_grad()\nloss.backward()\nreturn loss"


class Quiet:
    """Stands for an optimizer and a loss: it takes every call."""

    def __getattr__(self, _):
        return self

    def __call__(self, *_, **__):
        return self


def uncalled_in(program: str) -> list[tuple[int, int]]:
    """Run a program, and say which lines of it are such a function."""
    found = marked(ast.parse(program))
    exec(found.compiled("<candidate>"), {"optimizer": Quiet(), "loss": Quiet()})
    return [(b.first, b.last) for b in untaken(found) if b.uncalled]


def turns(after: str = "", *, body: str = BODY, over: str = "range(3)", first: str = "") -> str:
    """Three turns of a loop that each define a closure."""
    inner = "".join(f"        {line}\n" for line in body.splitlines())
    more = "".join(f"    {line}\n" for line in after.splitlines())
    return f"for turn in {over}:\n{first}    def closure():\n{inner}{more}"


def test_a_closure_whose_name_is_read_nowhere_is_told_with_its_lines():
    """At module level as well as in a function."""
    within = "def train():\n" + "".join(f"    {line}\n" for line in turns().splitlines())
    assert uncalled_in(turns()) == [(2, 5)]
    assert uncalled_in(f"{within}train()\n") == [(3, 6)]


@pytest.mark.parametrize(
    "program",
    [
        turns("closure()"),
        turns("optimizer.step(closure)"),
        turns("waiting = closure"),
        turns(over="()"),
        turns(body="return loss.item()"),
        turns(first="    @optimizer\n"),
        f"def closure():\n    {BODY.splitlines()[1]}\nfor turn in range(3):\n    loss.item()\n",
    ],
)
def test_what_is_called_handed_on_never_reached_or_there_for_others_is_not(program):
    """A function beside the loop is one that a reader may call."""
    assert uncalled_in(program) == []
