"""Names and expressions that decide how gradients are clipped, scaled and stepped with."""

import ast

from harness.sandbox.branches.sources import CLIPS, Sources, called, operands, unmarked, word

UNDECIDED = frozenset({"norm_type", "error_if_nonfinite", "foreach", "parameters"})
"""Keyword arguments of a clip that are not its threshold."""

UPDATES = CLIPS | {"step", "zero_grad", "clip_grad_value_"}
"""Calls that make the condition around them a deciding one."""


class Deciding:
    """The deciding names of one program, by their last component."""

    def __init__(self, sources: Sources) -> None:
        """Find it."""
        self._sources = sources
        self.gradients = {
            name for name, values in sources.values.items() if any(map(is_gradient, values))
        }
        """Names of gradients."""
        self.losses: set[str] = set()
        """Names that backward is called on."""
        self.names: set[str] = set()
        """Thresholds, factors, numbers of micro-batches, flags; and what they are made of."""
        self.expressions: dict[int, str] = {}
        """Choices, comparisons, quotients among that, by identity, with what they decide."""
        for call in sources.calls:
            self._call(call)
        for node in sources.nodes:
            self._statement(node)
        for name in sorted(self.losses):
            for value in sources.values.get(name, ()):
                self._factor(value, name)

    def holds_gradients(self, tree: ast.expr) -> bool:
        """Whether it is a gradient, or several, or a name of one."""
        return is_gradient(tree) or (isinstance(tree, ast.Name) and tree.id in self.gradients)

    def changes_gradients(self, call: ast.Call) -> bool:
        """``p.grad.mul_(...)``, ``torch._foreach_mul_(grads, ...)``."""
        if not (isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_")):
            return False
        first = call.args[:1] if call.func.attr.startswith("_foreach") else []
        return any(map(self.holds_gradients, [call.func.value, *first]))

    def _call(self, call: ast.Call) -> None:
        name = word(call.func) or ""
        named = [k.value for k in call.keywords if k.arg not in UNDECIDED]
        if name.startswith("clip_grad") or name in CLIPS:
            self._all_decide([*call.args[1:], *named], name)
        elif name == "backward" and isinstance(call.func, ast.Attribute):
            self._loss(call.args[0] if call.args else call.func.value)
        elif name == "manual_backward" and call.args:
            self._loss(call.args[0])
        elif self.changes_gradients(call):
            self._all_decide([*call.args, *named], "grad")

    def _statement(self, node: ast.AST) -> None:
        match node:
            case ast.Assign(targets=targets, value=value) if any(map(is_gradient, targets)):
                self._decides(value, "grad")
            case ast.AugAssign(target=target, value=value) if self.holds_gradients(target):
                self._decides(value, "grad")
            case ast.AugAssign(op=ast.Mult() | ast.Div(), target=target, value=value):
                if word(target) in self.losses:
                    self._decides(value, "loss")
            case ast.If(test=test, body=body) if called(body) & UPDATES:
                self._asked(test)

    def _loss(self, tree: ast.expr) -> None:
        match unmarked(tree):
            case ast.Call(func=ast.Attribute(attr="scale"), args=[scaled, *_]):
                self._loss(scaled)
            case ast.Name(id=name) | ast.Attribute(attr=name):
                self.losses.add(name)
            case other:
                self._factor(other, "loss")

    def _factor(self, tree: ast.expr, name: str) -> None:
        """What a loss is divided or multiplied by."""
        match unmarked(tree):
            case ast.BinOp(op=ast.Div(), right=right):
                self._decides(right, name)
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                self._all_decide([s for s in (left, right) if not isinstance(s, ast.Call)], name)

    def _asked(self, test: ast.expr) -> None:
        """What a condition of an update is made of; a loss that is looked at decides nothing."""
        for part in operands(test):
            found = word(part)
            if not isinstance(part, ast.Call) and found is not None and found not in self.losses:
                self._decides(part, found)

    def _all_decide(self, values: list[ast.expr], name: str) -> None:
        for value in values:
            self._decides(value, name)

    def _decides(self, value: ast.expr, name: str) -> None:
        """Everything that this number is made of decides too."""
        for part in operands(value):
            whole = isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv)
            if whole or isinstance(part, ast.IfExp | ast.Compare):
                self.expressions.setdefault(id(part), name)
            own = isinstance(part, ast.Call) and word(part) in self._sources.functions
            named = isinstance(part, ast.Name | ast.Attribute | ast.Subscript)
            found = word(part) if own or named else None
            if found is not None and found not in self.names | self.losses:
                self.names.add(found)
                for source in self._sources.values.get(found, ()):
                    self._decides(source, found)


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
