"""Rates that are plainly not those that were meant: a function for ``LambdaLR`` that returns the rate
itself, groups that lose their own rates, a plateau that waits for the wrong side.
"""

import ast
import re
from collections.abc import Iterator

from harness.domain.trace import ProbeTrace
from harness.domain.verdict import Verdict, failed
from harness.properties.evidence.figures import number, show
from harness.syntax import tree_of, walk

ID = "scheduler-per-update"

WORDS = re.compile(r"[a-z0-9]+")

GROWS = frozenset({
    "acc", "accuracy", "auc", "auroc", "auprc", "f1", "iou", "miou", "dice", "bleu", "psnr", "ssim",
    "r2", "recall", "precision", "ndcg", "mrr", "kappa",
})  # fmt: skip
SHRINKS = frozenset({"loss", "losses", "mse", "mae", "rmse", "perplexity", "ppl", "wer", "cer"})
"""Words in the name of a metric that is the better the larger, and the smaller, it is."""


def mistaken(probe: ProbeTrace) -> Verdict | None:
    """A fail for any of them."""
    return as_factor(probe) or made_equal(probe) or awaits_the_worse(probe)


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


def made_equal(probe: ProbeTrace) -> Verdict | None:
    """A fail when groups with rates of their own always stepped with one."""
    rates = probe.program.rates_made_equal
    if not rates or not probe.updates:
        return None
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
        words = set(WORDS.findall(metric.lower()))
        mode = modes.get(name)
        if mode == "min" and words & GROWS and not words & SHRINKS:
            return _failed(probe, metric, "max", "min")
        if mode == "max" and words & SHRINKS and not words & GROWS:
            return _failed(probe, metric, "min", "max")
    return None


def _failed(probe: ProbeTrace, metric: str, meant: str, mode: str) -> Verdict:
    better = "grows" if meant == "max" else "falls"
    return failed(
        ID,
        f"In {probe.probe} ReduceLROnPlateau is told {metric}, which {better} while training goes well, "
        f'and its mode is "{mode}": it counts bad epochs then, and lowers the rate. Give it '
        f'mode="{meant}".',
        number("updates", len(probe.updates), probe.probe),
    )


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
