"""What values are, from what is done with them: batches, outputs, losses, models, criteria."""

from collections.abc import Callable, Iterator

from harness.sandbox.binding.flow.graph import Call, Node
from harness.sandbox.binding.flow.reader import Reader
from harness.sandbox.binding.roles.meaning import Meaning
from harness.sandbox.binding.roles.results import Paths
from harness.sandbox.binding.roles.signs import (
    MODEL_ATTRIBUTES,
    NOT_DATA,
    given_anew,
    is_fetch,
    is_loader,
    is_model,
    is_root,
    is_undecided,
)

ROUNDS = 12


class Inference(Meaning):
    """Spreads what is known until nothing changes; only then guesses, and spreads again."""

    def __init__(self, reader: Reader, is_network: Callable[[str], bool] | None = None) -> None:
        """Infer everything. ``is_network``: where several networks are trained, whether a name
        means one of them.
        """
        super().__init__(reader)
        self.several = is_network is not None
        self.definite = False
        """Whether some model is known by what only a model has."""
        self.paths = Paths((), ())
        """The ways of values to a backward, as far as they are known."""
        own = {f".{name}" for name in reader.own_methods}
        self.graph.marks = MODEL_ATTRIBUTES - own
        for node in _nodes(reader):
            self.graph.touch(node)
            if is_network is not None and node.calls and any(map(is_network, node.names)):
                self.graph.tag(node, "model")
        self._free = {n for f in reader.free.values() for n in f.downstream()}
        for _ in range(ROUNDS):
            self.graph.settle()
            self.graph.changed = False
            self._round()
            if not self.graph.changed:
                break
        self.guarded()
        self.picking()

    def _round(self) -> None:
        self.link()
        self.graph.settle()
        self.paths = Paths(self.graph.calls, self.reader.operations)
        self.definite = any(is_model(c.callee) and not c.inner for c in self.graph.calls)
        self._seed()
        self.graph.settle()
        for path, call in self.reader.library_calls:
            self.library(path, call)
        for call in self.graph.calls:
            self.optimizers(call)
            self.meaning(call)
        self.arithmetic()
        for nodes in self.reader.comparisons:
            if any(n.tags & {"norm", "grad"} for n in nodes):
                for node in nodes:
                    self.graph.use(node, "compare_norm")
        self.graph.settle()
        if not self.graph.changed:
            self._losses()
        if not self.graph.changed:
            self._guess()

    def _losses(self) -> None:
        """What a model or a criterion gives from which backward starts."""
        for call in self.graph.calls if not self.several else ():
            if call.callee.uses & {"model_call", "criterion"} and not call.inner:
                for loss in self.paths.losses_in(call):
                    self.graph.tag(loss, "loss")

    # ------------------------------------------------------------------------------------- data

    def _seed(self) -> None:
        """Find where batches come from."""
        roots = list(self.reader.free.values())
        for function in self.reader.functions:
            roots += [p.node for p in function.parameters if is_root(p.node)]
        for call in self.graph.calls:
            if not (call.callee.targets or call.callee.names & NOT_DATA or call.callee.library):
                roots += [call.result, *call.result.parts.values()]
            if call.callee in self._free and not call.inner and is_fetch(call):
                self.graph.tag(call.result, "data")
        for cls in self.reader.classes:
            roots += cls.unset().values()
        for root in roots:
            if is_loader(root):
                self._batches(root)
        self._containers()

    def _containers(self) -> None:
        """What is known of a whole and its parts at once."""
        self._picked()
        for mapping in self.reader.dicts:
            self._alike(mapping)
        for whole, place, part in self.reader.indexed:
            keys = list(whole.element.downstream()) if whole.element is not None else []
            if "data" in whole.tags and "data" in place.tags and place not in keys:
                self.graph.flow(whole, part)  # rows of a batch, picked by a mask
        for container in self.reader.grown:
            self._grown(container)

    def _picked(self) -> None:
        """What is any value of a mapping is also the one that is taken by its name."""
        for whole, item in self.reader.picked:
            if any(("[]", "*") in node.parts for node in whole.upstream()):
                self.graph.flow(self.graph.part(whole, ("[]", "*")), item)

    def _grown(self, container: Node) -> None:
        """What is put into a container is in it under whatever name, and is any item of it."""
        for whole in container.upstream():
            element = self.graph.part(whole, ("for", 0))
            self.graph.flow(self.graph.part(container, ("for", 0)), element)
            for key, item in whole.items().items():
                if isinstance(key, int) or key == "*":
                    self.graph.flow(element, item)

    def _batches(self, loader: Node) -> None:
        """What a loader yields; so is an item of it, once it has become a list."""
        element = self.graph.part(loader, ("for", 0))
        self.graph.tag(element, "data")
        items = loader.items()
        if "as_index" not in element.uses and not any(
            isinstance(k, str) and k != "*" for k in items
        ):
            for item in items.values():
                self.graph.flow(element, item)

    def _alike(self, mapping: Node) -> None:
        """What is done with any value of a literal dict is done with each."""
        items = mapping.items()
        anyone = items.get("*")
        for key, item in items.items():
            if anyone is not None and isinstance(key, str) and key != "*":
                self.graph.flow(item, anyone)

    # ------------------------------------------------------------------------------------ guesses

    def _guess(self) -> None:
        """When nothing more is certain: what takes a batch first is the model, or prepares for it."""
        undecided = [c for c in self.graph.calls if is_undecided(c)]
        for call in undecided:
            tags = set[str]().union(*(a.tags for a in given_anew(call)))
            if "data" not in tags or tags & {"made", "output"}:
                continue
            if not self.definite or call.inner or call.callee.targets:
                self.model_call(call)
            else:
                self._transform(call)
        if not self.graph.changed and not self.definite:
            self._guess_from_the_loss(undecided)

    def _guess_from_the_loss(self, undecided: list[Call]) -> None:
        """What is called on the way to a backward, and feeds another call on that way, is the model."""
        for call in undecided:
            given = list(call.arguments())
            if "to_loss" not in call.result.uses or len(given) < 2:
                continue
            for other in undecided:
                if other is not call and any(a in other.result.downstream() for a in given):
                    self.model_call(other)

    def _transform(self, call: Call) -> None:
        """Something done to a batch on its way to the model."""
        self.graph.use(call.callee, "transform")
        for argument in call.arguments():
            if "data" in argument.tags:
                self.graph.flow(argument, call.result)


def _nodes(reader: Reader) -> Iterator[Node]:
    yield from (*reader.free.values(), *reader.scope.module.names.values())
    for function in reader.functions:
        yield from (p.node for p in function.parameters)
    for cls in reader.classes:
        yield from cls.instance.parts.values()
    for call in reader.graph.calls:
        yield from (call.callee, call.result)
