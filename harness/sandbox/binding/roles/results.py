"""The forms in which a call can return a loss: as it is, in parts, in a tuple, or in named fields."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

from torch import Tensor

from harness.sandbox.binding.flow import hints
from harness.sandbox.binding.flow.graph import Call, Node

Kind = Literal["loss", "loss?", "output", "state", "figure", "figures", "nothing"]
"""What one component of a result is; ``loss?``: a loss, but only if the call passes targets."""

PLAIN = frozenset({"Add", "Mult", "Div"})
"""Operations between single numbers whose result is a single number."""

REDUCING = frozenset({"mean", "sum"})
"""Methods that reduce losses of several devices to one number."""

TAKING = frozenset({"scale", "backward", "manual_backward"})
"""Callables that take a loss."""

SPLIT = "gives parts of a loss that are weighted or added to another, and the workload's has none"
"""Why a program is refused whose loss has weighted parts: nothing says how large each part should be."""


@dataclass(frozen=True, slots=True)
class Result:
    """The form of what one call returns."""

    whole: Literal["output", "loss", "losses", "row", "fields"]
    """How it is used: as it is, as a mapping of losses, by position, or by name."""
    row: tuple[Kind, ...] = ()
    """Kinds by position."""
    fields: tuple[tuple[str, Kind], ...] = ()
    """Kinds by name."""
    split: bool = False
    """Whether what is returned is only a part of the loss, or each part has its own weight."""

    @property
    def has_loss(self) -> bool:
        """Whether backward starts from a component of it."""
        return self.whole in ("loss", "losses") or "loss" in self._kinds

    @property
    def asks(self) -> bool:
        """Whether the call returns a loss whenever it is given targets."""
        return self.has_loss or self.whole == "fields" or "loss?" in self.row

    @property
    def losses(self) -> int:
        """How many parts the loss is returned in."""
        return max(1, self._kinds.count("loss"))

    @property
    def _kinds(self) -> list[Kind]:
        return [*self.row, *(kind for _, kind in self.fields)]


OUTPUT = Result("output")

TOTAL = "loss_sum"
"""Key of the single loss in a mapping whose losses the program asks for by no name."""


class Paths:
    """Answers how values reach a backward."""

    def __init__(
        self, calls: Iterable[Call], operations: Iterable[tuple[str, Node, Node, Node]]
    ) -> None:
        """``operations``: tuples of operator, left, right and result."""
        calls = list(calls)
        self._made = {id(call.result): call for call in calls}
        self._operations = {id(made): (name, a, b) for name, a, b, made in operations}
        self._given: dict[int, list[Call]] = {}
        for call in calls:
            for argument in call.arguments():
                self._given.setdefault(id(argument), []).append(call)
        self._taken = {
            id(argument) for call in calls for argument in call.args[:1]
            if call.callee.names & TAKING or "called_scaler" in call.callee.uses
            or call.callee.library.startswith("torch.autograd.")
        }  # fmt: skip

    def lead_back(self, start: Node, *, reduced: bool) -> bool:
        """Whether a backward starts from the value, with nothing but sums and factors in between.

        ``reduced``: whether a mean or a sum over it may be in between, too.
        """
        seen, waiting = {id(start)}, [start]
        while waiting:
            node = waiting.pop()
            if ".backward" in node.uses or id(node) in self._taken:
                return not _gives_gradients(node)
            fed = (other for other in node.feeds if self._stays(node, other, reduced=reduced))
            for other in (*node.after, *fed):
                if id(other) not in seen:
                    seen.add(id(other))
                    waiting.append(other)
        return False

    def hold_a_loss(self, node: Node) -> bool:
        """Whether a backward starts from the value or from a component of it."""
        return any(self.lead_back(one, reduced=True) for one in (node, *node.parts.values()))

    def _stays(self, node: Node, result: Node, *, reduced: bool) -> bool:
        call = self._made.get(id(result))
        if call is not None:
            plain = not (call.callee.library or call.args or call.keywords)
            return reduced and plain and bool(call.callee.names & REDUCING)
        operation = self._operations.get(id(result))
        if operation is None:  # a builtin sum, or what goes through a container
            return True
        name, left, right = operation
        other = right if left is node else left
        foreign = {"data"} if name == "Add" else {"data", "output", "made"}
        return name in PLAIN and not other.tags & foreign

    def _is_weighted(self, start: Node) -> bool:
        """Whether anything but adding is done with it first."""
        fed = (other for node in start.downstream() for other in node.feeds)
        return any(self._operations.get(id(other), ("",))[0] in ("Mult", "Div") for other in fed)

    def _compared(self, start: Node) -> bool:
        """Whether a loss is made of it elsewhere: ``criterion(result["logits"], y)``."""
        if "to_loss" in start.uses:
            return True
        calls = (call for node in start.downstream() for call in self._given.get(id(node), ()))
        return any("to_loss" in call.result.uses for call in calls)

    def _is_split(self, parts: Iterable[Node], losses: list[Node]) -> bool:
        """Whether what is given is not the loss, but something that is put together to be it."""
        if len(losses) > 1 and any(self._is_weighted(loss) for loss in losses):
            return True
        others = (part for part in parts if not any(part is loss for loss in losses))
        return bool(losses) and any(self._compared(other) for other in others)

    # -------------------------------------------------------------------------------- results

    def result(self, call: Call) -> Result:
        """The form of what a call of a model or of a criterion returns."""
        node = call.result
        several = len([*call.arguments()]) > 1 or bool(call.spread)
        if self._is_loss(node, reduced=several):
            return Result("loss")
        named = _named(node)
        if self._is_mapping(node):
            return self._mapping(node, named)
        if named:
            return self._fields(named)
        places = self._places(node)
        if places:
            return self._row(node, places)
        return Result("loss") if several and _goes_somehow(call) else OUTPUT

    def losses_in(self, call: Call) -> Iterator[Node]:
        """The result, or those of its components, from which a backward starts."""
        several = len([*call.arguments()]) > 1 or bool(call.spread)
        for one in (call.result, *call.result.parts.values()):
            if self._is_loss(one, reduced=several or one is not call.result):
                yield one

    def _is_loss(self, node: Node, *, reduced: bool = True) -> bool:
        return "loss_output" not in node.uses and self.lead_back(node, reduced=reduced)

    def _is_mapping(self, node: Node) -> bool:
        """Whether all its values are losses, whatever their names."""
        anyone = node.parts.get(("[]", "*"))
        mapped = node.uses & {".values", ".items", ".keys", "indexed"}
        return anyone is not None and bool(mapped) and self._is_loss(anyone)

    def _mapping(self, node: Node, named: dict[str, Node]) -> Result:
        """All values are added, whatever their names; those that are no losses bring no gradient."""
        fields: list[tuple[str, Kind]] = [
            (name, "loss" if hints.suggests(name, "loss") else "figure") for name in named
        ]
        several = sum(kind == "loss" for _, kind in fields)
        if not several:
            fields.insert(0, (TOTAL, "loss"))
        split = several > 1 and self._is_weighted(node.parts["[]", "*"])
        return Result("losses", fields=tuple(fields), split=split)

    def _fields(self, named: dict[str, Node]) -> Result:
        losses = {name: part for name, part in named.items() if self._is_loss(part)}
        fields: list[tuple[str, Kind]] = [
            (name, "loss" if name in losses else _kind(part, name)) for name, part in named.items()
        ]
        fields.sort(key=lambda pair: not pair[1].startswith("loss"))
        split = self._is_split(named.values(), [*losses.values()])
        return Result("fields", fields=tuple(fields), split=split)

    def _places(self, node: Node) -> int:
        """Length of a row from which a loss is taken, or that is taken apart; 0 for none."""
        widths = [
            int(use.partition(":")[2]) for use in node.uses if use.startswith(("unpack:", "star:"))
        ]
        taken = [
            place + 1
            for place, part in node.items().items()
            if isinstance(place, int) and place >= 0 and self._is_loss(part)
        ]
        return max([*widths, *taken], default=0)

    def _row(self, node: Node, width: int) -> Result:
        parts = [node.items().get(place) or Node() for place in range(width)]
        losses = [part for part in parts if self._is_loss(part)]
        if not losses:
            return _row_of_outputs(parts)
        kinds: list[Kind] = [
            "loss" if any(part is loss for loss in losses) else _kind(part) for part in parts
        ]
        return Result("row", row=tuple(kinds), split=self._is_split(parts, losses))


def _gives_gradients(node: Node) -> bool:
    """Whether backward is told where to start, as for outputs: ``output.backward(gradient)``."""
    method = node.parts.get((".", "backward"))
    calls = method.calls if method is not None else []
    return any(call.args or "gradient" in call.keywords for call in calls)


def _goes_somehow(call: Call) -> bool:
    """Whether what a call with more than inputs gives enters a loss by ways that are not followed."""
    others = [*call.args, *call.keywords.values()][1:]
    masked = bool(others) and all(
        hints.first(other.all_names(), ("target", "mask")) == "mask" for other in others
    )
    uses = call.result.uses
    return "to_loss" in uses and "loss_output" not in uses and not masked


def _row_of_outputs(parts: list[Node]) -> Result:
    """``output, state = model(x, state)``; the second may be a loss that nothing is done with."""
    kinds: list[Kind] = ["output"]
    for part in parts[1:]:
        given_back = part.uses & {"model_extra", "model_arg"}
        kind: Kind = "loss?" if len(parts) == 2 else _kind(part)
        kinds.append("state" if given_back else kind)
    return Result("row", row=tuple(kinds)) if kinds.count("output") == 1 else OUTPUT


def _named(node: Node) -> dict[str, Node]:
    """Components that are read by names which no tensor has."""
    read = {
        name: part
        for name, part in node.attributes().items()
        if not hasattr(Tensor, name) and not part.calls and f"={name}" not in node.uses
    }
    return read | {k: v for k, v in node.items().items() if isinstance(k, str) and k != "*"}


SHOWN = frozenset({
    ".item", ".detach", "detach()", "format", "discarded", "float", "called with", "round", "str",
    "cpu()", ".cpu", "compare", "compare:constant",
})  # fmt: skip
"""Uses of a figure."""


def _kind(part: Node, name: str = "") -> Kind:
    """What a component is that no backward starts from."""
    if part.uses & {".items", ".keys", ".values", "item:str", "spread"}:
        return "figures"
    if hints.suggests(name, "loss"):
        return "figure"
    if not name and not any(node.uses or node.feeds for node in part.downstream()):
        return "nothing"
    shown = ".item" in part.uses and part.uses <= SHOWN
    return "figure" if shown else "output"
