"""Expressions of a program as nodes of the graph."""

import ast
from collections.abc import Iterable

from harness.sandbox.binding.flow import choices, library
from harness.sandbox.binding.flow.calls import Calls, is_path
from harness.sandbox.binding.flow.definitions import Function, Parameter
from harness.sandbox.binding.flow.graph import Node
from harness.sandbox.binding.flow.scopes import Scope, assigned
from harness.syntax import children


class Expressions(Calls):
    """One method for each type of expression; each returns the node of the expression's values."""

    def value(self, tree: ast.expr | None) -> Node:
        """Node of any expression."""
        if tree is None:
            return Node()
        method = getattr(self, f"_{type(tree).__name__.lower()}", None)
        return method(tree) if method else self._other(tree)

    def _other(self, tree: ast.expr) -> Node:
        result = Node()
        for child in children(tree):
            if isinstance(child, ast.expr):
                self.graph.feed(self.value(child), result)
        return result

    def _name(self, tree: ast.Name) -> Node:
        return self.name(tree.id)

    def _constant(self, tree: ast.Constant) -> Node:
        node = Node()
        node.tags.add("constant")
        return node

    def _attribute(self, tree: ast.Attribute) -> Node:
        whole = self.value(tree.value)
        if is_path(whole):
            return Node(library=f"{whole.library}.{tree.attr}")
        self.graph.use(whole, f".{tree.attr}")
        part = self.graph.part(whole, (".", tree.attr))
        if tree.attr == "module" and "module" not in self.own_fields:  # what DDP wraps
            self.graph.flow(whole, part)
        if tree.attr == "grad":
            self.graph.tag(part, "grad")
        elif tree.attr in TENSOR:
            self.graph.feed(whole, part)
        return part

    def _subscript(self, tree: ast.Subscript) -> Node:
        whole = self.value(tree.value)
        if isinstance(tree.slice, ast.Slice):
            self.value(tree.slice.lower), self.value(tree.slice.upper)
            self.graph.use(whole, "sliced")
            return whole
        index = tree.slice.value if isinstance(tree.slice, ast.Constant) else None
        if isinstance(tree.slice, ast.UnaryOp) and isinstance(tree.slice.operand, ast.Constant):
            index = -1
        if isinstance(index, str | int):
            self.graph.use(whole, "item:str" if isinstance(index, str) else "item:int")
            part = self.graph.part(whole, ("[]", index))
            if isinstance(tree.value, ast.Attribute) and tree.value.attr == "shape":
                self.graph.tag(part, "number")
            if isinstance(index, str):
                self.picked.append((whole, part))
            else:
                self.graph.flow(self.graph.part(whole, ("[]", "*")), part)
            return part
        place = self.value(tree.slice)
        self.graph.use(place, "as_index")
        self.graph.use(whole, "indexed")
        if "data" in whole.tags or isinstance(tree.slice, ast.Tuple | ast.Compare):
            return whole
        part = self.graph.part(whole, ("[]", "*"))
        self.indexed.append((whole, place, part))
        return part

    def _tuple(self, tree: ast.Tuple | ast.List) -> Node:
        node, held = Node(), list[Node]()
        self.displays.append((node, held))
        node.tags.add("literal")
        for i, item in enumerate(tree.elts):
            if isinstance(item, ast.Starred):
                self.graph.flow(self.value(item.value), node)
                continue
            found = self.value(item)
            held.append(found)
            self.graph.flow(found, self.graph.part(node, ("[]", i)))
            self.graph.flow(found, self.graph.part(node, ("for", 0)))
        return node

    _list = _tuple

    def _dict(self, tree: ast.Dict) -> Node:
        node, held = Node(), list[Node]()
        self.dicts.append(node)
        self.displays.append((node, held))
        for key, value in zip(tree.keys, tree.values, strict=True):
            found = self.value(value)
            held.append(found)
            if key is None:
                self.graph.flow(found, node)
            elif isinstance(key, ast.Constant) and isinstance(key.value, str):
                if key.value == "params":
                    self.graph.use(found, "parameters")
                elif key.value in library.KEYWORDS:
                    self.graph.use(found, library.KEYWORDS[key.value])
                self.graph.flow(found, self.graph.part(node, ("[]", key.value)))
            else:
                self.value(key)
                self.graph.flow(found, self.graph.part(node, ("[]", "*")))
        return node

    def _binop(self, tree: ast.BinOp) -> Node:
        if isinstance(tree.op, ast.Mod) and _is_text(tree.left):
            right = tree.right
            return self.text(right.elts if isinstance(right, ast.Tuple) else [right])
        return self.arithmetic(
            type(tree.op).__name__, self.value(tree.left), self.value(tree.right)
        )

    def arithmetic(self, operation: str, left: Node, right: Node) -> Node:
        """Record an operation between two values."""
        result = Node()
        self.graph.feed(left, result)
        self.graph.feed(right, result)
        if not self.in_module_class:
            self.operations.append((operation, left, right, result))
        if operation == "Mod":
            self.graph.use(left, "mod_left")
            self.graph.use(right, "mod")
            self.graph.tag(result, "mod")
        elif operation == "Div":
            self.graph.use(right, "divides")
        elif operation == "Mult" and "literal" in left.tags:  # [iterator] * 4
            self.graph.flow(left, result)
        elif operation == "Add" and "literal" in left.tags | right.tags:  # window + [batch]
            self.graph.flow(left, result)
            self.graph.flow(right, result)
        return result

    def _compare(self, tree: ast.Compare) -> Node:
        result = Node()
        nodes = [self.value(tree.left), *(self.value(c) for c in tree.comparators)]
        constants = [isinstance(c, ast.Constant) for c in (tree.left, *tree.comparators)]
        for node in nodes:
            self.graph.feed(node, result)
            self.graph.use(node, "compare", *(("compare:constant",) if any(constants) else ()))
        if isinstance(tree.ops[0], ast.Is | ast.IsNot):
            self.graph.use(nodes[0], "is")
        self.comparisons.append(nodes)
        option = choices.compared(tree)
        if option is not None:
            asked = self.value(option)
            self.graph.use(asked, "compare:text")
            self.asked.append((asked, tree))
        return result

    def _boolop(self, tree: ast.BoolOp) -> Node:
        result = Node()
        for value in tree.values:
            found = self.value(value)
            self.graph.flow(found, result)
            self.graph.feed(found, result)
        return result

    def _ifexp(self, tree: ast.IfExp) -> Node:
        test = self.value(tree.test)
        self.graph.use(test, "guards", "chooses")
        result = Node()
        for branch in (tree.body, tree.orelse):
            self.graph.flow(self.value(branch), result)
        return result

    def _namedexpr(self, tree: ast.NamedExpr) -> Node:
        found = self.value(tree.value)
        self.store(tree.target, found)
        return found

    def _joinedstr(self, tree: ast.JoinedStr) -> Node:
        return self.text(p.value for p in tree.values if isinstance(p, ast.FormattedValue))

    def _starred(self, tree: ast.Starred) -> Node:
        return self.value(tree.value)

    def _lambda(self, tree: ast.Lambda) -> Node:
        function = self.define(tree, "<lambda>")
        scope = Scope(self.scope, [p.name for p in function.parameters])
        for parameter in function.parameters:
            scope.names[parameter.name] = parameter.node
        with self.inside(scope, function):
            self.graph.flow(self.value(tree.body), function.result)
        node = Node()
        self.graph.touch(node)
        node.targets.add(function)
        return node

    def _listcomp(self, tree: ast.ListComp | ast.GeneratorExp | ast.SetComp) -> Node:
        result = Node()
        with self.inside(self._comprehension(tree), self.function):
            source, targets = self._generators(tree.generators)
            element = self.value(tree.elt)
            same = len(tree.generators) == 1 and any(
                element in target.downstream() for target in targets
            )
            if same:
                self.graph.flow(source, result)
            else:
                self.graph.flow(element, self.graph.part(result, ("for", 0)))
            self.graph.feed(element, result)
        return result

    _generatorexp = _setcomp = _listcomp

    def _dictcomp(self, tree: ast.DictComp) -> Node:
        result = Node()
        with self.inside(self._comprehension(tree), self.function):
            source, _ = self._generators(tree.generators)
            self.value(tree.key)
            found = self.value(tree.value)
            mapping = source.parts.get(("items of", 0))
            if mapping is not None and not found.library:
                self.graph.flow(mapping, result)
            else:
                self.graph.flow(found, self.graph.part(result, ("[]", "*")))
        return result

    def _comprehension(self, tree: ast.expr) -> Scope:
        generators: list[ast.comprehension] = getattr(tree, "generators", [])
        return Scope(self.scope, assigned([g.target for g in generators]))

    def _generators(self, generators: Iterable[ast.comprehension]) -> tuple[Node, list[Node]]:
        source, targets = Node(), list[Node]()
        for i, generator in enumerate(generators):
            iterated = self.value(generator.iter)
            element = self.iterate(iterated)
            self.store(generator.target, element)
            if i == 0:
                source, targets = iterated, [element]
            for test in generator.ifs:
                self.graph.use(self.value(test), "guards")
        return source, targets

    def _yield(self, tree: ast.Yield) -> Node:
        if self.function is None:
            return Node()
        element = self.graph.part(self.function.result, ("for", 0))
        self.graph.flow(self.value(tree.value), element)
        return self._sent(self.function, element)

    def _sent(self, function: Function, element: Node) -> Node:
        """What a generator is sent: its method takes that, and returns what is yielded next."""
        sent = Node()
        taken = Parameter("value", sent, "positional", default=False)
        for name in ("send", "asend"):
            method = self.graph.part(function.result, (".", name))
            method.targets.add(Function(name, function.tree, [taken], element))
            self.graph.touch(method)
        return sent

    def _yieldfrom(self, tree: ast.YieldFrom) -> Node:
        if self.function is not None:
            self.graph.flow(self.value(tree.value), self.function.result)
        return Node()

    def _await(self, tree: ast.Await) -> Node:
        return self.value(tree.value)


def _is_text(tree: ast.expr) -> bool:
    return isinstance(tree, ast.Constant) and isinstance(tree.value, str)


TENSOR = frozenset({"T", "data", "mT", "shape", "real"})
"""Attributes of a tensor that are tensors of the same role."""
