"""Which branches of a program a run enters, told by marks that are compiled into them.

The source that is shown, its line numbers and the program's namespace have no marks. A mark is a
constant of the code object, so there is no name by which the program could find it.
"""

import ast
import contextlib
import itertools
import os
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import CodeType, FunctionType
from typing import Any

from harness.syntax import walk

_TOKEN = f"mark {os.urandom(8).hex()}"
"""Stands in the tree for what takes the marks, until the tree is compiled."""


NUMBERS, MANY = (bool, int, float), (str, list, tuple, dict, set, range, deque)
"""Types that are looked at; the truth of a tensor on a GPU would force a synchronisation."""

MOST, LONGEST = 64, 256
"""Numbers that are looked at in a list, and gaps that are kept of one part of a condition."""


class BranchesSeen:
    """What the marks saw. The program's own code calls its methods."""

    __slots__ = ("entered", "gaps", "held", "left")

    def __init__(self) -> None:
        """Nothing was entered."""
        self.entered: set[int] = set()
        self.held: set[tuple[int, bool | None]] = set()
        self.gaps: dict[int, list[float]] = {}
        """How far each part of a condition was from turning, as often as it was asked."""
        self.left: dict[int, object] = {}
        """The left side of each comparison, where it is a number."""

    def enter(self, mark: int) -> None:
        """Note that a branch was entered."""
        self.entered.add(mark)

    def side(self, mark: int, value: object) -> object:
        """Note the left side of a comparison, and return it."""
        self.left[mark] = value if type(value) in NUMBERS else None
        return value

    def against(self, mark: int, value: object) -> object:
        """Note how far the right side is from the left one, and return it."""
        left: Any = self.left[mark]
        among: Any = value if type(value) in MANY else [value]
        numbers = [*itertools.islice(among, MOST)] if left is not None else []
        if numbers and all(type(n) in NUMBERS for n in numbers):
            with contextlib.suppress(OverflowError):  # of an integer that no float holds
                self._far(mark, max((left - n for n in numbers), key=abs))
        return value

    def hold(self, mark: int, value: object) -> object:
        """Note the value of a part of a condition, and return it. Tensors of one number are looked at;
        what the program lets answer by itself is asked once.
        """
        if isinstance(getattr(value.__class__, "__bool__", None), FunctionType):
            try:
                value = bool(value)
            except ValueError:  # a column of a table has no truth, and is an operand of `&`
                return value
        plain = _number_of(value)
        self.held.add((mark, None if plain is None else bool(plain)))
        if mark not in self.left and plain is not None:
            self._far(mark, plain if type(plain) in NUMBERS else len(plain))
        return value

    def _far(self, mark: int, gap: float) -> None:
        gaps = self.gaps.setdefault(mark, [])
        if len(gaps) < LONGEST:
            gaps.append(gap)


def _number_of(value: Any) -> Any:
    """What is looked at of a value: a plain one, or the one number of a tensor; else ``None``."""
    if (type(value).__module__, type(value).__name__) == ("torch", "Tensor"):
        with contextlib.suppress(RuntimeError):  # inside of ``vmap`` there is no number
            value = value.item() if value.device.type == "cpu" and value.numel() == 1 else None
    return value if type(value) in (*NUMBERS, *MANY) else None


@dataclass(slots=True)
class BranchCondition:
    """A condition, taken apart at ``and``, ``or`` and ``not``."""

    parts: list[tuple[ast.expr, int, bool]] = field(default_factory=list)
    """Each part, its mark, and whether it stands under a ``not``."""


@dataclass(frozen=True, slots=True)
class Branch:
    """One way through a statement or expression that a run may take."""

    mark: int | None
    """Its mark; ``None`` for a branch without code of its own: a body that is skipped, or one value
    of a comparison that is used as a number.
    """
    owner: ast.AST
    """The statement or expression that it belongs to."""
    body: Sequence[ast.AST]
    """The code that it runs, as it was written."""
    condition: BranchCondition | None = None
    """The condition that decides; ``None`` where there is none."""
    wanted: bool = True
    """The value of the condition for which the branch is taken."""
    other: int | None = None
    """Mark of the code that runs instead, if any: the body that this branch skips, or the other
    side of a conditional expression.
    """


@dataclass(slots=True)
class MarkedProgram:
    """A program with marks."""

    tree: ast.Module
    """The tree, with placeholders for the marks."""
    branches: list[Branch] = field(default_factory=list)
    """All branches, outer ones before inner ones."""
    functions: dict[ast.FunctionDef | ast.AsyncFunctionDef, int] = field(default_factory=dict)
    """Mark of each function."""
    seen: BranchesSeen = field(default_factory=BranchesSeen)
    """What the marks saw in the run."""
    marks: int = 0
    """How many were given out."""

    def compiled(self, filename: str) -> CodeType:
        """The code object, with marks in place of placeholders."""
        code: CodeType = compile(self.tree, filename, "exec", dont_inherit=True)
        return _armed(code, self.seen)

    def mark(self) -> int:
        """A new mark."""
        self.marks += 1
        return self.marks


def marked(tree: ast.Module) -> MarkedProgram:
    """Put marks into a program. Its tree is changed."""
    found = MarkedProgram(tree)
    for node in walk(tree):
        put = _PUT.get(node.__class__)
        if put is not None:
            put(found, node)
    return found


# --------------------------------------------------------------------------------------- statements


def _if(found: MarkedProgram, node: ast.If) -> None:
    condition = BranchCondition()
    arms = [(node.body, True), *([(node.orelse, False)] if node.orelse else [])]
    for body, wanted in arms:
        mark, written = found.mark(), [*body]
        found.branches.append(Branch(mark, node, written, condition, wanted))
        found.branches.append(Branch(None, node, written, condition, not wanted, other=mark))
        body.insert(0, _entering(mark, body[0]))
    node.test = _watched(found, node.test, condition)


def _bodies(found: MarkedProgram, node: Any) -> None:
    """Of a loop, a handler, a case: what runs in it, and what runs at the end of a loop."""
    condition = BranchCondition() if isinstance(node, ast.While) else None
    for body, decides in ((node.body, condition), (getattr(node, "orelse", []), None)):
        if body:
            mark, written = found.mark(), [*body]
            found.branches.append(Branch(mark, node, written, decides))
            body.insert(0, _entering(mark, body[0]))
    if condition is not None:
        node.test = _watched(found, node.test, condition)


def _function(found: MarkedProgram, node: ast.FunctionDef | ast.AsyncFunctionDef) -> None:
    mark = found.functions[node] = found.mark()
    described = isinstance(node.body[0], ast.Expr) and isinstance(node.body[0].value, ast.Constant)
    node.body.insert(described, _entering(mark, node.body[0]))


# -------------------------------------------------------------------------------------- expressions


def _choice(found: MarkedProgram, node: ast.IfExp) -> None:
    condition = BranchCondition()
    body, orelse = found.mark(), found.mark()
    found.branches.append(Branch(body, node, [node.body], condition, other=orelse))
    found.branches.append(Branch(orelse, node, [node.orelse], condition, wanted=False, other=body))
    node.test = _watched(found, node.test, condition)
    node.body = _entered_for(body, node.body)
    node.orelse = _entered_for(orelse, node.orelse)


def _short_circuit(found: MarkedProgram, node: ast.Expr) -> None:
    """``step > 9 and optimizer.step()`` as a statement."""
    whole = node.value
    if isinstance(whole, ast.BoolOp):
        condition, mark = BranchCondition(), found.mark()
        wanted, body = isinstance(whole.op, ast.And), [*whole.values[1:]]
        found.branches.append(Branch(mark, node, body, condition, wanted))
        found.branches.append(Branch(None, node, body, condition, not wanted, other=mark))
        whole.values[0] = _watched(found, whole.values[0], condition)
        whole.values[1] = _entered_for(mark, whole.values[1])


def _computed(
    found: MarkedProgram, node: ast.Assign | ast.BinOp | ast.Call | ast.Subscript
) -> None:
    """``[1.0, 5.0][step > 9]``, ``1.0 + step // 9``: what is computed hangs on what that is."""
    for name in ("value", "left", "right", "slice"):
        part = getattr(node, name, None)
        if part is not None and _turns_over(part):
            setattr(node, name, _of_two_values(found, part))
    if isinstance(node, ast.Call):
        node.args = [_of_two_values(found, a) if _turns_over(a) else a for a in node.args]


def _turns_over(node: ast.AST) -> bool:
    """Whether an expression is one thing for long, and then another."""
    whole = isinstance(node, ast.BinOp) and isinstance(node.op, ast.FloorDiv)
    return whole or isinstance(node, ast.Compare)


def _of_two_values(found: MarkedProgram, node: ast.expr) -> ast.expr:
    condition = BranchCondition()
    found.branches += [Branch(None, node, [node], condition, wanted) for wanted in (True, False)]
    return _watched(found, node, condition)


def _watched(
    found: MarkedProgram, test: ast.expr, condition: BranchCondition, *, opposite: bool = False
) -> ast.expr:
    """The condition, of which each part says what it was."""
    match test:
        case ast.BoolOp(values=values):
            test.values = [_watched(found, v, condition, opposite=opposite) for v in values]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            test.operand = _watched(found, operand, condition, opposite=not opposite)
        case ast.Constant() | ast.NamedExpr():
            condition.parts.append((test, 0, opposite))
        case ast.Compare(left=ast.Name() | ast.Attribute(), ops=[ast.Is() | ast.IsNot()]):
            condition.parts.append((test, 0, opposite))
        case _:
            mark = found.mark()
            condition.parts.append((test, mark, opposite))
            if isinstance(test, ast.Compare) and len(test.ops) == 1:
                test.left = _call("side", mark, test.left, test.left)
                test.comparators = [_call("against", mark, one, one) for one in test.comparators]
            return _call("hold", mark, test, test)
    return test


def _entered_for(mark: int, value: ast.expr) -> ast.expr:
    """``value``, and that it is what counts here: ``enter`` returns nothing."""
    both = ast.BoolOp(ast.Or(), [_call("enter", mark, value), value])
    return ast.copy_location(both, value)


def _entering(mark: int, place: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Expr(_call("enter", mark, place)), place)


def _call(method: str, mark: int, place: ast.stmt | ast.expr, *more: ast.expr) -> ast.Call:
    token, number = ast.Constant(_TOKEN), ast.Constant(mark)
    called = ast.Attribute(token, method, ast.Load())
    call = ast.Call(called, [number, *more], [])
    for node in (token, number, called, call):
        ast.copy_location(node, place)
    return call


_PUT: dict[type[ast.AST], Callable[[MarkedProgram, Any], None]] = {
    ast.If: _if, ast.While: _bodies, ast.For: _bodies, ast.AsyncFor: _bodies,
    ast.ExceptHandler: _bodies, ast.match_case: _bodies, ast.FunctionDef: _function,
    ast.AsyncFunctionDef: _function,
    ast.IfExp: _choice, ast.Expr: _short_circuit, ast.Assign: _computed, ast.BinOp: _computed,
    ast.Call: _computed, ast.Subscript: _computed,
}  # fmt: skip


def _armed(code: CodeType, seen: BranchesSeen) -> CodeType:
    """The code with ``seen`` in place of what stood for it, in every function too."""
    before = code.co_consts
    after = tuple(
        _armed(c, seen) if isinstance(c, CodeType) else seen if c == _TOKEN else c for c in before
    )
    same = all(a is b for a, b in zip(after, before, strict=True))
    return code if same else code.replace(co_consts=after)
