"""Calls of libraries: what they do with their arguments, and what they return."""

import ast

from harness.sandbox.binding.flow import library, named_later
from harness.sandbox.binding.flow.definitions import Partial
from harness.sandbox.binding.flow.graph import Call, Node
from harness.sandbox.binding.flow.handed import called_later
from harness.sandbox.binding.flow.iterators import MOVING, Iterators

ITERATING = ("tqdm", "islice", "cycle", "list", "tuple", "deque")

SPLITTING = frozenset({"split", "chunk", "tensor_split"})
"""What cuts a tensor into stretches of rows."""

PLAIN = frozenset({
    "len", "range", "sum", "min", "max", "int", "float", "bool", "str", "round", "abs",
})  # fmt: skip
"""Builtins that compute a plain value."""

WITHIN: dict[str, dict[object, str]] = {
    "betas": {0: "beta1", 1: "beta2"},
    "device_ids": {0: "device_id"},
}
"""What is done with the elements of a keyword argument, by their place in it."""


class LibraryCalls(Iterators):
    """Calls whose callee is known by its dotted path."""

    def library_call(self, path: str, tree: ast.Call) -> Node:
        """Node of the result of ``path(...)``."""
        top, last = path.partition(".")[0], path.rpartition(".")[2]
        if top in ("builtins", "itertools") and last in PLAIN | MOVING:
            return self._builtin(last, tree)
        own = {"builtins.iter": self._until, "builtins.getattr": self._looked_up}.get(path)
        if own is not None and len(tree.args) > 1:
            return own(tree)
        call = self.record(Node(library=path), tree)
        self.library_calls.append((path, call))
        self._arguments(path, last, call)
        result = call.result
        if last in library.WRAPPERS and call.args:
            self.graph.flow(call.args[0], result)
            if last in ITERATING:
                self.iterate(call.args[0])
        elif last[:1].isupper() or path in library.DERIVING:
            result.library = f"{path}()"
        for argument in call.arguments():
            self.graph.feed(argument, result)
        if not self.in_module_class and path.startswith("torch.nn.") and last[:1].isupper():
            self.built.append((tree, result))
        return result

    def _looked_up(self, tree: ast.Call) -> Node:
        """``getattr(trainer, "step")``; by a computed name one of the methods that fit, and one that may
        be missing is nothing that the object is known to have.
        """
        match tree.args:
            case [whole, ast.Constant(value=str(name))]:
                return self.value(ast.copy_location(ast.Attribute(whole, name, ast.Load()), tree))
        call = self.record(Node(library="builtins.getattr"), tree)
        self.library_calls.append(("builtins.getattr", call))
        self.looked_up.append((call, tree.args[1], self.function))
        here = self.function.name if self.function is not None else ""
        found = named_later.names(tree.args[1], self.own_methods - {here}, self.texts)
        said = named_later.computed_from(tree.args[1])
        if found and said is not None:
            self.picks.append((self.value(said), found))
        for argument in call.arguments():
            self.graph.feed(argument, call.result)
        return call.result

    def _until(self, tree: ast.Call) -> Node:
        """``iter(queue.get, None)`` yields what the function returns, again and again."""
        result = Node()
        returned = self.value(ast.Call(func=tree.args[0], args=[], keywords=[]))
        self.graph.flow(returned, self.graph.part(result, ("for", 0)))
        return result

    def _arguments(self, path: str, last: str, call: Call) -> None:
        positions = library.POSITIONS.get(last, ())
        pairs = [
            (argument, use) for argument, use in zip(call.args, positions, strict=False) if use
        ]
        for keyword, argument in call.keywords.items():
            pairs.append((argument, library.KEYWORDS.get(keyword, f"keyword:{keyword}")))
            within = WITHIN.get(keyword, {})
            pairs += [(p, within[k]) for k, p in argument.items().items() if k in within]
        for argument, use in pairs:
            self.graph.use(argument, use)
        if last == "DataLoader":
            self._dataloader(call)
        elif path.startswith("torch.optim."):
            self._optim(call, schedules="lr_scheduler" in path)
        elif last in library.LOSSES:
            self.losses(call)
        else:
            self._standard(path, call)

    def construct_base(self, bases: set[str], call: Call) -> None:
        """What the constructor of a library's class is given by one that is built on it."""
        for base in bases:
            positions = library.POSITIONS.get(base.rpartition(".")[2], ())
            for argument, use in zip(call.args, positions, strict=False):
                self.graph.use(argument, *([use] if use else []))

    def _standard(self, path: str, call: Call) -> None:
        """What of Python's own library hands values on."""
        last = path.rpartition(".")[2]
        self.hand_over(last, call)
        if not call.args:
            return
        if last in ("random_split", "Subset"):
            self._splits(call, several=last == "random_split")
        if path.startswith("torch.") and last in SPLITTING:
            self.graph.flow(call.args[0], self.graph.part(call.result, ("for", 0)))
        if last == "TensorDataset":
            row = self.graph.part(call.result, ("batch", 0))
            for i, tensor in enumerate(call.args):
                self.graph.flow(tensor, self.graph.part(row, ("[]", i)))
        self._by_path(path, call)

    def _by_path(self, path: str, call: Call) -> None:
        if path.startswith("heapq.heap"):
            self._heap(call)
        elif path == "functools.reduce":
            self._folded(call)
        elif path == "functools.partial" and not call.args[0].library:
            call.result.targets.add(Partial(call))
        elif path == "builtins.isinstance" and _means_a_module(call.args[-1]):
            self.graph.use(call.args[0], "is_module")

    def _splits(self, call: Call, *, several: bool) -> None:
        """What is done with the batches of a part of a dataset is done with those of the whole."""
        samples = self.graph.part(call.args[0], ("batch", 0))
        for place in range(3) if several else ():
            part = self.graph.part(call.result, ("[]", place))
            self.graph.flow(samples, self.graph.part(part, ("batch", 0)))
        if not several:
            self.graph.flow(samples, self.graph.part(call.result, ("batch", 0)))

    def hand_over(self, name: str, call: Call, owner: Node | None = None) -> None:
        """``Thread(target=f, args=(a,))`` and ``pool.submit(f, a).result()`` call ``f(a)``."""
        if name in self.own_methods:
            return
        later = called_later(name, call, self.record, owner)
        if later is None:
            return
        made = Call(later.callee, [later.callee, *later.args], later.keywords, [], Node(), None)
        for getter in ("result", "get"):
            self.graph.part(call.result, (".", getter)).targets.add(Partial(made))
        self.graph.flow(later.result, call.result)

    def _folded(self, call: Call) -> None:
        """``reduce(f, items, start)``: what ``f`` returned is its first argument the next time."""
        function, *given = call.args
        for items in given[:1]:
            element = self.iterate(items)
            made = self.record(function, None, [call.result, element])
            self.graph.flow(given[1] if given[1:] else element, call.result)
            self.graph.flow(made.result, call.result)

    def _heap(self, call: Call) -> None:
        """``heappush(heap, item)`` and ``heappop(heap)``."""
        element = self.graph.part(call.args[0], ("for", 0))
        self.graph.flow(element, call.result)
        for item in call.args[1:]:
            self.graph.flow(item, element)

    def _optim(self, call: Call, *, schedules: bool) -> None:
        uses = ("optimizer", "total_steps") if schedules else ("parameters", "lr")
        for argument, use in zip(call.args, uses, strict=False):
            self.graph.use(argument, use)

    def _dataloader(self, call: Call) -> None:
        """What is done with its batches is done with the batches of the dataset."""
        element = self.graph.part(call.result, ("for", 0))
        self.graph.tag(element, "data")
        named = [call.keywords["dataset"]] if "dataset" in call.keywords else []
        for dataset in (*call.args[:1], *named):
            self.graph.flow(self.graph.part(dataset, ("batch", 0)), element)
            self.datasets.append((dataset, element))

    def losses(self, call: Call) -> None:
        """Note that a call takes outputs and targets and returns a loss."""
        named = [call.keywords[k] for k in ("input", "target") if k in call.keywords]
        uses = ("loss_output", "loss_target", "loss_extra")
        for argument, use in zip((*call.args, *named), uses, strict=False):
            self.graph.use(argument, use)
        self.graph.tag(call.result, "loss")

    # ---------------------------------------------------------------------------------- builtins

    def _builtin(self, name: str, tree: ast.Call) -> Node:
        args = [self._element_or_value(a) for a in tree.args]
        named = [self.value(k.value) for k in tree.keywords]
        if name in PLAIN:
            return self._plain(name, [*args, *named])
        return self.moved(name, args, named) if args else Node()

    def _element_or_value(self, tree: ast.expr) -> Node:
        """``zip(*[iterator] * 4)`` takes each element of what is starred."""
        found = self.value(tree)
        return self.graph.part(found, ("for", 0)) if isinstance(tree, ast.Starred) else found

    def _plain(self, name: str, args: list[Node]) -> Node:
        result = Node()
        for argument in args:
            self.graph.use(argument, name)
            self.graph.feed(argument, result)
        if name in ("len", "int", "float"):
            self.graph.tag(result, "number")
        if name == "sum" and args:
            self._sum(args[0], result)
        if name == "len":
            self.graph.tag(result, "length")
        elif name == "range":
            self.graph.tag(self.graph.part(result, ("for", 0)), "counter")
        return result

    def _sum(self, added: Node, result: Node) -> None:
        """A number for ``sum(len(x) for x, _ in window)``, but not for ``sum(losses)``."""
        element = self.graph.part(added, ("for", 0))
        self.graph.feed(element, result)
        if any("number" in node.tags for node in (element, *element.before)):
            self.graph.tag(result, "number")


def _means_a_module(kind: Node) -> bool:
    """Whether it is a class of layers, or several: ``(nn.Linear, nn.GELU)``."""
    kinds = [kind, *kind.items().values()]
    return any(k.library.startswith("torch.nn.") for k in kinds)
