"""The form of a batch, inferred from what a program does with what its loader yields."""

import re
from collections.abc import Sequence

from torch import Tensor

from harness.sandbox.binding.flow import hints
from harness.sandbox.binding.flow.graph import Node
from harness.sandbox.binding.roles.forms import Each, Form, Leaf, Part, Row, Table, Thing
from harness.sandbox.binding.roles.roles import is_unpacked
from harness.sandbox.binding.roles.whole import are_places

MOVES = frozenset({".to", ".cuda", ".pin_memory"})

INDEX = re.compile(r"idx|index|indices|^ids?$")

ENTERED = frozenset({"multiplies_loss", "multiplies_output", "model_extra", "loss_extra"})
"""Uses of values that are passed to a model or a loss besides inputs and targets."""

TENSOR = re.compile(r"^(x|xs|inputs?|images?|imgs?|features?|tokens|input_ids|real|signal|seq)")
"""Names of a batch that is one tensor."""

PAIR = Row((Leaf("input"), Leaf("target")), mutable=True)
"""What most loaders yield."""

MAPPED = frozenset({".items", ".keys", ".values"})
"""Uses that only a mapping has."""

ENTERS = frozenset({"model_arg", "loss_target", "model_extra"})


def form(element: Node, input_name: str) -> Form:
    """The form of ``element``. ``input_name``: the name of the model's input."""
    keys = [str(key) for key in element.items() if isinstance(key, str) and key != "*"]
    spread = bool(element.uses & {"model_spread", "spread", *MAPPED})
    if keys or spread:
        return _table(element, keys, input_name if spread else None)
    width = _width(element)
    if width:
        items = element.items()
        nodes = [items.get(i) or items.get("*") or Node() for i in range(width)]
        return Row(tuple(_children(nodes)), mutable=True)
    named = _fields(element)
    if named:
        children = _children([element.attributes()[name] for name in named], named)
        return Thing(tuple(zip(named, children, strict=True)))
    if are_places(element):
        return Leaf("index")
    if "starred" in element.uses or _goes_out_of_sight(element):
        return PAIR
    return Leaf(_part(element, []) or "input")


def _goes_out_of_sight(element: Node) -> bool:
    """Whether nothing is seen of a batch but that it is handed on, by no name of a tensor."""
    seen = element.parts or element.calls or element.uses - {"called with"}
    names = element.all_names()
    return bool(names) and not seen and not any(TENSOR.search(name) for name in names)


def _fields(element: Node) -> list[str]:
    """Attributes that only an object with fields has; then also those that a tensor has too."""
    found = element.attributes()
    own = [n for n, part in found.items() if not (hasattr(Tensor, n) or part.calls or n == "grad")]
    return own + [n for n in ("x", "data") if own and n in found and n not in own]


def _width(element: Node) -> int:
    """How many parts a tuple has; 0 for what is none."""
    widths = [
        int(use.partition(":")[2])
        for use in element.uses
        if use.startswith("unpack:") or (use.startswith("star:") and not is_unpacked(element))
    ]
    places = [key for key in element.items() if isinstance(key, int)]
    if not widths and (not places or "model_arg" in element.uses):
        return 0
    if any(place < 0 for place in places):
        places.append(1)
    return max([*widths, *(place + 1 for place in places)])


def _table(element: Node, keys: list[str], input_name: str | None) -> Table:
    names, children = list(keys), _children([element.items()[key] for key in keys], keys)
    present = {part for child in children for part in child.parts()}
    missing: list[tuple[str, Part]] = []
    if input_name is not None:
        missing = [(input_name, "input"), ("labels", "target")]
    for name, part in missing:
        if part not in present:
            names.append(name)
            children.append(Leaf(part))
    return Table(tuple(zip(names, children, strict=True)), movable=bool(element.uses & MOVES))


def _children(nodes: Sequence[Node], names: Sequence[str] = ()) -> list[Form]:
    """Forms of the parts of one batch: by use, then by name, then by elimination."""
    shapes = [_inside(node) for node in nodes]
    found: list[Part | None] = [
        None if shape is not None else _part(node, [*names[i : i + 1], *node.all_names()])
        for i, (node, shape) in enumerate(zip(nodes, shapes, strict=True))
    ]
    taken = {part for shape in shapes if shape is not None for part in shape.parts()} | set(found)
    order: tuple[Part, ...] = ("input", "target", "mask")
    for part in order:
        free = [i for i, f in enumerate(found) if f is None and shapes[i] is None]
        if free and part not in taken:
            found[free[0]] = part
    return [
        shape if shape is not None else Leaf(part or "nothing")
        for shape, part in zip(shapes, found, strict=True)
    ]


def _inside(node: Node) -> Form | None:
    """Form of a part that is no single tensor."""
    sample = node.element
    if sample is not None and (sample.uses & MAPPED or "item:str" in sample.uses):
        keys = [key for key in sample.items() if isinstance(key, str) and key != "*"]
        return Each(keys[0] if keys else "labels", "target")
    if node.uses & MAPPED:
        target = hints.first(node.all_names(), ("target", "input")) == "target"
        part: tuple[str, Part] = ("labels", "target") if target else ("inputs", "input")
        return Table(((part[0], Leaf(part[1])),), movable=bool(node.uses & MOVES))
    return form(node, "input") if _is_container(node) else None


def _is_container(node: Node) -> bool:
    parts = node.items().values()
    return not node.uses & {"model_arg", "loss_target"} and any(
        part.uses & ENTERS for part in parts
    )


def _part(node: Node, names: list[str]) -> Part | None:
    """What one leaf holds: by use, else by name."""
    named = hints.first(names, ("target", "mask"))
    multiplies = "multiplies_loss" in node.uses
    if "model_arg" in node.uses:
        return "input"
    if "loss_target" in node.uses:
        return "mask" if multiplies and named == "mask" else "target"
    if node.uses & ENTERED:
        if named is None and not node.uses & (ENTERED - {"model_extra"}):
            return _named(names)
        return "target" if named == "target" and not multiplies else "mask"
    if "divides_loss" in node.uses:
        return "count"
    return _named(names)


def _named(names: list[str]) -> Part | None:
    kinds: tuple[tuple[str, Part], ...] = (
        ("count", "count"), ("target", "target"), ("mask", "mask"), ("input", "input"),
    )  # fmt: skip
    for name in names:
        if INDEX.search(name) and not name.startswith("input"):
            return "index"
        for kind, part in kinds:
            if hints.suggests(name, kind):
                return part
    return None
