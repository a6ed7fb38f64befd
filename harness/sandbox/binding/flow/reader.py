"""Reads a whole program into a graph, and finds the names that nothing defines."""

import ast

from harness.sandbox.binding.flow import library, named_later
from harness.sandbox.binding.flow.definitions import Class, Function, Instance, Kind, Parameter
from harness.sandbox.binding.flow.effects import effects
from harness.sandbox.binding.flow.graph import Node
from harness.sandbox.binding.flow.scopes import Scope, assigned, globals_in, is_stub
from harness.sandbox.binding.flow.statements import Statements, is_no_grad
from harness.syntax import children, walk

Definition = ast.FunctionDef | ast.AsyncFunctionDef


class Reader(Statements):
    """Reads module-level code first, then function bodies, which run when all module-level names
    are set.
    """

    def __init__(self, tree: ast.Module, library_names: dict[str, str]) -> None:
        """``library_names``: what free names stand for that mean objects of libraries."""
        super().__init__()
        self.effects = effects(tree)
        self.library_names = library_names
        self.free: dict[str, Node] = {}
        """Names that are read and that nothing in the program gives, with what is done with them."""
        self.stubs: set[str] = set()
        """Names of definitions without a body, which stand for the reader's own."""
        self.functions: list[Function] = []
        self.classes: list[Class] = []
        self.own_methods = frozenset(
            m.name for c in walk(tree) if isinstance(c, ast.ClassDef)
            for m in c.body if isinstance(m, ast.FunctionDef)
        )  # fmt: skip
        self.texts = named_later.texts(tree)
        self.own_fields = frozenset(
            node.attr
            for node in walk(tree)
            if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        ) | _declared(tree)
        futures = [s for s in tree.body if isinstance(s, ast.ImportFrom)]
        self._postponed = any(s.module == "__future__" for s in futures)
        self._ever = assigned(tree.body)
        self.only_global = globals_in(tree) - self._ever
        """Names that only functions assign, and that may be read before."""
        self._ever |= self.only_global
        self._now: set[str] = set()
        self._deferred: list[tuple[Function, Scope, bool]] = []
        self.body(tree.body)
        self._now = self._ever - self.only_global
        while self._deferred:
            self._function_body(*self._deferred.pop(0))

    # ------------------------------------------------------------------------------------- names

    def name(self, name: str) -> Node:
        """Node of a name that is read."""
        found = self.scope.find(name)
        if found is not None:
            return found
        if name in self._now:
            return self._module_name(name)
        if name in self.library_names:
            self.free.setdefault(name, Node(name))
            return Node(library=self.library_names[name])
        if library.is_builtin(name):
            return Node(library=f"builtins.{name}")
        free = self.free.setdefault(name, Node(name))
        if name not in self._ever:
            return free
        self.graph.flow(free, self._module_name(name))
        return self._module_name(name)

    def bind(self, name: str) -> Node:
        """Node of a name that is assigned."""
        found = self.scope.find(name)
        if found is not None:
            return found
        if name not in self.only_global:
            self._now.add(name)
        return self._module_name(name)

    def renew(self, name: str) -> None:
        """Let a name stand for something else from here on: what it was stays what it was."""
        scope = self.scope.holding(name)
        if name in scope.names:
            scope.names[name] = Node(name)

    def _module_name(self, name: str) -> Node:
        return self.scope.module.names.setdefault(name, Node(name))

    def annotation(self, tree: ast.expr | None) -> None:
        """Evaluated when the definition is executed, unless the program postpones that."""
        if tree is None or self._postponed:
            return
        if isinstance(tree, ast.Name | ast.Attribute):
            self.graph.use(self.value(tree), "annotation")
        for inner in children(tree) if not isinstance(tree, ast.Attribute) else ():
            if isinstance(inner, ast.expr):
                self.annotation(inner)

    # --------------------------------------------------------------------------------- functions

    def _functiondef(self, tree: Definition) -> None:
        if self._is_stub(tree):
            return
        function = self.define(tree, tree.name)
        decorators = [self.value(decorator) for decorator in tree.decorator_list]
        for decorator, node in zip(tree.decorator_list, decorators, strict=True):
            self.graph.use(node, "decorates")
            function.no_grad |= is_no_grad(decorator)
        given = self._give(tree.name, function)
        self.decorated += [(node, given) for node in decorators if not node.library]
        self._deferred.append((function, self.scope, self.in_module_class))

    _asyncfunctiondef = _functiondef

    def _is_stub(self, tree: Definition | ast.ClassDef) -> bool:
        """A definition without a body leaves its name free."""
        inside = self.function is not None or self.scope.parent is not None
        if inside or tree.decorator_list or not is_stub(tree):
            return False
        self.stubs.add(tree.name)
        self.graph.flow(self.free.setdefault(tree.name, Node(tree.name)), self.bind(tree.name))
        return True

    def _give(self, name: str, target: Function | Class) -> Node:
        node = Node()
        node.targets.add(target)
        self.graph.flow(node, self.bind(name))
        return node

    def define(self, tree: Definition | ast.Lambda, name: str) -> Function:
        """A function with nodes for its parameters; its body is read later."""
        parameters = [
            Parameter(row.arg, self._parameter(row, default), kind, default is not None)
            for row, kind, default in _rows(tree.args)
        ]
        self.annotation(getattr(tree, "returns", None))
        function = Function(name, tree, parameters, Node(), nested=self.function is not None)
        if not isinstance(tree, ast.Lambda):
            self.functions.append(function)
        return function

    def _parameter(self, tree: ast.arg, default: ast.expr | None) -> Node:
        node = Node(tree.arg)
        if tree.annotation is not None:
            self.annotation(tree.annotation)
            text = ast.unparse(tree.annotation).strip("'\"")
            node.uses.add(f"annotated:{text.rpartition('.')[2]}")
        if default is not None:
            self.graph.flow(self.value(default), node)
        return node

    def _function_body(self, function: Function, outer: Scope, inner: bool) -> None:  # noqa: FBT001 - queued
        tree = function.tree
        assert not isinstance(tree, ast.Lambda)
        scope = Scope(outer, assigned(tree.body) | {p.name for p in function.parameters})
        scope.names |= {parameter.name: parameter.node for parameter in function.parameters}
        if function.owner is not None and not function.static:
            first = [*tree.args.posonlyargs, *tree.args.args][:1]
            owner = (
                self._class_itself(function.owner) if function.of_class else function.owner.instance
            )
            scope.names |= {argument.arg: owner for argument in first}
        before = self.in_module_class, self.no_grad
        self.in_module_class, self.no_grad = inner, function.no_grad
        with self.inside(scope, function):
            self.body(tree.body)
        self.in_module_class, self.no_grad = before

    # ----------------------------------------------------------------------------------- classes

    def _class_itself(self, cls: Class) -> Node:
        """What a class method is handed: it has what instances have, and makes one when it is called."""
        node = Node()
        node.targets.add(cls)
        self.graph.flow(cls.instance, node)
        return node

    def _classdef(self, tree: ast.ClassDef) -> None:
        if self._is_stub(tree):
            return
        found = [(self.value(base), ast.unparse(base)) for base in tree.bases]
        bases = {node.library or name for node, name in found}
        unseen = [n for n, name in found if name.partition(".")[0] in self.free and not n.library]
        computes = any(getattr(part, "name", "") == "forward" for part in tree.body)
        for node in unseen:
            self.graph.use(node, "base:module" if computes else "base")
        bases |= {"torch.nn.Module"} if unseen and computes else set()
        cls = Class(
            tree.name, tree, Node(), bases, nested=self.function is not None, unseen=bool(unseen)
        )
        for other in self.classes:
            if other.name in bases:
                cls.parents += [p for p in (other, *other.parents) if p not in cls.parents]
                cls.bases |= other.bases
                self.graph.flow(cls.instance, other.instance)
        cls.instance.targets.add(Instance(cls))
        self.classes.append(cls)
        for decorator in tree.decorator_list:
            self.graph.use(self.value(decorator), "decorates")
        named = self._give(tree.name, cls)
        self._class_body(cls)
        for name, method in cls.methods.items():
            if method.static or method.of_class:
                self.graph.part(named, (".", name)).targets.add(method)

    def _class_body(self, cls: Class) -> None:
        before = self.in_module_class
        self.in_module_class = before or cls.module
        scope = Scope(self.scope, assigned(cls.tree.body))
        with self.inside(scope, self.function):
            for statement in cls.tree.body:
                if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
                    self._method_definition(cls, statement)
                elif isinstance(statement, ast.AnnAssign):
                    self._field(cls, statement)
                else:
                    self.body([statement])
        for name, node in scope.names.items():
            self.graph.flow(node, self.graph.part(cls.instance, (".", name)))
        self.in_module_class = before

    def _field(self, cls: Class, tree: ast.AnnAssign) -> None:
        self.annotation(tree.annotation)
        if not isinstance(tree.target, ast.Name):
            return
        node = self.graph.part(cls.instance, (".", tree.target.id))
        if tree.value is not None:
            self.graph.flow(self.value(tree.value), node)
        default = tree.value is not None
        cls.fields.append(Parameter(tree.target.id, node, "either", default))

    def _method_definition(self, cls: Class, tree: Definition) -> None:
        function = self.define(tree, tree.name)
        marks = {ast.unparse(decorator) for decorator in tree.decorator_list}
        function.owner, function.static = cls, "staticmethod" in marks
        function.of_class = "classmethod" in marks
        for decorator in tree.decorator_list:
            self.graph.use(self.value(decorator), "decorates")
            function.no_grad |= is_no_grad(decorator)
        if not function.static:
            function.parameters = function.parameters[1:]
        cls.methods[tree.name] = function
        part = self.graph.part(cls.instance, (".", tree.name))
        if "property" in marks:
            self.graph.flow(function.result, part)
        else:
            part.targets.add(function)
        inner = cls.module and (not cls.lightning or tree.name in ("__init__", "forward"))
        self._deferred.append((function, self.scope.parent or self.scope, inner))


def _rows(a: ast.arguments) -> list[tuple[ast.arg, Kind, ast.expr | None]]:
    """Parameters with their kinds and defaults, in order."""
    plain = [*a.posonlyargs, *a.args]
    defaults = [None] * (len(plain) - len(a.defaults)) + list(a.defaults)
    rows: list[tuple[ast.arg, Kind, ast.expr | None]] = [
        (argument, "positional" if argument in a.posonlyargs else "either", default)
        for argument, default in zip(plain, defaults, strict=True)
    ]
    rows += [(a.vararg, "star", None)] if a.vararg else []
    rows += [(k, "keyword", d) for k, d in zip(a.kwonlyargs, a.kw_defaults, strict=True)]
    rows += [(a.kwarg, "double-star", None)] if a.kwarg else []
    return rows


def _declared(tree: ast.Module) -> frozenset[str]:
    """Fields that classes declare: ``module: nn.Module``."""
    bodies = (node.body for node in walk(tree) if isinstance(node, ast.ClassDef))
    fields = (s.target for body in bodies for s in body if isinstance(s, ast.AnnAssign))
    return frozenset(target.id for target in fields if isinstance(target, ast.Name))
