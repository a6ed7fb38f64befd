"""The files of a repository that a program imports, as modules by their names."""

import ast
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from harness.beside import KEPT, CompanionFile, PackedProgram
from harness.syntax import tree_of, walk
from harness.untrusted import LONGEST, read_bytes

ABOVE = 3
"""How many folders above a program are looked into: ``python -m scripts.train`` runs from there."""

IMPORTERS = ("import_module", "__import__")
"""Functions that import what a text names."""

ADDERS = ("sys.path.append", "sys.path.insert", "sys.path.extend")

MOST_FILES = 400
MOST_BYTES = 4 << 20
"""How many files of a repository go along, and how many bytes of them."""


def with_modules(path: Path) -> tuple[PackedProgram, list[Path]]:
    """A program with all files that it imports, directly or through another; and where they lie.

    Raises what :func:`ast.parse` raises for the program.
    """
    code = _text(path)
    tree_of(code)
    roots = _on_its_path(code, [*_roots(path)])
    package, folder = _package_of(path, code), path.resolve().parent
    found: dict[str, tuple[CompanionFile, Path]] = {}
    size = 0
    waiting = [*_imports(code, package), *_found_by_name(code, roots, package)]
    for name in waiting:  # which grows meanwhile
        if name in found or len(found) >= MOST_FILES or size > MOST_BYTES:
            continue
        file = _file_of(name, roots)
        if file is None or file == path:
            continue
        try:
            source = _text(file)
        except OSError:  # too large, or not to be read: whoever needs it is told
            continue
        size += len(source)
        one = CompanionFile(os.path.relpath(file, folder), source)
        found[name] = (one, file)
        inside = name if one.is_package else name.rpartition(".")[0]
        waiting += _imports(source, inside)
        waiting += _found_by_name(source, roots, inside)
    modules = {name: one for name, (one, _) in sorted(found.items())}
    return PackedProgram(code, modules, package), [file for _, file in found.values()]


def _roots(path: Path) -> Iterator[Path]:
    """Folders from which the program may import: its own, and those above it in its repository."""
    folder = path.resolve().parent
    for near in (folder, *folder.parents[:ABOVE]):
        yield near
        yield near / "src"
        if (near / ".git").exists():
            return


def _on_its_path(code: str, near: list[Path]) -> list[Path]:
    """These, and what of its repository the program adds to ``sys.path``, read from the texts in the
    call: ``sys.path.append(os.path.join(os.path.dirname(__file__), "..", "lib"))``.
    """
    found = [*near]
    for node in walk(tree_of(code)):
        if not isinstance(node, ast.Call) or ast.unparse(node.func) not in ADDERS:
            continue
        texts = [n.value for n in walk(node) if isinstance(n, ast.Constant)]
        named = near[0].joinpath(*(text for text in texts if isinstance(text, str))).resolve()
        if named.is_dir() and any(named.is_relative_to(one) for one in near):
            found.append(named)
    return found


def _package_of(path: Path, code: str) -> str:
    """The package in which a program lies that imports by it: ``from . import model``."""
    if not any(isinstance(n, ast.ImportFrom) and n.level for n in walk(tree_of(code))):
        return ""
    folder = path.resolve().parent
    names = [folder.name]
    while (folder / "__init__.py").is_file() and (folder.parent / "__init__.py").is_file():
        folder = folder.parent
        names.append(folder.name)
    return ".".join(reversed(names))


def _file_of(name: str, roots: list[Path]) -> Path | None:
    """Where a module lies; the first folder that has its package counts."""
    top, *_ = parts = name.split(".")
    if top in KEPT or top in sys.stdlib_module_names:
        return None
    for root in roots:
        base = root.joinpath(*parts)
        for file in (base / "__init__.py", base.with_name(f"{base.name}.py")):
            if file.is_file():
                return file
        if (root / f"{top}.py").is_file() or (root / top / "__init__.py").is_file():
            return None
    return None


@cache
def _imports(code: str, package: str) -> tuple[str, ...]:
    """Names of modules that a file may import, packages before what lies in them."""
    try:
        tree = tree_of(code)
    except SyntaxError:
        return ()
    found: dict[str, None] = {}
    for node in walk(tree):
        if isinstance(node, ast.Import):
            named = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _from(node, package)
            named = [base, *(f"{base}.{alias.name}".lstrip(".") for alias in node.names)]
        else:
            continue
        for name in named:
            parts = name.split(".")
            found |= dict.fromkeys(".".join(parts[: i + 1]) for i in range(len(parts)) if name)
    return tuple(name for name in found if name and not name.endswith("*"))


def _found_by_name(code: str, roots: list[Path], package: str) -> Iterator[str]:
    """Modules of which a setting says which is imported, ``import_module("models." + name)``: all that
    lie where such a name begins, be it beside the file itself: ``import_module(f"{__name__}.{one}")``.
    """
    if not any(importer in code for importer in IMPORTERS):
        return
    try:
        tree = tree_of(code)
    except SyntaxError:
        return
    for node in walk(tree):
        if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(IMPORTERS) and node.args:
            start = _start_of(node.args[0])
            if start.startswith(".") or "__name__" in ast.unparse(node.args[0]):
                start = f"{package}."
            *folder, _ = start.split(".")
            yield from (".".join(folder[:i]) for i in range(1, len(folder) + 1))
            for root in roots if folder else roots[:1]:
                for file in sorted(root.joinpath(*folder).glob("[!_]*.py")):
                    yield ".".join([*folder, file.stem])


def _start_of(text: ast.expr) -> str:
    """What a text that is put together begins with, as far as it is written down."""
    match text:
        case ast.Constant(value=str(start)):
            return start
        case ast.BinOp(left=first) | ast.Call(func=ast.Attribute(value=first)):
            return _start_of(first)
        case ast.JoinedStr(values=[first, *_]):
            return _start_of(first)
    return ""


def _from(node: ast.ImportFrom, package: str) -> str:
    """The module that ``from ... import`` names, seen from a package."""
    if not node.level:
        return node.module or ""
    above = package.split(".")[: len(package.split(".")) - (node.level - 1)] if package else []
    return ".".join([*above, *((node.module or "").split(".") if node.module else [])])


def _text(path: Path) -> str:
    text = read_bytes(path, LONGEST).decode("utf-8-sig", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")
