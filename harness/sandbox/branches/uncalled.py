"""Functions that a loop of a program defines in every turn, and that nothing ever refers to."""

import ast
from collections.abc import Iterator

from harness.domain.branch import Unentered
from harness.sandbox.branches.marks import Marked
from harness.sandbox.branches.sources import Definition, Loop, Sources
from harness.sandbox.branches.touching import Touching

TRAINS = frozenset({"backward", "manual_backward", "step"})
"""What a function has to call to belong to a turn of training."""

MOST = 3
"""Most names that are told of one function."""


def not_entered(marked: Marked) -> list[ast.FunctionDef | ast.AsyncFunctionDef]:
    """Functions right in the body of a loop that ran, none of whose turns entered them."""
    entered = marked.seen.entered
    return [
        statement
        for branch in marked.branches
        if isinstance(branch.owner, Loop) and branch.mark in entered
        for statement in branch.body
        if isinstance(statement, Definition) and marked.functions[statement] not in entered
    ]


def uncalled(marked: Marked, sources: Sources, touching: Touching) -> Iterator[Unentered]:
    """Those of them that go backward or step, and whose name is read nowhere: nobody else can call
    what each turn defines anew.
    """
    read = {n.id for n in sources.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    for function in not_entered(marked):
        names = touching.of(function.body).names
        trains = [name for name in names if name in TRAINS]
        if trains and function.name not in read and not function.decorator_list:
            others = [name for name in names if name not in TRAINS]
            yield Unentered(
                first=function.lineno,
                last=function.end_lineno or function.lineno,
                touches=tuple([*trains, *others][:MOST]),
                uncalled=True,
            )
