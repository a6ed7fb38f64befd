"""Rates that are plainly not those that were meant: a function for ``LambdaLR`` that returns the rate
itself, groups that lose their own rates, a plateau that waits for the wrong side.
"""

import ast
import re
from collections.abc import Iterator

from harness.domain.trace import ProbeTrace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import number, show
from harness.properties.schedule.set_in_vain import sets_in_vain
from harness.syntax import tree_of, walk

ID = "scheduler-per-update"

WORDS = re.compile(r"[a-z0-9]+")

GREATER, LESS = ast.Gt | ast.GtE, ast.Lt | ast.LtE

GROWS = frozenset({
    "acc", "accuracy", "auc", "auroc", "auprc", "f1", "iou", "miou", "dice", "bleu", "psnr", "ssim",
    "r2", "recall", "precision", "ndcg", "mrr", "kappa",
})  # fmt: skip
SHRINKS = frozenset({"loss", "losses", "mse", "mae", "rmse", "perplexity", "ppl", "wer", "cer"})
"""Words in the name of a metric that is the better the larger, and the smaller, it is."""


def mistaken(probe: ProbeTrace) -> Verdict | None:
    """A fail for any of them."""
    return as_factor(probe) or made_equal(probe) or sets_in_vain(probe) or awaits_the_worse(probe)


def as_factor(probe: ProbeTrace) -> Verdict | None:
    """A fail when the highest factor of a ``LambdaLR`` is the rate that it is multiplied with."""
    rate = probe.program.rate_as_factor
    if rate is None or not probe.updates:
        return None
    return failed(
        ID,
        f"In {probe.probe} the function of LambdaLR returns at most {show(rate)}, which is the learning "
        f"rate itself: LambdaLR multiplies that with it, so that the highest rate is {show(rate**2)}. "
        "Return a factor of at most 1, or give the optimizer a rate of 1.",
        number("highest factor", rate, probe.probe),
        number("highest learning rate", rate**2, probe.probe),
    )


def loses_rates(probe: ProbeTrace) -> bool:
    """Whether groups with rates of their own always stepped with one, which is set in one place: behind
    a warm-up another place may give each its own.
    """
    known = probe.program.rates_made_equal and probe.updates
    return bool(known) and _set_in(tree_of(probe.program.source)) == 1


def made_equal(probe: ProbeTrace) -> Verdict | None:
    """A fail when groups with rates of their own stepped with one."""
    if not loses_rates(probe):
        return None
    rates = probe.program.rates_made_equal
    return failed(
        ID,
        f"In {probe.probe} groups were made with learning rates of {show(min(rates))} to "
        f"{show(max(rates))}, and all of them stepped with one and the same: what sets group['lr'] "
        "takes no notice of the group's own. Keep that as group['initial_lr'], and multiply it.",
        number("lowest rate of a group", min(rates), probe.probe),
        number("highest rate of a group", max(rates), probe.probe),
    )


def awaits_the_worse(probe: ProbeTrace) -> Verdict | None:
    """A fail when a plateau is told an accuracy and waits for it to fall, or a loss and waits for it to
    grow, as the names say.
    """
    if not probe.updates or "ReduceLROnPlateau" not in probe.program.source:
        return None
    tree = tree_of(probe.program.source)
    modes = dict(_plateaus(tree))
    for name, metric in _told(tree):
        meant, mode = _better(metric, tree), modes.get(name)
        if meant is not None and mode is not None and meant != mode:
            return _failed(probe, metric, meant, mode)
    return None


def _set_in(tree: ast.AST) -> int:
    """How many statements set the rate of a group."""
    targets = (t for n in walk(tree) if isinstance(n, ast.Assign) for t in n.targets)
    return sum(isinstance(t, ast.Subscript) and ast.unparse(t.slice) == "'lr'" for t in targets)


def _failed(probe: ProbeTrace, metric: str, meant: str, mode: str) -> Verdict:
    better = "grows" if meant == "max" else "falls"
    return failed(
        ID,
        f"In {probe.probe} ReduceLROnPlateau is told {metric}, which {better} while training goes well, "
        f'and its mode is "{mode}": it counts bad epochs then, and lowers the rate. Give it '
        f'mode="{meant}".',
        number("updates", len(probe.updates), probe.probe),
    )


def _better(metric: str, tree: ast.AST) -> str | None:
    """On which side a metric is better: as the program keeps its best, or as its name says."""
    kept = {side for node in walk(tree) if (side := _keeps(node, metric)) is not None}
    words = set(WORDS.findall(metric.lower()))
    told = {"max": words & GROWS, "min": words & SHRINKS}
    sides = kept or {side for side, found in told.items() if found}
    return sides.pop() if len(sides) == 1 else None


def _keeps(node: ast.AST, metric: str) -> str | None:
    """Which side of a metric a statement keeps as the best: ``best = max(best, metric)``, or
    ``if metric > best: best = metric``.
    """
    match node:
        case ast.Assign(
            targets=[best], value=ast.Call(func=ast.Name(id="max" | "min" as side), args=args)
        ):
            return side if {*map(ast.unparse, args)} == {ast.unparse(best), metric} else None
        case ast.If(test=ast.Compare(left=left, ops=[op], comparators=[right])):
            one, other = ast.unparse(left), ast.unparse(right)
            kept_in = other if one == metric else one
            kept = (f"{kept_in} = {metric}" in ast.unparse(s).splitlines() for s in node.body)
            if metric in (one, other) and any(kept) and isinstance(op, GREATER | LESS):
                return "max" if isinstance(op, GREATER) is (one == metric) else "min"
    return None


def _plateaus(tree: ast.AST) -> Iterator[tuple[str, str | None]]:
    """What a plateau is assigned to, as it is written, and its mode where that is written down; ``None``
    where several modes are.
    """
    found: dict[str, str | None] = {}
    for node in walk(tree):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call):
            call = node.value
            if ast.unparse(call.func).rpartition(".")[2] != "ReduceLROnPlateau":
                continue
            given = [k.value for k in call.keywords if k.arg == "mode"] or call.args[1:2]
            mode = given[0].value if given and isinstance(given[0], ast.Constant) else None
            mode = "min" if not given and not any(k.arg is None for k in call.keywords) else mode
            for target in node.targets:
                name = ast.unparse(target)
                found[name] = mode if found.get(name, mode) == mode else None  # type: ignore[assignment]  # a mode is a text, or torch refuses it
    yield from found.items()


def _told(tree: ast.AST) -> Iterator[tuple[str, str]]:
    """What is stepped with a plain name, attribute or entry, and that as it is written."""
    for node in walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            given = [*node.args, *(k.value for k in node.keywords)]
            one = given[0] if node.func.attr == "step" and len(given) == 1 else None
            if isinstance(one, ast.Name | ast.Attribute | ast.Subscript):
                yield ast.unparse(node.func.value), ast.unparse(one)
