"""Faults that need no run: what a block writes is read by nobody, or comes from nothing. Pure."""

import ast
import re
from collections.abc import Iterator, Sequence

from harness.checking.errors import lent_names, names_in
from harness.checking.evidence import Finding
from harness.checking.session import BlockInContext
from harness.sandbox.names.table import table
from harness.syntax import dotted, walk

_IN_GROUPS = frozenset({"lr", "weight_decay", "momentum", "betas", "eps"})
"""Settings that an optimizer of torch reads from its groups, and from nowhere else."""
_BROADCAST = re.compile(
    r"Using a target size \([^\n]*?\) that is different to the input size \([^)]*\)+"
)


def proven(program: BlockInContext, texts: Sequence[str]) -> Iterator[Finding]:
    """Faults of a block's own lines. ``texts``: what its run printed and what libraries warned of."""
    yield from _unread(program)
    yield from _cut_off(program)
    warned = next((found for text in texts if (found := _BROADCAST.search(text))), None)
    if warned is not None and not lent_names(program) & names_in(program.tree):
        yield Finding(
            f"torch warns of a loss over all pairs: {' '.join(warned[0].split())}. Give both the "
            "same shape."
        )


def _unread(program: BlockInContext) -> Iterator[Finding]:
    """``optimizer.lr = 1e-4``: an attribute that torch's optimizers do not have."""
    attributes = (n for n in walk(program.tree) if isinstance(n, ast.Attribute))
    read = {n.attr for n in attributes if isinstance(n.ctx, ast.Load)}
    for node in (n for n in walk(program.tree) if isinstance(n, ast.Assign)):
        for target in node.targets:
            path = dotted(target)
            name, _, setting = path.partition(".")
            optimizer = setting in _IN_GROUPS and table().role(name, "objects") == "optimizer"
            if optimizer and setting not in read and program.is_own(node.lineno):
                yield Finding(
                    f"Line {program.place(node.lineno)} sets `{path}`, which nothing reads: the "
                    f'optimizer takes it from `param_groups`: `group["{setting}"]`.'
                )


def _cut_off(program: BlockInContext) -> Iterator[Finding]:
    """``torch.tensor(loss.item(), requires_grad=True).backward()``: no model is behind it."""
    made: set[str] = set()
    for node in walk(program.tree):
        if isinstance(node, ast.Assign) and _is_of_numbers(node.value):
            made |= {t.id for t in node.targets if isinstance(t, ast.Name)}
    for root in (_asked(node, "backward") for node in walk(program.tree)):
        if root is not None and (dotted(root) in made or _is_of_numbers(root)):
            yield Finding(
                f"Line {program.place(root.lineno)} goes back from a new tensor of a number: no "
                "gradient reaches what the number was computed from."
            )


def _is_of_numbers(node: ast.expr) -> bool:
    """``torch.tensor(a.item() + b.item(), ...)``."""
    return (
        isinstance(node, ast.Call)
        and dotted(node.func) in ("torch.tensor", "torch.as_tensor")
        and any(_asked(n, "item") is not None for n in walk(node))
    )


def _asked(node: ast.AST, method: str) -> ast.expr | None:
    """What a method of that name is called of."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.value if node.func.attr == method else None
    return None
