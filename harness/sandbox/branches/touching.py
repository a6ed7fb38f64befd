"""What code does to training: which calls it makes, and which names it sets that decide about it."""

import ast
from collections.abc import Iterable

from harness.extraction.by_hand import updates_by_hand
from harness.sandbox.branches.reading import (
    CALLS,
    LIGHT,
    RATES,
    UNDECIDED,
    Sources,
    TouchedBy,
    inside,
    is_clip,
    is_gradient,
    operands,
    unmarked,
    word,
)
from harness.syntax import walk


class Touching:
    """Answers what code touches, for one program."""

    def __init__(self, sources: Sources) -> None:
        """Find the names that decide how gradients are clipped, scaled and stepped with."""
        self._sources = sources
        self._own: dict[str, TouchedBy] = {}
        self._by_hand = frozenset(map(id, updates_by_hand(sources.nodes[0])))
        self._gradients = {
            n for n, values in sources.values.items() if any(map(is_gradient, values))
        }
        apart = (n for n in sources.nodes if isinstance(n, ast.Assign))
        self._worlds = {id(n.value) for n in apart if isinstance(n.targets[0], ast.Tuple)}
        """What has several results, as the step of a world to act in."""
        self.losses: set[str] = set()
        """Names that backward is called on."""
        self.deciding: set[str] = set()
        """Thresholds, factors, numbers of micro-batches, flags; and what they are made of."""
        self.choices: dict[int, str] = {}
        """Choices, comparisons, quotients among that, by identity, with what they decide."""
        self._where: dict[str, set[int]] = {}
        """For each name that decides, the functions in which it does, by identity."""
        for node in sources.nodes:
            self._decides_by(node)
        for name in sorted(self.losses):
            for value in sources.values.get(name, ()):
                self._factor(value, name)

    def of(self, body: Iterable[ast.AST]) -> TouchedBy:
        """What statements or expressions touch, without nested definitions."""
        found = TouchedBy()
        for node in inside(body):
            if isinstance(node, ast.Call):
                found.add(self._call(node))
            elif isinstance(node, ast.stmt):
                found.add(self._statement(node))
            if id(node) in self._by_hand:
                found.add(TouchedBy(deep=["step"]))
            if id(node) in self.choices:
                found.add(TouchedBy(deep=[self.choices[id(node)]]))
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

    # ------------------------------------------------------------------------------- calls and stores

    def _call(self, call: ast.Call) -> TouchedBy:
        name = word(call.func) or ""
        if name in self._sources.functions:
            own = self._of_own(name)
            return TouchedBy([name] * bool(own.deep), [name, *own.light] if own.light else [])
        if name in ("requires_grad_", "update_parameters"):  # of torch's average of weights
            return TouchedBy(light=[name])
        return TouchedBy(deep=[name] * self._is_update(name, call))

    def _is_update(self, name: str, call: ast.Call) -> bool:
        receiver = word(call.func.value) or "" if isinstance(call.func, ast.Attribute) else ""
        if is_clip(name):
            return not _only_measures(call)
        if name == "step":
            return (
                bool(receiver) and id(call) not in self._worlds and not self._is_of_rates(receiver)
            )
        if name in ("update", "scale"):
            return "scal" in receiver.lower()
        return name in CALLS or self._changes_gradients(call)

    def _is_of_rates(self, receiver: str) -> bool:
        values = self._sources.values.get(receiver, ())
        made = [word(value) or "" for value in values if isinstance(value, ast.Call)]
        said = [receiver.lower(), *(name.lower() for name in made)]
        by_name = any(part in name for name in said for part in RATES)
        return by_name or any(name.endswith("LR") for name in made)

    def _of_own(self, name: str) -> TouchedBy:
        if name not in self._own:
            found = self._own[name] = (
                TouchedBy()
            )  # while it is looked at, it calls itself for nothing
            for function in self._sources.functions[name]:
                found.add(self.of(function.body))
        return self._own[name]

    def _statement(self, node: ast.stmt) -> TouchedBy:
        found = TouchedBy()
        match node:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    for one in target.elts if isinstance(target, ast.Tuple) else [target]:
                        found.add(self._stored(one, value))
            case ast.AnnAssign(target=target, value=ast.expr() as value):
                found = self._stored(target, value)
            case ast.AugAssign(target=target, op=op):
                scales = isinstance(op, ast.Mult | ast.Div)
                changes = self._holds_gradients(target)
                found = TouchedBy(deep=["grad"]) if changes else self._set(target, decides=scales)
            case ast.Delete(targets=targets):
                found = TouchedBy(deep=["grad"] * any(map(is_gradient, targets)))
            case ast.Return(value=ast.expr()):
                function = self._sources.function_of(node)
                name = function.name if function is not None else ""
                found = TouchedBy(deep=[name] * (name in self.deciding))
        return found

    def _stored(self, target: ast.expr, value: ast.expr) -> TouchedBy:
        """``loss = loss / 4`` is another size, ``loss = a + b`` another loss; ``n = n + 1`` counts."""
        name, value = word(target) or "", unmarked(value)
        sides = (word(value.left), word(value.right)) if isinstance(value, ast.BinOp) else ()
        op = value.op if isinstance(value, ast.BinOp) else None
        if name in self.losses:
            return self._set(target, decides=name in sides and isinstance(op, ast.Mult | ast.Div))
        return self._set(target, decides=not (name in sides and isinstance(op, ast.Add)))

    def _set(self, target: ast.expr, *, decides: bool) -> TouchedBy:
        name = word(target) or ""
        if is_gradient(target):
            return TouchedBy(deep=["grad"])
        if name in LIGHT:
            return TouchedBy(light=[name])
        known = name in self.deciding | self.losses and not self._is_of_another(target)
        return TouchedBy(deep=[name] * (decides and known))

    def _is_of_another(self, target: ast.expr) -> bool:
        """Whether it is a name of a function that keeps it, and what decides under that name stands in
        others.
        """
        function = self._sources.function_of(target)
        if function is None or not isinstance(target, ast.Name) or target.id in self.losses:
            return False
        return self._where.get(target.id, set()).isdisjoint(map(id, walk(function))) and (
            target.id not in self._sources.given_away(function)
        )

    # ---------------------------------------------------------------------------------- what decides

    def _holds_gradients(self, tree: ast.expr) -> bool:
        """Whether it is a gradient, or several, or a name of one."""
        return is_gradient(tree) or (isinstance(tree, ast.Name) and tree.id in self._gradients)

    def _changes_gradients(self, call: ast.Call) -> bool:
        """``p.grad.mul_(...)``, ``torch._foreach_mul_(grads, ...)``."""
        if not (isinstance(call.func, ast.Attribute) and call.func.attr.endswith("_")):
            return False
        first = call.args[:1] if call.func.attr.startswith("_foreach") else []
        return any(map(self._holds_gradients, [call.func.value, *first]))

    def _decides_by(self, node: ast.AST) -> None:
        match node:
            case ast.Call():
                self._decides_in_call(node)
            case ast.Assign(targets=targets, value=value) if any(map(is_gradient, targets)):
                self._decide([value], "grad")
            case ast.AugAssign(target=target, value=value) if self._holds_gradients(target):
                self._decide([value], "grad")
            case ast.AugAssign(op=ast.Mult() | ast.Div(), target=target, value=value):
                self._decide([value] * (word(target) in self.losses), "loss")
            case ast.If(test=test, body=body) if self._updates(body):
                for part in operands(test):
                    found = None if isinstance(part, ast.Call) else word(part)
                    known = (
                        found is None or found in self.losses
                    )  # to look at a loss decides nothing
                    self._decide([part] * (not known), found or "")

    def _decides_in_call(self, call: ast.Call) -> None:
        name = word(call.func) or ""
        named = [k.value for k in call.keywords if k.arg not in UNDECIDED]
        if is_clip(name):
            self._decide(thresholds(call), name)
        elif name == "backward" and isinstance(call.func, ast.Attribute):
            self._loss(call.args[0] if call.args else call.func.value)
        elif name == "manual_backward" and call.args:
            self._loss(call.args[0])
        elif self._changes_gradients(call):
            self._decide([*call.args, *named], "grad")

    def _updates(self, body: list[ast.stmt]) -> bool:
        """Whether a clip, a step or a clearing stands in it, be it handed on to be called."""
        found: set[str | None] = set()
        for node in inside(body):
            if isinstance(node, ast.Call):
                given = (*node.args, *(k.value for k in node.keywords))
                found |= {word(node.func), *(a.id for a in given if isinstance(a, ast.Name))}
        return any(name in ("step", "zero_grad") or is_clip(name or "") for name in found)

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
                self._decide([right], name)
            case ast.BinOp(op=ast.Mult(), left=left, right=right):
                self._decide([s for s in (left, right) if not isinstance(s, ast.Call)], name)

    def _decide(self, values: list[ast.expr], name: str) -> None:
        """Everything that these numbers are made of decides too."""
        for part in (part for value in values for part in operands(value)):
            whole = isinstance(part, ast.BinOp) and isinstance(part.op, ast.FloorDiv)
            if whole or isinstance(part, ast.IfExp | ast.Compare):
                self.choices.setdefault(id(part), name)
            own = isinstance(part, ast.Call) and word(part) in self._sources.functions
            named = isinstance(part, ast.Name | ast.Attribute | ast.Subscript)
            found = word(part) if own or named else None
            function = self._sources.function_of(part)
            self._where.setdefault(found or "", set()).add(id(function))
            if found is not None and found not in self.deciding | self.losses:
                self.deciding.add(found)
                self._decide(self._sources.values.get(found, []), name)


def thresholds(call: ast.Call) -> list[ast.expr]:
    """What a clip is told beside its parameters; nothing for another call."""
    named = [k.value for k in call.keywords if k.arg not in UNDECIDED]
    return [*call.args[1:], *named] if is_clip(word(call.func) or "") else []


def _only_measures(call: ast.Call) -> bool:
    """Whether a clip has no threshold: what it returns is what it is for."""
    given = [*call.args[1:2], *(k.value for k in call.keywords if k.arg == "max_norm")]
    return any("inf" in ast.unparse(value) for value in given)
