"""Whether what went wrong has to do with what was lent: the block runs again with another model, other
data and another seed. What comes out the same there is its author's. Pure.
"""

import ast
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from harness.checking.errors import (
    asks_the_machine,
    lent_names,
    names_in,
    of_the_machine,
    touched_by,
)
from harness.checking.session import BlockInContext
from harness.domain.trace import Program as Ended
from harness.sandbox.names.table import table
from harness.syntax import dotted, walk

MARKER = "harness-check asserts"
_OF_A_LOOP = "backward before"
"""How a run is noted that goes back where the block does not: what it finds then is our doing."""
_OF_GRADIENTS = re.compile(r"\.grad\b|clip|norm|backward|step\(|no_grad")
"""What a backward of ours, before the block, may have to do with."""
_OF_USE = re.compile(
    r"through the graph a second time|does not require grad|mutually exclusive|shuffle option"
    r"|has been removed|is not supported|expects number of|more than one parameter group|tried to step"
    r"|inplace operation|leaf variable|sum of input lengths|missing key\(|unexpected key\(",
    re.IGNORECASE,
)
"""What libraries say about how they are used, and not about the shape of what they are given."""
_NO_GRAPH = "does not require grad"
_STATED = frozenset({"settings", "optimizer", "optimizers", "scheduler", "scaler", "accelerator"})
"""Roles of what is lent with values of ours that no other world changes."""


@dataclass(frozen=True, slots=True)
class Doubt:
    """An error that may be the author's or that of what was lent."""

    ended: Ended
    """How the block ended."""
    asked: BlockInContext
    """What to run elsewhere: where it failed an assertion, one that prints what it compares."""
    is_identity: bool = False
    """Whether it asserts of two values of what was lent that they are related: no value is expected."""


def doubt_about(ended: Ended, program: BlockInContext) -> Doubt | None:
    """``None`` where there is no error, or where other worlds could not tell whose it is."""
    if ended.outcome != "raised" or not program.is_own(ended.line) or ended.calls:
        return None
    said = ended.message or ""
    if of_the_machine(said) or asks_the_machine(ended, program):
        return None
    if _NO_GRAPH in said and not _shows_a_model(program):
        return None  # whether what is lent requires a gradient is ours
    if any(_OF_A_LOOP in note for note in ended.bound) and _OF_GRADIENTS.search(program.text):
        return None
    if ended.exception == "AssertionError":
        return _doubt_about_assertion(ended, program)
    return Doubt(ended, program) if ended.during and _OF_USE.search(said) else None


def _shows_a_model(program: BlockInContext) -> bool:
    named = any(table().role(name) == "model" for name in names_in(program.tree))
    return named or "Module" in program.text or ".parameters(" in program.text


def error_everywhere(doubt: Doubt, others: Sequence[Ended], program: BlockInContext) -> str | None:
    """The error in words, where every other world raises the same about the same values."""
    first = doubt.ended
    came = [one for one in others if not _stops_before(one, first)]
    if not came or any(_how(one) != _how(first) for one in came):
        return None
    told = first.message or ""
    if first.exception == "AssertionError":
        values = [_compared(one.texts) for one in came]
        if len(came) < 2 or None in values or (len({*values}) != 1 and not doubt.is_identity):
            return None
        told = f"it is {values[0]}"
    said = told.split("\n")[0]
    return f"line {program.place(first.line or 0)} raises {first.exception}: {said}"


def _stops_before(other: Ended, first: Ended) -> bool:
    """Whether it never came as far there: what is lent does not fit."""
    if other.outcome != "raised":
        return other.outcome == "unbound"
    within = (
        other.line == first.line and other.during != first.during
    )  # the line does several things
    return (other.line or 0) < (first.line or 0) or (within and first.exception != "AssertionError")


def _how(ended: Ended) -> tuple[str | None, int | None, str]:
    said = "" if ended.exception == "AssertionError" else ended.message or ""
    found = _OF_USE.search(said)  # the rest names parts of what was lent
    return ended.exception, ended.line, found[0].lower() if found else ""


def _compared(texts: Sequence[str]) -> str | None:
    for text in texts:
        for line in text.split("\n"):
            if line.startswith(MARKER):
                found = line.removeprefix(MARKER).strip()
                return None if " at 0x" in found else found
    return None


def _doubt_about_assertion(ended: Ended, program: BlockInContext) -> Doubt | None:
    line = ended.line or 0
    found = (n for n in walk(program.tree) if isinstance(n, ast.Assert))
    node = next((n for n in found if n.lineno <= line <= (n.end_lineno or 0)), None)
    operands = list(_operands(node.test)) if node is not None else []
    lent = lent_names(program)
    touched = touched_by(program.tree, lent)
    if node is None or not operands or any(_is_stated(one, lent) for one in operands):
        return None
    if any(_is_count(one) for one in operands) and any(names_in(one) & touched for one in operands):
        return None
    counted = [*operands, *_behind(operands, program.tree)]
    if any(_sizes(one, touched) for one in counted) or names_in(node) & _of_unknown(program, lent):
        return None  # how many there are of what was lent, and how they are batched, is ours
    identity = len(operands) > 1 and all(names_in(one) & touched for one in operands)
    if len(operands) == 1 and not _does_something(program):
        return None  # what was lent is as it was lent
    return Doubt(ended, _asking(program, node, operands), identity)


def _behind(operands: Sequence[ast.expr], tree: ast.Module) -> list[ast.expr]:
    """What the names of operands were assigned."""
    names = {name for one in operands for name in names_in(one)}
    made = (n for n in walk(tree) if isinstance(n, ast.Assign))
    return [n.value for n in made if names & {dotted(target) for target in n.targets}]


def _of_unknown(program: BlockInContext, lent: set[str]) -> set[str]:
    """Names that hold what a class made of which nobody knows what it does: ``DropPath(0.5)``."""
    classes = {n for n in lent if n[:1].isupper() and not n.isupper()}
    return touched_by(program.tree, classes) if classes else set()


def _sizes(node: ast.expr, touched: set[str]) -> bool:
    """Whether it asks how many there are of what was lent: ``len(loader)``, ``images.shape``."""
    calls = [n for n in walk(node) if isinstance(n, ast.Call)]
    asked = [a for call in calls if dotted(call.func) == "len" for a in call.args]
    asked += [n.value for n in walk(node) if isinstance(n, ast.Attribute) and n.attr in _SIZES]
    return any(names_in(n) & touched for n in asked)


_SIZES = ("shape", "ndim", "size", "numel")


def _does_something(program: BlockInContext) -> bool:
    """Whether the block itself does something before it asserts."""
    idle = (ast.Assert, ast.Import, ast.ImportFrom)
    return any(program.is_own(n.lineno) and not isinstance(n, idle) for n in program.tree.body)


def _asking(
    program: BlockInContext, node: ast.Assert, operands: Sequence[ast.expr]
) -> BlockInContext:
    """The program with an assertion that prints its operands first, evaluated once."""
    asks = (
        f"_seen_ = [{', '.join(map(ast.unparse, operands))}]",
        f"print({MARKER!r}, ' and '.join(map(repr, _seen_)).replace(chr(10), ' '))",
        f"assert {ast.unparse(_Numbered(operands).visit(node.test))}",
    )
    lines = program.text.split("\n")
    first, last = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    head = lines[first].encode()[: node.col_offset].decode()
    rest = lines[last].encode()[node.end_col_offset or 0 :].decode()
    lines[first : last + 1] = [head + "; ".join(asks) + rest] + [""] * (last - first)
    return replace(program, text="\n".join(lines))


def _operands(test: ast.expr) -> Iterator[ast.expr]:
    """What an assertion compares; nothing where that is more than a comparison."""
    if isinstance(test, ast.UnaryOp):
        yield from _operands(test.operand)
    elif isinstance(test, ast.Compare):
        yield from (test.left, *test.comparators)
    elif isinstance(test, ast.Attribute | ast.Name) or dotted(getattr(test, "func", test)) in (
        "all",
        "any",
    ):
        yield test
    elif isinstance(test, ast.Call) and not any(isinstance(a, ast.Starred) for a in test.args):
        yield from test.args


def _is_count(node: ast.expr) -> bool:
    """Whether it is a whole number: how many there are of what was lent is ours."""
    return isinstance(node, ast.Constant) and type(node.value) is int and node.value > 0


def _is_stated(node: ast.expr, lent: set[str]) -> bool:
    """Whether it reads what is lent with a value of ours: ``optimizer.defaults["momentum"]``."""
    for name in (n.id for n in walk(node) if isinstance(n, ast.Name)):
        if name in lent:
            found = table().find(name)
            if found is None or found.kind == "numbers" or found.role in _STATED:
                return True
    return False


class _Numbered(ast.NodeTransformer):
    """Puts what was computed before in the place of what computed it."""

    def __init__(self, found: Sequence[ast.expr]) -> None:
        self._places = {id(one): n for n, one in enumerate(found)}

    def visit(self, node: ast.AST) -> ast.AST:
        """``_seen_[0]`` for the first of them."""
        place = self._places.get(id(node))
        if place is None:
            return self.generic_visit(node)
        return ast.Subscript(ast.Name("_seen_", ast.Load()), ast.Constant(place), ast.Load())
