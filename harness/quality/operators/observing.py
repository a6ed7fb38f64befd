"""Checks, diagnoses and measurements that no longer tell the truth."""

from collections.abc import Iterator
from typing import cast

import libcst as cst

from harness.quality.operator import Derive, Operator
from harness.quality.program import (
    Changes,
    ParsedProgram,
    ProgramChange,
    after,
    before,
    code,
    gone,
    instead,
    receiver,
)


def _checks(program: ParsedProgram) -> list[cst.If]:
    """The branches on a loss that is not finite; none where the program also checks in another way."""
    asked = [c for c in program.calls("isfinite", "isnan") if program.backwards()]
    first = min((program.line(b) for b in program.backwards()), default=0)
    branches = [
        b
        for b in cast("list[cst.If]", program.all(cst.If))
        if code(b.test).startswith("not ") and "finite" in code(b.test) and "loss" in code(b.test)
    ]
    elsewhere = [
        c
        for c in asked
        if program.line(c) < first and not any(b in program.above(c) for b in branches)
    ]
    return [] if elsewhere else branches


def _check_dropped(program: ParsedProgram) -> Iterator[Changes]:
    for check in _checks(program):
        yield {check: gone}


def _check_after_backward(program: ParsedProgram) -> Iterator[Changes]:
    for check in _checks(program):
        for backward in program.backwards():
            yield {check: gone, program.statement(backward): _followed_by(check)}


def _followed_by(statement: cst.BaseStatement) -> ProgramChange:
    return lambda node: cst.FlattenSentinel([cast("cst.BaseStatement", node), statement])


def _clamp(text: str) -> Derive:
    """An operator that replaces each clamp: ``{}`` stands for the value that is clamped."""

    def derive(program: ParsedProgram) -> Iterator[Changes]:
        stops = bool(program.all(cst.Raise))  # to stop on such a loss is an answer as well
        for call in program.calls("clamp", "clamp_min") if not stops else ():
            if receiver(call):
                yield {call: instead(text.format(receiver(call)))}

    return derive


def _rounded(program: ParsedProgram) -> Iterator[Changes]:
    changes: Changes = {
        node: lambda updated: updated.with_deep_changes(
            updated, format_spec=[cst.FormattedStringText(".3f")]
        )
        for node in cast(
            "list[cst.FormattedStringExpression]", program.all(cst.FormattedStringExpression)
        )
        if node.format_spec and "e" in "".join(code(p) for p in node.format_spec)
    }
    if changes:
        yield changes


def _observation_acts(program: ParsedProgram) -> Iterator[Changes]:
    for backward in program.backwards():
        act = "for p in model.parameters():\n    torch.nn.utils.clip_grad_norm_(p, 1e-8)"
        yield {program.statement(backward): after(act)}


def _not_warmed_up(program: ParsedProgram) -> Iterator[Changes]:
    once: dict[cst.CSTNode, ProgramChange] = {
        loop.iter: instead("range(1)")
        for loop in cast("list[cst.For]", program.all(cst.For))
        if code(loop.iter).startswith("range(") and loop in program.module.body
    }
    for call in program.calls("train"):
        own = isinstance(call.func, cst.Name)
        if own and program.statement(call) in program.module.body:
            yield {**program.without(call), **once}


def _less_work(program: ParsedProgram) -> Iterator[Changes]:
    for branch in cast("list[cst.If]", program.all(cst.If)):
        if code(branch.test) in ("clip", "not clip"):
            skip = f"if not ({code(branch.test)}):\n    continue"
            yield {branch: before(skip)}


def _one_graph(program: ParsedProgram) -> Iterator[Changes]:
    for backward in program.backwards():
        twice = "(lambda loss: [loss.backward() for _ in range(2)])"
        yield {backward: instead(f"{twice}({receiver(backward)})")}


FAIR = ("measurement-is-fair",)
ADVERSE = ("loss-finite-on-adverse-inputs",)
REPORTED = ("nan-reported-before-backward",)

OPERATORS = (
    Operator(
        "nan-check-dropped",
        "A loss that is not finite is not looked at.",
        REPORTED,
        _check_dropped,
        observes=True,
    ),
    Operator(
        "nan-check-after-backward",
        "The loss is looked at when its gradient is already there.",
        REPORTED,
        _check_after_backward,
        observes=True,
    ),
    Operator("clamp-dropped", "The prediction leaves the loss's domain.", ADVERSE, _clamp("{}")),
    Operator(
        "epsilon-instead-of-clamp",
        "An epsilon moves the edge of the loss's domain and does not guard it.",
        ADVERSE,
        _clamp("{} + 1e-8"),
    ),
    Operator(
        "norms-rounded-away",
        "Norms are printed with so few decimals that they are 0.",
        ("diagnosis-is-right",),
        _rounded,
        observes=True,
    ),
    Operator(
        "observation-acts",
        "What was to be observed is clipped, parameter by parameter.",
        ("training-unchanged",),
        _observation_acts,
        also=("clip-inactive-when-small", "every-parameter-learns"),
    ),
    Operator(
        "not-warmed-up",
        "The first timed part is the first that runs.",
        FAIR,
        _not_warmed_up,
        observes=True,
    ),
    Operator(
        "less-work-without-clip",
        "The part without clipping does not step either.",
        FAIR,
        _less_work,
        observes=True,
    ),
    Operator(
        "backward-twice-through-one-graph",
        "Backward is repeated on a graph that is gone.",
        FAIR,
        _one_graph,
        observes=True,
    ),
)
"""The operators on what a program says and measures."""
