"""Where a program's names get their values. Only a name's last component counts: ``self.step`` is
``step``.

Asked only after a run, of a program that has a branch which nothing entered.
"""

import ast
from collections.abc import Iterable, Iterator
from itertools import pairwise

from harness.syntax import children, walk

Definition = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While

SAME = frozenset({
    "int", "float", "abs", "round", "min", "max", "bool", "next", "clamp", "minimum", "maximum",
    "tensor", "as_tensor", "item", "where", "pow", "sqrt", "floor", "ceil",
})  # fmt: skip
"""Calls whose result is computed from the numbers that they are given."""

CLIPS = frozenset({
    "clip_grad_norm_", "clip_grad_norm", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm",
})  # fmt: skip
"""Functions that clip, or take the norm to clip by."""


def called(body: Iterable[ast.AST]) -> set[str]:
    """Last components of everything that is called or handed on, outside of nested definitions."""
    found: set[str] = set()
    for node in inside(body):
        if isinstance(node, ast.Call):
            given = (*node.args, *(k.value for k in node.keywords))
            found |= {a.id for a in given if isinstance(a, ast.Name)}
            found |= {last for last in (word(node.func),) if last is not None}
    return found


def word(tree: ast.AST | None) -> str | None:
    """The last component of a name or an attribute, or the key of an item."""
    match tree:
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name
        case ast.Subscript(slice=ast.Constant(value=str(name))) if name.isidentifier():
            return name
        case ast.Subscript(value=inner) | ast.Starred(value=inner) | ast.Call(func=inner):
            return word(inner)
    return None


def unmarked(tree: ast.expr) -> ast.expr:
    """The expression inside a mark, or the expression itself."""
    match tree:
        case ast.Call(func=ast.Attribute(value=ast.Constant()), args=[ast.Constant(), within]):
            return within
        case ast.BoolOp(values=[ast.Call(func=ast.Attribute(value=ast.Constant())), within]):
            return within
    return tree


def inside(body: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of some code, in order, without nested definitions."""
    for node in body:
        if not isinstance(node, Definition | ast.ClassDef | ast.Lambda):
            yield node
            yield from inside(children(node))


def operands(tree: ast.expr) -> Iterator[ast.expr]:
    """The numbers that a number is computed from, itself first."""
    tree = unmarked(tree)
    yield tree
    if isinstance(tree, ast.Call):
        own = [*tree.args, *([tree.func.value] if isinstance(tree.func, ast.Attribute) else [])]
        parts: list[ast.AST] = [*own] if word(tree.func) in SAME else []
    elif isinstance(tree, ast.Attribute | ast.comprehension):
        parts = []
    else:
        parts = children(tree)
    for part in parts:
        if isinstance(part, ast.expr):
            yield from operands(part)


class Sources:
    """The assignments, calls and definitions of one program."""

    def __init__(self, tree: ast.Module) -> None:
        """Read them."""
        self.values: dict[str, list[ast.expr]] = {}
        """Everything that a name is given: assigned, handed over, returned, a default."""
        self.functions: dict[str, list[Definition]] = {}
        self.calls: list[ast.Call] = []
        self.loops: list[Loop] = []
        self.moved: list[ast.AugAssign] = []
        self.above: dict[int, ast.AST] = {}
        """What each node stands right in, by identity."""
        self.nodes = walk(tree)
        for node in self.nodes:
            for child in children(node):
                self.above[id(child)] = node
            if isinstance(node, Definition):
                self.functions.setdefault(node.name, []).append(node)
        for node in self.nodes:
            method = getattr(self, f"_{type(node).__name__.lower()}", None)
            if method is not None:
                method(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, the nearest first."""
        above: ast.AST | None = node
        while (above := self.above.get(id(above))) is not None:
            yield above

    def function_of(self, node: ast.AST) -> Definition | None:
        """The function whose body it is in."""
        return next((a for a in self.ancestors(node) if isinstance(a, Definition)), None)

    def behind(self, jump: ast.stmt) -> tuple[list[ast.stmt], Loop | None]:
        """The statements that a jump skips, up to the end of the loop's body or the function; and
        the loop that it stands in.
        """
        rest: list[ast.stmt] = []
        for node, above in pairwise([jump, *self.ancestors(jump)]):
            for field in ("body", "orelse", "finalbody"):
                block = getattr(above, field, None)
                place = next((n for n, s in enumerate(_listed(block)) if s is node), None)
                rest += _listed(block)[place + 1 :] if place is not None else []
            if isinstance(above, Loop):
                return rest, above
            if isinstance(above, Definition):
                break
        return rest, None

    # ------------------------------------------------------------------------- one method a node type

    def _assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._store(target, node.value)

    def _annassign(self, node: ast.AnnAssign | ast.NamedExpr) -> None:
        if node.value is not None:
            self._store(node.target, node.value)

    _namedexpr = _annassign

    def _with(self, node: ast.With) -> None:
        for item in node.items:
            if item.optional_vars is not None:
                self._store(item.optional_vars, item.context_expr)

    def _augassign(self, node: ast.AugAssign) -> None:
        self.moved.append(node)

    def _for(self, node: Loop) -> None:
        self.loops.append(node)

    _asyncfor = _while = _for

    def _dict(self, node: ast.Dict) -> None:
        for key, value in zip(node.keys, node.values, strict=True):
            if isinstance(key, ast.Constant) and isinstance(key.value, str):
                self._value(key.value, value)

    def _return(self, node: ast.Return) -> None:
        function = self.function_of(node)
        if function is not None and node.value is not None:
            self._value(function.name, node.value)

    def _call(self, node: ast.Call) -> None:
        self.calls.append(node)
        name = word(node.func) or ""
        if name == "add_argument" and node.args and isinstance(node.args[-1], ast.Constant):
            option = str(node.args[-1].value).lstrip("-").replace("-", "_")
            for keyword in node.keywords:
                if keyword.arg == "default":
                    self._value(option, keyword.value)
            return
        for keyword in node.keywords:
            if keyword.arg is not None:
                self._value(keyword.arg, keyword.value)
        for function in self.functions.get(name, ()):
            given = [*function.args.posonlyargs, *function.args.args]
            own = [a for a in given if a.arg not in ("self", "cls")]
            for parameter, value in zip(own, node.args, strict=False):
                self._value(parameter.arg, value)

    def _functiondef(self, node: Definition) -> None:
        args = node.args
        given = [*args.posonlyargs, *args.args]
        for parameter, value in zip(reversed(given), reversed(args.defaults), strict=False):
            self._value(parameter.arg, value)
        for parameter, default in zip(args.kwonlyargs, args.kw_defaults, strict=True):
            if default is not None:
                self._value(parameter.arg, default)

    _asyncfunctiondef = _functiondef

    def _store(self, target: ast.expr, value: ast.expr) -> None:
        match target, value:
            case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
                for one, its in zip(targets, values, strict=True):
                    self._store(one, its)
            case ast.Tuple() | ast.List(), _:
                pass
            case _:
                self._value(word(target) or "", value)

    def _value(self, name: str, value: ast.expr) -> None:
        self.values.setdefault(name, []).append(value)


def _listed(block: object) -> list[ast.stmt]:
    return block if isinstance(block, list) else []
