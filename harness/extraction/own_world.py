"""Whether a program brings its own world: all names that it reads are its own, and it trains."""

import ast
import builtins
import symtable
from collections.abc import Iterator
from functools import lru_cache
from typing import TypeGuard

from harness.beside import unpacked, whole
from harness.extraction import names as extraction
from harness.syntax import tree_of, walk

GOES_BACK = frozenset({"backward", "fit", "fit_loop", "backward_and_step", "train_loop"})
"""Methods by which a program trains, be it through a framework."""

ENGINES = frozenset({"autograd", "vmap", "vjp", "grad_and_value"})
"""Names of what trains by other methods: ``torch.autograd.grad``, those of ``torch.func``."""

TRAINERS = frozenset({"Trainer", "Seq2SeqTrainer", "SFTTrainer"})
"""Names of what trains once it is started."""

STARTS = frozenset({"train", "fit", "launch", "main", "run"})
"""By such a method."""

NOT_CODE = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Import, ast.ImportFrom)
"""Statements at module level that run nothing of what they hold."""

_OF_A_MODULE = frozenset({"__name__", "__file__", "__doc__", "__builtins__", "__annotations__",
                          "__spec__", "__package__", "__loader__", "__path__"})  # fmt: skip


@lru_cache(maxsize=64)  # each probe of a program asks
def is_own_world(program: str, *, at_rest: bool = False) -> bool:
    """Whether nothing has to be lent to a program but data and packages: it is run as it is.
    ``at_rest``: also where it trains nothing, and leaves no function that does to its reader.
    """
    try:
        code = unpacked(program).code
        tree = tree_of(code)
        if free_names(code) or (_are_read_early(tree) if at_rest else _is_given_anew(tree)):
            return False
        rests = (
            at_rest
            and not GOES_BACK & _asked_in(tree)
            and not any(map(is_a_step_of_lightning, tree.body))
        )
        return trains(whole(program)) or rests
    except (SyntaxError, RecursionError):
        return False


def is_a_step_of_lightning(node: ast.AST) -> bool:
    """Whether it is ``training_step(self, batch)``, with or without its class."""
    if not isinstance(node, ast.FunctionDef) or node.name != "training_step":
        return False
    return [a.arg for a in node.args.args[:1]] == ["self"]


def without_imports_of(program: str, package: str) -> str:
    """The program with the names that it imports of a package left to its reader; its lines keep their
    numbers.
    """
    lines = program.split("\n")
    for node in walk(tree_of(program)):
        if _imports(node, package):
            first, last = node.lineno - 1, node.end_lineno or node.lineno
            lines[first:last] = [" " * node.col_offset + "pass"] + [""] * (last - first - 1)
    return "\n".join(lines)


def _imports(node: ast.AST, package: str) -> TypeGuard[ast.Import | ast.ImportFrom]:
    match node:
        case ast.Import(names=names):
            return [alias.name.partition(".")[0] for alias in names] == [package]
        case ast.ImportFrom(module=str(module), level=0):
            return module.partition(".")[0] == package
    return False


def _asked_in(tree: ast.AST) -> set[str]:
    return {n.attr for n in walk(tree) if isinstance(n, ast.Attribute)}


def _are_read_early(tree: ast.Module) -> bool:
    """Whether its top level reads a name before it binds it: somebody has to bring that."""
    bound: set[str] = set()
    ahead = {n for statement in extraction.statements(tree) for n in statement.binds}
    for statement in extraction.statements(tree):
        if statement.needs & (ahead - bound):
            return True
        bound |= statement.binds
    return False


def _is_given_anew(tree: ast.Module) -> bool:
    """Whether the first line that binds a name reads it: ``model, dl = prepare(model, dl)``."""
    bound = {*vars(builtins)}
    for statement in tree.body:
        stored = _bound_in(statement)
        if isinstance(statement, ast.Assign):
            given = walk(statement.value)
            read = {n.id for n in given if isinstance(n, ast.Name)}
            own = _bound_in(statement.value) | {n.arg for n in given if isinstance(n, ast.arg)}
            if read & stored - bound - own:
                return True
        bound |= stored
    return False


def _bound_in(tree: ast.AST) -> set[str]:
    found = {n.id for n in walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            found.add(node.name)
        elif isinstance(node, ast.Import | ast.ImportFrom):
            found |= {(a.asname or a.name).partition(".")[0] for a in node.names}
    return found


def free_names(program: str) -> frozenset[str]:
    """Names that the program reads and nobody in it binds; none where it imports everything of a
    module, which may bind any of them.
    """
    if any(
        isinstance(n, ast.ImportFrom) and n.names[0].name == "*" for n in walk(tree_of(program))
    ):
        return frozenset()
    top = symtable.symtable(program, "<candidate>", "exec")
    bound = {s.get_name() for s in top.get_symbols() if s.is_assigned() or s.is_imported()}
    read: set[str] = set()
    waiting = [top]
    while waiting:
        table = waiting.pop()
        waiting += table.get_children()
        for symbol in table.get_symbols():
            if symbol.is_declared_global() and symbol.is_assigned():
                bound.add(symbol.get_name())
            elif symbol.is_referenced() and (table is top or symbol.is_global()):
                read.add(symbol.get_name())
    return frozenset(n for n in read - bound if not hasattr(builtins, n) and n not in _OF_A_MODULE)


def trains(tree: ast.Module) -> bool:
    """Whether what runs at module level comes to a backward in the end, by the names that it uses."""
    defined: dict[str, list[ast.AST]] = {}
    for name, node in _definitions(tree):
        defined.setdefault(name, []).append(node)
    started = bool(STARTS & _asked_in(tree))
    due: list[ast.AST] = [s for s in tree.body if not isinstance(s, NOT_CODE)]
    seen: set[int] = set()
    while due:
        names = _names_in(due.pop())
        if names & (GOES_BACK | ENGINES) or (started and names & TRAINERS):
            return True
        for found in (node for name in names for node in defined.get(name, ())):
            if id(found) not in seen:
                seen.add(id(found))
                due.append(found)
    return False


def _definitions(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """What each name may stand for."""
    for node in walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node
            for name in set[str]().union(*map(_names_in, node.decorator_list)):
                yield name, node  # ``@app.command()``: whoever calls app
        elif isinstance(node, ast.ImportFrom):
            for one in node.names:  # ``from loops import train_vanilla as train``
                yield one.asname or one.name, ast.Name(one.name)


def _names_in(code: ast.AST) -> set[str]:
    """Names and attributes that it reads; of a class only what runs when one is made or called."""
    if isinstance(code, ast.ClassDef):
        special = ("__init__", "__call__", "__post_init__", "forward")
        parts = [s for s in code.body if getattr(s, "name", "") in special]
        bases = set().union(*map(_names_in, code.bases))
        return bases.union(*map(_names_in, parts))
    found: set[str] = set()
    for node in walk(code):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Name):
            found.add(node.id)
    return found
