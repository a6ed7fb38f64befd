"""Whose error it is that ended a block: its author's, or that of what was lent to it. Pure.

An error is the author's where the call that raised it proves so by itself (an argument that a library
does not take, a name that a module does not have), or where nothing that was lent had a part in the
statement that raised it.
"""

import ast
import re
from collections.abc import Iterator
from typing import TypeGuard

from harness.checking.session import (
    BlockInContext,
    is_bare,
    is_here,
    is_real,
    last_of,
    leaves_out,
    packages_of,
    release,
)
from harness.domain.trace import Program as Ended
from harness.extraction.names import bound_names, free_names, statements
from harness.sandbox.names.table import libraries
from harness.skills.kinds import uses
from harness.syntax import dotted, tree_of, walk

_TYPES = frozenset({
    "AssertionError", "TypeError", "AttributeError", "ValueError", "ImportError", "KeyError",
    "IndexError", "RuntimeError", "ZeroDivisionError", "UnboundLocalError", "NotImplementedError",
    "UnpicklingError", "ModuleNotFoundError",
})  # fmt: skip
"""Types of errors that may be the author's; those of files and networks are the machine's."""
_OF_THE_MACHINE = re.compile(
    r"cuda|world size|\brank|mesh|nvidia|gpu|\bxpu\b|\bmps\b|nccl|process group|network"
    r"|connect|download|offline"
    r"|no such file|existing \w+ (?:config|file)|to be installed|not installed"
    r"|pip install|token|not implemented for|triton|c\+\+|compil"
    r"|out of memory|allocate memory|not available|environment variable|could not be found"
    r"|\bhub\b|not attached to"
    r"|workers"
    r"|\b(?:Inert|Spy)\b",
    re.IGNORECASE,
)
"""Messages about what this machine does not have."""
_CALL = re.compile(
    r"^(?P<callee>[\w.]+)\(\) (?:got an unexpected keyword argument|got multiple values for argument"
    r"|missing \d+ required|takes (?:from )?\d+ )"
)
_NOT_THERE = tuple(
    map(
        re.compile,
        (
            r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'",
            r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'",
            r"No module named '(?P<module>\w+(?:\.\w+)*)\.(?P<name>[a-z]\w*)'",
        ),
    )
)
_PATH = re.compile(r" \(/[^()]*\)$")
"""Where a module lies on this machine."""
_PROTOCOL = re.compile(
    r"unscale_\(\) (?:has already been|is being) called|step\(\) has already been"
)
"""What a GradScaler says of calls out of order; a block that leaves its update out has not called it
twice.
"""
_NOTHING_SCALED = re.compile(r"_scale is None|No inf checks were recorded")
"""What it says where a block goes back without its scale, or updates that without a step."""
_NO_ATTRIBUTE = re.compile(
    r"^(?:'(?P<name>\w+)' object|type object '(?P<type>\w+)') has no attribute"
)
_STANDING_IN = frozenset(
    {"from_pretrained", "from_config", "from_name", "load", "load_dataset", "pipeline"}
)
"""Calls that return what stands in for something from a hub or a file."""


def authors_error(ended: Ended, program: BlockInContext) -> str | None:
    """The error in words, where it is the author's; ``None`` where it is not, or there is none."""
    if ended.outcome != "raised" or ended.exception not in _TYPES or not program.is_own(ended.line):
        return None
    said = (ended.message or "").split("\n")[0]
    if _leaves_arguments_out(program, ended.line or 0) or _means_another(ended, program):
        return None
    if "'NoneType'" in said and _reads_a_gradient_from_elsewhere(ended.line or 0, program):
        return None
    if (found := _CALL.match(said)) and found["callee"].partition(".")[0] in _elsewhere(program):
        return None  # another block's function of that name may take other arguments
    proven = _is_proven(ended, said, program) or _uses_nothing(ended.line or 0, said, program)
    if proven or _is_untouched(ended, said, program):
        installed = _installed(said, program)
        said = _PATH.sub("", said.partition(". This file can still be loaded")[0])
        message = f"{ended.exception}: {said}" if said else f"{ended.exception}"
        return f"line {program.place(ended.line or 0)} raises {message}{installed}"
    return None


def _reads_a_gradient_from_elsewhere(line: int, program: BlockInContext) -> bool:
    """Whether it reads a gradient of what the page made before: another block may have gone back."""
    own = [s for s in program.tree.body if program.is_own(s.lineno) and s.lineno <= line]
    nodes = [n for s in own for n in walk(s)]
    made = {dotted(t) for n in nodes if isinstance(n, ast.Assign) for t in n.targets}
    read = [n for n in nodes if isinstance(n, ast.Attribute) and n.attr == "grad"]
    return not any(uses(s).goes_back for s in own) and any(
        n.lineno == line and dotted(n.value).partition(".")[0] not in made for n in read
    )


def _leaves_arguments_out(program: BlockInContext, line: int) -> bool:
    """Whether a call on that line is a sketch: ``profile(...)``."""
    return any(
        isinstance(argument, ast.Constant) and argument.value is ...
        for node in walk(program.tree)
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or 0)
        for argument in node.args
    )


def _means_another(ended: Ended, program: BlockInContext) -> bool:
    """Whether an object of the page lacks what a class that the block shows has, is what another block
    has made of a library (``model = nn.Linear(8, 2)``), or bears the name of a function by chance.
    """
    said = (ended.message or "").split("\n")[0]
    found = _NO_ATTRIBUTE.match(said)
    if found is None:
        return False
    attribute = said.rpartition(" ")[2].strip("'")
    own = "\n".join(program.text.split("\n")[program.own :])
    kind, tree = found["name"] or found["type"], program.tree
    made = [n.lineno for n in walk(tree) if isinstance(n, ast.Call) and last_of(n.func) == kind]
    here = any(program.is_own(line) and line <= (ended.line or 0) for line in made)
    elsewhere = made and kind not in _defined(tree) and not here
    return f"self.{attribute} = " in own or bool(elsewhere) or kind == "function"


def of_the_machine(said: str) -> bool:
    """Whether a message speaks of what this machine does not have."""
    return _OF_THE_MACHINE.search(said) is not None


def _elsewhere(program: BlockInContext) -> set[str]:
    """What other blocks of the page define."""
    return _defined(tree_of("\n".join(program.text.split("\n")[: program.own])))


def _is_proven(ended: Ended, said: str, program: BlockInContext) -> bool:
    exception = ended.exception
    if _PROTOCOL.search(said) or _NOTHING_SCALED.search(said):
        return _shows_its_scaler(said, program) and not program.guessed
    if exception == "UnpicklingError":
        return said.startswith("Weights only load failed")  # of a file that it wrote itself
    if (there := _not_there(said)) is not None:
        module, name = there
        written = re.search(rf"\b{name}\b(?!['\"])", program.text)  # and not asked for within
        return (
            written is not None
            and is_here(module.partition(".")[0])
            and not module.startswith("torch._C")
        )
    if exception == "TypeError" and (found := _CALL.match(said)):
        counted = " takes " in said and found["callee"] not in _defined(program.tree)
        of_ours = counted and _touches_lent(ended.line or 0, program)  # a tensor for a number
        return not of_ours and _is_shown(found["callee"], program)
    if exception == "AttributeError" and (found := _NO_ATTRIBUTE.match(said)):
        theirs = ended.calls and _is_of_the_page(ended.line or 0, said, program)
        name = found["name"] or found["type"]
        sketched = name in {c.name for c in walk(program.tree) if _is_sketched(c) and c.bases}
        return not theirs and not sketched and name in _made(program)
    return False


def _not_there(said: str) -> tuple[str, str] | None:
    """Which module has no such name, and the name."""
    found = next((m for pattern in _NOT_THERE if (m := pattern.match(said))), None)
    return (found["module"], found["name"]) if found is not None else None


def _uses_nothing(line: int, said: str, program: BlockInContext) -> bool:
    """Whether the line uses what a function of a library returns, and that is nothing:
    ``dist.all_reduce(x) / 2``.
    """
    used: list[ast.expr] = []
    for node in (n for n in walk(program.tree) if getattr(n, "lineno", 0) == line):
        if isinstance(node, ast.BinOp):
            used += [node.left, node.right]
        elif isinstance(node, ast.Attribute | ast.Subscript):
            used.append(node.value)
    paths = {n: p for n, p in imported(program.tree).items() if is_real(p.partition(".")[0])}
    return "'NoneType'" in said and any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and dotted(node.func).partition(".")[0] in paths
        and not any(k.arg == "async_op" for k in node.keywords)
        for node in used
    )


def _is_of_the_page(line: int, said: str, program: BlockInContext) -> bool:
    """Whether a function that nobody on the page calls asks a name of the page for what it lacks: the
    page may mean something else by that name.
    """
    attribute, bound = said.rpartition(" ")[2].strip("'"), bound_names(statements(program.tree))
    asked = (n for n in walk(program.tree) if isinstance(n, ast.Attribute) and n.lineno == line)
    return any(n.attr == attribute and dotted(n.value) in bound for n in asked)


def _shows_its_scaler(said: str, program: BlockInContext) -> bool:
    """Whether nothing is left out that a GradScaler could have been called with in between."""
    if _PROTOCOL.search(said):
        return ".update(" in program.text or program.text.count(".unscale_(") > 1
    own = "\n".join(program.text.split("\n")[program.own :])
    return all(call in own for call in (".backward(", ".step(", ".update("))


def _is_shown(callee: str, program: BlockInContext) -> bool:
    """Whether a callee is what the page defines, or makes of a library: ``StepLR.__init__``."""
    first = callee.partition(".")[0]
    return first in _defined(program.tree) or first in _made(program)


def _defined(tree: ast.Module) -> set[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in walk(tree) if isinstance(node, kinds)}


def _made(program: BlockInContext) -> set[str]:
    """What the page calls of its own or of an installed library, by the last part of its name; not
    what may be another object than the block means.
    """
    tree, paths = program.tree, imported(program.tree)
    found = set()
    certain = [s for s in tree.body if not program.guessed & {*_bound_by(s)}]
    for node in (n for s in certain for n in walk(s)):
        if isinstance(node, ast.Call):
            first, _, _ = (path := dotted(node.func)).partition(".")
            if first in _defined(tree) or is_here(paths.get(first, "?").partition(".")[0]):
                found.add(path.rpartition(".")[2])
    return found


def imported(tree: ast.Module) -> dict[str, str]:
    """Names of libraries, imported or taken for granted, with their dotted paths."""
    found = dict(libraries())
    for node in walk(tree):
        if isinstance(node, ast.Import):
            found |= {a.asname or a.name.partition(".")[0]: a.name for a in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
    return found


def _installed(said: str, program: BlockInContext) -> str:
    """`` (torch 2.13.0)``: the version of the library that refused."""
    if there := _not_there(said):
        return f" ({release(there[0].partition('.')[0])})"
    if found := _CALL.match(said):
        paths = imported(program.tree)
        for node in walk(program.tree):
            path = dotted(node.func) if isinstance(node, ast.Call) else ""
            if path and path.rpartition(".")[2] == found["callee"].partition(".")[0]:
                top = paths.get(path.partition(".")[0], "").partition(".")[0]
                return f" ({release(top)})" if top and top != path else ""
    return ""


# ------------------------------------------------------------------------------- what was lent


def _is_untouched(ended: Ended, said: str, program: BlockInContext) -> bool:
    """Whether nothing that was lent had a part in the statement that raised."""
    if of_the_machine(said) or ended.calls or asks_the_machine(ended, program):
        return False
    if _not_there(said):
        return False  # a library asked for it
    return not _touches_lent(ended.line or 0, program)


def _touches_lent(line: int, program: BlockInContext) -> bool:
    """Whether what was lent may have had a part in a statement; of a definition nobody knows."""
    lent = lent_names(program)
    if not lent:
        return False
    touched = touched_by(program.tree, lent)
    at = [s for s in program.tree.body if s.lineno <= line <= (s.end_lineno or 0)]
    return not at or bool(names_in(at[0]) & touched) or _defines(at[0])


_DEVICE = re.compile(r"\bcuda\b|\bnccl\b|\bgpus?\b|environ\b|\bgetenv\b|\bargv\b", re.IGNORECASE)
"""What a line asks of the machine: devices, and how it was started."""


def asks_the_machine(ended: Ended, program: BlockInContext) -> bool:
    """Whether the line that raised names what differs from machine to machine."""
    lines = program.text.split("\n")
    at = (ended.line or 0) - 1
    return 0 <= at < len(lines) and _DEVICE.search(lines[at]) is not None


def lent_names(program: BlockInContext) -> set[str]:
    """Names that the page does not bring: lent, or of packages that something stands in for."""
    tree = program.tree
    lent = {n for n in free_names(statements(tree)) if n not in libraries() or is_bare(n, tree)}
    lent |= program.guessed
    if "input" not in bound_names(statements(tree)):
        lent.add("input")  # it is a builtin that nobody means
    for node in walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom):
            relative = isinstance(node, ast.ImportFrom) and node.level > 0
            if relative or not all(map(is_real, packages_of(node))):
                lent |= {a.asname or a.name.partition(".")[0] for a in node.names}
        elif _is_sketched(node):
            lent.add(node.name)
        elif isinstance(node, ast.Assign) and leaves_out(node):
            lent |= set(_bound_by(node))
        elif isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in _STANDING_IN:
            lent.add(dotted(node.func).partition(".")[0])
    return lent


def _is_sketched(node: ast.AST) -> TypeGuard[ast.ClassDef]:
    """Whether a class leaves out how it is made, and uses what that would have made."""
    if not isinstance(node, ast.ClassDef) or any(
        isinstance(n, ast.FunctionDef) and n.name == "__init__" for n in node.body
    ):
        return False
    own = [
        n
        for n in walk(node)
        if isinstance(n, ast.Attribute) and isinstance(n.value, ast.Name) and n.value.id == "self"
    ]
    stored = {n.attr for n in own if isinstance(n.ctx, ast.Store)} | _defined_in(node)
    return any(n.attr not in stored for n in own)


def _defined_in(node: ast.ClassDef) -> set[str]:
    return {n.name for n in walk(node) if isinstance(n, ast.FunctionDef)}


def touched_by(tree: ast.Module, lent: set[str]) -> set[str]:
    """Names that what was lent may have reached."""
    found, before = set(lent), -1
    while len(found) != before:
        before = len(found)
        for node in walk(tree):
            if isinstance(node, ast.stmt) and names_in(node) & found:
                found |= set(_bound_by(node))
    return found


def _bound_by(node: ast.stmt) -> Iterator[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        yield node.name
        return
    for inner in walk(node):
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
        elif isinstance(inner, ast.Attribute | ast.Subscript) and isinstance(inner.ctx, ast.Store):
            yield dotted(inner.value).partition(".")[0]
        elif isinstance(inner, ast.Call) and isinstance(inner.func, ast.Attribute):
            yield dotted(inner.func).partition(".")[0]  # what is handed something may keep it


def names_in(node: ast.AST) -> set[str]:
    """Every name in a tree."""
    return {n.id for n in walk(node) if isinstance(n, ast.Name)}


def is_count_of_lent(program: BlockInContext, line: int) -> bool:
    """Whether what a line shows may count something of what was lent."""
    lent = lent_names(program)
    touched = touched_by(program.tree, lent) if lent else set()
    at = [s for s in program.tree.body if s.lineno <= line <= (s.end_lineno or 0)]
    return any(names_in(s) & touched for s in at)


def _defines(node: ast.stmt) -> bool:
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
