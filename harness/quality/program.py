"""A training program as a syntax tree: where it clips, steps and clears, and how to change that.

Only the operators read programs. Judging never does.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import cast

import libcst as cst
from libcst.metadata import CodeRange, MetadataWrapper, ParentNodeProvider, PositionProvider

Replaced = cst.CSTNode | cst.RemovalSentinel | cst.FlattenSentinel[cst.BaseStatement]
ProgramChange = Callable[[cst.CSTNode], Replaced]
"""From a node, its inner changes done, to what stands in its place."""
Changes = Mapping[cst.CSTNode, ProgramChange]
"""What one mutant changes."""

SCHEDULERS = re.compile(r"sched|warmup|lr_")
"""What a schedule is called; its ``step`` is no update."""

WINDOWS = re.compile(r"accum|n_micro|grad_acc")
"""What the size of a window is called."""


class ParsedProgram:
    """A program with its parts. Nodes are those of one tree: changes name them by identity."""

    def __init__(self, text: str) -> None:
        """Raises ``libcst.ParserSyntaxError`` on what is no Python."""
        self.module = cst.parse_module(text)
        wrapper = MetadataWrapper(self.module, unsafe_skip_copy=True)
        known = wrapper.resolve_many((ParentNodeProvider, PositionProvider))  # in one walk
        self._parents = cast("Mapping[cst.CSTNode, cst.CSTNode]", known[ParentNodeProvider])
        self._positions = cast("Mapping[cst.CSTNode, CodeRange]", known[PositionProvider])
        self._sorted: dict[tuple[type[cst.CSTNode], ...], list[cst.CSTNode]] = {}

    def changed(self, changes: Changes) -> str:
        """The text with these nodes replaced."""
        around = frozenset(n for node in changes for n in self.above(node))
        return self.module.visit(_Changing(changes, around)).code

    def line(self, node: cst.CSTNode) -> int:
        """Where a node begins, from 1."""
        return self._positions[node].start.line

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """Every node around one, from the inside."""
        while (parent := self._parents.get(node)) is not None:
            yield parent
            node = parent

    def statement(self, node: cst.CSTNode) -> cst.BaseStatement:
        """The statement that a node is part of: the smallest one of a block."""
        around = (node, *self.above(node))
        return next(
            n for n in around if isinstance(n, cst.SimpleStatementLine | cst.BaseCompoundStatement)
        )

    def without(self, *calls: cst.Call) -> dict[cst.CSTNode, ProgramChange]:
        """The changes that remove these calls, where they stand as statements."""
        return {self._parents[call]: gone for call in calls if self._alone(call)}

    def all(self, *kinds: type[cst.CSTNode]) -> list[cst.CSTNode]:
        """Every node of these kinds, in the order of their places."""
        if kinds not in self._sorted:
            found = [n for n in self._positions if isinstance(n, kinds)]
            self._sorted[kinds] = sorted(found, key=self._place)
        return list(self._sorted[kinds])

    def calls(self, *names: str) -> list[cst.Call]:
        """Calls of functions or methods with one of these last names."""
        called = cast("list[cst.Call]", self.all(cst.Call))
        return [c for c in called if called_name(c) in names]

    def backwards(self) -> list[cst.Call]:
        """Calls of backward that train and stand as a statement."""
        called = self.calls("backward", "manual_backward")
        return [c for c in called if self._alone(c) and self.trains(c)]

    def steps(self) -> list[cst.Call]:
        """Steps of optimizers, also through a scaler."""
        called = self.calls("step")
        steps = [c for c in called if isinstance(c.func, cst.Attribute) and len(c.args) <= 1]
        return [c for c in steps if not SCHEDULERS.search(receiver(c).lower())]

    def scaler_steps(self) -> list[cst.Call]:
        """``scaler.step(optimizer)``."""
        return [c for c in self.steps() if len(c.args) == 1 and "scaler" in receiver(c).lower()]

    def clips(self) -> list[cst.Call]:
        """Clips of a norm that name parameters and a threshold, and do not only measure."""
        found = [(c, threshold_of(c)) for c in self.calls("clip_grad_norm_")]
        return [c for c, t in found if t is not None and "inf" not in code(t.value)]

    def optimizer(self) -> str:
        """What the optimizer is called, where it is a plain name."""
        for step in self.steps():
            scaled = step in self.scaler_steps()
            name = code(step.args[0].value) if scaled else receiver(step)
            if name.isidentifier():
                return name
        return "optimizer"

    def clearings(self) -> list[cst.Call]:
        """Calls of ``zero_grad``."""
        return self.calls("zero_grad")

    def conditions(self) -> list[tuple[cst.BaseExpression, bool]]:
        """What decides whether a window is full, and whether true means that it is."""
        found: dict[cst.BaseExpression, bool] = {}
        for branch in cast("list[cst.If]", self.all(cst.If)):
            text = code(branch.test)
            if "finite" in text or "nan" in text:
                continue
            if any(branch in self.above(step) for step in self.steps()):
                found[self._decides(branch.test)] = True
            elif any(isinstance(n, cst.Continue) for n in self._inside(branch)):
                found[self._decides(branch.test)] = False
        return list(found.items())

    def counter(self, at: cst.CSTNode) -> str | None:
        """What counts batches from 0, where they are enumerated and a node can see the count."""
        for loop in self.loaders():
            if not self._is_seen(loop, at):
                continue
            if isinstance(loop.target, cst.Tuple) and code(loop.iter).startswith("enumerate("):
                name = code(loop.target.elements[0].value)
                start = cast("cst.Call", loop.iter).args[1:]
                return f"({name} - {code(start[0].value)})" if start else name
        return None

    def window(self) -> str:
        """The number of micro-batches in a window, as the program calls it; else 4."""
        names = [cast("cst.Name", n).value for n in self.all(cst.Name)]
        no_number = self._called_or_made()
        found = (n for n in names if WINDOWS.search(n.lower()) and n not in no_number)
        return next(found, "4")

    def loaders(self) -> list[cst.For]:
        """Loops over the data, or over the numbered data."""
        loops = cast("list[cst.For]", self.all(cst.For))
        return [f for f in loops if "loader" in code(f.iter).lower()]

    def trains(self, node: cst.CSTNode) -> bool:
        """Whether an optimizer steps in the outermost loop around a node, or there is no loop."""
        loops = [n for n in (node, *self.above(node)) if isinstance(n, cst.For | cst.While)]
        return not loops or any(loops[-1] in self.above(step) for step in self.steps())

    def together(self, one: cst.CSTNode, other: cst.CSTNode) -> bool:
        """Whether both stand in the same function, or both in none."""
        return self._scope(one) is self._scope(other)

    @property
    def first(self) -> cst.BaseStatement:
        """The first statement that is no import and no docstring."""
        lines = [s for s in self.module.body if not _is_preamble(s)]
        return cast("cst.BaseStatement", (lines or self.module.body)[0])

    def outermost(self, node: cst.CSTNode) -> cst.BaseStatement:
        """The statement of its function, or of the module, that a node is part of."""
        found = self.statement(node)
        for around in self.above(node):
            if isinstance(around, cst.FunctionDef):
                break
            if isinstance(around, cst.BaseCompoundStatement):
                found = around
        return found

    def _decides(self, test: cst.BaseExpression) -> cst.BaseExpression:
        """What a flag was assigned, other than its first value, or the test itself."""
        if isinstance(test, cst.Name):
            for node in cast("list[cst.Assign]", self.all(cst.Assign)):
                first = code(node.value) in ("True", "False")
                if code(node.targets[0].target) == test.value and not first:
                    return node.value
        return test

    def _called_or_made(self) -> set[str]:
        """Names of functions, methods and classes: ``register_post_accumulate_grad_hook``."""
        made = cast("list[cst.FunctionDef | cst.ClassDef]", self.all(cst.FunctionDef, cst.ClassDef))
        called = cast("list[cst.Call]", self.all(cst.Call))
        return {called_name(call) for call in called} | {node.name.value for node in made}

    def _is_seen(self, loop: cst.For, at: cst.CSTNode) -> bool:
        """Whether what a loop counts with is a name where a node stands."""
        scope = self._scope(loop)
        return scope is None or scope in self.above(at)

    def _inside(self, outer: cst.CSTNode) -> list[cst.CSTNode]:
        return [n for n in self._positions if outer in self.above(n)]

    def _scope(self, node: cst.CSTNode) -> cst.CSTNode | None:
        return next((n for n in self.above(node) if isinstance(n, cst.FunctionDef)), None)

    def _alone(self, call: cst.Call) -> bool:
        return isinstance(self._parents.get(call), cst.Expr)

    def _place(self, node: cst.CSTNode) -> tuple[int, int]:
        start = self._positions[node].start
        return start.line, start.column


def called_name(call: cst.Call) -> str:
    """``clip_grad_norm_`` of ``torch.nn.utils.clip_grad_norm_(...)``."""
    match call.func:
        case cst.Name(value=name) | cst.Attribute(attr=cst.Name(value=name)):
            return name
    return ""


def receiver(call: cst.Call) -> str:
    """``optimizer`` of ``optimizer.step()``."""
    return code(call.func.value) if isinstance(call.func, cst.Attribute) else ""


def threshold_of(call: cst.Call) -> cst.Arg | None:
    """The argument of a clip that is its threshold."""
    named = [a for a in call.args if a.keyword and a.keyword.value == "max_norm"]
    placed = [a for a in call.args[1:2] if a.keyword is None and not a.star]
    return next(iter(named or placed), None)


def code(node: cst.CSTNode) -> str:
    """A node as text."""
    return cst.Module([]).code_for_node(node)


def statement(text: str) -> cst.BaseStatement:
    """One statement."""
    return cast("cst.BaseStatement", cst.parse_statement(text))


def instead(text: str) -> ProgramChange:
    """An expression in its place."""
    return lambda _: cst.parse_expression(f"({text})")


def gone(_: cst.CSTNode) -> cst.RemovalSentinel:
    """Nothing in its place."""
    return cst.RemovalSentinel.REMOVE


def before(*texts: str) -> ProgramChange:
    """Statements in front of it."""
    return lambda node: cst.FlattenSentinel(
        [*map(statement, texts), cast("cst.BaseStatement", node)]
    )


def after(*texts: str) -> ProgramChange:
    """Statements behind it."""
    return lambda node: cst.FlattenSentinel(
        [cast("cst.BaseStatement", node), *map(statement, texts)]
    )


def replaced(statements: Sequence[cst.BaseStatement]) -> ProgramChange:
    """Other statements in its place."""
    return lambda _: cst.FlattenSentinel(list(statements))


def _is_preamble(node: cst.CSTNode) -> bool:
    if not isinstance(node, cst.SimpleStatementLine):
        return False
    first = node.body[0]
    text = isinstance(first, cst.Expr) and isinstance(first.value, cst.SimpleString)
    return text or isinstance(first, cst.Import | cst.ImportFrom)


class _Changing(cst.CSTTransformer):
    """Walks only into what is around a change."""

    def __init__(self, changes: Changes, around: frozenset[cst.CSTNode]) -> None:
        super().__init__()
        self._changes = changes
        self._around = around

    def on_visit(self, node: cst.CSTNode) -> bool:
        return node in self._around

    def on_leave(  # type: ignore[override]  # libcst types it by node
        self, original_node: cst.CSTNode, updated_node: cst.CSTNode
    ) -> Replaced:
        change = self._changes.get(original_node)
        return change(updated_node) if change is not None else updated_node
