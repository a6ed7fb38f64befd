"""Ranks that synchronise too often, too rarely, or not the whole gradient."""

from collections.abc import Callable, Iterator
from typing import cast

import libcst as cst

from harness.quality.operator import Derive, Operator
from harness.quality.operators.accumulation import divisions
from harness.quality.program import (
    Changes,
    ParsedProgram,
    before,
    called_name,
    code,
    instead,
    receiver,
    replaced,
)


def _in_no_sync(program: ParsedProgram) -> list[cst.With]:
    return [
        w
        for w in cast("list[cst.With]", program.all(cst.With))
        if any("no_sync" in code(item.item) for item in w.items)
    ]


def _contexts(text: Callable[[str], str]) -> Derive:
    """An operator that puts another context around a micro-batch."""

    def derive(program: ParsedProgram) -> Iterator[Changes]:
        for block in _in_no_sync(program):
            for item in block.items:
                if "no_sync" in code(item.item):
                    yield {item.item: instead(text(code(item.item)))}

    return derive


def _always(program: ParsedProgram) -> Iterator[Changes]:
    for call in program.calls("no_sync"):
        for item in (n for n in program.above(call) if isinstance(n, cst.WithItem)):
            yield {item.item: instead(code(call))}


def _off_by_one(program: ParsedProgram) -> Iterator[Changes]:
    for block in _in_no_sync(program):
        counter = program.counter(block)
        for item in block.items:
            if isinstance(item.item, cst.IfExp) and counter:
                test = f"{counter} % {program.window()} == 0"
                either = f"{code(item.item.body)} if {test} else {code(item.item.orelse)}"
                yield {item.item: instead(either)}


def _backward_only(program: ParsedProgram) -> Iterator[Changes]:
    for block in _in_no_sync(program):
        if not isinstance(block.body, cst.IndentedBlock):
            continue
        inside = [s for s in block.body.body if "backward" in code(s)]
        outside = [s for s in block.body.body if "backward" not in code(s)]
        if inside and outside:
            smaller = block.with_changes(body=block.body.with_changes(body=inside))
            yield {block: replaced(cast("list[cst.BaseStatement]", [*outside, smaller]))}


def _flag_after_forward(program: ParsedProgram) -> Iterator[Changes]:
    for block in _in_no_sync(program):
        choice = next((i.item for i in block.items if isinstance(i.item, cst.IfExp)), None)
        if choice is None or not isinstance(block.body, cst.IndentedBlock):
            continue
        synchronises = "no_sync" not in code(choice.body)
        test = code(choice.test) if synchronises else f"not ({code(choice.test)})"
        owner = next(receiver(c) for c in program.calls("no_sync"))
        flag = cst.parse_statement(f"{owner}.require_backward_grad_sync = {test}")
        lines = [
            line for s in block.body.body for line in ([flag, s] if "backward" in code(s) else [s])
        ]
        yield {block: replaced(lines)}


def _wrapped(program: ParsedProgram) -> list[str]:
    """Names to which a DDP module is assigned."""
    found = []
    for node in cast("list[cst.Assign]", program.all(cst.Assign)):
        made = node.value
        if isinstance(made, cst.Call) and called_name(made) in ("DDP", "DistributedDataParallel"):
            found.append(code(node.targets[0].target))
    return found


def _bypassed(program: ParsedProgram) -> Iterator[Changes]:
    for name in _wrapped(program):
        for call in program.calls(name):
            if isinstance(call.func, cst.Name):
                yield {call.func: instead(f"{name}.module")}


def _reduced_again(operation: str) -> Derive:
    """An operator that reduces gradients by hand before the step, although DDP already did."""

    def derive(program: ParsedProgram) -> Iterator[Changes]:
        reduce = f"torch.distributed.all_reduce(p.grad, op=torch.distributed.ReduceOp.{operation})"
        for step in program.steps():
            yield {program.statement(step): before(f"for p in model.parameters():\n    {reduce}")}

    return derive


def _summed(program: ParsedProgram) -> Iterator[Changes]:
    for division in divisions(program):
        world = "torch.distributed.get_world_size()"
        yield {division: instead(f"{world} * {code(division)}")}


AGREE = ("ranks-agree",)
ROUNDS = ("single-allreduce",)

OPERATORS = (
    Operator(
        "sync-each-micro-batch",
        "Every backward synchronises.",
        ROUNDS,
        _contexts(lambda _: "__import__('contextlib').nullcontext()"),
        where="ranks",
    ),
    Operator("sync-never", "No backward synchronises.", AGREE, _always, where="ranks"),
    Operator(
        "sync-off-by-one",
        "The first micro-batch of a window synchronises instead of the last.",
        AGREE,
        _off_by_one,
        also=ROUNDS,
        where="ranks",
    ),
    Operator(
        "no-sync-around-backward-only",
        "The forward is outside of no_sync, so every backward synchronises.",
        ROUNDS,
        _backward_only,
        where="ranks",
    ),
    Operator(
        "sync-flag-after-forward",
        "The flag is set after the forward that reads it.",
        AGREE,
        _flag_after_forward,
        where="ranks",
        also=(
            "single-allreduce",
        ),  # a forward outside of no_sync, at a flag that stands in a "with"
    ),
    Operator(
        "wrapper-bypassed",
        "The forward goes to the module inside the wrapper.",
        AGREE,
        _bypassed,
        where="ranks",
    ),
    Operator(
        "reduced-twice",
        "Gradients are averaged by hand after DDP averaged them.",
        ROUNDS,
        _reduced_again("AVG"),
        where="ranks",
    ),
    Operator(
        "summed-over-ranks",
        "Gradients are a sum over ranks instead of a mean.",
        ("accumulation-equals-large-batch",),
        _summed,
        where="ranks",
    ),
)
"""The operators on ranks."""
