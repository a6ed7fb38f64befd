"""What code does to training: which calls it makes, and which deciding names it sets."""

import ast
from collections.abc import Iterable
from dataclasses import dataclass, field

from harness.extraction.by_hand import updates_by_hand
from harness.sandbox.branches.deciding import Deciding, is_gradient
from harness.sandbox.branches.sources import CLIPS, Sources, inside, unmarked, word

CALLS = frozenset({
    "backward", "manual_backward", "zero_grad", "optimizer_zero_grad", "unscale_", "no_sync",
    "clip_gradients", "all_reduce",
})  # fmt: skip
"""Calls that belong to training: a loop without them is another loop."""

RATES = (
    "sched", "lr_", "warm", "swa", "ema", "prof", "bar", "progress", "logger", "timer", "stopper",
)  # fmt: skip
"""If one of these is part of its name, the object whose ``step`` is called is no optimizer."""

LIGHT = frozenset({"lr", "requires_grad"})
"""Names that are set in order to train at another rate, or to train another part of the model."""


@dataclass(slots=True)
class Touch:
    """What some code touches."""

    deep: list[str] = field(default_factory=list)
    """What it changes of how gradients are clipped, scaled, cleared or stepped with, in order."""
    light: list[str] = field(default_factory=list)
    """What it changes of learning rates, frozen parameters and the end of training."""

    def add(self, other: "Touch") -> None:
        """Add what other code touches."""
        self.deep += [name for name in other.deep if name not in self.deep]
        self.light += [name for name in other.light if name not in self.light]

    @property
    def names(self) -> tuple[str, ...]:
        """All of it, the deep ones first."""
        return tuple(dict.fromkeys([*self.deep, *self.light]))


class Touching:
    """Answers what code touches, for one program."""

    def __init__(self, sources: Sources) -> None:
        """Find the names that decide."""
        self._sources = sources
        self._own: dict[str, Touch] = {}
        self._by_hand = frozenset(map(id, updates_by_hand(sources.nodes[0])))
        self.deciding = Deciding(sources)

    def of(self, body: Iterable[ast.AST]) -> Touch:
        """What statements or expressions touch, without nested definitions."""
        found = Touch()
        for node in inside(body):
            if isinstance(node, ast.Call):
                found.add(self._call(node))
            elif isinstance(node, ast.stmt):
                found.add(self._statement(node))
            if id(node) in self._by_hand:
                found.add(Touch(deep=["step"]))
            if id(node) in self.deciding.expressions:
                found.add(Touch(deep=[self.deciding.expressions[id(node)]]))
        return found

    def reached(self, body: Iterable[ast.AST]) -> set[str]:
        """What statements touch, themselves or through the functions that they call."""
        waiting, known = [body], set[str]()
        while waiting:
            new = set(self.of(waiting.pop()).deep) - known
            known |= new
            own = self._sources.functions
            waiting += [function.body for name in new for function in own.get(name, ())]
        return known

    # ---------------------------------------------------------------------------------------- calls

    def _call(self, call: ast.Call) -> Touch:
        name = word(call.func) or ""
        if name in self._sources.functions:
            own = self._of_own(name)
            return Touch([name] * bool(own.deep), [name, *own.light] if own.light else [])
        if name == "requires_grad_":
            return Touch(light=[name])
        return Touch(deep=[name] * self._is_update(name, call))

    def _is_update(self, name: str, call: ast.Call) -> bool:
        receiver = word(call.func.value) or "" if isinstance(call.func, ast.Attribute) else ""
        if name in CLIPS or name.startswith("clip_grad"):
            return not _only_measures(call)
        if name == "step":
            return bool(receiver) and not self._is_of_rates(receiver)
        if name in ("update", "scale"):
            return "scal" in receiver.lower()
        return name in CALLS or self.deciding.changes_gradients(call)

    def _is_of_rates(self, receiver: str) -> bool:
        values = self._sources.values.get(receiver, ())
        made = [word(value) or "" for value in values if isinstance(value, ast.Call)]
        said = [receiver.lower(), *(name.lower() for name in made)]
        by_name = any(part in name for name in said for part in RATES)
        return by_name or any(name.endswith("LR") for name in made)

    def _of_own(self, name: str) -> Touch:
        if name not in self._own:
            found = self._own[name] = Touch()  # while it is looked at, it calls itself for nothing
            for function in self._sources.functions[name]:
                found.add(self.of(function.body))
        return self._own[name]

    # --------------------------------------------------------------------------------------- stores

    def _statement(self, node: ast.stmt) -> Touch:
        match node:
            case ast.Assign(targets=targets, value=value):
                return self._all_stored(targets, value)
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                return self._stored(target, value)
            case ast.AugAssign():
                return self._moved(node)
            case ast.Delete(targets=targets):
                return Touch(deep=["grad"] * any(map(is_gradient, targets)))
            case ast.Return(value=ast.expr()):
                function = self._sources.function_of(node)
                name = function.name if function is not None else ""
                return Touch(deep=[name] * (name in self.deciding.names))
        return Touch()

    def _all_stored(self, targets: list[ast.expr], value: ast.expr) -> Touch:
        found = Touch()
        for target in targets:
            for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                found.add(self._stored(one, value))
        return found

    def _stored(self, target: ast.expr, value: ast.expr) -> Touch:
        name = word(target) or ""
        if is_gradient(target):
            return Touch(deep=["grad"])
        if name in LIGHT:
            return Touch(light=[name])
        if name in self.deciding.losses:
            return Touch(deep=[name] * _scales(value, name))
        decides = name in self.deciding.names and not _counts_on(value, name)
        return Touch(deep=[name] * decides)

    def _moved(self, node: ast.AugAssign) -> Touch:
        name = word(node.target) or ""
        if self.deciding.holds_gradients(node.target):
            return Touch(deep=["grad"])
        if name in LIGHT:
            return Touch(light=[name])
        scaled = isinstance(node.op, ast.Mult | ast.Div)
        known = self.deciding.names | self.deciding.losses
        return Touch(deep=[name] * (scaled and name in known))


def _only_measures(call: ast.Call) -> bool:
    """Whether a clip has no threshold: what it returns is what it is for."""
    given = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "max_norm")]
    return any("inf" in ast.unparse(value) for value in given)


def _scales(value: ast.expr, name: str) -> bool:
    """``loss = loss / 4``: another size, not another loss."""
    match unmarked(value):
        case ast.BinOp(op=ast.Div() | ast.Mult(), left=left, right=right):
            return name in (word(left), word(right))
    return False


def _counts_on(value: ast.expr, name: str) -> bool:
    match unmarked(value):
        case ast.BinOp(op=ast.Add(), left=left):
            return word(left) == name
    return False
