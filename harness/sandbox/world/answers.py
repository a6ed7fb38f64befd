"""The workload's model and loss, called and read the way the program at hand does it."""

from collections.abc import Callable
from typing import Any

from torch import Tensor, nn

from harness.sandbox.batches.callers import ResultUse, called_by_a_library, frame_of_the_program
from harness.sandbox.batches.rows import LentBatch, Mapped, plain
from harness.sandbox.names.table import Table, words
from harness.sandbox.unbound import Unbound
from harness.sandbox.world.elastic import rows_like, stretched
from harness.sandbox.world.reading import ProgramReading
from harness.sandbox.world.targets import Targets

FIELDS = ("loss", "logits")
ADAPTED = "_adapted_from"
"""Attribute in which an adapted class keeps the original one."""


class Fields(Mapped):
    """A result as models of libraries return it: read by attribute, key or position."""

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, int | slice):
            return list(self.values())[key]
        return super().__getitem__(key)


class Answers:
    """What models and losses return to one program."""

    def __init__(
        self,
        reading: ProgramReading,
        table: Table,
        criterion: Callable[..., Tensor],
        targets: Targets,
        rows: Tensor | None = None,
    ) -> None:
        """``targets``: of inputs, for a model that computes its loss itself. ``rows``: what a model
        takes, where whatever it is given is made to fit.
        """
        self._reading = reading
        self._table = table
        self._criterion = criterion
        self._targets = targets
        self._losses_elsewhere = reading.takes_losses
        self.forward: Callable[[Tensor], Any] = lambda _: None
        """The outputs of the model that is lent."""
        self.bare = False
        """Whether a model returns its output, whatever the program makes of it."""
        self.rows = rows
        """What a model takes, where whatever it is given is made to fit."""

    def of_model(
        self, forward: Callable[[Any], Any], args: tuple[Any, ...], keywords: dict[str, Any]
    ) -> Any:
        """The result of a call of the workload's model. ``forward``: inputs to outputs."""
        inputs, target = self._sorted(args, keywords)
        output = forward(inputs)
        if called_by_a_library():
            loss = {} if target is None else {"loss": self._criterion(output, target)}
            return Fields({**loss, "logits": output}) if keywords else output
        frame = frame_of_the_program()
        if frame is None or self.bare:
            return output
        use = ResultUse(frame)
        if use.apart:
            return self._apart(use.names, output, inputs, target, args)
        fields = self._fields(use)
        if fields:
            return self._as_fields(fields, output, inputs, target)
        if self._is_a_loss(use) or (target is not None and not self._losses_elsewhere):
            return self._criterion(output, self._target(inputs, target))
        return output

    def is_simple(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> bool:
        """Whether a call is of one tensor, in a program that reads no fields of any result."""
        plain = len(args) == 1 and not keywords and isinstance(args[0], Tensor)
        return plain and self.rows is None and (self.bare or not self._asks)

    def of_a_batch(self, inputs: Tensor) -> tuple[Any, Any]:
        """Outputs and targets, for a loss that calls the model itself."""
        return self.forward(inputs), self._targets.of(inputs)

    def any_target(self, output: Any) -> Any:
        """A target for outputs that have none, where what is lent is made to fit."""
        if self.rows is None:
            raise Unbound("criterion", "is called without a target")
        return self._target(
            output if isinstance(output, Tensor) and output.dim() else self.rows, None
        )

    def target_among(self, batch: dict[str, Any]) -> Any:
        """What stands in a batch for targets: ``compute_loss(outputs, batch)``."""
        return next((v for n, v in batch.items() if self._table.part(n) == "target"), None)

    def loss_of(self, model: nn.Module, *args: Any, **keywords: Any) -> Any:
        """What a method of a model returns that computes its loss: ``model.loss(x, y)``."""
        inputs, target = self._sorted(args, keywords)
        self.bare = True
        try:
            output = model(inputs)
            loss = self._criterion(output, self._target(inputs, target))
        finally:
            self.bare = False
        use = ResultUse(frame_of_the_program())
        if use.apart:
            each = (another_loss(loss, output, place) for place in range(len(use.names)))
            return tuple(map(self.as_read, each, use.names))
        return self.as_read(loss, use.names[0]) if len(use.names) == 1 else loss

    def as_read(self, loss: Tensor, name: str) -> Any:
        """A loss, or a mapping that holds it, if that is what is read of this name."""
        seen = self._reading.named.get(name)
        fields = seen.fields if seen is not None else set()
        if not {"items", "keys"} & fields and "dict" not in words(name):
            named = {f for f in fields if self._is_field(f)}
            return Mapped(dict.fromkeys(named, loss)) if named else loss
        return Mapped({"loss": loss, **{f: loss for f in fields if self._is_field(f)}})

    @property
    def _asks(self) -> bool:
        fields = any(seen.fields & {*FIELDS} for seen in self._reading.named.values())
        return not self._losses_elsewhere or fields or bool(self._reading.taken_apart)

    def _fields(self, use: ResultUse) -> set[str]:
        if use.field is not None:
            return {use.field} if self._is_field(use.field) else set()
        seen = (self._reading.named.get(name) for name in use.names)
        read = {f for one in seen if one is not None for f in one.fields if self._is_field(f)}
        return read if read & {*FIELDS} or any(not hasattr(Tensor, f) for f in read) else set()

    def _is_field(self, name: str) -> bool:
        return self._table.part(name) in ("loss", "output") and not hasattr(Tensor, name)

    def _as_fields(self, fields: set[str], output: Any, inputs: Any, target: Any) -> Fields:
        found = Fields()
        if any(self._table.part(f) == "loss" for f in fields):
            loss = self._criterion(output, self._target(inputs, target))
            losses = sorted(f for f in fields if self._table.part(f) == "loss")
            losses.sort(key=lambda f: f != "loss")
            found |= {f: another_loss(loss, output, place) for place, f in enumerate(losses)}
        found |= {f: output for f in fields if self._table.part(f) == "output"}
        return found if "logits" in found else Fields({**found, "logits": output})

    def _apart(
        self, names: tuple[str, ...], output: Any, inputs: Any, target: Any, args: tuple[Any, ...]
    ) -> tuple[Any, ...]:
        """``logits, loss = model(x, y)``; of a recurrent model the state comes back."""
        parts = [self._table.part(name) for name in names]
        found: list[Any] = []
        for name, part in zip(names, parts, strict=True):
            if part == "loss":
                loss = self._criterion(output, self._target(inputs, target))
                before = parts[: len(found)].count("loss")
                found.append(self.as_read(another_loss(loss, output, before), name))
            elif self.rows is not None or not any(f is output for f in found):
                output = _hanging_on(output, args[1:] if part == "output" else ())
                found.append(output)
            else:
                found.append(_hanging_on(args[1], (output,)) if len(args) > 1 else output)
        return tuple(found)

    def _is_a_loss(self, use: ResultUse) -> bool:
        """Whether the program takes what the model returns for its loss."""
        return use.field == "backward" or any(self._table.part(n) == "loss" for n in use.names)

    def _target(self, inputs: Any, target: Any) -> Any:
        if self.rows is not None and target is None:
            return self._targets.any_of(len(inputs))
        return target if target is not None else self._targets.of(inputs)

    def _sorted(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, Any]:
        """Inputs, made to fit where they are to be, and the target where one is given."""
        inputs, target = self._given(args, keywords)
        if self.rows is None:
            return inputs, target
        rows = rows_like(inputs, self.rows)
        for one in (*args[1:], *keywords.values()):  # a critic of what an actor gives
            if isinstance(one, Tensor) and one.grad_fn is not None:
                rows = rows + stretched(one, rows.shape)
        return rows, target

    def _given(self, args: tuple[Any, ...], keywords: dict[str, Any]) -> tuple[Any, Any]:
        named = {self._table.part(name): value for name, value in keywords.items()}
        target = named.get("target")
        for value in args:
            if isinstance(value, LentBatch):
                return value.parts["input"], value.parts["target"] if target is None else target
            if isinstance(value, dict):
                inner = {self._table.part(name): part for name, part in value.items()}
                return inner.get("input"), inner.get("target", target)
        if not args:
            inputs = named.get("input")
            return plain(
                inputs if inputs is not None else next(iter(keywords.values()), None)
            ), target
        if len(args) > 1 and _are_texts(args[0], args[1]):
            return args[1], target
        others = [a for a in args[1:] if isinstance(a, Tensor) and target is None]
        known = [a for a in others if self._targets.are_targets(a)]
        return plain(args[0]), known[0] if known else target


def another_loss(loss: Any, output: Any, place: int) -> Any:
    """The loss in one place of several: the first, or another one of the same outputs. Were they the
    same, who goes backward from each would go backward twice from one.
    """
    if place == 0 or not isinstance(output, Tensor) or not output.is_floating_point():
        return loss
    return output.float().square().mean() / (place + 1)


FILES = 2
"""The protocol of ``torch.save``; ``copy`` has a later one."""


def adapt(model: nn.Module, answers: Answers, *, carries_state: bool) -> None:
    """Change the class of ``model`` so that it takes what the program passes and returns what it
    reads. ``carries_state``: whether it takes a state itself.
    """
    base: Any = type(model)
    if hasattr(base, ADAPTED):
        return

    def call(self: Any, *args: Any, **keywords: Any) -> Any:
        stateful = carries_state and len(args) > 1 and _is_a_state(args[1])
        if answers.is_simple(args, keywords) or stateful:
            return base.__call__(self, *args)
        return answers.of_model(lambda inputs: base.__call__(self, inputs), args, keywords)

    def reduce(self: Any, protocol: int) -> Any:
        if protocol > FILES:
            return object.__reduce_ex__(self, protocol)  # a copy is handed the same as the model
        plain_one = base.__new__(base)  # a file holds the class that can be imported
        vars(plain_one).update(vars(self))
        return plain_one.__reduce_ex__(1)  # later ones insist on the class of self

    body = {"__call__": call, ADAPTED: base, "__module__": base.__module__, "__doc__": base.__doc__}
    body["__reduce_ex__"] = reduce
    model.__class__ = type(base.__name__, (base,), body)


def _are_texts(first: object, second: object) -> bool:
    """Whether two texts of unlike lengths are given: what a decoder goes on from is the second."""
    return (
        isinstance(first, Tensor)
        and isinstance(second, Tensor)
        and not (first.is_floating_point() or second.is_floating_point())
        and first.dim() == second.dim() == 2
        and len(first) == len(second)
        and first.shape[1] != second.shape[1]
    )


def _is_a_state(value: object) -> bool:
    """Whether a second argument is the state of a recurrent model, or says that there is none yet; a
    mask over tokens is neither.
    """
    return value is None or isinstance(value, tuple) or _is_floating(value)


def _is_floating(value: object) -> bool:
    return isinstance(value, Tensor) and value.is_floating_point() and value.dim() > 1


def _hanging_on(value: Any, others: tuple[Any, ...]) -> Any:
    """The same value, in the graph of others: output and state of a recurrent model."""
    if isinstance(value, tuple):
        return tuple(_hanging_on(one, others) for one in value)
    if not isinstance(value, Tensor) or not value.is_floating_point():
        return value
    inner = (t for o in others for t in (o if isinstance(o, tuple) else (o,)))
    graphs = (t for t in inner if isinstance(t, Tensor) and t.grad_fn is not None)
    return sum((0.0 * t.sum() for t in graphs), value)


class Loss(nn.Module):
    """The workload's loss for a free ``criterion``, whatever it is handed."""

    def __init__(
        self,
        mean: Callable[..., Tensor],
        each: Callable[..., Tensor],
        answers: Answers,
    ) -> None:
        """``mean``: over a batch; ``each``: of every sample."""
        super().__init__()
        self.mean, self.each = mean, each
        self._answers = answers

    def forward(self, output: Any = None, target: Any = None, *more: Any, **keywords: Any) -> Any:
        """Outputs and targets to a scalar, to one loss a sample, or to what the program reads of it;
        a model and a batch where it is called with these.
        """
        if isinstance(output, nn.Module):
            return self._answers.loss_of(output, target, *more, **keywords)
        output, target = self._operands(output, target, keywords)
        target = fitting(output, target)
        if keywords.get("reduction") == "none":
            return self.each(output, target)
        loss, use = self.mean(output, target), ResultUse(frame_of_the_program())
        found = [self._answers.as_read(loss, name) for name in use.names] or [loss]
        return tuple(found) if use.apart else found[0]

    def _operands(self, output: Any, target: Any, keywords: dict[str, Any]) -> tuple[Any, Any]:
        if output is None and keywords:
            output = keywords.pop(next(iter(keywords)))
        output = output.get("logits") if isinstance(output, Fields) else output
        if isinstance(target, LentBatch):
            target = target.parts["target"]
        elif isinstance(target, dict):
            target = self._answers.target_among(target)
        if target is None:
            target = next(iter(keywords.values()), None)
        if target is None and not getattr(plain(output), "requires_grad", True):
            return self._answers.of_a_batch(plain(output))
        if target is None:
            target = self._answers.any_target(output)
        return output, target


def fitting(output: Any, target: Any) -> Any:
    """Targets as wide as the outputs of a model of the program's own: what is lent has to fit."""
    if not isinstance(output, Tensor) or not isinstance(target, Tensor):
        return target
    plain_rows = output.dim() == target.dim() == 2 and len(output) == len(target)
    if not plain_rows or output.shape == target.shape or not target.is_floating_point():
        return target
    times = -(-output.shape[1] // target.shape[1])
    return target.repeat(1, times)[:, : output.shape[1]]
