"""Models that a page shows, and of which it never makes one."""

import ast
from collections.abc import Iterable

from harness.syntax import dotted, walk


def models_never_made(page: Iterable[ast.stmt]) -> list[str]:
    """Names of classes of models that nothing else on a page speaks of, that take one input, and that
    need nothing to be made: what takes a layer goes around one.
    """
    statements = [*page]
    named = {n.id for s in statements for n in walk(s) if isinstance(n, ast.Name)}
    classes = (s for s in statements if isinstance(s, ast.ClassDef) and _is_a_model(s))
    return [c.name for c in classes if c.name not in named and not _asks(c, "__init__", 0)]


def _is_a_model(cls: ast.ClassDef) -> bool:
    module = any(dotted(base) in ("nn.Module", "torch.nn.Module", "Module") for base in cls.bases)
    return module and not _asks(cls, "forward", 1) and _asks(cls, "forward", 0)


def _asks(cls: ast.ClassDef, method: str, more: int) -> bool:
    """Whether a method takes more than so many arguments that have no default."""
    found = (f for f in cls.body if isinstance(f, ast.FunctionDef) and f.name == method)
    return any(len(f.args.args) - 1 - len(f.args.defaults) > more for f in found)
