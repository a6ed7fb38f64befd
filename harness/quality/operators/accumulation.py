"""Windows with the wrong divisor, the wrong size, or gradients cleared at the wrong time."""

from collections.abc import Callable, Iterator
from typing import cast

import libcst as cst

from harness.quality.operator import Derive, Operator
from harness.quality.program import Changes, ParsedProgram, after, before, code, instead, receiver


def divisions(program: ParsedProgram) -> list[cst.BinaryOperation]:
    """Divisions of a loss on its way to backward."""
    lines = {program.statement(b) for b in program.backwards()}
    text = " ".join(code(line) for line in lines)
    for node in cast("list[cst.Assign]", program.all(cst.Assign)):
        target = node.targets[0].target
        if isinstance(target, cst.Name) and target.value in text:
            lines.add(program.statement(node))
    found = cast("list[cst.BinaryOperation]", program.all(cst.BinaryOperation))
    return [
        d
        for d in found
        if isinstance(d.operator, cst.Divide)
        and program.statement(d) in lines
        and any(isinstance(n, cst.Call) for n in _parts(d.left))
        and not _argument(program, d)
    ]


def _parts(node: cst.CSTNode) -> list[cst.CSTNode]:
    return [node, *(p for child in node.children for p in _parts(child))]


def _argument(program: ParsedProgram, node: cst.CSTNode) -> bool:
    """Whether a node stands in the arguments of a call other than ``backward`` and ``scale``."""
    calls = [n for n in program.above(node) if isinstance(n, cst.Call)]
    inside = [c for c in calls if any(node in _parts(a) for a in c.args)]
    return any("scale" not in code(c.func) and "backward" not in code(c.func) for c in inside)


def _divided(text: Callable[[str, str], str]) -> Derive:
    """An operator that replaces each division of the loss by an expression of its two sides."""

    def derive(program: ParsedProgram) -> Iterator[Changes]:
        for division in divisions(program):
            yield {division: instead(text(code(division.left), code(division.right)))}

    return derive


def _by_position(program: ParsedProgram) -> Iterator[Changes]:
    for division in divisions(program):
        counted = f"(_counted.append(None) or (len(_counted) - 1) % {program.window()} + 1)"
        yield {
            division: instead(f"{code(division.left)} / {counted}"),
            program.first: before("_counted = []"),
        }


def _gradients_divided_too(program: ParsedProgram) -> Iterator[Changes]:
    for division in divisions(program)[:1]:
        divide = f"for p in model.parameters():\n    p.grad.div_({code(division.right)})"
        for step in program.steps():
            yield {program.statement(step): before(divide)}


def _decided_by(full: str, open_: str) -> Derive:
    """An operator that replaces the condition for a full window: ``{i}`` is the batch counter, ``{n}``
    the window size.
    """

    def derive(program: ParsedProgram) -> Iterator[Changes]:
        for condition, means_full in program.conditions():
            given = {"i": program.counter(condition), "n": program.window()}
            if given["i"] is not None or "{i}" not in full:
                yield {condition: instead((full if means_full else open_).format(**given))}

    return derive


def _clear(program: ParsedProgram) -> str:
    found = program.clearings()
    return f"{receiver(found[0])}.zero_grad()" if found else "optimizer.zero_grad()"


def _never_cleared(program: ParsedProgram) -> Iterator[Changes]:
    if not program.calls("unscale_"):
        yield from _without_clearing(program)


def _never_cleared_scaled(program: ParsedProgram) -> Iterator[Changes]:
    if program.calls("unscale_"):
        yield from _without_clearing(program)


def _without_clearing(program: ParsedProgram) -> Iterator[Changes]:
    if drops := program.without(*program.clearings()):
        yield drops


def _cleared_each_micro_batch(program: ParsedProgram) -> Iterator[Changes]:
    for backward in program.backwards():
        yield {program.statement(backward): before(_clear(program))}


def _cleared_inside(program: ParsedProgram) -> Iterator[Changes]:
    for backward in program.backwards():
        clear = f"if len(_seen) % {program.window()} == 1:\n    {_clear(program)}"
        yield {
            program.statement(backward): after("_seen.append(None)", clear),
            program.first: before("_seen = []"),
        }


def _cleared_before_step(program: ParsedProgram) -> Iterator[Changes]:
    for step in program.steps():
        yield {program.statement(step): before(_clear(program))}


def _running_sum(program: ParsedProgram) -> Iterator[Changes]:
    for backward in program.backwards():
        if not isinstance(backward.func, cst.Attribute) or backward.args:
            continue
        for step in program.steps():
            yield {
                program.statement(backward): before(f"_losses.append({receiver(backward)})"),
                backward: instead("sum(_losses).backward(retain_graph=True)"),
                program.statement(step): after("_losses.clear()"),
                program.first: before("_losses = []"),
            }


def _schedule_ahead_of_all(program: ParsedProgram) -> Iterator[Changes]:
    for loop in program.loaders()[:1]:
        yield {program.outermost(loop): before("scheduler.step()")}


def _schedule_each_micro_batch(program: ParsedProgram) -> Iterator[Changes]:
    for backward in program.backwards():
        yield {program.statement(backward): after("scheduler.step()")}


def _padding_counted(program: ParsedProgram) -> Iterator[Changes]:
    for call in program.calls("sum"):
        if receiver(call) in ("m", "mask"):
            yield {call: instead(f"{receiver(call)}.numel()")}


SUM = ("accumulation-equals-large-batch",)
WINDOW = ("one-update-per-window",)
WIPED = ("accumulation-not-wiped",)
TOO_SOON = ("ranks-agree",)
"""What names a step that comes before the micro-batch which synchronises, by a count of its own."""

OPERATORS = (
    Operator(
        "division-dropped",
        "The loss is not divided: the sum of the window's means.",
        SUM,
        _divided(lambda left, _: left),
        where="accumulation",
    ),
    Operator(
        "division-doubled",
        "The loss is divided twice.",
        SUM,
        _divided(lambda left, right: f"{left} / ({right}) / ({right})"),
        where="accumulation",
    ),
    Operator(
        "divisor-off-by-one",
        "The divisor is one more than the window holds.",
        SUM,
        _divided(lambda left, right: f"{left} / (({right}) + 1)"),
        where="accumulation",
    ),
    Operator(
        "divisor-grows-with-position",
        "The running count is the divisor, so early micro-batches weigh more.",
        SUM,
        _by_position,
        where="accumulation",
    ),
    Operator(
        "gradients-divided-too",
        "The gradients are divided by the window as well as the loss.",
        SUM,
        _gradients_divided_too,
        where="accumulation",
    ),
    Operator(
        "padding-counted",
        "Rows of padding count in the divisor.",
        SUM,
        _padding_counted,
        where="accumulation",
    ),
    Operator(
        "running-sum-backward",
        "Backward runs on the sum so far: early micro-batches count several times.",
        SUM,
        _running_sum,
        also=("one-update-per-window",),  # where the model is the program's own
        where="accumulation",
    ),
    Operator(
        "step-each-micro-batch",
        "The optimizer steps after every micro-batch.",
        WINDOW,
        _decided_by("True", "False"),
        also=TOO_SOON,
        where="accumulation",
    ),
    Operator(
        "window-off-by-one",
        "The first window holds a single micro-batch.",
        WINDOW,
        _decided_by("{i} % {n} == 0", "{i} % {n} != 0"),
        also=TOO_SOON,
        where="accumulation",
    ),
    Operator(
        "tail-dropped",
        "The short last window is never stepped.",
        ("no-batch-lost",),
        _decided_by("({i} + 1) % {n} == 0", "({i} + 1) % {n} != 0"),
        where="accumulation",
    ),
    Operator(
        "zero-grad-dropped",
        "Gradients are never cleared.",
        ("gradients-start-fresh", "training-unchanged"),
        _never_cleared,
        also=("still-learns", "inf-steps-skipped"),  # unscaled in another way, as below
    ),
    Operator(
        "zero-grad-dropped-under-a-scaler",
        "Gradients are never cleared: unscaled ones add little, but an overflow stays for ever.",
        ("inf-steps-skipped",),
        _never_cleared_scaled,
    ),
    Operator(
        "zero-grad-each-micro-batch",
        "Gradients are cleared before each micro-batch.",
        WIPED,
        _cleared_each_micro_batch,
        where="accumulation",
    ),
    Operator(
        "zero-grad-inside-window",
        "Gradients are cleared in the middle of a window.",
        WIPED,
        _cleared_inside,
        also=("scaler-protocol",),  # a scaler says so itself: no gradient, nothing to check
        where="accumulation",
    ),
    Operator(
        "zero-grad-before-step",
        "Gradients are cleared between backward and step.",
        ("accumulation-not-wiped", "every-parameter-learns", "still-learns", "training-unchanged"),
        _cleared_before_step,
        also=("no-batch-lost", "scaler-protocol"),
    ),
    Operator(
        "schedule-ahead-of-all",
        "The schedule moves before the first update.",
        ("scheduler-per-update",),
        _schedule_ahead_of_all,
    ),
    Operator(
        "schedule-each-micro-batch",
        "The learning rate moves once a micro-batch.",
        ("scheduler-per-update",),
        _schedule_each_micro_batch,
        where="accumulation",
    ),
)
"""The operators on windows."""
