"""Faults in how loaders are made and walked through. The properties that name them are the bank's."""

from collections.abc import Iterator
from typing import cast

import libcst as cst

from harness.quality.operator import Operator
from harness.quality.program import Changes, ParsedProgram, code, instead

_LOADER = "DataLoader"


def _epoch_fixed(program: ParsedProgram) -> Iterator[Changes]:
    for call in program.calls("set_epoch"):
        for argument in call.args[:1]:
            yield {argument.value: instead("0")}


def _value_of(program: ParsedProgram, name: str) -> Iterator[cst.BaseExpression]:
    for call in program.calls(_LOADER):
        for argument in call.args:
            if argument.keyword is not None and argument.keyword.value == name:
                yield argument.value


def _no_sampler(program: ParsedProgram) -> Iterator[Changes]:
    for value in _value_of(program, "sampler"):
        yield {value: instead("None")}


def _seeded_alike(program: ParsedProgram) -> Iterator[Changes]:
    for value in _value_of(program, "worker_init_fn"):
        yield {value: instead("lambda _: __import__('numpy').random.seed(0)")}


def _cuda_in_workers(program: ParsedProgram) -> Iterator[Changes]:
    touches = "worker_init_fn=lambda _: __import__('torch').ones(1).cuda()"
    for call in program.calls(_LOADER):
        given = code(call).rstrip().removesuffix(")").rstrip().removesuffix(",")
        if "num_workers" in given and "worker_init_fn" not in given:
            yield {call: instead(f"{given}, {touches})")}


def _never_pinned(program: ParsedProgram) -> Iterator[Changes]:
    for value in _value_of(program, "pin_memory"):
        yield {value: instead("False")}


def _rows_unweighted(program: ParsedProgram) -> Iterator[Changes]:
    for product in cast("list[cst.BinaryOperation]", program.all(cst.BinaryOperation)):
        if isinstance(product.operator, cst.Multiply) and code(product.right).startswith("len("):
            yield {product: instead(code(product.left))}


OPERATORS = (
    Operator(
        "sampler-of-ranks-left-out",
        "The loader has no sampler any more: every rank goes through all rows.",
        ("each-sample-once",),
        _no_sampler,
        where="ranks",
    ),
    Operator(
        "workers-seeded-alike",
        "Every worker is given the same seed, in every epoch again.",
        ("workers-draw-apart",),
        _seeded_alike,
    ),
    Operator(
        "cuda-in-workers",
        "Workers touch CUDA when they begin.",
        ("workers-stay-on-the-cpu",),
        _cuda_in_workers,
    ),
    Operator(
        "epoch-always-zero",
        "set_epoch is told the same number in each epoch, so that orders come again.",
        ("reshuffled-every-epoch",),
        _epoch_fixed,
    ),
    Operator(
        "loader-never-pins",
        "The loader makes pageable batches, from which no copy overlaps.",
        ("copies-can-overlap",),
        _never_pinned,
    ),
    Operator(
        "batches-weigh-alike",
        "The loss of a batch is no longer multiplied by its number of rows.",
        ("validation-weighs-samples",),
        _rows_unweighted,
    ),
)
"""The operators on loaders."""
