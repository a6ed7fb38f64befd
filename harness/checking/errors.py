"""Whose error it is that ended a block. An error is ours until something shows that it is its
author's, and three things do. Pure.

- The line *writes* the name or the argument that an installed library does not have.
- The program is *closed*: nothing in it was lent, left out, stood in for or guessed.
- A library says of its *use* what hangs on nothing that it is given ("mutually exclusive").

The last two count where the error comes again with another seed, and another model and other data as
far as the block leaves these open.
"""

import ast
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeGuard

from harness.checking.session import (
    BlockInContext,
    is_bare,
    is_here,
    is_real,
    last_of,
    leaves_out,
    names_of_module,
    packages_of,
    release,
)
from harness.domain.trace import Program as Ended
from harness.extraction.names import bound_names, free_names, statements
from harness.sandbox.names.table import libraries
from harness.syntax import dotted, tree_of, walk

_TYPES = frozenset({
    "AssertionError", "TypeError", "AttributeError", "ValueError", "ImportError", "KeyError",
    "IndexError", "RuntimeError", "ZeroDivisionError", "UnboundLocalError", "NotImplementedError",
    "UnpicklingError", "ModuleNotFoundError", "MisconfigurationException",
})  # fmt: skip
"""Types of errors that may be the author's; those of files and networks are the machine's."""
_OF_A_KIND = ("TypeError", "AttributeError", "KeyError")
"""Errors that say that an object is another one than was meant."""
_OF_THE_MACHINE = re.compile(
    r"cuda|world size|\brank|mesh|nvidia|gpu|\bxpu\b|\bmps\b|nccl|process group|accelerate state"
    r"|network"
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
_REFUSED = re.compile(
    r"^(?P<callee>[\w.]+)\(\) (?:got an unexpected keyword argument '(?P<name>\w+)'"
    r"|missing \d+ required|takes (?:from )?\d+ )"
)
BACKENDS = {
    "npu": "torch_npu", "mlu": "torch_mlu", "hpu": "habana_frameworks", "musa": "torch_musa"
}  # fmt: skip
"""Devices, and the packages that put a module of that name into torch."""
_NOT_THERE = tuple(
    map(
        re.compile,
        (
            r"module '(?P<module>[\w.]+)' has no attribute '(?P<name>\w+)'",
            r"cannot import name '(?P<name>\w+)' from '(?P<module>[\w.]+)'",
            r"No module named '(?P<module>\w+(?:\.\w+)*)\.(?P<name>[a-z]\w*)'$",
        ),
    )
)
_PATH = re.compile(r" \(/[^()]*\)$")
"""Where a module lies on this machine."""
_OF_USE = re.compile(
    r"mutually exclusive|shuffle option|has been removed|is not supported|weights only load failed"
    r"|unscale_\(\) (?:has already been|is being) called|step\(\) has already been|_scale is none",
    re.IGNORECASE,
)
"""What libraries say of options that exclude each other, of what they no longer do, and of how often a
scaler was called: nothing about what they are given, nor about the graph that it comes with.
"""
_OF_HOOKS = re.compile(
    r"^Support for `\w+` has been removed|^Training with multiple optimizers is only supported"
)
"""What a Trainer of Lightning says of a module whose hooks it does not take."""
_OF_A_SCALER = re.compile(r"unscale_\(\)|step\(\) has|_scale is None")
_OF_A_LOOP = "backward before"
"""How a run is noted that goes back where the block does not: what it finds then is our doing."""
_OF_AN_ABSENT_FILE = re.compile(r"by chance|as it was initialised$|nothing stands in it$")
"""How a run notes what it was lent for a file that is not here."""
_STANDING_IN = frozenset(
    {"from_pretrained", "from_config", "from_name", "load", "load_dataset", "pipeline"}
)
"""Calls that return what stands in for something from a hub or a file."""


def authors_error(
    ended: Ended, program: BlockInContext, again: Callable[[], Sequence[Ended]]
) -> str | None:
    """The error in words, where it is the author's; ``None`` where it is not, or there is none.
    ``again``: how the program ends with other things lent, and with another seed.
    """
    said = (ended.message or "").split("\n")[0]
    if ended.outcome == "raised" and _is_refused_by_a_trainer(ended, program):
        return f"a Trainer that fits it raises {ended.exception}: {said.partition('. ')[0]}"
    if ended.outcome != "raised" or ended.exception not in _TYPES or not program.is_own(ended.line):
        return None
    shown = _is_written(ended, said, program)
    if not shown and (_is_closed_error(ended, said, program) or _is_of_use(ended, program)):
        shown = _comes_again(ended, again())
    if not shown:
        return None
    installed = _installed(said, program)
    said = _PATH.sub("", said.partition(". This file can still be loaded")[0])
    message = f"{ended.exception}: {said}" if said else f"{ended.exception}"
    return f"line {program.place(ended.line or 0)} raises {message}{installed}"


def of_the_machine(said: str) -> bool:
    """Whether a message speaks of what this machine does not have."""
    return _OF_THE_MACHINE.search(said) is not None


def is_closed(program: BlockInContext) -> bool:
    """Whether nothing in a program was lent, left out, stood in for or guessed."""
    return not lent_names(program) & names_in(program.tree) and not has_gaps(program)


def has_gaps(program: BlockInContext) -> bool:
    """Whether its author left something out that its reader has to think of: ``...``."""
    return any(
        leaves_out(n) or (isinstance(n, ast.Call) and _leaves_arguments_out(n))
        for n in walk(program.tree)
    )


def writes_all(call: ast.Call) -> bool:
    """Whether all of its arguments stand there: none is spread, and none left to think of (``...``)."""
    spread = any(isinstance(a, ast.Starred) for a in call.args)
    spread = spread or any(k.arg is None for k in call.keywords)
    values = [*call.args, *(k.value for k in call.keywords)]
    return not spread and not any(isinstance(v, ast.Constant) and v.value is ... for v in values)


def _is_refused_by_a_trainer(ended: Ended, program: BlockInContext) -> bool:
    """Whether Lightning refuses a module that is shown, for the hooks that it has, where we let a
    Trainer fit it.
    """
    ours = ended.line is not None and not program.place(ended.line)
    return ours and _OF_HOOKS.search(ended.message or "") is not None


# ------------------------------------------------------------------------------- written


def _is_written(ended: Ended, said: str, program: BlockInContext) -> bool:
    """Whether the line writes what an installed library, or the block, shows not to be there."""
    line = ended.line or 0
    at = [n for n in walk(program.tree) if _is_at(n, line)]
    unsure = program.granted | (program.guessed & {*imported(program.tree)})
    if unsure & {n.id for n in at if isinstance(n, ast.Name)}:
        return False  # it may mean another library
    if (there := _not_there(said)) is not None:
        module, name = there
        package = module.partition(".")[0]
        within = module.startswith("torch._C") or not is_real(package)
        depends = name in names_of_module(module)  # on what else is installed
        written = any(name in _names_written(n) for n in at)
        stands_for_some = len(name) == 1  # ``nn.X``: its reader chooses one
        theirs = any(_is_of_the_absent(n, name, program) for n in at)
        doubtful = within or depends or stands_for_some or theirs
        return written and not (doubtful or name in BACKENDS)
    found = _REFUSED.match(said) if ended.exception == "TypeError" else None
    return found is not None and _is_refused(found, at, ended, program)


def _is_refused(
    said: re.Match[str], at: Sequence[ast.AST], ended: Ended, program: BlockInContext
) -> bool:
    """Whether nodes of the line that raised call what takes no such argument."""
    callee, _, method = said["callee"].partition(".")
    elsewhere, defined = callee in _elsewhere(program), callee in _defined(program.tree)
    if method in ("", "__init__") and said["name"]:
        calls = [n for n in at if isinstance(n, ast.Call) and last_of(n.func) == callee]
        named = any(said["name"] in [k.arg for k in call.keywords] for call in calls)
        theirs = defined or all(_is_of_what_is_here(call, program) for call in calls)
        return named and theirs and not elsewhere
    if method in ("", "__init__") and "missing" in said[0]:
        lacks = any(_leaves_out_an_argument(n, callee, program) for n in at)
        return lacks and not (defined or elsewhere)
    if any(_is_asked_of(callee, method, n, program) for n in at):
        return True
    calls_it = (ended.during or "harness").partition(".")[0] != "harness"  # a library does
    return defined and calls_it and not elsewhere


def _leaves_out_an_argument(node: ast.AST, callee: str, program: BlockInContext) -> bool:
    """Whether it calls a library by name with arguments that are all written: ``torch.autocast()``."""
    if not isinstance(node, ast.Call) or last_of(node.func) != callee or not writes_all(node):
        return False
    known = dotted(node.func).partition(".")[0] in imported(program.tree)
    return known and _is_of_what_is_here(node, program)


def _is_of_what_is_here(call: ast.Call, program: BlockInContext) -> bool:
    """Whether it calls nothing of a package that is not installed."""
    path = imported(program.tree).get(dotted(call.func).partition(".")[0], "")
    return not path or is_here(path.partition(".")[0])


def _is_of_the_absent(node: ast.AST, name: str, program: BlockInContext) -> bool:
    """Whether it asks a package for a name that is not installed: ``from mxnet.gluon import nn``."""
    if not isinstance(node, ast.Attribute) or node.attr != name:
        return False
    path = imported(program.tree).get(dotted(node).partition(".")[0], "")
    return bool(path) and not is_here(path.partition(".")[0])


def _is_asked_of(callee: str, method: str, node: ast.AST, program: BlockInContext) -> bool:
    """Whether it calls a method of what the page makes of a library's class, and of nothing else:
    ``plateau.step()`` after ``plateau = ReduceLROnPlateau(optimizer)``.
    """
    if not isinstance(node, ast.Call) or last_of(node.func) != method or not method:
        return False
    name = dotted(node.func).partition(".")[0]
    made = [n for n in walk(program.tree) if isinstance(n, ast.Assign) and name in _bound_by(n)]
    calls = [n.value for n in made if isinstance(n.value, ast.Call)]
    named = {*imported(program.tree)}
    known = all(
        last_of(c.func) == callee
        and dotted(c.func).partition(".")[0] in named
        and _is_of_what_is_here(c, program)
        for c in calls
    )
    return bool(made) and len(calls) == len(made) and known and name not in lent_names(program)


def _is_at(node: ast.AST, line: int) -> bool:
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", 0) or 0
    return first <= line <= last and not isinstance(node, _BLOCKS)


_BLOCKS = (
    ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.For, ast.While, ast.With, ast.If, ast.Try,
)  # fmt: skip


def _names_written(node: ast.AST) -> set[str]:
    """Names that a node asks a module for."""
    if isinstance(node, ast.Attribute):
        return {node.attr}
    if isinstance(node, ast.ImportFrom):
        parts = (node.module or "").split(".")
        return {*parts, *(alias.name for alias in node.names)}
    return {part for a in node.names for part in a.name.split(".")} if _imports(node) else set()


def _imports(node: ast.AST) -> TypeGuard[ast.Import]:
    return isinstance(node, ast.Import)


def _not_there(said: str) -> tuple[str, str] | None:
    """Which module has no such name, and the name."""
    found = next((m for pattern in _NOT_THERE if (m := pattern.match(said))), None)
    return (found["module"], found["name"]) if found is not None else None


def _elsewhere(program: BlockInContext) -> set[str]:
    """What other blocks of the page define."""
    return _defined(tree_of("\n".join(program.text.split("\n")[: program.own])))


def _defined(tree: ast.Module) -> set[str]:
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return {node.name for node in walk(tree) if isinstance(node, kinds)}


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
    if found := _REFUSED.match(said):
        paths = imported(program.tree)
        for node in walk(program.tree):
            path = dotted(node.func) if isinstance(node, ast.Call) else ""
            if path and path.rpartition(".")[2] == found["callee"].partition(".")[0]:
                top = paths.get(path.partition(".")[0], "").partition(".")[0]
                return f" ({release(top)})" if top and top != path else ""
    return ""


# ------------------------------------------------------------------------------- closed, and of use


def _is_closed_error(ended: Ended, said: str, program: BlockInContext) -> bool:
    """Whether nothing but the page had a part in an error. Of which kind an object of another block, or
    of a library that no block imports, is by now, nobody knows: others may have changed it, or mean
    another by that name.
    """
    if ended.calls or not is_closed(program) or _is_of_the_machine(ended, program):
        return False
    if any(map(_OF_AN_ABSENT_FILE.search, ended.bound)):
        return False
    if _not_there(said) or ended.exception in ("ImportError", "ModuleNotFoundError"):
        return False  # a library asked for it
    if "'function' object" in said:
        return False  # what bears a function's name is another thing
    before = tree_of("\n".join(program.text.split("\n")[: program.own]))
    imports = (ast.Import, ast.ImportFrom)
    made = bound_names(tuple(s for s in statements(before) if not isinstance(s.node, imports)))
    unsure = {*made, *program.granted}
    return ended.exception not in _OF_A_KIND or not _touches(ended.line or 0, program, unsure)


def _is_of_use(ended: Ended, program: BlockInContext) -> bool:
    said = ended.message or ""
    if ended.calls or not ended.during or not _OF_USE.search(said):
        return False
    if _elsewhere(program) & {*re.findall(r"\w+", said)}:
        return False  # it speaks of what another block defines
    if _is_of_the_machine(ended, program) or any(_OF_A_LOOP in note for note in ended.bound):
        return False
    return not _OF_A_SCALER.search(said) or _shows_its_scaler(said, program)


def goes_back_from(nodes: Sequence[ast.AST], names: Collection[str]) -> bool:
    """Whether one of these is ``loss.backward()`` of one of these names."""
    asked = (n for n in nodes if isinstance(n, ast.Attribute) and n.attr == "backward")
    return any(dotted(n.value) in names for n in asked)


def _comes_again(first: Ended, others: Sequence[Ended]) -> bool:
    """Whether every other run raises the same; one that what is lent does not fit says nothing."""
    came = [one for one in others if not _stops_before(one, first)]
    return bool(came) and all(_how(one) == _how(first) for one in came)


def _stops_before(other: Ended, first: Ended) -> bool:
    if other.outcome != "raised":
        return other.outcome == "unbound"
    within = other.line == first.line and other.during != first.during
    return (other.line or 0) < (first.line or 0) or within


def _how(ended: Ended) -> tuple[str | None, int | None, str]:
    found = _OF_USE.search(ended.message or "")  # the rest names parts of what was lent
    return ended.exception, ended.line, found[0].lower() if found else ""


def _is_of_the_machine(ended: Ended, program: BlockInContext) -> bool:
    """Whether the message, or the line, speaks of what differs from machine to machine."""
    lines = program.text.split("\n")
    at = (ended.line or 0) - 1
    line = lines[at] if 0 <= at < len(lines) else ""
    return of_the_machine(ended.message or "") or _DEVICE.search(line) is not None


_DEVICE = re.compile(
    r"\bcuda\b|\bnccl\b|\bgpus?\b|environ\b|\bgetenv\b|\bargv\b|\bsys\.modules\b", re.IGNORECASE
)
"""What a line asks of the machine: devices, how it was started, and what is loaded in it."""


def _shows_its_scaler(said: str, program: BlockInContext) -> bool:
    """Whether nothing is left out that a GradScaler could have been called with in between."""
    own = "\n".join(program.text.split("\n")[program.own :])
    if "called" in said:
        return ".update(" in own or own.count(".unscale_(") > 1
    return all(call in own for call in (".backward(", ".step(", ".update("))


# ------------------------------------------------------------------------------- what was lent


def _touches(line: int, program: BlockInContext, names: set[str]) -> bool:
    """Whether names may have had a part in a statement; of a definition nobody knows."""
    touched = touched_by(program.tree, names) if names else set()
    at = [s for s in program.tree.body if s.lineno <= line <= (s.end_lineno or 0)]
    return not at or bool(names_in(at[0]) & touched)


def _leaves_arguments_out(call: ast.Call) -> bool:
    """Whether a call is a sketch: ``profile(...)``."""
    return any(isinstance(a, ast.Constant) and a.value is ... for a in call.args)


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
        elif isinstance(node, ast.Assign) and (
            leaves_out(node) or _asks_the_machine(node) or _stays_empty(node, tree)
        ):
            lent |= set(_bound_by(node))
        elif isinstance(node, ast.Call) and dotted(node.func).rpartition(".")[2] in _STANDING_IN:
            lent.add(dotted(node.func).partition(".")[0])
    return lent


def _stays_empty(node: ast.Assign, tree: ast.Module) -> bool:
    """``state = {}`` that nothing fills: its reader has to think of what is in it."""
    if not isinstance(node.value, ast.Dict) or node.value.keys:
        return False
    names = {t.id for t in node.targets if isinstance(t, ast.Name)}
    asked = (n for n in walk(tree) if isinstance(n, ast.Attribute | ast.Subscript))
    filled = (n for n in asked if isinstance(n, ast.Attribute) or isinstance(n.ctx, ast.Store))
    added = (n.target for n in walk(tree) if isinstance(n, ast.AugAssign))
    return not names & {dotted(n).partition(".")[0] for n in (*(f.value for f in filled), *added)}


def _asks_the_machine(node: ast.Assign) -> bool:
    """``used = torch.cuda.memory_allocated()``: 0 here; ``key = os.getenv(...)``: not set."""
    return any(
        _OF_A_DEVICE.match(dotted(n.func)) for n in walk(node.value) if isinstance(n, ast.Call)
    )


_OF_A_DEVICE = re.compile(
    r"torch\.cuda\.(?:\w*mem\w*|get_device\w*|device_count)$|(?:os\.)?(?:getenv|environ\.\w+)$"
)


def _is_sketched(node: ast.AST) -> TypeGuard[ast.ClassDef]:
    """Whether a class leaves out how it is made, and uses what that would have made; or is a module
    that shows no more than that.
    """
    if not isinstance(node, ast.ClassDef):
        return False
    shown = {n.name for n in node.body if isinstance(n, ast.FunctionDef)}
    if shown <= {"__init__"} and any(last_of(base) == "Module" for base in node.bases):
        return True
    if "__init__" in shown:
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
