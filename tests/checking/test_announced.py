"""What comments say that lines print."""

import pytest

from harness.checking.announced import (
    AnnouncedLine,
    PrintedLine,
    announced,
    marked,
    printed,
    value_in,
)
from harness.checking.session import BlockInContext


def block(text: str, own: int = 0) -> BlockInContext:
    return BlockInContext(text, tuple(range(1, text.count("\n") + 2)), own)


@pytest.mark.parametrize(
    ("comment", "value"),
    [
        ("0.01", ("0.01",)),
        ("tensor(2.)", ("2.",)),
        ("torch.Size([6, 3])", ("6", "3")),
        ("[False, True]", ("False", "True")),
        ("0.3133, cannot get to zero", ("0.3133",)),
        ("1.9  = 2.0 * (1 - 0.1 * 0.5)", ("1.9",)),
        ("16 * 2 + 2 = 34", ("34",)),
        ("8 steps", ("8",)),
        ("0.3906%", ("0.3906%",)),
        ("tensor([nan, ...])", ()),
        ("2.0 when all ranks hold 2.0", ()),
        ("3 or so", ()),
        ("5 x 3", ()),
        ("close to 0", ()),
        ("1. compute the loss", ()),
        ("adamw_torch(_fused), linear", ()),
        ("[0.02]", ("0.02",)),
    ],
)
def test_a_value_is_read_where_a_comment_gives_nothing_else(comment, value):
    assert value_in(comment) == value


@pytest.mark.parametrize(
    ("said", "text", "agrees"),
    [
        ("0.01", "0.001", False),
        ("-0.2", "-0.28999999", False),
        ("0.3133", "tensor(0.3133, grad_fn=<NllLossBackward0>)", True),
        ("0.3906%", "0.3906%", True),
        ("2.30", "2.3026", True),
        ("[False, True]", "[False, False]", False),
        ("64", "lr 0.1, batch 64", None),
        ("386", "418", False),
        ("1", "1.0", True),
    ],
)
def test_what_was_printed_is_compared_to_the_digits_that_are_written(said, text, agrees):
    assert PrintedLine(AnnouncedLine(1, said), 1, text).agrees is agrees


def test_what_a_line_printed_is_found_among_all_that_was_printed():
    program = block("print('x')\nprint(1 + 1)  # 3\nprint('y')")
    told: list[str] = []
    exec(marked(program).text, {"print": lambda *words: told.append(" ".join(map(str, words)))})

    (found,) = printed(program, told)
    assert (found.announced.line, found.text, found.agrees) == (2, "2", False)


def test_a_line_that_prints_again_and_again_announces_nothing():
    program = block("for n in range(2):\n    print(n)  # 5")
    told: list[str] = []
    exec(marked(program).text, {"print": lambda *words: told.append(" ".join(map(str, words)))})
    assert printed(program, told) == ()


def test_lines_of_other_blocks_and_of_functions_announce_nothing():
    assert announced(block("print(1)  # 2\nprint(1)  # 3", own=1)) == (AnnouncedLine(2, "3"),)
    assert announced(block("def f():\n    print(1)  # 2")) == ()


def test_a_comment_says_what_an_object_is_once_the_line_has_run():
    text = "loss.backward()  # critic.weight.grad stays None\nx = 1  # the loss is None of that"
    (one,) = announced(block(text))
    assert (one.line, one.said, one.of) == (1, "None", "critic.weight.grad")
    asked = marked(block(text)).text.split("\n")[0]
    assert asked.startswith("loss.backward(); print('harness-check begin 1'); print(critic.")
    texts = ["harness-check begin 1\nsomething else\nharness-check end 1"]
    assert [p.agrees for p in printed(block(text), texts)] == [False]
