"""What a statement can be recognised by: the calls that make an update, and the names that it sets."""

import ast
from collections import Counter
from collections.abc import Iterator

from harness.syntax import walk

UPDATE = frozenset({
    "backward", "step", "zero_grad", "clip", "unscale_", "update", "scheduler", "all_reduce",
})  # fmt: skip
"""Anchors that occur in every update. If putting a snippet into the loop loses or doubles one of
them, its place was misread.
"""

_CALLS = {
    "manual_backward": "backward", "clip_gradients": "clip", "clip_grad_norm": "clip",
    "clip_grad_norm_": "clip", "clip_grad_value_": "clip", "clip_grads_with_norm_": "clip",
}  # fmt: skip


def anchors(node: ast.stmt) -> Counter[str]:
    """How many times each anchor occurs in a statement, its body included."""
    found: Counter[str] = Counter()
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        found[f"def {node.name}"] += 1
        return found
    for part in walk(node):
        if isinstance(part, ast.Call):
            name = _called(part)
            if name in UPDATE:
                found[name] += 1
        elif isinstance(part, ast.Assign | ast.AnnAssign | ast.AugAssign):
            found.update(f"{name} =" for name in _targets(part))
    return found


def subjects(node: ast.stmt) -> dict[str, set[str]]:
    """The object of each call of an update, by anchor: ``loss_d`` in ``loss_d.backward()``.

    Where a loop trains several networks, this tells their calls apart.
    """
    found: dict[str, set[str]] = {}
    for part in walk(node):
        if not isinstance(part, ast.Call) or (name := _called(part)) not in UPDATE:
            continue
        if isinstance(part.func, ast.Attribute) and name != "clip":
            found.setdefault(name, set()).add(ast.unparse(part.func.value))
        elif part.args:
            found.setdefault(name, set()).add(ast.unparse(part.args[0]))
    return found


def subjects_of(nodes: list[ast.stmt]) -> dict[str, set[str]]:
    """The objects of the calls of an update, by anchor."""
    found: dict[str, set[str]] = {}
    for node in nodes:
        for anchor, names in subjects(node).items():
            found.setdefault(anchor, set()).update(names)
    return found


def told_apart(body: list[ast.stmt]) -> frozenset[str]:
    """Anchors that occur once for each of several networks, which show by having a loss each."""
    return UPDATE if len(subjects_of(body).get("backward", ())) > 1 else frozenset()


def of_one(one: ast.stmt, other: ast.stmt, apart: frozenset[str]) -> bool:
    """Whether two statements may be about the same network."""
    here, there = subjects(one), subjects(other)
    both = here.keys() & there.keys() & apart
    return not both or any(here[anchor] & there[anchor] for anchor in both)


def writes_gradients(node: ast.stmt) -> bool:
    """Whether it does something to gradients that is no call of an update: a division by hand."""
    return ".grad" in ast.unparse(node) and not anchors(node).keys() & UPDATE


def unscales_beside(body: list[ast.stmt], replaced: list[ast.stmt], new: list[ast.stmt]) -> bool:
    """Whether new lines unscale right below something that is done to gradients by hand, and may be
    meant in its place.
    """
    before = body[: body.index(replaced[0])][-1:]
    brought = any(anchors(node)["unscale_"] for node in new)
    return brought and any(writes_gradients(node) for node in before)


def is_simple(node: ast.stmt) -> bool:
    """Whether a statement contains no other statements."""
    return not isinstance(
        node,
        ast.For | ast.AsyncFor | ast.While | ast.If | ast.With | ast.AsyncWith | ast.Try
        | ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Match,
    )  # fmt: skip


def does_nothing(node: ast.stmt) -> bool:
    """``...``, ``pass`` or a bare text: something may be left out here."""
    bare = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return bare or isinstance(node, ast.Pass)


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
