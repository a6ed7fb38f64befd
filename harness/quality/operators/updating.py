"""Updates from the wrong gradient, of the wrong parameters, or none at all."""

from collections.abc import Iterator
from typing import cast

import libcst as cst

from harness.quality.operator import Derive, Operator
from harness.quality.program import Changes, ParsedProgram, after, before, code, instead, receiver


def _ahead(*texts: str) -> Derive:
    """An operator that puts statements before the first loop over the data: ``{o}`` stands for the
    optimizer.
    """

    def derive(program: ParsedProgram) -> Iterator[Changes]:
        for loop in program.loaders()[:1]:
            called = (text.replace("{o}", program.optimizer()) for text in texts)
            yield {program.outermost(loop): before(*called)}

    return derive


def _first_frozen(program: ParsedProgram) -> Iterator[Changes]:
    """Of the given model: a layer of one's own that rests cannot be told from one that is not used."""
    names = [cast("cst.Name", node).value for node in program.all(cst.Name)]
    made = [cast("cst.Assign", node).targets[0].target for node in program.all(cst.Assign)]
    if "model" in names and "model" not in map(code, made):
        yield from _ahead("next(iter(model.parameters())).requires_grad_(False)")(program)


def _loss(text: str) -> Derive:
    """An operator that replaces the loss of each backward: ``{}`` stands for the program's own."""

    def derive(program: ParsedProgram) -> Iterator[Changes]:
        for backward in program.backwards():
            loss = receiver(backward)
            if loss and not backward.args:
                yield {backward: instead(f"({text.replace('{}', loss)}).backward()")}

    return derive


def _backward_twice(program: ParsedProgram) -> Iterator[Changes]:
    for backward in program.backwards():
        loss = receiver(backward)
        if loss and not backward.args:
            first = f"_loss = {loss}"
            yield {
                program.statement(backward): before(first, "_loss.backward(retain_graph=True)"),
                backward: instead("_loss.backward()"),
            }


def _step_twice(program: ParsedProgram) -> Iterator[Changes]:
    for step in program.steps():
        if not step.args or step in program.scaler_steps():  # a closure makes a new gradient
            yield {program.statement(step): after(code(step))}


def _rate_zero(program: ParsedProgram) -> Iterator[Changes]:
    """Before the first loop over the data; before every step where a schedule would give it back."""
    zero = f"for group in {program.optimizer()}.param_groups:\n    group['lr'] = 0.0"
    if len(program.calls("step")) == len(program.steps()):
        yield from _ahead(zero)(program)
        return
    steps = [program.statement(step) for step in program.steps()]
    if steps:
        yield {step: before(zero) for step in steps}


def _step_dropped(program: ParsedProgram) -> Iterator[Changes]:
    for step in program.steps():
        if changes := program.without(step):
            yield changes


def _step_before_backward(program: ParsedProgram) -> Iterator[Changes]:
    for step in program.steps():
        for backward in program.backwards():
            drop = program.without(step)
            if drop and program.together(step, backward):
                yield {**drop, program.statement(backward): before(code(step))}


def _batch_skipped(program: ParsedProgram) -> Iterator[Changes]:
    for loop in program.loaders():
        if code(loop.iter).startswith("range("):
            continue  # a turn that is left out draws no batch: the next one draws it
        if isinstance(loop.body, cst.IndentedBlock) and program.trains(loop):
            yield {
                loop: before("_seen = []"),
                loop.body.body[0]: before(
                    "_seen.append(None)", "if len(_seen) == 2:\n    continue"
                ),
            }


GONE = (
    "every-parameter-learns",
    "still-learns",
    "training-unchanged",
    "no-batch-lost",
)
ADVERSE = ("loss-finite-on-adverse-inputs", "inf-steps-skipped")
SAYS_SO = ("scaler-protocol",)
"""The property that may notice it as well: without a gradient a scaler raises by itself."""

OPERATORS = (
    Operator(
        "loss-detached",
        "The loss is cut off from the model.",
        GONE,
        _loss("({}).detach().requires_grad_()"),
        # of several backwards in a window one is cut: smaller windows, or ranks that none synchronises
        also=(*SAYS_SO, "one-update-per-window", "ranks-agree"),
    ),
    Operator(
        "loss-divided-by-four",
        "A quarter of the loss, although every batch is an update.",
        ("loss-as-given",),
        _loss("({}) / 4"),
        also=("training-unchanged",),
        where="no-accumulation",
    ),
    Operator(
        "backward-twice",
        "Each gradient is added twice.",
        (
            "accumulation-equals-large-batch",
            "training-unchanged",
        ),
        _backward_twice,
        # DDP synchronises the first one only; a hook on the parameters reduces in each
        also=(
            "clip-inactive-when-small",
            "ranks-agree",
            "gradients-start-fresh",
            "single-allreduce",
        ),
        where="known-loss",
    ),
    Operator(
        "step-twice",
        "Each gradient is consumed twice.",
        ("one-update-per-window", "scaler-protocol", "gradients-start-fresh", "training-unchanged"),
        _step_twice,
    ),
    Operator(
        "step-dropped",
        "The optimizer never steps.",
        ("every-parameter-learns",),
        _step_dropped,
        where="training",
        also=(*SAYS_SO, "each-sample-once"),
    ),
    Operator(
        "step-before-backward",
        "The optimizer steps before the gradient is there.",
        (*GONE, "gradients-start-fresh"),
        _step_before_backward,
        # it comes before the clip as well: of two networks, or of two losses, one has its gradient then
        also=(*SAYS_SO, "clip-before-step"),
        where="no-accumulation",
    ),
    Operator(
        "batch-skipped",
        "The second batch of each pass is left out.",
        ("no-batch-lost", "training-unchanged"),
        _batch_skipped,
        also=(
            "one-update-per-window",
            "accumulation-equals-large-batch",
            *("each-sample-once", "validation-weighs-samples"),  # the bank's own, of loaders
        ),
    ),
    Operator(
        "parameter-frozen",
        "The first layer is frozen and learns nothing.",
        ("every-parameter-learns",),
        _first_frozen,
    ),
    Operator(
        "optimizer-of-copies",
        "The optimizer holds copies of the parameters.",
        GONE,
        _ahead(
            "{o} = torch.optim.SGD([p.detach().clone().requires_grad_() "
            "for p in model.parameters()], lr=0.05)"
        ),
        also=SAYS_SO,
    ),
    Operator(
        "loss-not-finite",
        "The loss is divided by zero.",
        ("finite-loss",),
        _loss("({}) / (({}).detach() * 0.0)"),
        also=(*ADVERSE, *SAYS_SO, "training-unchanged", "still-learns"),
    ),
    Operator(
        "learning-rate-runs-away",
        "The learning rate is infinite.",
        ("params-stay-finite",),
        _ahead("for group in {o}.param_groups:\n    group['lr'] = float('inf')"),
        also=("finite-loss", "still-learns", "training-unchanged"),
    ),
    Operator(
        "learning-rate-zero",
        "The learning rate is zero.",
        ("every-parameter-learns", "still-learns", "training-unchanged"),
        _rate_zero,
        also=("first-update-not-lost",),
    ),
)
"""The operators on updates."""
