"""Imports: packages that only log become inert, packages that are missing leave their names free."""

import ast
import contextlib
import functools
import importlib
import importlib.util
import sys
import types
from dataclasses import dataclass, field
from typing import Any

from harness.sandbox import extras
from harness.sandbox.absent import standins
from harness.sandbox.absent.imports import lend_known
from harness.sandbox.absent.trackers import WATCHING
from harness.sandbox.frameworks import huggingface
from harness.sandbox.machine import inert
from harness.syntax import walk

MEASURING = frozenset({"torchmetrics", "torcheval"})
"""Packages that only measure. They are replaced too, unless a framework has imported them already."""

REFUSED = frozenset({
    "deepspeed", "apex", "fairscale", "jax", "tensorflow", "ray", "fastai", "colossalai", "horovod",
    "megatron", "torch_xla", "opacus", "peft", "keras", "ignite",
})  # fmt: skip
"""Packages that nothing can stand in for without a change of meaning."""

REFUSED_WITHOUT = frozenset({"accelerate", "lightning", "lightning_fabric", "pytorch_lightning"})
"""The same where their extra is not installed."""

DRIVING = frozenset({
    "Trainer", "TrainingArguments", "Seq2SeqTrainer", "Seq2SeqTrainingArguments", "SFTTrainer",
})  # fmt: skip
"""Names from missing packages that run the training loop themselves."""


@dataclass(slots=True)
class Imports:
    """The imports of a program that need treatment."""

    removed: set[int] = field(default_factory=set)
    """Import statements that cannot be executed."""
    refused: dict[str, str] = field(default_factory=dict)
    """Names from packages that nothing can stand in for, with the reason."""
    inert: set[str] = field(default_factory=set)
    """Names that are bound to something inert."""
    notes: list[str] = field(default_factory=list)
    """What was replaced."""


def examine(tree: ast.Module) -> Imports:
    """Decide about the program's imports. Those under ``try`` may fail as they do elsewhere."""
    found = Imports()
    guarded = {
        id(statement) for node in walk(tree) if isinstance(node, ast.Try)
        for part in node.body for statement in walk(part)
    }  # fmt: skip
    fetched = huggingface.fetched(tree)
    for node in walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) and not _emptied(node, fetched, found):
            _statement(node, found, guarded=id(node) in guarded)
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


def _emptied(node: ast.Import | ast.ImportFrom, names: set[str], found: Imports) -> bool:
    """Leave out of a statement what a program fetches from a hub; whether nothing is left of it."""
    if isinstance(node, ast.Import) or not any(a.name in names for a in node.names):
        return False
    left = [alias for alias in node.names if alias.name not in names]
    gone = ", ".join(alias.name for alias in node.names if alias.name in names)
    found.notes.append(f"{gone}: cannot be had here, bound by role")
    if left:
        node.names = left
    else:
        found.removed.add(id(node))
    return not left


def _statement(node: ast.Import | ast.ImportFrom, found: Imports, *, guarded: bool) -> None:
    plain = isinstance(node, ast.Import)
    names = [alias.name for alias in node.names] if plain else [getattr(node, "module", None) or ""]
    if all(_is_inert(name) for name in names):
        found.removed.add(id(node))
        found.inert |= {alias.asname or alias.name.partition(".")[0] for alias in node.names}
        found.notes.append(f"{', '.join(names)}: inert")
        return
    relative = isinstance(node, ast.ImportFrom) and node.level > 0
    if guarded or not any(_missing(name, found, relative=relative) for name in names):
        return
    for alias in node.names if isinstance(node, ast.ImportFrom) else ():
        if alias.name in DRIVING:
            top = names[0].partition(".")[0]
            found.refused[alias.name] = extras.absent(top) or f"needs {names[0]}"
    found.removed.add(id(node))
    found.notes.append(f"{', '.join(names)}: not here; its names are bound by role")


def fits(path: str, used: set[str]) -> bool:
    """Whether something of a library has all that a program uses of it."""
    top = path.partition(".")[0]
    known = top == "tqdm" or top in WATCHING or top in REFUSED or "tensorboard" in path
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


def _is_inert(name: str) -> bool:
    parts = name.split(".")
    measures = parts[0] in MEASURING and sys.modules.get(parts[0]) is None
    return measures or parts[0] in WATCHING or "tensorboard" in parts


def _missing(name: str, found: Imports, *, relative: bool) -> bool:
    top = name.partition(".")[0]
    if relative or not top:
        return True
    if top == "tqdm":
        inert.install_progress()
        return False
    needs = f"needs {top}" if top in REFUSED else None
    if top in REFUSED_WITHOUT:
        needs = extras.absent(top)
    if needs is not None:
        found.refused[top] = needs
        return True
    if top in standins.PARTS:
        lend_known(top)
    if top in {*standins.PARTS, *sys.modules, *sys.stdlib_module_names}:
        return False
    try:
        return importlib.util.find_spec(top) is None
    except (ImportError, ValueError):
        return True
