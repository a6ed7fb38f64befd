"""A GradScaler whose protocol is broken."""

from collections.abc import Callable, Iterator

import libcst as cst

from harness.quality.operator import Derive, Operator
from harness.quality.program import (
    Changes,
    ParsedProgram,
    ProgramChange,
    after,
    before,
    code,
    instead,
    receiver,
)


def _unscales(program: ParsedProgram) -> list[cst.Call]:
    return program.calls("unscale_")


def _updates(program: ParsedProgram) -> list[cst.Call]:
    return [c for c in program.calls("update") if "scaler" in receiver(c).lower()]


Find = Callable[[ParsedProgram], list[cst.Call]]


def _dropped(find: Find) -> Derive:
    """An operator that leaves each of these calls out."""

    def derive(program: ParsedProgram) -> Iterator[Changes]:
        for call in find(program):
            if changes := program.without(call):
                yield changes

    return derive


def _moved(find: Find, places: Find, side: Callable[..., ProgramChange]) -> Derive:
    """An operator that makes each of these calls at another place."""

    def derive(program: ParsedProgram) -> Iterator[Changes]:
        for call in find(program):
            for place in places(program):
                drop = program.without(call)
                if drop and program.together(call, place):
                    yield {**drop, program.statement(place): side(code(call))}

    return derive


def _unscale_twice(program: ParsedProgram) -> Iterator[Changes]:
    for call in _unscales(program):
        yield {program.statement(call): after(code(call))}


def _unscale_by_hand_too(program: ParsedProgram) -> Iterator[Changes]:
    for call in _unscales(program):
        divide = f"p.grad.div_({receiver(call)}.get_scale())"
        yield {program.statement(call): after(f"for p in model.parameters():\n    {divide}")}


def _step_past_the_scaler(program: ParsedProgram) -> Iterator[Changes]:
    for step in program.scaler_steps():
        yield {step: instead(f"{code(step.args[0].value)}.step()")}


def _scaled_step(program: ParsedProgram) -> Iterator[Changes]:
    for step in program.scaler_steps():
        if drops := program.without(*_unscales(program)):
            yield {**drops, step: instead(f"{code(step.args[0].value)}.step()")}


def _update_each_micro_batch(program: ParsedProgram) -> Iterator[Changes]:
    for call in _updates(program):
        for backward in program.backwards():
            yield {program.statement(backward): after(code(call))}


def _unscale_and_update_each_micro_batch(program: ParsedProgram) -> Iterator[Changes]:
    for call in _unscales(program):
        for update in _updates(program):
            for backward in program.backwards():
                then = after(code(call), code(update))
                yield {**program.without(call), program.statement(backward): then}


def _scale_dropped(program: ParsedProgram) -> Iterator[Changes]:
    for call in program.calls("scale"):
        if call.args:
            yield {call: instead(code(call.args[0].value))}


PROTOCOL = ("scaler-protocol",)
UNSCALED = ("unscaled-norm",)

OPERATORS = (
    Operator(
        "unscale-dropped",
        "Gradients are clipped times the loss scale.",
        UNSCALED,
        _dropped(_unscales),
        also=("scaler-protocol",),  # where the step goes past the scaler, nothing else unscales
    ),
    Operator(
        "unscale-after-clip",
        "Gradients are unscaled after their norm was taken.",
        UNSCALED,
        _moved(_unscales, ParsedProgram.clips, after),
    ),
    Operator(
        "unscale-each-micro-batch",
        "Gradients are unscaled after each micro-batch.",
        PROTOCOL,
        _moved(_unscales, ParsedProgram.backwards, after),
        where="accumulation",
    ),
    Operator("unscale-twice", "Gradients are unscaled twice.", PROTOCOL, _unscale_twice),
    Operator(
        "unscale-by-hand-too",
        "Gradients are divided by the scale by hand as well.",
        UNSCALED,
        _unscale_by_hand_too,
    ),
    Operator(
        "step-past-the-scaler",
        "The optimizer steps itself, so an overflow is not skipped.",
        ("scaler-protocol", "inf-steps-skipped"),
        _step_past_the_scaler,
    ),
    Operator(
        "step-with-scaled-gradients",
        "The optimizer consumes gradients times the loss scale.",
        PROTOCOL,
        _scaled_step,
    ),
    Operator("scaler-update-dropped", "The scaler is never updated.", PROTOCOL, _dropped(_updates)),
    Operator(
        "scaler-update-each-micro-batch",
        "The scale may change inside a window.",
        PROTOCOL,
        _update_each_micro_batch,
        where="accumulation",
    ),
    Operator(
        "scaler-update-before-step",
        "The scale moves between backward and step.",
        PROTOCOL,
        _moved(_updates, ParsedProgram.scaler_steps, before),
    ),
    Operator(
        "unscale-and-update-each-micro-batch",
        "Unscaled and scaled gradients are added up.",
        PROTOCOL,
        _unscale_and_update_each_micro_batch,
        where="accumulation",
    ),
    Operator(
        "scale-dropped", "The loss is not scaled, but the scaler steps.", PROTOCOL, _scale_dropped
    ),
)
"""The operators on a GradScaler."""
