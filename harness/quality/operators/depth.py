"""Deep models through which gradient no longer passes."""

from collections.abc import Iterator
from typing import cast

import libcst as cst

from harness.quality.operator import Operator
from harness.quality.program import Changes, ParsedProgram, called_name, code, instead, receiver

ACTIVATIONS = ("ReLU", "GELU", "SiLU", "Tanh", "SELU", "relu", "gelu", "silu", "tanh", "selu")
NORMS = ("LayerNorm", "BatchNorm1d", "RMSNorm")
FITTING = (
    "kaiming_normal_", "kaiming_uniform_", "xavier_normal_", "xavier_uniform_", "orthogonal_",
)  # fmt: skip
"""Initialisations whose weights have the size that a deep stack needs."""


def _saturated(program: ParsedProgram) -> Iterator[Changes]:
    """A mutant in which every activation is a sigmoid; none where residual paths or normalisation would
    keep the gradient.
    """
    found = program.calls(*ACTIVATIONS)
    if found and not _is_bridged(program):
        yield {
            call: instead(code(call).replace(called_name(call), _sigmoid(call), 1))
            for call in found
        }


def _sigmoid(call: cst.Call) -> str:
    return "Sigmoid" if called_name(call)[0].isupper() else "sigmoid"


def _drawn_too_small(program: ParsedProgram) -> Iterator[Changes]:
    """A mutant whose weights have a standard deviation of 0.02; none where residual paths or
    normalisation would keep the gradient, or where weights are divided by a deviation that was
    measured, however they were drawn.
    """
    found = [call for call in program.calls(*FITTING) if call.args]
    if found and not _is_bridged(program) and not _is_rescaled(program):
        yield {
            call: instead(f"{receiver(call)}.normal_({code(call.args[0].value)}, std=0.02)")
            for call in found
        }


def _bare(program: ParsedProgram) -> Iterator[Changes]:
    """A mutant without residual paths and normalisation; none where the weights are drawn to fit
    without them.
    """
    paths = _paths(program)
    if paths and not program.calls(*FITTING):
        dropped: Changes = {
            path: lambda node: cast("cst.BinaryOperation", node).right for path in paths
        }
        norms: Changes = {call: instead("torch.nn.Identity()") for call in program.calls(*NORMS)}
        yield {**dropped, **norms}


def _is_rescaled(program: ParsedProgram) -> bool:
    divided = cast("list[cst.AugAssign]", program.all(cst.AugAssign))
    return any(
        isinstance(each.operator, cst.DivideAssign) and code(each.target).endswith("weight")
        for each in divided
    )


def _is_bridged(program: ParsedProgram) -> bool:
    """Whether the model has residual paths or normalisation, which keep the gradient whatever lies
    between.
    """
    return bool(_paths(program) or program.calls(*NORMS))


def _paths(program: ParsedProgram) -> list[cst.BinaryOperation]:
    """The additions of residual paths: ``x + self.inner(x)``."""
    sums = cast("list[cst.BinaryOperation]", program.all(cst.BinaryOperation))
    return [
        node
        for node in sums
        if isinstance(node.operator, cst.Add)
        and isinstance(node.left, cst.Name)
        and f"({node.left.value})" in code(node.right)
    ]


OPERATORS = (
    Operator(
        "activation-saturates",
        "Every activation is a sigmoid.",
        ("gradient-reaches-every-layer",),
        _saturated,
    ),
    Operator(
        "initialisation-too-small",
        "Weights are drawn with a deviation that does not fit their number.",
        ("gradient-reaches-every-layer",),
        _drawn_too_small,
    ),
    Operator(
        "paths-and-norms-dropped",
        "Nothing leads around the blocks and nothing normalises.",
        ("gradient-reaches-every-layer",),
        _bare,
    ),
)
"""The operators on deep models."""
