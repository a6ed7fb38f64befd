"""What a statement can be recognised by: the calls that make an update, and the names that it sets."""

import ast
from collections import Counter
from collections.abc import Iterator

UPDATE = frozenset({
    "backward", "step", "zero_grad", "clip", "unscale_", "update", "scheduler", "all_reduce",
})  # fmt: skip
"""Anchors of what is done in every update. Where one gets lost or doubled, the place was misread."""

_CALLS = {
    "manual_backward": "backward", "clip_gradients": "clip", "clip_grad_norm": "clip",
    "clip_grad_norm_": "clip", "clip_grad_value_": "clip", "clip_grads_with_norm_": "clip",
}  # fmt: skip
_Simple = ast.Expr | ast.Assign | ast.AnnAssign | ast.AugAssign


def anchors(node: ast.stmt) -> Counter[str]:
    """How often each anchor stands in a statement, those of its body included."""
    found: Counter[str] = Counter()
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        found[f"def {node.name}"] += 1
        return found
    for part in ast.walk(node):
        if isinstance(part, ast.Call):
            name = _called(part)
            if name in UPDATE:
                found[name] += 1
        elif isinstance(part, ast.Assign | ast.AnnAssign | ast.AugAssign):
            found.update(f"{name} =" for name in _targets(part))
    return found


def is_simple(node: ast.stmt) -> bool:
    """Whether it holds no other statement."""
    return not isinstance(
        node,
        ast.For | ast.AsyncFor | ast.While | ast.If | ast.With | ast.AsyncWith | ast.Try
        | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Match,
    )  # fmt: skip


def _called(call: ast.Call) -> str:
    """The anchor of a call: its last name, and whether it is a scheduler that steps."""
    function = call.func
    if isinstance(function, ast.Name):
        return _CALLS.get(function.id, function.id)
    if not isinstance(function, ast.Attribute):
        return ""
    if function.attr == "step" and "sched" in ast.unparse(function.value).lower():
        return "scheduler"
    return _CALLS.get(function.attr, function.attr)


def _targets(node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> Iterator[str]:
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    for target in targets:
        for part in target.elts if isinstance(target, ast.Tuple | ast.List) else [target]:
            yield ast.unparse(part)
