"""What belongs to a program beside its text, and travels with it as one text: files that stay modules,
and its command line.
"""

import ast
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from harness.syntax import tree_of

_BELOW = "\n__files_beside__ = "
"""What stands between a program and its files, which are one line below it: so its own lines keep
their numbers.
"""

KEPT = frozenset({
    "harness", "torch", "numpy", "scipy", "tqdm", "yaml", "accelerate", "transformers", "lightning",
    "pytorch_lightning", "torchmetrics",
})  # fmt: skip
"""Packages that no file of a repository replaces: what runs is the one that is installed."""


@dataclass(frozen=True, slots=True)
class CompanionFile:
    """One file that a program can import."""

    path: str
    """Where it lies, from the program's folder."""
    source: str
    """Its text."""

    @property
    def is_package(self) -> bool:
        """Whether it is the ``__init__.py`` of a folder."""
        return self.path.rpartition("/")[2] == "__init__.py"


@dataclass(frozen=True, slots=True)
class PackedProgram:
    """A program and the files beside it."""

    code: str
    """The program, as it was."""
    modules: Mapping[str, CompanionFile] = field(default_factory=dict)
    """The files, each under the dotted name by which it is imported."""
    package: str = ""
    """The package that the program itself lies in, for its relative imports."""
    arguments: tuple[str, ...] = ()
    """What its command line says."""

    @property
    def text(self) -> str:
        """All of it as the one text that :func:`unpacked` reads."""
        if not self.modules and not self.arguments:
            return self.code
        files = {name: [one.path, one.source] for name, one in self.modules.items()}
        below = {"package": self.package, "files": files, "arguments": self.arguments}
        return f"{self.code}{_BELOW}{json.dumps(below)}\n"

    @property
    def sources(self) -> str:
        """All sources below each other, for whoever looks for words."""
        return "\n".join([self.code, *(one.source for one in self.modules.values())])


def unpacked(program: str) -> PackedProgram:
    """The program and its files; a program without any is itself. Nothing of it is evaluated."""
    code, mark, below = program.rpartition(_BELOW)
    if not mark:
        return PackedProgram(program)
    try:
        told = json.loads(below)
        modules = {name: CompanionFile(*one) for name, one in told["files"].items()}
        arguments = tuple(map(str, told.get("arguments", ())))
        return PackedProgram(code, modules, str(told["package"]), arguments)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return PackedProgram(program)


def called_with(program: str, arguments: Iterable[str]) -> str:
    """The same program with more on its command line."""
    packed = unpacked(program)
    return replace(packed, arguments=(*packed.arguments, *arguments)).text


def whole(program: str) -> ast.Module:
    """One tree of a program and its files, for whoever reads it.

    Raises what :func:`ast.parse` raises for the program; a file that is no Python is left out.
    """
    packed = unpacked(program)
    return together([tree_of(packed.code), *parsed_modules(packed).values()])


def parsed_modules(packed: PackedProgram) -> dict[str, ast.Module]:
    """The trees of the files, under the names of the modules."""
    found: dict[str, ast.Module] = {}
    for name, one in packed.modules.items():
        try:
            found[name] = tree_of(one.source)
        except SyntaxError:
            continue
    return found


def together(trees: Iterable[ast.Module]) -> ast.Module:
    """One tree whose statements are theirs, and not copies."""
    return ast.Module(body=[s for tree in trees for s in tree.body], type_ignores=[])
