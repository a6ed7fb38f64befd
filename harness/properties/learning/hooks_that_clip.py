"""A hook that Lightning calls in place of its own clip, and that clips nothing."""

import ast

from harness.syntax import dotted, tree_of, walk

HOOK = "configure_gradient_clipping"
LIMIT = "gradient_clip_val"


def clips_nothing(source: str) -> str | None:
    """How the limit is set, where a program gives its Trainer one and a hook of its own leaves all
    gradients as they are; ``None`` otherwise.
    """
    nodes = walk(tree_of(source))
    limits = [
        keyword
        for call in nodes if isinstance(call, ast.Call)
        for keyword in call.keywords
        if keyword.arg == LIMIT and dotted(call.func).endswith("Trainer")
    ]  # fmt: skip
    functions = [n for n in nodes if isinstance(n, ast.FunctionDef)]
    hooks = [f for f in functions if f.name == HOOK]
    own = {f.name for f in functions}
    if not hooks or not limits or any(_may_change_gradients(hook, own) for hook in hooks):
        return None
    return None if _is_off(limits[0].value) else f"{LIMIT}={ast.unparse(limits[0].value)}"


def _is_off(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and not value.value


def _may_change_gradients(hook: ast.FunctionDef, own: set[str]) -> bool:
    """Whether it clips, writes in place or to a gradient, or calls a function of the program's own."""
    for node in walk(hook):
        match node:
            case ast.Call():
                name = dotted(node.func).rpartition(".")[2]
                if "clip" in name or name.endswith("_") or name in own:
                    return True
            case ast.AugAssign() | ast.Attribute(attr="grad", ctx=ast.Store()):
                return True
    return False
