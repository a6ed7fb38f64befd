"""Faults in what is handed to a framework: Lightning's Trainer, transformers' and Accelerate."""

from collections.abc import Iterator
from typing import cast

import libcst as cst

from harness.quality.operator import Derive, Operator
from harness.quality.program import Changes, ParsedProgram, after, before, code, gone, instead

CLIPPING = """class _ClippingTrainer({base}):
    def training_step(self, model, *args, **kwargs):
        loss = super().training_step(model, *args, **kwargs)
        torch.nn.utils.clip_grad_norm_(model.parameters(), {threshold})
        return loss
"""
"""Source of a Trainer that clips after each micro-batch; ``{base}`` is the class that it extends."""


def _keyword(call: cst.Call, name: str) -> cst.Arg | None:
    return next((a for a in call.args if a.keyword is not None and a.keyword.value == name), None)


def _argument(called: str, name: str, value: str | None) -> Derive:
    """An operator that changes an argument of each such call, or leaves it out."""

    def derive(program: ParsedProgram) -> Iterator[Changes]:
        for call in program.calls(called):
            arg = _keyword(call, name)
            if arg is not None:
                yield (
                    {arg: gone}
                    if value is None
                    else {arg.value: instead(value.format(code(arg.value)))}
                )

    return derive


def _thresholds(prefix: str, called: str, name: str, off: str | None) -> tuple[Operator, ...]:
    """Operators on the threshold that a framework is given; ``off``: the one at which it never clips."""
    return (
        Operator(
            f"{prefix}-not-clipping",
            f"{called} is told not to clip.",
            ("clip-before-step",),
            _argument(called, name, off),
        ),
        Operator(
            f"{prefix}-threshold-too-low",
            f"The threshold of {called} is a hundredth.",
            ("clip-inactive-when-small", "clip-global-norm"),
            _argument(called, name, "{} * 0.01"),
        ),
        Operator(
            f"{prefix}-threshold-too-high",
            f"The threshold of {called} is a thousand times too high.",
            ("clip-before-step", "clip-global-norm"),
            _argument(called, name, "{} * 1000"),
        ),
    )


def _trainers(program: ParsedProgram) -> list[cst.Call]:
    """Calls that make a Trainer of transformers: ``Trainer(...)``, or a class built on it."""
    calls = cast("list[cst.Call]", program.all(cst.Call))
    made = [c for c in calls if code(c.func).endswith("Trainer")]
    return made if program.calls("TrainingArguments") else []


def _clipped_in_training_step(program: ParsedProgram) -> Iterator[Changes]:
    for call in _trainers(program):
        for arguments in program.calls("TrainingArguments"):
            clip = _keyword(arguments, "max_grad_norm")
            if clip is None or code(clip.value) == "0":
                continue
            own = CLIPPING.format(base=code(call.func), threshold=code(clip.value))
            yield {
                program.statement(call): before("import torch", own),
                call.func: instead("_ClippingTrainer"),
                clip.value: instead("0"),
            }


def _division_left_to_the_model(program: ParsedProgram) -> Iterator[Changes]:
    for node in cast("list[cst.Assign]", program.all(cst.Assign)):
        if node.value in _trainers(program):
            trainer = code(node.targets[0].target)
            yield {program.statement(node): after(f"{trainer}.loss_is_scaled_for_ga = True")}


def _clipped_ahead_of_backward(program: ParsedProgram) -> Iterator[Changes]:
    for function in cast("list[cst.FunctionDef]", program.all(cst.FunctionDef)):
        if function.name.value == "training_step" and isinstance(function.body, cst.IndentedBlock):
            clip = "torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)"
            for off in _argument("Trainer", "gradient_clip_val", None)(program):
                yield {**off, function.body.body[0]: before(clip)}


def _returned_detached(program: ParsedProgram) -> Iterator[Changes]:
    for node in cast("list[cst.Return]", program.all(cst.Return)):
        functions = [n for n in program.above(node) if isinstance(n, cst.FunctionDef)]
        if node.value is not None and functions and functions[0].name.value == "training_step":
            yield {node.value: instead(f"({code(node.value)}).detach().requires_grad_()")}


def _divides_by_itself(program: ParsedProgram) -> bool:
    names = ("gradient_accumulation_steps", "gradient_accumulation_plugin")
    return any(_keyword(c, name) for c in program.calls("Accelerator") for name in names)


def _divided_by_hand_too(program: ParsedProgram) -> Iterator[Changes]:
    for call in program.calls("backward") if _divides_by_itself(program) else ():
        if call.args:
            loss = call.args[0].value
            yield {loss: instead(f"({code(loss)}) / {program.window()}")}


def _optimizer_not_prepared(program: ParsedProgram) -> Iterator[Changes]:
    for call in program.calls("prepare") if _divides_by_itself(program) else ():
        given = [code(a.value) for a in call.args]
        if "optimizer" in given:
            alone = [g if g == "optimizer" else f"{code(call.func)}({g})" for g in given]
            yield {call: instead(f"({', '.join(alone)})" if len(alone) > 1 else alone[0])}


SUM = ("accumulation-equals-large-batch",)

OPERATORS = (
    *_thresholds("arguments", "TrainingArguments", "max_grad_norm", "0"),
    *_thresholds("trainer", "Trainer", "gradient_clip_val", None),
    Operator(
        "trainer-clips-by-value",
        "The Trainer clips element by element.",
        ("clip-global-norm",),
        _argument("Trainer", "gradient_clip_algorithm", '"value"'),
    ),
    Operator(
        "clip-in-training-step",
        "The clip stands in training_step, before backward.",
        ("clip-before-step",),
        _clipped_ahead_of_backward,
    ),
    Operator(
        "training-step-detached",
        "training_step returns a loss that is cut off from the model.",
        ("every-parameter-learns", "no-batch-lost"),
        _returned_detached,
    ),
    Operator(
        "arguments-do-not-accumulate",
        "TrainingArguments do not say that several micro-batches make an update.",
        ("one-update-per-window",),
        _argument("TrainingArguments", "gradient_accumulation_steps", None),
        where="accumulation",
    ),
    Operator(
        "clip-in-the-trainers-step",
        "A Trainer's training_step is extended by a clip: it runs for every micro-batch.",
        ("clip-once-per-update",),
        _clipped_in_training_step,
        where="accumulation",
    ),
    Operator(
        "division-left-to-the-model",
        "The Trainer is told that the loss was divided for accumulation, and nobody did.",
        SUM,
        _division_left_to_the_model,
        where="accumulation",
    ),
    Operator(
        "divided-by-hand-too",
        "The loss is divided by hand, and by the accelerator's backward.",
        SUM,
        _divided_by_hand_too,
        where="accumulation",
    ),
    Operator(
        "optimizer-not-prepared",
        "The optimizer is kept from the accelerator, so it steps and clears with every micro-batch.",
        ("one-update-per-window", "accumulation-not-wiped"),
        _optimizer_not_prepared,
        where="accumulation",
    ),
)
"""The operators on frameworks."""
