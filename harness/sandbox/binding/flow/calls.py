"""Method calls that every tensor or container understands, and calls of anything that is not known."""

import ast

from torch import Tensor

from harness.sandbox.binding.flow import library
from harness.sandbox.binding.flow.graph import Call, Node
from harness.sandbox.binding.flow.librarycalls import SPLITTING, LibraryCalls

ADDING = ("append", "appendleft", "add", "extend")
PUTTING = frozenset({"append", "appendleft", "add", "put", "put_nowait", "insert"})
TAKING = frozenset({"pop", "popleft", "get", "get_nowait"})
VIEWS = ("items", "values", "keys")
BACKWARD = ("backward", "manual_backward")
NUMBERS = frozenset({"item", "numel", "size", "sum", "count_nonzero"})
"""Tensor methods that reduce a whole batch to one number."""


class Calls(LibraryCalls):
    """Any call expression."""

    def _call(self, tree: ast.Call) -> Node:
        receiver: Node | None = None
        if isinstance(tree.func, ast.Attribute):
            receiver = self.value(tree.func.value)
            if is_path(receiver):
                return self.library_call(f"{receiver.library}.{tree.func.attr}", tree)
            found = self._method(receiver, tree.func.attr, tree)
            if found is not None:
                return found
        callee = self.value(tree.func)
        if is_path(callee):
            return self.library_call(callee.library, tree)
        self.graph.use(callee, "called")
        call = self.record(callee, tree)
        if callee.library:
            self.library_calls.append((callee.library, call))
        if receiver is not None:
            self._called_on(receiver, tree, call)
        if not self.in_module_class:
            self.built.append((tree, call.result))
        gradients = callee.library.removesuffix("()") in library.DERIVING
        return Node() if gradients else call.result  # not what the function itself returns

    def _called_on(self, receiver: Node, tree: ast.Call, call: Call) -> None:
        """What the name of a method tells."""
        name = getattr(tree.func, "attr", "")
        self.receivers[id(call)] = receiver
        self._of_a_tensor(receiver, tree, call.result)
        self._of_a_container(receiver, name, call)
        self.hand_over(name, call, receiver)
        if self.function is not None and self.function.owner and _is_of_base(tree):
            self.construct_base(self.function.owner.bases, call)

    def _of_a_tensor(self, receiver: Node, tree: ast.Call, result: Node) -> None:
        name = getattr(tree.func, "attr", "")
        if name in SPLITTING:
            self.graph.flow(receiver, self.graph.part(result, ("for", 0)))
        if hasattr(Tensor, name):
            self.graph.feed(receiver, result)
            if name in NUMBERS and not (name == "sum" and (tree.args or tree.keywords)):
                self.graph.tag(result, "number")

    def _of_a_container(self, receiver: Node, name: str, call: Call) -> None:
        """What was put in comes out: of a list, a queue, or a dict by its key."""
        if name in PUTTING and call.args:
            self._put(receiver, call.args[-1])
        elif name in TAKING:
            self.graph.flow(self.graph.part(receiver, ("for", 0)), call.result)
            if call.args:
                self.graph.flow(self.graph.part(receiver, ("[]", "*")), call.result)

    def _put(self, receiver: Node, added: Node) -> None:
        self.graph.flow(added, self.graph.part(receiver, ("for", 0)))
        self.grown.append(receiver)

    def _method(self, receiver: Node, name: str, tree: ast.Call) -> Node | None:
        """Methods that mean the same whatever they are called on; ``None`` for others."""
        if name in library.TRANSPARENT and name not in self.own_methods:
            return self._transparent(receiver, name, tree)
        if name in VIEWS and not tree.args:
            return self._view(receiver, name)
        if name in ADDING and len(tree.args) == 1 and name not in self.own_methods:
            self.graph.use(receiver, f".{name}")
            given = self.value(tree.args[0])
            self._put(receiver, self.iterate(given) if name == "extend" else given)
            return Node()
        if _prepares(receiver, name):
            self.graph.use(receiver, f".{name}")
            return self._setup(tree)
        if name in BACKWARD:
            self._backward(receiver, name, tree)
            return None
        return self._taken(receiver, name, tree)

    def _transparent(self, receiver: Node, name: str, tree: ast.Call) -> Node:
        self.graph.use(receiver, f".{name}", f"{name}()")
        for argument in (*tree.args, *(k.value for k in tree.keywords)):
            self.graph.use(self.value(argument), "device" if name in ("to", "cuda") else "size")
        result = Node()
        self.graph.flow(receiver, result)
        return result

    def _taken(self, receiver: Node, name: str, tree: ast.Call) -> Node | None:
        """An item by its name, the next element, or what an exit stack enters."""
        if name == "format" and "constant" in receiver.tags:
            return self.text([*tree.args, *(keyword.value for keyword in tree.keywords)])
        if name in ("__iter__", "__next__"):
            return receiver if name == "__iter__" else self.iterate(receiver)
        first = tree.args[0] if tree.args else None
        if name == "enter_context" and first is not None and name not in self.own_methods:
            self.graph.use(receiver, f".{name}")
            return self.enter(self.value(first))
        if (
            name in ("get", "pop")
            and isinstance(first, ast.Constant)
            and isinstance(first.value, str)
        ):
            self.graph.use(receiver, "item:str", f".{name}")
            return self.graph.part(receiver, ("[]", first.value))
        return None

    def _backward(self, receiver: Node, name: str, tree: ast.Call) -> None:
        drives = bool(tree.args) and receiver.library.endswith("()")  # accelerator.backward(loss)
        self.graph.use(receiver, f".{name}", *(() if drives else ("to_loss",)))
        if tree.args:
            self.graph.use(self.value(tree.args[0]), "to_loss")

    def _view(self, receiver: Node, name: str) -> Node:
        graph = self.graph
        graph.use(receiver, f".{name}")
        result = Node()
        result.depth = 1
        if name == "items":
            result.parts["items of", 0] = receiver
            pair = graph.part(result, ("for", 0))
            graph.flow(graph.part(receiver, ("[]", "*")), graph.part(pair, ("[]", 1)))
        elif name == "values":
            graph.flow(graph.part(receiver, ("[]", "*")), graph.part(result, ("for", 0)))
        if name != "keys":
            graph.part(receiver, ("[]", "*"))
        return result

    def _setup(self, tree: ast.Call) -> Node:
        """``fabric.setup(model, optimizer)`` and ``accelerator.prepare(...)`` return what they are
        given, in the same order.
        """
        given = [self.value(a) for a in tree.args]
        if len(given) == 1:
            return given[0]
        result = Node()
        for i, argument in enumerate(given):
            self.graph.flow(argument, self.graph.part(result, ("[]", i)))
        return result


def _prepares(receiver: Node, name: str) -> bool:
    if name.startswith("setup"):
        return receiver.library.endswith("Fabric()") or "fabric" in receiver.names
    named = receiver.library.endswith("Accelerator()") or "accelerator" in receiver.names
    return name.startswith("prepare") and named


def _is_of_base(tree: ast.Call) -> bool:
    """``super().__init__(...)``."""
    return ast.unparse(tree.func) == "super().__init__"


def is_path(node: Node) -> bool:
    """Whether it is an object of a library, and no instance that the library made."""
    return bool(node.library) and not node.library.endswith("()")
