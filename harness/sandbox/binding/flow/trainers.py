"""Links what a program passes to a Trainer of transformers to the methods in which the Trainer uses
it.
"""

import ast

from harness.sandbox.binding.flow import hints
from harness.sandbox.binding.flow.definitions import Class, Function, Instance
from harness.sandbox.binding.flow.graph import Call, Node
from harness.sandbox.binding.flow.reader import Reader
from harness.syntax import walk

STEPS = ("compute_loss", "training_step", "prediction_step")
"""Methods that take the model and a batch."""

PLACES = ("model", "args", "data_collator", "train_dataset", "eval_dataset")
"""Names of a Trainer's positional arguments."""

UNUSED = ("tokenizer", "processing_class", "compute_metrics", "preprocess_logits_for_metrics")
"""Arguments that a Trainer takes for text and for evaluation."""

USES = {
    "model": ".parameters",
    "train_dataset": "dataset",
    "eval_dataset": "dataset",
    **dict.fromkeys(UNUSED, "unused"),
}
"""What a Trainer does with its arguments."""


def is_trainer(path: str) -> bool:
    """Whether a dotted path is that of a Trainer."""
    return path.startswith("transformers.") and path.endswith("Trainer")


def trainer_class(cls: Class) -> bool:
    """Whether a class of the program is a Trainer."""
    return any(is_trainer(base) for base in cls.bases)


class Trainers:
    """The Trainers of one program, and what flows through them."""

    def __init__(self, reader: Reader) -> None:
        """Nothing is joined yet."""
        self._reader = reader
        self._graph = reader.graph
        self._batch = Node("inputs")
        self._joined: set[int] = set()

    def link(self) -> None:
        """Link everything that is known by now."""
        for cls in self._reader.classes:
            if trainer_class(cls):
                self._loader(cls)
        for call, own in self.made():
            self._join(call, own)

    def made(self) -> list[tuple[Call, Class | None]]:
        """Calls that make a Trainer, with the class where it is the program's own."""
        found: list[tuple[Call, Class | None]] = [
            (call, None) for path, call in self._reader.library_calls if is_trainer(path)
        ]
        for call in self._graph.calls:
            own = [t for t in call.callee.targets if isinstance(t, Class) and trainer_class(t)]
            found += [(call, cls) for cls in own]
        return found

    def _loader(self, cls: Class) -> None:
        method = cls.methods.get("get_train_dataloader")
        if method is not None:
            self._graph.use(method.result, "iter", "iter_backward")
            self._take(self._graph.part(method.result, ("for", 0)))
        for name in STEPS:
            if name in cls.methods:
                for batch in cls.methods[name].parameters[1:2]:
                    self._graph.flow(self._batch, batch.node)

    def _take(self, element: Node) -> None:
        self._graph.tag(element, "data")
        self._graph.flow(element, self._batch)

    def _join(self, call: Call, cls: Class | None) -> None:
        given = dict(zip(PLACES, call.args, strict=False)) | call.keywords
        for name, argument in given.items():
            if use := USES.get(name):
                self._graph.use(argument, use)
        if "train_dataset" in given:
            self._collated(given["train_dataset"], given.get("data_collator"))
        if "optimizers" in given:
            self._graph.use(self._graph.part(given["optimizers"], ("[]", 0)), "optimizer")
        if "model" in given:
            methods = self._methods(cls) if cls is not None else {}
            self._trained(given["model"], methods, given.get("compute_loss_func"), id(call))

    def _trained(
        self, model: Node, methods: dict[str, Function], loss: Node | None, call: int
    ) -> None:
        for method in (methods[name] for name in STEPS if name in methods):
            for parameter in method.parameters[:1]:
                self._graph.flow(model, parameter.node)
        own = methods.get("compute_loss")
        if own is None or _calls_inherited(own):
            self._called(model, loss, call)
        if own is not None:  # its result, or the first of it, is what backward starts from
            for result in (own.result, self._graph.part(own.result, ("[]", 0))):
                self._graph.use(result, ".backward", "to_loss")

    def _methods(self, cls: Class) -> dict[str, Function]:
        """Its own, and those of the program's classes that it is built on."""
        found: dict[str, Function] = {}
        for base in self._reader.classes:
            if base.name in cls.bases:
                found |= base.methods
        return found | cls.methods

    def _collated(self, dataset: Node, collator: Node | None) -> None:
        """Samples are put together by the program's function, or are what batches look like."""
        sample = self._graph.part(dataset, ("batch", 0))
        own = [t for t in collator.targets if isinstance(t, Function)] if collator else []
        for function in own:
            for parameter in function.parameters[:1]:
                self._graph.flow(sample, self._graph.part(parameter.node, ("for", 0)))
            self._take(function.result)
        self._graph.tag(sample, "data")
        if collator is not None and not own:
            self._graph.use(collator, "collate")
        if not own:
            self._graph.flow(sample, self._batch)

    def _called(self, model: Node, loss: Node | None, call: int) -> None:
        """``model(**inputs)``, whose loss is its own or that of a function."""
        self._defaults(model)
        if call in self._joined:
            return
        self._joined.add(call)
        result = Node()
        self._record(Call(model, [], {}, [self._batch], result, None))
        if loss is None:
            self._graph.use(self._graph.part(result, (".", "loss")), ".backward", "to_loss")
            return
        labels = self._graph.part(self._batch, ("[]", "labels"))
        self._record(Call(loss, [result, labels], {}, [], Node(), None))

    def _defaults(self, model: Node) -> None:
        """``forward(self, x, labels=None)`` is given what it has a default for as well."""
        for target in model.targets:
            forward = target.cls.methods.get("forward") if isinstance(target, Instance) else None
            for parameter in forward.parameters if forward else ():
                if parameter.default and hints.suggests(parameter.name, "target"):
                    part = self._graph.part(self._batch, ("[]", parameter.name))
                    self._graph.flow(part, parameter.node)

    def _record(self, call: Call) -> None:
        call.callee.calls.append(call)
        self._graph.calls.append(call)
        self._graph.touch(call.callee)


def _calls_inherited(method: Function) -> bool:
    """Whether it leaves the work to ``super()``, and does something before or after."""
    return any(
        isinstance(node, ast.Attribute)
        and node.attr == method.name
        and isinstance(node.value, ast.Call)
        and getattr(node.value.func, "id", "") == "super"
        for node in walk(method.tree)
    )
