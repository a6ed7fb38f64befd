"""Links calls to definitions of the program, and Lightning's calls to the hooks of the program."""

import ast
from collections.abc import Iterator

from harness.sandbox.binding.flow import hints
from harness.sandbox.binding.flow.definitions import Class, Function, Instance, Parameter, Partial
from harness.sandbox.binding.flow.graph import Call, Graph, Node
from harness.sandbox.binding.flow.lookups import Lookups
from harness.sandbox.binding.flow.reader import Reader
from harness.sandbox.binding.flow.switches import decides
from harness.sandbox.binding.flow.trainers import Trainers

TRAINING = ("train_dataloaders", "train_dataloader", "train_loader")
VALIDATION = ("val_dataloaders", "val_dataloader", "val_loader")
STEPS = ("training_step", "validation_step", "test_step")


class Linking:
    """Lets arguments flow into parameters, and returned values into results."""

    def __init__(self, reader: Reader) -> None:
        """``link`` may be called repeatedly; each call is linked to a definition once."""
        self.reader = reader
        self.graph: Graph = reader.graph
        self.fitted = Node("train_loader")
        """The loader that Lightning trains on."""
        self.validated = Node("val_loader")
        """The loader that Lightning validates on."""
        self.trainers = Trainers(reader)
        self.lookups = Lookups(reader)

    def link(self) -> None:
        """Link everything that is known by now."""
        self._handed_over()
        self.lookups.link()
        for context in self.reader.contexts:
            self._enter(context)
        for call in list(self.graph.calls):
            self._call(call)
        for call in self._fits():
            self._fit(call)
        for cls in self.reader.classes:
            self._loaders(cls)
            self._iterated(cls)
            for name in STEPS if cls.lightning else ():
                self._hook(cls, name)
            for parent in cls.parents:
                self._inherit(cls, parent)
        self._datasets()
        self.trainers.link()

    def guarded(self) -> None:
        """Mark options whose branches change the loss: which side is meant must not be guessed."""
        for test, changed in self.reader.guarded:
            if any(decides(node) for node in changed):
                self.graph.use(test, "changes_loss")
        self.graph.settle()

    def picking(self) -> None:
        """Mark options that name one of several functions: ``self.handlers[phase](batch)``."""
        for whole, place, part in self.reader.indexed:
            named = _functions(whole) if part.calls else {}
            self.reader.picks += [(place, named)] if named else []
        for place, _ in self.reader.picks:
            self.graph.use(place, "picks:text")
        self.graph.settle()

    def schedules(self, call: Call) -> bool:
        """Whether the call is a method of a schedule that the program makes:
        ``plateau.step(figure)``.
        """
        receiver = self.reader.receivers.get(id(call))
        return receiver is not None and "lr_scheduler" in receiver.library

    def _handed_over(self) -> None:
        """A scaler of the program's own that nobody makes is what a function is handed as one."""
        made = {t for call in self.graph.calls for t in call.callee.targets}
        own = [c for c in self.reader.classes if c not in made and c.called_scaler]
        for function in self.reader.functions if len(own) == 1 else ():
            for parameter in function.parameters:
                node = parameter.node
                if node.calls and not node.targets and hints.suggests(parameter.name, "scaler"):
                    node.targets.add(Instance(own[0]))
                    self.graph.touch(node)

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

    def _enter(self, context: Call) -> None:
        """``with`` calls two methods of a class of the program's own, the second with three values."""
        instances = [t for t in context.callee.targets if isinstance(t, Instance)]
        for target in (t for t in instances if id(t) not in context.linked):
            context.linked.add(id(target))
            for name, given in (("enter", 0), ("exit", 3)):
                method = target.cls.method(f"__{name}__") or target.cls.method(f"__a{name}__")
                if method is None:
                    continue
                called, args = Node(), [Node() for _ in range(given)]
                called.targets.add(method)
                result = Node() if given else context.result
                call = Call(called, args, {}, [], result, None, context.inner, context.caller)
                called.calls.append(call)
                self.graph.calls.append(call)

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
        self.reader.construct_base(cls.bases, call)
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
        self._join_starred(call, places)
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

    def _join_starred(self, call: Call, places: list[Parameter]) -> None:
        """What a function needs and is not given besides says how many parts a starred value has."""
        if call.starred is None or call.where is None:
            return
        first, whole = call.starred
        needed = [p for p in places[first:] if not p.default and p.name not in call.keywords]
        last = reversed(call.where.args)
        behind = next(i for i, argument in enumerate(last) if isinstance(argument, ast.Starred))
        needed = needed[: len(needed) - behind]
        if len(needed) > max(1, 2 - first):
            self.graph.use(whole, f"unpack:{len(needed)}")
            for i, parameter in enumerate(needed):
                self.graph.flow(self.graph.part(whole, ("[]", i)), parameter.node)

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

    def _iterated(self, cls: Class) -> None:
        """What a class of the program's own says that going through an instance yields."""
        start, following = cls.methods.get("__iter__"), cls.methods.get("__next__")
        element = self.graph.part(cls.instance, ("for", 0)) if start or following else Node()
        if start is not None:
            self.graph.flow(self.graph.part(start.result, ("for", 0)), element)
        if following is not None:
            self.graph.flow(following.result, element)

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


def _functions(whole: Node) -> dict[str, str]:
    """The functions in a table, by their keys."""
    items = ((key, item) for node in whole.upstream() for key, item in node.items().items())
    return {
        key: target.name for key, item in items if isinstance(key, str) and key != "*"
        for target in item.targets if isinstance(target, Function)
    }  # fmt: skip
