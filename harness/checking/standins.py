"""What an example names and leaves to its reader: arguments, a helper, a layer, a scaler, imports."""

import ast

from harness.checking.shape import assigned, called, calls_of
from harness.extraction.names import free_names, statements
from harness.skills.kinds import CLIPS, uses

_NORM = """
import torch
def {name}(model):
    grads = [p.grad for p in model.parameters() if p.grad is not None]
    return torch.nn.utils.get_total_norm(grads).item()
"""
_LAYER = """
import torch
class {name}(torch.nn.Module):
    def __init__(self, *sizes, **named):
        super().__init__()
        self.gain = torch.nn.Parameter(torch.ones(()))
    def forward(self, x, *rest, **named):
        return torch.tanh(x * self.gain)
"""
_IMPORTS = {
    "torch": "import torch",
    "nn": "import torch.nn as nn",
    "F": "import torch.nn.functional as F",
}


def fill_ellipses(tree: ast.Module) -> list[str]:
    """``clip_grad_norm_(...)`` as everybody would call it. Returns what was filled in."""
    filled = []
    for name in sorted(CLIPS):
        for call in calls_of(tree, name):
            if any(isinstance(a, ast.Constant) and a.value is ... for a in call.args):
                call.args = [ast.parse("model.parameters()", mode="eval").body, ast.Constant(1.0)]
                filled.append(f"the arguments of {name}")
    return filled


def define_helpers(tree: ast.Module) -> list[str]:
    """Helpers with a telling name, and layers that are only named. Returns what was filled in."""
    added = []
    layers = _layers_of(tree)
    for name in sorted(free_names(statements(tree))):
        if name in CLIPS:
            _prepend(tree, f"from torch.nn.utils import {name}")
        elif "grad" in name and "norm" in name and _takes_a_model(tree, name):
            _prepend(tree, _NORM.format(name=name))
            added.append(f"{name}, the norm of all gradients")
        elif name in layers:
            _prepend(tree, _LAYER.format(name=name))
            added.append(f"{name}, a layer that keeps the shape")
    return added


def define_trainer(tree: ast.Module) -> list[str]:
    """A hook for clipping does nothing until a trainer hands it a threshold."""
    hooks = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef)]
    if not any(n.name == "configure_gradient_clipping" for n in hooks):
        return []
    if calls_of(tree, "Trainer"):
        return []
    tree.body += ast.parse(
        "import lightning\ntrainer = lightning.Trainer(gradient_clip_val=1.0)"
    ).body
    return ["a trainer with gradient_clip_val=1.0"]


def define_rest(tree: ast.Module) -> list[str]:
    """A scaler, and the usual imports. Returns what was filled in."""
    free = free_names(statements(tree))
    added = []
    if "scaler" in free and "scale" in uses(tree).calls:
        _prepend(tree, 'scaler = torch.amp.GradScaler("cuda")')
        added.append("the scaler")
    needed = {"nn", "F"} & free
    if "torch." in ast.unparse(tree) and "torch" not in assigned(tree):
        needed |= {"torch"}
    for name in sorted(needed):
        _prepend(tree, _IMPORTS[name])
    return added


def _prepend(tree: ast.Module, code: str) -> None:
    """In front of everything but what has to come first of all."""
    future = [n for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__"]
    rest = [n for n in tree.body if n not in future]
    tree.body = [*future, *ast.parse(code).body, *rest]


def _takes_a_model(tree: ast.Module, name: str) -> bool:
    return any(len(call.args) == 1 for call in calls_of(tree, name))


def _layers_of(tree: ast.Module) -> set[str]:
    """Names that are called like classes inside the classes of the example."""
    return {
        called(n)
        for node in tree.body
        if isinstance(node, ast.ClassDef)
        for n in ast.walk(node)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Name) and n.func.id[:1].isupper()
    }
