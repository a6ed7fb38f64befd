"""What a piece of code is, by its structure: which calls it makes, and what its functions take."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass

from harness.domain.skill import ExampleKind
from harness.skills.python import parsed

CLIPS = frozenset(
    {"clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "clip_grad_norm"}
)
_CLOCKS = frozenset({"perf_counter", "monotonic", "process_time", "Event", "elapsed_time"})
_SCHEDULERS = frozenset(
    {"LambdaLR", "CosineAnnealingLR", "StepLR", "OneCycleLR", "LinearLR", "SequentialLR"}
)
_MODULES = frozenset({"Module", "LightningModule"})
_OUTPUTS = frozenset(
    {"pred", "preds", "prediction", "predictions", "logits", "output", "outputs", "raw", "y_pred",
     "y_hat", "per_sample", "log_probs", "probs"}
)  # fmt: skip
NO_OPTIMIZER = re.compile(r"(?:^|[._])(?:envs?|prof(?:iler)?)$|environment", re.IGNORECASE)
"""Whose step updates no weight: ``self.env.step(action)``."""
_MODELS = frozenset({"model", "net", "network", "parameters", "params", "generator", "named"})


@dataclass(frozen=True, slots=True)
class Uses:
    """Which calls some code makes, by the last part of their names."""

    calls: frozenset[str]
    """``x.backward()`` and ``backward(x)`` are both ``backward``."""

    @property
    def goes_back(self) -> bool:
        """Whether it runs a backward pass."""
        return bool(self.calls & {"backward", "manual_backward"})

    @property
    def steps(self) -> bool:
        """Whether something called an optimizer or a scaler steps."""
        return "step" in self.calls

    @property
    def clips(self) -> bool:
        """Whether it clips."""
        return bool(self.calls & CLIPS)


def uses(node: ast.AST) -> Uses:
    """The calls in a tree."""
    return Uses(frozenset(_calls(node)))


def kind_of(code: str) -> ExampleKind:
    """What it is. Code that cannot be parsed is a fragment, code without statements pseudo code."""
    tree = parsed(code)
    if tree is None:
        return "fragment"
    body = [node for node in tree.body if not _inert(node)]
    if not body:
        return "pseudo-code"
    return _of_body(tree, body)


def functions(tree: ast.Module) -> tuple[ast.FunctionDef, ...]:
    """Functions at module level."""
    return tuple(node for node in tree.body if isinstance(node, ast.FunctionDef))


def module_classes(tree: ast.Module) -> tuple[ast.ClassDef, ...]:
    """Classes at module level that are modules by their bases."""
    return tuple(
        node for node in tree.body if isinstance(node, ast.ClassDef) and _bases(node) & _MODULES
    )


def parameters_of(function: ast.FunctionDef) -> tuple[str, ...]:
    """Names of its parameters, in order."""
    a = function.args
    return tuple(p.arg for p in (*a.posonlyargs, *a.args, *a.kwonlyargs))


def _of_body(tree: ast.Module, body: list[ast.stmt]) -> ExampleKind:
    loose = [n for n in body if not isinstance(n, ast.FunctionDef | ast.ClassDef)]
    outside = uses(ast.Module(body=loose, type_ignores=[]))
    everything = uses(tree)
    if any("LightningModule" in _bases(c) for c in tree.body if isinstance(c, ast.ClassDef)):
        return "training-loop"
    if _CLOCKS & everything.calls and (everything.goes_back or everything.steps):
        return "measurement"
    if outside.goes_back:
        return "training-loop"
    if "Trainer" in outside.calls:
        return "training-loop"
    if found := _of_definitions(tree):
        return found
    return _of_statements(loose, outside)


def _of_definitions(tree: ast.Module) -> ExampleKind | None:
    if module_classes(tree):
        return "module"
    kinds = [_of_function(f) for f in functions(tree)]
    for kind in ("update-function", "gradient-function", "inspection", "loss", "initialisation"):
        if kind in kinds:
            return kind
    if kinds:
        return kinds[0]
    if any(isinstance(node, ast.ClassDef) for node in tree.body):
        return "inspection" if uses(tree).clips else "helper"
    return None


def _of_function(function: ast.FunctionDef) -> ExampleKind:
    used, takes = uses(function), set(parameters_of(function))
    on_gradients = _reads_gradients(function) or used.clips or "grad" in takes
    makes = any(isinstance(n, ast.Attribute) and n.attr == "init" for n in ast.walk(function))
    rules: tuple[tuple[bool, ExampleKind], ...] = (
        (used.goes_back, "update-function"),
        (on_gradients and (used.clips or _writes_gradients(function)), "gradient-function"),
        (on_gradients, "inspection"),
        (bool(used.calls & _SCHEDULERS or takes & {"warmup_steps", "base_lr"}), "scheduler"),
        (bool(takes & _OUTPUTS), "loss"),
        (makes, "initialisation"),
        ("register_forward_hook" in used.calls or bool(takes & _MODELS), "inspection"),
    )
    return next((kind for holds, kind in rules if holds), "helper")


def _of_statements(loose: list[ast.stmt], outside: Uses) -> ExampleKind:
    tree = ast.Module(body=loose, type_ignores=[])
    works = outside.steps or outside.clips or _writes_gradients(tree)
    sets_rate = any(isinstance(n, ast.Constant) and n.value == "lr" for n in ast.walk(tree))
    plain = all(isinstance(n, ast.Import | ast.ImportFrom | ast.Assign | ast.Expr) for n in loose)
    rules: tuple[tuple[bool, ExampleKind], ...] = (
        (works, "training-loop"),
        (_reads_gradients(tree), "inspection"),
        (bool(outside.calls & _SCHEDULERS) or sets_rate, "scheduler"),
        (any(_names_loss(node) for node in loose), "loss"),
        (bool(outside.calls & {"isnan", "isfinite", "isinf"}), "inspection"),
        (plain, "configuration"),
    )
    return next((kind for holds, kind in rules if holds), "fragment")


def _names_loss(node: ast.stmt) -> bool:
    """``loss = expression`` where the expression is more than the usual criterion of a model."""
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return False
    read = {n.id for n in ast.walk(node.value) if isinstance(n, ast.Name)}
    return "loss" in node.targets[0].id.lower() and bool(read & _OUTPUTS)


def _reads_gradients(tree: ast.AST) -> bool:
    return any(isinstance(n, ast.Attribute) and n.attr == "grad" for n in ast.walk(tree))


_IN_PLACE = frozenset(
    {"mul_", "add_", "sub_", "div_", "clamp_", "copy_", "zero_", "fill_", "clip_", "requires_grad_"}
)


def _writes_gradients(tree: ast.AST) -> bool:
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(isinstance(t, ast.Attribute) and t.attr == "grad" for t in targets):
                return True
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in _IN_PLACE
            and any(isinstance(n, ast.Attribute) and n.attr == "grad" for n in ast.walk(node.func))
        ):
            return True
        if isinstance(node, ast.FunctionDef) and "grad" in parameters_of(node):
            return any(isinstance(n, ast.Return) and n.value is not None for n in ast.walk(node))
    return False


def _calls(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            if isinstance(node.func, ast.Attribute):
                if node.func.attr != "step" or not NO_OPTIMIZER.search(
                    ast.unparse(node.func.value)
                ):
                    yield node.func.attr
            elif isinstance(node.func, ast.Name):
                yield node.func.id


def _bases(node: ast.ClassDef) -> set[str]:
    return {b.attr if isinstance(b, ast.Attribute) else getattr(b, "id", "") for b in node.bases}


def _inert(node: ast.stmt) -> bool:
    """A docstring, ``...`` or ``pass``: nothing to run."""
    return isinstance(node, ast.Pass) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
