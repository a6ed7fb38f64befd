"""Statements of a program, except definitions."""

import ast
from collections.abc import Iterable

from harness.sandbox.binding.flow import switches
from harness.sandbox.binding.flow.effects import BACKWARD, STEP, Effects, loops
from harness.sandbox.binding.flow.expressions import Expressions
from harness.sandbox.binding.flow.graph import Node
from harness.sandbox.binding.flow.scopes import assigned, is_placeholder
from harness.syntax import children, walk

NO_GRAD = ("no_grad", "inference_mode", "set_grad_enabled(False)")


class Statements(Expressions):
    """One method for each type of statement."""

    effects: Effects

    def body(self, statements: Iterable[ast.stmt]) -> None:
        """Statements in order."""
        for statement in statements:
            method = getattr(self, f"_{type(statement).__name__.lower()}", self._statement)
            method(statement)

    def _statement(self, tree: ast.stmt) -> None:
        for child in children(tree):
            if isinstance(child, ast.expr):
                self.value(child)
            elif isinstance(child, ast.stmt):
                self.body([child])
            elif isinstance(child, ast.ExceptHandler | ast.match_case):
                if isinstance(child, ast.ExceptHandler) and child.name:
                    self.bind(child.name)
                self.body(child.body)

    def _expr(self, tree: ast.Expr) -> None:
        self.graph.use(self.value(tree.value), "discarded")

    def _return(self, tree: ast.Return) -> None:
        found = self.value(tree.value)
        if self.function is not None:
            self.graph.flow(found, self.function.result)

    def _global(self, tree: ast.Global) -> None: ...

    _nonlocal = _global

    def _import(self, tree: ast.Import) -> None:
        for alias in tree.names:
            path = alias.name if alias.asname else alias.name.partition(".")[0]
            self.bind(alias.asname or path).library = path

    def _importfrom(self, tree: ast.ImportFrom) -> None:
        for alias in tree.names:
            if alias.name != "*":
                self.bind(alias.asname or alias.name).library = f"{tree.module}.{alias.name}"

    # ------------------------------------------------------------------------------- assignments

    def store(self, target: ast.expr, value: Node) -> None:
        """Assign ``value`` to a target."""
        graph = self.graph
        match target:
            case ast.Name(id=name):
                graph.flow(value, self.bind(name))
            case ast.Tuple(elts=targets) | ast.List(elts=targets):
                self._unpack(targets, value)
            case ast.Attribute(value=whole, attr=name):
                node = self.value(whole)
                graph.use(node, f".{name}", f"={name}")
                graph.flow(value, graph.part(node, (".", name)))
            case ast.Subscript():
                graph.flow(value, self.value(target))
            case _:
                self.value(target)

    def _unpack(self, targets: list[ast.expr], value: Node) -> None:
        graph, count = self.graph, len(targets)
        star = next((i for i, t in enumerate(targets) if isinstance(t, ast.Starred)), None)
        graph.use(value, f"unpack:{count}" if star is None else f"star:{count}")
        for i, part in enumerate(targets):
            if isinstance(part, ast.Starred):
                rest = Node()
                graph.flow(graph.part(value, ("for", 0)), graph.part(rest, ("for", 0)))
                self.store(part.value, rest)
            else:
                behind = star is not None and i > star
                self.store(part, graph.part(value, ("[]", i - count if behind else i)))

    def _assign(self, tree: ast.Assign) -> None:
        if is_placeholder(tree.value):
            return
        match tree:
            case ast.Assign(targets=[ast.Tuple(elts=targets)], value=ast.Tuple(elts=values)) if len(
                targets
            ) == len(values):
                found = [self.value(value) for value in values]
                for target, one in zip(targets, found, strict=True):
                    self.store(target, one)
            case _:
                node = self.value(tree.value)
                for target in tree.targets:
                    if isinstance(target, ast.Name) and _wraps(tree.value, target.id):
                        self.renew(target.id)
                    self.store(target, node)

    def _annassign(self, tree: ast.AnnAssign) -> None:
        if self.function is None:
            self.annotation(tree.annotation)
        if tree.value is not None and not is_placeholder(tree.value):
            self.store(tree.target, self.value(tree.value))

    def _augassign(self, tree: ast.AugAssign) -> None:
        name = tree.target.id if isinstance(tree.target, ast.Name) else None
        whole = self.value(tree.target) if name is None else self.name(name)
        result = self.arithmetic(type(tree.op).__name__, whole, self.value(tree.value))
        if name is not None:
            self.graph.flow(result, self.bind(name))
        self.graph.use(whole, "augmented")

    # ------------------------------------------------------------------------------------ blocks

    def _if(self, tree: ast.If) -> None:
        test = self.value(tree.test)
        leaves = all(isinstance(s, ast.Continue) for s in tree.body)
        steps = leaves or STEP in self.effects.of(tree.body)
        self.graph.use(test, "guards_step" if steps else "guards")
        self.body(tree.body)
        self.body(tree.orelse)
        self._switched(tree)

    def _switched(self, tree: ast.If) -> None:
        """What each part of a condition must be for the branch that trains."""
        inside = switches.preference(tree, self.effects)
        changed = [self.name(name) for name in sorted(assigned([*tree.body, *tree.orelse]))]
        for atom, negated in switches.atoms(tree.test):
            node = self.value(atom)
            self.guarded.append((node, changed))
            if inside is not None:
                self.graph.use(node, "wants_on" if inside != negated else "wants_off")

    def _while(self, tree: ast.While) -> None:
        self.graph.use(self.value(tree.test), "guards", "chooses")
        self.body(tree.body)
        self.body(tree.orelse)

    def _for(self, tree: ast.For) -> None:
        source = self.value(tree.iter)
        match tree.iter:
            case ast.Call(func=ast.Name(id="range" | "trange"), args=[_, *_] as args):
                self._counted(tree, args)
        if BACKWARD in self.effects.of(tree.body):
            self.graph.use(source, "iter_backward")
        self.turns.append((tree, source))
        self.store(tree.target, self.iterate(source))
        self.body(tree.body)
        self.body(tree.orelse)

    _asyncfor = _for

    def _counted(self, tree: ast.For, args: list[ast.expr]) -> None:
        """What ``range`` counts: epochs, updates, or the micro-batches of one update."""
        stop = self.value(args[-1] if len(args) < 3 else args[1])
        for start in args[:1] if len(args) > 1 else ():
            self.graph.use(self.value(start), "range_start")
        inside = self.effects.of(tree.body)
        if inside and self._starts_anew(tree.body):
            self.graph.use(stop, "range_epochs")
        elif STEP in inside:
            self.graph.use(
                stop, "range_steps" if self._always_steps(tree.body) else "range_batches"
            )
        elif BACKWARD in inside:
            self.graph.use(stop, "range_inner")
        else:
            self.graph.use(stop, "range_other")

    def _always_steps(self, body: list[ast.stmt]) -> bool:
        """Whether every turn makes an update, and not only some ``if``."""
        ways = ([s.body, s.orelse] if isinstance(s, ast.If) else [[s]] for s in body)
        return any(all(STEP in self.effects.of(way) for way in one) for one in ways)

    def _starts_anew(self, body: list[ast.stmt]) -> bool:
        """Whether each turn goes over data anew: a loop or a function inside trains."""
        inner = loops(body)
        if inner:
            return any(STEP in self.effects.of(loop.body) for loop in inner)
        return not any(
            isinstance(node, ast.Attribute) and node.attr in ("backward", "manual_backward")
            for statement in body
            for node in walk(statement)
        )

    def _with(self, tree: ast.With) -> None:
        before = self.no_grad
        for item in tree.items:
            entered = self.enter(self.value(item.context_expr))
            if item.optional_vars is not None:
                self.store(item.optional_vars, entered)
            self.no_grad |= is_no_grad(item.context_expr)
        self.body(tree.body)
        self.no_grad = before

    _asyncwith = _with


def _wraps(value: ast.expr, name: str) -> bool:
    """``step = partial(step, model)``: what is called ``step`` from here on takes other arguments."""
    match value:
        case ast.Call(func=function, args=[ast.Name(id=given), *_]) if given == name:
            return ast.unparse(function).rpartition(".")[2] == "partial"
    return False


def is_no_grad(tree: ast.expr) -> bool:
    """Whether a context manager or decorator disables gradients."""
    text = ast.unparse(tree)
    return any(name in text for name in NO_GRAD)
