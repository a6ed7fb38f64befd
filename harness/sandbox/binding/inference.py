"""What values are, from what is done with them: batches, outputs, losses, models, criteria."""

from collections.abc import Callable, Iterator

from harness.sandbox.binding import hints
from harness.sandbox.binding.definitions import Class, Function, Instance, Partial
from harness.sandbox.binding.graph import Call, Node
from harness.sandbox.binding.linking import Linking
from harness.sandbox.binding.reader import Reader
from harness.sandbox.binding.signs import (
    METHODS,
    MODEL_ATTRIBUTES,
    NO_OPTIMIZER,
    NOT_DATA,
    asks_for_a_loss,
    given_anew,
    goes_back_as_it_is,
    is_fetch,
    is_loader,
    is_model,
    is_plain,
    is_root,
    is_undecided,
)

ROUNDS = 12

GIVEN_BEHIND = {"checkpoint": 1, "checkpoint_sequential": 2, "functional_call": 2}
"""Library functions that call their first argument, by the place of what they give it."""


class Inference(Linking):
    """Spreads what is known until nothing changes; guesses only then, and goes on."""

    def __init__(self, reader: Reader, is_network: Callable[[str], bool] | None = None) -> None:
        """Infer everything at once. ``is_network``: given where several networks are trained, names
        that say that one is called.
        """
        super().__init__(reader)
        self._several = is_network is not None
        self.definite = False
        """Whether some model is known by what only a model has."""
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

    def _round(self) -> None:
        self.link()
        self.graph.settle()
        self.definite = any(is_model(c.callee) and not c.inner for c in self.graph.calls)
        self._seed()
        self.graph.settle()
        for path, call in self.reader.library_calls:
            self._library(path, call)
        for call in self.graph.calls:
            self._optimizers(call)
            self._meaning(call)
        self._arithmetic()
        for nodes in self.reader.comparisons:
            if any(n.tags & {"norm", "grad"} for n in nodes):
                for node in nodes:
                    self.graph.use(node, "compare_norm")
        self.graph.settle()
        if not self.graph.changed:
            self._guess()

    def _arithmetic(self) -> None:
        for operation, left, right, result in self.reader.operations:
            if all(n.tags & {"number", "constant"} for n in (left, right)):
                self.graph.tag(result, "number")
            self._division(operation, left, right)
            self._pair(operation, left, right, result)
            self._pair(operation, right, left, result)

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

    # ------------------------------------------------------------------------------------ calls

    def _optimizers(self, call: Call) -> None:
        """``scaler.step(optimizer)``; but ``scheduler.step(loss)`` takes none."""
        named = call.callee.names & {"step", "unscale_"} if not self.schedules(call) else set()
        if named and call.args and not call.args[0].tags & NO_OPTIMIZER:
            self.graph.use(call.args[0], "optimizer" if "unscale_" in named else "optimizer?")

    def _meaning(self, call: Call) -> None:
        """What is certain about a call."""
        callee, tags = call.callee, set[str]().union(*(a.tags for a in call.arguments()))
        if callee.library.endswith("()"):
            self._library(callee.library, call)
        if callee.library or any(isinstance(t, Function | Class | Partial) for t in callee.targets):
            return
        instances = [t for t in callee.targets if isinstance(t, Instance)]
        if (is_model(callee) and not is_plain(instances)) or (
            "model_call" in callee.uses and not callee.names & METHODS
        ):
            self._model_call(call)
        elif is_plain(instances) or callee.names & METHODS:
            pass
        elif self._several and tags & {"data", "output"} and len([*call.arguments()]) == 1:
            self._model_call(call)  # one network judges what another made; a loss compares two
        elif "output" in tags and (not call.inner or asks_for_a_loss(call)):
            self._criterion_call(call)
        elif "data" in tags:
            self.graph.tag(call.result, "made")

    def _model_call(self, call: Call) -> None:
        graph = self.graph
        graph.use(call.callee, "model_call")
        graph.tag(call.result, "output")
        for i, argument in enumerate((*call.args, *call.keywords.values())):
            graph.use(argument, "model_extra" if i else "model_arg")
        for argument in call.spread:
            graph.use(argument, "model_spread")

    def _criterion_call(self, call: Call) -> None:
        graph = self.graph
        graph.use(call.callee, "criterion")
        graph.tag(call.result, "loss")
        others = [
            a for a in call.arguments() if not a.tags & {"output", "constant"} and not is_model(a)
        ]
        for argument in call.arguments():
            if "output" in argument.tags:
                graph.use(argument, "loss_output")
        for i, argument in enumerate(others):
            graph.use(argument, "loss_extra" if i else "loss_target")

    def _library(self, path: str, call: Call) -> None:
        last = path.removesuffix("()").rpartition(".")[2]
        if path.endswith("()") and path.startswith("torch.nn."):
            if last.endswith("Loss"):
                self.reader.losses(call)
                self.graph.use(call.callee, "criterion")
            elif any(a.tags & {"data", "output"} for a in call.args):
                self._model_call(call)
        elif last in ("clip_grad_norm_", "clip_grad_norm", "get_total_norm"):
            self.graph.tag(call.result, "norm")
        elif last in GIVEN_BEHIND and len(call.args) > GIVEN_BEHIND[last] and not call.linked:
            call.linked.add(0)
            self._calls_for_it(call, call.args[GIVEN_BEHIND[last] :])

    def _calls_for_it(self, call: Call, given: list[Node]) -> None:
        """``checkpoint(model, x)`` calls the model, and so do others that take it first."""
        if len(given) == 1 and "literal" in given[0].tags:
            given = [item for _, item in sorted(given[0].items().items(), key=str)]
        inside = Call(call.args[0], given, {}, [], call.result, None, call.inner)
        call.args[0].calls.append(inside)
        self.graph.calls.append(inside)
        self.graph.touch(call.args[0])

    # ------------------------------------------------------------------------------------ guesses

    def _guess(self) -> None:
        """When nothing more is certain: what takes a batch first is the model, or prepares for it."""
        undecided = [c for c in self.graph.calls if is_undecided(c)]
        for call in undecided:
            tags = set[str]().union(*(a.tags for a in given_anew(call)))
            if "data" not in tags or tags & {"made", "output"}:
                continue
            if not self.definite or call.inner or call.callee.targets:
                self._model_call(call)
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
                    self._model_call(other)

    def _transform(self, call: Call) -> None:
        """Something done to a batch on its way to the model."""
        self.graph.use(call.callee, "transform")
        for argument in call.arguments():
            if "data" in argument.tags:
                self.graph.flow(argument, call.result)

    # --------------------------------------------------------------------------------- arithmetic

    def _division(self, operation: str, left: Node, right: Node) -> None:
        if operation != "Div":
            return
        if "loss" in left.tags and "loss" not in right.tags:
            self.graph.use(right, "divides_loss")
        elif right.tags & {"grad", "norm"}:
            if "constant" not in left.tags:
                self.graph.use(left, "max_norm")
        elif "grad" in left.tags:
            self.graph.use(right, "divides_grad")

    def _pair(self, operation: str, one: Node, other: Node, result: Node) -> None:
        """What ``other`` must be, being combined with ``one``."""
        if other.tags & {"constant", "output", "loss", "norm"}:
            return
        if operation == "Sub" and "output" in one.tags:
            self.graph.use(other, "loss_target")
            self.graph.tag(result, "loss")
        elif operation == "Mult":
            self._product(one, other, result)

    def _product(self, one: Node, other: Node, result: Node) -> None:
        if "loss" in one.tags:
            self.graph.use(other, "multiplies_loss")
            if "number" in other.tags or goes_back_as_it_is(result, self.graph.calls):
                return
            if "data" in other.tags or hints.first(other.all_names(), ("mask",)):
                self.graph.use(one, "per_sample")
        elif "output" in one.tags:
            self.graph.use(other, "multiplies_output")
        elif "length" in one.tags and "length" not in other.tags:
            self.graph.use(other, "epochs")


def _nodes(reader: Reader) -> Iterator[Node]:
    yield from (*reader.free.values(), *reader.scope.module.names.values())
    for function in reader.functions:
        yield from (p.node for p in function.parameters)
    for cls in reader.classes:
        yield from cls.instance.parts.values()
    for call in reader.graph.calls:
        yield from (call.callee, call.result)
