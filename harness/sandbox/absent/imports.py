"""Which packages of a program are absent, and what is imported in their place."""

import ast
import builtins
import importlib
import importlib.util
import inspect
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import torch

from harness.domain.own import TORCHS
from harness.sandbox import extras
from harness.sandbox.absent import standins, trackers
from harness.sandbox.absent.lent import lend
from harness.sandbox.absent.missing import Missing
from harness.sandbox.absent.watching import WATCHING
from harness.sandbox.names.table import libraries
from harness.syntax import walk

OWN = "candidate_files"
"""The package that relative imports of a program mean: files that lie beside it."""

SHARDING = frozenset({"deepspeed", "fairscale", "colossalai", "megatron", "torch_xla", "horovod"})
"""Packages that spread a model over many devices, installed or not."""


def lend_packages(tree: ast.Module, own: frozenset[str] = frozenset()) -> None:
    """Stand in for what the program imports and what is not here, from now on in this process.

    ``own``: what it brings itself.
    """
    for top in sorted({*_tops(tree)} - own):
        lend_known(top)
    _lend(OWN)
    lend_dropped(tree, own, whole=True)


def lend_known(top: str) -> None:
    """The same for one package; installed, for what it would download."""
    if _is_absent(top):
        _lend(top)
    elif top in standins.PARTS:
        standins.replace_parts(top)


def _lend(top: str) -> None:
    sys.meta_path.insert(0, LentPackages(top))
    for name in [n for n in sys.modules if n.partition(".")[0] == top]:
        del sys.modules[name]  # installed, and to be replaced all the same


def lend_dropped(
    tree: ast.Module, own: frozenset[str] = frozenset(), *, whole: bool = False
) -> None:
    """Names that another version of an installed package has: torch's own of that name is lent. In a
    program that is ``whole`` who uses another one, or a module that is gone, needs that version.
    """
    tried, original = guarded(tree), builtins.__import__
    asked = [
        n for n in walk(tree)
        if id(n) not in tried and not {name.partition(".")[0] for name in packages_of(n)} & own
    ]  # fmt: skip
    modules = {name for n in asked for name in packages_of(n)}
    parts = {
        (n.module, alias.name)
        for n in asked
        if isinstance(n, ast.ImportFrom) and not n.level
        for alias in n.names
    }
    if not whole and not any(_is_of_torch(part) for _, part in parts):
        return

    def imported(name: str, *scope: Any, **more: Any) -> Any:
        try:
            module = original(name, *scope, **more)
        except ModuleNotFoundError as error:
            dropped = error.name or ""
            above, _, last = dropped.rpartition(".")
            if not whole or name not in modules or above not in sys.modules:
                raise
            sys.modules[dropped] = standins.LentModule(dropped, {}, _of_another_version(dropped))
            setattr(sys.modules[above], last, sys.modules[dropped])
            return imported(name, *scope, **more)
        for part in (scope[2] if len(scope) > 2 else None) or ():
            if (name, part) in parts and not hasattr(module, part):
                found = _namesake(name, part) or (whole and _of_another_version(name)(part))
                if found:
                    setattr(module, part, found)
        return module

    builtins.__import__ = imported


DEFAULTS: Mapping[str, Mapping[str, float]] = {
    "transformers.AdamW": {"eps": 1e-6, "weight_decay": 0.0}
}
"""Defaults of optimizers that packages had, where torch has others."""


def _is_of_torch(part: str) -> bool:
    """Whether torch has an optimizer of that name."""
    return libraries().get(part, "").rpartition(".")[0] == "torch.optim"


def _namesake(module: str, part: str) -> Callable[..., Any] | None:
    """What makes torch's own optimizer of that name, where a package no longer has its own: of its
    settings those that torch knows as well.
    """
    if not _is_of_torch(part):
        return None
    own = getattr(torch.optim, part)
    known = inspect.signature(own).parameters
    usual = DEFAULTS.get(f"{module}.{part}", {})

    def made(*args: Any, **settings: Any) -> Any:
        lend(f"{part}: {TORCHS}")
        settings = {**usual, **settings} if len(args) <= 2 else settings
        return own(*args, **{key: value for key, value in settings.items() if key in known})

    return made


def _of_another_version(module: str) -> Callable[[str], Missing]:
    lacks = f"needs another version of {module.partition('.')[0]}"
    return lambda part: Missing(f"{module}.{part}", lacks)


BOARD = "torch.utils.tensorboard"


def _tops(tree: ast.Module) -> Iterator[str]:
    """Packages that it imports where nobody waits for it to fail."""
    tried = guarded(tree)
    can_fail = {_top(n) for s in walk(tree) if id(s) in tried for n in packages_of(s)}
    can_fail -= {*standins.MODULES}  # what a program has an answer to where it is not here
    for node in walk(tree):
        if id(node) in tried:
            names = [n for n in packages_of(node) if n.partition(".")[0] in WATCHING]
        else:
            names = [n for n in packages_of(node) if _top(n) not in can_fail - WATCHING]
        for name in names:
            yield from dict.fromkeys((_top(name), name.partition(".")[0]))


def _top(name: str) -> str:
    """The package; a part of torch that needs another one stands for itself."""
    return BOARD if name.startswith(BOARD) else name.partition(".")[0]


def guarded(tree: ast.Module) -> set[int]:
    """What may fail, and is waited for: identities of what stands under ``try``."""
    tries = (n for n in walk(tree) if isinstance(n, ast.Try) and n.handlers)
    return {id(s) for n in tries for part in n.body for s in walk(part)}


def packages_of(node: ast.AST) -> list[str]:
    """Dotted names of the packages that a statement imports; of a relative import none."""
    match node:
        case ast.Import(names=names):
            return [alias.name for alias in names]
        case ast.ImportFrom(module=str(module), level=0):
            whole = module == "torch.utils" and any(a.name == "tensorboard" for a in node.names)
            return [f"{module}.tensorboard"] if whole else [module]
    return []


def paths_in(nodes: Iterable[ast.AST]) -> list[str]:
    """Dotted paths of what is imported: a module, or something of one."""
    found: list[str] = []
    for node in nodes:
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found += [f"{node.module}.{alias.name}" for alias in node.names]
    return found


def _is_absent(top: str) -> bool:
    if top in WATCHING or top in SHARDING or top == "torch.utils.tensorboard":
        return True
    if top in standins.ALWAYS:
        return True
    if top in sys.modules or top in sys.stdlib_module_names:
        return False
    try:
        importlib.import_module(top)
    except Exception:  # noqa: BLE001 - a package that does not load is not here, whatever it says
        return True
    return False


class LentPackages(MetaPathFinder, Loader):
    """Finds a package that is lent, and no other."""

    def __init__(self, top: str) -> None:
        """``top``: its name."""
        self._top = top

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """A module of such a package, be there one or not."""
        # of torch.utils.tensorboard a class is asked for in the same way as its modules
        is_class = "." in self._top and not fullname.rpartition(".")[2].islower()
        if f"{fullname}.".startswith(f"{self._top}.") and not is_class:
            return ModuleSpec(fullname, self, is_package=True)
        return None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        """Whatever stands in for it."""
        name = spec.name
        top = name.partition(".")[0]
        absent = lambda part: Missing(f"{name.removeprefix(f'{OWN}.')}.{part}", needs(name))  # noqa: E731
        if top in WATCHING or name.startswith("torch.utils.tensorboard"):
            lend(f"{name.rpartition('.')[2] if top == 'torch' else top}: does nothing")
            return trackers.module(name)
        found = standins.module(name, absent)
        if found is not None:
            lend(f"{top}: a stand-in")
        return found or standins.LentModule(name, {}, absent)

    def exec_module(self, module: ModuleType) -> None:
        """Nothing: it is made already."""


def needs(name: str) -> str:
    """What somebody needs who uses a module: a file beside the program, or a package."""
    top, _, rest = name.partition(".")
    if top == OWN:
        return f"needs {rest.replace('.', '/') or '__init__'}.py, a file beside the program"
    if top in SHARDING:
        return f"needs {top}, which spreads a model over devices that are not here"
    return extras.absent(top) or f"needs {top}, which is not here"
