"""A schedule whose rates no update has, because the program sets its own before each step.

A rate that is set only as long as something holds may end later than the run; one that is computed
from the schedule's, as a warm-up by a factor is, takes it over.
"""

import ast
import re

from harness.domain.trace import ProbeTrace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import count, number
from harness.syntax import dotted, tree_of, walk

ID = "scheduler-per-update"

TAKES_OVER = re.compile(r"\[['\"]lr['\"]\]|get_last_lr|sched")
"""How an expression shows that the schedule's rate goes into it."""


def sets_in_vain(probe: ProbeTrace) -> Verdict | None:
    """A fail when no update had a rate that a schedule set before it."""
    undone = probe.program.rates_undone
    if not undone or not _always_sets_its_own(tree_of(probe.program.source)):
        return None
    return failed(
        ID,
        f"In {probe.probe} no update had the rate that the schedule gave ({count(undone, 'time')}): "
        "the program sets group['lr'] itself before each step, from a number of its own. Do that only "
        "as long as the warm-up lasts, or multiply what the schedule gives.",
        number("rates that were set in vain", undone, probe.probe),
    )


def _always_sets_its_own(tree: ast.Module) -> bool:
    """Whether rates are set under no condition, from what the schedule has no part in."""
    stores = [
        n for n in walk(tree)
        if isinstance(n, ast.Assign) and any(_is_a_rate(target) for target in n.targets)
    ]  # fmt: skip
    guarded = {id(n) for one in walk(tree) if _may_be_left_out(one) for n in walk(one)}
    setting = {
        f.name
        for f in walk(tree)
        if isinstance(f, ast.FunctionDef) and any(store in walk(f) for store in stores)
    }
    calls = (n for n in walk(tree) if isinstance(n, ast.Call))
    called = [n for n in calls if dotted(n.func).rpartition(".")[2] in setting]
    if not stores or any(id(node) in guarded for node in [*stores, *called]):
        return False
    return not any(_takes_over(store.value, tree) for store in stores)


def _may_be_left_out(node: ast.AST) -> bool:
    if isinstance(node, ast.If):
        return "__name__" not in ast.unparse(node.test)
    return isinstance(node, ast.Try)


def _is_a_rate(target: ast.expr) -> bool:
    return isinstance(target, ast.Subscript) and ast.unparse(target.slice) == "'lr'"


def _takes_over(value: ast.expr, tree: ast.Module) -> bool:
    """Whether a value comes from the schedule, itself or by a name in it."""
    names = {n.id for n in walk(value) if isinstance(n, ast.Name)}
    behind = [
        ast.unparse(n.value)
        for n in walk(tree)
        if isinstance(n, ast.Assign)
        for t in n.targets
        if isinstance(t, ast.Name) and t.id in names
    ]
    return any(map(TAKES_OVER.search, [ast.unparse(value), *behind]))
