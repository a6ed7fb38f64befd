"""Joins calls to the definitions of the program, and Lightning's own calls to its hooks."""

from collections.abc import Iterator

from harness.sandbox.binding.definitions import Class, Function, Instance, Partial
from harness.sandbox.binding.graph import Call, Graph, Node
from harness.sandbox.binding.reader import Reader
from harness.sandbox.binding.trainers import Trainers

TRAINING = ("train_dataloaders", "train_dataloader", "train_loader")
VALIDATION = ("val_dataloaders", "val_dataloader", "val_loader")
STEPS = ("training_step", "validation_step", "test_step")


class Linking:
    """Arguments flow into parameters, and what is returned into results."""

    def __init__(self, reader: Reader) -> None:
        """``link`` may be called again and again: what is joined stays joined once."""
        self.reader = reader
        self.graph: Graph = reader.graph
        self.fitted = Node("train_loader")
        """The loader that Lightning trains on."""
        self.validated = Node("val_loader")
        """The loader that Lightning validates on."""
        self.trainers = Trainers(reader)

    def link(self) -> None:
        """Join whatever is known by now."""
        for call in list(self.graph.calls):
            self._call(call)
        for call in self._fits():
            self._fit(call)
        for cls in self.reader.classes:
            self._loaders(cls)
            for name in STEPS if cls.lightning else ():
                self._hook(cls, name)
            for parent in cls.parents:
                self._inherit(cls, parent)
        self._datasets()
        self.trainers.link()

    def _datasets(self) -> None:
        for dataset, element in self.reader.datasets:
            for target in list(dataset.targets):
                if isinstance(target, Instance):
                    self._samples(target.cls, element)

    def _samples(self, cls: Class, element: Node) -> None:
        """A dataset of the program's own yields what it makes of another one's samples."""
        method = cls.method("__getitem__")
        if method is None or not method.parameters:
            return
        self.graph.flow(method.result, element)
        index = [*method.parameters[0].node.downstream()]
        for whole, place, sample in self.reader.indexed:
            if place in index:
                self.graph.use(whole, "dataset")
                self.graph.flow(self.graph.part(whole, ("batch", 0)), sample)

    def _call(self, call: Call) -> None:
        for target in list(call.callee.targets):
            if id(target) in call.linked:
                continue
            call.linked.add(id(target))
            if isinstance(target, Function):
                self._join(call, target)
                self.graph.flow(target.result, call.result)
            elif isinstance(target, Class):
                self.graph.flow(target.instance, call.result)
                self._construct(call, target)
            elif isinstance(target, Instance):
                for method in _called(target.cls):
                    self._join(call, method)
                    self.graph.flow(method.result, call.result)
            elif isinstance(target, Partial):
                self._call_behind(target.made, call)

    def _call_behind(self, made: Call, call: Call) -> None:
        """``partial(f, a)(b)`` is ``f(a, b)``."""
        called, *given = made.args
        inside = Call(
            called, [*given, *call.args], made.keywords | call.keywords, [*made.spread, *call.spread],
            call.result, None, call.inner, call.caller,
        )  # fmt: skip
        called.calls.append(inside)
        self.graph.calls.append(inside)
        self.graph.touch(called)

    def _construct(self, call: Call, cls: Class) -> None:
        init = cls.method("__init__")
        if init is not None:
            self._join(call, init)
            return
        fields = cls.constructor()
        for argument, field in zip(call.args, fields, strict=False):
            self.graph.flow(argument, field.node)
        by_name = {field.name: field for field in fields}
        for name, argument in call.keywords.items():
            if name in by_name:
                self.graph.flow(argument, by_name[name].node)

    def _inherit(self, cls: Class, parent: Class) -> None:
        """What the parent sets and defines is there in the child, what that defines anew apart."""
        for (kind, name), part in list(parent.instance.parts.items()):
            if kind == "." and name not in cls.methods:
                self.graph.flow(part, self.graph.part(cls.instance, (kind, name)))

    def _join(self, call: Call, function: Function) -> None:
        graph = self.graph
        places = [p for p in function.parameters if p.kind in ("positional", "either")]
        for argument, parameter in zip(call.args, places, strict=False):
            graph.flow(argument, parameter.node)
        self._join_rest(call.args[len(places) :], function)
        by_name = {p.name: p for p in function.parameters}
        for name, argument in call.keywords.items():
            if name in by_name:
                graph.flow(argument, by_name[name].node)
        for mapping in call.spread:
            for parameter in function.parameters[len(call.args) :]:
                if parameter.name not in call.keywords and not parameter.default:
                    graph.flow(graph.part(mapping, ("[]", parameter.name)), parameter.node)

    def _join_rest(self, args: list[Node], function: Function) -> None:
        for parameter in (p for p in function.parameters if p.kind == "star"):
            for i, argument in enumerate(args):
                self.graph.flow(argument, self.graph.part(parameter.node, ("[]", i)))

    # --------------------------------------------------------------------------------- Lightning

    def _fits(self) -> list[Call]:
        """Calls of a Trainer's ``fit``; of a known one where the program has a fit of its own."""
        if not any(function.name == "fit" for function in self.reader.functions):
            return [call for call in self.graph.calls if "fit" in call.callee.names]
        trainers = [c.result for path, c in self.reader.library_calls if path.endswith("Trainer")]
        named = [n.parts[".", "fit"] for n in trainers if (".", "fit") in n.parts]
        return [call for node in named for call in node.calls]

    def _fit(self, call: Call) -> None:
        """``fit(model, train_loader, val_loader)``, by position or by name."""
        for model in call.args[:1] or _named(call, ("model",)):
            self.graph.use(model, "fit_model")
        for loader in (*call.args[1:2], *_named(call, TRAINING)):
            self.graph.use(loader, "iter", "iter_backward")
            self.graph.flow(loader, self.fitted)
            if not any("training_step" in cls.methods for cls in self.reader.classes):
                self.graph.use(self.graph.part(loader, ("for", 0)), "unpack:2")  # what ours takes
        for loader in (*call.args[2:3], *_named(call, VALIDATION)):
            self.graph.use(loader, "iter", "iter_no_grad")
            self.graph.flow(loader, self.validated)

    def _loaders(self, cls: Class) -> None:
        for name, loader in (("train_dataloader", self.fitted), ("val_dataloader", self.validated)):
            if name in cls.methods:
                self.graph.flow(cls.methods[name].result, loader)

    def _hook(self, cls: Class, name: str) -> None:
        loader = self.fitted if name == "training_step" else self.validated
        element = self.graph.part(loader, ("for", 0))
        self.graph.tag(element, "data")
        method = cls.methods.get(name)
        for batch in method.parameters[:1] if method else ():
            self.graph.flow(element, batch.node)
        for index in method.parameters[1:2] if method else ():
            self.graph.tag(index.node, "counter")


def _called(cls: Class) -> Iterator[Function]:
    """What calling an instance runs."""
    for name in ("__call__", "forward"):
        method = cls.method(name)
        if method is not None:
            yield method
            return


def _named(call: Call, names: tuple[str, ...]) -> list[Node]:
    return [call.keywords[name] for name in names if name in call.keywords]
