"""Where things are in a program: its loop, its loss, the names that it reads and binds. Pure."""

import ast

from harness.skills.kinds import uses

_LOADERS = frozenset({"train_loader", "dataloader", "loader", "data_loader", "train_dataloader"})
_MAKERS = frozenset({"GradScaler", "DDP", "DistributedDataParallel"})

Loop = ast.For | ast.While


def loose(tree: ast.Module) -> ast.Module:
    """The statements of a module that stand outside of functions and classes, as a module."""
    kept = [n for n in tree.body if not isinstance(n, ast.FunctionDef | ast.ClassDef)]
    return ast.Module(body=kept, type_ignores=[])


def training_loop(tree: ast.Module) -> Loop | None:
    """The training loop at module level: the innermost one around all that belongs to it; ``None`` for
    none.
    """
    for node in ast.walk(loose(tree)):
        if isinstance(node, Loop):
            used = uses(node)
            over_loader = any(isinstance(n, ast.Name) and n.id in _LOADERS for n in ast.walk(node))
            if used.goes_back or (over_loader and (used.steps or used.clips)):
                return _innermost(node)
    return None


def works_on_gradients(tree: ast.AST) -> bool:
    """Whether it makes, changes, reads or consumes gradients itself, and not in a function."""
    used = uses(tree)
    reads = any(isinstance(n, ast.Attribute) and n.attr == "grad" for n in ast.walk(tree))
    return used.goes_back or used.steps or used.clips or reads


def over_batches(loop: ast.For) -> bool:
    """Whether a loop computes gradients in its body and goes over something other than numbers."""
    numbers = isinstance(loop.iter, ast.Call) and called(loop.iter) == "range"
    return not numbers and any(uses(s).goes_back for s in loop.body)


def apart(body: list[ast.stmt]) -> tuple[list[ast.stmt], list[ast.stmt]]:
    """Split a body into what is done once before the loop and what is done for each batch."""
    for n, node in enumerate(body):
        if not isinstance(
            node, ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
        ) and not _prepares(node):
            return body[:n], body[n:]
    return body, []


def missing_loss(tree: ast.AST, known: set[str]) -> str | None:
    """The name of the loss that backward is called on but nothing defines, ``loss`` where it has none;
    ``None`` where it is defined.
    """
    backwards = [*calls_of(tree, "backward"), *calls_of(tree, "manual_backward")]
    if not backwards:
        return None if "loss" in known else "loss"
    names = [n.id for call in backwards for n in ast.walk(call) if isinstance(n, ast.Name)]
    return next((n for n in names if "loss" in n.lower() and n not in known), None)


def model_name(tree: ast.AST) -> str:
    """What the example calls the model that it trains: the wrapped one, where it wraps it."""
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Assign)
            and isinstance(node.targets[0], ast.Name)
            and isinstance(node.value, ast.Call)
            and called(node.value) in ("DDP", "DistributedDataParallel")
        ):
            return node.targets[0].id
    for method in ("no_sync", "parameters", "named_parameters"):
        for call in calls_of(tree, method):
            if isinstance(call.func, ast.Attribute) and isinstance(call.func.value, ast.Name):
                return call.func.value.id
    return "model"


def assigned(tree: ast.AST) -> set[str]:
    """Names that are bound anywhere, imports included."""
    found = {
        n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(a.asname or a.name).partition(".")[0] for a in node.names}
    return found


def read(tree: ast.AST) -> set[str]:
    """Names that are read anywhere."""
    return {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def called(call: ast.Call) -> str:
    """The last part of the name of what is called."""
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def calls_of(tree: ast.AST, name: str) -> list[ast.Call]:
    """Every call of something of that name."""
    return [n for n in ast.walk(tree) if isinstance(n, ast.Call) and called(n) == name]


def steps_optimizer(tree: ast.AST) -> bool:
    """Whether a method called ``step`` is called on something that is no scheduler."""
    return any(
        isinstance(c.func, ast.Attribute) and "sched" not in ast.unparse(c.func.value)
        for c in calls_of(tree, "step")
    )


def optimizer_name(tree: ast.AST) -> str:
    """What code calls the optimizer that it steps, itself or through a scaler; else ``optimizer``."""
    for call in calls_of(tree, "step"):
        first = call.args[0] if call.args and "scaler" in ast.unparse(call.func) else None
        of = first or (call.func.value if isinstance(call.func, ast.Attribute) else None)
        if isinstance(of, ast.Name) and "sched" not in of.id and "scaler" not in of.id:
            return of.id
    return "optimizer"


def subscripts(tree: ast.AST, name: str) -> bool:
    """Whether ``name[...]`` is read."""
    return any(
        isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name) and n.value.id == name
        for n in ast.walk(tree)
    )


def _innermost(loop: Loop) -> Loop:
    for node in ast.walk(loop):
        if node is not loop and isinstance(node, Loop) and uses(node).goes_back:
            return _innermost(node)
    return loop


def _prepares(node: ast.stmt) -> bool:
    """``x = 4``, ``scaler = GradScaler()``, ``optimizer = Adam(...)``."""
    if not isinstance(node, ast.Assign):
        return False
    if isinstance(node.value, ast.Constant):
        return True
    if not isinstance(node.value, ast.Call):
        return False
    name = called(node.value)
    return name in _MAKERS or name[:1].isupper()
