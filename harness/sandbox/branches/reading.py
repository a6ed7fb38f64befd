"""Where a program's names get their values, and what its code does to training. Only a name's last
component counts: ``self.step`` is ``step``.

Asked only after a run, of a program that has a branch which nothing entered.
"""

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise

from harness.syntax import children, walk

Definition = ast.FunctionDef | ast.AsyncFunctionDef
Loop = ast.For | ast.AsyncFor | ast.While

SAME = frozenset({
    "int", "float", "abs", "round", "min", "max", "bool", "next", "clamp", "minimum", "maximum",
    "tensor", "as_tensor", "item", "where", "pow", "sqrt", "floor", "ceil", "len", "all", "any", "str",
})  # fmt: skip
"""Calls whose result is computed from the numbers that they are given."""

CALLS = frozenset({
    "backward", "manual_backward", "zero_grad", "optimizer_zero_grad", "unscale_", "no_sync",
    "clip_gradients", "all_reduce",
})  # fmt: skip
"""Calls that belong to training: a loop without them is another loop."""

TRAINS = frozenset({"backward", "manual_backward", "step"})
"""Calls that make a loop a training loop."""

RATES = (
    "sched", "lr_", "warm", "swa", "ema", "prof", "bar", "progress", "logger", "timer", "stopper",
)  # fmt: skip
"""If one of these is part of its name, the object whose ``step`` is called is no optimizer."""

LIGHT = frozenset({"lr", "requires_grad"})
"""Names that are set in order to train at another rate, or to train another part of the model."""

UNDECIDED = frozenset({"norm_type", "error_if_nonfinite", "foreach", "parameters"})
"""Keyword arguments of a clip that are not its threshold."""


@dataclass(slots=True)
class TouchedBy:
    """What some code touches."""

    deep: list[str] = field(default_factory=list)
    """What it changes of how gradients are clipped, scaled, cleared or stepped with, in order."""
    light: list[str] = field(default_factory=list)
    """What it changes of learning rates, frozen parameters and the end of training."""

    def add(self, other: "TouchedBy") -> None:
        """Add what other code touches."""
        self.deep += [name for name in other.deep if name not in self.deep]
        self.light += [name for name in other.light if name not in self.light]

    @property
    def names(self) -> tuple[str, ...]:
        """All of it, the deep ones first."""
        return tuple(dict.fromkeys([*self.deep, *self.light]))


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


def given_in(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """What a node gives under a name: an assignment, a keyword, an entry, a default, an option."""
    match node:
        case ast.Assign(targets=targets, value=value):
            yield from (pair for target in targets for pair in _stored(target, value))
        case (
            ast.AnnAssign(target=target, value=ast.expr() as value)
            | ast.NamedExpr(target=target, value=value)
            | ast.withitem(optional_vars=ast.expr() as target, context_expr=value)
        ):
            yield from _stored(target, value)
        case ast.keyword(arg=str(name), value=value):
            yield name, value
        case ast.arguments():
            yield from _defaults(node)
        case ast.Call():
            yield from _option(node)
        case ast.Dict(keys=keys, values=values):
            pairs = zip(keys, values, strict=True)
            yield from ((str(k.value), v) for k, v in pairs if isinstance(k, ast.Constant))


def _defaults(node: ast.arguments) -> Iterator[tuple[str, ast.expr]]:
    last = [*node.posonlyargs, *node.args][-len(node.defaults) or len(node.args) :]
    yield from ((p.arg, default) for p, default in zip(last, node.defaults, strict=False))
    pairs = zip(node.kwonlyargs, node.kw_defaults, strict=True)
    yield from ((p.arg, default) for p, default in pairs if default is not None)


def _option(call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """``add_argument("-b", "--batch-size", default=256)``, ``DEFINE_integer("batch_size", 256)``"""
    if (word(call.func) or "").startswith("DEFINE_"):
        for name, default in [call.args[:2]] if len(call.args) > 1 else []:
            yield ast.unparse(name).strip("'"), default
    given = [a.value for a in call.args if isinstance(a, ast.Constant)]
    texts = [text.lstrip("-").replace("-", "_") for text in given if isinstance(text, str)]
    for keyword in call.keywords:
        if texts and keyword.arg == "default":
            yield max(texts, key=len), keyword.value


def _stored(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    match target, value:
        case ast.Tuple(elts=targets), ast.Tuple(elts=values) if len(targets) == len(values):
            for one, its in zip(targets, values, strict=True):
                yield from _stored(one, its)
        case ast.Tuple() | ast.List(), _:
            pass
        case _:
            yield word(target) or "", value


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
    parts = children(tree)
    if isinstance(tree, ast.Call):
        own = [tree.func.value] if isinstance(tree.func, ast.Attribute) else []
        parts = [*tree.args, *own] if word(tree.func) in SAME else []
    elif isinstance(tree, ast.Attribute | ast.comprehension):
        parts = []
    for part in parts:
        if isinstance(part, ast.expr):
            yield from operands(part)


def is_gradient(tree: ast.AST) -> bool:
    """``p.grad``, its data, or a list of such."""
    match tree:
        case ast.Attribute(attr="grad"):
            return True
        case ast.Attribute(attr="data", value=within) | ast.Subscript(value=within):
            return is_gradient(within)
        case ast.ListComp(elt=within) | ast.GeneratorExp(elt=within):
            return is_gradient(within)
    return False


def is_clip(name: str) -> bool:
    """Whether a function of this name clips, or takes the norm to clip by."""
    return name.startswith("clip_grad") or name == "get_total_norm"


class Sources:
    """The assignments, calls and definitions of one program."""

    def __init__(self, tree: ast.Module) -> None:
        """Read them."""
        self.values: dict[str, list[ast.expr]] = {}
        """Everything that a name is given: assigned, handed over, returned, a default."""
        self.nodes = walk(tree)
        self.functions: dict[str, list[Definition]] = {}
        self.loops = [node for node in self.nodes if isinstance(node, Loop)]
        self.above = {id(child): node for node in self.nodes for child in children(node)}
        """What each node stands right in, by identity."""
        for node in self.nodes:
            if isinstance(node, Definition):
                self.functions.setdefault(node.name, []).append(node)
        for node in self.nodes:
            self._read(node)

    def ancestors(self, node: ast.AST) -> Iterator[ast.AST]:
        """The nodes around a node, the nearest first."""
        above: ast.AST | None = node
        while (above := self.above.get(id(above))) is not None:
            yield above

    def function_of(self, node: ast.AST) -> Definition | None:
        """The function whose body it is in."""
        return next((a for a in self.ancestors(node) if isinstance(a, Definition)), None)

    def given_away(self, function: Definition) -> set[str]:
        """Names of a function that others see: of another scope, returned, or handed to something that
        keeps them.
        """
        found: set[str] = set()
        for node in walk(function):
            match node:
                case ast.Global(names=names) | ast.Nonlocal(names=names):
                    found.update(names)
                case (
                    ast.Return(value=ast.expr() as value)
                    | ast.Yield(value=ast.expr() as value)
                    | ast.Expr(value=ast.Call() as value)
                    | ast.Assign(targets=[ast.Attribute() | ast.Subscript()], value=value)
                ):
                    found |= {n.id for n in walk(value) if isinstance(n, ast.Name)}
        return found

    def behind(self, jump: ast.stmt) -> tuple[list[ast.stmt], Loop | None]:
        """The statements that a jump skips, up to the end of the loop's body or the function; and
        the loop that it stands in.
        """
        rest: list[ast.stmt] = []
        for node, above in pairwise([jump, *self.ancestors(jump)]):
            for name in ("body", "orelse", "finalbody"):
                block = getattr(above, name, None)
                if isinstance(block, list) and node in block:
                    rest += block[block.index(node) + 1 :]
            if isinstance(above, Loop):
                return rest, above
            if isinstance(above, Definition):
                break
        return rest, None

    def _read(self, node: ast.AST) -> None:
        for name, value in given_in(node):
            self._value(name, value)
        match node:
            case ast.Return(value=ast.expr() as value):
                function = self.function_of(node)
                self._value(function.name if function is not None else "", value)
            case ast.Call(func=called, args=args):
                for own in self.functions.get(word(called) or "", ()):
                    names = [a.arg for a in (*own.args.posonlyargs, *own.args.args)]
                    parameters = [name for name in names if name not in ("self", "cls")]
                    for parameter, value in zip(parameters, args, strict=False):
                        self._value(parameter, value)

    def _value(self, name: str, value: ast.expr) -> None:
        self.values.setdefault(name, []).append(value)
