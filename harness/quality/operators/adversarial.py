"""Two networks with an optimizer each, and what leaks from one to the other."""

from collections.abc import Iterator

import libcst as cst

from harness.quality.operator import Operator
from harness.quality.program import (
    Changes,
    ParsedProgram,
    after,
    code,
    instead,
    receiver,
    threshold_of,
)


def _cleared_after_the_step(program: ParsedProgram) -> Iterator[Changes]:
    for clearing in program.clearings():
        for step in program.steps():
            same = receiver(step) == receiver(clearing) and program.together(step, clearing)
            drop = program.without(clearing)
            if same and drop and program.line(clearing) < program.line(step):
                yield {**drop, program.statement(step): after(code(clearing))}


def _by_both(program: ParsedProgram) -> Iterator[Changes]:
    clips = program.clips()
    for clip in clips:
        own = _parameters(clip)
        others = [p for c in clips if (p := _parameters(c)) != own and program.together(c, clip)]
        threshold = threshold_of(clip)
        for other in others[:1] if threshold is not None else ():
            assert threshold is not None
            both = f"[*({own}), *({other})]"
            yield {clip: instead(f"{code(clip.func)}({both}, {code(threshold.value)})")}


def _parameters(clip: cst.Call) -> str:
    return code(clip.args[0].value)


OPERATORS = (
    Operator(
        "zero-grad-after-the-step",
        "A network is cleared after its step, and the other's backward fills it before its own.",
        ("gradients-start-fresh",),
        _cleared_after_the_step,
        where="apart",
    ),
    Operator(
        "clip-with-the-other-network",
        "The norm is that of both networks, so one's leftovers shrink the other's gradient.",
        ("clip-global-norm",),
        _by_both,
        where="apart",
    ),
)
"""The operators on networks that are trained against each other."""
