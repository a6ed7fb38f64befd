"""Files of Python that import each other, as one program."""

import ast
from collections.abc import Iterator
from pathlib import PurePosixPath

from harness.domain.file_edit import FileState
from harness.extraction.loops import doing
from harness.extraction.parsing import comment_out, parsed, parses

_MOST_FILES = 50
"""Most files that one program is put together from; a chain of thousands would overflow the stack."""


class LinkedFile:
    """One file with the known files that it imports in the place of the imports."""

    def __init__(self, file: FileState, files: list[FileState]) -> None:
        self.paths: list[str] = []
        self._by_name: dict[str, FileState] = {}
        for other in files:
            path = PurePosixPath(other.path)
            self._by_name[path.parent.name if path.stem == "__init__" else path.stem] = other
        self._changes = 0
        self._first: dict[str, None] = {}  # ``from __future__ import annotations``
        self.by_subagent = self.taken_back = True
        text = self._text(file, entry=True)
        several = len(self.paths) > 1
        self.program = "\n".join([*self._first, text]) if several else file.content or ""
        self.trains = trains(self.program)

    @property
    def changed(self) -> bool:
        """Whether the agent changed any of it."""
        return self._changes > 0

    def _text(self, file: FileState, *, entry: bool) -> str:
        """A file's code below that of the files which it imports; each file stands there once."""
        self.paths.append(file.path)
        self._changes += file.changes
        self.by_subagent &= file.by_subagent or not file.changes
        self.taken_back &= file.taken_back or not file.changes
        code = file.content or ""
        try:
            tree = parsed(code)
        except SyntaxError:
            return code
        lines, before = code.split("\n"), []
        for node in _top_level(tree, entry=entry):
            if isinstance(node, ast.If):  # what a module does when it is the program itself
                comment_out(lines, node)
                continue
            if isinstance(node, ast.ImportFrom) and node.module == "__future__":
                self._first[ast.unparse(node)] = None
                comment_out(lines, node)
                continue
            links = list(self._links(node))
            if links:
                before += [text for text in links if text]
                comment_out(lines, node)
        return "\n\n".join([*before, "\n".join(lines)])

    def _links(self, node: ast.stmt) -> Iterator[str]:
        """The code that an import brings, and the names by which it is used."""
        match node:
            case ast.ImportFrom(module=module, names=names):
                known = self._found((module or "").rpartition(".")[2])
                if known is not None:
                    yield self._once(known)
                    yield from (f"{n.asname} = {n.name}" for n in names if n.asname)
                    return
                modules = {n.asname or n.name: self._found(n.name) for n in names}
            case ast.Import(names=names):
                modules = {
                    n.asname or n.name: self._found(n.name.rpartition(".")[2])
                    for n in names
                    if n.asname or "." not in n.name
                }
            case _:
                return
        if all(file is not None for file in modules.values()):
            for name, file in modules.items():
                if file is not None:
                    yield self._once(file)
                    yield _namespace(name, file)

    def _found(self, name: str) -> FileState | None:
        found = self._by_name.get(name)
        content = found.content if found is not None else None
        return found if content is not None and parses(content) else None

    def _once(self, file: FileState) -> str:
        if file.path in self.paths or len(self.paths) > _MOST_FILES:
            return ""
        return self._text(file, entry=False).rstrip("\n")


def _top_level(tree: ast.Module, *, entry: bool) -> Iterator[ast.stmt]:
    for node in tree.body:
        is_main = isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
        if isinstance(node, ast.Import | ast.ImportFrom) or (is_main and not entry):
            yield node


def _namespace(name: str, file: FileState) -> str:
    """``import config`` and ``config.LR``: an object with what the file defines."""
    defined: dict[str, None] = {}
    for node in parsed(file.content or "").body:
        match node:
            case ast.FunctionDef() | ast.ClassDef() | ast.AsyncFunctionDef():
                defined[node.name] = None
            case ast.Assign(targets=targets):
                defined |= dict.fromkeys(t.id for t in targets if isinstance(t, ast.Name))
            case ast.AnnAssign(target=ast.Name(id=one)):
                defined[one] = None
    fields = ", ".join(f"{one}={one}" for one in defined)
    return f"import types\n{name} = types.SimpleNamespace({fields})"


def trains(code: str) -> bool:
    """Whether it is a training loop, or the body of one."""
    try:
        found = doing(parsed(code))
    except SyntaxError:
        return False
    return found.whole or found.part


def imported(code: str) -> set[str]:
    """The modules that a file imports, relative ones as if they lay beside it."""
    try:
        tree = parsed(code)
    except SyntaxError:
        return set()
    found: set[str] = set()
    for node in tree.body:
        match node:
            case ast.ImportFrom(module=module, names=names):
                found |= {module} if module else {n.name for n in names}
            case ast.Import(names=names):
                found |= {n.name for n in names}
    return found
