"""Imports of fragments: known packages are lent, others that are missing leave their names free."""

import ast
import contextlib
import functools
import importlib
import importlib.util
import sys
import types
from typing import Any

from harness.sandbox import extras
from harness.sandbox.absent import inert, standins
from harness.sandbox.absent.imports import guarded, lend_dropped, lend_known, packages_of
from harness.sandbox.absent.watching import WATCHING
from harness.syntax import walk

REFUSED = frozenset({
    "accelerate", "apex", "colossalai", "deepspeed", "fairscale", "fastai", "flax", "horovod",
    "ignite", "jax", "keras", "lightning", "lightning_fabric", "megatron", "opacus", "optax", "peft",
    "pytorch_lightning", "ray", "tensorflow", "torch_xla", "transformers",
})  # fmt: skip
"""Packages that change what training is: where they are not here, who uses them needs them."""


def lend_imports(tree: ast.Module) -> dict[int, str]:
    """Make the program's imports possible: packages that are known are there, be it as stand-ins.

    Returned are the statements that cannot be executed, by identity, each with what is said of it:
    names of other packages are lent by role. What stands under ``try`` may fail as it does elsewhere.
    """
    tried = guarded(tree)
    found: dict[int, str] = {}
    for node in walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and id(node) not in tried:
            names = packages_of(node) or [""]
            if {*map(_is_here, names)} != {True}:
                said = ", ".join(names)
                found[id(node)] = f"{said}: not here; its names are bound by role"
    lend_dropped(tree)
    return found


def imported(tree: ast.Module) -> dict[str, str]:
    """Names that module-level imports of loaded packages bind, with their dotted paths.

    A reader puts the imports of several fragments first, wherever they stand.
    """
    found: dict[str, str] = {}
    for node in tree.body:
        if isinstance(node, ast.Import):
            for alias in node.names:
                top = alias.name.partition(".")[0]
                found[alias.asname or top] = alias.name if alias.asname else top
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return {n: p for n, p in found.items() if p.partition(".")[0] in sys.modules and n != "*"}


def put_first(tree: ast.Module, namespace: dict[str, Any]) -> None:
    """Bind what is imported before anything runs: a function may be called above its imports."""
    for name, path in imported(tree).items():
        with contextlib.suppress(ImportError, AttributeError):
            namespace[name] = lookup(path)


def fits(path: str, used: set[str]) -> bool:
    """Whether something of a library has all that a program uses of it."""
    top = path.partition(".")[0]
    known = top == "tqdm" or top in WATCHING or "tensorboard" in path
    if known or extras.absent(top):
        return True
    try:
        found = lookup(path)
    except (ImportError, AttributeError):
        return False
    if isinstance(found, types.ModuleType) and not used:
        return False
    if "[]" in used and isinstance(found, types.FunctionType):
        return False
    return all(hasattr(found, name) for name in used - {"[]"})


@functools.cache
def lookup(path: str) -> Any:
    """The object at a dotted path. Raises ``ImportError`` or ``AttributeError`` where there is none."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found: Any = importlib.import_module(".".join(parts[:length]))
        except ImportError:
            continue
        for attribute in parts[length:]:
            found = getattr(found, attribute)
        return found
    raise ImportError(f"no module named {path}")


def _is_here(name: str) -> bool:
    """Whether it can be imported, be it as a stand-in, which is lent then."""
    top = name.partition(".")[0]
    if top == "tqdm":
        inert.install_progress()
        return True
    if top in REFUSED or top in WATCHING or top in standins.PARTS or "tensorboard" in name:
        lend_known("torch.utils.tensorboard" if top == "torch" else top)
        return True
    if top in sys.modules or top in sys.stdlib_module_names:
        return True
    try:
        return importlib.util.find_spec(top) is not None
    except (ImportError, ValueError):
        return False
